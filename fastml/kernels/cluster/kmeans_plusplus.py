"""Greedy k-means++ seeding (Arthur and Vassilvitskii, SODA 2007), one step at a time.

A step samples a few candidate rows with probability proportional to weight times squared distance
to the nearest centre so far, and keeps the candidate that lowers the sum of those (the potential)
most. Distances are sums of squared differences, so duplicates are at distance zero exactly. The
sampling is the caller's.

Distances are computed for a tile (dimension, row) at a time. Where transposing the rows in every
step would cost more than the distances, the caller passes them as such tiles. A tile is copied
before use, because its dimensions lie half a kilobyte apart: 16 streams, more than the processor
prefetches. Skipping rows by the triangle inequality (candidate y cannot be nearer to x than x's
centre c if d(c, y) >= 2 d(x, c)) was tried and does not pay: it needs a centre in x's own cluster,
and gathering the remaining rows takes longer than the distances to six candidates.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.lloyd import pack_rows
from fastml.kernels.cluster.lloyd_registers import STRIDE, TILE


@kernel(fused=True)
def _distances_of_tile(tile, first_center, second_center, out0, out1):
    """Write the squared distances of the rows of a tile to two centres to out0 and out1."""
    n_features = first_center.shape[0]
    for r in range(TILE):
        out0[r] = 0
        out1[r] = 0
    d = 0
    while d + 3 < n_features:
        x0, x1, x2, x3 = tile[d], tile[d + 1], tile[d + 2], tile[d + 3]
        a0, a1 = first_center[d], first_center[d + 1]
        a2, a3 = first_center[d + 2], first_center[d + 3]
        b0, b1 = second_center[d], second_center[d + 1]
        b2, b3 = second_center[d + 2], second_center[d + 3]
        for r in range(TILE):
            v0, v1, v2, v3 = x0[r], x1[r], x2[r], x3[r]
            u0, u1, u2, u3 = v0 - a0, v1 - a1, v2 - a2, v3 - a3
            w0, w1, w2, w3 = v0 - b0, v1 - b1, v2 - b2, v3 - b3
            out0[r] += u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3
            out1[r] += w0 * w0 + w1 * w1 + w2 * w2 + w3 * w3
        d += 4
    while d < n_features:
        x0 = tile[d]
        a0 = first_center[d]
        b0 = second_center[d]
        for r in range(TILE):
            u0 = x0[r] - a0
            w0 = x0[r] - b0
            out0[r] += u0 * u0
            out1[r] += w0 * w0
        d += 1


@kernel(fast_math=True)
def _potential_of_tile(distances, closest, weights, first, last):
    """Return the weighted sum of the lower of ``distances`` and ``closest``, rows first..last.

    It only reads: LLVM guards loops that write by comparing addresses, and the order of summation
    must not depend on where arrays lie.
    """
    total = 0.0
    for r in range(last - first):
        lower = distances[r] if distances[r] < closest[first + r] else closest[first + r]
        total += np.float64(weights[first + r]) * np.float64(lower)
    return total


@kernel
def _keep_lower(distances, closest, first, last, kept):
    """Write the lower of ``distances`` and ``closest`` to ``kept``, for rows first..last."""
    for r in range(last - first):
        old, new = closest[first + r], distances[r]
        kept[first + r] = new if new < old else old


@kernel
def _copy_tile(source, tile):
    """Copy TILE columns of ``source`` to ``tile``, whose lines are longer."""
    for d in range(source.shape[0]):
        for r in range(TILE):
            tile[d, r] = source[d, r]


@kernel
def _seeding_chunk(
    chunk, tiles_per_chunk, X, shift, tiles, weights, candidates, closest, keep, kept, potentials
):
    """`seeding_chunks` for one chunk."""
    n_rows = X.shape[0]
    start = chunk * tiles_per_chunk
    stop = min(start + tiles_per_chunk, (n_rows + TILE - 1) // TILE)
    tile = np.zeros((X.shape[1], STRIDE), X.dtype)
    n_candidates = candidates.shape[0]
    distances = np.empty((2, STRIDE), X.dtype)
    for t in range(n_candidates):
        potentials[chunk, t] = 0.0
    for number in range(start, stop):
        first = number * TILE
        last = min(first + TILE, n_rows)
        if tiles.shape[0] > 0:
            _copy_tile(tiles[number], tile)
        else:
            pack_rows(X, shift, first, last, tile)
        for pair in range(0, n_candidates, 2):
            other = min(pair + 1, n_candidates - 1)
            _distances_of_tile(
                tile, candidates[pair], candidates[other], distances[0], distances[1]
            )
            for t in range(pair, other + 1):
                line = distances[t - pair]
                potentials[chunk, t] += _potential_of_tile(line, closest, weights, first, last)
                if keep:
                    _keep_lower(line, closest, first, last, kept[t])


@parallel_kernel
def seeding_chunks(
    n_chunks, tiles_per_chunk, X, shift, tiles, weights, candidates, closest, keep, kept, potentials
):
    """Write the potential of every candidate, by chunk: ``potentials`` (chunk, candidate).

    ``tiles`` are the shifted rows (tile, dimension, row), or none of them.

    With ``keep``, ``kept[t]`` becomes the squared distances to the nearest of the old centres
    (``closest``) and candidate t; it may be the memory of ``closest`` if there is one candidate.
    """
    for c in prange(n_chunks):
        _seeding_chunk(
            np.intp(c),
            tiles_per_chunk,
            X,
            shift,
            tiles,
            weights,
            candidates,
            closest,
            keep,
            kept,
            potentials,
        )
