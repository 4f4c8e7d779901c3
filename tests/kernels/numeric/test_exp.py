"""exp and log against extended precision, over the whole range and at its ends."""

import re

import numpy as np
import pytest

from fastml import _jit
from fastml._jit import jit_enabled
from fastml.kernels.numeric.exp import exp32, exp32_array, exp64, exp_array, log64, log_array

# With JIT off, NumPy scalars warn where compiled code wraps round or overflows as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")
N = 200_001 if jit_enabled() else 501


def apply(array_kernel, x):
    out = np.empty_like(x)
    array_kernel(x, out)
    return out


@pytest.mark.small
def test_exp64_is_accurate_where_the_result_is_normal():
    x = np.linspace(-708.3, 709.78, N)
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(apply(exp_array, x) - exact) / exact) < 4e-16


@pytest.mark.small
def test_exp64_small_arguments():
    x = np.concatenate([-np.logspace(-320, 0, N), np.logspace(-320, 0, N), [0.0]])
    exact = np.exp(x.astype(np.longdouble))
    assert np.max(np.abs(apply(exp_array, x) - exact) / exact) < 4e-16
    assert exp64(np.float64(0.0)) == 1.0


@pytest.mark.small
def test_exp64_subnormal_results():
    x = np.linspace(-745.13, -708.4, N)
    exact = np.exp(x.astype(np.longdouble))
    error = np.abs(apply(exp_array, x) - exact) / np.longdouble(5e-324)
    # within two of the last place of a subnormal, or relative 4e-16
    assert np.all((error <= 2.0) | (np.abs(error * 5e-324 / exact) < 4e-16))


@pytest.mark.small
def test_exp64_ends_of_the_range():
    x = np.array([np.nan, np.inf, -np.inf, 709.782712893384, 709.79, 1e300, -745.2, -1e300])
    expected = [np.nan, np.inf, 0.0, 1.797693134862273e308, np.inf, np.inf, 0.0, 0.0]
    np.testing.assert_allclose(apply(exp_array, x), expected, rtol=4e-16)


@pytest.mark.small
def test_exp32_is_accurate():
    x = np.linspace(-87.3, 88.72, N).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(apply(exp32_array, x) - exact) / exact) < 2e-7


@pytest.mark.small
def test_exp32_subnormal_results_and_ends():
    x = np.linspace(-103.9, -87.4, N).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(apply(exp32_array, x) - exact)) <= 2 * 1.4e-45
    ends = np.array([np.nan, np.inf, -np.inf, 88.8, -104.0, 1e30, -1e30], dtype=np.float32)
    expected = [np.nan, np.inf, 0.0, np.inf, 0.0, np.inf, 0.0]
    np.testing.assert_array_equal(apply(exp32_array, ends), expected)
    assert exp32(np.float32(0.0)) == 1.0


@pytest.mark.small
def test_log64_is_accurate():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            np.exp(rng.uniform(-744, 709.7, N)),
            rng.uniform(0.5, 2.0, N),
            1.0 + 1e-6 * rng.standard_normal(N),
            np.ldexp(1.0, np.arange(-1074, 1024)),
        ]
    )
    exact = np.log(x.astype(np.longdouble))
    result = apply(log_array, x)
    np.testing.assert_array_equal(result[exact == 0], 0.0)
    keep = exact != 0
    assert np.max(np.abs((result - exact)[keep] / exact[keep])) < 4e-16


@pytest.mark.small
def test_log64_ends_of_the_range():
    x = np.array([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan, 5e-324])
    expected = [-np.inf, -np.inf, np.nan, np.nan, np.inf, np.nan, np.log(5e-324)]
    np.testing.assert_allclose(apply(log_array, x), expected, rtol=4e-16)
    assert log64(np.float64(1.0)) == 0.0


@pytest.mark.skipif(not jit_enabled(), reason="looks at compiled code")
@pytest.mark.parametrize("array_kernel, number", [(exp_array, "double"), (exp32_array, "float")])
def test_loops_are_vectorised(array_kernel, number):
    x = np.zeros(1, "f8" if number == "double" else "f4")
    flags = frozenset(array_kernel.targetoptions["fastmath"] or ())
    fresh = _jit._compile(array_kernel.py_func, flags=flags, parallel=False)
    fresh._cache.disable()  # code from the disk cannot be read
    fresh(x, x)
    (code,) = fresh.inspect_llvm().values()
    assert re.search(rf"fmul.* <\d+ x {number}>", code)
