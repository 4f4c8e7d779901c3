"""Sums over pairs of tiled points against the full matrix."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.smoother import in_tile_order, tiles_of
from fastml._jit import jit_enabled
from fastml.kernels.density.pair_integral import pair_sums
from fastml.kernels.density.tiles import TILE

pytestmark = pytest.mark.small


def summed(X, weights, reach, table, n_chunks=3, n_threads=1):
    rows, order = in_tile_order(X.copy(), TILE)
    tiles = tiles_of(rows, order, weights[:, None])
    n_tiles = tiles.weight.shape[0]
    total = 0.0
    for first in range(0, n_tiles, 2):
        partial = np.zeros(n_chunks)
        last = min(first + 2, n_tiles)
        pair_sums(rows, first, last, tiles, reach, table, partial, n_threads=n_threads)
        total += partial.sum()
    return total


@pytest.mark.parametrize("n", [1, 2, TILE, 3 * TILE + 5 if jit_enabled() else TILE + 5])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("reach", [0.3, 50.0])
def test_all_pairs(n, d, reach):
    rng = np.random.default_rng(n)
    X, w = rng.normal(size=(n, d)), rng.random(n)
    table = np.array([1.0, 0.8, 0.3, 0.1, 0.0])
    expected = naive.sum_over_pairs(X, w, reach, table)
    assert summed(X, w, reach, table) == pytest.approx(expected, rel=1e-12)
    if jit_enabled():
        assert summed(X, w, reach, table, n_threads=2) == summed(X, w, reach, table)


def test_equal_points():
    X, w = np.zeros((130, 2)), np.ones(130)
    assert summed(X, w, 1.0, np.array([2.0, 0.0])) == pytest.approx(2.0 * 130**2)
