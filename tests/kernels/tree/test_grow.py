"""Growth: serial, shared by threads, best first."""

import numpy as np
import pytest
from naive import best_threshold_split, node_loss
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees import grow as _grow
from fastml._engines.trees.grow import grow, presort, sorted_rows
from fastml.kernels.tree.exact_split import GrowthRules, Search
from fastml.kernels.tree.grow import (
    PARTITION,
    SEARCH,
    SUBTREES,
    Grown,
    Subtrees,
    grow_best_first,
    grow_subtree,
    note_values,
    partition_column,
    partition_rows,
    set_bounds,
    sort_columns,
    tree_tasks,
    write_leaf,
    write_split,
)
from fastml.kernels.tree.node_split import OpenNode
from fastml.kernels.tree.nodes import (
    ABSOLUTE_ERROR,
    CATEGORIES,
    GINI,
    LEAF,
    MISSING_LEFT,
    NODE,
    SQUARED_ERROR,
)
from fastml.kernels.tree.predict import in_categories
from fastml.kernels.tree.presort import sort_column

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


def problem(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])
    X[rng.random(n) < 0.1, 1] = np.nan
    return X, rng.integers(0, 3, n), rng.normal(size=n)


def target(kind, y, z):
    if kind == GINI:
        return {"classes": y[None].astype(np.int32), "n_classes": [3]}
    return {"values": z[None]}


@pytest.mark.parametrize("kind", [GINI, SQUARED_ERROR, ABSOLUTE_ERROR])
@pytest.mark.parametrize("more", [{}, {"min_decrease": 1e-3, "max_features": 2}, {"signs": 1}])
def test_shared_growth_is_the_same_tree(kind, more, monkeypatch):
    X, y, z = problem(60)
    given = target(kind, y, z)
    if "signs" in more:
        more, signs = {}, np.array([1, 0, -1], np.int8)
        given = {**target(kind, y % 2, z), "signs": signs}
    rules, orders = GrowthRules(kind, **more), presort(X)
    whole, leaves = grow(orders, rules, **given, seed=3)
    monkeypatch.setattr(_grow, "ENTRIES_PER_CALL", 40)
    shared, leaves_shared = grow(orders, rules, **given, seed=3)
    assert whole == shared
    assert_array_equal(leaves, leaves_shared)
    assert_array_equal(leaves, whole.apply(X, 1))


def test_every_split_is_the_best():
    X, y, _ = problem(40)
    tree, _ = grow(presort(X), GrowthRules(GINI), **target(GINI, y, None))
    inside = tree.decision_path(X).toarray().astype(bool)
    w = np.ones(40)
    for node in np.flatnonzero(tree.children_left >= 0):
        rows = inside[:, node]
        left = inside[rows][:, tree.children_left[node]]
        got = sum(node_loss(y[rows][s][:, None], w[rows][s], "gini") for s in (left, ~left))
        best = min(
            best_threshold_split(X[rows, f].astype(float), y[rows][:, None], w[rows], "gini")
            for f in range(3)
        )
        assert_allclose(got, best, atol=1e-9)


@pytest.mark.parametrize("kind", [GINI, SQUARED_ERROR])
def test_best_first_with_room_is_depth_first(kind):
    X, y, z = problem(30)
    a, leaves = grow(presort(X), GrowthRules(kind), **target(kind, y, z))
    b, other = grow(presort(X), GrowthRules(kind, max_leaves=1000), **target(kind, y, z))
    assert a == b
    assert_array_equal(leaves, other)
    few, _ = grow(presort(X), GrowthRules(kind, max_leaves=4), **target(kind, y, z))
    assert few.n_leaves == 4


def test_best_first_takes_the_largest_decrease():
    X = np.arange(8, dtype=np.float32)[:, None]
    values = np.array([[0.0, 0, 0, 1, 50, 50, 90, 90]])
    tree, _ = grow(presort(X), GrowthRules(SQUARED_ERROR, max_leaves=3), values=values)
    assert_array_equal(tree.threshold[tree.feature >= 0], [3.5, 5.5])
    signs = np.array([-1], np.int8)
    rules = GrowthRules(SQUARED_ERROR, max_leaves=3)
    flat, _ = grow(presort(X), rules, values=values, signs=signs)
    assert flat.n_leaves == 1


def test_rows_of_weight_zero_take_no_part():
    X, y, _ = problem(40)
    w = (np.arange(40) % 2).astype(float)
    part, leaves = grow(presort(X), GrowthRules(GINI), **target(GINI, y, None), weights=w)
    alone, own = grow(presort(X[1::2]), GrowthRules(GINI), **target(GINI, y[1::2], None))
    assert part == alone
    assert_array_equal(leaves[::2], -1)
    assert_array_equal(leaves[1::2], own)


def test_partition_is_stable():
    orders = presort(np.array([[3, 9], [1, 9], [2, 9], [0, 9], [1, 9]], np.float32))
    sides = np.array([1, 0, 1, 0, 1], np.uint8)
    for c in range(2):  # the second is constant
        partition_column(orders, c, 0, 5, sides, np.empty(5, np.uint64))
    rows = (orders & np.uint64(0xFFFFFFFF)).astype(int)
    assert_array_equal(rows, [[4, 2, 0, 3, 1], [0, 1, 2, 3, 4]])
    partition_column(orders, 0, 1, 4, 1 - sides, np.empty(3, np.uint64))  # a part of it
    assert_array_equal(orders[0] & np.uint64(0xFFFFFFFF), [4, 3, 2, 0, 1])
    rows = np.arange(5, dtype=np.int32)
    partition_rows(rows, sides, np.empty(5, np.uint64))
    assert_array_equal(rows, [0, 2, 4, 1, 3])


def test_bounds_of_children():
    left, right, own = np.empty(2), np.empty(2), np.array([0.0, 10.0])
    set_bounds(1, 4.0, own, left, right)
    assert (*left, *right) == (0.0, 4.0, 4.0, 10.0)
    set_bounds(-1, 4.0, own, left, right)
    assert (*left, *right) == (4.0, 10.0, 0.0, 4.0)
    set_bounds(0, 4.0, own, left, right)
    assert (*left, *right) == (0.0, 10.0, 0.0, 10.0)


# ---------------------------------------------------------------------------- kernels by name


def room(n_slots, n_columns, n_sets=0):
    return Grown(
        np.zeros(n_slots, NODE), np.zeros(n_slots, np.int32), np.zeros(n_slots),
        np.zeros((n_slots, n_columns)), np.zeros((n_sets, 3), np.uint32),
    )  # fmt: skip


def searching(n_features, n_columns):
    total, *scratch = (np.empty(n_columns + more) for more in (0, 1, 0, 0))
    columns, found = np.arange(n_features), np.zeros((n_features, 5))
    return Search(np.array([-np.inf, np.inf]), total, columns, found, *scratch)


def subtrees_of(ranges, depth=0, seed=3, lots=None):
    k = len(ranges)
    starts, ends = np.array(ranges, np.intp).reshape(k, 2).T.copy()
    bounds = np.tile([-np.inf, np.inf], (k, 1))
    lots = np.zeros(k, np.intp) if lots is None else np.array(lots)
    seeds = np.full(k, seed, np.uint64)
    return Subtrees(starts, ends, np.full(k, depth), seeds, bounds, lots, np.zeros(k, np.intp))


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_sort_columns(n):
    X = problem(n)[0]
    orders, expected = np.empty((3, n), np.uint64), np.empty(n, np.uint64)
    sort_columns(X, orders, n_threads=1)
    for f in range(3):
        sort_column(X, f, expected)
        assert_array_equal(orders[f], expected)


def test_leaf():
    grown = room(3, 1)
    write_leaf(2, 5, 9, grown)
    assert grown.nodes[2].tolist() == (0.0, 5, LEAF)
    assert grown.ends.tolist() == [0, 0, 9]


def test_split():
    """Where missing values go: as was found, or with the larger part if there are none."""
    X = np.array([[0, 0], [1, 1], [2, 5], [3, 5], [4, np.nan]], np.float32)
    data = sorted_rows(presort(X), 2, n_categories=np.array([0, 6], np.intp))
    node, search, grown = OpenNode(0, 5, np.uint64(0), 5.0), searching(2, 1), room(4, 1, 5)
    search.found[0] = 1.0, 2, 0.0, 1.5, 0.0
    write_split(1, 0, node, 2, 2, data, search, grown)
    assert grown.nodes[1]["feature"] == 0
    assert grown.nodes[1]["threshold"] == 1.5
    search.found[0] = 1.0, 4, 0.0, 3.5, 0.0
    write_split(1, 0, node, 4, 4, data, search, grown)
    assert grown.nodes[1]["feature"] == 0 | MISSING_LEFT
    search.found[1] = 1.0, 2, 1.0, np.nan, 0.0
    data.sides[:] = 0, 0, 1, 1, 1
    write_split(3, 1, node, 4, 3, data, search, grown)  # categories: the fourth set of words
    assert grown.nodes[3]["feature"] == 1 | MISSING_LEFT | CATEGORIES
    assert grown.nodes[3]["threshold"] == 4.0
    went_left = [bool(in_categories(grown.words[4], 0, float(code))) for code in (0, 1, 5)]
    assert went_left == [False, False, True]


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("medians", [False, True])
def test_values_that_do_not_follow_from_the_leaves(monotonic, medians):
    signs = np.array([1 if monotonic else 0], np.int8)
    data = sorted_rows(presort(np.zeros((2, 1), np.float32)), 1, signs=signs)
    values, lists = np.full((2, 2), 7.0), np.zeros(0) if medians else None
    kind = SQUARED_ERROR if medians else GINI
    note_values(
        1, np.array([3.0, 1.0]), 4.0, np.array([0.0, 0.5]), data, GrowthRules(kind), lists, values
    )
    expected = [3.0, 1.0] if medians else [7.0, 7.0]
    if monotonic:
        expected = [0.5, 1.0] if medians else [0.5, 0.5]  # of two shares the other is the rest
    assert values.tolist() == [[7.0, 7.0], expected]


@pytest.mark.parametrize("n", [1, 2, 40])
def test_a_subtree_is_the_tree_of_its_rows(n):
    X, y, _ = problem(n + 30)
    classes, rules = y[None].astype(np.int32), GrowthRules(GINI)
    alone, leaves = grow(presort(X[:n]), rules, **target(GINI, y[:n], None), seed=3)
    data = sorted_rows(presort(X), 3, n_classes=3)
    for f, order in enumerate(data.orders):  # the first n rows are the range [30, 30 + n)
        rows = (order & np.uint64(0xFFFFFFFF)).astype(int)
        data.orders[f] = np.concatenate([order[rows >= n], order[rows < n]])
    data.rows[:] = np.roll(data.rows, 30)
    grown, subtrees = room(2 * (n + 30), 3), subtrees_of([(0, 7), (30, 30 + n)])
    grow_subtree(1, subtrees, data, rules, classes, None, None, None, grown)
    assert subtrees.n_nodes.tolist() == [0, alone.node_count]
    nodes = grown.nodes[60 : 60 + alone.node_count]
    assert_array_equal(nodes["feature"], alone.nodes["feature"])
    inner = nodes["feature"] != LEAF
    assert_array_equal(nodes[inner], alone.nodes[inner])
    ends = grown.ends[60 : 60 + alone.node_count]
    for node in np.flatnonzero(~inner):
        rows = data.rows[nodes[node]["right"] : ends[node]]
        assert_array_equal(np.sort(rows), np.flatnonzero(leaves == node))


def test_a_subtree_starts_at_its_depth():
    X, y, _ = problem(40)
    grown, subtrees = room(80, 3), subtrees_of([(0, 40)], depth=2)
    data, rules = sorted_rows(presort(X), 3, n_classes=3), GrowthRules(GINI, max_depth=3)
    grow_subtree(0, subtrees, data, rules, y[None].astype(np.int32), None, None, None, grown)
    assert subtrees.n_nodes[0] == 3


def test_best_first_by_hand():
    """As in `test_best_first_takes_the_largest_decrease`; children in the order of their making."""
    X = np.arange(8, dtype=np.float32)[:, None]
    values = np.array([[0.0, 0, 0, 1, 50, 50, 90, 90]])
    data, rules, grown = (
        sorted_rows(presort(X), 1),
        GrowthRules(SQUARED_ERROR, max_leaves=3),
        room(7, 1),
    )
    lefts, rights = np.full((2, 7), -1)
    args = None, values, None, None, grown, lefts, rights
    assert grow_best_first(np.uint64(0), data, rules, *args) == 5
    assert lefts.tolist() == [1, -1, 3, -1, -1, -1, -1]
    assert rights.tolist() == [2, -1, 4, -1, -1, -1, -1]
    assert grown.nodes["threshold"][[0, 2]].tolist() == [3.5, 5.5]
    assert grown.nodes["feature"][[1, 3, 4]].tolist() == [LEAF] * 3
    assert list(zip(grown.nodes["right"][[1, 3, 4]], grown.ends[[1, 3, 4]])) == [
        (0, 4),
        (4, 6),
        (6, 8),
    ]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_tasks(n_threads):
    """Columns searched, then partitioned, then both halves grown: a task each."""
    X, y, _ = problem(40)
    data, rules = sorted_rows(presort(X), 3, n_classes=3), GrowthRules(GINI)
    node, search, grown = OpenNode(0, 40, np.uint64(3), 40.0), searching(3, 3), room(80, 3)
    search.total[:] = np.bincount(y, minlength=3)
    nothing, target = subtrees_of([]), (y[None].astype(np.int32), None, None, None)

    def run(mode, n_tasks, subtrees=nothing):
        tree_tasks(
            mode, n_tasks, node, data, rules, *target, grown, subtrees, search, n_threads=n_threads
        )

    run(SEARCH, 2)  # the first two columns
    assert (search.found[:2, 0] > -np.inf).all()
    assert not search.found[2].any()
    w, losses = np.ones(40), []
    for f in range(2):
        x = X[:, f].astype(float)
        left = np.where(np.isnan(x), search.found[f, 2] > 0, x <= search.found[f, 3])
        losses.append(sum(node_loss(y[s][:, None], w[s], "gini") for s in (left, ~left)))
        assert_allclose(losses[f], best_threshold_split(x, y[:, None], w, "gini"), rtol=1e-9)
    data.sides[:] = np.arange(40) % 4 == 0
    run(PARTITION, 4)  # three columns and the rows
    assert_array_equal(data.rows[:10], np.arange(0, 40, 4))
    for order in data.orders:
        rows = (order & np.uint64(0xFFFFFFFF)).astype(int)
        assert (rows[:10] % 4 == 0).all()
        assert (rows[10:] % 4 != 0).all()
        assert (np.diff((order[:10] >> np.uint64(32)).astype(float)) >= 0).all()
    halves = subtrees_of([(0, 10), (10, 40)], lots=[1, 0])
    run(SUBTREES, 1, halves)  # of the second lot nothing
    assert halves.n_nodes[0] == 0 < halves.n_nodes[1]
    halves.lots[:] = 0, 1
    run(SUBTREES, 1, halves)
    part, _ = grow(
        presort(X[::4]), rules, classes=y[None, ::4].astype(np.int32), n_classes=[3], seed=3
    )
    assert halves.n_nodes[0] == part.node_count
    assert_array_equal(grown.nodes["feature"][: part.node_count], part.nodes["feature"])
