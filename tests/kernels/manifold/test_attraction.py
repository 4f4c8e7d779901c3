import numpy as np
import pytest
from arrays import read_only
from naive_manifold import pulls, squares_between
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from fastml._engines.rows import csr_rows
from fastml.kernels.manifold.attraction import attract, log_kernel

pytestmark = pytest.mark.small


@pytest.mark.parametrize("nu", [1.0, 2.5])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 11])
def test_sums_over_neighbours(n, d, nu):
    rng = np.random.default_rng(n)
    P = (rng.random((n, n)) * (rng.random((n, n)) < 0.6)).astype(np.float32)
    Y = rng.normal(size=(n, d)).astype(np.float32)
    graph = csr_rows(csr_array(P))
    found = []
    for n_threads in (1, 2):
        out = np.empty((n, d), dtype=np.float32)
        attract(graph, read_only(Y), np.float32(1.0 / nu), 4, out, n_threads=n_threads)
        partial = np.empty(-(-n // 4))
        log_kernel(graph, read_only(Y), nu, 4, partial, n_threads=n_threads)
        found.append((out, partial))
    for one, two in zip(*found):
        assert_array_equal(one, two)
    wide = Y.astype(np.float64)
    assert_allclose(found[0][0], pulls(P.astype(np.float64), wide, nu), rtol=2e-5, atol=2e-6)
    logs = (P * np.log1p(squares_between(wide, wide) / nu)).sum()
    assert_allclose(found[0][1].sum(), logs, rtol=1e-6)
