"""Gaussian mixtures and cluster metrics beside scikit-learn."""

import importlib

import numpy as np
import pytest

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)


def blobs(n, d, k):
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    return rng.normal(scale=3.0, size=(k, d))[labels] + rng.normal(size=(n, d)), labels


@LIBRARIES
@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
@pytest.mark.filterwarnings("ignore:Best performing")
def test_em_steps(measure, size, library, shape):
    d, k = 10, 10
    X, _ = blobs(size(small=500, full=100_000), d, k)
    precisions = {"full": [np.eye(d)] * k, "tied": np.eye(d), "diag": np.ones((k, d))}
    model = importlib.import_module(f"{library}.mixture").GaussianMixture(
        k,
        covariance_type=shape,
        weights_init=np.full(k, 1 / k),
        means_init=X[:k],
        precisions_init=precisions.get(shape, np.ones(k)),
        max_iter=size(small=3, full=20),
        tol=0.0,
    )
    measure(model.fit, X)
    assert np.diff(model.lower_bounds_).min() > -1e-3


@LIBRARIES
def test_silhouette(measure, size, library):
    X, labels = blobs(size(small=300, full=30_000), 10, 8)
    score = importlib.import_module(f"{library}.metrics").silhouette_score
    assert 0.0 < measure(score, X, labels) < 1.0


@LIBRARIES
def test_adjusted_mutual_information(measure, size, library):
    _, labels = blobs(size(small=300, full=200_000), 2, 50)
    score = importlib.import_module(f"{library}.metrics").adjusted_mutual_info_score
    assert abs(measure(score, labels, np.roll(labels, 1))) < 0.1
