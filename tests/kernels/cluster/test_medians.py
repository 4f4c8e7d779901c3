"""Manhattan labels and coordinate medians."""

import numpy as np
import pytest
from arrays import read_only
from naive import median_by_loss
from scipy.spatial.distance import cdist

from fastml.kernels.cluster.medians import cluster_medians, label_rows, weighted_median

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 100, 101])
@pytest.mark.parametrize("distinct", [1, 3, 1000])
def test_equal_weights_give_the_ordinary_median(n, distinct):
    values = np.random.default_rng(n).integers(distinct, size=n).astype(float)
    for given in (values, np.sort(values), np.sort(values)[::-1]):
        assert weighted_median(given.copy(), np.ones(n)) == np.median(values)


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("seed", range(5))
def test_weighted_median_minimises_the_loss(n, seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=n).round(1), rng.integers(0, 4, size=n).astype(float)
    weights[0] = 1.0
    expected = median_by_loss(values, weights)
    np.testing.assert_allclose(weighted_median(values, weights), expected, rtol=1e-12)


def test_median_of_weights_that_do_not_add_up():
    values, weights = np.arange(10.0), np.full(10, 0.1)
    assert weighted_median(values, weights) in (4.0, 4.5, 5.0)


def test_labels_and_medians(dtype, n_threads):
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(50, 3)).astype(dtype), rng.normal(size=(4, 3))
    labels, distances = np.empty(50, np.intp), np.empty(50)
    X, panel = read_only(X), read_only(np.ascontiguousarray(centers.T))
    label_rows(7, X, panel, labels, distances, n_threads=n_threads)
    D = cdist(X, centers, "cityblock")
    np.testing.assert_array_equal(labels, D.argmin(axis=1))
    np.testing.assert_allclose(distances, D.min(axis=1), rtol=1e-12)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=4))])
    out = np.full((4, 3), 9.0)
    cluster_medians(X, np.ones(50), order, starts, out, n_threads=n_threads)
    for c in range(4):
        expected = np.median(X[labels == c].astype(float), axis=0) if (labels == c).any() else 9.0
        np.testing.assert_array_equal(out[c], expected)
