import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.decomposition.symmetric_block import (
    LINES,
    add_in_python,
    fold_triangle,
    triangle_times_block,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 37])
def test_products_read_the_upper_triangle_alone(n, dtype):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.normal(size=(n, n))).astype(dtype)
    whole = upper.astype(np.float64) + np.triu(upper, 1).T
    upper[np.tril_indices(n, -1)] = np.nan
    V = rng.normal(size=(2, n, LINES))
    n_strips = -(-n // LINES)
    for bounds in ([0, n_strips], [0, n_strips // 2, n_strips], [0, 0, n_strips, n_strips]):
        found = []
        for n_threads in (1, 2):
            out = np.full((len(bounds) - 1, 2, n, LINES), np.nan)
            limits = np.array(bounds, dtype=np.intp)
            triangle_times_block(read_only(upper), read_only(V), limits, out, n_threads=n_threads)
            fold_triangle(limits, 5, out, n_threads=n_threads)
            assert_allclose(out[0], [whole @ v for v in V], atol=1e-12)
            found.append(out[0].copy())
        assert_array_equal(found[0], found[1])


def test_twin_of_registers():
    rng = np.random.default_rng(1)
    K, V = rng.normal(size=(20, 20)), rng.normal(size=(1, 20, LINES))
    out = np.zeros((1, 1, 20, LINES))
    add_in_python(K, 8, 16, V, 0, 0, out)
    assert_allclose(out[0, 0, 8:16], K[8:16, 16:] @ V[0, 16:])
    assert_allclose(out[0, 0, 16:], K[8:16, 16:].T @ V[0, 8:16])
    assert not out[0, 0, :8].any()
