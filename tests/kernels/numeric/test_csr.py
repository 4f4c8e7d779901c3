"""The struct of sparse rows: what a kernel reads through it is the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastml._engines.rows import csr_rows
from fastml._jit import kernel
from fastml.kernels.numeric.csr import COLUMN, POSITION, Csr

pytestmark = pytest.mark.small


@kernel
def to_dense(rows, out):
    for i in range(out.shape[0]):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            out[i, rows.indices[p]] += rows.data[p]


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 5), (9, 4)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_kernels_read_the_matrix(shape, index):
    X = sp.random_array(shape, density=0.4, rng=np.random.default_rng(0), format="csr")
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    found = np.zeros(shape)
    to_dense(csr_rows(X), found)
    np.testing.assert_array_equal(found, X.toarray())


def test_fields_are_in_scipys_order():
    """``Csr(X.data, X.indices, X.indptr)``: as SciPy's constructor takes them."""
    X = sp.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    rows = Csr(X.data, X.indices.astype(COLUMN), X.indptr.astype(POSITION))
    np.testing.assert_array_equal(sp.csr_array(tuple(rows), shape=X.shape).toarray(), X.toarray())


def test_index_types_hold_what_they_must():
    assert np.iinfo(COLUMN).min == 0  # unsigned: no test for negative indices in kernels
    assert np.iinfo(COLUMN).max >= 2**31 - 1
    assert np.iinfo(POSITION).max > 2**31  # there may be more values than 32 bits count
