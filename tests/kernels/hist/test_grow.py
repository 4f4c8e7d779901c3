"""Trees on bins beside a plain search, and every row in the leaf that its path leads to."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import Packed
from fastml.ensemble._hist_gradient_boosting._grower import BoostedTreeGrower
from fastml.kernels.hist import grow as kernels
from fastml.kernels.hist.histogram import COUNT_BITS, COUNT_MASK, Packing, pack
from fastml.kernels.hist.split import (
    BEST_FIRST,
    DEPTH_FIRST,
    LEVEL_FIRST,
    SPLIT_BIN,
    SPLIT_GRADIENT,
    SPLIT_MISSING_LEFT,
    SPLIT_REST,
    SPLIT_WORDS,
    BoostingRules,
)

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, with JIT off
]


@pytest.mark.parametrize("n_rows", [1, 2, 60])
@pytest.mark.parametrize("order", [BEST_FIRST, LEVEL_FIRST])
@pytest.mark.parametrize("max_leaves", [2, 5, 0])
def test_leaves_hold_the_rows_that_lead_there(n_rows, order, max_leaves):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper()
    bins = mapper.fit_transform(X)
    gradients = rng.normal(size=n_rows).astype(np.float32)
    hessians = rng.random(n_rows).astype(np.float32) + np.float32(0.1)
    rules = BoostingRules(
        min_leaf=3, max_depth=4, max_leaves=max_leaves, order=order, features_drawn=700
    )
    groups = np.array([[1, 1, 0], [0, 0, 1]], dtype=np.uint8)
    trends = np.array([1, -1, 0], dtype=np.int8)
    grower = BoostedTreeGrower(
        bins, mapper, rules, trends=trends, groups=groups, constant_hessian=False, n_jobs=1
    )
    size = np.abs(gradients)
    statistics = np.array([size.max(), size.sum(), hessians.max(), hessians.sum()])
    tree = grower.grow(gradients, hessians, statistics, seed=3)
    raw, walked = np.zeros(n_rows), np.zeros((n_rows, 1))
    grower.add_values(tree, raw)
    Packed([tree], 255).add_to(bins, walked, 1)
    assert_allclose(walked[:, 0], raw, atol=1e-12)
    leaves = [rows for _, rows in grower.leaves()]
    assert_array_equal(np.sort(np.concatenate(leaves)), np.arange(n_rows))
    if len(leaves) > 1:
        assert min(map(len, leaves)) >= 3
        for node, rows in grower.leaves():
            exact = -gradients[rows].sum(dtype=float) / hessians[rows].sum(dtype=float)
            bounds = grower.tree.reals[node, [kernels.NODE_LOWER, kernels.NODE_UPPER]]
            assert_allclose(tree.nodes["value"][node], np.clip(exact, *bounds), rtol=1e-5)


# ---------------------------------------------------------------------------- kernel by kernel

PACKING = Packing(count_bits=12, hessian_bits=20, rows_per_tile=4000)
RULES = BoostingRules(l2=0.5, min_leaf=3, max_leaves=6)


def integers_in_bins(n_rows, n_features=3, seed=0, rules=RULES, n_jobs=1, **constraints):
    """A grower on bins 0 to 7 and of missing values, integer gradients and hessians."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_rows, n_features)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper(20)
    bins = mapper.fit_transform(X)
    grower = BoostedTreeGrower(
        bins, mapper, rules, constant_hessian=False, n_jobs=n_jobs, **constraints
    )
    g = rng.integers(-40, 40, n_rows).astype(np.float32)
    h = rng.integers(1, 9, n_rows).astype(np.float32)
    return grower, g, h


def fill_root(grower, g, h):
    """The root's sums and range, and packed words, as `grow_tree` begins."""
    nodes, n = grower.tree.nodes, len(g)
    grower.search.packed[:] = [pack(a, b, PACKING) for a, b in zip(g, h)]
    nodes[0] = 0
    nodes[0, kernels.NODE_STOP] = n
    nodes[0, kernels.NODE_LEFT] = nodes[0, kernels.NODE_FEATURE] = -1
    nodes[0, kernels.NODE_GRADIENT] = g.sum()
    nodes[0, kernels.NODE_REST] = (int(h.sum()) << int(COUNT_BITS)) + n
    grower.tree.reals[0] = 0.0, -np.inf, np.inf, 0.0


@pytest.mark.parametrize("n_rows", [0, 1, 2, 50])
@pytest.mark.parametrize("n_chunks", [1, 3])
def test_packed_rows_and_their_sums(n_rows, n_chunks):
    rng = np.random.default_rng(0)
    g = rng.integers(-40, 40, 2 * n_rows).astype(np.float32)
    h = rng.integers(0, 9, 2 * n_rows).astype(np.float32)
    rows = rng.permutation(2 * n_rows)[:n_rows].astype(np.uint32)
    packed = np.zeros(2 * n_rows, dtype=np.int64)
    sums = np.empty((n_chunks, 2), dtype=np.int64)
    for c in range(n_chunks):
        kernels.pack_chunk(c, n_chunks, rows, g, h, np.empty(0), PACKING, packed, sums)
    assert sums[:, 0].sum() == g[rows].sum()
    assert (sums[:, 1] >> COUNT_BITS).sum() == h[rows].sum()
    assert (sums[:, 1] & COUNT_MASK).sum() == n_rows
    expected = np.zeros(2 * n_rows, dtype=np.int64)
    expected[rows] = [pack(g[r], h[r], PACKING) for r in rows]
    assert_array_equal(packed, expected)
    weights = rng.integers(0, 5, 2 * n_rows).astype(float)
    for c in range(n_chunks):
        kernels.pack_chunk(c, n_chunks, rows, g, h, weights, PACKING, packed, sums)
    assert sums[:, 0].sum() == (weights * g)[rows].sum()
    assert (sums[:, 1] >> COUNT_BITS).sum() == (weights * h)[rows].sum()
    assert (sums[:, 1] & COUNT_MASK).sum() == n_rows
    expected[rows] = [pack(weights[r] * g[r], weights[r] * h[r], PACKING) for r in rows]
    assert_array_equal(packed, expected)


def test_partition_is_stable():
    n = 100
    column = (np.arange(n) % 3).astype(np.uint8)
    table = np.zeros(256, dtype=np.uint8)
    table[1] = 1
    rows = np.arange(n, dtype=np.uint32)
    lefts, rights = np.empty((2, n), dtype=np.uint32)
    counts, places = np.zeros((2, 1), dtype=np.intp)
    kernels.partition_chunk(0, 10, 90, rows, column, table, lefts, rights, counts)
    kernels.collect_chunk(0, 10, 90, rows, lefts, rights, counts, places, counts[0])
    inside = np.arange(10, 90)
    assert_array_equal(rows[10:90], np.r_[inside[inside % 3 == 1], inside[inside % 3 != 1]])
    assert_array_equal(rows[:10], np.arange(10))


def test_what_may_be_split():
    nodes = np.zeros((1, kernels.NODE_WORDS), dtype=np.int64)
    for depth in (0, 3, 4):
        for count in (0, 1, 5, 6, 7):
            nodes[0, kernels.NODE_DEPTH] = depth
            nodes[0, kernels.NODE_REST] = (9 << int(COUNT_BITS)) + count
            for max_depth in (4, 2**31 - 1):
                rules = BoostingRules(min_leaf=3, max_depth=max_depth)
                expected = depth < max_depth and count >= 6
                assert kernels.may_split(0, nodes, rules) == expected


@pytest.mark.parametrize("features_drawn", [1, 300, 500, 999, 1000])
def test_features_of_a_node(features_drawn):
    """As many as there should be, of the active groups, the same again for the same node."""
    groups = np.array(
        [[1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1]], np.uint8
    )
    active = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.uint8)
    rules = BoostingRules(features_drawn=features_drawn, seed=11)
    state, pool = np.empty(1, dtype=np.uint64), np.empty(7, dtype=np.intp)
    draws = {}
    for node in range(4):
        may = (groups * active[node][:, None]).any(axis=0)
        for _ in range(2):
            allowed = np.full(7, 9, dtype=np.uint8)
            kernels.choose_features(node, groups, active, rules, state, pool, allowed)
            assert draws.setdefault(node, allowed.tolist()) == allowed.tolist()
        assert np.all(allowed <= may)
        n_drawn = max(1, int(np.ceil(may.sum() * features_drawn / 1000)))
        assert allowed.sum() == min(n_drawn, may.sum())
    nothing = np.zeros((0, 7), dtype=np.uint8)
    kernels.choose_features(0, nothing, nothing, rules, state, pool, allowed)
    assert allowed.sum() == max(1, int(np.ceil(7 * features_drawn / 1000)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_tasks", [1, 2])
def test_gains_and_splits_of_two_children(seed, n_tasks):
    n = 60
    grower, g, h = integers_in_bins(n, 4, seed)
    fill_root(grower, g, h)
    tree, data = grower.tree, grower.data
    tiles = np.zeros((n_tasks, 5, 256), dtype=np.int64)
    search = grower.search._replace(tiles=tiles)
    search.wanted[:] = 1, 0
    search.allowed[:] = 1, 1, 0, 1
    tree.nodes[0, kernels.NODE_SLOT] = 0
    rest = data, grower.rows, PACKING, RULES, tree, search, None, None
    for task in range(n_tasks):
        kernels.evaluate_features(task, 0, -1, *rest)
    everything = np.arange(n)
    check_gains(search, 0, data, everything, g, h)
    # The first 25 rows are one child, the others take their parent's histogram over.
    for node, (start, stop, slot) in enumerate([(0, 25, 1), (25, n, 0)], start=1):
        part = slice(start, stop)
        tree.nodes[node, [kernels.NODE_START, kernels.NODE_STOP, kernels.NODE_SLOT]] = (
            start,
            stop,
            slot,
        )
        tree.nodes[node, kernels.NODE_GRADIENT] = g[part].sum()
        tree.nodes[node, kernels.NODE_REST] = (int(h[part].sum()) << int(COUNT_BITS)) + stop - start
        tree.reals[node] = tree.reals[0]
    search.wanted[:] = 1
    for task in range(n_tasks):
        kernels.evaluate_features(task, 1, 2, *rest)
    check_gains(search, 0, data, everything[:25], g, h)
    check_gains(search, 1, data, everything[25:], g, h)
    assert not tiles.any()


def check_gains(search, which, data, rows, g, h):
    for f in range(4):
        found, split = search.gains[which, f], search.splits[which, f]
        if not search.allowed[which, f]:
            assert found == 0.0
            continue
        only = data.bins[:, [f]]
        gain, _, b, missing_left = naive.best_boosted_split(
            only, rows, g, h, data.n_bins[[f]], data.missing_bin, RULES
        )
        assert_allclose(found, gain, rtol=1e-9)
        if gain > 0.0:
            assert split[SPLIT_BIN] == b
            column = only[rows, 0]
            lost = column == data.missing_bin
            if lost.any():
                assert split[SPLIT_MISSING_LEFT] == missing_left
            left = rows[np.where(lost, bool(missing_left), column <= b)]
            assert split[SPLIT_GRADIENT] == g[left].sum()
            assert split[SPLIT_REST] >> COUNT_BITS == h[left].sum()
            assert split[SPLIT_REST] & COUNT_MASK == len(left)


@pytest.mark.parametrize(
    ("gains", "best"), [([0.0, 0.0], None), ([0.0, 3.0], 1), ([2.0, 3.0, 3.0], 1), ([5.0], 0)]
)
def test_the_first_best_feature_is_kept(gains, best):
    nodes = np.full((2, kernels.NODE_WORDS), -7, dtype=np.int64)
    reals = np.full((2, kernels.NODE_FLOATS), -7.0)
    splits = np.arange(len(gains) * SPLIT_WORDS).reshape(-1, SPLIT_WORDS)
    kept = kernels.keep_best(1, np.array(gains), splits, nodes, reals)
    assert kept == (best is not None)
    assert np.all(nodes[0] == -7)
    if kept:
        assert nodes[1, kernels.NODE_FEATURE] == best
        assert reals[1, kernels.NODE_GAIN] == gains[best]
        assert_array_equal(nodes[1, kernels.NODE_SPLIT :], splits[best])
    else:
        assert np.all(nodes[1] == -7)


@pytest.mark.parametrize(("order", "taken"), [(BEST_FIRST, 2), (LEVEL_FIRST, 4), (DEPTH_FIRST, 1)])
def test_which_node_is_next(order, taken):
    reals = np.zeros((6, kernels.NODE_FLOATS))
    reals[:, kernels.NODE_GAIN] = 9.0, 1.0, 5.0, 5.0, 2.0, 9.0
    opened = np.array([4, 2, 3, 1, 0])  # the last one is not open
    assert kernels.take_next(order, opened, 4, reals) == taken
    assert_array_equal(opened[:3], [node for node in (4, 2, 3, 1) if node != taken])


@pytest.mark.parametrize("trend", [-1, 0, 1])
def test_children(trend):
    groups = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=np.uint8)
    rules = RULES._replace(l1=0.5, gradient_unit=0.25, hessian_unit=0.5)
    trends = np.array([0, trend, 0], dtype=np.int8)
    grower, *_ = integers_in_bins(40, rules=rules, trends=trends, groups=groups)
    tree = grower.tree
    nodes, reals = tree.nodes, tree.reals
    sums = {0: (120, 60, 40), 3: (-30, 25, 15), 4: (150, 35, 25)}  # gradient, hessian, rows
    nodes[0, kernels.NODE_START], nodes[0, kernels.NODE_STOP], nodes[0, kernels.NODE_DEPTH] = (
        7,
        47,
        2,
    )
    nodes[0, kernels.NODE_FEATURE] = 1
    for place, node in ((kernels.NODE_GRADIENT, 0), (kernels.NODE_SPLIT + SPLIT_GRADIENT, 3)):
        nodes[0, place] = sums[node][0]
        nodes[0, place + 1] = (sums[node][1] << int(COUNT_BITS)) + sums[node][2]
    reals[0] = 3.0, -2.0, 2.0, 0.0
    tree.active[0] = 1, 1, 0
    kernels.make_children(0, 3, 15, tree, grower.data, rules)
    assert nodes[0, kernels.NODE_LEFT] == 3
    values = {}
    for node, start, stop in ((3, 7, 22), (4, 22, 47)):
        g, h, count = sums[node]
        assert_array_equal(nodes[node, [kernels.NODE_START, kernels.NODE_STOP]], [start, stop])
        assert nodes[node, kernels.NODE_DEPTH] == 3
        assert_array_equal(
            nodes[node, [kernels.NODE_LEFT, kernels.NODE_FEATURE, kernels.NODE_SLOT]], -1
        )
        assert nodes[node, kernels.NODE_GRADIENT] == g
        assert nodes[node, kernels.NODE_REST] == (h << int(COUNT_BITS)) + count
        values[node] = naive.boosted_node_value(0.25 * g, 0.5 * h, rules, -2.0, 2.0)
        assert_allclose(reals[node, kernels.NODE_VALUE], values[node])
        assert_array_equal(tree.active[node], [1, 1, 0])  # the third had been left before
    between = (values[3] + values[4]) / 2
    bounds = {
        -1: ((between, 2.0), (-2.0, between)),
        0: ((-2.0, 2.0), (-2.0, 2.0)),
        1: ((-2.0, between), (between, 2.0)),
    }[trend]
    assert_allclose(reals[3:5][:, [kernels.NODE_LOWER, kernels.NODE_UPPER]], bounds)


def test_groups_that_do_not_hold_the_feature_are_left():
    groups = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=np.uint8)
    grower, *_ = integers_in_bins(40, groups=groups)
    grower.tree.nodes[0, kernels.NODE_FEATURE] = 2
    grower.tree.active[0] = 1, 1, 1
    kernels.make_children(0, 1, 15, grower.tree, grower.data, RULES)
    assert_array_equal(grower.tree.active[1:3], [[0, 1, 1], [0, 1, 1]])


def ranges_of_leaves(rng, n_rows):
    """A split node 0 and its two leaves, of which one may be empty."""
    nodes = np.zeros((3, kernels.NODE_WORDS), dtype=np.int64)
    cut = n_rows // 3
    nodes[:, kernels.NODE_LEFT] = 1, -1, -1
    nodes[:, kernels.NODE_START] = 0, 0, cut
    nodes[:, kernels.NODE_STOP] = n_rows, cut, n_rows
    return nodes, rng.permutation(n_rows).astype(np.uint32), cut


@pytest.mark.parametrize("n_rows", [0, 1, 30])
def test_exact_sums_and_values_of_leaves(n_rows):
    rng = np.random.default_rng(0)
    nodes, rows, cut = ranges_of_leaves(rng, n_rows)
    g, h = (rng.integers(-500, 500, (2, n_rows)) / 64).astype(np.float32)
    sums = np.full((3, 2), 9.0)
    for node in range(3):
        kernels.sum_leaf(node, nodes, rows, g, h, np.empty(0), sums)
    for node, part in ((1, rows[:cut]), (2, rows[cut:])):
        assert_array_equal(sums[node], [g[part].sum(), h[part].sum()])
    assert_array_equal(sums[0], 0.0)
    weights = rng.integers(0, 4, n_rows).astype(float)
    kernels.sum_leaf(1, nodes, rows, g, h, weights, sums)
    part = rows[:cut]
    assert_array_equal(sums[1], [(weights * g)[part].sum(), (weights * h)[part].sum()])
    values = np.array([100.0, 2.0, -3.0])
    raw, one = np.ones(n_rows), np.ones(n_rows)
    expected = np.ones(n_rows)
    expected[rows[cut:]] -= 3.0
    kernels.add_leaf(2, nodes, rows, values, one)
    assert_array_equal(one, expected)
    expected[rows[:cut]] += 2.0
    kernels.add_leaf_values(3, nodes, rows, values, raw, n_threads=1)
    assert_array_equal(raw, expected)


@pytest.mark.parametrize("n_rows", [1, 2, 5, 120])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_leaves": 2},
        {"max_depth": 2},
        {"min_gain": 300.0},
        {"max_leaves": 0, "max_depth": 3},
        {"order": LEVEL_FIRST, "max_leaves": 8, "max_depth": 3},
    ],
)
def test_tree_is_that_of_a_plain_search(n_rows, seed, limits):
    rules = RULES._replace(**limits)
    grower, g, h = integers_in_bins(n_rows, seed=seed, rules=rules)
    rows = grower.rows
    n_nodes = kernels.grow_tree(
        grower.data,
        rows,
        g,
        h,
        PACKING,
        grower.rules,
        grower.tree,
        grower.search,
        grower.scratch,
        None,
        None,
        n_threads=1,
    )
    nodes = grower.tree.nodes[:n_nodes]
    found = {
        frozenset(rows[node[kernels.NODE_START] : node[kernels.NODE_STOP]].tolist())
        for node in nodes
        if node[kernels.NODE_LEFT] < 0
    }
    unlimited = rules._replace(max_leaves=rules.max_leaves or 999)
    data = grower.data
    leaves = naive.grow_boosted_tree(data.bins, g, h, data.n_bins, data.missing_bin, unlimited)
    assert found == {frozenset(leaf.tolist()) for leaf in leaves}
    assert len(found) == (n_nodes + 1) // 2
    assert not grower.search.tiles.any()
    for node in range(n_nodes):
        own = rows[nodes[node, kernels.NODE_START] : nodes[node, kernels.NODE_STOP]]
        exact = [g[own].sum(), h[own].sum()] if nodes[node, kernels.NODE_LEFT] < 0 else [0.0, 0.0]
        assert_array_equal(grower.tree.leaf_sums[node], exact)
