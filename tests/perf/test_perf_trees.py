"""Single trees beside scikit-learn's."""

import importlib

import numpy as np
import pytest

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)


def rows(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


@LIBRARIES
def test_classifier(measure, size, library):
    X, signal = rows(size(small=400, full=100_000), 20)
    tree = importlib.import_module(f"{library}.tree").DecisionTreeClassifier(random_state=0)
    measure(tree.fit, X, signal > 0)
    assert tree.score(X, signal > 0) == 1.0


@LIBRARIES
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_regressor(measure, size, library, criterion):
    full, d = (100_000, 20) if criterion == "squared_error" else (20_000, 10)
    X, signal = rows(size(small=300, full=full), d)
    module = importlib.import_module(f"{library}.tree")
    tree = module.DecisionTreeRegressor(criterion=criterion, random_state=0)
    measure(tree.fit, X, signal)
    assert tree.score(X, signal) > 0.999
