"""Repulsion of t-SNE on a regular grid: spread the points, convolve (by FFT, elsewhere), gather.

The potential φ(y) = Σ_j w(|y - y_j|) is a convolution of the points with w, and the repulsion its
gradient: R_i = -ν / (ν+1) ∇φ(y_i). Points are spread to, and φ is read from, the 6 × 6 nodes
around them with the weights of quintic B-splines. A point in one dimension has the second
coordinate 0.

Points are sorted by bands of grid rows, in the order of their numbers within a band; even bands are
spread first, then odd ones, so that every node is summed in one order.
"""

from typing import NamedTuple

from fastml._jit import kernel, parallel_kernel, prange

SPLINE_NODES = 6  # of splines along an axis
BAND_ROWS = 8  # at least SPLINE_NODES - 1: bands of one parity must not share a node


class SplineGrid(NamedTuple):
    """Node (a, b) stands at ``(x + (a - 2) h, y + (b - 2) h)``, h = 1 / ``per_unit``."""

    x: float
    y: float
    per_unit: float


@kernel(fast_math=True)
def quartic_weights(t):
    """The five B-splines of degree 4 at 0 ≤ t ≤ 1.

    Each degree follows from the one below: with r = 0..p,
    ``p B_p,r = (t + p - r) B_p-1,r-1 + (1 + r - t) B_p-1,r``.
    """
    s = 1.0 - t
    b0, b1, b2 = 0.5 * s * s, 0.5 + t * s, 0.5 * t * t
    c0, c3 = b0 * s, b2 * t
    c1, c2 = (t + 2.0) * b0 + (2.0 - t) * b1, (t + 1.0) * b1 + (3.0 - t) * b2
    d1 = (t + 3.0) * c0 + (2.0 - t) * c1
    d2 = (t + 2.0) * c1 + (3.0 - t) * c2
    d3 = (t + 1.0) * c2 + (4.0 - t) * c3
    f = 1.0 / 12.0
    return f * s * c0, f * d1, f * d2, f * d3, f * t * c3


@kernel(fast_math=True)
def quintic_weights(t, below):
    """The six B-splines of degree 5 at t, from the five ``below``."""
    d0, d1, d2, d3, d4 = below
    f = 0.2
    return (
        f * (1.0 - t) * d0,
        f * ((t + 4.0) * d0 + (2.0 - t) * d1),
        f * ((t + 3.0) * d1 + (3.0 - t) * d2),
        f * ((t + 2.0) * d2 + (4.0 - t) * d3),
        f * ((t + 1.0) * d3 + (5.0 - t) * d4),
        f * t * d4,
    )


@kernel(fast_math=True)
def quintic_slopes(below):
    """Derivatives of the six B-splines of degree 5, from the five ``below``."""
    d0, d1, d2, d3, d4 = below
    return -d0, d0 - d1, d1 - d2, d2 - d3, d3 - d4, d4


@kernel
def knot_splines(places, weights, slopes):
    """Write splines and derivatives at ``places`` to the columns of ``weights`` and ``slopes``."""
    for k in range(places.shape[0]):
        below = quartic_weights(places[k])
        found, tilts = quintic_weights(places[k], below), quintic_slopes(below)
        for r in range(SPLINE_NODES):
            weights[r, k], slopes[r, k] = found[r], tilts[r]


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
def _add_row(line, b, factor, weights):
    """Add ``factor`` times the weights to ``line`` from b on."""
    line[b] += factor * weights[0]
    line[b + 1] += factor * weights[1]
    line[b + 2] += factor * weights[2]
    line[b + 3] += factor * weights[3]
    line[b + 4] += factor * weights[4]
    line[b + 5] += factor * weights[5]


@kernel(fast_math=True)
def _spread_band(points, Y, grid, masses):
    """Add the splines of ``points`` to the nodes of ``masses``."""
    for p in range(points.shape[0]):
        i = points[p]
        x = (Y[i, 0] - grid.x) * grid.per_unit
        y = ((Y[i, 1] if Y.shape[1] > 1 else 0.0) - grid.y) * grid.per_unit
        a, b = int(x), int(y)
        along = quintic_weights(x - a, quartic_weights(x - a))
        across = quintic_weights(y - b, quartic_weights(y - b))
        _add_row(masses[a], b, along[0], across)
        _add_row(masses[a + 1], b, along[1], across)
        _add_row(masses[a + 2], b, along[2], across)
        _add_row(masses[a + 3], b, along[3], across)
        _add_row(masses[a + 4], b, along[4], across)
        _add_row(masses[a + 5], b, along[5], across)


@parallel_kernel
def spread_bands(Y, grid, order, begins, parity, masses):
    """Add the points of the bands of one ``parity`` to ``masses``."""
    n_bands = begins.shape[0] - 1
    for half in prange((n_bands + 1 - parity) // 2):
        b = 2 * half + parity
        _spread_band(order[begins[b] : begins[b + 1]], Y, grid, masses)


@kernel(fast_math=True)
def _row_sums(line, b, weights, slopes):
    """Σ of the nodes of ``line`` from b on, by weights and by slopes."""
    f0, f1, f2 = line[b], line[b + 1], line[b + 2]
    f3, f4, f5 = line[b + 3], line[b + 4], line[b + 5]
    value = weights[0] * f0 + weights[1] * f1 + weights[2] * f2
    value += weights[3] * f3 + weights[4] * f4 + weights[5] * f5
    slope = slopes[0] * f0 + slopes[1] * f1 + slopes[2] * f2
    slope += slopes[3] * f3 + slopes[4] * f4 + slopes[5] * f5
    return value, slope


@kernel(fast_math=True)
def gather_point(x, y, grid, potential, slope):
    """Return φ at (x, y); write its gradient to ``slope``."""
    x = (x - grid.x) * grid.per_unit
    y = (y - grid.y) * grid.per_unit
    a, b = int(x), int(y)
    below = quartic_weights(x - a)
    along, tilts = quintic_weights(x - a, below), quintic_slopes(below)
    below = quartic_weights(y - b)
    across, bends = quintic_weights(y - b, below), quintic_slopes(below)
    v0, s0 = _row_sums(potential[a], b, across, bends)
    v1, s1 = _row_sums(potential[a + 1], b, across, bends)
    v2, s2 = _row_sums(potential[a + 2], b, across, bends)
    v3, s3 = _row_sums(potential[a + 3], b, across, bends)
    v4, s4 = _row_sums(potential[a + 4], b, across, bends)
    v5, s5 = _row_sums(potential[a + 5], b, across, bends)
    tilt = tilts[0] * v0 + tilts[1] * v1 + tilts[2] * v2
    tilt += tilts[3] * v3 + tilts[4] * v4 + tilts[5] * v5
    slope[0] = tilt * grid.per_unit
    if slope.shape[0] > 1:
        bend = along[0] * s0 + along[1] * s1 + along[2] * s2
        bend += along[3] * s3 + along[4] * s4 + along[5] * s5
        slope[1] = bend * grid.per_unit
    value = along[0] * v0 + along[1] * v1 + along[2] * v2
    return value + along[3] * v3 + along[4] * v4 + along[5] * v5


@kernel(fast_math=True)
def _between(table, k, a, b, t, u):
    """``table[k]`` between its knots (a, b) and (a + 1, b + 1)."""
    low = table[k, a, b] + u * (table[k, a, b + 1] - table[k, a, b])
    high = table[k, a + 1, b] + u * (table[k, a + 1, b + 1] - table[k, a + 1, b])
    return low + t * (high - low)


@kernel(fast_math=True)
def _gather_chunk(start, stop, Y, grid, order, potential, own, slopes):
    """`gather` for the points order[start:stop], into ``slopes``; return Σ φ."""
    total = 0.0
    knots = own.shape[1] - 2
    for p in range(start, stop):
        i = order[p]
        second = Y[i, 1] if Y.shape[1] > 1 else 0.0
        value = gather_point(Y[i, 0], second, grid, potential, slopes[i])
        x = (Y[i, 0] - grid.x) * grid.per_unit
        y = (second - grid.y) * grid.per_unit
        t, u = (x - int(x)) * knots, (y - int(y)) * knots
        a, b = int(t), int(u)
        t -= a
        u -= b
        slopes[i, 0] -= _between(own, 1, a, b, t, u) * grid.per_unit
        if Y.shape[1] > 1:
            slopes[i, 1] -= _between(own, 2, a, b, t, u) * grid.per_unit
        total += value - _between(own, 0, a, b, t, u)
    return total


@parallel_kernel
def gather(Y, grid, order, potential, own, rows_per_chunk, slopes, partial):
    """Write ∇φ at every point to ``slopes`` and Σ φ of each chunk of ``order`` to ``partial``, both
    without the point's own part.

    ``own`` has that part and its two slopes (per node) for places within a cell, at knots 0, 1/m,
    ..., 1 along both axes and one further knot that is never weighed.
    """
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _gather_chunk(start, stop, Y, grid, order, potential, own, slopes)
