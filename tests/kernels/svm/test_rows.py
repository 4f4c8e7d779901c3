import numpy as np
import pytest
from naive import svm_kernel

from fastml._engines.gram.sources import FORMS, normed_rows
from fastml._threads import single_threaded_blas
from fastml.kernels.svm.rows import (
    DotKernel,
    copy_rows,
    finish_row,
    kernel_rows,
    take_columns,
    weighted_rows,
)

pytestmark = pytest.mark.small
NAMES = ("linear", "poly", "rbf", "sigmoid", "cosine")
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def data(n, d, dtype):
    X = np.random.default_rng(n).normal(size=(n, d)).astype(dtype)
    if n > 2:
        X[1], X[2] = X[0], 0.0  # a duplicate and a zero row
    return X


def arguments(name, X):
    return DotKernel(FORMS[name], X.dtype.type(0.5), 0.3, 3), normed_rows(name, X)


@floats
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (7, 2), (150, 4)])
def test_rows_are_the_kernel(name, n, d, dtype):
    X = data(n, d, dtype)
    left, right = np.arange(n)[::2].copy(), np.arange(n)[::-1].copy()
    slots = np.arange(left.size)[::-1].copy()
    expected = svm_kernel(name, X[left].astype(float), X[right].astype(float))
    for width in (3, 64):
        out = np.full((left.size, n), np.nan, dtype)
        with single_threaded_blas():
            kernel_rows(*arguments(name, X), left, slots, right, width, out, n_threads=1)
        np.testing.assert_allclose(out[slots], expected, rtol=0, atol=10 * TOLERANCE[dtype])


def test_a_given_matrix_is_taken():
    K = np.arange(36.0).reshape(6, 6)
    left, right = np.array([4, 1]), np.array([0, 5, 2])
    out = np.empty((2, 3))
    kernel_rows(*arguments("precomputed", K), left, np.array([1, 0]), right, 2, out, n_threads=1)
    np.testing.assert_array_equal(out[[1, 0]], K[np.ix_(left, right)])


def test_no_rows():
    X = data(3, 2, np.float64)
    out, none = np.full((2, 3), 7.0), np.arange(0)
    kernel_rows(*arguments("rbf", X), none, none, np.arange(3), 8, out, n_threads=1)
    np.testing.assert_array_equal(out, 7.0)


@pytest.mark.parametrize("chosen", [[], [3], [2, 0, 2]])
def test_rows_are_copied(chosen):
    X = np.arange(12.0).reshape(4, 3)
    chosen, out = np.array(chosen, np.intp), np.full((len(chosen), 3), np.nan)
    copy_rows(X, chosen, out)
    np.testing.assert_array_equal(out, X[chosen])


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_degrees(degree):
    dots, out = np.array([-2.0, 0.0, 3.0]), np.empty(3)
    finish_row(DotKernel(FORMS["poly"], 0.5, 1.0, degree), dots, 0.0, np.zeros(3), out)
    np.testing.assert_allclose(out, (0.5 * dots + 1.0) ** degree)


@floats
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 9])
def test_weighted_rows(n_rows, dtype):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(12, 37)).astype(dtype), rng.normal(size=n_rows)
    slots = rng.permutation(12)[:n_rows]
    expected = weights @ rows[slots].astype(float)
    results = []
    for n_threads in (1, 2):
        out = np.full(37, np.nan)
        weighted_rows(rows, slots, weights, 10, out, n_threads=n_threads)
        np.testing.assert_allclose(out, expected, atol=1e-6)
        results.append(out)
    np.testing.assert_array_equal(*results)


@floats
@pytest.mark.parametrize("n_rows", [0, 1, 40])
def test_columns_are_taken(n_rows, dtype):
    rng = np.random.default_rng(0)
    values, columns = rng.normal(size=(50, 9)).astype(dtype), np.array([1, 2, 7])
    slots, places = rng.permutation(50)[:n_rows], rng.permutation(45)[:n_rows]
    for n_threads in (1, 2):
        out = np.full((45, 3), np.nan, dtype)
        take_columns(values, slots, columns, places, out, n_threads=n_threads)
        np.testing.assert_array_equal(out[places], values[slots][:, columns])
        assert np.isnan(np.delete(out, places, axis=0)).all()
