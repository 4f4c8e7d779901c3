"""Levels of a forest's trees on blocks beside plain sums, and the searches of trees in memory."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.forests.codes import encode
from fastml.kernels.forest import block_levels as kernels
from fastml.kernels.forest import split as in_memory
from fastml.kernels.forest.class_split import search_classes
from fastml.kernels.forest.frame import Frame
from fastml.kernels.numeric.rng import GOLDEN, mix64, unit_float
from fastml.kernels.tree import nodes
from fastml.kernels.tree.exact_split import GrowthRules

pytestmark = [
    pytest.mark.small,
    # With JIT off, NumPy scalars warn where compiled code wraps round as it should.
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]


def block_of(n, n_classes=2, seed=0, trees=2):
    """A block of codes 0 to 5 and missing values, and what they mean."""
    rng = np.random.default_rng(seed)
    X = rng.integers(6, size=(n, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[: min(6, n)] = np.arange(6.0)[: min(6, n), None]
    columns, codes = encode(X, False, 1)
    y = rng.integers(n_classes, size=n).astype(float)
    weights = rng.integers(0, 3, n).astype(float)
    times = rng.integers(0, 3, (trees, n)).astype(np.uint16)
    return kernels.BlockRows(columns, y, weights, times), codes


def listed(data, trees=2):
    rows = np.zeros((trees, len(data.y) + 1), np.uint32)
    ranges = np.zeros((trees, 3, 2), np.intp)
    kernels.list_rows(data, rows, ranges, n_threads=2)
    return rows, ranges


def test_draws_are_poisson_numbers_of_the_rows_numbers():
    keys = np.array([3, 2**63 + 5], np.uint64)
    for rate in (0.4, 1.0, 7.0):
        times = np.zeros((2, 50), np.uint16)
        kernels.draw_rows(keys, 1000, np.full(1, rate), True, times, n_threads=2)
        for t in range(2):
            for i in range(50):
                bits = mix64(np.uint64((int(keys[t]) + (1001 + i) * int(GOLDEN)) % 2**64))
                assert times[t, i] == naive.poisson_number(unit_float(np.uint64(bits)), rate)
        part = np.zeros((2, 10), np.uint16)
        kernels.draw_tree(0, keys, 1030, np.full(10, rate), True, part)
        assert_array_equal(part[0], times[0, 30:40])
    kernels.draw_rows(keys, 0, np.full(1, 0.25), False, times, n_threads=1)
    assert set(np.unique(times)) == {0, 1}


def test_chances_and_large_rates():
    chances = np.empty((2, kernels.MOST_AT_ONCE))
    kernels.fill_chances(0.5, chances[0])
    kernels.fill_chances(kernels.MOST_RATE, chances[1])
    assert_allclose(chances[0, :3], [0.6065306597, 0.9097959896, 0.9856123220], rtol=1e-9)
    bits = [np.uint64(mix64(np.uint64(i))) for i in range(2000)]
    drawn = [kernels.times_drawn(b, 16.5, chances) for b in bits]
    assert abs(np.mean(drawn) - 16.5) < 0.5
    assert abs(np.var(drawn) - 16.5) < 2.0


@pytest.mark.parametrize("n", [0, 1, 2, 60])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_are_listed_divided_and_counted(n, n_classes):
    data, codes = block_of(n, n_classes) if n else (block_of(6)[0], block_of(6)[1])
    if n == 0:
        data = kernels.BlockRows(
            data.columns[:, :0], data.y[:0], data.weights[:0], data.times[:, :0]
        )
    rows, ranges = listed(data)
    for t in range(2):
        expected = np.flatnonzero((data.times[t] > 0) & (data.weights > 0))
        assert_array_equal(rows[t, : ranges[t, 0, 1]], expected)
    again, own = np.zeros_like(rows), np.zeros_like(ranges)
    for t in range(2):
        kernels.list_tree(t, data, again, own)
    assert_array_equal(own, ranges)
    cuts = np.array([[0, 0, 1, 1, 2, 1], [1, 0, 1, 2, 3, 0]], np.int64)
    before = [rows[t, : ranges[t, 0, 1]].copy() for t in range(2)]
    kernels.divide_node(0, data, codes.n_codes, cuts, rows, ranges)
    kernels.divide_nodes(data, codes.n_codes, cuts[1:], rows, ranges, n_threads=2)
    for (t, _, left, feature, cut, missing), all_rows in zip(cuts, before):
        column = data.columns[feature, all_rows]
        goes = (column <= cut) | (bool(missing) & (column == codes.n_codes[feature]))
        for child, side in ((left, goes), (left + 1, ~goes)):
            start, stop = ranges[t, child]
            assert_array_equal(rows[t, start:stop], all_rows[side])
    asked = np.array([[0, 0], [0, 1], [1, 2]], np.int64)
    features = np.array([[0, 2], [1, -1], [2, 0]], np.int64)
    width = codes.high.shape[1] + 1
    columns = 3 if n_classes <= 2 else n_classes + 1
    found = np.zeros((3, 2, width, columns))
    spans = np.tile([np.inf, -np.inf], (3, 1))
    kernels.count_nodes(data, asked[:2], features, rows, ranges, found, spans, n_threads=2)
    kernels.count_node(2, data, asked, features, rows, ranges, found, spans)
    sums = np.empty((3, 3))
    kernels.sum_nodes(data, asked[:2], nodes.SQUARED_ERROR, rows, ranges, sums, n_threads=2)
    kernels.sum_node(2, data, asked, nodes.SQUARED_ERROR, rows, ranges, sums)
    for i, (t, node) in enumerate(asked):
        own = rows[t, slice(*ranges[t, node])]
        w, y = data.weights[own] * data.times[t, own], data.y[own]
        for m, feature in enumerate(features[i]):
            expected = np.zeros((width, columns))
            if feature >= 0:
                expected = naive.forest_histogram(
                    data.columns[feature, own], y, w, width - 1, n_classes
                )
            assert_array_equal(found[i, m], expected)
        assert_array_equal(spans[i], [y.min(initial=np.inf), y.max(initial=-np.inf)])
        assert_allclose(sums[i], [w.sum(), w @ y, w @ y**2])


def test_sums_of_poisson_leaves():
    data, _ = block_of(40, 4)
    rows, ranges = listed(data)
    sums = np.empty((1, 3))
    asked = np.zeros((1, 2), np.int64)
    kernels.sum_nodes(data, asked, nodes.POISSON, rows, ranges, sums, n_threads=1)
    own = rows[0, : ranges[0, 0, 1]]
    w, y = data.weights[own] * data.times[0, own], data.y[own]
    assert_allclose(sums[0, 2], w @ (y * np.log(np.maximum(y, 1.0))))


@pytest.mark.parametrize("criterion", ["GINI", "ENTROPY", "ERROR", "SQUARED_ERROR", "POISSON"])
@pytest.mark.parametrize("least", [1, 5])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_histograms_give_the_splits_of_rows(criterion, least, n_classes):
    criterion = getattr(nodes, criterion)
    if n_classes > 2 and criterion > nodes.ERROR:
        pytest.skip("pairs")
    for seed in range(6):
        data, codes = block_of(70, n_classes, seed, 1)
        rows, ranges = listed(data, 1)
        own = rows[0, : ranges[0, 0, 1]].copy()
        rules = GrowthRules(criterion, min_leaf=least, max_features=2)
        order = np.empty(3, np.int32)
        state = np.array([seed], np.uint64)
        kernels.draw_features(state, order)
        assert sorted(order) == [0, 1, 2]
        width, columns = codes.high.shape[1] + 1, 3 if n_classes <= 2 else n_classes + 1
        found = np.zeros((1, 3, width, columns))
        spans = np.tile([np.inf, -np.inf], (1, 1))
        asked = np.zeros((1, 2), np.int64)
        kernels.count_nodes(
            data, asked, order.reshape(1, -1).astype(np.int64), rows, ranges, found, spans,
            n_threads=1,
        )  # fmt: skip
        node = found[0, 0].sum(axis=0)
        split, varied = kernels.search_histograms(
            found[0], order, 0, False, codes, rules, node, np.uint64(seed)
        )
        assert varied
        frame = Frame(data.columns, data.y.reshape(1, -1), data.weights * data.times[0])
        if n_classes <= 2:
            scratch = naive.forest_scratch(70, 3, 2, width, seed=seed)
            scratch.state[0] = seed
            signs = np.zeros(3, np.int8)
            expected = in_memory.search_pairs(
                frame, codes, signs, rules, own, scratch, -np.inf, np.inf
            )
        else:
            scratch = naive.forest_scratch(70, 3, n_classes + 1, width, seed, n_classes)
            scratch.state[0] = seed
            expected = search_classes(frame, codes, rules, own, scratch)
        assert split[2:6] == expected[2:6]
        assert_allclose(split[:2], expected[:2], rtol=1e-12)


def test_a_node_of_constant_features_draws_on():
    _, codes = block_of(20)
    found = np.zeros((2, codes.high.shape[1] + 1, 3))
    found[:, 2] = 5.0, 2.0, 5.0
    rules = GrowthRules(nodes.GINI, max_features=1)
    order = np.array([2, 0], np.int32)
    node = found[0].sum(axis=0)
    _, varied = kernels.search_histograms(found, order, 0, False, codes, rules, node, np.uint64(0))
    assert not varied


def test_scores_of_classes():
    terms = np.empty(3)
    sums = np.array([2.0, 0.0, 6.0])
    assert kernels.class_score(sums, 3, 8.0, nodes.GINI, terms) == 5.0
    assert kernels.class_score(sums, 3, 8.0, nodes.ERROR, terms) == 6.0
    expected = 2.0 * np.log(2.0) + 6.0 * np.log(6.0) - 8.0 * np.log(8.0)
    assert_allclose(kernels.class_score(sums, 3, 8.0, nodes.ENTROPY, terms), expected)
