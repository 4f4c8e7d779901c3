"""Functions of two rows that `metrics` does not show in full: edges of the formulas."""

import naive
import numpy as np
import pytest

from fastml.kernels.distances import row_metrics as r

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(invalid|divide|overflow):RuntimeWarning"),
]


def pair(x, y, dtype=np.float64):
    return np.array([x], dtype=dtype), 0, np.array([y], dtype=dtype), 0


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 4.0, 2.5])
def test_powers_of_a_gap(p):
    for gap in (0.0, 1e-200, 0.3, 7.0):
        assert r.gap_power(gap, p) == pytest.approx(gap**p, rel=1e-14, abs=0.0)


def test_sums_of_powers():
    x, y = [1.0, -2.0, 0.5, 3.0, 0.0], [0.5, 2.0, 0.5, -1.0, 9.0]
    gaps, weights = np.abs(np.subtract(x, y)), np.array([[1.0, 0.0, 2.0, 0.5, 3.0]])
    rows = pair(x, y)
    assert r.sum_squares(*rows) == pytest.approx((gaps**2).sum())
    assert r.sum_absolute(*rows) == pytest.approx(gaps.sum())
    assert r.max_absolute(*rows) == gaps.max()
    assert r.sum_cubes(*rows) == pytest.approx((gaps**3).sum())
    assert r.sum_fourth_powers(*rows) == pytest.approx((gaps**4).sum())
    assert r.sum_power(*rows, 1.7) == pytest.approx((gaps**1.7).sum())
    assert r.sum_weighted_squares(*rows, weights) == pytest.approx((weights * gaps**2).sum())
    assert r.sum_weighted_absolute(*rows, weights) == pytest.approx((weights * gaps).sum())
    assert r.sum_weighted_power(*rows, 3.0, weights) == pytest.approx((weights * gaps**3).sum())


def test_cosine_stays_in_range_and_knows_zero():
    assert r.cosine(*pair([0.1, 0.2, 0.3], [0.2, 0.4, 0.6])) >= 0.0
    assert r.cosine(*pair([0.1, 0.2, 0.3], [-0.2, -0.4, -0.6])) <= 2.0
    assert r.cosine(*pair([0.0, 0.0], [1.0, 2.0])) == 1.0


def test_one_minus_cosine_of_dot_products():
    assert r.one_minus_cosine(1.5, 4.0, 9.0) == 0.75
    assert r.one_minus_cosine(0.0, 0.0, 1.0) == r.one_minus_cosine(0.0, 1.0, 0.0) == 1.0
    assert r.one_minus_cosine(1.0 + 1e-15, 1.0, 1.0) == 0.0  # rounding, not a negative distance
    assert r.one_minus_cosine(-1.0 - 1e-15, 1.0, 1.0) == 2.0


def test_shares_of_unequal_coordinates():
    rows = pair([1.0, 2.0, 0.0, 4.0], [1.0, 3.0, -0.0, 5.0])
    assert r.share_unequal(*rows) == 0.5
    assert r.weighted_unequal(*rows, np.array([[1.0, 2.0, 3.0, 4.0]])) == pytest.approx(0.6)
    assert r.share_unequal(*pair([7.0], [7.0])) == 0.0
    assert r.weighted_unequal(*pair([7.0], [8.0]), np.array([[2.0]])) == 1.0


def test_haversine_on_the_sphere():
    """sin² of half the angle: a quarter turn, a pole, one place, opposite places."""
    quarter = pair([0.0, 0.0], [0.0, np.pi / 2])
    assert r.haversine(*quarter) == pytest.approx(0.5)
    assert r.haversine(*pair([0.3, 2.0], [np.pi / 2, -1.0])) == pytest.approx(
        np.sin((np.pi / 2 - 0.3) / 2) ** 2
    )
    assert r.haversine(*pair([0.3, 2.0], [0.3, 2.0])) == 0.0
    assert r.haversine(*pair([0.4, 1.0], [-0.4, 1.0 - np.pi])) == pytest.approx(1.0)


def test_zero_over_zero():
    zeros = pair([0.0, 0.0], [0.0, 0.0])
    assert r.canberra(*zeros) == 0.0
    assert r.chi_squares(*zeros) == 0.0
    assert r.weighted_jaccard(*zeros) == 0.0
    assert r.braycurtis_absolute(*zeros) == 0.0
    assert np.isnan(r.braycurtis(*zeros))
    assert np.isnan(r.correlation(*pair([1.0, 1.0], [1.0, 2.0])))
    assert np.isnan(r.nan_squares(*pair([np.nan, 1.0], [1.0, np.nan])))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_feature(dtype):
    for name in ("canberra", "braycurtis", "weighted_jaccard", "chi_squares"):
        rows = pair([2.0], [3.0], dtype)
        expected = naive.real_distance(name, [2.0], [3.0])
        assert getattr(r, name)(*rows) == pytest.approx(expected)


def test_a_negative_quadratic_form_counts_as_zero():
    assert r.quadratic_form(*pair([1.0, 0.0], [0.0, 0.0]), -np.eye(2)) == 0.0
