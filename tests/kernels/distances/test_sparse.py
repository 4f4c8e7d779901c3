"""CSR rows against the same rows made dense."""

import naive
import numpy as np
import pytest
import scipy.sparse as sp

from fastml._engines.distances.matrix import canonical_csr
from fastml.kernels.distances import metrics as m
from fastml.kernels.distances import sparse as kernels

pytestmark = pytest.mark.small


def rows(n, d, seed=0):
    X = np.random.default_rng(seed).random((n, d))
    X[X < 0.6] = 0.0
    X[0] = 0.0
    return X


def squares(rows):
    out = np.full(rows.indptr.size - 1, np.nan)
    kernels.sparse_row_squares(rows, out)
    return out


def matrix(code, X, Y, *, exact=True, size=3, n_threads=1):
    out = np.full((len(X), len(Y)), np.nan)
    ones = code == m.JACCARD
    left, right = (canonical_csr(sp.csr_array(each), ones=ones) for each in (X, Y))
    blocks = -(-len(X) // size)
    if code == m.MANHATTAN:
        kernels.sparse_manhattan(0, blocks, size, left, right, out, n_threads=n_threads)
        return out
    kernels.sparse_dots(
        0,
        blocks,
        size,
        code,
        exact,
        X.shape[1],
        left,
        squares(left),
        right,
        squares(right),
        out,
        n_threads=n_threads,
    )
    return out


def test_squared_norms():
    X = rows(7, 9)
    np.testing.assert_allclose(squares(canonical_csr(X)), (X**2).sum(axis=1), rtol=1e-14)
    assert squares(canonical_csr(np.empty((0, 3)))).shape == (0,)


@pytest.mark.parametrize("name", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_distances(name):
    X, Y = rows(7, 9), rows(5, 9, seed=1)
    for other in (X, Y):
        wanted = naive.pairs(lambda x, y: naive.real_distance(name, x, y), X, other)
        result = matrix(getattr(m, name.upper()), X, other)
        np.testing.assert_allclose(result, wanted, rtol=1e-12, atol=1e-15)


def test_jaccard():
    X = rows(7, 9)
    wanted = naive.pairs(lambda x, y: naive.boolean_distance("jaccard", x, y), X, X)
    np.testing.assert_allclose(matrix(m.JACCARD, X, X), wanted)


def test_dot_products():
    X = rows(7, 9)
    np.testing.assert_allclose(matrix(kernels.DOT, X, X), X @ X.T)


def test_near_duplicates():
    X = 1e4 + rows(6, 9) * 1e-3
    wanted = naive.pairs(lambda x, y: naive.real_distance("euclidean", x, y), X, X)
    np.testing.assert_allclose(matrix(m.EUCLIDEAN, X, X), wanted, rtol=1e-12)
    assert np.abs(matrix(m.EUCLIDEAN, X, X, exact=False) - wanted).max() > 1e-8


def test_duplicates_and_order_are_made_canonical_without_touching_the_input():
    stored = np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])
    X = sp.csr_array(stored, shape=(1, 3))
    canonical = canonical_csr(X)
    assert list(canonical.data) == [2.0, 5.0]
    assert list(canonical.indices) == [0, 2]
    assert list(canonical.indptr) == [0, 2]
    assert [each.dtype for each in canonical] == [np.float64, np.uint32, np.int64]
    assert list(X.indices) == [2, 0, 2]


def test_stored_zeros_are_not_members_of_a_set():
    X = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    members = canonical_csr(X, ones=True)
    assert list(members.indices) == [0]
    assert list(members.data) == [1.0]
    assert X.nnz == 2  # the input stays


def test_threads_do_not_matter():
    X = rows(40, 30)
    for code in (m.EUCLIDEAN, m.MANHATTAN):
        np.testing.assert_array_equal(matrix(code, X, X), matrix(code, X, X, n_threads=2))
