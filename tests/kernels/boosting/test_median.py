import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.packed import pack
from fastml.kernels.boosting.median import repeat_entries, sort_pairs, tree_values, weighted_medians
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import SQUARED_ERROR

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


@pytest.mark.parametrize("n", [0, 1, 2, 30, 900])
def test_pairs_are_sorted_together(n):
    rng = np.random.default_rng(n)
    values = rng.permutation(n).astype(float)
    weights = values * 2.0
    sort_pairs(values, weights)
    assert_array_equal(values, np.arange(n))
    assert_array_equal(weights, 2.0 * values)


@pytest.mark.parametrize("n_members", [1, 2, 25])
@pytest.mark.parametrize("equal", [False, True])
def test_weighted_medians(n_members, equal):
    rng = np.random.default_rng(n_members)
    values = rng.integers(0, 9, (40, n_members + 3)).astype(float)
    scales = np.ones(n_members) if equal else rng.random(n_members)
    out = np.empty(40)
    weighted_medians(3, 15, values, scales, out, n_threads=1)
    assert_array_equal(out, naive.weighted_median_of_members(values[:, :n_members], scales))


def test_values_of_trees():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)).astype(np.float32), rng.normal(size=(3, 50))
    rules = GrowthRules(SQUARED_ERROR, max_depth=3)
    trees = [grow(presort(X), rules, values=target[None])[0] for target in y]
    packed, out = pack(trees), np.empty((50, 3))
    tree_values(3, 20, packed.nodes, packed.starts, packed.bitsets, X, out, n_threads=1)
    for t, tree in enumerate(trees):
        assert_array_equal(out[:, t], tree.value[[naive.walk(tree, row) for row in X], 0, 0])


@pytest.mark.parametrize("n", [1, 2, 40])
def test_a_draw_keeps_the_order(n):
    rng = np.random.default_rng(n)
    X = np.round(rng.normal(size=(n, 3)), 1).astype(np.float32)
    counts = np.bincount(rng.integers(0, n, n), minlength=n)
    out = np.empty((3, n), np.uint64)
    repeat_entries(presort(X), np.concatenate([[0], np.cumsum(counts)]), out, n_threads=1)
    assert_array_equal(out, presort(np.repeat(X, counts, axis=0)))
