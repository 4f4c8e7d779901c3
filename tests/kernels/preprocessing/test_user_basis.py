"""Compiled functions of rows and of values."""

import naive_preprocessing as naive
import numpy as np
import pytest

from fastml._jit import jit_enabled
from fastml.kernels.preprocessing.user_basis import (
    call_on_rows,
    call_on_values,
    sample_function,
    sample_value_function,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [0, 1, 2, 11])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_columns_of_functions(n, n_threads):
    X = np.random.default_rng(0).normal(size=(n, 3))
    out = np.full((n, 5), np.nan)
    call_on_rows(4, sample_function, X, 1, out, n_threads=n_threads)
    call_on_values(4, sample_value_function, X, 2, out, n_threads=n_threads)
    assert np.isnan(out[:, 0]).all()
    np.testing.assert_array_equal(out[:, 1:2], naive.basis(X, lambda x: x[0] * x[-1], "row"))
    np.testing.assert_array_equal(out[:, 2:], naive.basis(X, lambda value: value**2, "value"))


@pytest.mark.skipif(not jit_enabled(), reason="about the cache")
def test_they_are_never_cached_on_disk():
    for call in (call_on_rows, call_on_values):
        assert not call.shared._cache._enabled
