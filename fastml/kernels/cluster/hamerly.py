"""Lloyd's step with Hamerly's bounds: rows whose label cannot change are not scored.

For every row, ``upper`` is at least the distance to its own centre and ``lower`` at most that to
any other (Hamerly, "Making k-means even faster", SDM 2010). Moves of the centres widen the bounds;
a row is scored again, in the tiles of `kernels.cluster.lloyd`, only if they overlap even after its
distance to its own centre has been computed afresh.

The labels are exactly those of the plain step, ties included. E = (d + 16) ε (|x| + max |c|)² is
more than the rounding error of a score and of the tests below; the bounds are widened by it when
set, and a row is skipped only if upper² + 4 E < lower². Rows of float64 are scored in float32
first, which is twice as fast; that decides if the two lowest scores differ by more than both may be
off, and rows where it does not are scored in float64. Sums of a chunk are taken anew, over all of
its rows in their order, for every cluster that a row came to or left, and the others kept: so the
centres are equal to the bit, too.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.lloyd import squared_distance
from fastml.kernels.cluster.lloyd_registers import STRIDE, TILE, nearest_of_tile

LOOKED_AT_ROWS = 4 * TILE  # rows whose bounds are looked at before any of them is scored
HALF_FLOAT32_EPSILON = 2.0**-24


class HamerlyBounds(NamedTuple):
    """Per row: \\|x − shift\\|, and the bounds of its distances, written by every pass."""

    row_norms: np.ndarray
    upper: np.ndarray
    lower: np.ndarray


class LaidOutCenters(NamedTuple):
    """Centres as `kernels.cluster.lloyd` reads them, in the type of the rows and in float32.

    Without groups of the latter all rows are scored in their own type.
    """

    coefficients: np.ndarray
    norms: np.ndarray
    narrow_coefficients: np.ndarray
    narrow_norms: np.ndarray


class RowLabels(NamedTuple):
    """What is known of rows, and written by every pass."""

    labels: np.ndarray  # (run, row)
    bounds: HamerlyBounds
    touched: np.ndarray  # (chunk, centre): whether rows came to it or left it
    doubtful: np.ndarray  # (chunk, 2): rows scored in float32, and those that it did not decide


class Scorer(NamedTuple):
    """A tile of rows, room for what scoring finds, and how far a score may be off.

    The error of a score of row x is below ``squares`` (\\|x\\| + radius)² + ``products``
    (2 \\|x\\| + radius) radius; radius is the largest norm of a centre.
    """

    tile: np.ndarray
    best: np.ndarray
    second: np.ndarray
    nearest: np.ndarray
    squares: float
    products: float
    radius: float


@kernel
def _scorer(n_features, norms, squares, products, radius):
    """A new `Scorer` of the type of ``norms``, its arrays unfilled."""
    return Scorer(
        np.zeros((n_features, STRIDE), norms.dtype),
        np.empty(TILE, norms.dtype),
        np.empty(TILE, norms.dtype),
        np.empty(TILE, np.int32),
        squares,
        products,
        radius,
    )


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
def _rows_to_score(first, last, rows, centers, moves, limits, labels, bounds, indices):
    """Write to ``indices`` the rows of first..last whose label may change, and the ``bounds`` of
    all; return how many. ``moves`` are (own, largest of another) per centre."""
    X, shift, _ = rows
    row_norms, upper, lower = bounds
    more, four_units, radius = np.float64(limits[0]), np.float64(limits[2]), np.float64(limits[3])
    gaps = np.empty(TILE, X.dtype)
    n_found = 0
    for begin in range(first, last, TILE):
        end = min(begin + TILE, last)
        _widen(begin, end, labels, moves[0], moves[1], limits, bounds, gaps)
        for i in range(begin, end):
            if gaps[i - begin] > 0:
                continue
            low = np.float64(lower[i])
            if low > 0.0:
                reach = np.float64(row_norms[i]) + radius
                squared = squared_distance(X, i, shift, centers, labels[i]) * more
                if squared + four_units * reach * reach < low * low:
                    upper[i] = np.sqrt(squared) * more
                    continue
            indices[n_found] = i
            n_found += 1
    return n_found


@kernel
def _bounded_chunk(chunk, rows_per_chunk, rows, centers, laid_out, moves, found, statistics):
    """`bounded_chunks` for one chunk: writes its part of ``found`` and ``statistics``."""
    X, shift, weights = rows
    labels, touched = found.labels[0], found.touched[chunk]
    coefficients, norms, narrow_coefficients, narrow_norms = laid_out
    touched[:] = False
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    n_centers, n_features = centers.shape[1:]
    of_centers = np.empty((2, n_centers), X.dtype)
    _largest_other_moves(moves[0], of_centers[0], of_centers[1])
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

    is_narrow = narrow_coefficients.shape[1] > 0
    exact = _scorer(n_features, norms, unit, 0.0, radius)
    narrow_unit = (n_features + 16) * HALF_FLOAT32_EPSILON
    narrow = _scorer(n_features if is_narrow else 0, narrow_norms, unit, narrow_unit, radius)
    indices = np.empty(LOOKED_AT_ROWS, np.intp)
    n_changed, n_narrow, n_doubtful = 0, 0, 0
    for first in range(start, stop, LOOKED_AT_ROWS):
        last = min(first + LOOKED_AT_ROWS, stop)
        n = _rows_to_score(
            first, last, rows, centers[0], of_centers, limits, labels, found.bounds, indices
        )
        if is_narrow:
            n_narrow += n
            changed, n = _score_rows(
                n, indices, rows, narrow, narrow_coefficients, narrow_norms, found, touched
            )
            n_changed += changed
            n_doubtful += n
        n_changed += _score_rows(n, indices, rows, exact, coefficients, norms, found, touched)[0]
    found.doubtful[chunk, 0], found.doubtful[chunk, 1] = n_narrow, n_doubtful
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
def _pack_chosen(X, shift, indices, first, n, tile):
    """Write rows ``indices[first : first + n]``, shifted, to the columns of the tile."""
    n_quads = n - n % 4
    for slot in range(0, n_quads, 4):
        i0, i1 = indices[first + slot], indices[first + slot + 1]
        i2, i3 = indices[first + slot + 2], indices[first + slot + 3]
        for d in range(X.shape[1]):
            offset = shift[d]
            tile[d, slot] = X[i0, d] - offset
            tile[d, slot + 1] = X[i1, d] - offset
            tile[d, slot + 2] = X[i2, d] - offset
            tile[d, slot + 3] = X[i3, d] - offset
    for slot in range(n_quads, n):
        for d in range(X.shape[1]):
            tile[d, slot] = X[indices[first + slot], d] - shift[d]


@kernel
def _score_rows(n, indices, rows, scorer, coefficients, norms, found, touched):
    """Write labels and bounds of the first n rows of ``indices`` to ``found``, and True to
    ``touched`` for clusters that they came to or left; what ``scorer`` holds is overwritten.

    Rows that the scores do not decide are gathered at the front of ``indices``. Return how many
    labels changed, and how many rows those are.
    """
    tile, best, second, nearest, squares, products, radius = scorer
    row_norms, upper, lower = found.bounds
    labels = found.labels[0]
    n_changed, n_left = 0, 0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        _pack_chosen(rows.X, rows.shift, indices, first, m, tile)
        nearest_of_tile(tile, m, coefficients, norms, np.intp(0), best, second, nearest)
        for r in range(m):
            i = indices[first + r]
            norm = np.float64(row_norms[i])
            reach = norm + radius
            doubt = 2.0 * products * (2.0 * norm + radius) * radius
            error = 2.0 * squares * reach * reach + doubt
            lowest, next_lowest = np.float64(best[r]), np.float64(second[r])
            if products > 0.0 and not next_lowest - lowest > 2.0 * error:
                indices[n_left] = i
                n_left += 1
                continue
            high = lowest + norm * norm + error
            low = next_lowest + norm * norm - error
            upper[i] = np.sqrt(max(high, 0.0)) * (1.0 + squares)
            lower[i] = np.sqrt(max(low, 0.0)) * (1.0 - squares)
            if labels[i] != nearest[r]:
                if labels[i] >= 0:
                    touched[labels[i]] = True
                touched[nearest[r]] = True
                labels[i] = nearest[r]
                n_changed += 1
    return n_changed, n_left


@parallel_kernel
def bounded_chunks(n_chunks, rows_per_chunk, rows, centers, laid_out, moves, found, statistics):
    """Write ``found``, a `RowLabels`, and ``statistics`` (but no inertia); those of clusters that
    no row of the chunk came to or left stay as they are.

    ``laid_out`` are `LaidOutCenters`, ``moves`` those of the centres since the last call. Rows
    whose bounds are zero are scored in any case: that is how a run starts, with sums and masses of
    0 and labels of -1. Other arrays are those of `kernels.cluster.lloyd.lloyd_chunks` for one run:
    the bounds are as long as the data.
    """
    for c in prange(n_chunks):
        _bounded_chunk(
            np.intp(c), rows_per_chunk, rows, centers, laid_out, moves, found, statistics
        )
