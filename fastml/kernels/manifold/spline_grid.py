"""Repulsion of t-SNE on a regular grid: spread the points, convolve (by FFT, elsewhere), gather.

The potential φ(y) = Σ_j w(|y - y_j|) is a convolution of the points with w, and the repulsion its
gradient: R_i = -ν / (ν+1) ∇φ(y_i). Points are spread to, and φ is read from, the 4 × 4 nodes
around them with the weights of cubic B-splines. A point in one dimension has the second
coordinate 0.

Points are sorted by bands of grid rows, in the order of their numbers within a band; even bands are
spread first, then odd ones, so that every node is summed in one order.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

BAND_ROWS = 8  # at least 3: bands of one parity must not share a node


class SplineGrid(NamedTuple):
    """Node (a, b) stands at ``(x + (a - 1) h, y + (b - 1) h)``, h = 1 / ``per_unit``."""

    x: float
    y: float
    per_unit: float


@kernel(fast_math=True)
def spline_weights(t, weights):
    """Write the four cubic B-splines at 0 ≤ t ≤ 1 to ``weights``."""
    s = 1.0 - t
    weights[0] = s * s * s / 6.0
    weights[1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0
    weights[2] = (4.0 - 6.0 * s * s + 3.0 * s * s * s) / 6.0
    weights[3] = t * t * t / 6.0


@kernel
def _count_chunk(start, stop, Y, grid, counts):
    """Write to ``counts`` how many points of start..stop lie in each band."""
    for b in range(counts.shape[0]):
        counts[b] = 0
    for i in range(start, stop):
        counts[int((Y[i, 0] - grid.x) * grid.per_unit) // BAND_ROWS] += 1


@parallel_kernel
def count_bands(Y, grid, rows_per_chunk, counts):
    """Write to row c of ``counts`` how many points of chunk c lie in each band."""
    n = Y.shape[0]
    for c in prange(counts.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _count_chunk(start, stop, Y, grid, counts[c])


@kernel
def band_places(counts, begins):
    """Turn ``counts`` into the place of the first point of each chunk and band, ordered by (band,
    chunk); write where bands begin, and the end of the last, to ``begins``."""
    n_chunks, n_bands = counts.shape
    place = 0
    for b in range(n_bands):
        begins[b] = place
        for c in range(n_chunks):
            here = counts[c, b]
            counts[c, b] = place
            place += here
    begins[n_bands] = place


@kernel
def _order_chunk(start, stop, Y, grid, places, order):
    """Write the points of start..stop to their places in ``order``; ``places`` are moved on."""
    for i in range(start, stop):
        band = int((Y[i, 0] - grid.x) * grid.per_unit) // BAND_ROWS
        order[places[band]] = i
        places[band] += 1


@parallel_kernel
def order_by_band(Y, grid, rows_per_chunk, places, order):
    """Write the numbers of the points, sorted by band, to ``order``; ``places`` are used up."""
    n = Y.shape[0]
    for c in prange(places.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _order_chunk(start, stop, Y, grid, places[c], order)


@kernel(fast_math=True)
def _spread_band(points, Y, grid, masses):
    """Add the splines of ``points`` to the nodes of ``masses``."""
    along, across = np.empty(4), np.empty(4)
    for p in range(points.shape[0]):
        i = points[p]
        x = (Y[i, 0] - grid.x) * grid.per_unit
        y = ((Y[i, 1] if Y.shape[1] > 1 else 0.0) - grid.y) * grid.per_unit
        a, b = int(x), int(y)
        spline_weights(x - a, along)
        spline_weights(y - b, across)
        for r in range(4):
            for s in range(4):
                masses[a + r, b + s] += along[r] * across[s]


@parallel_kernel
def spread_bands(Y, grid, order, begins, parity, masses):
    """Add the points of the bands of one ``parity`` to ``masses``."""
    n_bands = begins.shape[0] - 1
    for half in prange((n_bands + 1 - parity) // 2):
        b = 2 * half + parity
        _spread_band(order[begins[b] : begins[b + 1]], Y, grid, masses)


@kernel(fast_math=True)
def gather_point(x, y, grid, potential, slope):
    """Return φ at (x, y); write its gradient to ``slope``."""
    x = (x - grid.x) * grid.per_unit
    y = (y - grid.y) * grid.per_unit
    a, b = int(x), int(y)
    t = x - a
    s = 1.0 - t
    u = y - b
    v = 1.0 - u
    w0, w1 = s * s * s / 6.0, (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0
    w2, w3 = (4.0 - 6.0 * s * s + 3.0 * s * s * s) / 6.0, t * t * t / 6.0
    g0, g1, g2, g3 = -0.5 * s * s, 1.5 * t * t - 2.0 * t, 2.0 * s - 1.5 * s * s, 0.5 * t * t
    value, along, across = 0.0, 0.0, 0.0
    for c in range(4):
        f0, f1 = potential[a, b + c], potential[a + 1, b + c]
        f2, f3 = potential[a + 2, b + c], potential[a + 3, b + c]
        column = w0 * f0 + w1 * f1 + w2 * f2 + w3 * f3
        tilt = g0 * f0 + g1 * f1 + g2 * f2 + g3 * f3
        if c == 0:
            weight, bend = v * v * v / 6.0, -0.5 * v * v
        elif c == 1:
            weight, bend = (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0, 1.5 * u * u - 2.0 * u
        elif c == 2:
            weight, bend = (4.0 - 6.0 * v * v + 3.0 * v * v * v) / 6.0, 2.0 * v - 1.5 * v * v
        else:
            weight, bend = u * u * u / 6.0, 0.5 * u * u
        value += weight * column
        along += weight * tilt
        across += bend * column
    slope[0] = along * grid.per_unit
    if slope.shape[0] > 1:
        slope[1] = across * grid.per_unit
    return value


@kernel(fast_math=True)
def _own_products(t, products, slopes):
    """Write Σ_r b_r b_{r+m} of the splines b at t, m from 0 to 3, to ``products`` and half their
    derivatives to ``slopes``; those of m > 0 are doubled, for -m."""
    s = 1.0 - t
    b0, b1 = s * s * s / 6.0, (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0
    b2, b3 = (4.0 - 6.0 * s * s + 3.0 * s * s * s) / 6.0, t * t * t / 6.0
    g0, g1, g2, g3 = -0.5 * s * s, 1.5 * t * t - 2.0 * t, 2.0 * s - 1.5 * s * s, 0.5 * t * t
    products[0] = b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3
    products[1] = 2.0 * (b0 * b1 + b1 * b2 + b2 * b3)
    products[2] = 2.0 * (b0 * b2 + b1 * b3)
    products[3] = 2.0 * b0 * b3
    slopes[0] = b0 * g0 + b1 * g1 + b2 * g2 + b3 * g3
    slopes[1] = g0 * b1 + b0 * g1 + g1 * b2 + b1 * g2 + g2 * b3 + b2 * g3
    slopes[2] = g0 * b2 + b0 * g2 + g1 * b3 + b1 * g3
    slopes[3] = g0 * b3 + b0 * g3


@kernel(fast_math=True)
def _gather_chunk(start, stop, Y, grid, order, potential, own, slopes):
    """`gather` for the points order[start:stop], into ``slopes``; return Σ φ."""
    total = 0.0
    along, along_slopes = np.empty(4), np.empty(4)
    across, across_slopes = np.empty(4), np.empty(4)
    for p in range(start, stop):
        i = order[p]
        second = Y[i, 1] if Y.shape[1] > 1 else 0.0
        value = gather_point(Y[i, 0], second, grid, potential, slopes[i])
        x = (Y[i, 0] - grid.x) * grid.per_unit
        y = (second - grid.y) * grid.per_unit
        _own_products(x - int(x), along, along_slopes)
        _own_products(y - int(y), across, across_slopes)
        mine, mine_x, mine_y = 0.0, 0.0, 0.0
        for m in range(4):
            row, row_slope = 0.0, 0.0
            for k in range(4):
                row += across[k] * own[m, k]
                row_slope += across_slopes[k] * own[m, k]
            mine += along[m] * row
            mine_x += along_slopes[m] * row
            mine_y += along[m] * row_slope
        slopes[i, 0] -= mine_x * grid.per_unit
        if Y.shape[1] > 1:
            slopes[i, 1] -= mine_y * grid.per_unit
        total += value - mine
    return total


@parallel_kernel
def gather(Y, grid, order, potential, own, rows_per_chunk, slopes, partial):
    """Write ∇φ at every point to ``slopes`` and Σ φ of each chunk of ``order`` to ``partial``, both
    without the point's own part. ``own`` has the 4 × 4 values of the filter around its middle."""
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _gather_chunk(start, stop, Y, grid, order, potential, own, slopes)
