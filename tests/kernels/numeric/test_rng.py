"""The generator is the published one, its streams are independent and its draws are fair."""

import numpy as np
import pytest
from naive import splitmix64
from scipy import stats

from fastml._jit import jit_enabled
from fastml.kernels.numeric.rng import (
    child_seed,
    column_seed,
    draw,
    mix64,
    next_below,
    next_float,
    next_normal,
    next_uint64,
    random_cut,
    sample_without_replacement,
    seed_stream,
    shuffle,
    unit_float,
    wins_tie,
)

N = 20_000 if jit_enabled() else 500
pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]


def stream(seed, task=0):
    state = np.zeros(1, dtype=np.uint64)
    seed_stream(state, np.uint64(seed), np.uint64(task))
    return state


def test_sequence_equals_the_published_algorithm():
    state = np.array([1234567], dtype=np.uint64)
    drawn = [int(next_uint64(state)) & (2**64 - 1) for _ in range(5)]
    assert drawn == splitmix64(1234567, 5)
    assert drawn[0] == 6457827717110365317  # reference value of the authors' C code


def test_mixer_has_no_collision():
    mixed = {int(mix64(np.uint64(i))) & (2**64 - 1) for i in range(1000)}
    assert len(mixed) == 1000


def test_streams_differ_by_seed_and_task():
    starts = {int(stream(seed, task)[0]) for seed in range(20) for task in range(20)}
    assert len(starts) == 400


def test_floats_are_uniform():
    state = stream(0)
    draws = np.array([next_float(state) for _ in range(N)])
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert stats.kstest(draws, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000, 2**32])
def test_integers_are_uniform(n):
    state = stream(1)
    draws = np.array([next_below(state, n) for _ in range(N)])
    assert draws.min() >= 0
    assert draws.max() < n
    if 1 < n <= 7:
        assert stats.chisquare(np.bincount(draws, minlength=n)).pvalue > 1e-3
    elif n > 7:
        assert stats.kstest((draws + 0.5) / n, "uniform").pvalue > 1e-3


def test_normals_are_normal():
    state = stream(2)
    draws = np.array([next_normal(state) for _ in range(N)])
    assert stats.kstest(draws, "norm").pvalue > 1e-3


def test_shuffle_is_a_fair_permutation():
    state = stream(3)
    first = []
    for _ in range(N // 5):
        items = np.arange(5)
        shuffle(state, items)
        assert sorted(items) == [0, 1, 2, 3, 4]
        first.append(items[0])
    assert stats.chisquare(np.bincount(first, minlength=5)).pvalue > 1e-3


def test_samples_without_replacement_are_distinct_and_fair():
    state = stream(4)
    counts = np.zeros(6)
    for _ in range(N // 5):
        pool = np.arange(6)
        sample_without_replacement(state, pool, 3)
        assert sorted(pool) == list(range(6))
        counts[pool[:3]] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_draw_comes_from_the_rest_of_the_pool():
    state = stream(5)
    counts = np.zeros(6)
    for _ in range(N // 5):
        pool = np.arange(6)
        drawn = draw(state, pool, 2)
        assert pool[2] == drawn
        assert list(pool[:2]) == [0, 1]
        assert sorted(pool) == list(range(6))
        counts[drawn] += 1
    assert not counts[:2].any()
    assert stats.chisquare(counts[2:]).pvalue > 1e-3
    assert draw(state, np.array([7]), 0) == 7


@pytest.mark.small
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # with JIT off
def test_seeds_of_a_tree():
    seed = np.uint64(7)
    seeds = [int(child_seed(seed, side)) for side in (False, True)]
    seeds += [int(column_seed(seed, f)) for f in range(50)]
    assert len(set(seeds)) == 52
    assert column_seed(seed, 0) == mix64(seed)
    won = [[wins_tie(seed, a, b) for b in range(9)] for a in range(9)]
    assert sorted(np.sum(won, axis=1)) == list(range(9))  # an order, in which none beats itself


@pytest.mark.small
def test_random_cuts():
    assert unit_float(np.uint64(0)) == 0.0
    assert unit_float(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53
    low, high = np.float32(-1.5), np.float32(2.0)
    assert random_cut(np.uint64(0), low, high) == low
    assert random_cut(np.uint64(1 << 63), low, high) == 0.25
    assert random_cut(np.uint64(2**64 - 1), low, high) == low  # rounds to high: not below it
    close = np.nextafter(low, high)
    assert random_cut(np.uint64(1 << 62), low, close) == low
