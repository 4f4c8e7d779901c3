import numpy as np
import pytest
from arrays import read_only
from naive_explore import products, ranks_of, tie_sum
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.explore.levels import (
    levels_of_sorted,
    median_deviation,
    ranked_products,
    subset_ranks,
)

pytestmark = pytest.mark.small


def coded(values):
    """Order, levels, starts and codes of the values that are no NaN."""
    rows = np.flatnonzero(values == values)
    order = rows[np.argsort(values[rows], kind="stable")].astype(np.int32)
    n = len(order)
    levels, starts = np.empty(n), np.empty(n + 1, dtype=np.int64)
    codes = np.full(len(values), -1, dtype=np.int32)
    found = levels_of_sorted(read_only(values[order]), read_only(order), levels, starts, codes)
    return read_only(order), levels[:found], read_only(starts[: found + 1]), codes


def columns():
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=30).round(1)
    gaps[::7] = np.nan
    yield from (np.empty(0), np.array([3.0]), np.full(5, 2.0), np.array([np.nan, 1.0]), gaps)
    yield from (rng.normal(size=20), rng.integers(0, 4, 40).astype(np.float64))


@pytest.mark.parametrize("values", list(columns()), ids=lambda v: str(len(v)))
def test_levels_and_ranks(values):
    order, levels, starts, codes = coded(values)
    there = values == values
    expected, counts = np.unique(values[there], return_counts=True)
    assert_array_equal(levels, expected)
    assert_array_equal(np.diff(starts), counts)
    assert_array_equal(levels[codes[there]], values[there])
    assert (codes[~there] == -1).all()
    rng = np.random.default_rng(1)
    for chosen in (np.ones(len(values), dtype=bool), rng.random(len(values)) < 0.6):
        ranks = np.zeros(len(values))
        n, ties = subset_ranks(order, starts, read_only(chosen), ranks)
        assert_array_equal(ranks, ranks_of(values, chosen))
        assert n == (chosen & there).sum()
        assert_allclose(ties, tie_sum(values[chosen & there]))
        other = ranks_of(rng.normal(size=len(values)).round(1), chosen & there)
        centre = 0.5 * (n + 1.0)
        use = other > 0
        own = ranks_of(values, use)[use] - centre
        found = ranked_products(order, starts, read_only(other), centre)
        assert_allclose(found, products(own, other[use] - centre), atol=1e-9)


@pytest.mark.parametrize(
    "values", [v for v in columns() if (v == v).any()], ids=lambda v: str(len(v))
)
def test_median_deviation(values):
    _, levels, starts, _ = coded(values)
    there = values[values == values]
    for centre in (np.median(there), there.min(), 0.3):
        found = median_deviation(read_only(levels), starts, centre)
        assert_allclose(found, np.median(np.abs(there - centre)))
