"""Smoothing kernels against NumPy's exp and cos."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._jit import jit_enabled
from fastml.kernels.density.smoothing import (
    EXPONENTIAL_KERNEL,
    FARTHEST,
    GAUSSIAN_KERNEL,
    LAST_ENDLESS,
    exp2_negative,
    kernel_values,
    tail_exponent,
)

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
N = 100_001 if jit_enabled() else 501


def values(code, squares, shift=0.0, reach2=1.0, scale=1.0):
    buffer = squares.copy()
    kernel_values(code, buffer, shift, reach2, scale)
    return buffer


def test_power_of_two():
    s = np.concatenate([np.linspace(0.0, 3.0, N), np.linspace(0.0, 999.0, N)])
    exact = np.exp2(-s.astype(np.longdouble))
    assert np.max(np.abs(values(GAUSSIAN_KERNEL, s) - exact) / exact) < 1e-12
    assert exp2_negative(np.float64(0.0)) == 1.0


def test_power_of_two_stays_finite_and_positive_far_away():
    assert np.all(values(GAUSSIAN_KERNEL, np.array([FARTHEST, 1e4, 1e300])) == 2.0**-1000)


@pytest.mark.parametrize("name", SMOOTHING_KERNELS)
def test_kernel_is_its_formula(name):
    code = SMOOTHING_KERNELS[name]
    u = np.linspace(0.0, 1.5, N)
    unit = {GAUSSIAN_KERNEL: np.sqrt(0.5 * np.log2(np.e)), EXPONENTIAL_KERNEL: np.log2(np.e)}.get(
        code, 1.0
    )
    expected = naive.smoothing_kernel(name, u)
    inside = np.abs(u - 1.0) > 1e-9  # u^2 < 1 may be rounded otherwise than u < 1
    found = values(code, (u * unit) ** 2)
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("code", range(LAST_ENDLESS + 1, len(SMOOTHING_KERNELS)))
def test_bounded_kernels_take_reach_and_scale(code):
    r2 = np.array([0.0, 1.0, 3.999, 4.0, 5.0, 1e300])
    np.testing.assert_allclose(values(code, r2, 0.0, 4.0, 0.25), values(code, r2 / 4.0))
    assert np.all(values(code, r2, 0.0, 4.0, 0.25)[3:] == 0.0)


def test_shift():
    s = np.array([1000.0, 1010.0])
    np.testing.assert_allclose(values(GAUSSIAN_KERNEL, s, 1000.0), [1.0, 2.0**-10])
    np.testing.assert_allclose(values(EXPONENTIAL_KERNEL, s**2, 1000.0), [1.0, 2.0**-10])
    assert tail_exponent(GAUSSIAN_KERNEL, 9.0) == 9.0
    assert tail_exponent(EXPONENTIAL_KERNEL, 9.0) == 3.0
