"""Packed histograms are plain integer sums."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml.kernels import histogram as kernels

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n_rows", [0, 1, 2, 100, 700])
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_histogram_and_subtraction(n_rows, n_features):
    rng = np.random.default_rng(n_rows)
    bins = rng.integers(0, 6, (n_rows, n_features)).astype(np.uint8)
    bins[rng.random(bins.shape) < 0.1] = 255
    g, h = rng.integers(-50, 50, n_rows), rng.integers(0, 20, n_rows)
    packing = np.array([10, 20, 300], dtype=np.int64)
    ones = np.ones(2)
    packed = np.array(
        [kernels.pack(float(a), float(b), *ones, packing) for a, b in zip(g, h)], dtype=np.int64
    )
    n_bins = np.full(n_features, 6)
    tile = np.zeros((n_features, 256), dtype=np.int64)
    rows = np.arange(n_rows, dtype=np.uint32)

    def build(chosen):
        out = np.full((n_features, 256, 2), 7, dtype=np.int64)
        kernels.node_histogram(
            bins, chosen, 0, len(chosen), packed, packing, n_bins, 255, 0, n_features, tile, out
        )
        return out

    def plain(built):
        used = [0, 1, 2, 3, 4, 5, 255]
        g_sum, rest = built[:, used, 0], built[:, used, 1]
        return np.stack([g_sum, rest >> kernels.COUNT_BITS, rest & kernels.COUNT_MASK], axis=2)

    used = [0, 1, 2, 3, 4, 5, 255]
    whole = build(rows)
    assert_array_equal(plain(whole), naive.integer_histogram(bins, rows, g, h)[:, used])
    assert not tile.any()
    part = rows[: n_rows // 3]
    kernels.subtract(whole, build(part), n_bins, 255, 0, n_features)
    assert_array_equal(
        plain(whole), naive.integer_histogram(bins, rows[n_rows // 3 :], g, h)[:, used]
    )
