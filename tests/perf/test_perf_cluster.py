"""Speed of the k-means family beside its peers; every library must find as good a clustering."""

import importlib

import numpy as np
import pytest

PEERS = pytest.mark.parametrize("library", ["fastml", "sklearn", "sklearnex"], indirect=True)


def of(library, name):
    return getattr(importlib.import_module(f"{library}.cluster"), name)


def normal(n, d):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def inertia(X, model):
    return ((X - model.cluster_centers_[model.labels_]) ** 2).sum(dtype=np.float64)


@PEERS
@pytest.mark.parametrize(
    ("full", "k", "max_iter", "tol"),
    [((300_000, 16), 100, 50, 0.0), ((100_000, 64), 200, 300, 1e-4), ((500_000, 2), 50, 50, 0.0)],
    ids=["300k x 16", "100k x 64", "500k x 2"],
)
def test_kmeans(measure, size, library, full, k, max_iter, tol):
    n, d = size(small=(300, full[1]), full=full)
    k = size(small=5, full=k)
    X = normal(n, d)
    model = of(library, "KMeans")(k, init=X[:k], n_init=1, max_iter=max_iter, tol=tol)
    fitted = measure(model.fit, X)
    assert inertia(X, fitted) <= 1.001 * fitted.inertia_
    assert fitted.inertia_ < (X.astype(np.float64) ** 2).sum()


@PEERS
def test_kmeans_restarts(measure, size, library):
    X = normal(size(small=200, full=10_000), 10)
    model = of(library, "KMeans")(8, init="random", n_init=10, random_state=0)
    fitted = measure(model.fit, X)
    assert inertia(X, fitted) == pytest.approx(fitted.inertia_, rel=1e-3)


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
def test_kmeans_plusplus(measure, size, library):
    X = normal(size(small=200, full=300_000), 16)
    k = size(small=5, full=100)
    centers, indices = measure(of(library, "kmeans_plusplus"), X, k, random_state=0)
    np.testing.assert_array_equal(X[indices], centers)
    assert len(set(indices)) == k


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
def test_minibatch(measure, size, library):
    X = normal(size(small=300, full=100_000), 16)
    model = of(library, "MiniBatchKMeans")(8, random_state=0, max_iter=5)
    fitted = measure(model.fit, X)
    assert inertia(X, fitted) == pytest.approx(fitted.inertia_, rel=1e-3)


@pytest.mark.parametrize(
    "name", ["BisectingKMeans", "KMedians", "SphericalKMeans", "SoftKMeans", "BFR"]
)
def test_relatives(measure, size, name):
    X = normal(size(small=300, full=200_000), 8)
    model = of("fastml", name)(size(small=3, full=10), random_state=0)
    fitted = measure(model.fit, X)
    np.testing.assert_array_equal(fitted.labels_, fitted.predict(X))
