"""Lloyd's step with Hamerly's bounds: rows whose label cannot change are not scored.

For every row, ``upper`` is at least the distance to its own centre and ``lower`` at most that to
any other (Hamerly, "Making k-means even faster", SDM 2010). Moves of the centres widen the bounds;
a row is scored again, in the tiles of `kernels.cluster.lloyd`, only if they overlap even after its
distance to its own centre has been computed afresh.

The labels are exactly those of the plain step, ties included. E = (d + 16) ε (|x| + max |c|)² is
more than the rounding error of a score and of the tests below; the bounds are widened by it when
set, and a row is skipped only if upper² + 4 E < lower². Sums of a chunk are taken anew, over all of
its rows in their order, for every cluster that a row came to or left, and the others kept: so the
centres are equal to the bit, too.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.lloyd import pack_row, squared_distance
from fastml.kernels.cluster.lloyd_registers import STRIDE, TILE, nearest_of_tile


class HamerlyBounds(NamedTuple):
    """Per row: \\|x − shift\\|, and the bounds of its distances, written by every pass."""

    row_norms: np.ndarray
    upper: np.ndarray
    lower: np.ndarray


class WaitingRows(NamedTuple):
    """Rows that must be scored, gathered in a tile, and room for what scoring finds."""

    indices: np.ndarray
    tile: np.ndarray
    best: np.ndarray
    second: np.ndarray
    nearest: np.ndarray


@kernel(fast_math=True)
def shifted_norms(X, shift, norms):
    """Write \\|x − shift\\| of every row to ``norms``."""
    for i in range(X.shape[0]):
        total = 0.0
        for d in range(X.shape[1]):
            value = np.float64(X[i, d] - shift[d])
            total += value * value
        norms[i] = np.sqrt(total)


@kernel
def _widen(first, last, labels, own_move, other_move, limits, bounds, gaps):
    """Widen the bounds of rows first..last by the moves of the centres, and write ``gaps``.

    Where a gap is positive, no other centre can score lower.
    """
    row_norms, upper, lower = bounds
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
def _epsilon(array):
    """Return the machine epsilon of a float array; np.finfo would compile a quarter of a second."""
    return 2.0**-23 if array.itemsize == 4 else 2.0**-52


@kernel
def _largest_other_moves(moves, own_move, other_move):
    """Write, per centre, its own move to ``own_move`` and the largest move of another centre to
    ``other_move``, both rounded up."""
    n_centers = moves.shape[0]
    up = 1.0 + 4.0 * _epsilon(own_move)
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
    rows,
    centers_of_runs,
    coefficients,
    norms,
    moves,
    labels_of_runs,
    bounds,
    statistics,
    touched_of_chunks,
):
    """`bounded_chunks` for one chunk; ``labels_of_runs`` and ``centers_of_runs`` hold one run.

    Writes its row of ``touched_of_chunks``, too.
    """
    X, shift, weights = rows
    row_norms, upper, lower = bounds
    touched = touched_of_chunks[chunk]
    touched[:] = False
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    centers, labels = centers_of_runs[0], labels_of_runs[0]
    n_centers, n_features = centers.shape
    tile = np.zeros((n_features, STRIDE), X.dtype)
    indices = np.empty(TILE, np.intp)
    waiting = WaitingRows(
        indices,
        tile,
        np.empty(TILE, X.dtype),
        np.empty(TILE, X.dtype),
        np.empty(TILE, np.int32),
    )
    gaps = np.empty(TILE, X.dtype)
    own_move = np.empty(n_centers, X.dtype)
    other_move = np.empty(n_centers, X.dtype)
    _largest_other_moves(moves[0], own_move, other_move)

    eps = _epsilon(X)
    largest_norm = 0.0
    for j in range(n_centers):
        if np.float64(norms[0, j]) > largest_norm:
            largest_norm = np.float64(norms[0, j])
    more = 1.0 + 4.0 * eps
    radius = np.sqrt(largest_norm) * more
    unit = (n_features + 16) * eps
    limits = np.zeros(5, X.dtype)
    limits[0], limits[1], limits[2], limits[3] = more, 1.0 - 4.0 * eps, 4.0 * unit, radius

    n_waiting = 0
    n_changed = 0
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        _widen(first, last, labels, own_move, other_move, limits, bounds, gaps)
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
            indices[n_waiting] = i
            n_waiting += 1
            if n_waiting == TILE:
                n_changed += _score_waiting(
                    n_waiting, waiting, coefficients, norms, radius, unit, labels, bounds, touched
                )
                n_waiting = 0
    if n_waiting > 0:
        n_changed += _score_waiting(
            n_waiting, waiting, coefficients, norms, radius, unit, labels, bounds, touched
        )
    statistics.changed[chunk, 0] = n_changed
    if n_changed > 0:
        sums, masses = statistics.sums[chunk, 0], statistics.masses[chunk, 0]
        _sum_touched(X, shift, weights, labels, start, stop, touched, sums, masses)


@kernel
def _sum_touched(X, shift, weights, labels, first, last, touched, sums, masses):
    """Write ``sums`` and ``masses`` of the touched clusters from rows first..last."""
    n_centers, n_features = sums.shape
    for j in range(n_centers):
        if touched[j]:
            masses[j] = 0.0
            for d in range(n_features):
                sums[j, d] = 0.0
    for i in range(first, last):
        j = labels[i]
        if touched[j]:
            w = np.float64(weights[i])
            masses[j] += w
            for d in range(n_features):
                sums[j, d] += w * np.float64(X[i, d] - shift[d])


@kernel
def merge_touched(statistics, touched, total_sums, total_masses):
    """Write ``total_sums`` and ``total_masses`` of the clusters that any chunk touched."""
    sums, masses = statistics.sums, statistics.masses
    n_chunks, n_centers = touched.shape
    n_features = sums.shape[3]
    for j in range(n_centers):
        any_touched = False
        for c in range(n_chunks):
            any_touched = any_touched or touched[c, j]
        if not any_touched:
            continue
        total_masses[0, j] = masses[0, 0, j]
        for d in range(n_features):
            total_sums[0, j, d] = sums[0, 0, j, d]
        for c in range(1, n_chunks):
            total_masses[0, j] += masses[c, 0, j]
            for d in range(n_features):
                total_sums[0, j, d] += sums[c, 0, j, d]


@kernel
def _score_waiting(n_waiting, waiting, coefficients, norms, radius, unit, labels, bounds, touched):
    """Write ``labels`` and ``bounds`` of the waiting rows, and True to ``touched`` for clusters
    that rows came to or left; return how many labels changed."""
    indices, tile, best, second, nearest = waiting
    row_norms, upper, lower = bounds
    nearest_of_tile(tile, coefficients, norms, np.intp(0), best, second, nearest)
    n_changed = 0
    for r in range(n_waiting):
        i = indices[r]
        norm = np.float64(row_norms[i])
        reach = norm + radius
        error = 2.0 * unit * reach * reach
        high = np.float64(best[r]) + norm * norm + error
        low = np.float64(second[r]) + norm * norm - error
        upper[i] = np.sqrt(max(high, 0.0)) * (1.0 + unit)
        lower[i] = np.sqrt(max(low, 0.0)) * (1.0 - unit)
        if labels[i] != nearest[r]:
            if labels[i] >= 0:
                touched[labels[i]] = True
            touched[nearest[r]] = True
            labels[i] = nearest[r]
            n_changed += 1
    return n_changed


@parallel_kernel
def bounded_chunks(
    n_chunks,
    rows_per_chunk,
    rows,
    centers,
    coefficients,
    norms,
    moves,
    labels,
    bounds,
    statistics,
    touched,
):
    """Write ``labels``, ``bounds``, ``statistics`` (but no inertia) and ``touched``, whether rows
    of the chunk came to or left the cluster; ``statistics`` of other clusters stay as they are.

    ``moves`` are those of the centres since the last call. Rows whose bounds are zero are scored
    in any case: that is how a run starts, with sums and masses of 0 and labels of -1. Arrays are
    those of `kernels.cluster.lloyd.lloyd_chunks` for one run: the bounds are as long as the data.
    """
    for c in prange(n_chunks):
        _bounded_chunk(
            np.intp(c),
            rows_per_chunk,
            rows,
            centers,
            coefficients,
            norms,
            moves,
            labels,
            bounds,
            statistics,
            touched,
        )
