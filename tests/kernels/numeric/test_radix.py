"""Sorting by digits beside NumPy's."""

import numpy as np
import pytest

from fastml.kernels.numeric.radix import sort_floats

RNG = np.random.default_rng(0)
VALUES = {
    "none": np.empty(0),
    "one": np.array([3.0]),
    "two": np.array([1.0, -1.0]),
    "constant": np.full(9, -2.5),
    "signs": np.array([0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf]),
    "whole": RNG.integers(-3, 4, 50).astype(float),
    "normal": RNG.normal(size=300),
    "magnitudes": RNG.normal(size=300) * 10.0 ** RNG.integers(-300, 300, 300),
}


@pytest.mark.small
@pytest.mark.parametrize("values", VALUES.values(), ids=list(VALUES))
def test_sort_floats(values):
    found = values.copy()
    sort_floats(found, np.empty(values.shape[0], dtype=np.uint64))
    np.testing.assert_array_equal(found, np.sort(values))


@pytest.mark.small
def test_zeros_of_both_signs():
    found = np.array([0.0, -0.0, 1.0, -0.0, -1.0])
    sort_floats(found, np.empty(5, dtype=np.uint64))
    np.testing.assert_array_equal(found, [-1.0, 0.0, 0.0, 0.0, 1.0])
