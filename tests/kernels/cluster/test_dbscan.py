"""Leaves of a kd-tree, neighbour lists and bits give the clusters of the plain algorithm."""

import numpy as np
import pytest
from arrays import read_only
from naive import density_clusters
from scipy.spatial.distance import cdist

from fastml.cluster._dbscan import DBSCAN
from fastml.kernels.cluster.dbscan import (
    EpsSearch,
    border_leaves,
    border_lists,
    core_leaves,
    find,
    join,
    join_leaves,
    join_lists,
    number_clusters,
    number_leaves,
    spread_marks,
    weigh_lists,
    weigh_marks,
)
from fastml.kernels.distances.metrics import EUCLIDEAN
from fastml.kernels.neighbors.space_tree import LEAF_POINTS
from fastml.neighbors import KDTree

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


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


@pytest.mark.parametrize("leaves_per_chunk", [1, 100])
@pytest.mark.parametrize("n", [1, 2, 200])
def test_leaves_equal_the_plain_algorithm(n, leaves_per_chunk, n_threads):
    X = np.random.default_rng(n).normal(size=(n, 2))
    tree = KDTree(X)._tree
    n_leaves, filled = len(tree.blocks), tree.order >= 0
    expected, expected_core = density_clusters(cdist(X, X), 0.4, 5)
    search = EpsSearch(EUCLIDEAN, read_only(X), 0.4**2, 2.0, read_only(np.empty((0, 0))))
    place = np.empty(n, np.intp)
    place[tree.order[filled]] = np.flatnonzero(filled)
    weights = filled.astype(float).reshape(n_leaves, LEAF_POINTS)
    for may_stop in (True, False):
        core = np.ones(n_leaves * LEAF_POINTS, bool)
        core_leaves(
            0,
            n_leaves,
            leaves_per_chunk,
            tree,
            search,
            weights,
            5.0,
            may_stop,
            core,
            n_threads=n_threads,
        )
        np.testing.assert_array_equal(core[place], expected_core)
        assert not core[~filled].any()
    parent, whole = np.arange(n_leaves * LEAF_POINTS), np.full(n_leaves, -1)
    for leaf in range(n_leaves):
        join_leaves(leaf, leaf + 1, tree, search, core, parent, whole)
    labels = np.empty(n, np.intp)
    n_clusters = number_leaves(place, core, parent, np.full(n_leaves * LEAF_POINTS, -1), labels)
    assert n_clusters == expected.max() + 1
    np.testing.assert_array_equal(labels, np.where(expected_core, expected, -1))
    border_leaves(
        0,
        n_leaves,
        leaves_per_chunk,
        tree,
        search,
        core,
        whole,
        n_clusters,
        labels,
        n_threads=n_threads,
    )
    np.testing.assert_array_equal(labels, expected)


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


@pytest.mark.parametrize("eps", [0.0, 0.4, 0.9, 9.0])
@pytest.mark.parametrize("n", [1, 2, 64, 65, 150])
def test_bits_equal_the_plain_algorithm(n, eps):
    X = np.random.default_rng(n).normal(size=(n, 2))
    D = cdist(X, X)
    expected, core = density_clusters(D, eps, 4)
    marks = marks_of(eps >= D)
    labels = np.empty(n, np.intp)
    assert spread_marks(marks, core, labels) == expected.max() + 1
    np.testing.assert_array_equal(labels, expected)


def marks_of(near):
    """A bit for every pair."""
    n = len(near)
    padded = np.zeros((n, -(-n // 64) * 64), np.uint8)
    padded[:, :n] = near
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def test_weights_of_bits():
    rng = np.random.default_rng(0)
    near, weights = rng.random((70, 70)) < 0.2, rng.integers(-3, 9, 70).astype(float)
    total = np.empty(70)
    weigh_marks(marks_of(near), weights, total)
    np.testing.assert_array_equal(total, near @ weights)
