"""Sums over residuals beside NumPy's."""

import naive_scores
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.scores.residuals import (
    N_RESIDUAL_SUMS,
    N_SPREAD_RESIDUAL,
    N_SPREAD_TRUE,
    RESIDUAL_ROWS,
    merge_residual_sums,
    residual_sums,
)


def merged(y, p, n_threads=1):
    partials = np.empty((-(-y.shape[0] // RESIDUAL_ROWS), N_RESIDUAL_SUMS))
    residual_sums(read_only(y), read_only(p), partials, n_threads=n_threads)
    out = np.empty(N_RESIDUAL_SUMS)
    merge_residual_sums(partials, y.shape[0], out)
    return out


@pytest.mark.small
@pytest.mark.parametrize(
    "n", [1, 2, 3, 100, RESIDUAL_ROWS, RESIDUAL_ROWS + 1, 3 * RESIDUAL_ROWS - 5]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_residual_sums(n, dtype):
    rng = np.random.default_rng(n)
    y = rng.normal(100.0, 2.0, n).astype(dtype)
    p = (y + rng.normal(size=n)).astype(dtype)
    np.testing.assert_allclose(
        merged(y, p), naive_scores.residual_sums(*map(np.float64, (y, p))), rtol=1e-11
    )


@pytest.mark.small
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_constants_have_no_spread(dtype):
    y = np.full(RESIDUAL_ROWS + 10, 0.1, dtype)
    out = merged(y, y - dtype(0.3))
    assert out[N_SPREAD_RESIDUAL] == out[N_SPREAD_TRUE] == 0.0


@pytest.mark.small
def test_an_outlier_keeps_the_digits_of_the_others():
    y = np.random.default_rng(0).normal(size=500)
    y[0] = 1e6
    np.testing.assert_allclose(
        merged(y, np.zeros(500)), naive_scores.residual_sums(y, np.zeros(500)), rtol=1e-12
    )


def test_same_bits_for_any_number_of_threads():
    y, p = np.random.default_rng(1).normal(size=(2, 5 * RESIDUAL_ROWS + 7))
    assert (merged(y, p) == merged(y, p, n_threads=2)).all()


@pytest.mark.small
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_shows_in_the_means(bad):
    y, p = np.random.default_rng(2).normal(size=(2, 50))
    for array in (y, p):
        spoilt = array.copy()
        spoilt[7] = bad
        with np.errstate(invalid="ignore"):  # without JIT NumPy would tell
            out = merged(spoilt, p) if array is y else merged(y, spoilt)
        assert not (np.isfinite(out[2]) and np.isfinite(out[4]))
