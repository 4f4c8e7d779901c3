import numpy as np
import pytest
from naive_manifold import cubic_splines
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold import spline_grid
from fastml.kernels.manifold.spline_grid import BAND_ROWS, SplineGrid

pytestmark = pytest.mark.small


def test_splines():
    found = np.empty(4)
    for t in (0.0, 0.25, 1.0):
        spline_grid.spline_weights(t, found)
        assert_allclose(found, cubic_splines(t), atol=1e-15)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_spread_and_gather(n, d):
    rng = np.random.default_rng(n)
    Y = rng.uniform(0.0, 10.0, size=(n, d))
    Y[0] = 0.0
    grid = SplineGrid(0.0, 0.0 if d == 2 else -0.5, 2.0)
    sizes = (24, 24 if d == 2 else 5)
    n_bands = sizes[0] // BAND_ROWS
    flat = np.c_[Y, np.zeros(n)][:, :2]
    expected = np.zeros(sizes)
    for x, y in (flat - [grid.x, grid.y]) * grid.per_unit:
        a, b = int(x), int(y)
        expected[a : a + 4, b : b + 4] += np.outer(cubic_splines(x - a), cubic_splines(y - b))
    field, own = rng.normal(size=sizes), rng.normal(size=(4, 4))
    mirrored = own[np.abs(np.arange(-3, 4))][:, np.abs(np.arange(-3, 4))]
    mine = sum(own_value(point, grid, mirrored) for point in flat)
    found = []
    for n_threads in (1, 2):
        counts = np.empty((-(-n // 7), n_bands), dtype=np.intp)
        spline_grid.count_bands(Y, grid, 7, counts, n_threads=n_threads)
        bands = (Y[:, 0] * grid.per_unit).astype(int) // BAND_ROWS
        assert_array_equal(counts.sum(axis=0), np.bincount(bands, minlength=n_bands))
        begins, order = np.empty(n_bands + 1, dtype=np.intp), np.empty(n, dtype=np.uint32)
        spline_grid.band_places(counts, begins)
        spline_grid.order_by_band(Y, grid, 7, counts, order, n_threads=n_threads)
        assert_array_equal(order, np.argsort(bands, kind="stable"))
        masses = np.zeros(sizes)
        for parity in (0, 1):
            spline_grid.spread_bands(Y, grid, order, begins, parity, masses, n_threads=n_threads)
        slopes, partial = np.empty((n, d)), np.empty(-(-n // 7))
        spline_grid.gather(Y, grid, order, field, own, 7, slopes, partial, n_threads=n_threads)
        found.append((masses, slopes, partial))
    for one, two in zip(*found):
        assert_array_equal(one, two)
    masses, slopes, partial = found[0]
    assert_allclose(masses, expected, atol=1e-14)
    assert_allclose(partial.sum(), (expected * field).sum() - mine)
    x, y = flat[-1]
    slope, other, step = np.empty(2), np.empty(2), 1e-6
    value = spline_grid.gather_point(x, y, grid, field, slope)
    steps = np.eye(2) * 1e-6
    for f in range(d):  # a point's own part has half the slope of its value
        near = [own_value(flat[-1] + sign * steps[f], grid, mirrored) for sign in (1, -1)]
        assert_allclose(slope[f] - slopes[-1, f], (near[0] - near[1]) / 4e-6, rtol=1e-4, atol=1e-6)
    shifted = spline_grid.gather_point(x + step, y, grid, field, other)
    assert_allclose((shifted - value) / step, slope[0], rtol=1e-3, atol=1e-4)
    shifted = spline_grid.gather_point(x, y + step, grid, field, other)
    assert_allclose((shifted - value) / step, slope[1], rtol=1e-3, atol=1e-4)


def own_value(point, grid, mirrored):
    x, y = (point - [grid.x, grid.y]) * grid.per_unit
    along, across = (
        np.correlate(b, b, "full") for b in (cubic_splines(x % 1), cubic_splines(y % 1))
    )
    return along @ mirrored @ across
