import numpy as np
import pytest
from arrays import read_only
from naive_preprocessing import column_moments as naive_moments
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.preprocessing.columns import column_extremes, column_moments, gather_columns

pytestmark = pytest.mark.small


def data(n, dtype):
    X = np.random.default_rng(n).normal(loc=[0.0, 1e6, -3.0, 0.0], size=(n, 4)).astype(dtype)
    X[::3, 2] = np.nan
    X[:, 3] = np.nan
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_moments(n, weighted, dtype):
    X = data(n, dtype)
    weights = np.random.default_rng(1).random(n) if weighted else np.ones(n)
    given = read_only(weights if weighted else np.empty(0))
    for rows_per_chunk in (7, 100):
        found = []
        for lines, by_column in ((X, False), (np.ascontiguousarray(X.T), True)):
            counts, means, squares = np.zeros((3, -(-n // rows_per_chunk), 4))
            column_moments(
                read_only(lines), by_column, given, rows_per_chunk, counts, means, squares,
                n_threads=2,
            )  # fmt: skip
            found.append((counts, means, squares))
        for one, other in zip(*found):
            assert_array_equal(one, other)  # whatever the layout
        for c in range(len(counts)):
            here = slice(c * rows_per_chunk, (c + 1) * rows_per_chunk)
            for part, expected in zip(found[0], naive_moments(X[here], weights[here])):
                assert_allclose(part[c], expected, rtol=1e-9, atol=1e-9)


def test_a_constant_has_no_variance():
    X = np.full((1000, 1), 14.62)
    counts, means, squares = np.zeros((3, 1, 1))
    column_moments(
        read_only(X), False, read_only(np.empty(0)), 1000, counts, means, squares, n_threads=1
    )
    assert (means[0, 0], squares[0, 0]) == (14.62, 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_extremes(n, dtype):
    X = data(n, dtype)
    for lines, by_column in ((X, False), (np.ascontiguousarray(X.T), True)):
        lows, highs = np.empty((2, -(-n // 7), 4), dtype=dtype)
        column_extremes(read_only(lines), by_column, 7, lows, highs, n_threads=2)
        if n:
            filled = np.where(np.isnan(X), np.inf, X)
            assert_array_equal(lows.min(axis=0), filled.min(axis=0))
            assert_array_equal(highs.max(axis=0), np.where(np.isnan(X), -np.inf, X).max(axis=0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 200])
def test_gather(n, dtype):
    X = data(n, dtype)
    for lines, by_column in ((X, False), (np.ascontiguousarray(X.T), True)):
        columns = np.empty((3, n), dtype=dtype)
        absent = np.zeros((-(-n // 90), 3), dtype=np.intp)
        gather_columns(read_only(lines), by_column, 1, 90, columns, absent, n_threads=2)
        assert_array_equal(columns, X[:, 1:].T)
        if n:
            assert_array_equal(absent.any(axis=0), [False, True, True])
