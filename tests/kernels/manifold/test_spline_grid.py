import numpy as np
import pytest
from naive_manifold import quintic_splines
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold import spline_grid
from fastml.kernels.manifold.spline_grid import BAND_ROWS, SPLINE_NODES, SplineGrid

pytestmark = pytest.mark.small


def test_splines():
    places, step = np.array([0.0, 0.25, 0.75]), 1e-6
    weights, slopes = np.empty((2, SPLINE_NODES, 3))
    spline_grid.knot_splines(places, weights, slopes)
    for k, t in enumerate(places):
        assert_allclose(weights[:, k], quintic_splines(t), atol=1e-15)
        assert_allclose(
            slopes[:, k], (quintic_splines(t + step) - quintic_splines(t)) / step, atol=1e-5
        )
    below = spline_grid.quartic_weights(0.25)
    assert_allclose(spline_grid.quintic_weights(0.25, below), weights[:, 1], rtol=1e-15)
    assert_allclose(spline_grid.quintic_slopes(below), slopes[:, 1], rtol=1e-15)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_spread_and_gather(n, d):
    rng = np.random.default_rng(n)
    Y = rng.uniform(0.0, 10.0, size=(n, d))
    Y[0] = 0.0
    grid = SplineGrid(0.0, 0.0, 2.0)
    sizes = (32, 32 if d == 2 else SPLINE_NODES)
    n_bands = sizes[0] // BAND_ROWS
    flat = np.c_[Y, np.zeros(n)][:, :2]
    expected = np.zeros(sizes)
    for x, y in (flat - [grid.x, grid.y]) * grid.per_unit:
        a, b = int(x), int(y)
        expected[a : a + SPLINE_NODES, b : b + SPLINE_NODES] += np.outer(
            quintic_splines(x - a), quintic_splines(y - b)
        )
    field, planes = rng.normal(size=sizes), rng.normal(size=(3, 3))
    knots = np.minimum(np.arange(6) / 4, 1.0)  # of the last none is weighed
    own = np.array([c + along * knots[:, None] + across * knots for c, along, across in planes])
    mine = planes @ np.vstack([np.ones(n), (flat * grid.per_unit % 1).T])
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
    assert_allclose(partial.sum(), (expected * field).sum() - mine[0].sum())
    x, y = flat[-1]
    slope, other, step = np.empty(2), np.empty(2), 1e-6
    value = spline_grid.gather_point(x, y, grid, field, slope)
    assert_allclose(slopes[-1], (slope - mine[1:, -1] * grid.per_unit)[:d])
    shifted = spline_grid.gather_point(x + step, y, grid, field, other)
    assert_allclose((shifted - value) / step, slope[0], rtol=1e-3, atol=1e-4)
    shifted = spline_grid.gather_point(x, y + step, grid, field, other)
    assert_allclose((shifted - value) / step, slope[1], rtol=1e-3, atol=1e-4)
