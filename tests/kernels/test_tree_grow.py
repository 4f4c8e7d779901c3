"""Growth: serial, shared by threads, best first."""

import numpy as np
import pytest
from naive import best_threshold_split, node_loss
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.tree_grow import partition_column, partition_rows, set_bounds
from fastml.kernels.tree_nodes import ABSOLUTE_ERROR, GINI, SQUARED_ERROR
from fastml.tree import _grow
from fastml.tree._grow import Options, grow, presort

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
    if "signs" in more:
        more = {"signs": np.array([1, 0, -1], np.int8)}
        y = y % 2
    options, orders = Options(kind, **more), presort(X)
    whole, leaves = grow(orders, options, **target(kind, y, z), seed=3)
    monkeypatch.setattr(_grow, "ENTRIES_PER_CALL", 40)
    shared, leaves_shared = grow(orders, options, **target(kind, y, z), seed=3)
    assert whole == shared
    assert_array_equal(leaves, leaves_shared)
    assert_array_equal(leaves, whole.apply(X, 1))


def test_every_split_is_the_best():
    X, y, _ = problem(40)
    tree, _ = grow(presort(X), Options(GINI), **target(GINI, y, None))
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
    a, leaves = grow(presort(X), Options(kind), **target(kind, y, z))
    b, other = grow(presort(X), Options(kind, max_leaves=1000), **target(kind, y, z))
    assert a == b
    assert_array_equal(leaves, other)
    few, _ = grow(presort(X), Options(kind, max_leaves=4), **target(kind, y, z))
    assert few.n_leaves == 4


def test_best_first_takes_the_largest_decrease():
    X = np.arange(8, dtype=np.float32)[:, None]
    values = np.array([[0.0, 0, 0, 1, 50, 50, 90, 90]])
    tree, _ = grow(presort(X), Options(SQUARED_ERROR, max_leaves=3), values=values)
    assert_array_equal(tree.threshold[tree.feature >= 0], [3.5, 5.5])
    signs = np.array([-1], np.int8)
    flat, _ = grow(presort(X), Options(SQUARED_ERROR, max_leaves=3, signs=signs), values=values)
    assert flat.n_leaves == 1


def test_rows_of_weight_zero_take_no_part():
    X, y, _ = problem(40)
    w = (np.arange(40) % 2).astype(float)
    part, leaves = grow(presort(X), Options(GINI), **target(GINI, y, None), weights=w)
    alone, own = grow(presort(X[1::2]), Options(GINI), **target(GINI, y[1::2], None))
    assert part == alone
    assert_array_equal(leaves[::2], -1)
    assert_array_equal(leaves[1::2], own)


def test_partition_is_stable():
    order = presort(np.array([3, 1, 2, 0, 1], np.float32)[:, None])[0]
    sides = np.array([1, 0, 1, 0, 1], np.uint8)
    partition_column(order, sides, np.empty(5, np.uint64))
    assert_array_equal((order & np.uint64(0xFFFFFFFF)).astype(int), [4, 2, 0, 3, 1])
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
