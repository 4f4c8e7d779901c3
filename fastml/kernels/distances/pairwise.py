"""Distance matrices by tiles, for metrics that are not functions of dot products.

`gap_tiles`: Euclidean in low dimension, Manhattan, Chebyshev, Minkowski with p = 3, 4. Columns of
a tile are the SIMD lanes: Y is transposed into a panel, two rows of X and four features are
worked off per pass, so the loads of one value of Y serve eight operations.

`row_tiles`: everything else, pair by pair through `metrics.rdist`.

Both finish with the distance, or with exp(scale · reduced distance) where scale ≠ 0 (Laplacian and
chi² kernels).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import (
    CHEBYSHEV,
    CUBIC,
    EUCLIDEAN,
    MANHATTAN,
    POWER,
    SQEUCLIDEAN,
    WEIGHTED_POWER,
    rdist_to_dist,
    rdist_to_rows,
)
from fastml.kernels.distances.pair_tiles import make_symmetric, store_tile, tile_corner
from fastml.kernels.numeric.exp import exp64, log64

GAP_LANES = 64  # columns of a tile that are worked off together
GAP_DEPTH = 128  # features of a panel
ROW_BLOCK = 64  # rows of X, and of Y, that `nearest_rows` takes at a time


@kernel
def _load_panel(Y, j0, k0, panel):
    """Write Y[j0 + j, k0 + k] in float64 to ``panel[k, j]``, zero outside Y."""
    columns = min(panel.shape[1], Y.shape[0] - j0)
    depth = min(panel.shape[0], Y.shape[1] - k0)
    for k in range(depth):
        for j in range(columns):
            panel[k, j] = np.float64(Y[j0 + j, k0 + k])
        for j in range(columns, panel.shape[1]):
            panel[k, j] = 0.0
    for k in range(depth, panel.shape[0]):
        for j in range(panel.shape[1]):
            panel[k, j] = 0.0


@kernel
def _load_two_rows(X, i, i_last, k0, pair):
    """Write rows i and i + 1 of X from column k0 on to ``pair``, zero outside X.

    Row i twice if i + 1 is beyond ``i_last``.
    """
    depth = min(pair.shape[1], X.shape[1] - k0)
    next_row = min(i + 1, i_last)
    for k in range(depth):
        pair[0, k] = np.float64(X[i, k0 + k])
        pair[1, k] = np.float64(X[next_row, k0 + k])
    for k in range(depth, pair.shape[1]):
        pair[0, k] = 0.0
        pair[1, k] = 0.0


@kernel(fused=True)
def _add_squares(pair, panel, first, second):
    """Add the squared gaps of a pair of rows and the columns of ``panel`` to their sums.

    ``first[j]`` and ``second[j]`` are the sums of the two rows and column j.
    """
    for k in range(0, panel.shape[0], 4):
        a0, a1, a2, a3 = pair[0, k], pair[0, k + 1], pair[0, k + 2], pair[0, k + 3]
        b0, b1, b2, b3 = pair[1, k], pair[1, k + 1], pair[1, k + 2], pair[1, k + 3]
        for j in range(GAP_LANES):
            y0, y1, y2, y3 = panel[k, j], panel[k + 1, j], panel[k + 2, j], panel[k + 3, j]
            s, t, u, v = a0 - y0, a1 - y1, a2 - y2, a3 - y3
            first[j] += (s * s + t * t) + (u * u + v * v)
            s, t, u, v = b0 - y0, b1 - y1, b2 - y2, b3 - y3
            second[j] += (s * s + t * t) + (u * u + v * v)


@kernel(fused=True)
def _add_absolute(pair, panel, first, second):
    """`_add_squares` of absolute gaps."""
    for k in range(0, panel.shape[0], 4):
        a0, a1, a2, a3 = pair[0, k], pair[0, k + 1], pair[0, k + 2], pair[0, k + 3]
        b0, b1, b2, b3 = pair[1, k], pair[1, k + 1], pair[1, k + 2], pair[1, k + 3]
        for j in range(GAP_LANES):
            y0, y1, y2, y3 = panel[k, j], panel[k + 1, j], panel[k + 2, j], panel[k + 3, j]
            first[j] += (abs(a0 - y0) + abs(a1 - y1)) + (abs(a2 - y2) + abs(a3 - y3))
            second[j] += (abs(b0 - y0) + abs(b1 - y1)) + (abs(b2 - y2) + abs(b3 - y3))


@kernel
def _larger(a, b):
    """The larger number; b if one is NaN."""
    return a if a > b else b


@kernel(fused=True)
def _keep_largest(pair, panel, first, second):
    """`_add_squares` for the largest gap instead of a sum."""
    for k in range(0, panel.shape[0], 4):
        a0, a1, a2, a3 = pair[0, k], pair[0, k + 1], pair[0, k + 2], pair[0, k + 3]
        b0, b1, b2, b3 = pair[1, k], pair[1, k + 1], pair[1, k + 2], pair[1, k + 3]
        for j in range(GAP_LANES):
            y0, y1, y2, y3 = panel[k, j], panel[k + 1, j], panel[k + 2, j], panel[k + 3, j]
            gap = _larger(_larger(abs(a0 - y0), abs(a1 - y1)), _larger(abs(a2 - y2), abs(a3 - y3)))
            first[j] = _larger(first[j], gap)
            gap = _larger(_larger(abs(b0 - y0), abs(b1 - y1)), _larger(abs(b2 - y2), abs(b3 - y3)))
            second[j] = _larger(second[j], gap)


@kernel(fused=True)
def _add_cubes(pair, panel, first, second):
    """`_add_squares` of cubed absolute gaps."""
    for k in range(0, panel.shape[0], 2):
        a0, a1, b0, b1 = pair[0, k], pair[0, k + 1], pair[1, k], pair[1, k + 1]
        for j in range(GAP_LANES):
            y0, y1 = panel[k, j], panel[k + 1, j]
            s, t = abs(a0 - y0), abs(a1 - y1)
            first[j] += s * s * s + t * t * t
            s, t = abs(b0 - y0), abs(b1 - y1)
            second[j] += s * s * s + t * t * t


@kernel(fused=True)
def _add_fourth_powers(pair, panel, first, second):
    """`_add_squares` of fourth powers of gaps."""
    for k in range(0, panel.shape[0], 2):
        a0, a1, b0, b1 = pair[0, k], pair[0, k + 1], pair[1, k], pair[1, k + 1]
        for j in range(GAP_LANES):
            y0, y1 = panel[k, j], panel[k + 1, j]
            s, t = (a0 - y0) * (a0 - y0), (a1 - y1) * (a1 - y1)
            first[j] += s * s + t * t
            s, t = (b0 - y0) * (b0 - y0), (b1 - y1) * (b1 - y1)
            second[j] += s * s + t * t


@kernel
def _add_gaps(code, pair, panel, first, second):
    """Add to ``first`` and ``second`` what the gaps add to the reduced distance ``code``."""
    if code <= SQEUCLIDEAN:
        _add_squares(pair, panel, first, second)
    elif code == MANHATTAN:
        _add_absolute(pair, panel, first, second)
    elif code == CHEBYSHEV:
        _keep_largest(pair, panel, first, second)
    elif code == CUBIC:
        _add_cubes(pair, panel, first, second)
    else:
        _add_fourth_powers(pair, panel, first, second)


@kernel
def _finish(code, p, scale, row, n):
    """Change ``row[:n]``, reduced distances, to distances, or to exp(scale · reduced)."""
    if scale != 0.0:
        for j in range(n):
            row[j] = exp64(scale * row[j])
    elif code == EUCLIDEAN:
        for j in range(n):
            row[j] = np.sqrt(row[j])
    elif code == CUBIC or code == POWER or code == WEIGHTED_POWER:
        inverse = 1.0 / (3.0 if code == CUBIC else p)
        for j in range(n):
            row[j] = exp64(log64(row[j]) * inverse)
    elif code > MANHATTAN and code != CHEBYSHEV:
        for j in range(n):
            row[j] = rdist_to_dist(code, row[j], p)


@kernel
def _gap_tile(c, size, code, X, Y, scale, symmetric, out):
    """Write tile number c to ``out``, and its mirror image if symmetric."""
    i0, j0 = tile_corner(c, Y.shape[0], size, symmetric)
    i1 = min(i0 + size, X.shape[0])
    j1 = min(j0 + size, Y.shape[0])
    depth = min(GAP_DEPTH, (X.shape[1] + 3) // 4 * 4)
    pair = np.empty((2, depth))
    panel = np.empty((depth, GAP_LANES))
    # Eight more columns: at a power of two the mirror image would be read from one cache set.
    width = (j1 - j0 + GAP_LANES - 1) // GAP_LANES * GAP_LANES + 8
    tile = np.zeros(((i1 - i0 + 1) // 2 * 2, width))
    for left in range(j0, j1, GAP_LANES):
        lanes = slice(left - j0, left - j0 + GAP_LANES)
        for k0 in range(0, X.shape[1], depth):
            _load_panel(Y, left, k0, panel)
            for i in range(i0, i1, 2):
                _load_two_rows(X, i, i1 - 1, k0, pair)
                _add_gaps(code, pair, panel, tile[i - i0, lanes], tile[i + 1 - i0, lanes])
    for i in range(i1 - i0):
        _finish(code, 0.0, scale, tile[i], j1 - j0)
    if symmetric and i0 == j0:
        make_symmetric(tile, i1 - i0, False)
    store_tile(tile, i0, i1, j0, j1, symmetric and i0 != j0, out)


@parallel_kernel
def gap_tiles(first, last, size, code, X, Y, scale, symmetric, out):
    """Write tiles first..last of ``size`` rows and columns to ``out``; codes up to QUARTIC."""
    for c in prange(last - first):
        _gap_tile(first + np.intp(c), size, code, X, Y, scale, symmetric, out)


@kernel
def _row_tile(c, size, code, X, Y, p, v, scale, symmetric, out):
    """Write tile number c to ``out``, and its mirror image if symmetric."""
    i0, j0 = tile_corner(c, Y.shape[0], size, symmetric)
    i1 = min(i0 + size, X.shape[0])
    j1 = min(j0 + size, Y.shape[0])
    tile = np.empty((i1 - i0, j1 - j0 + 8))
    for i in range(i0, i1):
        row = tile[i - i0]
        rdist_to_rows(code, X, i, Y, j0, j1, p, v, row)
        _finish(code, p, scale, row, j1 - j0)
    if symmetric and i0 == j0:
        make_symmetric(tile, i1 - i0, False)
    store_tile(tile, i0, i1, j0, j1, symmetric and i0 != j0, out)


@parallel_kernel
def row_tiles(first, last, size, code, X, Y, p, v, scale, symmetric, out):
    """Write tiles first..last of ``size`` rows and columns to ``out``; any code."""
    for c in prange(last - first):
        _row_tile(first + np.intp(c), size, code, X, Y, p, v, scale, symmetric, out)


@kernel
def _nearest_rows(c, code, X, Y, p, v, distances, indices):
    """`nearest_rows` of block c of the rows of X."""
    i0 = c * ROW_BLOCK
    i1 = min(i0 + ROW_BLOCK, X.shape[0])
    row = np.empty(ROW_BLOCK)
    for i in range(i0, i1):
        distances[i] = np.inf
        indices[i] = 0
    for j0 in range(0, Y.shape[0], ROW_BLOCK):
        j1 = min(j0 + ROW_BLOCK, Y.shape[0])
        for i in range(i0, i1):
            rdist_to_rows(code, X, i, Y, j0, j1, p, v, row)
            for j in range(j1 - j0):
                # As np.argmin: the first NaN is the smallest, then the first of equals.
                if row[j] < distances[i] or (row[j] != row[j] and distances[i] == distances[i]):
                    distances[i] = row[j]
                    indices[i] = j0 + j
    for i in range(i0, i1):
        distances[i] = rdist_to_dist(code, distances[i], p)


@parallel_kernel
def nearest_rows(first, last, code, X, Y, p, v, distances, indices):
    """Write ``indices`` of and ``distances`` to the nearest row of Y, the first of equals.

    For blocks first..last of ROW_BLOCK rows of X; any metric.
    """
    for c in prange(last - first):
        _nearest_rows(first + np.intp(c), code, X, Y, p, v, distances, indices)
