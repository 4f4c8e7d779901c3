import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.newcomers import Learned, place_rows
from fastml.kernels.manifold.spline_grid import SplineGrid

pytestmark = pytest.mark.small


def place(near, shares, Y, nu, n_iterations, n_threads=1):
    low, high = Y.min(axis=0) - 10.0, Y.max(axis=0) + 10.0
    learned = Learned(
        read_only(Y), nu, SplineGrid(0.0, 0.0, 1.0), read_only(np.empty((0, 0))), low, high
    )
    out = np.empty((len(near), Y.shape[1]))
    place_rows(read_only(near), read_only(shares), learned, n_iterations, 2, out,
               n_threads=n_threads)  # fmt: skip
    return out


def cost(point, near, shares, Y, nu):
    w = (1.0 + ((point - Y) ** 2).sum(axis=1) / nu) ** (-0.5 * (nu + 1.0))
    return float((shares * np.log(shares / (w / w.sum())[near])).sum())


@pytest.mark.parametrize(("nu", "d"), [(1.0, 2), (2.0, 3)])
def test_rows_descend_each_alone(nu, d):
    rng = np.random.default_rng(0)
    Y = 2.0 * rng.normal(size=(12, d))
    near = rng.permuted(np.tile(np.arange(12), (5, 1)), axis=1)[:, :3].astype(np.intp)
    shares = np.full((5, 3), 1 / 3)
    start = place(near, shares, Y, nu, 0)
    assert_allclose(start, Y[near].mean(axis=1))
    end = place(near, shares, Y, nu, 60)
    assert_array_equal(end, place(near, shares, Y, nu, 60, n_threads=2))
    for i in range(5):
        before, after = (cost(p[i], near[i], shares[i], Y, nu) for p in (start, end))
        assert after < before
        assert_array_equal(place(near[i : i + 1], shares[i : i + 1], Y, nu, 60)[0], end[i])
