"""Histograms of quantised gradients, row by row.

A row's gradient, hessian and count are three fields of one integer, g | h | 1, so that one addition
adds all three (Shi et al., "Quantized training of gradient boosting decision trees", NeurIPS 2022).
Integer sums do not depend on their order: histograms are equal to the bit for any number of threads
and a child's is its parent's minus its sibling's. Fields are wide enough for `rows_per_tile` rows;
a node's histogram keeps two words per bin, the gradient and (hessian, count).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel

COUNT_BITS = np.int64(28)
COUNT_MASK = np.int64((1 << 28) - 1)
FEW_ROWS = 512  # fewer go straight to the two-word histogram: emptying a tile would cost more


class Packing(NamedTuple):
    """How gradient, hessian and count of a row are packed into one integer."""

    count_bits: int  # width of the lowest field
    hessian_bits: int  # of the one above it; the gradient has the rest
    rows_per_tile: int  # rows whose packed sum fits the fields
    gradient_scale: float = 1.0  # units of the packed gradient in 1.0
    hessian_scale: float = 1.0


@kernel
def pack(gradient, hessian, packing):
    """One row as an integer: rounded gradient, rounded hessian, one."""
    g = np.int64(np.rint(gradient * packing.gradient_scale))
    h = np.int64(np.rint(hessian * packing.hessian_scale))
    return (
        (g << (packing.count_bits + packing.hessian_bits)) + (h << packing.count_bits) + np.int64(1)
    )


@kernel
def gradient_field(word, packing):
    """The gradient of a packed word, or of a sum of such words."""
    return word >> (packing.count_bits + packing.hessian_bits)


@kernel
def hessian_and_count(word, packing):
    """Hessian and count of a packed word as a histogram has them: hessian << COUNT_BITS | count."""
    one = np.int64(1)
    h = (word >> packing.count_bits) & ((one << packing.hessian_bits) - one)
    return (h << COUNT_BITS) + (word & ((one << packing.count_bits) - one))


@kernel
def add_rows(bins, rows, start, stop, packed, first, last, tile):
    """Add the rows rows[start:stop] to the tile, which holds the features from first up to last:
    tile[f - first, b] += packed word of every row whose feature f is in bin b."""
    one, four = np.uintp(1), np.uintp(4)
    begin, width = np.uintp(first), np.uintp(last - first)
    for i in range(start, stop):
        r = np.uintp(rows[i])
        word = packed[r]
        j = np.uintp(0)
        f = begin
        while j + four <= width:
            b0 = np.uintp(bins[r, f])
            b1 = np.uintp(bins[r, f + one])
            b2 = np.uintp(bins[r, f + np.uintp(2)])
            b3 = np.uintp(bins[r, f + np.uintp(3)])
            tile[j, b0] += word
            tile[j + one, b1] += word
            tile[j + np.uintp(2), b2] += word
            tile[j + np.uintp(3), b3] += word
            j += four
            f += four
        while j < width:
            tile[j, np.uintp(bins[r, f])] += word
            j += one
            f += one


@kernel
def add_few_rows(bins, rows, start, stop, packed, packing, first, last, histogram):
    """Add the rows rows[start:stop] to the histogram itself, features from first up to last."""
    for i in range(start, stop):
        r = np.intp(rows[i])
        g = gradient_field(packed[r], packing)
        rest = hessian_and_count(packed[r], packing)
        for f in range(first, last):
            b = bins[r, f]
            histogram[f, b, 0] += g
            histogram[f, b, 1] += rest


@kernel
def empty_tile(tile, n_bins, missing_bin, packing, first, last, histogram):
    """Add the tile to the node's histogram and set it to zero; features from first up to last."""
    for f in range(first, last):
        t = f - first
        for b in range(n_bins[f]):
            word = tile[t, b]
            histogram[f, b, 0] += gradient_field(word, packing)
            histogram[f, b, 1] += hessian_and_count(word, packing)
            tile[t, b] = 0
        word = tile[t, missing_bin]
        histogram[f, missing_bin, 0] += gradient_field(word, packing)
        histogram[f, missing_bin, 1] += hessian_and_count(word, packing)
        tile[t, missing_bin] = 0


@kernel
def node_histogram(
    bins, rows, start, stop, packed, packing, n_bins, missing_bin, first, last, tile, histogram
):
    """Write the histogram of rows[start:stop] for the features from first up to last.

    Only bins below ``n_bins[f]`` and the bin of missing values are written. ``tile`` is scratch,
    zero before and after.
    """
    for f in range(first, last):
        for b in range(n_bins[f]):
            histogram[f, b, 0] = 0
            histogram[f, b, 1] = 0
        histogram[f, missing_bin, 0] = 0
        histogram[f, missing_bin, 1] = 0
    add_node(
        bins, rows, start, stop, packed, packing, n_bins, missing_bin, first, last, tile, histogram
    )


@kernel
def add_node(
    bins, rows, start, stop, packed, packing, n_bins, missing_bin, first, last, tile, histogram
):
    """Add rows[start:stop] to the histogram, features from first up to last; else as
    `node_histogram`."""
    if stop - start <= FEW_ROWS:
        add_few_rows(bins, rows, start, stop, packed, packing, first, last, histogram)
        return
    for begin in range(start, stop, packing.rows_per_tile):
        end = min(stop, begin + packing.rows_per_tile)
        add_rows(bins, rows, begin, end, packed, first, last, tile)
        empty_tile(tile, n_bins, missing_bin, packing, first, last, histogram)


@kernel
def subtract(parent, child, n_bins, missing_bin, first, last):
    """parent -= child for the features from first up to last: then it is the other child's."""
    for f in range(first, last):
        for b in range(n_bins[f]):
            parent[f, b, 0] -= child[f, b, 0]
            parent[f, b, 1] -= child[f, b, 1]
        parent[f, missing_bin, 0] -= child[f, missing_bin, 0]
        parent[f, missing_bin, 1] -= child[f, missing_bin, 1]
