"""Bins of raw values."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml.kernels.hist.bins import WIDTH, bin_chunk, bin_of, bin_rows

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


@pytest.mark.parametrize("n_thresholds", [0, 1, 2, 127, 128, 255])
def test_bin_of_one_value(n_thresholds):
    thresholds = np.full((2, WIDTH), np.inf)
    thresholds[1, :n_thresholds] = np.arange(n_thresholds)
    for x in (-np.inf, -0.5, 0.0, 0.5, 1.0, 126.5, 127.0, 200.0, 254.0, 254.5, np.inf):
        assert bin_of(x, thresholds, 1) == np.searchsorted(thresholds[1, :n_thresholds], x)
    assert bin_of(np.nan, thresholds, 1) == 0


def test_a_chunk_writes_its_own_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 2))
    thresholds = np.full((2, WIDTH), np.inf)
    thresholds[:, :3] = -1.0, 0.0, 1.0
    categories = np.zeros(2, dtype=np.intp)
    out = np.full(X.shape, 99, dtype=np.uint8)
    bin_chunk(2, 4, X, thresholds, categories, 255, out)
    assert np.all(out[:8] == 99)
    assert_array_equal(out[8:], naive.bins_of(X[8:], thresholds[:, :3], categories, 255))
