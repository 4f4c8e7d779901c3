"""The best split of a histogram is the best of all."""

import itertools

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.hist import split as kernels
from fastml.kernels.hist.histogram import COUNT_BITS

pytestmark = pytest.mark.small


def rules(l2=1.0, l1=0.0, min_leaf=2, least=0.0):
    return kernels.BoostingRules(l2=l2, l1=l1, min_leaf=min_leaf, min_gain=least)


def histogram_of(g, h, counts, missing):
    out = np.zeros((1, 256, 2), dtype=np.int64)
    out[0, : len(g), 0] = g
    out[0, : len(g), 1] = (h << COUNT_BITS) + counts
    out[0, 255] = missing[0], (missing[1] << COUNT_BITS) + missing[2]
    return out, np.array(out[0].sum(axis=0))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_bins", [1, 2, 9])
@pytest.mark.parametrize("missing", [False, True])
def test_numeric_split_is_the_best(seed, n_bins, missing):
    rng = np.random.default_rng(seed)
    g, counts = rng.integers(-20, 20, n_bins), rng.integers(0, 4, n_bins)
    g[counts == 0] = 0
    h = counts * 3
    none = (5, 6, 2) if missing else (0, 0, 0)
    histogram, totals = histogram_of(g, h, counts, none)
    split = np.zeros(kernels.SPLIT_WORDS, dtype=np.int64)
    arguments = (histogram, 0, n_bins, 255, totals)
    gain = kernels.numeric_split(*arguments, rules(), 0, -np.inf, np.inf, split)
    expected = naive.best_threshold_gain(g, h, counts, *none, 1.0, 2)
    assert_allclose(gain, expected, atol=1e-9)
    slow = kernels.numeric_split(*arguments, rules(l1=1e-300), 0, -np.inf, np.inf, split)
    assert_allclose(slow, expected, atol=1e-9)
    rising = kernels.numeric_split(*arguments, rules(), 1, -np.inf, np.inf, split)
    falling = kernels.numeric_split(*arguments, rules(), -1, -0.5, 0.5, split)
    assert max(rising, falling) <= gain + 1e-9
    assert kernels.numeric_split(*arguments, rules(least=1e9), 0, -np.inf, np.inf, split) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_categorical_split_is_the_best_subset(seed):
    rng = np.random.default_rng(seed)
    n = 6
    counts = rng.integers(12, 20, n)
    g, h = rng.integers(-60, 60, n), counts.copy()
    missing = (40, 11, 11) if seed % 2 else (0, 0, 0)
    histogram, totals = histogram_of(g, h, counts, missing)
    split = np.zeros(kernels.SPLIT_WORDS, dtype=np.int64)
    order, keys = np.zeros(257, dtype=np.intp), np.zeros(257)
    gain = kernels.categorical_split(
        histogram, 0, n, 255, totals, rules(l2=0.0), -np.inf, np.inf, order, keys, split
    )
    g, h = np.append(g, missing[0]), np.append(h, missing[1])
    best = 0.0
    for size in range(1, n + 1):
        for chosen in itertools.combinations(range(n + 1), size):
            gl, hl = g[list(chosen)].sum(), h[list(chosen)].sum()
            if 0 < hl < h.sum():
                other = (g.sum() - gl) ** 2 / (h.sum() - hl)
                best = max(best, gl**2 / hl + other - g.sum() ** 2 / h.sum())
    assert gain <= best + 1e-9
    assert gain >= 0.9 * best
    table = np.zeros(256, dtype=np.uint8)
    kernels.goes_left_table(split, 255, table)
    left = np.flatnonzero(table[:n])
    assert_allclose(split[kernels.SPLIT_GRADIENT], g[left].sum() + table[255] * missing[0])


def test_rare_categories_go_with_half_of_the_others_or_more():
    """Of A B C D by gradient and rare E: A, A B, D go left, but not C D, which leaves A B E."""
    counts = np.array([20, 20, 20, 20, 5])
    split = np.zeros(kernels.SPLIT_WORDS, dtype=np.int64)
    order, keys = np.zeros(257, dtype=np.intp), np.zeros(257)
    for rare in (-80, 80):  # E is like A and B, or like C and D
        g = np.array([-80, -79, 79, 80, rare // 4])
        histogram, totals = histogram_of(g, counts, counts, (0, 0, 0))
        kernels.categorical_split(
            histogram, 0, 5, 255, totals, rules(), -np.inf, np.inf, order, keys, split
        )
        assert split[kernels.SPLIT_SET] == 0b00011


def test_no_split_of_one_category_or_nothing():
    order, keys = np.zeros(257, dtype=np.intp), np.zeros(257)
    split = np.zeros(kernels.SPLIT_WORDS, dtype=np.int64)
    for count in (0, 30):
        counts = np.array([count])
        histogram, totals = histogram_of(counts, counts, counts, (0, 0, 0))
        assert (
            kernels.categorical_split(
                histogram, 0, 1, 255, totals, rules(), -np.inf, np.inf, order, keys, split
            )
            == 0.0
        )


SUMS = [(5.0, 1.0), (-5.0, 1.0), (0.5, 1.0), (0.0, 0.0), (3.0, 0.0), (-40.0, 7.5)]


@pytest.mark.parametrize("l1", [0.0, 1.0])
@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_value_and_what_it_lowers_the_loss_by(l1, l2):
    given = rules(l2=l2, l1=l1)
    for g, h in SUMS:
        for bounds in ((-np.inf, np.inf), (-2.0, 0.25)):
            value = kernels.node_value(g, h, given, *bounds)
            assert_allclose(value, naive.boosted_node_value(g, h, given, *bounds))
            if h + l2 > 0.0 and bounds[0] == -np.inf:  # no other value is better
                at_best = naive.boosted_loss(g, h, value, given)
                for other in (value - 0.1, value + 0.1):
                    assert at_best <= naive.boosted_loss(g, h, other, given)
            fall = kernels.fall(g, h, value, given)
            assert_allclose(fall, -2.0 * naive.boosted_loss(g, h, value, given), atol=1e-12)


@pytest.mark.parametrize("trend", [-1, 0, 1])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-0.5, 0.5)])
def test_gain_of_a_pair(trend, bounds):
    given = rules(l2=0.5, l1=0.1)
    broken = 0
    for (gl, hl), (gr, hr) in itertools.product(SUMS, repeat=2):
        found = kernels.pair_gain(gl, hl, gl + gr, hl + hr, given, trend, *bounds)
        left = naive.boosted_node_value(gl, hl, given, *bounds)
        right = naive.boosted_node_value(gr, hr, given, *bounds)
        if trend * (right - left) < 0:
            broken += 1
            assert found == -1.0
        else:
            losses = naive.boosted_loss(gl, hl, left, given)
            losses += naive.boosted_loss(gr, hr, right, given)
            assert_allclose(found, -2.0 * losses, atol=1e-9)
    assert (broken > 0) == (trend != 0)


@pytest.mark.parametrize("missing_left", [0, 1])
def test_table_of_a_threshold(missing_left):
    split = np.zeros(kernels.SPLIT_WORDS, dtype=np.int64)
    split[kernels.SPLIT_BIN], split[kernels.SPLIT_MISSING_LEFT] = 7, missing_left
    table = np.full(256, 9, dtype=np.uint8)
    kernels.goes_left_table(split, 200, table)
    expected = np.arange(256) <= 7
    expected[200] = missing_left
    assert np.array_equal(table, expected)
