"""On a complete graph, merging along edges is merging as such; on a path, only neighbours merge."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import cdist

from fastml.cluster._hierarchy import _connected_merges
from fastml.cluster._hierarchy._connected_merges import _merge_along_edges
from fastml.kernels.cluster.connected_merges import (
    FINISHED,
    MORE_ROOM,
    NODES,
    TO_BE_CONTINUED,
    CandidateEdges,
    MergeNodes,
    MergeTree,
    NeighbourLists,
    heads,
    leaves_below,
    merge_some,
    start_merges,
)
from fastml.kernels.cluster.linkage import AVERAGE, COMPLETE, WARD

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


@pytest.mark.parametrize(("list_room", "candidate_room"), [(6, 9), (30, 4), (30, 9)])
@pytest.mark.parametrize("budget", [-1, 0, 100])
def test_merges_stop_for_want_of_room_and_at_the_end_of_the_budget(
    list_room, candidate_room, budget
):
    """Points 0, 1 and 3 on a line, in a graph 0 - 1 - 2: merged are (0, 1), then 2."""
    rows, cols, distance = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]), np.array([1.0, 1, 2, 2])
    nodes = MergeNodes(
        sizes=np.ones(5), sums=np.empty((0, 0)), used=np.ones(5, np.bool_),
        mark=np.full(6, -1), place=np.zeros(5, np.intp), cols=np.empty(5, np.intp), new=np.empty(5),
    )  # fmt: skip
    lists = NeighbourLists(
        np.full(5, -1), np.full(list_room, -1), np.resize(cols, list_room),
        np.resize(distance, list_room),
    )  # fmt: skip
    n = candidate_room
    candidates = CandidateEdges(np.empty(n), np.empty((n, 2), np.intp), np.empty(n, np.intp))
    tree = MergeTree(np.empty((2, 2), np.intp), np.empty(2), np.arange(5))
    counts = np.array([3, 0, 0, 0])
    start_merges(COMPLETE, rows, nodes, lists, candidates, counts)
    assert counts.tolist() == [3, 4, 2, 2]
    assert candidates.weights[candidates.heap[0]] == 1.0
    assert [lists.to[lists.first[i]] for i in range(3)] == [1, 2, 1]
    status = merge_some(COMPLETE, 3, budget, nodes, lists, candidates, counts, tree)
    if list_room < 10 or candidate_room < 5:  # two entries, one candidate per live node
        assert (status, counts[NODES]) == (MORE_ROOM, 3)
        return
    if budget < 0:
        assert (status, counts[NODES]) == (TO_BE_CONTINUED, 3)
    elif budget == 0:
        assert (status, counts[NODES]) == (TO_BE_CONTINUED, 4)
    if status != FINISHED:
        assert merge_some(COMPLETE, 3, 9, nodes, lists, candidates, counts, tree) == FINISHED
    assert tree.children.tolist() == [[0, 1], [2, 3]]
    assert tree.heights.tolist() == [1.0, 2.0]
    assert tree.parent.tolist() == [3, 3, 4, 4, 4]
    assert merge_some(COMPLETE, 3, 9, nodes, lists, candidates, counts, tree) == FINISHED
