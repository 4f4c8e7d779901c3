import numpy as np
import pytest
from naive import with_constant
from scipy.sparse import csr_array

from fastml._engines.rows import DesignMatrix
from fastml.kernels.linear.rows import (
    dense_add,
    dense_dot,
    row_squares,
    sparse_add,
    sparse_dot,
    square,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n_features", [1, 2, 7, 33])
@pytest.mark.parametrize("bias", [0.0, 3.0])
def test_one_row_of_either_kind(n_features, bias):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(3, n_features)) * (rng.random((3, n_features)) < 0.6)
    X[2] = 0.0
    w = rng.normal(size=n_features + 1)
    csr = csr_array(X)
    for i, full in enumerate(with_constant(X, bias)):
        p, q = csr.indptr[i], csr.indptr[i + 1]
        values, columns = csr.data[p:q], csr.indices[p:q].astype(np.uint32)
        assert dense_dot(X[i], bias, w) == pytest.approx(full @ w)
        assert sparse_dot(values, columns, bias, w) == pytest.approx(full @ w)
        assert square(X[i], bias) == pytest.approx(full @ full)
        assert square(values, bias) == pytest.approx(full @ full)
        dense, sparse = w.copy(), w.copy()
        dense_add(X[i], bias, 0.7, dense)
        sparse_add(values, columns, bias, 0.7, sparse)
        np.testing.assert_allclose(dense, w + 0.7 * full)
        np.testing.assert_allclose(sparse, w + 0.7 * full)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_squares_of_all_rows(container, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3)) * (np.arange(3) != 1)
    squares = np.full(n_rows, np.nan)
    row_squares(DesignMatrix(container(X), 2.0).rows, squares)
    np.testing.assert_allclose(squares, (with_constant(X, 2.0) ** 2).sum(axis=1))
