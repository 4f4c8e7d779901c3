import numpy as np
import pytest

from fastml.kernels.linalg.band_inverse import inverse_trace

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n, band", [(1, 0), (1, 2), (2, 1), (7, 0), (7, 1), (20, 3), (9, 8)])
def test_trace(n, band):
    rng = np.random.default_rng(n)
    L = np.tril(np.triu(rng.normal(size=(n, n)), -band)) + 3.0 * np.eye(n)
    factor = np.zeros((n, band + 1))
    for k in range(band + 1):
        factor[: n - k, k] = L.diagonal(-k)[: max(0, n - k)]
    window = np.full((band + 1, band + 1), np.nan)
    expected = np.trace(np.linalg.inv(L @ L.T))
    assert inverse_trace(factor, window) == pytest.approx(expected)
