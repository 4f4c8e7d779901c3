"""One node: statistics, columns to search, the best split, the sides of the rows."""

import numpy as np
import pytest
from naive import best_subset_split, best_threshold_split, node_loss
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.grow import presort, sorted_rows, target_orders
from fastml.kernels.tree.exact_split import ROW, GrowthRules, Search
from fastml.kernels.tree.median_split import TargetLists
from fastml.kernels.tree.node_split import (
    OpenNode,
    best_plain_column,
    choose,
    count_present,
    draw_columns,
    is_final,
    judge,
    mark_sides,
    node_statistics,
    search_column,
    split_node,
    target_lists,
    threshold_between,
)
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, ENTROPY, ERROR, GINI, POISSON, SQUARED_ERROR

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64
NAMES = {
    GINI: "gini",
    ENTROPY: "entropy",
    ERROR: "error",
    SQUARED_ERROR: "squared_error",
    POISSON: "poisson",
    ABSOLUTE_ERROR: "absolute_error",
}


class Node:
    """All rows as one node, in the form the kernels take; y is (n, n_outputs)."""

    def __init__(self, X, y, w, criterion, seed=1, bounds=(-np.inf, np.inf), rules=None, **more):
        n, n_outputs = y.shape
        classify = criterion <= ERROR
        self.rules = GrowthRules(criterion, **(rules or {}))
        targets = np.ascontiguousarray(y.T)
        self.classes = targets.astype(np.int32) if classify else None
        self.values = None if classify else targets.astype(float)
        orders, self.lists, self.several = presort(X.astype(np.float32)), None, None
        if criterion == ABSOLUTE_ERROR:
            orders = np.vstack([orders, target_orders(self.values)])
            places, ys, ws = np.empty((n_outputs, n), np.int32), *np.empty((2, n_outputs, n))
            self.lists = TargetLists(places, ys, ws)
        elif n_outputs > 1:
            self.several = np.zeros(1, np.intp)
        n_classes, d = int(y.max()) + 1 if classify else 1, X.shape[1]
        self.data = sorted_rows(orders, d, w, n_classes=n_classes, **more)
        k = n_outputs * n_classes
        scratch = np.empty(k + 1), np.empty(k), np.empty(k)
        found = np.zeros((d, 5))
        self.search = Search(np.array(bounds), np.empty(k), np.arange(d), found, *scratch)
        self.weight, self.impurity = self.statistics(0, n)
        self.node = OpenNode(0, n, np.uint64(seed), self.weight)
        if self.lists is not None:
            target_lists(0, n, self.data, self.values, self.lists)

    def statistics(self, start, end):
        target = self.classes, self.values, self.lists
        return node_statistics(start, end, self.data, self.rules, *target, self.search.total)

    def found(self, j=0):
        """The best split of a column."""
        target = self.classes, self.values, self.lists, self.several
        search_column(j, self.node, self.data, self.rules, *target, self.search)
        return self.search.found[j]

    def marked(self, j=0):
        """How many rows go left by what was found for a column, and which."""
        n_left = mark_sides(j, self.node, self.data, self.classes, self.values, self.search)
        return n_left, self.data.sides == 1


def loss_of(left, y, w, criterion):
    return node_loss(y[left], w[left], criterion) + node_loss(y[~left], w[~left], criterion)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_statistics(criterion, n_outputs):
    rng = np.random.default_rng(0)
    for n in (1, 2, 9):
        y, w = rng.integers(0, 3, (n, n_outputs)), rng.uniform(0.5, 2.0, n)
        y[0] = 2
        node = Node(rng.normal(size=(n, 1)), y, w, criterion)
        assert_allclose(node.weight, w.sum())
        assert_allclose(node.impurity, node_loss(y, w, NAMES[criterion]) / w.sum(), atol=1e-12)
        if criterion <= ERROR:
            assert_allclose(node.search.total[:3], np.bincount(y[:, 0], w, 3))


def test_counts_of_classes_are_whole():
    """15 / 22 * 22 is not 15, and splits that tie would no longer."""
    y = np.repeat([1, 0], [15, 7])[:, None]
    assert Node(np.zeros((22, 1)), y, np.ones(22), GINI).search.total.tolist() == [7.0, 15.0]


def test_no_counts_at_all_is_infinitely_impure():
    assert Node(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2), POISSON).impurity == np.inf


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "weighted", "ties", "missing"])
def test_best_of_all_thresholds(criterion, n_outputs, kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 14
        x = rng.normal(size=n).astype(np.float32).astype(float)
        if kind == "ties":
            x = np.round(x)
        if kind == "missing":
            x[rng.choice(n, 4, replace=False)] = np.nan
        y = rng.integers(0, 3, size=(n, n_outputs))
        w = rng.uniform(0.5, 2.0, n) if kind == "weighted" else np.ones(n)
        for min_leaf in (1, 4):
            node = Node(x[:, None], y, w, criterion, rules={"min_leaf": min_leaf})
            found = node.found()
            best = best_threshold_split(x, y, w, NAMES[criterion], min_leaf)
            if np.isinf(best):
                assert found[0] == -np.inf
                continue
            left = np.where(np.isnan(x), found[2] > 0, x <= found[3])
            assert_allclose(loss_of(left, y, w, NAMES[criterion]), best, rtol=1e-9, atol=1e-9)
            n_left, marked = node.marked()
            assert_array_equal(marked, left)
            assert n_left == left.sum()


@pytest.mark.parametrize("criterion", [GINI, SQUARED_ERROR])
def test_best_of_all_subsets(criterion):
    rng = np.random.default_rng(0)
    codes, w = rng.integers(0, 6, 40), rng.uniform(0.5, 2.0, 40)
    y = rng.integers(0, 2 if criterion == GINI else 9, (40, 1))
    node = Node(codes[:, None], y, w, criterion, n_categories=np.array([6]))
    node.found()
    n_left, left = node.marked()
    assert n_left == left.sum()
    best = best_subset_split(codes, y, w, NAMES[criterion])
    assert_allclose(loss_of(left, y, w, NAMES[criterion]), best)


@pytest.mark.parametrize("missing", [False, True])
def test_one_random_threshold(missing):
    x, y = np.arange(9.0), (np.arange(9) >= 4)[:, None].astype(int)
    x[-1] = np.nan if missing else x[-1]
    cuts, sides = set(), set()
    for seed in range(60):
        node = Node(x[:, None], y, np.ones(9), GINI, seed, rules={"random": True})
        found = node.found()
        assert 0.0 <= found[3] < 8.0
        n_left, left = node.marked()
        assert_array_equal(left[:8], x[:8] <= found[3])
        cuts.add(n_left - left[8])
        sides.add(bool(left[8]))
    assert cuts == set(range(1, 8 if missing else 9))
    assert sides == ({False, True} if missing else {False})


@pytest.mark.parametrize("criterion", [GINI, SQUARED_ERROR, ABSOLUTE_ERROR])
def test_monotonic_constraint_forbids_a_falling_step(criterion):
    X, y = np.arange(8.0)[:, None], np.array([1, 1, 1, 1, 0, 0, 0, 0])[:, None]
    falls = 1 if criterion == GINI else -1  # the kernel bounds the share of the first class
    for sign, bounds, possible in (
        (falls, (-np.inf, np.inf), True),
        (-falls, (-np.inf, np.inf), False),
        (falls, (0.4, 0.6), False),
    ):
        signs = np.array([sign], np.int8)
        node = Node(X, y, np.ones(8), criterion, bounds=bounds, signs=signs)
        assert (node.found()[0] > -np.inf) == possible


@pytest.mark.parametrize("n", [1, 2, 11])
def test_lists_of_targets(n):
    rng = np.random.default_rng(n)
    y, w = rng.integers(0, 4, (n, 2)), rng.random(n)
    node = Node(rng.normal(size=(n, 1)), y, w, ABSOLUTE_ERROR)
    for o in range(2):
        order = np.argsort(y[:, o], kind="stable")
        assert_array_equal(node.lists.ys[o], y[order, o])
        assert_array_equal(node.lists.ws[o], w[order])
        assert_array_equal(node.lists.places[o, order], np.arange(n))


@pytest.mark.parametrize("criterion", NAMES)
def test_the_best_column_is_split(criterion):
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(25, 4)).astype(np.float32), rng.uniform(0.5, 2.0, 25)
    X[:, 1] = 5.0
    y = (X[:, 2] > 0).astype(int)[:, None] + rng.integers(0, 2, (25, 1))
    node = Node(X, y, w, criterion)
    total = node.search.total.copy()
    target = node.classes, node.values, node.lists, node.several
    best, n_left = split_node(node.node, node.data, node.rules, *target, node.search)
    left, name = node.data.sides == 1, NAMES[criterion]
    losses = [best_threshold_split(X[:, f].astype(float), y, w, name) for f in range(4)]
    assert node.search.columns[best] == np.argmin(losses)
    assert n_left == left.sum()
    assert_allclose(loss_of(left, y, w, name), min(losses), rtol=1e-9)
    assert_array_equal(node.search.total, total)


def test_nothing_to_split_by():
    node = Node(np.ones((6, 2)), np.array([[0], [1]] * 3), np.ones(6), GINI)
    target = node.classes, None, None, None
    assert split_node(node.node, node.data, node.rules, *target, node.search) == (-1, 0)


@pytest.mark.parametrize("criterion", NAMES)
def test_decrease_of_impurity(criterion):
    rng = np.random.default_rng(4)
    y, w = rng.integers(0, 3, (12, 1)), rng.uniform(0.5, 2.0, 12)
    node = Node(rng.normal(size=(12, 1)), y, w, criterion)
    data, middle = node.data._replace(whole=50.0), 5
    left = np.arange(12) < middle
    if criterion == ABSOLUTE_ERROR:  # its statistics go by the order of the targets
        rows = (data.orders[1] & ROW).astype(int)
        left[rows] = np.arange(12) < middle
    target, total = (
        (node.classes, node.values, node.lists),
        np.empty(3 if node.classes is not None else 1),
    )
    gain, value = judge(node.node, middle, node.impurity, data, node.rules, *target, total)
    name = NAMES[criterion]
    assert_allclose(gain, (node_loss(y, w, name) - loss_of(left, y, w, name)) / 50.0, atol=1e-12)
    if criterion == SQUARED_ERROR:
        means = [np.average(y[side, 0], weights=w[side]) for side in (left, ~left)]
        assert_allclose(value, np.mean(means))
    if criterion == GINI:
        shares = [np.average(y[side, 0] == 0, weights=w[side]) for side in (left, ~left)]
        assert_allclose(value, np.mean(shares))


def test_ties_do_not_depend_on_the_draw():
    data = sorted_rows(presort(np.repeat(np.arange(8.0)[:, None], 10, axis=1)), 10)
    columns, found = np.empty(10, np.intp), np.zeros((10, 5))
    counts = np.zeros(10)
    for seed in range(2000):
        n_found = draw_columns(OpenNode(0, 8, np.uint64(seed), 8.0), data, 5, columns)
        counts[columns[choose(n_found, columns, found, np.uint64(seed))]] += 1
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 28.0  # chi-squared, 9 degrees: 0.1 %


def test_columns_drawn():
    X = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    X[:, 1] = 2.0
    X[:, 3] = np.linspace(0, 5e-8, 8)  # closer than a threshold may lie
    X[:4, 4] = np.nan
    orders, columns = presort(X), np.empty(5, np.intp)
    data = sorted_rows(orders, 5)
    assert draw_columns(OpenNode(0, 8, np.uint64(0), 8.0), data, 5, columns) == 3
    assert sorted(columns[:3]) == [0, 2, 4]
    seen = set()
    for seed in range(40):
        n_found = draw_columns(OpenNode(0, 8, np.uint64(seed), 8.0), data, 1, columns)
        assert n_found == 1
        seen.add(columns[0])
    assert seen == {0, 2, 4}
    assert count_present(orders[4]) == 4
    assert count_present(orders[0]) == 8


def test_ties_do_not_favour_a_column():
    columns = np.arange(4)
    found = np.zeros((4, 5))
    winners = {choose(4, columns, found, np.uint64(seed)) for seed in range(60)}
    assert winners == {0, 1, 2, 3}
    found[:, 0] = -np.inf
    assert choose(4, columns, found, np.uint64(0)) == -1


def test_leaves_before_search():
    rules = GrowthRules(GINI, max_depth=3, min_split=4, min_leaf=2, min_weight=1.0)
    assert not is_final(5, 2, 5.0, 0.5, rules)
    for case in ((5, 3, 5.0, 0.5), (3, 2, 5.0, 0.5), (5, 2, 1.5, 0.5), (5, 2, 5.0, 0.0)):
        assert is_final(*case, rules)


@pytest.mark.parametrize("n", [2, 3, 30])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_plain_columns_at_once_are_columns_one_by_one(n, seed):
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.normal(size=(n, 6)), 1), rng.integers(0, 3, (n, 1))
    X[:, 4] = X[:, 1]  # a tie
    X[:, 5] = 1.0
    node = Node(X, y, None, SQUARED_ERROR, seed=seed)
    n_found = draw_columns(node.node, node.data, 6, node.search.columns)
    for j in range(n_found):
        node.found(j)
    expected = choose(n_found, node.search.columns, node.search.found, node.node.seed)
    cut, threshold = node.search.found[expected, [1, 3]]
    orders, total = node.data.orders, node.search.total[0]
    columns = node.search.columns
    found = best_plain_column(n_found, columns, node.node, orders, node.values, 1, total)
    assert found == (expected, cut)
    node.search.found[:] = np.nan
    target = node.classes, node.values, node.lists, node.several
    assert split_node(node.node, node.data, node.rules, *target, node.search) == found
    assert node.search.found[expected, 3] == threshold


def test_threshold_lies_between_two_values():
    highest = np.finfo(np.float32).max
    for below, above, expected in ((1.0, 2.0, 1.5), (-highest, highest, 0.0)):
        entries = presort(np.array([below, above], np.float32)[:, None])[0]
        assert threshold_between(*entries) == expected
