"""Metrics of boolean vectors, 64 coordinates at a time.

A row is packed into 64-bit words. One count decides every metric, |x ∧ y|: with |x| and |y| it also
gives |x ∨ y| and |x xor y|. Words of Y are stored by word, not by row, so that one word of x meets
consecutive words of Y in SIMD lanes.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import JACCARD, MATCHING, boolean_distance
from fastml.kernels.distances.pair_tiles import make_symmetric, store_tile, tile_corner
from fastml.kernels.numeric.bitset import popcount


@kernel
def count_ones(words, out):
    """Write the number of ones in column j of ``words`` to ``out[j]``."""
    for j in range(words.shape[1]):
        out[j] = 0.0
    for w in range(words.shape[0]):
        for j in range(words.shape[1]):
            out[j] += np.float64(np.int64(popcount(words[w, j])))


@kernel
def _count_common(x, i, y, j0, n, counts):
    """Write the number of ones that column i of x and column j0 + j of y share to ``counts[j]``."""
    word = x[0, i]
    for j in range(n):
        counts[j] = popcount(word & y[0, j0 + j])
    for w in range(1, x.shape[0]):
        word = x[w, i]
        for j in range(n):
            counts[j] += popcount(word & y[w, j0 + j])


@kernel
def _matching_row(x, i, y, j0, n, table, counts, row, at):
    """Write ``table[number of bits in which column i of x and j0 + j of y differ]`` to row[at + j].

    ``counts`` is scratch. A look-up is several times quicker than conversion and division.
    """
    word = x[0, i]
    if x.shape[0] == 1:
        for j in range(n):
            row[at + j] = table[popcount(word ^ y[0, j0 + j])]
        return
    for j in range(n):
        counts[j] = popcount(word ^ y[0, j0 + j])
    for w in range(1, x.shape[0]):
        word = x[w, i]
        for j in range(n):
            counts[j] += popcount(word ^ y[w, j0 + j])
    for j in range(n):
        row[at + j] = table[counts[j]]


@kernel(fused=True)
def _distances_from_counts(code, n_bits, counts, ones_x, ones_y, j0, n, row):
    """Write the distances of a vector with ``ones_x`` ones and columns j0.. of y to ``row[:n]``.

    ``counts[:n]`` are the ones they share, ``ones_y[j0:]`` those of y.
    """
    if code == JACCARD:
        for j in range(n):
            both = np.float64(np.int64(counts[j]))
            union = ones_x + ones_y[j0 + j] - both
            row[j] = (union - both) / (union if union > 0.0 else 1.0)
    else:
        for j in range(n):
            both = np.float64(np.int64(counts[j]))
            row[j] = boolean_distance(code, n_bits, both, ones_x - both, ones_y[j0 + j] - both)


@kernel
def _bit_tile(c, size, code, n_bits, x, y, ones_x, ones_y, table, symmetric, out):
    """Write tile number c to ``out``, and its mirror image if symmetric."""
    i0, j0 = tile_corner(c, y.shape[1], size, symmetric)
    i1 = min(i0 + size, x.shape[1])
    j1 = min(j0 + size, y.shape[1])
    counts = np.empty(j1 - j0, dtype=np.uint64)
    if code == MATCHING and not symmetric:
        for i in range(i0, i1):
            _matching_row(x, i, y, j0, j1 - j0, table, counts, out[i], j0)
        return
    tile = np.empty((i1 - i0, j1 - j0 + 8))
    for i in range(i0, i1):
        if code == MATCHING:
            _matching_row(x, i, y, j0, j1 - j0, table, counts, tile[i - i0], 0)
            continue
        _count_common(x, i, y, j0, j1 - j0, counts)
        _distances_from_counts(code, n_bits, counts, ones_x[i], ones_y, j0, j1 - j0, tile[i - i0])
    if symmetric and i0 == j0:
        make_symmetric(tile, i1 - i0, False)
    store_tile(tile, i0, i1, j0, j1, symmetric and i0 != j0, out)


@parallel_kernel
def bit_tiles(first, last, size, code, n_bits, x, y, ones_x, ones_y, table, symmetric, out):
    """Write tiles first..last of ``size`` rows and columns to ``out``; any boolean metric.

    Column i of x is vector i, ``n_bits`` bits in 64-bit words; ``ones_x[i]`` counts its ones.
    ``table`` is for MATCHING: the distance by the number of different bits.
    """
    for c in prange(last - first):
        _bit_tile(
            first + np.intp(c), size, code, n_bits, x, y, ones_x, ones_y, table, symmetric, out
        )
