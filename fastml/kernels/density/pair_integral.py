"""Sum over all pairs of tiled points of a radial function that is given by a table.

With g = K * K (the kernel convolved with itself), the integral of a squared kernel density estimate
is Σ_ij w_i w_j g(|x_i − x_j|) / (Σ w)².
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.density.tiles import BUFFER_ROWS, TILE, box_gap2, squares_to_tile


@kernel(fast_math=True)
def _weighted_values(line, scale, table, values):
    """Σ_i values[i] g(r_i) from squared distances, linear between the table's entries."""
    last = table.shape[0] - 1
    total = 0.0
    for i in range(TILE):
        place = np.sqrt(line[i]) * scale
        if place < last:
            cell = np.int64(place)
            share = place - cell
            total += values[i] * (table[cell] + share * (table[cell + 1] - table[cell]))
    return total


@kernel
def _tile_rows(rows, n, first, step, last, tiles, reach, table):
    """Sum over the pairs of points of tiles first, first + step, … below last and all later ones.

    A tile is paired with itself, too. ``rows`` are the ``n`` points in tile order.
    """
    scale = (table.shape[0] - 1) / reach
    buffer = np.empty((BUFFER_ROWS, TILE))
    chosen = np.arange(n)
    total = 0.0
    for t in range(first, last, step):
        stop = min(t * TILE + TILE, n)
        for other in range(t, tiles.coordinates.shape[0]):
            gap2 = box_gap2(tiles.low[t], tiles.high[t], tiles.low[other], tiles.high[other])
            if gap2 >= reach * reach:
                continue
            share = 0.0
            for start in range(t * TILE, stop, BUFFER_ROWS):
                end = min(start + BUFFER_ROWS, stop)
                squares_to_tile(rows, chosen, start, end, tiles.coordinates, other, buffer)
                for i in range(start, end):
                    weight = tiles.values[t, 0, i - t * TILE]
                    share += weight * _weighted_values(
                        buffer[i - start], scale, table, tiles.values[other, 0]
                    )
            total += share if other == t else 2.0 * share
    return total


@parallel_kernel
def pair_sums(rows, first, last, tiles, reach, table, partial):
    """Write chunk c's share of the sum over tiles first..last and all later ones to ``partial[c]``.

    ``rows`` are the points of ``tiles`` in their order. ``table`` holds g at equal steps from 0 to
    ``reach``, from where on it is zero. Chunks take every n-th tile: early ones have more partners.
    """
    n_chunks = partial.shape[0]
    for c in prange(n_chunks):
        partial[c] = _tile_rows(
            rows, rows.shape[0], first + np.intp(c), n_chunks, last, tiles, reach, table
        )
