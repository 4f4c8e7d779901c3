"""Scaling by majorising stress: distances, the Guttman transform and stress in one pass.

    stress = Σ_{i<j} w_ij (|y_i - y_j| - δ_ij)²,   G_i = Σ_j w_ij δ_ij / |y_i - y_j| (y_i - y_j)

Rows of pairs are read as they come; no matrix of ratios is made.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

SMALLEST = 1e-5  # in the place of a distance of 0 as a divisor


@kernel(fast_math=True)
def _plane_row(i, Y, targets, out, sums):
    """`guttman` of row i in the plane without weights; stress and squares are added to ``sums``."""
    x, y = Y[i, 0], Y[i, 1]
    gx, gy, stress, squares = 0.0, 0.0, 0.0, 0.0
    for j in range(Y.shape[0]):
        dx = x - Y[j, 0]
        dy = y - Y[j, 1]
        square = dx * dx + dy * dy
        distance = np.sqrt(square)
        gap = distance - targets[j]
        stress += gap * gap
        squares += square
        ratio = targets[j] / (distance if distance > 0.0 else SMALLEST)
        gx += ratio * dx
        gy += ratio * dy
    out[0], out[1] = gx, gy
    sums[0] += stress
    sums[1] += squares


@kernel
def _any_row(i, Y, targets, weights, out, sums):
    """The same in any number of dimensions, with weights unless there are none.

    Writes ``out`` and ``sums``.
    """
    n, d = Y.shape
    for f in range(d):
        out[f] = 0.0
    for j in range(n):
        weight = weights[j] if weights.shape[0] > 0 else 1.0
        if weight == 0.0:
            continue
        square = 0.0
        for f in range(d):
            gap = Y[i, f] - Y[j, f]
            square += gap * gap
        distance = np.sqrt(square)
        gap = distance - targets[j]
        sums[0] += weight * gap * gap
        sums[1] += weight * square
        ratio = weight * targets[j] / (distance if distance > 0.0 else SMALLEST)
        for f in range(d):
            out[f] += ratio * (Y[i, f] - Y[j, f])


@kernel
def _guttman_chunk(start, stop, Y, targets, weights, out, sums):
    """`guttman` for rows start..stop, into ``out`` and ``sums``."""
    sums[0], sums[1] = 0.0, 0.0
    for i in range(start, stop):
        if Y.shape[1] == 2 and weights.shape[0] == 0:
            _plane_row(i, Y, targets[i], out[i], sums)
        else:
            mine = weights[i] if weights.shape[0] > 0 else weights[:0].ravel()
            _any_row(i, Y, targets[i], mine, out[i], sums)


@parallel_kernel
def guttman(Y, targets, weights, rows_per_chunk, out, sums):
    """Write G to ``out``, and twice the stress and twice Σ w d² of each chunk to ``sums``.

    ``weights`` has no rows where all are one.
    """
    n = Y.shape[0]
    for c in prange(sums.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _guttman_chunk(start, stop, Y, targets, weights, out, sums[c])


@kernel
def _pair_chunk(start, stop, Y, rows, columns, out):
    """`pair_distances` for pairs start..stop, into ``out``."""
    if Y.shape[1] == 2:
        for p in range(start, stop):
            i, j = rows[p], columns[p]
            dx = Y[i, 0] - Y[j, 0]
            dy = Y[i, 1] - Y[j, 1]
            out[p] = np.sqrt(dx * dx + dy * dy)
        return
    for p in range(start, stop):
        square = 0.0
        for f in range(Y.shape[1]):
            gap = Y[rows[p], f] - Y[columns[p], f]
            square += gap * gap
        out[p] = np.sqrt(square)


@parallel_kernel
def pair_distances(Y, rows, columns, pairs_per_chunk, out):
    """Write the distance of rows[p] and columns[p] of Y to ``out[p]``."""
    n = rows.shape[0]
    n_chunks = -(-n // pairs_per_chunk)
    for c in prange(n_chunks):
        start, stop = c * pairs_per_chunk, min(n, (c + 1) * pairs_per_chunk)
        _pair_chunk(start, stop, Y, rows, columns, out)


class PooledRuns(NamedTuple):
    """Runs of groups with one fitted value: sums of their values, sizes, and first groups."""

    sums: np.ndarray
    sizes: np.ndarray
    first: np.ndarray


@kernel
def _push(top, bottom, total, size, start, blocks):
    """Put a run on the stack ``blocks[bottom:top]``, joined with those whose mean is not smaller;
    return the new top."""
    while top > bottom and blocks.sums[top - 1] * size >= total * blocks.sizes[top - 1]:
        top -= 1
        total += blocks.sums[top]
        size += blocks.sizes[top]
        start = blocks.first[top]
    blocks.sums[top], blocks.sizes[top], blocks.first[top] = total, size, start
    return top + 1


@kernel
def _pool_chunk(start, stop, values, begins, blocks):
    """Pool the groups start..stop into ``blocks``, from place start on; return their end."""
    top = start
    if begins[stop] - begins[start] == stop - start:  # groups of one
        for g in range(start, stop):
            top = _push(top, start, values[begins[start] + g - start], 1.0, g, blocks)
        return top
    for g in range(start, stop):
        total = 0.0
        for p in range(begins[g], begins[g + 1]):
            total += values[p]
        top = _push(top, start, total, float(begins[g + 1] - begins[g]), g, blocks)
    return top


@parallel_kernel
def pool_chunks(values, begins, groups_per_chunk, blocks, ends):
    """Pool each chunk of the groups values[begins[g]:begins[g+1]] into ``blocks``; ``ends`` says
    where the blocks of a chunk end."""
    n = begins.shape[0] - 1
    for c in prange(ends.shape[0]):
        start, stop = c * groups_per_chunk, min(n, (c + 1) * groups_per_chunk)
        ends[c] = _pool_chunk(start, stop, values, begins, blocks)


@kernel
def pool_rest(groups_per_chunk, ends, blocks, fitted):
    """Pool the ``blocks`` of all chunks; write the non-decreasing fit of every group to
    ``fitted``; return Σ size fit²."""
    top = 0
    for c in range(ends.shape[0]):
        for b in range(c * groups_per_chunk, ends[c]):
            top = _push(top, 0, blocks.sums[b], blocks.sizes[b], blocks.first[b], blocks)
    squares = 0.0
    for b in range(top):
        mean = blocks.sums[b] / blocks.sizes[b]
        squares += blocks.sums[b] * mean
        stop = blocks.first[b + 1] if b + 1 < top else fitted.shape[0]
        for g in range(blocks.first[b], stop):
            fitted[g] = mean
    return squares


@kernel
def _fill_chunk(start, stop, groups, fitted, scale, out):
    """`fill_targets` for rows start..stop, into ``out``."""
    for i in range(start, stop):
        for j in range(groups.shape[1]):
            g = groups[i, j]
            out[i, j] = scale * fitted[g] if g >= 0 else 0.0


@parallel_kernel
def fill_targets(groups, fitted, scale, rows_per_chunk, out):
    """Write scale * fitted[groups[i, j]] to ``out``, 0 where the group is negative."""
    n = groups.shape[0]
    n_chunks = -(-n // rows_per_chunk)
    for c in prange(n_chunks):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _fill_chunk(start, stop, groups, fitted, scale, out)
