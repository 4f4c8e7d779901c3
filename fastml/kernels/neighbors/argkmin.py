"""The k nearest rows by brute force, in squared Euclidean distance, exact to the last candidate.

Candidates are found in float32 on centred, scaled copies; their float64 distances decide. With
ŷ = float32(s (y - c)) and u = 2^-24, the computed q̂·ŷ - |y|²/2 is off by less than
(d + 16) u (|q|² + |y|²), so

    q̂·ŷ - (1 - e) |y|²/2  ≥  (1 - e) |q|²/2 - s² |q - y|²/2,   e = 2 (d + 16) u,

in whatever order it was added. A pair whose left side falls below the right one for the k-th best
distance so far is dropped; every other pair is measured exactly. Heaps order by (distance, index),
so the result does not depend on panels, splits or threads.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import chosen_rdist_to_rows, rdist_to_dist
from fastml.kernels.distances.row_metrics import sum_squares
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES, panel_scores
from fastml.kernels.numeric.heap import FLOAT64_MAX, heap_clear, heap_merge, heap_push, heap_sort

DIRECT_TILE = 256
UNDERFLOW = 1e-37  # more than float32 can lose below its smallest number


class PackedRows(NamedTuple):
    """Rows as `pack_rows` writes them for `panel_scores`: in panels of LANES points, or of
    GROUP_QUERIES queries."""

    panels: np.ndarray  # (n, d, width) float32: centred and scaled, feature by feature
    halves: np.ndarray  # (n, width) float32: half the shrunk squared norm; NaN where no row is


@kernel
def finite_square(X, i, Y, j):
    """|x - y|² in float64 of row i of X and row j of Y; the largest float where it overflows."""
    total = sum_squares(X, i, Y, j)
    if total > FLOAT64_MAX:
        total = FLOAT64_MAX
    return total


@kernel(fused=True)
def _pack_panel(X, first, centre, scale, shrink, panel, halves, norms):
    """Write float32(scale (x - centre)) of the rows from ``first`` on to ``panel[j, lane]``.

    ``halves`` gets half their shrunk squared norms, NaN beyond the last row of X, so that no limit
    is reached there. ``norms`` is scratch.
    """
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
def _pack_chunk(start, stop, X, centre, scale, shrink, packed):
    """Write panels start..stop of ``packed``."""
    panels, halves = packed
    width = halves.shape[1]
    norms = np.empty(width, np.float64)
    for p in range(start, stop):
        _pack_panel(X, p * width, centre, scale, shrink, panels[p], halves[p], norms)


@parallel_kernel
def pack_rows(X, centre, scale, shrink, n_panels, packed):
    """Write the rows of X to ``packed``, float32(scale (x - centre)); chunks of ``n_panels``."""
    for c in prange((packed.panels.shape[0] + n_panels - 1) // n_panels):
        start = np.intp(c) * n_panels
        stop = min(start + n_panels, packed.panels.shape[0])
        _pack_chunk(start, stop, X, centre, scale, shrink, packed)


@kernel
def score_limit(kth, half_norm, square_scale):
    """The score that y must reach to be nearer than the squared distance ``kth``."""
    if kth >= FLOAT64_MAX:
        return np.float32(-np.inf)
    return np.float32(half_norm - 0.5 * kth * square_scale - UNDERFLOW)


@kernel
def next_lane(bits, lane):
    """The position of the first set bit from ``lane`` on; there must be one."""
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
    """Measure the points of a panel that ``bits`` marks and push the near ones onto query q's heap,
    ``distances`` and ``indices``.

    Row ``first`` of Y is the panel's first point. Returns the score that a further point must
    reach.
    """
    lane = 0
    while bits != np.uint64(0):
        lane = next_lane(bits, lane)
        bits &= bits - np.uint64(1)
        if scores[lane] < limit:
            continue
        exact = finite_square(Q, q, Y, first + lane)
        if exact <= distances[0]:
            heap_push(distances, indices, exact, offset + first + lane)
            limit = score_limit(distances[0], half, square_scale)
    return limit


@kernel
def _argkmin_chunk(
    c, size, n_splits, Q, Y, offset, queries, points, square_scale, distances, indices
):
    """`argkmin_panels` for chunk c: one of ``n_splits`` runs of panels and ``size`` groups of
    queries."""
    panels, y_halves = points
    q_halves = queries.halves
    split = c % n_splits
    g0 = (c // n_splits) * size
    n_groups = min(size, q_halves.shape[0] - g0)
    groups = queries.panels[g0 : g0 + n_groups]
    limits = np.empty((n_groups, GROUP_QUERIES), np.float32)
    for g in range(n_groups):
        for i in range(GROUP_QUERIES):
            q = (g0 + g) * GROUP_QUERIES + i
            limits[g, i] = np.float32(np.nan)
            if q < Q.shape[0]:
                limits[g, i] = score_limit(
                    distances[q, split, 0], q_halves[g0 + g, i], square_scale
                )
    scores = np.empty((GROUP_QUERIES, LANES), np.float32)
    masks = np.empty(GROUP_QUERIES, np.uint64)
    n_panels = panels.shape[0]
    for panel in range(n_panels * split // n_splits, n_panels * (split + 1) // n_splits):
        for g in range(n_groups):
            hits = panel_scores(panels, y_halves, panel, groups, limits, g, scores, masks)
            if hits == np.uint64(0):
                continue
            for i in range(GROUP_QUERIES):
                if masks[i] != np.uint64(0):
                    q = (g0 + g) * GROUP_QUERIES + i
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
def argkmin_panels(size, n_splits, Q, Y, offset, queries, points, square_scale, distances, indices):
    """Offer the rows of Y to the heaps of the rows of Q, in squared Euclidean distance.

    ``queries`` and ``points`` are Q and Y as `PackedRows`, scaled by sqrt(``square_scale``). A
    chunk has ``size`` groups of queries. The heaps ``distances`` and ``indices`` have shape
    (n_queries, n_splits, k); ``offset`` is the index of Y's first row.
    """
    for c in prange(((queries.panels.shape[0] + size - 1) // size) * n_splits):
        _argkmin_chunk(
            np.intp(c),
            size,
            n_splits,
            Q,
            Y,
            offset,
            queries,
            points,
            square_scale,
            distances,
            indices,
        )


@kernel
def _offer_rows(values, n, first, distances, indices):
    """Offer ``values[:n]``, the distances of the rows from ``first`` on, to the heap ``distances``
    and ``indices``."""
    limit = distances[0]
    for j in range(n):
        value = values[j]
        if not value <= FLOAT64_MAX:  # overflow, or undefined: farthest of all
            value = FLOAT64_MAX
        if value <= limit:
            heap_push(distances, indices, value, first + j)
            limit = distances[0]


@kernel
def _rows_chunk(c, every, metric, n_splits, n_rows, Q, Y, distances, indices):
    """`argkmin_rows` for chunk c: one of ``n_splits`` parts of Y and ``n_rows`` rows of Q."""
    code, p, v = metric
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
def argkmin_rows(every, metric, n_splits, n_rows, Q, Y, distances, indices):
    """Write the k smallest reduced distances of each row of Q to rows of Y to the heaps
    ``distances``, and those rows to ``indices``.

    Heaps have shape (n_queries, n_splits, k) and are cleared first; a split is a run of rows of Y.
    ``every`` is that of `metrics.chosen_rdist`; a chunk has ``n_rows`` rows of Q.
    """
    for c in prange(((Q.shape[0] + n_rows - 1) // n_rows) * n_splits):
        _rows_chunk(np.intp(c), every, metric, n_splits, n_rows, Q, Y, distances, indices)


@kernel
def clear_heaps(distances, indices):
    """Empty all heaps of ``distances`` and ``indices``, of shape (n_queries, n_splits, k)."""
    for q in range(distances.shape[0]):
        for split in range(distances.shape[1]):
            heap_clear(distances[q, split], indices[q, split])


@kernel
def finish_heaps(code, p, distances, indices):
    """Merge the heaps of each query in ``distances`` and ``indices`` into its first and sort that;
    reduced distances become distances."""
    for q in range(distances.shape[0]):
        for split in range(1, distances.shape[1]):
            heap_merge(distances[q, 0], indices[q, 0], distances[q, split], indices[q, split])
        heap_sort(distances[q, 0], indices[q, 0])
        for j in range(distances.shape[2]):
            distances[q, 0, j] = rdist_to_dist(code, distances[q, 0, j], p)


@kernel
def _smallest_in_rows(start, stop, D, distances, indices):
    """`smallest_in_rows` of rows start..stop."""
    for i in range(start, stop):
        heap_clear(distances[i], indices[i])
        for j in range(D.shape[1]):
            value = np.float64(D[i, j])
            if value <= distances[i, 0]:
                heap_push(distances[i], indices[i], value, j)
        heap_sort(distances[i], indices[i])


@parallel_kernel
def smallest_in_rows(D, n_rows, distances, indices):
    """Write the k smallest entries of each row of D, sorted by (value, column), to ``distances``
    and their columns to ``indices``.

    A chunk has ``n_rows`` rows.
    """
    for c in prange((D.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _smallest_in_rows(start, min(start + n_rows, D.shape[0]), D, distances, indices)
