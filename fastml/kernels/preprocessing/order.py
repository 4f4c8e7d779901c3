"""Places of values among the sorted points of their column: quantile ranks and bins.

Rows come as (n × d), C-contiguous. A block of rows is worked through column by column, so that the
points of a column stay in the cache.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

BLOCK_ROWS = 256
FEW_EDGES = 64
"""So many are counted faster than searched."""


@kernel
def last_not_above(points, x):
    """Return the last k with points[k] ≤ x; 0 if there is none. ``points`` ascend."""
    first = 0
    size = points.shape[0]
    while size > 1:
        half = size >> 1
        first += half * np.intp(points[first + half] <= x)
        size -= half
    return first


@kernel
def _first_not_below(points, x, last):
    """Return the first k ≤ ``last`` with points[k] ≥ x; points[last] is x."""
    low = 0
    high = last
    while low < high:
        middle = (low + high) >> 1
        if points[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def interpolated(x, points, values):
    """Return the value at x between the neighbours among ``points``, as `np.interp`."""
    last = points.shape[0] - 1
    if x <= points[0]:
        if x < points[0] or last == 0:
            return values[0]
    if x >= points[last]:
        return values[last]
    k = last_not_above(points, x)
    if points[k] == x:
        return values[k]
    slope = (values[k + 1] - values[k]) / (points[k + 1] - points[k])
    return slope * (x - points[k]) + values[k]


@kernel
def guided_place(points, x, guide, scale):
    """Return `last_not_above` of x between the first and the last point.

    ``guide`` has it for the ends of equal cells from the first point on, ``scale`` of them to a
    unit: few points are left to search.
    """
    last = points.shape[0] - 1
    cell = min(np.intp((x - points[0]) * scale), guide.shape[0] - 2)
    low = np.intp(guide[cell])
    high = min(np.intp(guide[cell + 1]) + 1, last)
    while points[low] > x:  # the cell's number may be off by rounding
        low -= 1
    while high < last and points[high] <= x:
        high += 1
    while high - low > 1:
        middle = (low + high) >> 1
        if points[middle] <= x:
            low = middle
        else:
            high = middle
    return high if points[high] <= x else low


@kernel
def rank_at(x, k, points, ranks):
    """Return the rank of x, whose `last_not_above` is k; the middle one where several are x."""
    if points[k] == x:
        low = k
        if k > 0 and points[k - 1] == x:
            low = _first_not_below(points, x, k)
        return 0.5 * (ranks[k] + ranks[low])
    slope = (ranks[k + 1] - ranks[k]) / (points[k + 1] - points[k])
    from_below = slope * (x - points[k]) + ranks[k]
    from_above = slope * (points[k + 1] - x) - ranks[k + 1]
    return 0.5 * (from_below - from_above)


@kernel
def _chunk_ranks(c, X, points, ranks, guide, scales, inverse, margin, rows, out, infinite):
    """`quantile_ranks` for chunk c of so many rows."""
    stop = min((c + 1) * rows, X.shape[0])
    last = ranks.shape[0] - 1
    bad = 0
    for first in range(c * rows, stop, BLOCK_ROWS):
        end = min(first + BLOCK_ROWS, stop)
        for j in range(X.shape[1]):
            own = points[j]
            low = ranks[0] if inverse else own[0]
            high = ranks[last] if inverse else own[last]
            least = own[0] if inverse else 0.0
            most = own[last] if inverse else 1.0
            for i in range(first, end):
                x = np.float64(X[i, j])
                bad |= np.intp(abs(x) == np.inf)
                if x != x:
                    out[i, j] = x
                elif x <= low or x - margin < low:
                    out[i, j] = least
                elif x >= high or x + margin > high:
                    out[i, j] = most
                elif inverse:
                    out[i, j] = interpolated(x, ranks, own)
                else:
                    k = guided_place(own, x, guide[j], scales[j])
                    out[i, j] = rank_at(x, k, own, ranks)
    infinite[c] = bad


@parallel_kernel
def quantile_ranks(X, points, ranks, guide, scales, inverse, margin, rows, out, infinite):
    """Write the rank of X[i, j] among ``points``[j] to ``out``, or with ``inverse`` the value.

    ``ranks`` are those of the points; ``guide`` and ``scales`` are for `guided_place`. What is less
    than ``margin`` away from the end, or beyond, is the end. NaN stays. ``infinite`` (one entry per
    chunk of ``rows``) gets 1 where X has an infinite value.
    """
    for c in prange(infinite.shape[0]):
        _chunk_ranks(c, X, points, ranks, guide, scales, inverse, margin, rows, out, infinite)


@kernel
def _chunk_few_bins(c, X, edges, n_edges, rows_per_chunk, out):
    """`bins_of` for chunk c: every edge beside a whole row, many columns to an instruction."""
    d = X.shape[1]
    by_place = np.full((edges.shape[1], d), np.nan)  # above nothing
    for j in range(d):
        for k in range(n_edges[j]):
            by_place[k, j] = edges[j, k]
    for i in range(c * rows_per_chunk, min((c + 1) * rows_per_chunk, X.shape[0])):
        row, found = X[i], out[i]
        for j in range(d):
            found[j] = 0
        for k in range(by_place.shape[0]):
            own = by_place[k]
            for j in range(d):
                found[j] += own[j] <= row[j]
        for j in range(d):
            if row[j] != row[j]:
                found[j] = n_edges[j]


@kernel
def _chunk_bins(c, X, edges, n_edges, rows_per_chunk, out):
    """`bins_of` for chunk c."""
    stop = min((c + 1) * rows_per_chunk, X.shape[0])
    for first in range(c * rows_per_chunk, stop, BLOCK_ROWS):
        end = min(first + BLOCK_ROWS, stop)
        for j in range(X.shape[1]):
            own = edges[j, : n_edges[j]]
            for i in range(first, end):
                x = X[i, j]
                found = 0
                if n_edges[j] > 0 and not x < own[0]:
                    found = last_not_above(own, x) + 1
                    if x != x:
                        found = n_edges[j]
                out[i, j] = found


@parallel_kernel
def bins_of(X, edges, n_edges, rows_per_chunk, out):
    """Write how many of column j's ``n_edges``[j] edges are ≤ X[i, j] to ``out``; NaN: all."""
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        if edges.shape[1] <= FEW_EDGES:
            _chunk_few_bins(c, X, edges, n_edges, rows_per_chunk, out)
        else:
            _chunk_bins(c, X, edges, n_edges, rows_per_chunk, out)
