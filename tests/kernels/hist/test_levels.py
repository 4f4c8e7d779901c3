"""Levels of trees on blocks beside plain sums over the rows of every node."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.boosted.bins import BinMapper
from fastml.ensemble._hist_gradient_boosting._levels import TreeByLevels
from fastml.kernels.hist import grow
from fastml.kernels.hist import levels as kernels
from fastml.kernels.hist.histogram import COUNT_BITS, COUNT_MASK, Packing, pack
from fastml.kernels.hist.split import SPLIT_BIN, SPLIT_MISSING_LEFT, SPLIT_WORDS, BoostingRules

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, with JIT off
]
PACKING = Packing(count_bits=12, hessian_bits=20, rows_per_tile=4000)


def integers(n_rows, seed=0):
    """Bins 0 to 7 and of missing values; integer gradients and hessians."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper(20).fit(np.arange(8.0).repeat(3).reshape(8, 3))
    bins = mapper.transform(X)
    data = grow.BinnedRows(
        bins, np.ascontiguousarray(bins.T), mapper.n_bins_non_missing_.astype(np.intp), 20,
        mapper.is_categorical_, np.zeros(3, np.int8), np.zeros((0, 3), np.uint8), np.empty(0),
    )  # fmt: skip
    g = rng.integers(-40, 40, n_rows).astype(np.float32)
    h = rng.integers(1, 9, n_rows).astype(np.float32)
    packed = np.array([pack(a, b, PACKING) for a, b in zip(g, h)], dtype=np.int64)
    return data, g, h, packed


def split_at(node, left, feature, b, missing_left):
    made = np.zeros(kernels.MADE_WORDS, np.int64)
    made[kernels.MADE_NODE], made[kernels.MADE_LEFT] = node, left
    made[kernels.MADE_FEATURE] = feature
    made[kernels.MADE_SPLIT + SPLIT_BIN] = b
    made[kernels.MADE_SPLIT + SPLIT_MISSING_LEFT] = missing_left
    return made


def parts_of(rows, data, made):
    column = data.bins[rows, made[kernels.MADE_FEATURE]]
    to_left = column <= made[kernels.MADE_SPLIT + SPLIT_BIN]
    to_left[column == 20] = made[kernels.MADE_SPLIT + SPLIT_MISSING_LEFT]
    return rows[to_left], rows[~to_left]


def check_histogram(found, data, rows, g, h):
    expected = naive.integer_histogram(data.bins, rows, g.astype(int), h.astype(int))
    for f in range(3):
        used = [*range(data.n_bins[f]), 20]
        assert_array_equal(found[f, used, 0], expected[f, used, 0])
        assert_array_equal(found[f, used, 1] >> COUNT_BITS, expected[f, used, 1])
        assert_array_equal(found[f, used, 1] & COUNT_MASK, expected[f, used, 2])


@pytest.mark.parametrize("n_rows", [0, 1, 2, 70, 1500])
@pytest.mark.parametrize("n_tasks", [1, 2])
def test_two_levels(n_rows, n_tasks):
    data, g, h, packed = integers(n_rows)
    rows = np.arange(n_rows, dtype=np.uint32)
    ranges = np.zeros((7, 2), np.intp)
    ranges[0, 1] = n_rows
    first = np.array([split_at(0, 1, 1, 3, 1)])
    second = np.array([split_at(2, 3, 0, 2, 0), split_at(1, 5, 2, 5, 1)])
    own = {0: np.arange(n_rows, dtype=np.uint32)}
    for made, counted in ((first, [1, 2]), (second, [4, 5])):
        histograms = np.zeros((2, 3, 256, 2), np.int64)
        tiles = np.zeros((n_tasks, 4, 256), np.int64)
        kernels.level_of_block(
            data, rows, packed, PACKING, ranges, made, np.array(counted, np.intp),
            np.empty((len(made), 256), np.uint8), np.empty(n_rows + 1, np.uint32), tiles,
            histograms, n_threads=n_tasks,
        )  # fmt: skip
        for split in made:
            node, left = split[kernels.MADE_NODE], split[kernels.MADE_LEFT]
            own[left], own[left + 1] = parts_of(own[node], data, split)
            for child in (left, left + 1):
                assert_array_equal(rows[slice(*ranges[child])], own[child])  # in their order
        for node, found in zip(counted, histograms):
            check_histogram(found, data, own[node], g, h)
        assert not tiles.any()


def test_a_split_and_a_share_by_themselves():
    data, g, h, packed = integers(40)
    rows = np.arange(40, dtype=np.uint32)
    ranges = np.zeros((3, 2), np.intp)
    ranges[0] = 5, 35
    made = np.array([split_at(0, 1, 2, 4, 0)])
    table, spare = np.empty(256, np.uint8), np.empty(41, np.uint32)
    kernels.split_range(0, data, rows, ranges, made, table, spare)
    expected = parts_of(np.arange(5, 35), data, made[0])
    assert_array_equal(rows[5:35], np.concatenate(expected))
    assert_array_equal(rows[:5], np.arange(5))
    assert ranges[1, 1] == ranges[2, 0] == 5 + len(expected[0])
    histograms, tiles = np.zeros((1, 3, 256, 2), np.int64), np.zeros((2, 3, 256), np.int64)
    for task in range(2):
        kernels.count_share(
            task, data, rows, packed, PACKING, ranges, np.array([2]), tiles, histograms
        )
    check_histogram(histograms[0], data, expected[1], g, h)


def test_sums_of_leaves():
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=(2, 50)).astype(np.float32)
    rows = rng.permutation(50).astype(np.uint32)
    nodes = np.zeros((3, grow.NODE_WORDS), np.int64)
    nodes[:, grow.NODE_LEFT] = 1, -1, -1
    nodes[:, [grow.NODE_START, grow.NODE_STOP]] = [[0, 50], [0, 20], [20, 50]]
    sums = np.empty((3, 2))
    kernels.sum_leaves(nodes, rows, g, h, np.empty(0), sums, n_threads=2)
    expected = [[0, 0], *([v[part].sum(dtype=float) for v in (g, h)] for part in
                          (rows[:20], rows[20:]))]  # fmt: skip
    assert_allclose(sums, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_tasks", [1, 2])
def test_the_best_split_of_a_node(seed, n_tasks):
    data, g, h, packed = integers(60, seed)
    rules = BoostingRules(min_leaf=3, max_leaves=4)
    tree = TreeByLevels(data, rules, 60)
    asked = tree.work()
    assert asked.counted.tolist() == [0]
    histograms = np.zeros((1, 3, 256, 2), np.int64)
    ranges, rows = np.array([[0, 60]], np.intp), np.arange(60, dtype=np.uint32)
    kernels.level_of_block(
        data, rows, packed, PACKING, ranges, asked.made, asked.counted,
        np.empty((0, 256), np.uint8), np.empty(61, np.uint32), np.zeros((1, 4, 256), np.int64),
        histograms, n_threads=1,
    )  # fmt: skip
    tree.learn(histograms.copy())
    gain, f, b, _ = naive.best_boosted_split(data.bins, np.arange(60), g, h, data.n_bins, 20, rules)
    allowed, gains = np.empty(3, np.uint8), np.empty(3)
    splits = np.empty((3, SPLIT_WORDS), np.int64)
    worth = kernels.search_node(
        0, data, rules, tree.tree, histograms[0], tree.scratch, allowed, gains, splits, n_tasks,
        n_threads=n_tasks,
    )  # fmt: skip
    again = np.empty(3)
    for task in range(n_tasks):
        kernels.search_share(
            task, n_tasks, 0, data, rules, tree.tree, histograms[0], allowed, again, splits
        )
    assert_array_equal(again, gains)
    assert worth == (gain > 0.0)
    assert worth == (0 in tree.open)
    if worth:
        assert_allclose(tree.tree.reals[0, grow.NODE_GAIN], gain, rtol=1e-9)
        assert tree.tree.nodes[0, grow.NODE_FEATURE] == f
        assert splits[f, SPLIT_BIN] == b
