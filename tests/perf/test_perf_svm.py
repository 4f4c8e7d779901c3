"""Kernel machines by SMO beside scikit-learn and its Intel extension."""

import importlib

import numpy as np
import pytest

SKLEARN = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
INTELEX = pytest.mark.parametrize("library", ["fastml", "sklearnex"], indirect=True)


def data(n, d, k=2, noise=0.05):
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(4 * k, d))
    blob = rng.integers(4 * k, size=n)
    y = blob % k
    wrong = rng.random(n) < noise
    y[wrong] = rng.integers(k, size=wrong.sum())
    return centres[blob] + rng.normal(scale=2.0, size=(n, d)), y


def machine(library, name, **parameters):
    return getattr(importlib.import_module(f"{library}.svm"), name)(**parameters)


@INTELEX
def test_svc(measure, size, library):
    X, y = data(size(small=300, full=20_000), 30)
    assert measure(machine(library, "SVC").fit, X, y).score(X, y) > 0.8


@INTELEX
def test_svc_predict(measure, size, library):
    X, y = data(size(small=300, full=20_000), 30)
    fitted = machine(library, "SVC").fit(X, y)
    assert (measure(fitted.predict, X) == y).mean() > 0.8


@SKLEARN
def test_svc_ten_classes(measure, size, library):
    X, y = data(size(small=300, full=10_000), 50, k=10)
    assert measure(machine(library, "SVC").fit, X, y).score(X, y) > 0.8


@SKLEARN
def test_svc_large_c(measure, size, library):
    X, y = data(size(small=200, full=10_000), 20, noise=0.1)
    assert measure(machine(library, "SVC", C=1000.0).fit, X, y).score(X, y) > 0.8


@INTELEX
def test_svr(measure, size, library):
    X, y = data(size(small=300, full=20_000), 20)
    assert measure(machine(library, "SVR").fit, X, np.sin(X[:, 0]) + y).score(X, y) > -9


@SKLEARN
def test_one_class(measure, size, library):
    X, _ = data(size(small=300, full=20_000), 10)
    fitted = measure(machine(library, "OneClassSVM", nu=0.1).fit, X)
    assert 0.8 < (fitted.predict(X) == 1).mean() < 0.95


@SKLEARN
def test_small_svc(measure, library):
    X, y = data(300, 4)
    assert measure(machine(library, "SVC").fit, X, y).score(X, y) > 0.6
