"""A kd-tree finds what sorting finds, ties by index."""

import numpy as np
import pytest
from naive import nearest_rows

from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import kdtree
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, cut_leaf, right_child
from fastml.neighbors import KDTree

METRICS = {
    "euclidean": (lambda x, y: np.sqrt(((x - y) ** 2).sum()), {}),
    "manhattan": (lambda x, y: abs(x - y).sum(), {}),
    "chebyshev": (lambda x, y: abs(x - y).max(), {}),
    "minkowski": (lambda x, y: (abs(x - y) ** 2.5).sum() ** 0.4, {"p": 2.5}),
}


@pytest.mark.small
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 2, 16, 17, 60])
def test_query_equals_sorting(metric, n, dtype):
    distance, params = METRICS[metric]
    rng = np.random.default_rng(n)
    X = rng.integers(0, 4, size=(n, 2)).astype(dtype)  # many ties
    Q = rng.normal(size=(5, 2)).astype(dtype)
    k = min(n, 5)
    found = KDTree(X, metric=metric, **params).query(Q, k=k)
    expected = nearest_rows(Q.astype(float), X.astype(float), k, distance)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    if metric != "minkowski":  # pow may round equal distances apart
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("k", [1, 10, 33, 100])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_large_query_equals_sorting(k, d, dtype):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(2000, d)).astype(dtype), rng.normal(size=(600, d)).astype(dtype)
    found = KDTree(X).query(Q, k=k)
    D = np.sqrt(((Q[:, None].astype(float) - X[None].astype(float)) ** 2).sum(-1))
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found[1], order)
    np.testing.assert_allclose(found[0], np.take_along_axis(D, order, 1), rtol=1e-12)


def test_all_points_equal_takes_the_smallest_indices_quickly():
    X = np.zeros((20_000, 3))
    found = KDTree(X).query(X[:2000], k=4)[1]
    np.testing.assert_array_equal(found, np.tile(np.arange(4), (2000, 1)))


def test_same_bits_for_any_number_of_threads(dtype):
    X = np.random.default_rng(0).normal(size=(5000, 3)).astype(dtype)
    tree = KDTree(X)
    one, two = tree._kneighbors(X, 6, 1), tree._kneighbors(X, 6, 2)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.small
@pytest.mark.parametrize("k", [1, 3, 40])  # a sorted list, a heap
def test_queries_in_any_order_of_visits(k, n_threads):
    rng = np.random.default_rng(k)
    X = rng.integers(0, 5, size=(60, 2)).astype(float)
    Q = kernel_view(rng.normal(size=(7, 2)))
    fitted = KDTree(X)
    distances, indices = np.full((7, k), -1.0), np.full((7, k), -9)
    visit = np.array([6, 0, 3, 5, 1, 2])  # not 4
    kdtree.kdtree_query(
        fitted._metric, fitted._tree, Q, visit, 2, distances, indices, n_threads=n_threads
    )
    expected = nearest_rows(Q, X, k, METRICS["euclidean"][0])
    np.testing.assert_allclose(distances[visit], expected[0][visit], rtol=1e-12)
    np.testing.assert_array_equal(indices[visit], expected[1][visit])
    assert (distances[4] == -1.0).all()


@pytest.mark.small
@pytest.mark.parametrize("n", [1, LEAF_POINTS, LEAF_POINTS + 1])
def test_leaves_are_filled_up_with_the_last_point(n, dtype):
    rows, order = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype), np.arange(n)[::-1]
    n_leaves = -(-n // LEAF_POINTS)
    blocks = np.full((n_leaves, 3, LEAF_POINTS), np.nan, dtype)
    padded = np.empty(n_leaves * LEAF_POINTS, np.intp)
    kdtree.pack_leaves(rows, order.copy(), blocks, padded)
    points = blocks.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(points[:n], rows)
    np.testing.assert_array_equal(points[n:], np.tile(rows[-1], (len(points) - n, 1)))
    np.testing.assert_array_equal(padded[:n], order)
    assert (padded[n:] == -1).all()


@pytest.mark.small
@pytest.mark.parametrize("code", range(metrics.LAST_GAP_METRIC + 1))
def test_distances_to_a_leaf_are_those_to_its_points(code, dtype):
    rng = np.random.default_rng(code)
    points, Q = (rng.normal(size=(n, 3)).astype(dtype) for n in (2 * LEAF_POINTS, 4))
    blocks = np.ascontiguousarray(points.reshape(2, LEAF_POINTS, 3).transpose(0, 2, 1))
    weights, out = kernel_view(np.array([[0.5, 2.0, 1.0]])), np.empty(LEAF_POINTS)
    kdtree.leaf_rdists(code, blocks, 1, kernel_view(Q), 2, 2.5, weights, out)
    powers = {2: 1.0, 3: 1.0, 4: 3.0, 5: 4.0, 6: 2.5, 8: 1.0, 9: 2.5}
    terms = np.abs(points[LEAF_POINTS:].astype(float) - Q[2]) ** powers.get(code, 2.0)
    if code >= metrics.WEIGHTED_SQUARES:
        terms *= weights
    expected = terms.max(axis=1) if code == metrics.CHEBYSHEV else terms.sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


@pytest.mark.small
@pytest.mark.parametrize("n_leaves", [1, 2, 5, 8])
def test_leaves_are_where_the_cuts_lead(n_leaves, dtype, n_threads):
    rng = np.random.default_rng(n_leaves)
    n_points = n_leaves * LEAF_POINTS - 3
    X, Q = (kernel_view(rng.normal(size=(n, 2)).astype(dtype)) for n in (n_points, 19))
    tree = KDTree(X)._tree
    leaves = np.full(19, -1)
    kdtree.leaves_of(tree.low, tree.axis, n_leaves, Q, 4, leaves, n_threads=n_threads)
    for q in range(19):
        node, first, last = 0, 0, n_leaves
        while last - first > 1:
            cut = cut_leaf(first, last)
            right, axis = right_child(node, first, cut), tree.axis[node]
            if Q[q, axis] < tree.low[right, axis]:
                node, last = node + 1, cut
            else:
                node, first = right, cut
        assert leaves[q] == first
    assert len(set(leaves)) > 1 or n_leaves == 1


@pytest.mark.small
@pytest.mark.parametrize(
    ("shift", "expected"), [(0, [1, 4, 2, 0, 3, 5]), (1, [1, 2, 4, 0, 3, 5]), (3, range(6))]
)
def test_queries_are_ordered_leaf_by_leaf(shift, expected):
    leaves = np.array([2, 0, 1, 2, 0, 4])
    visit = np.empty(6, np.intp)
    kdtree.order_by_leaf(leaves, 5, shift, visit)
    np.testing.assert_array_equal(visit, expected)


@pytest.mark.small
def test_box_distance_is_a_lower_bound():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(1, 3))
    high = low + rng.random((1, 3))
    Q = rng.normal(size=(20, 3)) * 2
    inside = low + rng.random((200, 3)) * (high - low)
    for q in range(20):
        bound = kdtree.box_rdist(0, low, high, 0, Q, q, 2.0, np.empty((0, 0)))
        nearest = np.clip(Q[q], low[0], high[0])
        assert bound == pytest.approx(((Q[q] - nearest) ** 2).sum())
        assert (bound <= ((inside - Q[q]) ** 2).sum(axis=1)).all()
