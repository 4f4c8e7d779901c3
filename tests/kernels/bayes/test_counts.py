import numpy as np
import pytest
import scipy.sparse as sp
from arrays import read_only
from naive_bayes_twins import sums_of_rows
from numpy.testing import assert_allclose

from fastml._engines.rows import csr_rows
from fastml.kernels.bayes.counts import add_sparse_rows

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_sums(n):
    rng = np.random.default_rng(n)
    dense = rng.integers(0, 4, size=(n, 6)) * (rng.random((n, 6)) < 0.4) * 1.5
    codes, weights = rng.integers(0, 3, size=n), rng.random(n)
    sums = np.ones((4, 6))
    rows = csr_rows(sp.csr_array(dense))
    add_sparse_rows(rows, read_only(codes), read_only(weights), sums)
    assert_allclose(sums - 1.0, sums_of_rows(dense, codes, weights, 4), atol=1e-12)


def test_entries_that_occur_twice_are_added():
    twice = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    sums = np.zeros((1, 3))
    rows = csr_rows(twice, canonical=False)
    add_sparse_rows(rows, read_only(np.zeros(1, dtype=np.intp)), read_only(np.ones(1)), sums)
    assert_allclose(sums, [[0.0, 3.0, 0.0]])
