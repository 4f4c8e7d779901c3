"""Linear binning keeps mass and mean."""

import naive
import numpy as np
import pytest

from fastml.kernels.density.grid import bin_line, bin_plane

pytestmark = pytest.mark.small


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 60])
def test_shares(d, n):
    rng = np.random.default_rng(n)
    positions, weights = rng.uniform(0, 6, size=(n, d)), rng.random(n)
    if n:
        positions[0] = 6.0  # the last node
    counts = np.zeros((7,) * d)
    if d == 1:
        bin_line(positions, weights, counts)
    else:
        bin_plane(positions, weights, counts)
    np.testing.assert_allclose(counts, naive.linear_binning(positions, weights, (7,) * d))
    np.testing.assert_allclose(counts.sum(), weights.sum())
    means = [np.tensordot(np.indices(counts.shape)[k], counts, d) for k in range(d)]
    np.testing.assert_allclose(means, weights @ positions)
