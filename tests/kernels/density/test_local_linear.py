"""Local planes against weighted least squares."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import Smoother
from fastml._jit import jit_enabled
from fastml.kernels.density.local_linear import local_linear

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
N = 300 if jit_enabled() else 90


@pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_plane_is_weighted_least_squares(kernel, d):
    rng = np.random.default_rng(d)
    X, y, w = rng.uniform(size=(N, d)), rng.normal(size=(N, 2)), rng.random(N) + 0.1
    smoother = Smoother(X, np.column_stack([w, w[:, None] * y]), kernel, 0.6)
    found = smoother.planes(X[:20])
    expected = naive.local_linear(kernel, X, y, w, X[:20], 0.6)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    left = smoother.planes(X[:5], np.arange(5))
    for i in range(5):
        rest = np.arange(N) != i
        alone = naive.local_linear(kernel, X[rest], y[rest], w[rest], X[i : i + 1], 0.6)
        np.testing.assert_allclose(left[i], alone[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_rows_first_to_last_in_chunks(kernel, n_threads):
    """The kernel itself: in tile order; the other rows are not touched."""
    rng = np.random.default_rng(0)
    X, y, w, Q = rng.uniform(size=(50, 2)), rng.normal(size=(50, 1)), np.ones(50), np.eye(2)
    Q = np.concatenate([Q, rng.uniform(size=(7, 2))])
    smoother = Smoother(X, np.column_stack([w, y]), kernel, 0.9)
    queries, tile, back = smoother._queries(Q, None)
    sums, shifts = smoother._sums_of_tiles(queries, tile)
    out = np.full((9, 1), np.nan)
    data = queries.rows, queries.itself, smoother.tiles, sums, shifts
    local_linear(1, 8, 3, smoother._rule(), *data, out, n_threads=n_threads)
    expected = np.empty((9, 1))
    expected[back] = naive.local_linear(kernel, X, y, w, Q, 0.9)
    np.testing.assert_allclose(out[1:8], expected[1:8], rtol=1e-6, atol=1e-6)
    assert np.isnan(out[[0, 8]]).all()


def test_no_plane_through_one_place():
    """One point, or equal points: their mean; nothing in reach: NaN; far away: finite."""
    X, y = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([3.0, 5.0])
    values = np.column_stack([np.ones(2), y])
    Q = np.array([[1.0, 2.0], [1.2, 2.0], [50.0, 0.0]])
    np.testing.assert_allclose(Smoother(X, values, "gaussian", 1.0).planes(Q)[:, 0], 4.0)
    bounded = Smoother(X, values, "epanechnikov", 1.0).planes(Q)[:, 0]
    np.testing.assert_allclose(bounded, [4.0, 4.0, np.nan])
