import numpy as np
import pytest
from arrays import read_only
from naive_explore import products
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.explore.pairs import centred_products, group_sums, joint_counts

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [0, 1, 2, 1500])
def test_pairs(n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 3, n).astype(np.uint8), rng.integers(0, 4, n).astype(np.uint8)
    counts = np.zeros((3, 4), dtype=np.int64)
    joint_counts(read_only(a), read_only(b), counts)
    assert_array_equal(counts.ravel(), np.bincount(4 * a.astype(int) + b, minlength=12))
    x = rng.normal(size=n)
    x[::5] = np.nan
    size, sums, squares = np.zeros(3, dtype=np.int64), np.zeros(3), np.zeros(3)
    group_sums(read_only(a), read_only(x), 0.5, size, sums, squares)
    for g in range(3):
        inside = x[(a == g) & (x == x)] - 0.5
        assert size[g] == len(inside)
        assert_allclose([sums[g], squares[g]], [inside.sum(), (inside**2).sum()], atol=1e-12)
    x, y = rng.normal(size=(2, n))
    found = centred_products(read_only(x), read_only(y), 0.25)
    assert_allclose(found, products(x - 0.25, y - 0.25), atol=1e-9)
