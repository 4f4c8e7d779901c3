"""Kernel sums S(q) = sum_i v_i K(|q - x_i|) over tiled points, for many queries q.

Queries come in tiles as well. A pair of tiles too far apart contributes nothing (kernels with an
end, which are zero beyond it) or less than the tolerance (endless kernels), and is left out:

0. the tiles of points nearest to the query tile are summed first: S can only grow from there;
1. a tile at distance r is left out for a query if W 2^-s(r) <= tolerance * S, with W the weight of
   all points: what is left out sums up to at most ``tolerance * S``;
2. where even the near tiles sum up to next to nothing (far from the data), the nearest point is
   looked for, and K is scaled by its value there: log-sum-exp, exact at any distance.

The order of summation depends on the tiles alone, so any number of threads gives the same bits.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.density.smoothing import (
    EXPONENTIAL_KERNEL,
    LAST_ENDLESS,
    kernel_values,
    tail_exponent,
)
from fastml.kernels.density.tiles import BUFFER_ROWS, TILE, box_gap2, squares_to_tile

NEXT_TO_NOTHING = 1e-250  # smaller sums of near tiles go to log-sum-exp
ROUNDED_UP = 1.0 + 1e-12  # boxes and points round differently
NEAR = 1.0  # in s: how much farther than the nearest tile still counts as near


class SumRule(NamedTuple):
    """What to sum and how exactly."""

    code: int  # of the smoothing kernel
    reach2: float  # squared distance from which K = 0 (kernels with an end)
    scale: float  # u^2 = scale * r^2 (kernels with an end)
    total: float  # sum of all weights
    relative: float  # what may be left out, as a share of S
    absolute: float  # or in units of S


class Queries(NamedTuple):
    """Queries in tile order."""

    rows: np.ndarray  # (n, d)
    itself: np.ndarray  # (n,) place among the points that is to be left out, or -1
    low: np.ndarray  # (n_tiles, d)
    high: np.ndarray


@kernel(fast_math=True)
def _add_products(chosen, first, last, itself, values, t, buffer, sums):
    """Add sum_i values[t, c, i] K_i over tile t to sums[q, c] for the queries chosen[first:last].

    Row j - first of ``buffer`` holds K of query chosen[j]; its own point is left out.
    """
    for j in range(first, last):
        q = chosen[j]
        line = j - first
        slot = itself[q] - t * TILE
        if 0 <= slot < TILE:
            buffer[line, slot] = 0.0
        for c in range(values.shape[1]):
            total = 0.0
            for i in range(TILE):
                total += values[t, c, i] * buffer[line, i]
            sums[q, c] += total


@kernel
def _in_reach(code, rows, start, stop, low, high, t, limits, chosen):
    """Write the queries start..stop that tile t may matter to to ``chosen``; return how many."""
    count = 0
    for q in range(start, stop):
        gap2 = 0.0
        for k in range(rows.shape[1]):
            gap = low[t, k] - rows[q, k]
            if rows[q, k] - high[t, k] > gap:
                gap = rows[q, k] - high[t, k]
            if gap > 0.0:
                gap2 += gap * gap
        if code == EXPONENTIAL_KERNEL:
            gap2 = np.sqrt(gap2)
        if gap2 < limits[q - start]:
            chosen[count] = q
            count += 1
    return count


@kernel
def _nearest2(queries, q, tiles, chosen, buffer):
    """Squared distance of query q to the nearest point; ``chosen`` and ``buffer`` are scratch."""
    point = queries.rows[q]
    chosen[0] = q
    nearest = np.inf
    for t in range(tiles.coordinates.shape[0]):
        if box_gap2(point, point, tiles.low[t], tiles.high[t]) >= nearest:
            continue
        squares_to_tile(queries.rows, chosen, 0, 1, tiles.coordinates, t, buffer)
        slot = queries.itself[q] - t * TILE
        if 0 <= slot < TILE:
            buffer[0, slot] = np.inf
        for i in range(TILE):
            if buffer[0, i] < nearest:
                nearest = buffer[0, i]
    return nearest


@kernel
def _after_near_tiles(
    rule, queries, start, stop, tiles, lightest, chosen, buffer, sums, shifts, limits
):
    """Write to ``limits`` how far tiles still matter to each query, from its sum of near tiles.

    Queries with next to nothing so far start again: their ``sums`` become zero, their ``shifts``
    those of their nearest point, and their limits are stored negative. Returns (largest limit of
    the others, whether there are such queries). ``chosen`` and ``buffer`` are scratch.
    """
    largest = 0.0
    some_far = False
    for q in range(start, stop):
        if sums[q, 0] >= NEXT_TO_NOTHING:
            allowed = rule.relative * sums[q, 0]
            if rule.absolute > allowed:
                allowed = rule.absolute
            limits[q - start] = np.log2(rule.total / allowed)
            if limits[q - start] > largest:
                largest = limits[q - start]
            continue
        limits[q - start] = 0.0
        nearest2 = _nearest2(queries, q, tiles, chosen, buffer)
        for c in range(sums.shape[1]):
            sums[q, c] = 0.0
        if nearest2 < np.inf:  # else: leave-one-out of a single point
            some_far = True
            shifts[q] = tail_exponent(rule.code, nearest2)
            extra = np.log2(rule.total / (rule.relative * lightest))
            limits[q - start] = -(shifts[q] * ROUNDED_UP + extra)
    return largest, some_far


@kernel
def _sum_query_tiles(rule, queries, first, last, step, tile, tiles, lightest, sums, shifts):
    """`kernel_sums` of the query tiles first, first + step, ... below last."""
    n = queries.rows.shape[0]
    n_tiles = tiles.coordinates.shape[0]
    endless = rule.code <= LAST_ENDLESS
    flat = np.empty(BUFFER_ROWS * TILE)
    buffer = flat.reshape(BUFFER_ROWS, TILE)
    gaps = np.empty(n_tiles)
    limits = np.empty(tile)
    chosen = np.empty(tile, np.intp)
    for block in range(first, last, step):
        start = block * tile
        stop = min(start + tile, n)
        nearest = np.inf
        for t in range(n_tiles):
            gap = box_gap2(queries.low[block], queries.high[block], tiles.low[t], tiles.high[t])
            if endless:
                gap = tail_exponent(rule.code, gap)
            gaps[t] = gap
            if gap < nearest:
                nearest = gap
        near = nearest + NEAR if endless else rule.reach2
        some_far = False
        for q in range(start, stop):
            limits[q - start] = np.inf if endless else rule.reach2
        largest = limits[0]
        for phase in range(3 if endless else 1):
            if phase == 1:
                largest, some_far = _after_near_tiles(
                    rule,
                    queries,
                    start,
                    stop,
                    tiles,
                    lightest,
                    chosen,
                    buffer,
                    sums,
                    shifts,
                    limits,
                )
            if phase == 2:
                if not some_far:
                    break
                for q in range(start, stop):
                    limits[q - start] = -limits[q - start]
            at_once = 1 if phase == 2 else BUFFER_ROWS  # each with its own shift
            for t in range(n_tiles):
                if phase == 0 and (gaps[t] > near or gaps[t] >= largest):
                    continue
                if phase == 1 and (gaps[t] <= near or gaps[t] >= largest):
                    continue
                n_chosen = _in_reach(
                    rule.code,
                    queries.rows,
                    start,
                    stop,
                    tiles.low,
                    tiles.high,
                    t,
                    limits,
                    chosen,
                )
                for i in range(0, n_chosen, at_once):
                    j = min(i + at_once, n_chosen)
                    squares_to_tile(queries.rows, chosen, i, j, tiles.coordinates, t, buffer)
                    shift = shifts[chosen[i]] if phase == 2 else 0.0
                    kernel_values(rule.code, flat[: (j - i) * TILE], shift, rule.reach2, rule.scale)
                    _add_products(chosen, i, j, queries.itself, tiles.values, t, buffer, sums)


@parallel_kernel
def kernel_sums(rule, queries, first, last, tile, tiles, lightest, n_chunks, sums, shifts):
    """Write the kernel sums at the queries of tiles first..last: they are sums[q] * 2^-shifts[q].

    ``sums`` (n, m) and ``shifts`` (n,) start as zeros; a query tile has ``tile`` rows. ``lightest``
    is the smallest weight: the least that the nearest point can count. Chunks take every
    n_chunks-th query tile, since dense regions take longer than sparse ones.
    """
    for c in prange(n_chunks):
        _sum_query_tiles(
            rule, queries, first + np.intp(c), last, n_chunks, tile, tiles, lightest, sums, shifts
        )
