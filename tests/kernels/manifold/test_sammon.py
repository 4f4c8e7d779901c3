import numpy as np
import pytest
from arrays import read_only
from naive_manifold import sammon_sum
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.sammon import sammon_pass

pytestmark = pytest.mark.small


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_pass(n, d, power):
    rng = np.random.default_rng(n)
    Y, targets = rng.normal(size=(n, d)), rng.random((n, n)) + 0.5
    targets += targets.T
    targets[0, -1] = targets[-1, 0] = 0.0
    np.fill_diagonal(targets, 0.0)
    found = []
    for n_threads in (1, 2):
        slopes, curves, partial = np.empty((n, d)), np.empty((n, d)), np.empty(-(-n // 4))
        given = (Y, read_only(targets), power)
        sammon_pass(*given, 4, slopes, curves, partial, n_threads=n_threads)
        found.append((slopes, curves, partial))
    for one, two in zip(*found):
        assert_array_equal(one, two)
    assert_allclose(partial.sum() / 2, sammon_sum(Y, targets, power), rtol=1e-10)
    step = 1e-5
    for i in range(n):
        for f in range(d):
            up, down = Y.copy(), Y.copy()
            up[i, f] += step
            down[i, f] -= step
            high, low = (sammon_sum(place, targets, power) for place in (up, down))
            here = sammon_sum(Y, targets, power)
            assert_allclose(slopes[i, f], (high - low) / (2 * step), rtol=1e-5, atol=1e-7)
            assert_allclose(curves[i, f], (high - 2 * here + low) / step**2, rtol=1e-3, atol=1e-3)
