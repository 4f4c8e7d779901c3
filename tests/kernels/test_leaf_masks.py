"""Conditions instead of walks: the same sums as row by row down the trees."""

import naive
import numpy as np
import pytest

from fastml.ensemble._binning import BinMapper
from fastml.ensemble._boosting_masks import LeafMasks, masks_for, ordered_integers
from fastml.ensemble._boosting_trees import Packed
from fastml.kernels.leaf_masks import BLOCK

from .test_boost_predict import random_tree

pytestmark = [
    pytest.mark.small,
    # With JIT off, NumPy scalars warn where compiled code wraps round as it should.
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]

MISSING = 20


def rows_and_mapper(rng, n_rows, dtype, share_missing, n_categories=(0, 0, 0)):
    X = rng.integers(-4, 6, (n_rows, 3)).astype(dtype)  # ten values, so ten bins
    X[:, 2] *= 1e30
    mapper = BinMapper(MISSING, n_categories=n_categories)
    mapper.fit(np.tile(np.arange(-4, 6.0)[:, None], 3) * [1, 1, 1e30])
    X[rng.random(X.shape) < share_missing] = np.nan
    return X, mapper


def bins_of(X, mapper):
    bins = np.empty(X.shape, np.uint8)
    for f, thresholds in enumerate(mapper.bin_thresholds_):
        codes = np.searchsorted(thresholds, X[:, f].astype(np.float64))
        lost = np.isnan(X[:, f])
        if mapper.n_categories_[f]:
            lost |= (X[:, f] < 0) | (X[:, f] >= mapper.n_categories_[f])
            codes = np.where(lost, 0, X[:, f]).astype(int)
        bins[:, f] = np.where(lost, MISSING, codes)
    return bins


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 37])
def test_sums(n_rows, with_sets, share_missing, dtype):
    rng = np.random.default_rng(n_rows)
    X, mapper = rows_and_mapper(rng, n_rows, dtype, share_missing, (0, 8, 0))
    trees = [random_tree(rng, n, False) for n in (0, 1, 3, 4, 5, 30, 2)]
    for tree in trees:  # column 1 is split by sets, the others are not
        columns = tree.nodes["feature_idx"]
        if not with_sets:
            columns[columns == 1] = 0
        tree.nodes["is_categorical"] = (columns == 1) & (tree.nodes["left"] >= 0)
        n_sets = int(tree.nodes["is_categorical"].sum())
        tree.sets = np.zeros((n_sets, 4), np.uint64)
        tree.sets[:, 0] = rng.integers(1 << 8, size=n_sets)
    expected = naive.walk_trees(trees, bins_of(X, mapper), MISSING)
    packed = Packed(trees, MISSING)
    out = np.zeros((n_rows, 1))
    packed.masks(mapper, X.dtype).add_to(X, out, 1)
    np.testing.assert_array_equal(out[:, 0], expected)


@pytest.mark.parametrize("n_leaves", [31, 32, 63])
def test_as_many_leaves_as_bits(n_leaves):
    rng = np.random.default_rng(0)
    X, mapper = rows_and_mapper(rng, 50, np.float32, 0.1)
    trees = [random_tree(rng, n_leaves - 1, False) for _ in range(3)]
    masks = masks_for(trees, Packed(trees, MISSING).sets, mapper, X.dtype)
    assert masks.dtype == (np.float32 if n_leaves <= 31 else np.float64)
    out = np.zeros((50, 1))
    masks.add_to(X, out, 1)
    np.testing.assert_array_equal(out[:, 0], naive.walk_trees(trees, bins_of(X, mapper), MISSING))


def test_too_many_leaves():
    trees = [random_tree(np.random.default_rng(0), n, False) for n in (2, 63)]
    assert masks_for(trees, None, None, np.float32) is None


def test_columns_of_several_outputs_and_blocks():
    """Tree t goes to column t mod K; blocks with and without missing values follow each other."""
    rng = np.random.default_rng(1)
    X, mapper = rows_and_mapper(rng, 2 * BLOCK + 5, np.float32, 0.0)
    X[BLOCK + 3, 0] = X[BLOCK + 9, 2] = np.nan
    trees = [random_tree(rng, 6, False) for _ in range(6)]
    masks = LeafMasks(trees, Packed(trees, MISSING).sets, mapper, np.float32)
    out = np.zeros((len(X), 2))
    masks.add_to(X, out, 1)
    bins = bins_of(X, mapper)
    for k in range(2):
        np.testing.assert_array_equal(out[:, k], naive.walk_trees(trees[k::2], bins, MISSING))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integers_have_the_order_of_the_numbers(dtype):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    half = np.array([0.0, tiny, 0.5, np.nextafter(dtype(1), dtype(0)), 1, 3e7, huge, np.inf], dtype)
    values = np.concatenate([-half, half])
    integers = ordered_integers(values)
    for compare in (np.less, np.equal):
        found, expected = compare.outer(integers, integers), compare.outer(values, values)
        np.testing.assert_array_equal(found, expected)
