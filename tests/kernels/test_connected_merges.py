"""On a complete graph, merging along edges is merging as such; on a path, only neighbours merge."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import cdist

from fastml.cluster import _connected_merges
from fastml.cluster._connected_merges import _merge_along_edges
from fastml.kernels.connected_merges import heads, leaves_below
from fastml.kernels.linkage import AVERAGE, COMPLETE, WARD

pytestmark = pytest.mark.small

NAMES = {COMPLETE: "complete", AVERAGE: "average", WARD: "ward"}


def merge(method, X, rows, cols):
    n = len(X)
    sums = np.zeros((2 * n - 1, X.shape[1]))
    sums[:n] = X
    distance = np.linalg.norm(X[rows] - X[cols], axis=1)
    tree = _merge_along_edges(method, n, 2 * n - 1, rows, cols, distance, sums)
    heights = np.sqrt(2 * tree.heights) if method == WARD else tree.heights
    done = np.unique(tree.parent[tree.parent != np.arange(2 * n - 1)]).shape[0]
    return tree.children[:done], heights[:done], tree.parent


@pytest.mark.parametrize("method", NAMES)
def test_complete_graph(method):
    X = np.random.default_rng(0).normal(size=(15, 2))
    rows, cols = np.nonzero(~np.eye(15, dtype=bool))
    children, heights, _ = merge(method, X, rows, cols)
    Z = np.column_stack([children, heights, np.zeros(14)])
    found, expected = merges_of(Z), agglomerate(cdist(X, X), NAMES[method])
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-9)


@pytest.mark.parametrize("method", NAMES)
def test_on_a_path_clusters_are_intervals(method):
    X = np.random.default_rng(1).normal(size=(12, 2))
    i = np.arange(11)
    rows, cols = np.r_[i, i + 1], np.r_[i + 1, i]
    order = np.lexsort((cols, rows))
    children, heights, parent = merge(method, X, rows[order], cols[order])
    for _, members in merges_of(np.column_stack([children, heights, heights])):
        assert members == tuple(range(members[0], members[-1] + 1))
    heads(parent)
    np.testing.assert_array_equal(parent, 22)


def test_many_short_calls_give_the_same_tree(monkeypatch):
    X = np.random.default_rng(2).normal(size=(20, 2))
    rows, cols = np.nonzero(~np.eye(20, dtype=bool))
    at_once = merge(AVERAGE, X, rows, cols)
    monkeypatch.setattr(_connected_merges, "NEIGHBOURS_PER_CALL", 3)
    for found, expected in zip(merge(AVERAGE, X, rows, cols), at_once):
        np.testing.assert_array_equal(found, expected)


def test_stops_where_the_graph_ends():
    X = np.array([[0.0], [1.0], [2.0], [3.5]])
    rows, cols = np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])
    children, heights, _ = merge(COMPLETE, X, rows, cols)
    np.testing.assert_array_equal(np.sort(children, axis=1), [[0, 1], [2, 3]])
    np.testing.assert_array_equal(heights, [1.0, 1.5])


def test_leaves_below():
    children = np.array([[0, 1], [2, 4], [3, 5]])
    labels = np.full(4, -1)
    leaves_below(5, children, 4, np.empty(5, np.intp), labels, 7)
    np.testing.assert_array_equal(labels, [7, 7, 7, -1])
