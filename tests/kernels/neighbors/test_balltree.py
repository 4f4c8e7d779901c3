"""A ball tree finds what sorting finds, for any metric."""

import numpy as np
import pytest
from naive import nearest_rows
from scipy.spatial.distance import cdist

from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import balltree
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, cut_leaf, right_child
from fastml.neighbors import BallTree


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 17, 50])
def test_query_equals_sorting(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.integers(0, 4, size=(n, 2)).astype(dtype)
    Q = rng.normal(size=(5, 2)).astype(dtype)
    k = min(n, 4)
    found = BallTree(X, metric="manhattan").query(Q, k=k)
    expected = nearest_rows(Q.astype(float), X.astype(float), k, lambda x, y: abs(x - y).sum())
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], expected[1])


def nodes_of(n):
    """(node, its rows) of the partition of n points."""
    waiting = [(0, 0, -(-n // LEAF_POINTS))]
    while waiting:
        node, first, last = waiting.pop()
        yield node, slice(first * LEAF_POINTS, min(last * LEAF_POINTS, n))
        if last - first > 1:
            cut = cut_leaf(first, last)
            waiting += [(node + 1, first, cut), (right_child(node, first, cut), cut, last)]


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 17, 50])
def test_balls_hold_their_points(n, dtype, n_threads):
    X = np.random.default_rng(n).integers(0, 4, size=(n, 2)).astype(dtype)
    fitted = BallTree(X, metric="manhattan")
    tree = fitted._tree._replace(
        centres=np.full_like(fitted._tree.centres, np.nan),
        radii=np.full_like(fitted._tree.radii, np.nan),
    )
    root = np.array([[0, 0, -(-n // LEAF_POINTS)]])
    balltree.enclose_nodes((None,), fitted._metric, tree, root, False, n_threads=n_threads)
    np.testing.assert_allclose(tree.centres[0], X.mean(axis=0), rtol=1e-6)
    assert np.isnan(tree.radii[1:]).all()  # only the node asked for
    balltree.enclose_nodes((None,), fitted._metric, tree, root, True, n_threads=n_threads)
    for node, inside in nodes_of(n):
        np.testing.assert_allclose(tree.centres[node], tree.rows[inside].mean(axis=0), rtol=1e-6)
        gaps = np.abs(tree.rows[inside].astype(float) - tree.centres[node]).sum(axis=1)
        assert tree.radii[node] == pytest.approx(gaps.max(), rel=1e-12)


@pytest.mark.small
def test_bound_is_below_every_point_of_the_ball():
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(60, 2)), kernel_view(rng.normal(size=(20, 2)) * 3)
    fitted = BallTree(X, metric="manhattan")
    bounds = []
    for q in range(20):
        for node, inside in nodes_of(60):
            bound = balltree.ball_bound((None,), fitted._metric, fitted._tree, node, Q, q)
            assert 0.0 <= bound <= np.abs(fitted._tree.rows[inside] - Q[q]).sum(axis=1).min()
            bounds.append(bound)
    assert np.median(bounds) > 0.1  # it says something
    dice = fitted._metric._replace(code=metrics.DICE)  # no triangle inequality
    assert balltree.ball_bound((True,), dice, fitted._tree, 0, Q, 0) == 0.0


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 50])
def test_queries_in_any_order_of_visits(n, n_threads):
    rng = np.random.default_rng(n)
    X, Q = rng.normal(size=(n, 2)), kernel_view(rng.normal(size=(7, 2)))
    fitted = BallTree(X, metric="manhattan")
    k = min(n, 3)
    distances, indices = np.full((7, k), -1.0), np.full((7, k), -9)
    visit = np.array([6, 0, 3, 5, 1, 2])  # not 4
    balltree.balltree_query(
        (None,), fitted._metric, fitted._tree, Q, visit, 2, distances, indices, n_threads=n_threads
    )
    expected = nearest_rows(Q, X, k, lambda x, y: abs(x - y).sum())
    np.testing.assert_allclose(distances[visit], expected[0][visit], rtol=1e-12)
    np.testing.assert_array_equal(indices[visit], expected[1][visit])
    assert (distances[4] == -1.0).all()


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", {}),
        ("canberra", {}),
        ("hamming", {}),
        ("seuclidean", {"V": np.array([1.0, 2.0, 3.0])}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 3.0])}),
        ("minkowski", {"p": 3}),
        ("jaccard", {}),
        ("dice", {}),
    ],
)
def test_every_kind_of_metric(metric, params):
    rng = np.random.default_rng(0)
    if metric in ("jaccard", "dice", "hamming"):
        X, Q = rng.integers(0, 2, (300, 3)).astype(float), rng.integers(0, 2, (40, 3)).astype(float)
    else:
        X, Q = rng.normal(size=(300, 3)), rng.normal(size=(40, 3))
    found, _ = BallTree(X, metric=metric, **params).query(Q, k=5)
    boolean = metric in ("jaccard", "dice")
    with np.errstate(invalid="ignore"):
        D = cdist(
            Q.astype(bool) if boolean else Q, X.astype(bool) if boolean else X, metric, **params
        )
    D = np.nan_to_num(D, nan=np.finfo(float).max)
    np.testing.assert_allclose(found, np.sort(D, axis=1)[:, :5], rtol=1e-9)


def test_haversine_near_the_date_line():
    X = np.radians([[0.0, 179.0], [0.0, -179.0], [0.0, 0.0]])
    distances, indices = BallTree(X, metric="haversine").query(np.radians([[0.0, -179.9]]), k=2)
    np.testing.assert_array_equal(indices, [[1, 0]])
    np.testing.assert_allclose(distances, np.radians([[0.9, 1.1]]))
