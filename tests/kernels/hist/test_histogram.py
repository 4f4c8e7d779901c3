"""Packed histograms are plain integer sums."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml.kernels.hist import histogram as kernels

pytestmark = pytest.mark.small

PACKING = kernels.Packing(count_bits=10, hessian_bits=20, rows_per_tile=300)
USED = [0, 1, 2, 3, 4, 5, 255]


def rows_in_bins(n_rows, n_features):
    """Bins 0 to 5 and 255, integer gradients and hessians, and these packed."""
    rng = np.random.default_rng(n_rows)
    bins = rng.integers(0, 6, (n_rows, n_features)).astype(np.uint8)
    bins[rng.random(bins.shape) < 0.1] = 255
    g, h = rng.integers(-50, 50, n_rows), rng.integers(0, 20, n_rows)
    packed = [kernels.pack(float(a), float(b), PACKING) for a, b in zip(g, h)]
    return bins, g, h, np.array(packed, dtype=np.int64)


def unpacked(words):
    """(..., 3): gradients, hessians, counts of packed words or their sums."""
    g, rest = (
        np.reshape([field(word, PACKING) for word in words.ravel()], words.shape).astype(np.int64)
        for field in (kernels.gradient_field, kernels.hessian_and_count)
    )
    return np.stack([g, rest >> kernels.COUNT_BITS, rest & kernels.COUNT_MASK], axis=-1)


def plain(histogram):
    """(features, bins in use, 3) of a histogram of two words per bin."""
    g, rest = histogram[:, USED, 0], histogram[:, USED, 1]
    return np.stack([g, rest >> kernels.COUNT_BITS, rest & kernels.COUNT_MASK], axis=2)


def test_pack_rounds_and_fields_come_back():
    packing = kernels.Packing(12, 20, 4000, gradient_scale=8.0, hessian_scale=4.0)
    for gradient in (-3.3, -0.0625, 0.0, 0.0624, 2.5, 1000.0):
        for hessian in (0.0, 0.12, 0.13, 7.0):
            word = kernels.pack(gradient, hessian, packing)
            rest = kernels.hessian_and_count(word, packing)
            assert kernels.gradient_field(word, packing) == np.rint(8.0 * gradient)
            assert rest >> kernels.COUNT_BITS == np.rint(4.0 * hessian)
            assert rest & kernels.COUNT_MASK == 1


@pytest.mark.parametrize("n_rows", [0, 1, 2, 255])
def test_a_sum_of_words_holds_the_three_sums(n_rows):
    _, g, h, packed = rows_in_bins(n_rows, 1)
    total = np.int64(packed.sum())
    assert_array_equal(unpacked(np.array([total]))[0], [g.sum(), h.sum(), n_rows])


@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_rows_into_a_tile_and_out_of_it(n_features):
    bins, g, h, packed = rows_in_bins(200, n_features)
    rows = np.random.default_rng(0).permutation(200).astype(np.uint32)
    first, last = (1, n_features) if n_features > 1 else (0, 1)
    tile = np.zeros((last - first, 256), dtype=np.int64)
    kernels.add_rows(bins, rows, 20, 150, packed, first, last, tile)
    expected = naive.integer_histogram(bins, rows[20:150], g, h)[first:last]
    assert_array_equal(unpacked(tile), expected)
    out = np.zeros((n_features, 256, 2), dtype=np.int64)
    n_bins = np.full(n_features, 6)
    kernels.empty_tile(tile, n_bins, 255, PACKING, first, last, out)
    assert_array_equal(plain(out)[first:last], expected[:, USED])
    assert not out[:first].any()
    assert not tile.any()


@pytest.mark.parametrize("n_rows", [0, 1, 90])
def test_few_rows_need_no_tile(n_rows):
    bins, g, h, packed = rows_in_bins(n_rows, 3)
    rows = np.arange(n_rows, dtype=np.uint32)
    out = np.zeros((3, 256, 2), dtype=np.int64)
    kernels.add_few_rows(bins, rows, n_rows // 3, n_rows, packed, PACKING, 1, 3, out)
    expected = naive.integer_histogram(bins, rows[n_rows // 3 :], g, h)[:, USED]
    assert_array_equal(plain(out)[1:], expected[1:])
    assert not out[0].any()


@pytest.mark.parametrize("n_rows", [0, 1, 2, 100, 700])
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_histogram_and_subtraction(n_rows, n_features):
    bins, g, h, packed = rows_in_bins(n_rows, n_features)
    n_bins = np.full(n_features, 6)
    tile = np.zeros((n_features, 256), dtype=np.int64)
    rows = np.arange(n_rows, dtype=np.uint32)

    def build(chosen):
        out = np.full((n_features, 256, 2), 7, dtype=np.int64)
        kernels.node_histogram(
            bins, chosen, 0, len(chosen), packed, PACKING, n_bins, 255, 0, n_features, tile, out
        )
        return out

    whole = build(rows)
    assert_array_equal(plain(whole), naive.integer_histogram(bins, rows, g, h)[:, USED])
    assert not tile.any()
    twice = whole.copy()
    kernels.add_node(
        bins, rows, 0, n_rows, packed, PACKING, n_bins, 255, 0, n_features, tile, twice
    )
    assert_array_equal(plain(twice), 2 * plain(whole))
    assert not tile.any()
    part = rows[: n_rows // 3]
    kernels.subtract(whole, build(part), n_bins, 255, 0, n_features)
    assert_array_equal(
        plain(whole), naive.integer_histogram(bins, rows[n_rows // 3 :], g, h)[:, USED]
    )
