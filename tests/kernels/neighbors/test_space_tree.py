"""The partition: a permutation, cut at medians, inside its boxes."""

import numpy as np
import pytest

from fastml.kernels.neighbors.space_tree import (
    DEEPEST,
    LEAF_POINTS,
    Partition,
    build_nodes,
    cut_leaf,
    right_child,
    search_scratch,
    select,
)
from fastml.neighbors._space_trees._base import partition

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [3, 4, 40, 300])
@pytest.mark.parametrize("values", ["distinct", "few", "constant"])
def test_select_puts_the_target_in_place(n, values):
    rng = np.random.default_rng(n)
    keys = {"distinct": rng.permutation(n), "few": rng.integers(0, 3, n), "constant": np.zeros(n)}
    column = keys[values].astype(float)
    rows = np.column_stack([np.arange(n, dtype=float), column])
    order = np.arange(n)
    target = n // 3
    select(rows, order, 1, 0, n - 1, target, np.empty(31))
    assert rows[:target, 1].max(initial=-np.inf) <= rows[target, 1]
    assert rows[target:, 1].min() >= rows[target, 1]
    np.testing.assert_array_equal(rows[:, 0], order)  # rows and order moved together


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 8, 13])
def test_nodes_are_numbered_depth_first(n_leaves):
    """Numbers without gaps; a run of leaves is halved, the left half may have one more."""
    numbers = []

    def visit(node, first, last):
        numbers.append(node)
        if last - first > 1:
            cut = cut_leaf(first, last)
            assert 0 <= (cut - first) - (last - cut) <= 1
            visit(node + 1, first, cut)
            visit(right_child(node, first, cut), cut, last)

    visit(0, 0, n_leaves)
    assert numbers == list(range(2 * n_leaves - 1))


def unbuilt(X):
    n, d = X.shape
    n_nodes = 2 * -(-n // LEAF_POINTS) - 1
    boxes = np.full((n_nodes, d), np.nan, X.dtype), np.full((n_nodes, d), np.nan, X.dtype)
    axis, smallest = np.full(n_nodes, -9, np.int32), np.full(n_nodes, -9)
    return Partition(np.arange(n), X.copy(), *boxes, axis, smallest)


@pytest.mark.parametrize("n", [1, 2, LEAF_POINTS + 1, 4 * LEAF_POINTS])
def test_one_node_or_all_below_it(n, dtype, n_threads):
    X = np.random.default_rng(n).integers(0, 9, size=(n, 3)).astype(dtype)
    n_leaves = -(-n // LEAF_POINTS)
    root = np.array([[0, 0, n_leaves]])
    tree = unbuilt(X)
    build_nodes(tree, root, False, n_threads=n_threads)
    np.testing.assert_array_equal(tree.rows, X[tree.order])
    np.testing.assert_array_equal(tree.low[0], X.min(axis=0))
    np.testing.assert_array_equal(tree.high[0], X.max(axis=0))
    assert np.isnan(tree.low[1:]).all()  # the nodes below wait for their turn
    if n_leaves > 1:
        axis, cut = tree.axis[0], LEAF_POINTS * cut_leaf(0, n_leaves)
        assert axis == np.argmax(X.max(axis=0) - X.min(axis=0))
        assert tree.rows[:cut, axis].max() <= tree.rows[cut:, axis].min()
    whole = unbuilt(X)
    build_nodes(whole, root, True, n_threads=n_threads)
    for found, expected in zip(whole, partition(X, 1)):
        np.testing.assert_array_equal(found, expected)


def test_scratch_has_room_for_every_level():
    nodes, bounds, values = search_scratch()
    assert nodes.shape == (DEEPEST, 3)
    assert bounds.shape == (DEEPEST,)
    assert values.shape == (LEAF_POINTS,)
    run, levels = 2**62, 1
    while run > 1:
        run, levels = cut_leaf(0, run), levels + 1
    assert levels <= DEEPEST


@pytest.mark.parametrize("n", [1, 2, LEAF_POINTS, LEAF_POINTS + 1, 5 * LEAF_POINTS + 3, 200])
def test_every_node_bounds_its_points(n, dtype, n_threads):
    X = np.random.default_rng(0).integers(0, 9, size=(n, 3)).astype(dtype)
    tree = partition(X, n_threads)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(n))
    np.testing.assert_array_equal(tree.rows, X[tree.order])

    def check(node, first, last):
        inside = slice(first * LEAF_POINTS, min(last * LEAF_POINTS, n))
        np.testing.assert_array_equal(tree.low[node], tree.rows[inside].min(axis=0))
        np.testing.assert_array_equal(tree.high[node], tree.rows[inside].max(axis=0))
        assert tree.smallest[node] == tree.order[inside].min()
        if last - first == 1:
            assert tree.axis[node] == -1
            return 1
        cut = first + (last - first + 1) // 2
        axis = tree.axis[node]
        left = check(node + 1, first, cut)
        right = check(node + 2 * (cut - first), cut, last)
        assert tree.high[node + 1, axis] <= tree.low[node + 2 * (cut - first), axis]
        return 1 + left + right

    assert check(0, 0, -(-n // LEAF_POINTS)) == tree.axis.shape[0]
