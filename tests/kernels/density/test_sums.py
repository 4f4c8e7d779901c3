"""Kernel sums over tiles against plain sums: every kernel, near and far, weights, leave-one-out."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import Smoother, in_tile_order, tiles_of
from fastml._jit import jit_enabled
from fastml.kernels.density.smoothing import EPANECHNIKOV_KERNEL, GAUSSIAN_KERNEL
from fastml.kernels.density.sums import Queries, SumRule, kernel_sums
from fastml.kernels.density.tiles import TILE, boxes

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
N = 600 if jit_enabled() else 140
KERNELS = pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)


def tiled(X, weights, kernel, bandwidth, **options):
    smoother = Smoother(X, weights[:, None], kernel, bandwidth, **options)
    smoother.engine = "tiles"
    return smoother


def assert_close(found, expected):
    reached = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), reached)
    scale = np.maximum(1.0, np.abs(expected[reached]))  # the log of a sum far away is large
    assert np.all(np.abs(found[reached] - expected[reached]) <= 1e-9 * scale)


@KERNELS
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("bandwidth", [0.2, 2.0])
def test_sums(kernel, d, bandwidth):
    rng = np.random.default_rng(d)
    X, w = rng.normal(size=(N, d)), rng.random(N) + 0.01
    Q = np.concatenate([rng.normal(size=(50, d)), rng.normal(size=(9, d)) * 100, X[:3] + 1e6])
    found = tiled(X, w, kernel, bandwidth).log_sums(Q)
    assert_close(found, naive.log_kernel_sums(kernel, X, Q, w, bandwidth))


@pytest.mark.parametrize("code", [GAUSSIAN_KERNEL, EPANECHNIKOV_KERNEL])
@pytest.mark.parametrize("n", [1, 2, TILE + 5])
def test_query_tiles_first_to_last(code, n, n_threads):
    """Two tiles of three queries; the rows of the others are not touched."""
    rng = np.random.default_rng(n)
    points, order = in_tile_order(rng.normal(size=(n, 2)), TILE)
    values = rng.random((n, 2)) + 0.1
    rows, _ = in_tile_order(rng.normal(size=(11, 2)), 3)
    rows[7] = 99.0  # far from all points
    low, high = np.empty((4, 2)), np.empty((4, 2))
    boxes(rows, 3, low, high)
    itself = np.full(11, -1)
    itself[4] = 0
    total, lightest = values[:, 0].sum(), values[:, 0].min()
    rule = SumRule(code, 4.0, 0.25, total, 1e-10, 0.0)
    queries, tiles = Queries(rows, itself, low, high), tiles_of(points, order, values)
    sums, shifts = np.zeros((11, 2)), np.zeros(11)
    kernel_sums(rule, queries, 1, 3, 3, tiles, lightest, 2, sums, shifts, n_threads=n_threads)
    r2 = ((rows[:, None] - points[None]) ** 2).sum(axis=2) - shifts[:, None]
    K = np.exp2(-r2) if code == GAUSSIAN_KERNEL else np.maximum(0.0, 1.0 - 0.25 * r2)
    K[4, 0] = 0.0
    K[:3] = K[9:] = 0.0
    np.testing.assert_allclose(sums, K @ values[order], rtol=1e-9)
    assert (sums[7, 0] > 0.0) == (code == GAUSSIAN_KERNEL)


@KERNELS
def test_leave_one_out(kernel):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(N, 2)), [[60.0, 0.0]], [[1.0, 1.0]] * 3])
    w = rng.random(X.shape[0]) + 0.01
    itself = np.arange(X.shape[0])
    found = tiled(X, w, kernel, 0.5).log_sums(X, itself)
    assert_close(found, naive.log_kernel_sums(kernel, X, X, w, 0.5, itself))


@KERNELS
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_points(kernel, n):
    X, w = np.zeros((n, 3)), np.ones(n)
    Q = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [9e9, 0.0, 0.0]])
    assert_close(tiled(X, w, kernel, 1.0).log_sums(Q), naive.log_kernel_sums(kernel, X, Q, w))
    left = tiled(X, w, kernel, 1.0).log_sums(X, np.arange(n))
    assert_close(left, naive.log_kernel_sums(kernel, X, X, w, 1.0, np.arange(n)))


@KERNELS
def test_points_without_weight_do_not_count(kernel):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(N, 2)), rng.random(N)
    w[::3] = 0.0
    X[::3] *= 100.0
    Q = rng.normal(size=(20, 2))
    found = tiled(X, w, kernel, 0.7).log_sums(Q)
    assert_close(found, naive.log_kernel_sums(kernel, X, Q, w, 0.7))
    found = tiled(X, w, kernel, 0.7).log_sums(X, np.arange(N))
    assert_close(found, naive.log_kernel_sums(kernel, X, X, w, 0.7, np.arange(N)))


def test_several_columns_and_offset_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), rng.normal(size=(N, 2))
    values = np.column_stack([np.ones(N), y])
    Q = rng.normal(size=(10, 3))
    sums, log_factor = Smoother(X + 1e9, values, "gaussian", 1.0).sums(Q + 1e9)
    shifted = (X + 1e9) - 1e9  # what rounding left
    u = np.sqrt(((((Q + 1e9) - 1e9)[:, None] - shifted[None]) ** 2).sum(-1))
    expected = np.exp(-0.5 * u**2) @ values
    np.testing.assert_allclose(sums * np.exp(log_factor)[:, None], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.skipif(not jit_enabled(), reason="needs many tiles")
@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_what_is_left_out_stays_within_the_tolerance(kernel):
    """Small bandwidth, weights of very different size: most tiles are left out."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20_000, 2)), rng.normal(size=(200, 2))
    w = 10.0 ** rng.uniform(-6, 0, size=20_000)
    exact = naive.log_kernel_sums(kernel, X, Q, w, 0.02)
    found = tiled(X, w, kernel, 0.02).log_sums(Q)
    assert np.max(np.abs(found - exact)) < 2e-9
    loose = tiled(X, w, kernel, 0.02, relative=1e-3).log_sums(Q)
    assert 1e-8 < np.max(np.abs(loose - exact)) < 1e-3


@pytest.mark.skipif(not jit_enabled(), reason="threads")
def test_any_number_of_threads_and_blocks_gives_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    X, Q, w = rng.normal(size=(3_000, 2)), rng.normal(size=(2_000, 2)), np.ones(3_000)
    one = tiled(X, w, "gaussian", 0.1, n_jobs=1).log_sums(Q)
    np.testing.assert_array_equal(tiled(X, w, "gaussian", 0.1, n_jobs=2).log_sums(Q), one)
    monkeypatch.setattr("fastml._engines.smoothing.smoother.PAIRS_PER_CALL", 1.0)
    np.testing.assert_array_equal(tiled(X, w, "gaussian", 0.1).log_sums(Q), one)
