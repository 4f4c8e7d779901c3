"""Resamples by multiplicity are what plain loops over drawn rows say."""

from itertools import pairwise

import naive_validation as naive
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.scores.resample import (
    Draws,
    Ranking,
    area_of_ranking,
    areas_of_resamples,
    cells_of_resamples,
    draw_counts,
    sums_of_resamples,
)

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),  # with JIT off
]


def make_draws(starts, unit, seed=3):
    return Draws(
        np.uint64(seed),
        read_only(np.array(starts, np.intp)),
        read_only(np.array(unit, np.int32)),
    )


def counts_of(draws, task):
    counts = np.full(draws.starts[-1], -7, np.int32)
    draw_counts(draws.seed, draws.starts, task, counts)
    return counts


def test_every_stratum_keeps_its_size():
    starts = [0, 5, 5, 6, 40]
    draws = make_draws(starts, range(40))
    for task in range(50):
        counts = counts_of(draws, task)
        assert counts.min() >= 0
        assert [counts[a:b].sum() for a, b in pairwise(starts)] == [5, 0, 1, 34]
    assert not np.array_equal(counts_of(draws, 0), counts_of(draws, 1))
    np.testing.assert_array_equal(counts_of(draws, 3), counts_of(draws, 3))


def test_units_are_drawn_evenly():
    draws = make_draws([0, 7], range(7))
    total = sum(counts_of(draws, task).astype(np.int64) for task in range(4000))
    # 28,000 draws of seven units: a standard deviation of 59 around 4,000
    assert np.abs(total - 4000).max() < 5 * 59


def ranking_of(y, scores, weights, unit):
    order = np.argsort(-scores, kind="stable")
    last = np.append(scores[order][1:] != scores[order][:-1], True)
    parts = (
        unit[order].astype(np.int32),
        np.where(y[order] == 1, weights[order], 0.0),
        np.where(y[order] == 1, 0.0, weights[order]),
        last,
    )
    return Ranking(*map(read_only, parts))


CASES = {
    "few scores": (60, lambda rng, n: rng.integers(4, size=n).astype(float)),
    "all scores differ": (41, lambda rng, n: rng.permutation(n).astype(float)),
    "equal scores": (10, lambda rng, n: np.ones(n)),
    "two rows": (2, lambda rng, n: np.arange(n, dtype=float)),
    "one row": (1, lambda rng, n: np.ones(n)),
}


@pytest.mark.parametrize("precision", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_areas(name, precision, n_threads):
    n, make = CASES[name]
    rng = np.random.default_rng(n)
    y, scores, weights = rng.integers(2, size=n), make(rng, n), rng.random(n)
    unit = rng.integers(max(n // 2, 1), size=n)  # rows share units
    draws = make_draws([0, max(n // 2, 1)], unit)
    out = np.empty(7)
    areas_of_resamples(draws, ranking_of(y, scores, weights, unit), precision, 3, out,
                       n_threads=n_threads)  # fmt: skip
    twin = naive.average_precision if precision else naive.area_under_roc
    expected = [twin(y, scores, weights * counts_of(draws, b)[unit]) for b in range(7)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    ones = np.ones(max(n // 2, 1), np.int32)
    found = area_of_ranking(ranking_of(y, scores, weights, unit), ones, precision)
    assert found == pytest.approx(twin(y, scores, weights), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_sums_and_cells(n, n_threads):
    rng = np.random.default_rng(n)
    values, weights = rng.normal(size=(n, 3)), rng.random(n)
    cells = rng.integers(4, size=n)
    draws = make_draws([0, n], rng.permutation(n))
    drawn = np.array([counts_of(draws, b)[draws.unit] for b in range(5)], dtype=float)
    out = np.full((5, 3), np.nan)
    sums_of_resamples(draws, read_only(values), 2, out, n_threads=n_threads)
    np.testing.assert_allclose(out, drawn @ values, rtol=1e-12, atol=1e-14)
    out = np.full((5, 4), np.nan)
    cells_of_resamples(draws, read_only(cells), read_only(weights), 2, out, n_threads=n_threads)
    expected = (drawn * weights) @ (cells[:, None] == np.arange(4))
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
