"""Conditions instead of walks: the same sums as row by row down the trees."""

import naive
import numpy as np
import pytest

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.masks import (
    LeafMasks,
    masks_for,
    ordered_integers,
)
from fastml._engines.boosted.trees import Packed
from fastml.kernels.hist import leaf_masks as kernels
from fastml.kernels.hist.leaf_masks import ROWS_PER_BLOCK

from .test_predict import random_tree

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
    masks = masks_for(trees, Packed(trees, MISSING).packed.sets, mapper, X.dtype)
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
    X, mapper = rows_and_mapper(rng, 2 * ROWS_PER_BLOCK + 5, np.float32, 0.0)
    X[ROWS_PER_BLOCK + 3, 0] = X[ROWS_PER_BLOCK + 9, 2] = np.nan
    trees = [random_tree(rng, 6, False) for _ in range(6)]
    masks = LeafMasks(trees, Packed(trees, MISSING).packed.sets, mapper, np.float32)
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


# ---------------------------------------------------------------------------- kernel by kernel


def key_arguments(X, mapper):
    """What `fill_block` and those above it read of rows."""
    integer = np.dtype(f"i{X.itemsize}")
    infinity = X.dtype.type(np.inf).view(integer)
    limits = np.array([np.iinfo(integer).max, infinity], integer)
    return X, X.view(integer), limits, mapper.n_categories_, MISSING


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 40])
@pytest.mark.parametrize("missing", [False, True])
def test_keys_of_a_block(n_rows, missing, dtype):
    rng = np.random.default_rng(0)
    X, mapper = rows_and_mapper(rng, n_rows, dtype, 0.0, (0, 8, 0))
    X[:, 0] = rng.choice(np.array([-np.inf, -1.5, -0.0, 0.0, 3.0, np.inf], dtype), n_rows)
    if missing:
        X[: n_rows // 2] = np.nan
    arguments = key_arguments(X, mapper)
    least, greatest = np.iinfo(arguments[1].dtype).min, np.iinfo(arguments[1].dtype).max
    keys = np.full((6, n_rows), 77, arguments[1].dtype)
    found = kernels.fill_block(*arguments, keys)
    lost = np.isnan(X)
    assert found == (missing and n_rows > 1)
    for j in (0, 2):
        expected = ordered_integers(X[:, j])
        np.testing.assert_array_equal(keys[j], np.where(lost[:, j], greatest, expected))
        if found:
            np.testing.assert_array_equal(keys[3 + j], np.where(lost[:, j], least, expected))
    np.testing.assert_array_equal(keys[1], bins_of(X, mapper)[:, 1])
    if not found:
        assert np.all(keys[3:] == 77)


@pytest.mark.parametrize("shift", [0, 2])
def test_rule_out(shift):
    rng = np.random.default_rng(0)
    n, n_conditions = 11, 8
    keys = rng.integers(-9, 9, (4, n)).astype(np.int32)
    columns, far = rng.integers(2, size=(2, n_conditions))
    thresholds = rng.integers(-9, 9, n_conditions).astype(np.int32)
    lefts = (1 << rng.integers(0, 20, n_conditions)).astype(np.int32)
    before = rng.integers(4, size=n).astype(np.int32)
    gone = before.copy()
    kernels.rule_out(keys, n - 1, shift, columns, far, thresholds, lefts, 4, 8, gone)
    expected = before.copy()
    for k in range(4, 8):
        for i in range(n - 1):
            if keys[columns[k] + far[k] * shift, i] > thresholds[k]:
                expected[i] |= lefts[k]
    np.testing.assert_array_equal(gone, expected)


def test_rule_out_by_set():
    rng = np.random.default_rng(0)
    inside = rng.random(256) < 0.5
    members = np.packbits(inside, bitorder="little").view(np.uint64)
    keys = rng.integers(0, 256, (2, 50)).astype(np.int64)
    gone = np.zeros(50, np.int64)
    kernels.rule_out_by_set(keys, 49, 1, members, np.int64(6), gone)
    np.testing.assert_array_equal(gone[:49], np.where(inside[keys[1, :49]], 0, 6))
    assert gone[49] == 0


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_first_leaf_that_is_left(integer):
    n_leaves = 31 if integer is np.int32 else 63
    rng = np.random.default_rng(0)
    values = rng.normal(size=n_leaves)
    gone = np.array([(1 << k) - 1 for k in range(n_leaves)], integer)  # leaf k is the first
    gone[3] |= 1 << 5
    out = np.ones((n_leaves, 2))
    kernels.add_first_left(gone, n_leaves - 1, values, out, 1)
    expected = np.ones((n_leaves, 2))
    expected[:-1, 1] += values[:-1]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("n_rows", [0, 1, ROWS_PER_BLOCK, ROWS_PER_BLOCK + 1])
def test_chunks(n_rows):
    """One chunk, and many of them."""
    rng = np.random.default_rng(n_rows)
    X, mapper = rows_and_mapper(rng, n_rows, np.float64, 0.1)
    trees = [random_tree(rng, n, False) for n in (0, 1, 5, 8)]
    conditions = LeafMasks(trees, Packed(trees, MISSING).packed.sets, mapper, X.dtype).conditions
    arguments = key_arguments(X, mapper)
    whole, parts = np.zeros((2, n_rows, 2))
    kernels.add_chunk(*arguments, conditions, whole)
    kernels.add_small_trees(*arguments, conditions, parts, 100, n_threads=1)
    bins = bins_of(X, mapper)
    for k in range(2):
        expected = naive.walk_trees(trees[k::2], bins, MISSING)
        np.testing.assert_array_equal(whole[:, k], expected)
        np.testing.assert_array_equal(parts[:, k], expected)
