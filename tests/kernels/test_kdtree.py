"""A kd-tree finds what sorting finds, ties by index."""

import numpy as np
import pytest
from naive import nearest_rows

from fastml.kernels import kdtree
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
def test_queries_are_ordered_cell_by_cell():
    cells = np.array([2, 0, 1, 2, 0])
    visit = np.empty(5, np.intp)
    kdtree.order_by_cell(cells, 3, visit)
    np.testing.assert_array_equal(visit, [1, 4, 2, 0, 3])


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
