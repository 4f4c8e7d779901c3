"""Points in tiles: neighbours in space next to each other in memory, each tile with its box.

Rows are ordered by halving at medians of the widest coordinate until a tile's worth is left; every
tile but the last is full. `pack` then stores a tile coordinate by coordinate, so that a loop over
its points is a vector loop for any number of features. Sums over all points become sums over tiles,
and tiles too far away to matter are known by their boxes.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.neighbors.space_tree import SAMPLE, select

TILE = 128  # points of a tile
BUFFER_ROWS = 16  # rows whose distances to a tile are in a buffer together
FAR_AWAY = 1e150  # coordinates of what fills up the last tile


class Tiles(NamedTuple):
    """n points in ``ceil(n / TILE)`` tiles; the last one is filled up with weightless points."""

    coordinates: np.ndarray  # (n_tiles, d, TILE)
    values: np.ndarray  # (n_tiles, m, TILE): weights, then what else is to be summed
    low: np.ndarray  # (n_tiles, d) boxes
    high: np.ndarray
    weight: np.ndarray  # (n_tiles,) sums of the weights


@kernel
def tile_order(rows, order, tile):
    """Reorder ``rows``, and ``order`` with them: runs of ``tile`` rows lie close together."""
    n, d = rows.shape
    sample = np.empty(SAMPLE, rows.dtype)
    stack = np.empty((64, 2), np.intp)
    stack[0, 0], stack[0, 1] = 0, n
    size = 1
    while size > 0:
        size -= 1
        start, stop = stack[size, 0], stack[size, 1]
        if stop - start <= tile:
            continue
        widest = 0
        width = -1.0
        for k in range(d):
            low = rows[start, k]
            high = low
            for i in range(start + 1, stop):
                value = rows[i, k]
                if value < low:
                    low = value
                if value > high:
                    high = value
            if high - low > width:
                widest = k
                width = high - low
        n_tiles = (stop - start + tile - 1) // tile
        cut = start + (n_tiles + 1) // 2 * tile
        if width > 0.0:
            select(rows, order, widest, start, stop - 1, cut, sample)
        stack[size, 0], stack[size, 1] = start, cut
        stack[size + 1, 0], stack[size + 1, 1] = cut, stop
        size += 2


@kernel
def boxes(rows, tile, low, high):
    """Write the tight boxes of the runs of ``tile`` rows to ``low`` and ``high``."""
    n, d = rows.shape
    for t in range(low.shape[0]):
        start = t * tile
        stop = min(start + tile, n)
        for k in range(d):
            low[t, k] = rows[start, k]
            high[t, k] = rows[start, k]
        for i in range(start + 1, stop):
            for k in range(d):
                value = rows[i, k]
                if value < low[t, k]:
                    low[t, k] = value
                if value > high[t, k]:
                    high[t, k] = value


@kernel
def pack(rows, order, values, tiles):
    """Fill ``tiles`` from ordered rows; ``values`` (n, m) are in the original order."""
    n, d = rows.shape
    m = values.shape[1]
    boxes(rows, TILE, tiles.low, tiles.high)
    for t in range(tiles.coordinates.shape[0]):
        weight = 0.0
        for s in range(TILE):
            i = t * TILE + s
            for k in range(d):
                tiles.coordinates[t, k, s] = rows[i, k] if i < n else FAR_AWAY
            for c in range(m):
                tiles.values[t, c, s] = values[order[i], c] if i < n else 0.0
            weight += tiles.values[t, 0, s]
        tiles.weight[t] = weight


@kernel
def box_gap2(low, high, other_low, other_high):
    """Squared distance of two boxes."""
    total = 0.0
    for k in range(low.shape[0]):
        gap = other_low[k] - high[k]
        if low[k] - other_high[k] > gap:
            gap = low[k] - other_high[k]
        if gap > 0.0:
            total += gap * gap
    return total


@kernel(fused=True)
def squares_to_tile(rows, chosen, first, last, coordinates, t, out):
    """Write the squared distances of rows chosen[first:last] and the points of tile t to ``out``.

    A row of ``out`` each. Four coordinates at a time; several rows in one call, since passing
    arrays costs as much as a tile.
    """
    d = rows.shape[1]
    done = d % 4
    for j in range(first, last):
        q = chosen[j]
        line = j - first
        if done == 1:
            q0 = rows[q, 0]
            for i in range(TILE):
                a = coordinates[t, 0, i] - q0
                out[line, i] = a * a
        elif done == 2:
            q0, q1 = rows[q, 0], rows[q, 1]
            for i in range(TILE):
                a = coordinates[t, 0, i] - q0
                b = coordinates[t, 1, i] - q1
                out[line, i] = a * a + b * b
        elif done == 3:
            q0, q1, q2 = rows[q, 0], rows[q, 1], rows[q, 2]
            for i in range(TILE):
                a = coordinates[t, 0, i] - q0
                b = coordinates[t, 1, i] - q1
                c = coordinates[t, 2, i] - q2
                out[line, i] = a * a + b * b + c * c
        else:
            for i in range(TILE):
                out[line, i] = 0.0
        for k in range(done, d, 4):
            q0, q1, q2, q3 = rows[q, k], rows[q, k + 1], rows[q, k + 2], rows[q, k + 3]
            for i in range(TILE):
                a = coordinates[t, k, i] - q0
                b = coordinates[t, k + 1, i] - q1
                c = coordinates[t, k + 2, i] - q2
                e = coordinates[t, k + 3, i] - q3
                out[line, i] += (a * a + b * b) + (c * c + e * e)
