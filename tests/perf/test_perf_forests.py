"""Forests beside scikit-learn and its Intel extension."""

import importlib
import pickle

import numpy as np
import pytest

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "sklearn", "sklearnex"], indirect=True)
TWO = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)


def classes(n, d=20):
    from sklearn.datasets import make_classification

    X, y = make_classification(n, d, n_informative=10, n_redundant=5, flip_y=0.05, random_state=0)
    return X.astype(np.float32), y


def forest(library, name, n_trees):
    cls = getattr(importlib.import_module(f"{library}.ensemble"), name)
    return cls(n_trees, random_state=0, n_jobs=2)


@LIBRARIES
@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_fit(measure, size, library, name):
    X, y = classes(size(small=400, full=50_000))
    model = forest(library, name, size(small=5, full=100))
    measure(model.fit, X, y)
    assert model.score(X, y) > 0.9


@LIBRARIES
@pytest.mark.parametrize("rows", ["all", "one"])
def test_predict(measure, size, library, rows):
    X, y = classes(size(small=400, full=50_000))
    model = forest(library, "RandomForestClassifier", size(small=5, full=100)).fit(X, y)
    shares = measure(model.predict_proba, X if rows == "all" else X[:1])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)


@TWO
def test_pickle(measure, size, library):
    X, y = classes(size(small=400, full=50_000))
    model = forest(library, "RandomForestClassifier", size(small=5, full=100)).fit(X, y)
    stored = measure(pickle.dumps, model)
    n_nodes = sum(tree.tree_.node_count for tree in model)
    assert len(stored) < n_nodes * (32 if library == "fastml" else 200) + 4000


@TWO
@pytest.mark.parametrize("name", ["AdaBoostClassifier", "AdaBoostRegressor"])
def test_adaboost(measure, size, library, name):
    X, y = classes(size(small=400, full=50_000))
    rounds = size(small=20, full=200 if name == "AdaBoostClassifier" else 50)
    cls = getattr(importlib.import_module(f"{library}.ensemble"), name)
    model = cls(n_estimators=rounds, random_state=0)
    measure(model.fit, X, y)
    assert model.score(X, y) > (0.75 if name == "AdaBoostClassifier" else 0.2)


@TWO
def test_isolation(measure, size, library):
    X = np.random.default_rng(0).normal(size=(size(small=400, full=200_000), 10))
    cls = importlib.import_module(f"{library}.ensemble").IsolationForest
    model = cls(n_estimators=size(small=5, full=100), random_state=0)
    scores = measure(lambda: model.fit(X).score_samples(X))
    assert scores.max() < 0.0
