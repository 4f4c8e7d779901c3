"""Functions of dot products against plain formulas; cancellation above all."""

import numpy as np
import pytest
from arrays import read_only

from fastml._jit import jit_enabled
from fastml._threads import single_threaded_blas
from fastml.kernels.distances import gram
from fastml.kernels.distances import metrics as m
from fastml.kernels.distances.pair_tiles import tile_count

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(invalid|divide|overflow|underflow):RuntimeWarning"),
]


def rows(n, d, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)
    X.flags.writeable = False
    return X


def squares(X):
    out = np.empty(len(X))
    gram.row_squares(read_only(X), out)
    return out


def inverse_norms(X):
    norms = np.sqrt(squares(X))
    return np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)


def matrix(form, X, Y, norms=squares, *, gamma=0.0, coef0=0.0, degree=1.0, exact=True, size=8):
    out = np.full((len(X), len(Y)), np.nan)
    tiles = tile_count(len(X), len(Y), size, X is Y)
    form = gram.GramForm(form, float(gamma), float(coef0), float(degree), exact)
    squares_x, squares_y, same = norms(X), norms(Y), X is Y
    X, Y = read_only(X), read_only(Y)
    with single_threaded_blas():
        gram.gram_tiles(0, tiles, size, form, X, Y, squares_x, squares_y, same, out, n_threads=1)
    return out


def differences(X, Y):
    return ((X[:, None].astype(np.float64) - Y[None].astype(np.float64)) ** 2).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 3), (17, 9, 5), (9, 17, 1)])
def test_euclidean(dtype, shape):
    X, Y = rows(shape[0], shape[2], dtype), rows(shape[1], shape[2], dtype, seed=1)
    for other in (X, Y):
        wanted = differences(X, other)
        np.testing.assert_allclose(matrix(m.SQEUCLIDEAN, X, other), wanted, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(matrix(m.EUCLIDEAN, X, other), np.sqrt(wanted), rtol=1e-9)
        rbf = matrix(gram.RBF, X, other, gamma=0.4)
        np.testing.assert_allclose(rbf, np.exp(-0.4 * wanted), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_duplicates_far_from_the_origin(dtype):
    X = (1e4 + 1e-2 * rows(12, 6)).astype(dtype)
    wanted = np.sqrt(differences(X, X))
    np.testing.assert_allclose(matrix(m.EUCLIDEAN, X, X), wanted, rtol=1e-12)
    np.testing.assert_allclose(matrix(m.EUCLIDEAN, X, X.copy()), wanted, rtol=1e-12)
    if dtype == np.float32:
        return  # their products are exact in float64: the plain formula would do here
    inexact = matrix(m.EUCLIDEAN, X, X, exact=False)
    assert np.max(np.abs(inexact - wanted)) > 1e-9, "the data do not show what they should"


def test_symmetric_with_a_zero_diagonal():
    X = rows(21, 7)
    for form, norms in ((m.EUCLIDEAN, squares), (m.COSINE, inverse_norms)):
        D = matrix(form, X, X, norms)
        np.testing.assert_array_equal(D, D.T)
        assert not np.diagonal(D).any()


def test_cosine_with_a_zero_row():
    X = rows(5, 4).copy()
    X[2] = 0.0
    unit = X * inverse_norms(X)[:, None]
    similarity = unit @ unit.T
    result = matrix(gram.COSINE_SIMILARITY, X, X, inverse_norms)
    np.testing.assert_allclose(result, similarity, atol=1e-15)
    distance = np.clip(1.0 - similarity, 0.0, 2.0)
    np.testing.assert_allclose(matrix(m.COSINE, X, X.copy(), inverse_norms), distance, atol=1e-15)


@pytest.mark.parametrize("degree", [1.0, 2.0, 3.0, 5.0, 2.5])
def test_polynomial(degree):
    X, Y = np.abs(rows(5, 4)), np.abs(rows(9, 4, seed=1))
    wanted = (0.5 * X @ Y.T + 1.5) ** degree
    result = matrix(gram.POLYNOMIAL, X, Y, gamma=0.5, coef0=1.5, degree=degree)
    np.testing.assert_allclose(result, wanted, rtol=1e-14)


def test_polynomial_of_negative_values():
    X = rows(5, 4)
    result = matrix(gram.POLYNOMIAL, X, X, gamma=1.0, coef0=-1.0, degree=3)
    np.testing.assert_allclose(result, (X @ X.T - 1.0) ** 3, rtol=1e-12)


def test_sigmoid():
    X = rows(5, 4)
    result = matrix(gram.SIGMOID, X, X, gamma=0.5, coef0=0.1)
    np.testing.assert_allclose(result, np.tanh(0.5 * X @ X.T + 0.1), rtol=1e-13)


def test_more_features_than_one_slice(monkeypatch):
    if not jit_enabled():
        monkeypatch.setattr(gram, "DOT_DEPTH", 4)
    X = rows(9, 2 * gram.DOT_DEPTH + 3)
    np.testing.assert_allclose(matrix(m.SQEUCLIDEAN, X, X), differences(X, X), rtol=1e-12)


def test_overflow_becomes_infinity_not_zero():
    X = np.array([[1e200, 0.0], [0.0, 0.0]])
    D = matrix(m.EUCLIDEAN, X, X)
    assert np.isinf(D[0, 1])
    assert D[0, 0] == 0.0


def nearest(form, X, Y, norms=squares, n_threads=1):
    distances, indices = np.empty(len(X)), np.empty(len(X), dtype=np.intp)
    blocks = -(-len(X) // gram.NEAREST_BLOCK)
    form, X, Y = gram.GramForm(form), read_only(X), read_only(Y)
    with single_threaded_blas():
        gram.nearest_by_gram(
            0, blocks, form, X, Y, norms(X), norms(Y), distances, indices, n_threads=n_threads
        )
    return distances, indices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_row_the_first_of_equals(dtype):
    Y = rows(20, 5, dtype)
    Y = np.concatenate([Y, Y])
    X = rows(30, 5, dtype, seed=1)
    wanted = differences(X, Y)
    distances, indices = nearest(m.SQEUCLIDEAN, X, Y)
    np.testing.assert_array_equal(indices, wanted.argmin(axis=1))
    np.testing.assert_allclose(distances, wanted.min(axis=1), rtol=1e-9)
    distances, indices = nearest(m.SQEUCLIDEAN, Y, Y)
    np.testing.assert_array_equal(indices, np.arange(40) % 20)
    assert not distances.any()


@pytest.mark.skipif(not jit_enabled(), reason="several blocks take long without")
def test_nearest_row_over_several_blocks_and_threads():
    X, Y = rows(600, 20), rows(700, 20, seed=1)
    wanted = differences(X, Y)
    distances, indices = nearest(m.SQEUCLIDEAN, X, Y)
    np.testing.assert_array_equal(indices, wanted.argmin(axis=1))
    parallel = nearest(m.SQEUCLIDEAN, X, Y, n_threads=2)
    np.testing.assert_array_equal(parallel[0], distances)
    np.testing.assert_array_equal(parallel[1], indices)
