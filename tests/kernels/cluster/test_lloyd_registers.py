"""The vector code gives the nearest centres and the sums that plain NumPy gives."""

import numpy as np
import pytest

from fastml._jit import kernel
from fastml.kernels.cluster import lloyd_registers
from fastml.kernels.cluster.lloyd_registers import (
    CENTERS_PER_GROUP,
    N_VECTORS,
    STRIDE,
    SUM_LANES,
    TILE,
    add_in_python,
    add_row,
    nearest_in_python,
    nearest_of_tile,
)

pytestmark = pytest.mark.small
floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@kernel
def find(tile, n_rows, coefficients, norms, run, best, second, nearest):
    nearest_of_tile(tile, n_rows, coefficients, norms, run, best, second, nearest)


@kernel
def add(totals, run, center, weighted, slot):
    add_row(totals, run, center, weighted, slot)


def outputs(dtype):
    return np.zeros(TILE, dtype), np.zeros(TILE, dtype), np.full(TILE, -1, np.int32)


def problem(d, n_groups, dtype):
    rng = np.random.default_rng(d)
    tile = rng.normal(size=(d, STRIDE)).astype(dtype)
    coefficients = rng.normal(size=(3, n_groups, d, CENTERS_PER_GROUP)).astype(dtype)
    norms = rng.normal(size=(3, n_groups * CENTERS_PER_GROUP)).astype(dtype)
    return tile, coefficients, norms


@floats
@pytest.mark.parametrize(("d", "n_groups"), [(1, 1), (2, 5), (7, 2), (33, 3)])
def test_nearest_and_second(d, n_groups, dtype):
    tile, coefficients, norms = problem(d, n_groups, dtype)
    norms[1, -2:] = np.finfo(dtype).max  # padding
    found, expected = outputs(dtype), outputs(dtype)
    find(tile, TILE, coefficients, norms, 1, *found)
    nearest_in_python(tile, TILE, coefficients, norms, 1, *expected)
    for ours, theirs in zip(found[:2], expected[:2]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found[2], expected[2])
    centers = coefficients[1].swapaxes(1, 2).reshape(-1, d).astype(np.float64)
    scores = tile[:, :TILE].T.astype(np.float64) @ centers.T + norms[1]
    np.testing.assert_array_equal(expected[2], scores.argmin(axis=1))
    np.testing.assert_allclose(expected[1], np.sort(scores, axis=1)[:, 1], rtol=1e-4, atol=1e-4)


@floats
def test_bits_do_not_depend_on_the_place_in_the_tile(dtype):
    tile, coefficients, norms = problem(5, 3, dtype)
    straight, turned = outputs(dtype), outputs(dtype)
    find(tile, TILE, coefficients, norms, 0, *straight)
    find(np.roll(tile[:, :TILE], 37, axis=1) @ np.eye(TILE, STRIDE, dtype=dtype), TILE,
         coefficients, norms, 0, *turned)  # fmt: skip
    for a, b in zip(straight, turned):
        np.testing.assert_array_equal(np.roll(a, 37), b)


@floats
@pytest.mark.parametrize("n_rows", [1, 40, TILE - 1])
def test_a_tile_that_is_not_full(n_rows, dtype):
    tile, coefficients, norms = problem(5, 3, dtype)
    whole, part = outputs(dtype), outputs(dtype)
    find(tile, TILE, coefficients, norms, 0, *whole)
    find(tile, n_rows, coefficients, norms, 0, *part)
    for a, b in zip(whole, part):
        np.testing.assert_array_equal(a[:n_rows], b[:n_rows])


@floats
@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_overflow_does_not_let_padding_win(score, dtype):
    tile, coefficients, norms = problem(2, 2, dtype)
    coefficients[0] = 0
    norms[0] = [score] * 5 + [np.finfo(dtype).max] * 3
    for function in (find, nearest_in_python):
        best, second, nearest = outputs(dtype)
        function(tile, TILE, coefficients, norms, 0, best, second, nearest)
        assert (nearest == 0).all()
        assert (best == np.finfo(dtype).max).all()
        assert (second == np.finfo(dtype).max).all()


@floats
def test_ties_go_to_the_first_and_nan_never_wins(dtype):
    tile, coefficients, norms = problem(2, 2, dtype)
    coefficients[0], norms[0] = coefficients[0, 0, :, :1], 1.0
    norms[0, 0] = np.nan
    best, second, nearest = outputs(dtype)
    find(tile, TILE, coefficients, norms, 0, best, second, nearest)
    assert (nearest == 1).all()
    np.testing.assert_array_equal(best, second)
    norms[0] = np.nan
    find(tile, TILE, coefficients, norms, 0, best, second, nearest)
    assert (nearest == 0).all()


@pytest.mark.parametrize("length", [SUM_LANES, 3 * SUM_LANES])
def test_a_row_is_added_to_its_cluster_only(length):
    rng = np.random.default_rng(0)
    weighted, totals = rng.normal(size=(5, length)), rng.normal(size=(2, 3, length))
    expected = totals.copy()
    add(totals, 1, 2, weighted, 4)
    add_in_python(expected, 1, 2, weighted, 4)
    np.testing.assert_array_equal(totals, expected)


@pytest.mark.parametrize(
    ("features", "n_bytes"), [("+avx512f,+avx", 64), ("+avx,-avx512f", 32), ("+neon", 16)]
)
def test_tiles_are_whole_blocks_of_registers(features, n_bytes):
    assert lloyd_registers.vector_bytes(features) == n_bytes
    for float_bytes in (4, 8):
        assert TILE % (N_VECTORS * n_bytes // float_bytes) == 0
