"""Tiled distance matrices against pairs of rows, one by one."""

import naive
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.distances import metrics as m
from fastml.kernels.distances import pairwise
from fastml.kernels.distances.pair_tiles import tile_count

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(invalid|divide|overflow):RuntimeWarning"),
]
NONE = read_only(np.empty((0, 0)))
GAPS = {
    m.EUCLIDEAN: ("euclidean", 2.0),
    m.SQEUCLIDEAN: ("sqeuclidean", 2.0),
    m.MANHATTAN: ("manhattan", 1.0),
    m.CHEBYSHEV: ("chebyshev", 2.0),
    m.CUBIC: ("minkowski", 3.0),
    m.QUARTIC: ("minkowski", 4.0),
}


def rows(n, d, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)
    X[n // 2 :] = X[: n - n // 2]  # duplicates
    X.flags.writeable = False
    return X


def gap_matrix(code, X, Y, *, scale=0.0, size=64, n_threads=1, dtype=np.float64):
    out = np.full((len(X), len(Y)), np.nan, dtype=dtype)
    tiles = tile_count(len(X), len(Y), size, X is Y)
    pairwise.gap_tiles(0, tiles, size, code, X, Y, scale, X is Y, out, n_threads=n_threads)
    return out


def row_matrix(code, X, Y, *, p=2.0, v=NONE, scale=0.0, size=4, n_threads=1):
    out = np.full((len(X), len(Y)), np.nan)
    tiles = tile_count(len(X), len(Y), size, X is Y)
    pairwise.row_tiles(0, tiles, size, code, X, Y, p, v, scale, X is Y, out, n_threads=n_threads)
    return out


def expected(code, X, Y):
    name, p = GAPS[code]
    return naive.pairs(lambda x, y: naive.real_distance(name, x, y, p), X, Y)


@pytest.mark.parametrize("code", GAPS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 3), (3, 5, 4), (7, 3, 6)])
def test_gap_tiles_small(code, shape):
    X, Y = rows(shape[0], shape[2]), rows(shape[1], shape[2], seed=1)
    wanted = expected(code, X, Y)
    np.testing.assert_allclose(gap_matrix(code, X, Y), wanted, rtol=1e-13, atol=1e-15)
    wanted = expected(code, X, X)
    np.testing.assert_allclose(gap_matrix(code, X, X), wanted, rtol=1e-13, atol=1e-15)


def test_several_panels_tiles_and_slices_of_features(monkeypatch):
    """More than GAP_LANES columns, more than GAP_DEPTH features, odd numbers of rows."""
    from fastml._jit import jit_enabled

    if not jit_enabled():
        monkeypatch.setattr(pairwise, "GAP_DEPTH", 4)
        monkeypatch.setattr(pairwise, "GAP_LANES", 4)
    n, d, size = (331, 300, 128) if jit_enabled() else (11, 9, 8)
    X, Y = rows(n, d), rows(n - 2, d, seed=1)
    wanted = np.abs(X[:, None] - Y[None]).sum(axis=2)
    np.testing.assert_allclose(gap_matrix(m.MANHATTAN, X, Y, size=size), wanted, rtol=1e-12)
    symmetric = gap_matrix(m.MANHATTAN, X, X, size=size)
    np.testing.assert_array_equal(symmetric, symmetric.T)
    wanted = np.abs(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_allclose(symmetric, wanted, rtol=1e-12)


@pytest.mark.parametrize("code", GAPS)
def test_float32_data_lose_nothing(code):
    X = (1000.0 + 1e-3 * rows(6, 5)).astype(np.float32)
    X.flags.writeable = False
    wanted = expected(code, X, X)
    np.testing.assert_allclose(gap_matrix(code, X, X), wanted, rtol=1e-13)
    np.testing.assert_allclose(gap_matrix(code, X, X, dtype=np.float32), wanted, rtol=1e-7)


def test_exponential_of_the_reduced_distance():
    X = rows(5, 3)
    wanted = np.exp(-0.3 * expected(m.MANHATTAN, X, X))
    np.testing.assert_allclose(gap_matrix(m.MANHATTAN, X, X, scale=-0.3), wanted, rtol=1e-14)
    wanted = np.exp(-0.3 * expected(m.SQEUCLIDEAN, X, X))
    np.testing.assert_allclose(row_matrix(m.EUCLIDEAN, X, X, scale=-0.3), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ["canberra", "braycurtis", "correlation", "cosine"])
def test_row_tiles(name):
    code = getattr(m, name.upper())
    X, Y = rows(9, 4), rows(6, 4, seed=1)
    for other in (X, Y):
        wanted = naive.pairs(lambda x, y: naive.real_distance(name, x, y), X, other)
        np.testing.assert_allclose(row_matrix(code, X, other), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("p", [1.3, 6.0])
def test_any_power(p):
    X = rows(6, 4)
    wanted = naive.pairs(lambda x, y: naive.real_distance("minkowski", x, y, p), X, X)
    np.testing.assert_allclose(row_matrix(m.POWER, X, X, p=p), wanted, rtol=1e-13)


def test_threads_and_tile_sizes_do_not_matter():
    X, Y = rows(150, 5), rows(140, 5, seed=1)
    for matrix, code in ((gap_matrix, m.EUCLIDEAN), (row_matrix, m.CANBERRA)):
        one = matrix(code, X[:40], Y, size=64)
        np.testing.assert_array_equal(matrix(code, X[:40], Y, size=64, n_threads=2), one)
        np.testing.assert_array_equal(matrix(code, X[:40], Y, size=128), one)


def nearest(code, X, Y, p=2.0, v=NONE):
    distances, indices = np.empty(len(X)), np.empty(len(X), dtype=np.intp)
    blocks = -(-len(X) // pairwise.ROW_BLOCK)
    X, Y = read_only(X), read_only(Y)
    pairwise.nearest_rows(0, blocks, code, X, Y, p, v, distances, indices, n_threads=1)
    return distances, indices


@pytest.mark.parametrize("code", GAPS)
def test_nearest_rows_the_first_of_equals(code):
    X, Y = rows(70, 3), rows(9, 3, seed=1)
    wanted = expected(code, X, Y)
    distances, indices = nearest(code, X, Y, p=GAPS[code][1])
    np.testing.assert_array_equal(indices, wanted.argmin(axis=1))
    np.testing.assert_allclose(distances, wanted.min(axis=1), rtol=1e-12)
    assert nearest(code, Y[:1], np.repeat(Y[:1], 3, axis=0))[1] == 0


def test_nearest_rows_with_nan_like_argmin():
    X = rows(3, 3).copy()
    X[0] = 1.0  # constant: correlation is NaN
    Y = rows(4, 3, seed=1).copy()
    Y[2] = 5.0
    wanted = naive.pairs(lambda x, y: naive.real_distance("correlation", x, y), X, Y)
    distances, indices = nearest(m.CORRELATION, X, Y)
    np.testing.assert_array_equal(indices, wanted.argmin(axis=1))
    assert np.isnan(distances).all()
