"""Histograms of quantised gradients, row by row.

A row's gradient, hessian and count are three fields of one integer, g | h | 1, so that one addition
adds all three (Shi et al., "Quantized training of gradient boosting decision trees", NeurIPS 2022).
Integer sums do not depend on their order: histograms are equal to the bit for any number of threads
and a child's is its parent's minus its sibling's. Fields are wide enough for `rows_per_tile` rows;
a node's histogram keeps two words per bin, the gradient and (hessian, count).
"""

import numpy as np

from fastml._jit import kernel

COUNT_BITS = np.int64(28)
COUNT_MASK = np.int64((1 << 28) - 1)
FEW_ROWS = 512  # fewer go straight to the two-word histogram: emptying a tile would cost more

# Fields of `packing`, an int64 array that describes the packed words.
COUNT_FIELD = 0  # bits of the count
HESSIAN_FIELD = 1  # bits of the hessian
ROWS_PER_TILE = 2


@kernel
def pack(gradient, hessian, gradient_scale, hessian_scale, packing):
    """One row as an integer: rounded gradient, rounded hessian, one."""
    g = np.int64(np.rint(gradient * gradient_scale))
    h = np.int64(np.rint(hessian * hessian_scale))
    return (
        (g << (packing[COUNT_FIELD] + packing[HESSIAN_FIELD]))
        + (h << packing[COUNT_FIELD])
        + np.int64(1)
    )


@kernel
def gradient_field(word, packing):
    return word >> (packing[COUNT_FIELD] + packing[HESSIAN_FIELD])


@kernel
def hessian_and_count(word, packing):
    """The second word of a node's histogram: hessian << COUNT_BITS | count."""
    one = np.int64(1)
    h = (word >> packing[COUNT_FIELD]) & ((one << packing[HESSIAN_FIELD]) - one)
    return (h << COUNT_BITS) + (word & ((one << packing[COUNT_FIELD]) - one))


@kernel
def add_rows(bins, rows, start, stop, packed, first, last, tile):
    """tile[f - first, b] += packed word of every row whose feature f is in bin b."""
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
    """The same without a tile."""
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
    """Add the tile to the node's histogram and clear it."""
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
    """Histogram of rows[start:stop] for the features from first up to last; tile comes in zero."""
    for f in range(first, last):
        for b in range(n_bins[f]):
            histogram[f, b, 0] = 0
            histogram[f, b, 1] = 0
        histogram[f, missing_bin, 0] = 0
        histogram[f, missing_bin, 1] = 0
    if stop - start <= FEW_ROWS:
        add_few_rows(bins, rows, start, stop, packed, packing, first, last, histogram)
        return
    for begin in range(start, stop, packing[ROWS_PER_TILE]):
        end = min(stop, begin + packing[ROWS_PER_TILE])
        add_rows(bins, rows, begin, end, packed, first, last, tile)
        empty_tile(tile, n_bins, missing_bin, packing, first, last, histogram)


@kernel
def subtract(parent, child, n_bins, missing_bin, first, last):
    """parent -= child, which makes it the histogram of the other child."""
    for f in range(first, last):
        for b in range(n_bins[f]):
            parent[f, b, 0] -= child[f, b, 0]
            parent[f, b, 1] -= child[f, b, 1]
        parent[f, missing_bin, 0] -= child[f, missing_bin, 0]
        parent[f, missing_bin, 1] -= child[f, missing_bin, 1]
