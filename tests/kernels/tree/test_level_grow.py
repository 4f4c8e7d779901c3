"""Trees level by level are the trees of partitioned columns."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.grow_levels import Columns, _slots, by_levels, grow_levels
from fastml.kernels.tree import level_grow as kernels
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import SQUARED_ERROR
from fastml.kernels.tree.presort import value_of

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow"),  # of uint64, where kernels run as Python
    pytest.mark.filterwarnings("ignore:invalid value"),  # of lane 0, which is not read
    pytest.mark.filterwarnings("ignore:divide by zero"),
]

WEIGHTS = ("none", "some", "zero or one", "some zero")


def problem(n, ties=False, weights="none", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    if ties:
        X = np.round(X)
        X[:, 2] = 1.0
    y = rng.integers(0, 3, n) * 1.0 if ties else rng.normal(size=n)
    w = {
        "none": None,
        "some": rng.random(n) + 0.1,
        "zero or one": rng.integers(0, 2, n) * 1.0,
        "some zero": rng.random(n) * rng.integers(0, 2, n),
    }[weights]
    if w is not None and n:
        w[0] = 1.0
    return X, y, w


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [1, 2, 60])
@pytest.mark.parametrize(
    "more", [{}, {"min_leaf": 4}, {"min_weight": 3.0}, {"min_split": 20}], ids=str
)
def test_same_tree_to_the_bit(n, ties, weights, more):
    X, y, w = problem(n, ties, weights)
    rules, orders = GrowthRules(SQUARED_ERROR, max_depth=4, **more), presort(X)
    expected, leaves = grow(orders, rules, values=y[None], weights=w, seed=5)
    tree, walked = grow_levels(Columns(X, orders), rules, y, w, seed=5)
    assert tree == expected
    took_part = leaves >= 0
    assert_array_equal(walked[took_part], leaves[took_part])
    assert_array_equal(walked, tree.apply(X, 1))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("decrease", [0.01, 0.05, 0.5])
def test_splits_that_lower_too_little_are_taken_back(weights, decrease):
    X, y, w = problem(80, False, weights)
    rules, orders = GrowthRules(SQUARED_ERROR, max_depth=4, min_decrease=decrease), presort(X)
    expected, _ = grow(orders, rules, values=y[None], weights=w, seed=5)
    tree, leaves = grow_levels(Columns(X, orders), rules, y, w, seed=5)
    for name in ("feature", "children_right", "n_node_samples"):
        assert_array_equal(getattr(tree, name), getattr(expected, name))
    assert_allclose(tree.value, expected.value, atol=1e-13)
    assert_array_equal(leaves, tree.apply(X, 1))


def level_of(X, y, w, n_nodes, min_leaf=1, min_weight=0.0):
    """Rows dealt to the nodes of one level, with the statistics of these."""
    n = len(X)
    lanes = (1 + np.arange(n) % n_nodes).astype(np.uint8)
    if w is not None:
        lanes[w == 0.0] = 0
    rules = GrowthRules(SQUARED_ERROR, max_depth=9, min_leaf=min_leaf, min_weight=min_weight)
    tree = _slots(n, 5)
    kernels.level_statistics(0, n_nodes, 0, lanes, y, w, rules, tree)
    return lanes, rules, tree


@pytest.mark.parametrize("weights", ["none", "some", "some zero"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("limits", [(1, 0.0), (5, 0.0), (1, 4.0)])
def test_best_splits_of_a_level(weights, ties, limits):
    X, y, w = problem(240, ties, weights)
    lanes, rules, tree = level_of(X, y, w, 3, *limits)
    factor = np.ones(240) if w is None else w
    scores, edges = np.empty((3, 4)), np.empty((3, 4, 2), np.uint64)
    moments = y * factor
    kernels.scan_columns(
        presort(X), lanes, moments, w, 0, 3, tree, rules, scores, edges, n_threads=1
    )
    for node in range(3):
        rows = lanes == node + 1
        assert_allclose(tree.counts[node], rows.sum())
        assert_allclose(tree.weights[node], factor[rows].sum())
        assert_allclose(tree.sums[node], moments[rows].sum())
        mean = np.average(y[rows], weights=factor[rows])
        variance = np.average((y[rows] - mean) ** 2, weights=factor[rows])
        assert_allclose(tree.impurities[node], variance)
        for f in range(3):
            best, around = naive.best_column_split(X[rows, f], y[rows], factor[rows], *limits)
            assert_allclose(scores[f, node + 1], best)
            if around is not None:
                assert_array_equal([value_of(e) for e in edges[f, node + 1]], around)
    size = kernels.choose_splits(0, 3, scores, edges, tree)
    assert size == 3 + 2 * np.count_nonzero(tree.lefts[:3] >= 0)
    for node in np.flatnonzero(tree.lefts[:3] >= 0):
        assert scores[tree.features[node], node + 1] == scores[:, node + 1].max()


def test_final_nodes_are_not_searched():
    X, y, _ = problem(30)
    lanes, rules, tree = level_of(X, y, None, 2)
    tree.final[1] = True
    scores, edges = np.empty(3), np.empty((3, 2), np.uint64)
    kernels.scan_column(presort(X)[0], lanes, y, None, 0, 2, tree, rules, scores, edges)
    assert np.isfinite(scores[1])
    assert scores[2] == np.inf
    everywhere = np.full((1, 3), -np.inf)
    assert kernels.choose_splits(0, 2, everywhere, edges[None], tree) == 2


def test_route_rows():
    X, _, w = problem(40, False, "some zero")
    tree = _slots(40, 3)
    tree.lefts[:3] = 1, -1, -1
    tree.features[0], tree.thresholds[0] = 1, 0.0
    slots, lanes = np.zeros(40, np.int32), np.ones(40, np.uint8)
    kernels.route_rows(1, 0, 1, X, w, tree, slots, lanes, n_threads=1)
    expected = np.where(X[:, 1] <= 0.0, 1, 2)
    assert_array_equal(slots, expected)
    assert_array_equal(lanes, np.where(w == 0.0, 0, expected))
    kernels.route_rows(1, 1, 3, X, w, tree, slots, lanes, n_threads=1)  # leaves: no row moves
    assert_array_equal(slots, expected)
    assert not lanes.any()


def test_take_back():
    tree = _slots(9, 3)
    tree.lefts[:3], tree.weights[:3] = (1, -1, -1), (4.0, 2.0, 2.0)
    tree.impurities[:3] = 1.0, 0.5, 0.7  # the split lowers 1 to 0.6
    for decrease, taken in ((0.19, 0), (0.21, 1)):
        assert kernels.take_back(0, 1, decrease, 8.0, tree) == taken
        assert tree.final[1] == tree.final[2] == (taken == 1)
    assert tree.lefts[0] == -1


@pytest.mark.parametrize(
    "more",
    [{"max_depth": 8}, {"max_leaves": 4}, {"max_features": 2}, {"random": True}],
    ids=str,
)
def test_other_rules_go_to_partitioned_columns(more):
    assert by_levels(GrowthRules(SQUARED_ERROR, max_depth=3, max_features=3), 3)
    assert not by_levels(GrowthRules(SQUARED_ERROR, **{"max_depth": 3, **more}), 3)
