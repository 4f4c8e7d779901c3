"""Lloyd's step with Hamerly's bounds: rows whose label cannot change are not scored.

For every row, ``upper`` is at least the distance to its own centre and ``lower`` at most that to
any other (Hamerly, "Making k-means even faster", SDM 2010). Moves of the centres widen the bounds;
a row is scored again, in the tiles of `fastml.kernels.lloyd`, only if they overlap even after its
distance to its own centre has been computed afresh.

The labels are those of the plain step to the last tie. E = (d + 16) ε (|x| + max |c|)² is more than
the rounding error of a score and of the tests below; the bounds are widened by it when set, and a
row is skipped only if upper² + 4 E < lower². Sums are always taken over all rows, so that centres
are the same bits too.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.lloyd import (
    GROUP,
    STRIDE,
    TILE,
    add_rows,
    clear_statistics,
    pack_row,
    score_tile,
    squared_distance,
)


@kernel
def _keep_two_best(scores, first_center, best, second, nearest):
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    j0 = np.int32(first_center)
    j1, j2, j3 = np.int32(j0 + 1), np.int32(j0 + 2), np.int32(j0 + 3)
    for r in range(TILE):
        b = best[r]
        c = second[r]
        j = nearest[r]
        v = s0[r]
        c = b if v < b else (v if v < c else c)
        j = j0 if v < b else j
        b = v if v < b else b
        v = s1[r]
        c = b if v < b else (v if v < c else c)
        j = j1 if v < b else j
        b = v if v < b else b
        v = s2[r]
        c = b if v < b else (v if v < c else c)
        j = j2 if v < b else j
        b = v if v < b else b
        v = s3[r]
        c = b if v < b else (v if v < c else c)
        j = j3 if v < b else j
        b = v if v < b else b
        best[r] = b
        second[r] = c
        nearest[r] = j


@kernel
def two_nearest_of_tile(tile, coefficients, norms, scores, best, second, nearest):
    """As `lloyd.nearest_of_tile`, with the second best score."""
    for r in range(TILE):
        best[r] = np.finfo(best.dtype).max
        second[r] = np.finfo(best.dtype).max
        nearest[r] = np.int32(0)
    for group in range(coefficients.shape[0]):
        score_tile(tile, coefficients, np.intp(group), norms, scores)
        _keep_two_best(scores, group * GROUP, best, second, nearest)


@kernel
def shifted_norms(X, shift, norms):
    """\\|x − shift\\| of every row."""
    for i in range(X.shape[0]):
        total = 0.0
        for d in range(X.shape[1]):
            value = np.float64(X[i, d] - shift[d])
            total += value * value
        norms[i] = np.sqrt(total)


@kernel
def _widen(first, last, labels, own_move, other_move, limits, row_norms, upper, lower, gaps):
    """Widen the bounds by the moves; where a gap is positive, no other centre can score lower."""
    more, less, four_errors, radius = limits[0], limits[1], limits[2], limits[3]
    for i in range(first, last):
        label = labels[i]
        high = (upper[i] + own_move[label]) * more
        low = (lower[i] - other_move[label]) * less
        if low < 0:
            low = limits[4]
        reach = row_norms[i] + radius
        upper[i] = high
        lower[i] = low
        gaps[i - first] = low * low - high * high - four_errors * reach * reach


@kernel
def _largest_other_moves(moves, own_move, other_move):
    """Per centre its own move and the largest of the others', rounded up."""
    n_centers = moves.shape[0]
    up = 1.0 + 4.0 * np.float64(np.finfo(own_move.dtype).eps)
    farthest = 0
    for j in range(n_centers):
        if moves[j] > moves[farthest]:
            farthest = j
    second = 0.0
    for j in range(n_centers):
        if j != farthest and moves[j] > second:
            second = moves[j]
    for j in range(n_centers):
        own_move[j] = moves[j] * up
        other_move[j] = (second if j == farthest else moves[farthest]) * up


@kernel
def _bounded_chunk(
    chunk,
    rows_per_chunk,
    X,
    shift,
    weights,
    row_norms,
    centers,
    coefficients,
    norms,
    moves,
    labels,
    upper,
    lower,
    sums,
    masses,
    changed,
):
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    n_centers, n_features = centers.shape
    tile = np.zeros((coefficients.shape[1], STRIDE), X.dtype)
    scores = np.empty((GROUP, STRIDE), X.dtype)
    best = np.empty(TILE, X.dtype)
    second = np.empty(TILE, X.dtype)
    nearest = np.empty(TILE, np.int32)
    waiting = np.empty(TILE, np.intp)
    gaps = np.empty(TILE, X.dtype)
    own_move = np.empty(n_centers, X.dtype)
    other_move = np.empty(n_centers, X.dtype)
    _largest_other_moves(moves, own_move, other_move)

    eps = np.float64(np.finfo(X.dtype).eps)
    largest_norm = 0.0
    for j in range(n_centers):
        if np.float64(norms[j]) > largest_norm:
            largest_norm = np.float64(norms[j])
    more = 1.0 + 4.0 * eps
    radius = np.sqrt(largest_norm) * more
    unit = (n_features + 16) * eps
    limits = np.zeros(5, X.dtype)
    limits[0], limits[1], limits[2], limits[3] = more, 1.0 - 4.0 * eps, 4.0 * unit, radius

    n_waiting = 0
    n_changed = 0
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        _widen(first, last, labels, own_move, other_move, limits, row_norms, upper, lower, gaps)
        for i in range(first, last):
            if gaps[i - first] > 0:
                continue
            low = np.float64(lower[i])
            if low > 0.0:
                reach = np.float64(row_norms[i]) + radius
                squared = squared_distance(X, i, shift, centers, labels[i]) * more
                if squared + 4.0 * unit * reach * reach < low * low:
                    upper[i] = np.sqrt(squared) * more
                    continue
            pack_row(X, i, shift, tile, n_waiting)
            waiting[n_waiting] = i
            n_waiting += 1
            if n_waiting == TILE:
                two_nearest_of_tile(tile, coefficients, norms, scores, best, second, nearest)
                n_changed += _set_labels(
                    n_waiting, waiting, best, second, nearest, row_norms, radius, unit, labels,
                    upper, lower,
                )  # fmt: skip
                n_waiting = 0
    if n_waiting > 0:
        two_nearest_of_tile(tile, coefficients, norms, scores, best, second, nearest)
        n_changed += _set_labels(
            n_waiting, waiting, best, second, nearest, row_norms, radius, unit, labels,
            upper, lower,
        )  # fmt: skip
    changed[chunk] = n_changed
    clear_statistics(sums[chunk], masses[chunk])
    add_rows(X, shift, weights, labels, start, stop, sums[chunk], masses[chunk])


@kernel
def _set_labels(
    n_waiting, waiting, best, second, nearest, row_norms, radius, unit, labels, upper, lower
):
    """Write labels and bounds of scored rows; return how many labels changed."""
    n_changed = 0
    for r in range(n_waiting):
        i = waiting[r]
        norm = np.float64(row_norms[i])
        reach = norm + radius
        error = 2.0 * unit * reach * reach
        high = np.float64(best[r]) + norm * norm + error
        low = np.float64(second[r]) + norm * norm - error
        upper[i] = np.sqrt(max(high, 0.0)) * (1.0 + unit)
        lower[i] = np.sqrt(max(low, 0.0)) * (1.0 - unit)
        if labels[i] != nearest[r]:
            labels[i] = nearest[r]
            n_changed += 1
    return n_changed


@parallel_kernel
def bounded_chunks(
    n_chunks,
    rows_per_chunk,
    X,
    shift,
    weights,
    row_norms,
    centers,
    coefficients,
    norms,
    moves,
    labels,
    upper,
    lower,
    sums,
    masses,
    changed,
):
    """Labels and statistics of all rows; ``moves`` are those of the centres since the last call.

    Rows whose bounds are zero are scored in any case: that is how a run starts.
    """
    for c in prange(n_chunks):
        _bounded_chunk(
            np.intp(c),
            rows_per_chunk,
            X,
            shift,
            weights,
            row_norms,
            centers,
            coefficients,
            norms,
            moves,
            labels,
            upper,
            lower,
            sums,
            masses,
            changed,
        )
