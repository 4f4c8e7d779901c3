"""A compiled function of two rows, over all pairs."""

import numpy as np
import pytest

from fastml._jit import jit_enabled
from fastml.kernels.distances.pair_tiles import tile_count
from fastml.kernels.distances.user_metric import call_metric, sample_metric

pytestmark = pytest.mark.small


def matrix(X, Y, size=4, n_threads=1):
    out = np.full((len(X), len(Y)), np.nan)
    tiles = tile_count(len(X), len(Y), size, X is Y)
    call_metric(0, tiles, size, sample_metric, X, Y, X is Y, out, n_threads=n_threads)
    return out


def test_the_discrete_metric():
    assert sample_metric(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.0
    assert sample_metric(np.array([1.0, 2.0]), np.array([1.0, 2.5])) == 1.0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_all_pairs(n_threads):
    X = np.random.default_rng(0).integers(0, 2, (11, 2)).astype(np.float64)
    Y = X[:5].copy()
    for other in (X, Y):
        wanted = (X[:, None] != other[None]).any(axis=2)
        np.testing.assert_array_equal(matrix(X, other, n_threads=n_threads), wanted)


@pytest.mark.skipif(not jit_enabled(), reason="about the cache")
def test_it_is_never_cached_on_disk():
    assert not call_metric.shared._cache._enabled
