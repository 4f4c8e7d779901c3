"""A few rows, not binned: the same sums as row by row down the binned trees."""

import naive
import numpy as np
import pytest

from fastml._engines.boosted.trees import Packed
from fastml._engines.boosted.walks import FEW_ROWS, Walks, probabilities
from fastml._engines.boosted.walks import sigmoid as sigmoid_of
from fastml.kernels.hist import few_rows as kernels

from .test_leaf_masks import MISSING, bins_of, rows_and_mapper
from .test_predict import random_tree

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]


def trees_by_sets(rng, sizes):
    """Trees in which column 1 is split by sets, the others are not."""
    trees = [random_tree(rng, n, False) for n in sizes]
    for tree in trees:
        columns = tree.nodes["feature_idx"]
        tree.nodes["is_categorical"] = (columns == 1) & (tree.nodes["left"] >= 0)
        n_sets = int(tree.nodes["is_categorical"].sum())
        tree.sets = np.zeros((n_sets, 4), np.uint64)
        tree.sets[:, 0] = rng.integers(1 << 8, size=n_sets)
    return trees


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 2, FEW_ROWS])
def test_walks(n_rows, dtype):
    rng = np.random.default_rng(n_rows)
    X, mapper = rows_and_mapper(rng, n_rows, dtype, 0.3, (0, 8, 0))
    if n_rows > 2:
        X[1, 0], X[0, 2], X[2, 2] = -0.0, np.inf, -np.inf
    trees = trees_by_sets(rng, (0, 1, 3, 4, 5, 30, 2, 90))
    packed = Packed(trees, MISSING)
    walks = Walks(trees, packed.packed.sets, mapper)
    out = np.zeros((n_rows, 2))
    kernels.add_walks(
        X.astype(np.float64), walks.categories, MISSING, walks.roots, walks.words, walks.numbers,
        walks.sets, out,
    )  # fmt: skip
    bins = bins_of(X, mapper)
    for k in range(2):
        np.testing.assert_array_equal(out[:, k], naive.walk_trees(trees[k::2], bins, MISSING))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only"])
def test_any_layout_of_rows(layout):
    rng = np.random.default_rng(0)
    X, mapper = rows_and_mapper(rng, 6, np.float64, 0.2)
    trees = [random_tree(rng, 30, False) for _ in range(5)]
    expected = np.zeros((6, 1))
    packed = Packed(trees, MISSING)
    packed.add_to(bins_of(X, mapper), expected, 1)
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "strided":
        X = np.repeat(X, 2, axis=0)[::2]
    elif layout == "read-only":
        X.flags.writeable = False
    out = np.zeros((6, 1))
    packed.add_rows(X, mapper, out, 1)
    np.testing.assert_array_equal(out, expected)


def test_goes_right():
    sets = np.array([[0b101, 0, 0, 1 << 7]], np.uint64)
    none = np.uint64(0)

    def right(x, word=none, number=1.5):
        return bool(kernels.goes_right(float(x), word, number, sets, 3, 199))

    assert [right(x) for x in (2.0, 1.5, np.nan)] == [True, False, True]
    assert not right(np.nan, kernels.LOST_LEFT)
    by_set = [right(x, kernels.BY_SET, 0.0) for x in (0, 1, 2, 3, -1, np.nan)]
    assert by_set == [False, True, False, False, False, False]  # 199 is in the set


@pytest.mark.parametrize("slope", [1.0, 2.5])
def test_sigmoid(slope):
    raw = np.array([[-1000.0], [-30.0], [0.0], [1e-3], [7.0], [1000.0], [np.nan]])
    with np.errstate(over="ignore"):
        expected = 1.0 / (1.0 + np.exp(-slope * raw))
    out, both = np.empty_like(raw), np.empty((len(raw), 2))
    kernels.sigmoids(raw, slope, out)
    kernels.two_classes(raw, slope, both)
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    np.testing.assert_array_equal(both[:, 1:], out)
    np.testing.assert_array_equal(both[:, 0], 1.0 - out[:, 0])
    one_by_one = [float(kernels.sigmoid(r, slope)) for r in raw[:, 0]]
    np.testing.assert_array_equal(one_by_one, out[:, 0])


def test_links_of_many_rows_are_those_of_one():
    raw = np.random.default_rng(0).normal(size=(1003, 3)) * 20
    many = sigmoid_of(raw, 1.7)
    for i in range(0, 1003, 17):
        np.testing.assert_array_equal(sigmoid_of(raw[i : i + 1], 1.7), many[i : i + 1])
    first = np.ascontiguousarray(raw[:, :1])
    many = probabilities(first, 1.7)
    for i in range(0, 1003, 17):
        np.testing.assert_array_equal(probabilities(first[i : i + 1], 1.7), many[i : i + 1])
