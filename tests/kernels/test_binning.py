"""Bins of raw values."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml.kernels.binning import WIDTH, bin_rows

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 37])
@pytest.mark.parametrize("n_thresholds", [0, 1, 30, 254])
def test_is_a_search(dtype, n_rows, n_thresholds):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n_rows, 3)), 1).astype(dtype)
    X[:, 2] = rng.integers(-1, 8, n_rows)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:1, 0] = np.inf
    thresholds = np.full((3, WIDTH), np.inf, dtype=dtype)
    thresholds[:2, :n_thresholds] = np.sort(np.round(rng.normal(size=n_thresholds), 1))
    categories = np.array([0, 0, 5])
    out = np.empty(X.shape, dtype=np.uint8)
    bin_rows(-(-n_rows // 10), 10, X, thresholds, categories, 255, out, n_threads=1)
    kept = [row[:n_thresholds] for row in thresholds]
    assert_array_equal(out, naive.bins_of(X, kept, categories, 255))
