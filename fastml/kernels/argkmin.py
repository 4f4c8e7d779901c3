"""The k nearest rows by brute force, in squared Euclidean distance, exact to the last candidate.

float32 on centred, scaled copies proposes, float64 on the original rows decides. With
ŷ = float32(s (y - c)) and u = 2^-24, the computed q̂·ŷ - |y|²/2 is off by less than
(d + 16) u (|q|² + |y|²), so

    q̂·ŷ - (1 - e) |y|²/2  ≥  (1 - e) |q|²/2 - s² |q - y|²/2,   e = 2 (d + 16) u,

in whatever order it was added. A pair whose left side falls below the right one for the k-th best
distance so far is dropped; every other pair is measured exactly. Heaps order by (distance, index),
so the result does not depend on panels, splits or threads.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.heap import heap_clear, heap_merge, heap_push, heap_sort
from fastml.kernels.metrics import chosen_rdist_to_rows, rdist_to_dist
from fastml.kernels.row_metrics import sum_squares
from fastml.kernels.simd import GROUP, LANES, panel_scores

DIRECT_TILE = 256
FLOAT64_MAX = np.finfo(np.float64).max
UNDERFLOW = 1e-37  # more than float32 can lose below its smallest number


@kernel(fast_math=True)
def squared_distance(a, b):
    """|a - b|² in float64; the largest float where it overflows."""
    total = 0.0
    for j in range(a.shape[0]):
        difference = np.float64(a[j]) - np.float64(b[j])
        total += difference * difference
    if total > FLOAT64_MAX:
        total = FLOAT64_MAX
    return total


@kernel(fused=True)
def _pack_panel(X, first, centre, scale, shrink, panel, halves, norms):
    """panel[j, lane] = float32(scale (x - centre)); rows beyond the last reach no limit."""
    width = halves.shape[0]
    n = min(width, X.shape[0] - first)
    for lane in range(width):
        norms[lane] = 0.0
    for j in range(X.shape[1]):
        for lane in range(n):
            value = (np.float64(X[first + lane, j]) - centre[j]) * scale
            norms[lane] += value * value
            panel[j, lane] = np.float32(value)
        for lane in range(n, width):
            panel[j, lane] = np.float32(0.0)
    for lane in range(width):
        halves[lane] = np.float32(0.5 * shrink * norms[lane]) if lane < n else np.float32(np.nan)


@kernel
def _pack_chunk(start, stop, X, centre, scale, shrink, panels, halves):
    width = halves.shape[1]
    norms = np.empty(width, np.float64)
    for p in range(start, stop):
        _pack_panel(X, p * width, centre, scale, shrink, panels[p], halves[p], norms)


@parallel_kernel
def pack_rows(X, centre, scale, shrink, n_panels, panels, halves):
    """Rows → panels (n, d, width) and their halved, shrunk squared norms (n, width).

    Width is LANES for points, GROUP for queries; a chunk has ``n_panels`` of them.
    """
    for c in prange((panels.shape[0] + n_panels - 1) // n_panels):
        start = np.intp(c) * n_panels
        stop = min(start + n_panels, panels.shape[0])
        _pack_chunk(start, stop, X, centre, scale, shrink, panels, halves)


@kernel
def score_limit(kth, half_norm, square_scale):
    """The score that y must reach to be nearer than the squared distance ``kth``."""
    if kth >= FLOAT64_MAX:
        return np.float32(-np.inf)
    return np.float32(half_norm - 0.5 * kth * square_scale - UNDERFLOW)


@kernel
def next_lane(bits, lane):
    """The first set bit from ``lane`` on; there is one."""
    bits >>= np.uint64(lane)
    while bits & np.uint64(0xFF) == np.uint64(0):
        bits >>= np.uint64(8)
        lane += 8
    while bits & np.uint64(1) == np.uint64(0):
        bits >>= np.uint64(1)
        lane += 1
    return lane


@kernel
def _offer_hits(
    bits, scores, Q, q, Y, first, offset, limit, half, square_scale, distances, indices
):
    """Measure the marked points of a panel and push what is near; returns the new limit."""
    lane = 0
    while bits != np.uint64(0):
        lane = next_lane(bits, lane)
        bits &= bits - np.uint64(1)
        if scores[lane] < limit:
            continue
        exact = sum_squares(Q, q, Y, first + lane)
        if exact > FLOAT64_MAX:
            exact = FLOAT64_MAX
        if exact <= distances[0]:
            heap_push(distances, indices, exact, offset + first + lane)
            limit = score_limit(distances[0], half, square_scale)
    return limit


@kernel
def _argkmin_chunk(
    c,
    size,
    n_splits,
    Q,
    Y,
    offset,
    queries,
    q_halves,
    panels,
    y_halves,
    square_scale,
    distances,
    indices,
):
    """``size`` groups of queries against one of ``n_splits`` runs of panels."""
    split = c % n_splits
    g0 = (c // n_splits) * size
    n_groups = min(size, queries.shape[0] - g0)
    queries = queries[g0 : g0 + n_groups]
    limits = np.empty((n_groups, GROUP), np.float32)
    for g in range(n_groups):
        for i in range(GROUP):
            q = (g0 + g) * GROUP + i
            limits[g, i] = np.float32(np.nan)
            if q < Q.shape[0]:
                limits[g, i] = score_limit(
                    distances[q, split, 0], q_halves[g0 + g, i], square_scale
                )
    scores = np.empty((GROUP, LANES), np.float32)
    masks = np.empty(GROUP, np.uint64)
    n_panels = panels.shape[0]
    for panel in range(n_panels * split // n_splits, n_panels * (split + 1) // n_splits):
        for g in range(n_groups):
            hits = panel_scores(panels, y_halves, panel, queries, limits, g, scores, masks)
            if hits == np.uint64(0):
                continue
            for i in range(GROUP):
                if masks[i] != np.uint64(0):
                    q = (g0 + g) * GROUP + i
                    limits[g, i] = _offer_hits(
                        masks[i],
                        scores[i],
                        Q,
                        q,
                        Y,
                        panel * LANES,
                        offset,
                        limits[g, i],
                        q_halves[g0 + g, i],
                        square_scale,
                        distances[q, split],
                        indices[q, split],
                    )


@parallel_kernel
def argkmin_panels(
    size,
    n_splits,
    Q,
    Y,
    offset,
    queries,
    q_halves,
    panels,
    y_halves,
    square_scale,
    distances,
    indices,
):
    """Offer the rows of Y to the heaps of Q; both are there as packed by `pack_rows` too.

    A chunk has ``size`` groups of queries.
    ``distances`` and ``indices`` are heaps of shape (n_queries, n_splits, k); ``offset`` is the
    index of Y's first row.
    """
    for c in prange(((queries.shape[0] + size - 1) // size) * n_splits):
        _argkmin_chunk(
            np.intp(c),
            size,
            n_splits,
            Q,
            Y,
            offset,
            queries,
            q_halves,
            panels,
            y_halves,
            square_scale,
            distances,
            indices,
        )


@kernel
def _offer_rows(values, n, first, distances, indices):
    """Offer ``values[:n]``, the distances of rows first.., to one heap."""
    limit = distances[0]
    for j in range(n):
        value = values[j]
        if not value <= FLOAT64_MAX:  # overflow, or undefined: farthest of all
            value = FLOAT64_MAX
        if value <= limit:
            heap_push(distances, indices, value, first + j)
            limit = distances[0]


@kernel
def _rows_chunk(c, every, code, n_splits, n_rows, Q, Y, p, v, distances, indices):
    split = c % n_splits
    q0 = (c // n_splits) * n_rows
    q1 = min(q0 + n_rows, Q.shape[0])
    stop = Y.shape[0] * (split + 1) // n_splits
    values = np.empty(DIRECT_TILE, np.float64)
    for q in range(q0, q1):
        heap_clear(distances[q, split], indices[q, split])
    for first in range(Y.shape[0] * split // n_splits, stop, DIRECT_TILE):
        last = min(first + DIRECT_TILE, stop)
        for q in range(q0, q1):
            chosen_rdist_to_rows(every, code, Q, q, Y, first, last, p, v, values)
            _offer_rows(values, last - first, first, distances[q, split], indices[q, split])


@parallel_kernel
def argkmin_rows(every, code, n_splits, n_rows, Q, Y, p, v, distances, indices):
    """The k smallest reduced distances, row by row; ``every`` as in `metrics.chosen_rdist`.

    Heaps have shape (n_queries, n_splits, k) and are cleared first; a split is a run of rows of Y.
    """
    for c in prange(((Q.shape[0] + n_rows - 1) // n_rows) * n_splits):
        _rows_chunk(np.intp(c), every, code, n_splits, n_rows, Q, Y, p, v, distances, indices)


@kernel
def clear_heaps(distances, indices):
    for q in range(distances.shape[0]):
        for split in range(distances.shape[1]):
            heap_clear(distances[q, split], indices[q, split])


@kernel
def finish_heaps(code, p, distances, indices):
    """Merge the splits into the first, sort, and turn reduced distances into distances."""
    for q in range(distances.shape[0]):
        for split in range(1, distances.shape[1]):
            heap_merge(distances[q, 0], indices[q, 0], distances[q, split], indices[q, split])
        heap_sort(distances[q, 0], indices[q, 0])
        for j in range(distances.shape[2]):
            distances[q, 0, j] = rdist_to_dist(code, distances[q, 0, j], p)


@kernel
def _smallest_in_rows(start, stop, D, distances, indices):
    for i in range(start, stop):
        heap_clear(distances[i], indices[i])
        for j in range(D.shape[1]):
            value = np.float64(D[i, j])
            if value <= distances[i, 0]:
                heap_push(distances[i], indices[i], value, j)
        heap_sort(distances[i], indices[i])


@parallel_kernel
def smallest_in_rows(D, n_rows, distances, indices):
    """The k smallest entries of each row of a distance matrix, by (value, column)."""
    for c in prange((D.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _smallest_in_rows(start, min(start + n_rows, D.shape[0]), D, distances, indices)
