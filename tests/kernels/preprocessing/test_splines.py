import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import BSpline

from fastml.kernels.preprocessing.splines import basis_at, spline_basis, spread_basis

pytestmark = pytest.mark.small


def all_functions(x, knots, degree):
    size = len(knots) - degree - 1
    return BSpline(knots, np.eye(size), degree, extrapolate=True)(x)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_basis(degree):
    knots = np.array([-3.0, -2.0, -1.0, 0.0, 0.5, 2.0, 3.0, 4.0, 5.5, 6.0])
    low, high = knots[degree], knots[-degree - 1]
    points = [low, low - 0.7, high + 0.3, 0.2, 0.5, *np.linspace(low, high, 7)[1:-1]]
    for x in points:
        values = np.empty(degree + 1)
        first = basis_at(x, read_only(knots), degree, values)
        expected = all_functions(x, knots, degree)
        assert_allclose(values, expected[first : first + degree + 1], atol=1e-10)
        assert_allclose(values.sum(), 1.0, atol=1e-9)


def test_rows():
    degree, d = 2, 2
    knots = np.array([np.arange(8.0), np.arange(8.0) * 2])
    X = np.array([[2.5, 4.1], [-1.0, np.nan], [9.0, 7.0]])
    edges = np.zeros((4, d, 3))
    edges[0], edges[1], edges[2] = [0.5, 0.5, 0.0], [1.0, -1.0, 0.0], [0.0, 0.5, 0.5]
    firsts, values = np.empty((3, d), dtype=np.int64), np.empty((3, d, 3))
    outside = np.zeros(2, dtype=np.intp)
    given = read_only(X), read_only(knots), degree, read_only(edges)
    spline_basis(*given, 2, firsts, values, outside, n_threads=2)
    assert not outside.any()
    assert_array_equal(values[1, 1], 0.0)  # NaN
    assert_allclose(values[1, 0], [0.5 - 3.0, 0.5 + 3.0, 0.0])  # a line from the lower end on
    assert_allclose(values[2, 0], [0.0, 0.5, 0.5])
    out = np.empty((3, 2 * 4))
    spread_basis(read_only(firsts), read_only(values), 5, 4, 2, out, n_threads=2)
    for j, x in enumerate(X[0]):
        assert_allclose(out[0, 4 * j : 4 * j + 4], all_functions(x, knots[j], degree)[:4])
    spline_basis(
        *given[:3], read_only(np.empty((0, d, 3))), 2, firsts, values, outside, n_threads=1
    )
    assert_array_equal(outside, [1, 1])
