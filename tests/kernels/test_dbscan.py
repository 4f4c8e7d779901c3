"""Leaves of a kd-tree and neighbour lists give the clusters of the plain algorithm."""

import numpy as np
import pytest
from naive import density_clusters
from scipy.spatial.distance import cdist

from fastml.cluster._dbscan import DBSCAN
from fastml.kernels.dbscan import (
    border_lists,
    find,
    join,
    join_lists,
    number_clusters,
    weigh_lists,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("eps", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("n", [1, 2, 33, 150])
def test_tree_equals_the_plain_algorithm(n, eps, metric):
    X = np.random.default_rng(n).normal(size=(n, 2))
    fitted = DBSCAN(eps=eps, min_samples=4, metric=metric).fit(X)
    labels, core = density_clusters(cdist(X, X, metric), eps, 4)
    np.testing.assert_array_equal(fitted.labels_, labels)
    np.testing.assert_array_equal(fitted.core_sample_indices_, np.flatnonzero(core))


def test_duplicates_at_the_radius_count():
    X = np.repeat(np.arange(5.0), 20)[:, None]
    fitted = DBSCAN(eps=1.0, min_samples=60).fit(X)
    labels, core = density_clusters(cdist(X, X), 1.0, 60)
    np.testing.assert_array_equal(fitted.labels_, labels)
    assert core.sum() == 60


def test_weights_may_be_negative():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 2)), rng.integers(-2, 4, size=80).astype(float)
    fitted = DBSCAN(eps=0.5, min_samples=3).fit(X, sample_weight=weights)
    labels, _ = density_clusters(cdist(X, X), 0.5, 3, weights)
    np.testing.assert_array_equal(fitted.labels_, labels)
    assert len(set(labels)) > 2


def test_lists_equal_the_plain_algorithm():
    X = np.random.default_rng(5).normal(size=(60, 2))
    D = cdist(X, X)
    near = D <= 0.4
    indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    expected, core = density_clusters(D, 0.4, 4)
    parent, labels = np.arange(60), np.full(60, -1)
    join_lists(0, indptr, np.nonzero(near)[1], core, parent)
    assert number_clusters(core, parent, labels) == expected.max() + 1
    border_lists(0, indptr, np.nonzero(near)[1], core, labels)
    np.testing.assert_array_equal(labels, expected)


def test_weights_of_lists():
    indptr, indices = np.array([0, 2, 2, 5]), np.array([1, 0, 2, 2, 1])
    weights, total = np.array([1.0, -2.0, 0.5]), np.empty(3)
    weigh_lists(indptr, indices, weights, total)
    parts = np.split(weights[indices], indptr[1:-1])
    np.testing.assert_array_equal(total, [part.sum() for part in parts])


def test_union_find():
    parent = np.arange(6)
    for i, j in [(4, 5), (1, 0), (5, 1)]:
        join(parent, i, j)
    assert [find(parent, i) for i in range(6)] == [0, 0, 2, 3, 0, 0]
