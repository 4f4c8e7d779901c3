"""Sums of leaf values against a walk of every row through every tree."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest_predict import pack_trees, sum_of_leaves, sum_of_packed
from fastml.kernels.tree_nodes import LEAF, MISSING_LEFT, NODE

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def random_tree(rng, depth, n_columns, scalar):
    """Nodes depth first, with a table of leaf values where leaves are not of one class."""
    nodes, table = [], []

    def add(depth):
        at = len(nodes)
        if depth == 0 or rng.random() < 0.2:
            if scalar:
                nodes.append((rng.normal(), 0, LEAF))
            elif rng.random() < 0.5:
                nodes.append((0.0, ~rng.integers(n_columns), LEAF))
            else:
                nodes.append((0.0, len(table), LEAF))
                table.append(rng.random(n_columns))
            return
        flag = MISSING_LEFT if rng.random() < 0.5 else 0
        nodes.append(None)
        add(depth - 1)
        right = len(nodes)
        add(depth - 1)
        nodes[at] = (rng.normal(), right, int(rng.integers(3)) | flag)

    add(depth)
    return np.array(nodes, NODE), np.array(table).reshape(-1, n_columns)


@pytest.mark.small
@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 23])
def test_sums(n_rows, scalar):
    rng = np.random.default_rng(n_rows)
    n_columns = 1 if scalar else 3
    trees = [random_tree(rng, depth, n_columns, scalar) for depth in (0, 2, 6)]
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    bounds = np.cumsum([0, *(len(nodes) for nodes, _ in trees)])
    table_starts = np.cumsum([0, *(len(table) for _, table in trees)])[:-1]
    nodes = np.concatenate([nodes for nodes, _ in trees])
    table = np.concatenate([table for _, table in trees])
    expected = np.zeros((n_rows, n_columns))
    for i, x in enumerate(X):
        for own, own_table in trees:
            leaf = naive.leaf_of(own, x)
            right = int(own["right"][leaf])
            if scalar:
                expected[i] += own["threshold"][leaf]
            else:
                expected[i] += np.eye(n_columns)[~right] if right < 0 else own_table[right]

    out = np.zeros((n_rows, n_columns))
    sum_of_leaves(nodes, bounds[:-1], table, table_starts, scalar, X, out, 5, n_threads=1)
    np.testing.assert_array_equal(out, expected)

    shift, words = np.uint64(36), np.empty(len(nodes), np.uint64)
    values, codes = np.empty(len(nodes)), np.empty(len(nodes), np.int32)
    pack_trees(nodes, bounds, 3, True, shift, scalar, words, values, codes, n_threads=1)
    out[:] = 0.0
    sum_of_packed(
        words, bounds, values, codes, table, table_starts, scalar, shift, True, X, out, 5,
        n_threads=1,
    )  # fmt: skip
    np.testing.assert_array_equal(out, expected)


@pytest.mark.small
def test_some_trees_of_a_forest():
    """Words are counted from the first tree that is packed."""
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 3, 1, True)[0] for _ in range(3)]
    bounds = np.cumsum([0, *map(len, trees)])
    X = rng.normal(size=(9, 3)).astype(np.float32)
    n = bounds[3] - bounds[1]
    words, values, codes = np.empty(n, np.uint64), np.empty(n), np.empty(0, np.int32)
    shift, none, starts = np.uint64(36), np.empty((0, 1)), np.zeros(2, np.intp)
    pack_trees(
        np.concatenate(trees), bounds[1:], 3, False, shift, True, words, values, codes, n_threads=1
    )
    out = np.zeros((9, 1))
    sum_of_packed(
        words, bounds[1:], values, codes, none, starts, True, shift, False, X, out, 4, n_threads=1
    )
    expected = [sum(t["threshold"][naive.leaf_of(t, x)] for t in trees[1:]) for x in X]
    np.testing.assert_array_equal(out[:, 0], expected)
