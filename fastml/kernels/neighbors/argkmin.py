"""The k nearest rows by brute force, in squared Euclidean distance, exact to the last candidate.

Candidates are found in float32 on centred, scaled copies; their float64 distances decide. With
ŷ = float32(s (y - c)) and u = 2^-24, the computed q̂·ŷ - |y|²/2 is off by less than
(d + 16) u (|q|² + |y|²), so

    q̂·ŷ - (1 - e) |y|²/2  ≥  (1 - e) |q|²/2 - s² |q - y|²/2,   e = 2 (d + 16) u,

in whatever order it was added. A pair whose left side falls below the right one for the k-th best
distance so far is dropped. For the same reasons the left side is at most
(1 + e) |q|²/2 + e |y|² - s² |q - y|²/2: if those of k pairs are t or more, a pair below
t - e (|q|² + max |y|²) is dropped too, and no distance had to be measured for that. The pairs that
remain stand in a short list, and are measured exactly when it is full or the panels end. Heaps
order by (distance, index), so the result does not depend on panels, splits or threads.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import chosen_rdist_to_rows, rdist_to_dist
from fastml.kernels.distances.row_metrics import sum_squares
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES, first_lane, panel_scores
from fastml.kernels.numeric.heap import FLOAT64_MAX, heap_clear, heap_merge, heap_push, heap_sort

DIRECT_TILE = 256
HALVINGS = 12  # of the span of scores, in search of the k-th largest
PACKED_TOGETHER = 16  # rows
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


@kernel(fast_math=True)
def _pack_row(x, centre, scale, out):
    """Write float32(scale (x - centre)) to ``out`` and return its squared norm before rounding."""
    norm = 0.0
    for j in range(out.shape[0]):
        value = (np.float64(x[j]) - centre[j]) * scale
        norm += value * value
        out[j] = np.float32(value)
    return norm


@kernel
def _pack_chunk(start, stop, X, centre, scale, shrink, packed):
    """Write panels start..stop of ``packed``."""
    panels, halves = packed
    width = halves.shape[1]
    d = X.shape[1]
    packed_rows = np.zeros((PACKED_TOGETHER, d), np.float32)
    for p in range(start, stop):
        for lane in range(0, width, PACKED_TOGETHER):
            n = min(PACKED_TOGETHER, width - lane)
            for i in range(n):
                row = p * width + lane + i
                if row < X.shape[0]:
                    norm = _pack_row(X[row], centre, scale, packed_rows[i])
                    halves[p, lane + i] = np.float32(0.5 * shrink * norm)
                else:  # reaches no limit
                    packed_rows[i] = np.float32(0.0)
                    halves[p, lane + i] = np.float32(np.nan)
            for j in range(d):
                for i in range(n):
                    panels[p, j, lane + i] = packed_rows[i, j]


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


class ShortLists(NamedTuple):
    """What the queries of a chunk know, a row each."""

    limits: np.ndarray  # (n_groups, GROUP_QUERIES) float32: scores below are dropped
    margins: np.ndarray  # (n_queries,): how far below the k-th largest score a limit must stay
    counts: np.ndarray  # (n_queries,): lengths of the lists
    scores: np.ndarray  # (n_queries, length) float32: the lists
    rows: np.ndarray  # (n_queries, length) int32


@kernel
def list_length(k):
    """At this many points a list is shortened."""
    return k + max(16, k // 2)


@kernel
def score_margin(half_norm, largest_half, n_features, square_scale):
    """How far below the k-th largest score of a query that of a point among the k nearest may be.

    Halves of squared norms are those of `PackedRows`; infinite where exact distances overflow.
    """
    if square_scale * FLOAT64_MAX < 8.0 * n_features:
        return np.inf
    # A quarter more than e: for the rounding of limits, halves and of the exact distances.
    relative = 2.5 * (n_features + 16) * 2.0**-24
    lost = 2.0 * UNDERFLOW + n_features * 1e-320 * square_scale  # and for what underflows
    return 2.0 * relative * (np.float64(half_norm) + np.float64(largest_half)) + lost


@kernel(fast_math=True)
def _count_reaching(scores, n, limit):
    """How many of the first n scores are ``limit`` or more."""
    count = np.int32(0)
    for at in range(n):
        if scores[at] >= limit:
            count += np.int32(1)
    return count


@kernel
def reached_by(k, scores, n):
    """A number that k or more of the first n >= k finite scores reach, and few more than k."""
    low = high = scores[0]
    for at in range(1, n):
        low, high = min(low, scores[at]), max(high, scores[at])
    for _ in range(HALVINGS):
        middle = np.float32(0.5) * (low + high)
        count = _count_reaching(scores, n, middle)
        if count < k:
            high = middle
        else:
            low = middle
            if count <= k + k // 8:
                break
    return low


@kernel
def _measure_list(lists, i, limit, Q, q, Y, offset, half, square_scale, distances, indices):
    """Measure the points on list i and push the near ones onto query q's heap, ``distances`` and
    ``indices``; the list in ``lists`` is empty then. Returns the score that a further point must
    reach.
    """
    for at in range(lists.counts[i]):
        if lists.scores[i, at] < limit:
            continue
        row = np.intp(lists.rows[i, at])
        exact = finite_square(Q, q, Y, row)
        if exact <= distances[0]:
            heap_push(distances, indices, exact, offset + row)
            limit = max(limit, score_limit(distances[0], half, square_scale))
    lists.counts[i] = 0
    return limit


@kernel
def _shorten_list(lists, i, k, limit):
    """Raise ``limit`` by what list i of ``lists`` knows, take the points below it off the list, and
    return it."""
    scores, rows = lists.scores[i], lists.rows[i]
    n = lists.counts[i]
    limit = max(limit, np.float32(reached_by(k, scores, n) - lists.margins[i]))
    kept = 0
    for at in range(n):
        score, row = scores[at], rows[at]
        scores[kept], rows[kept] = score, row
        kept += 1 if score >= limit else 0
    lists.counts[i] = kept
    return limit


@kernel
def _list_hits(bits, panel_scores, first, lists, i):
    """Put the points of a panel that ``bits`` marks, with their scores, on list i of ``lists``,
    which has room for them; return its length. Row ``first`` is the panel's first point.
    """
    scores, rows = lists.scores[i], lists.rows[i]
    n = lists.counts[i]
    while bits != np.uint64(0):
        lane = first_lane(bits)
        bits &= bits - np.uint64(1)
        scores[n] = panel_scores[lane]
        rows[n] = np.int32(first + lane)
        n += 1
    lists.counts[i] = n
    return n


@kernel
def _new_lists(g0, n_groups, split, largest_half, Q, queries, square_scale, distances):
    """Empty short lists of ``n_groups`` groups of queries from ``g0`` on; what they know is the
    k-th distance in their heaps."""
    n, k = n_groups * GROUP_QUERIES, distances.shape[2]
    length = list_length(k) + 2 * LANES
    lists = ShortLists(
        np.full((n_groups, GROUP_QUERIES), np.nan, np.float32),
        np.empty(n),
        np.zeros(n, np.intp),
        np.empty((n, length), np.float32),
        np.empty((n, length), np.int32),
    )
    for i in range(n):
        q = g0 * GROUP_QUERIES + i
        if q < Q.shape[0]:
            half = queries.halves[q // GROUP_QUERIES, q % GROUP_QUERIES]
            lists.margins[i] = score_margin(half, largest_half, Q.shape[1], square_scale)
            lists.limits[i // GROUP_QUERIES, i % GROUP_QUERIES] = score_limit(
                distances[q, split, 0], half, square_scale
            )
    return lists


@kernel
def _argkmin_chunk(
    c, n_blocks, n_splits, Q, Y, offset, queries, points, square_scale, distances, indices
):
    """`argkmin_panels` for chunk c: one of ``n_splits`` runs of panels and of ``n_blocks`` runs of
    groups of queries."""
    panels, y_halves = points
    split, block = c % n_splits, c // n_splits
    g0 = queries.panels.shape[0] * block // n_blocks
    groups = queries.panels[g0 : queries.panels.shape[0] * (block + 1) // n_blocks]
    start = panels.shape[0] * split // n_splits
    stop = panels.shape[0] * (split + 1) // n_splits
    largest_half = np.float32(0.0)
    for panel in range(start, stop):
        for lane in range(LANES):
            if y_halves[panel, lane] > largest_half:
                largest_half = y_halves[panel, lane]
    n_groups = groups.shape[0]
    lists = _new_lists(g0, n_groups, split, largest_half, Q, queries, square_scale, distances)
    limits, k = lists.limits, distances.shape[2]
    long, room = list_length(k), lists.rows.shape[1] - LANES
    scores = np.empty((GROUP_QUERIES, LANES), np.float32)
    masks = np.empty(GROUP_QUERIES, np.uint64)
    for panel in range(start, stop):
        for g in range(n_groups):
            hits = panel_scores(panels, y_halves, panel, groups, limits, g, scores, masks)
            if hits == np.uint64(0):
                continue
            for j in range(GROUP_QUERIES):
                if masks[j] == np.uint64(0):
                    continue
                i = g * GROUP_QUERIES + j
                q = g0 * GROUP_QUERIES + i
                if _list_hits(masks[j], scores[j], panel * LANES, lists, i) < long:
                    continue
                limits[g, j] = _shorten_list(lists, i, k, limits[g, j])
                if lists.counts[i] > room:
                    limits[g, j] = _measure_list(
                        lists,
                        i,
                        limits[g, j],
                        Q,
                        q,
                        Y,
                        offset,
                        queries.halves[g0 + g, j],
                        square_scale,
                        distances[q, split],
                        indices[q, split],
                    )
    for i in range(min(n_groups * GROUP_QUERIES, Q.shape[0] - g0 * GROUP_QUERIES)):
        q = g0 * GROUP_QUERIES + i
        _measure_list(
            lists,
            i,
            limits[i // GROUP_QUERIES, i % GROUP_QUERIES],
            Q,
            q,
            Y,
            offset,
            queries.halves[q // GROUP_QUERIES, q % GROUP_QUERIES],
            square_scale,
            distances[q, split],
            indices[q, split],
        )


@parallel_kernel
def argkmin_panels(
    n_blocks, n_splits, Q, Y, offset, queries, points, square_scale, distances, indices
):
    """Offer the rows of Y to the heaps of the rows of Q, in squared Euclidean distance.

    ``queries`` and ``points`` are Q and Y as `PackedRows`, scaled by sqrt(``square_scale``). The
    groups of queries are cut into ``n_blocks`` runs. The heaps ``distances`` and ``indices`` have
    shape (n_queries, n_splits, k); ``offset`` is the index of Y's first row.
    """
    for c in prange(n_blocks * n_splits):
        _argkmin_chunk(
            np.intp(c),
            n_blocks,
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
