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


def counts_of(nodes, slots):
    """Of no rows so far; node i has a histogram if ``slots[i]`` is not -1."""
    n, n_slots = len(nodes), max(slots, default=-1) + 1
    return kernels.LevelCounts(
        np.array(nodes, np.intp), np.array(slots, np.intp), np.zeros(n, np.intp),
        np.zeros((n, 3, 256), np.int64), np.zeros((n_slots, 3, 256, 2), np.int64),
    )  # fmt: skip


def added(counts, data, packing, n_tasks=1):
    """The histograms that were counted."""
    n = len(counts.nodes)
    pool = np.full((n + 1, 3, 256, 2), 7, np.int64)
    pairs = np.zeros((n, kernels.PAIR_WORDS), np.intp)
    pairs[:, kernels.PAIR_SMALL_SLOT] = 1 + np.arange(n)
    again = kernels.LevelCounts(*(part.copy() for part in counts))
    kernels.add_counts(True, counts, packing, data, pairs, pool, n_tasks, n_threads=n_tasks)
    assert not counts.tiles.any()
    for task in range(n * n_tasks):  # by itself, and to what is there: twice as much
        kernels.add_counts_share(task, n_tasks, False, again, packing, data, pairs, pool)
    for f in range(3):
        used = [*range(data.n_bins[f]), 20]
        assert not (pool[1:, f, used] % 2).any()
        pool[1:, f, used] //= 2
    return pool[1:]


def check_histogram(found, data, rows, g, h):
    expected = naive.integer_histogram(data.bins, rows, g.astype(int), h.astype(int))
    for f in range(3):
        used = [*range(data.n_bins[f]), 20]
        assert_array_equal(found[f, used, 0], expected[f, used, 0])
        assert_array_equal(found[f, used, 1] >> COUNT_BITS, expected[f, used, 1])
        assert_array_equal(found[f, used, 1] & COUNT_MASK, expected[f, used, 2])


@pytest.mark.parametrize("n_rows", [0, 1, 2, 70, 1500])
@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("per_tile", [4000, 33])
def test_two_levels(n_rows, n_tasks, per_tile):
    data, g, h, packed = integers(n_rows)
    packing = PACKING._replace(rows_per_tile=per_tile)
    rows = np.arange(n_rows, dtype=np.uint32)
    ranges = np.zeros((7, 2), np.intp)
    ranges[0, 1] = n_rows
    first = np.array([split_at(0, 1, 1, 3, 1)])
    second = np.array([split_at(2, 3, 0, 2, 0), split_at(1, 5, 2, 5, 1)])
    own = {0: np.arange(n_rows, dtype=np.uint32)}
    for made, counted in ((first, [1, 2]), (second, [4, 5])):
        counts = counts_of(counted, [-1, -1] if n_rows <= per_tile else [1, 0])
        kernels.level_of_block(
            data, rows, packed, packing, ranges, made, np.empty((len(made), 256), np.uint8),
            np.empty(n_rows + 1, np.uint32), counts, n_tasks, n_threads=n_tasks,
        )  # fmt: skip
        for split in made:
            node, left = split[kernels.MADE_NODE], split[kernels.MADE_LEFT]
            own[left], own[left + 1] = parts_of(own[node], data, split)
            for child in (left, left + 1):
                assert_array_equal(rows[slice(*ranges[child])], own[child])  # in their order
        assert (counts.filled <= per_tile).all()
        for node, found in zip(counted, added(counts, data, packing, n_tasks)):
            check_histogram(found, data, own[node], g, h)


@pytest.mark.parametrize("per_tile", [4000, 50, 40, 7])
def test_blocks_share_tiles(per_tile):
    """Tiles that are full, nearly full or empty when the next block comes."""
    data, g, h, packed = integers(150)
    packing = PACKING._replace(rows_per_tile=per_tile)
    counts = counts_of([0], [0])
    for first, last in ((0, 40), (40, 50), (50, 50), (50, 51), (51, 150)):
        rows = np.arange(150, dtype=np.uint32)
        kernels.level_of_block(
            data, rows, packed, packing, np.array([[first, last]], np.intp),
            np.empty((0, kernels.MADE_WORDS), np.int64), np.empty((0, 256), np.uint8),
            np.empty(151, np.uint32), counts, 1, n_threads=1,
        )  # fmt: skip
        in_tile = counts.tiles[0, 0].sum() & ((1 << PACKING.count_bits) - 1)
        assert in_tile == counts.filled[0] <= per_tile
    check_histogram(added(counts, data, packing)[0], data, np.arange(150), g, h)


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
    counts = counts_of([2], [-1])
    for task in range(2):
        kernels.count_share(task, 2, data, rows, packed, PACKING, ranges, counts)
    assert counts.filled[0] == 0
    kernels.note_filled(PACKING, ranges, counts)
    assert counts.filled[0] == len(expected[1])
    check_histogram(added(counts, data, PACKING)[0], data, expected[1], g, h)


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
def test_the_best_splits_of_a_level(seed, n_tasks):
    n = 200
    data, g, h, packed = integers(n, seed)
    rules = BoostingRules(min_leaf=3, max_leaves=4)
    tree = TreeByLevels(data, rules, PACKING, n)
    ranges, rows = np.zeros((3, 2), np.intp), np.arange(n, dtype=np.uint32)
    ranges[0, 1] = n
    own = {0: np.arange(n)}
    for level in range(2):
        asked = tree.work()
        assert asked is not None
        if level:
            chosen, made = np.zeros(1, np.intp), np.empty((1, kernels.MADE_WORDS), np.int64)
            pairs = np.empty((1, kernels.PAIR_WORDS), np.intp)
            assert kernels.split_level(chosen, 1, False, tree.tree, data, tree.rules, made, pairs)
            assert_array_equal(made, asked.made)
            assert_array_equal(pairs[:, :2], tree.pairs[:, :2])
            assert not kernels.split_level(
                chosen, 1, True, tree.tree, data, tree.rules, made, pairs
            )
            own[1], own[2] = parts_of(own[0], data, made[0])
            assert len(own[asked.counted[0]]) <= n // 2
        counts = asked.counts(3)
        kernels.level_of_block(
            data, rows, packed, PACKING, ranges, asked.made,
            np.empty((len(asked.made), 256), np.uint8), np.empty(n + 1, np.uint32), counts, 1,
            n_threads=1,
        )  # fmt: skip
        tree.add(counts)
        before = tree.pool.copy()
        tree.learn()
        for node in tree.pairs[0, :2]:
            if node < 0:
                continue
            gain, f, b, _ = naive.best_boosted_split(
                data.bins, own[node], g, h, data.n_bins, 20, rules
            )
            assert (gain > 0.0) == (node in tree.gain)
            if gain > 0.0:
                assert_allclose(tree.gain[node], gain, rtol=1e-9)
                assert tree.tree.nodes[node, grow.NODE_FEATURE] == f
                assert tree.tree.nodes[node, grow.NODE_SPLIT + SPLIT_BIN] == b
            check_histogram(tree.pool[tree.slot[node]], data, own[node], g, h)
        search = kernels.LevelSearch(
            np.empty((1, 2), np.uint8), np.empty((1, 2), np.uint8), np.empty((1, 2, 3), np.uint8),
            np.empty((1, 2, 3)), np.empty((1, 2, 3, SPLIT_WORDS), np.int64),
        )  # fmt: skip
        pool = before.copy()
        kernels.search_level(
            data, tree.rules, tree.tree, tree.pairs, pool, tree.scratch, search, n_tasks,
            n_threads=n_tasks,
        )  # fmt: skip
        again = search.gains.copy()
        for task in range(n_tasks):
            kernels.search_share(
                task, n_tasks, data, tree.rules, tree.tree, tree.pairs, before, search
            )
        assert_array_equal(pool, before)
        assert_array_equal(again[search.wanted > 0], search.gains[search.wanted > 0])
        assert_array_equal(search.worth[0], [node in tree.gain for node in tree.pairs[0, :2]])


def test_splits_that_are_hardly_made_wait():
    """What a tree like this one gains at least says which nodes are split early."""
    tree = TreeByLevels(integers(2)[0], BoostingRules(max_leaves=5), PACKING, 100, usual=8.0)
    tree.gain = {0: 9.0, 1: 5.0, 2: 7.0}
    tree.children = {0: (1, 2)}
    assert tree._walk() == ([0], [2], False)
    tree.gain[1] = 6.0  # 0.75 of the usual least
    assert tree._walk() == ([0], [2, 1], False)
