import numpy as np
import pytest
import scipy.sparse as sp
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.rows import csr_rows
from fastml.kernels.decomposition.sparse_block import sparse_times_block

pytestmark = pytest.mark.small


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (40, 7)])
def test_products(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    B = rng.normal(size=(shape[1], 5))
    rows = csr_rows(sp.csr_array(X))
    found = []
    for n_threads, step in ((1, 7), (2, 7), (1, 100)):
        out = np.full((shape[0], 5), np.nan)
        sparse_times_block(rows, read_only(B), step, out, n_threads=n_threads)
        assert_allclose(out, X @ B, atol=1e-12)
        found.append(out)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_a_column_major_matrix_gives_the_transpose():
    X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    out = np.empty((3, 1))
    sparse_times_block(
        csr_rows(X.tocsc()), read_only(np.array([[1.0], [2.0]])), 2, out, n_threads=1
    )
    assert_array_equal(out[:, 0], [1.0, 6.0, 2.0])
