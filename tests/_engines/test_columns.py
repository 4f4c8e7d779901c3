"""Order within columns."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml._engines.columns import put_in_place, quantiles_of

pytestmark = pytest.mark.small


def column(kind, n, dtype=np.float64):
    rng = np.random.default_rng(0)
    values = rng.normal(size=n)
    if kind == "ascending":
        values.sort()
    elif kind == "few values":
        values = rng.integers(0, 4, size=n)
    elif kind == "constant":
        values[:] = 3.5
    elif kind == "infinite":
        values[::3], values[1::3] = np.inf, -np.inf
    return values.astype(dtype)


KINDS = ["normal", "ascending", "few values", "constant", "infinite"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_values_of_some_ranks_are_where_sorting_puts_them(kind, n):
    for ranks in ([0], [n - 1], [n // 2], [0, n // 3, n // 3 + 1, n - 1], range(n)):
        ranks = np.unique(np.clip(list(ranks), 0, n - 1))
        values = column(kind, n)
        expected = np.sort(values)
        put_in_place(values, ranks)
        assert_array_equal(values[ranks], expected[ranks])
        assert_array_equal(np.sort(values), expected)
    put_in_place(values, np.empty(0, dtype=np.intp))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_quantiles_as_numpy(kind, dtype):
    values = column(kind, 3011, dtype)
    shares = np.array([0.0, 0.25, 0.5, 0.777, 1.0])
    with np.errstate(invalid="ignore"):
        expected = np.quantile(values.astype(np.float64), shares)
    assert_array_equal(quantiles_of(values, shares), expected)
