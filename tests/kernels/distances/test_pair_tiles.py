"""Tiles cover every pair once."""

import numpy as np
import pytest

from fastml.kernels.distances.pair_tiles import make_symmetric, store_tile, tile_corner, tile_count

pytestmark = pytest.mark.small


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 9), (9, 4), (1, 12)])
@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_tiles_cover_the_matrix(shape, size):
    covered = np.zeros(shape, dtype=int)
    for c in range(tile_count(*shape, size, False)):
        i, j = tile_corner(c, shape[1], size, False)
        covered[i : i + size, j : j + size] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize("n", [1, 2, 4, 5, 13])
@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_symmetric_tiles_cover_the_upper_triangle(n, size):
    covered = np.zeros((n, n), dtype=int)
    for c in range(tile_count(n, n, size, True)):
        i, j = tile_corner(c, n, size, True)
        assert j >= i
        covered[i : i + size, j : j + size] += 1
    assert covered.max() == 1
    assert (covered[np.triu_indices(n)] == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tile_is_written_with_its_mirror_image(dtype, mirrored):
    tile = np.arange(40 * 30, dtype=np.float64).reshape(40, 30)
    out = np.full((70, 70), -1.0, dtype=dtype)
    store_tile(tile, 1, 38, 40, 66, mirrored, out)
    expected = np.full((70, 70), -1.0)
    expected[1:38, 40:66] = tile[:37, :26]
    if mirrored:
        expected[40:66, 1:38] = tile[:37, :26].T
    np.testing.assert_array_equal(out, expected)


def test_make_symmetric():
    tile = np.random.default_rng(0).random((6, 7))
    upper = np.triu(tile[:5, :5])
    make_symmetric(tile, 5, True)
    np.testing.assert_array_equal(tile[:5, :5], tile[:5, :5].T)
    np.testing.assert_array_equal(np.triu(tile[:5, :5], 1), np.triu(upper, 1))
    assert not np.diagonal(tile)[:5].any()
