import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_array_equal

from fastml.kernels.neighbors.between import fill_between

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_points(n):
    rng = np.random.default_rng(n)
    X, others = rng.normal(size=(5, 3)), rng.normal(size=(7, 3))
    rows, partners, steps = rng.integers(5, size=n), rng.integers(7, size=n), rng.random(n)
    expected = (others[partners] - X[rows]) * steps[:, None] + X[rows]
    for n_threads in (1, 2):
        out = np.full((n, 3), np.nan)
        given = map(read_only, (X, others, rows, partners, steps))
        fill_between(*given, 7, out, n_threads=n_threads)
        assert_array_equal(out, expected)
