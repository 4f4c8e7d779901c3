import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.decomposition.dense_block import LINES, matrix_times_lines

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 0), (11, 7)])
def test_products(shape, dtype):
    rng = np.random.default_rng(0)
    K = rng.normal(size=shape).astype(dtype)
    lines = rng.normal(size=(2 * LINES, shape[1]))
    found = []
    for n_threads, step in ((1, 4), (2, 4), (1, 100)):
        out = np.full((shape[0], 2 * LINES), np.nan)
        matrix_times_lines(read_only(K), read_only(lines), step, out, n_threads=n_threads)
        assert_allclose(out, K @ lines.T, atol=1e-12)
        found.append(out)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
