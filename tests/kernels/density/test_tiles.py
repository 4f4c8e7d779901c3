"""Tiles hold every point once, close together, in their boxes."""

import numpy as np
import pytest

from fastml.kernels.density.tiles import (
    FAR_AWAY,
    TILE,
    Tiles,
    box_gap2,
    boxes,
    pack,
    squares_to_tile,
    tile_order,
)

pytestmark = pytest.mark.small


def packed(X, values):
    rows, order = X.copy(), np.arange(X.shape[0])
    tile_order(rows, order, TILE)
    n_tiles, d, m = -(-X.shape[0] // TILE), X.shape[1], values.shape[1]
    tiles = Tiles(
        np.empty((n_tiles, d, TILE)),
        np.empty((n_tiles, m, TILE)),
        np.empty((n_tiles, d)),
        np.empty((n_tiles, d)),
        np.empty(n_tiles),
    )
    pack(rows, order, values, tiles)
    return tiles, order


@pytest.mark.parametrize("n", [1, 2, TILE, TILE + 1, 700])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_point_is_in_one_tile_and_in_its_box(n, d):
    rng = np.random.default_rng(n)
    X, values = rng.normal(size=(n, d)), rng.random((n, 2))
    tiles, order = packed(X, values)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    rows = tiles.coordinates.transpose(0, 2, 1).reshape(-1, d)
    np.testing.assert_array_equal(rows[:n], X[order])
    np.testing.assert_array_equal(rows[n:], FAR_AWAY)
    shares = tiles.values.transpose(0, 2, 1).reshape(-1, 2)
    np.testing.assert_array_equal(shares[:n], values[order])
    np.testing.assert_array_equal(shares[n:], 0.0)
    np.testing.assert_allclose(tiles.weight.sum(), values[:, 0].sum())
    for t in range(tiles.low.shape[0]):
        inside = X[order[t * TILE : (t + 1) * TILE]]
        np.testing.assert_array_equal(tiles.low[t], inside.min(axis=0))
        np.testing.assert_array_equal(tiles.high[t], inside.max(axis=0))


def test_tiles_are_smaller_than_slices_of_the_input():
    X = np.random.default_rng(0).random((16 * TILE, 2))
    tiles, _ = packed(X, np.ones((X.shape[0], 1)))
    assert np.max(tiles.high - tiles.low) < 0.5


@pytest.mark.parametrize("tile", [1, 4])
def test_order_of_equal_rows_and_lines(tile):
    for X in (np.ones((10, 3)), np.arange(10.0)[::-1, None].copy()):
        rows, order = X.copy(), np.arange(10)
        tile_order(rows, order, tile)
        np.testing.assert_array_equal(rows, X[order])
        low, high = np.empty((-(-10 // tile), X.shape[1])), np.empty((-(-10 // tile), X.shape[1]))
        boxes(rows, tile, low, high)
        assert np.all(low[1:, 0] >= high[:-1, 0])


@pytest.mark.parametrize("d", range(1, 10))
def test_squares(d):
    rng = np.random.default_rng(d)
    X, Q, out = rng.normal(size=(2, TILE, d)), rng.normal(size=(3, d)), np.empty((2, TILE))
    coordinates = np.ascontiguousarray(X.transpose(0, 2, 1))
    squares_to_tile(Q, np.array([1, 2, 0]), 1, 3, coordinates, 1, out)
    expected = ((X[1][None] - Q[[2, 0]][:, None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_gap_of_boxes():
    low, high = np.zeros(2), np.ones(2)
    assert box_gap2(low, high, np.array([0.5, 0.5]), np.array([2.0, 2.0])) == 0.0
    assert box_gap2(low, high, np.array([4.0, 5.0]), np.array([6.0, 6.0])) == 25.0
    assert box_gap2(low, high, np.array([-3.0, 0.0]), np.array([-2.0, 1.0])) == 4.0
