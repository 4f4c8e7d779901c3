"""The partition: a permutation, cut at medians, inside its boxes."""

import numpy as np
import pytest

from fastml.kernels.tree_build import LEAF, select
from fastml.neighbors._binary_tree import partition

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


@pytest.mark.parametrize("n", [1, 2, LEAF, LEAF + 1, 5 * LEAF + 3, 200])
def test_every_node_bounds_its_points(n, dtype, n_threads):
    X = np.random.default_rng(0).integers(0, 9, size=(n, 3)).astype(dtype)
    tree = partition(X, n_threads)
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(n))
    np.testing.assert_array_equal(tree.rows, X[tree.order])

    def check(node, first, last):
        inside = slice(first * LEAF, min(last * LEAF, n))
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

    assert check(0, 0, -(-n // LEAF)) == tree.axis.shape[0]
