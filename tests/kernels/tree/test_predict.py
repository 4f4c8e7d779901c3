from itertools import pairwise

import numpy as np
import pytest
from naive import walk
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.packed import pack
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import GINI, SQUARED_ERROR
from fastml.kernels.tree.predict import (
    fill_paths,
    forest_apply,
    forest_sum,
    in_categories,
    leaves_of_rows,
)

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


def forest(kind, n_outputs=1, n_trees=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    X[:, 2] = rng.integers(0, 40, 40)
    X[rng.random((40, 3)) < 0.1] = np.nan
    y = rng.integers(0, 3, (n_outputs, 40))
    if kind == GINI:
        target = {"classes": y.astype(np.int32), "n_classes": [3] * n_outputs}
    else:
        target = {"values": y.astype(float)}
    target["n_categories"] = np.array([0, 0, 40], np.intp)
    rules = GrowthRules(kind, max_features=2, min_leaf=2, min_split=4)
    return X, [grow(presort(X), rules, seed=s, **target)[0] for s in range(n_trees)]


@pytest.mark.parametrize("kind", [GINI, SQUARED_ERROR])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_packed_trees(kind, n_outputs):
    X, trees = forest(kind, n_outputs)
    packed, scales = pack(trees), np.array([1.0, 0.5, 2.0])
    leaves, sums = np.empty((len(X), 3), np.int64), np.ones((len(X), packed.n_columns))
    nodes, starts, bitsets = packed.nodes, packed.starts, packed.bitsets
    forest_apply(3, 15, nodes, starts, bitsets, X, leaves, n_threads=1)
    forest_sum(
        3, 15, nodes, starts, packed.table, packed.table_starts, packed.scalar, scales, bitsets, X,
        sums, n_threads=1,
    )  # fmt: skip
    assert_array_equal(packed.apply(X, 1), leaves)
    assert_array_equal(packed.sum(X, scales, 1, out=np.ones_like(sums)), sums)
    expected = 1.0
    for t, tree in enumerate(trees):
        assert_array_equal(leaves[:, t], [walk(tree, row) for row in X])
        assert_array_equal(leaves[:, t], tree.apply(X, 1))
        expected = expected + scales[t] * tree.value[leaves[:, t]].reshape(len(X), -1)
    assert_allclose(sums, expected)
    if kind == GINI:  # one tree comes with counts
        one = pack(trees[:1])
        assert one.table.dtype == np.uint16
        sums = np.zeros((len(X), one.n_columns))
        forest_sum(
            3, 15, one.nodes, one.starts, one.table, one.table_starts, False, scales, one.bitsets,
            X, sums, n_threads=1,
        )  # fmt: skip
        assert_array_equal(sums, trees[0].value[leaves[:, 0]].reshape(len(X), -1))
    for n in (0, 1, 2, len(X)):
        out, active = np.full((2, n + 1), 99, np.uint64)
        leaves_of_rows(trees[0].nodes, trees[0].bitsets, X[:n], out, active)
        assert out.tolist() == [*leaves[:n, 0], 99]


def test_paths():
    X, (tree, *_) = forest(GINI)
    leaves = tree.apply(X, 1)
    indptr = np.concatenate([[0], np.cumsum(tree.depths[leaves] + 1)])
    indices = np.empty(indptr[-1], np.intp)
    fill_paths(tree.nodes, leaves, indptr, indices)
    for i in range(len(X)):
        path = indices[indptr[i] : indptr[i + 1]]
        assert path[0] == 0
        assert path[-1] == leaves[i]
        for a, b in pairwise(path):
            assert b in (tree.children_left[a], tree.children_right[a])


def test_no_rows():
    X, trees = forest(GINI)
    assert pack(trees).apply(X[:0], 1).shape == (0, 3)


def test_sets():
    words = np.array([1, 0b101], np.uint32)
    assert [in_categories(words, 0, c) for c in (0.0, 1.0, 2.0)] == [True, False, True]
