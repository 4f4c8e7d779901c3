"""The vector code gives the scores and the bits that plain NumPy gives."""

import numpy as np
import pytest

from fastml._jit import kernel
from fastml.kernels.neighbors import panel as simd
from fastml.kernels.neighbors.panel import (
    GROUP_QUERIES,
    LANES,
    first_lane,
    panel_scores,
    scores_in_python,
)


@kernel
def score(panels, halves, panel, queries, limits, group, scores, masks):
    return panel_scores(panels, halves, panel, queries, limits, group, scores, masks)


@kernel
def lowest(bits):
    return first_lane(bits)


@pytest.mark.small
def test_first_lane_finds_every_bit():
    for lane in (0, 1, 7, 8, 31, 63):
        assert lowest(np.uint64((1 << lane) | (1 << 63))) == lane


@pytest.mark.small
@pytest.mark.parametrize("d", [1, 2, 65])
def test_scores_and_masks(d):
    rng = np.random.default_rng(d)
    panels = rng.normal(size=(3, d, LANES)).astype(np.float32)
    halves = rng.normal(size=(3, LANES)).astype(np.float32)
    queries = rng.normal(size=(2, d, GROUP_QUERIES)).astype(np.float32)
    limits = rng.normal(size=(2, GROUP_QUERIES)).astype(np.float32)
    halves[1, 60:] = np.nan  # points that are not there
    limits[1, 3] = np.nan  # a query that is not there
    limits[1, 4] = -np.inf  # everything is near enough
    limits[0] = np.inf  # nothing is
    for group in range(2):
        found = np.empty((GROUP_QUERIES, LANES), np.float32), np.empty(GROUP_QUERIES, np.uint64)
        expected = np.empty((GROUP_QUERIES, LANES), np.float32), np.empty(GROUP_QUERIES, np.uint64)
        bits = score(panels, halves, 1, queries, limits, group, *found)
        expected_bits = scores_in_python(panels, halves, 1, queries, limits, group, *expected)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(found[1], expected[1])
        assert bits == expected_bits
    assert found[1][3] == 0
    assert found[1][4] == np.uint64(2**60 - 1)


@pytest.mark.small
@pytest.mark.parametrize(
    ("features", "shape"),
    [("+sse2,+avx512f,+avx", (16, 4)), ("+avx,-avx512f", (8, 2)), ("+neon", (4, 2))],
)
def test_block_fits_the_registers(features, shape):
    assert simd._vector_shape(features) == shape
    width, n_registers = shape
    assert LANES % (width * n_registers) == 0
