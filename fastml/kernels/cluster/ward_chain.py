"""Ward's hierarchy from centroids: a nearest-neighbour chain without a distance matrix.

    d(A, B)² = 2 |A| |B| / (|A| + |B|) · |c_A - c_B|²

needs sizes and centroids only: n d numbers instead of n² / 2, and most of the time goes into
squared distances of one point to all, by columns of a (d, n) panel. Slots, remembered neighbours
and compaction are as in `kernels.cluster.linkage`.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.linkage import (
    CHAIN,
    CLOCK,
    INFINITE,
    INFINITE_BITS,
    MERGED,
    N_ACTIVE,
    N_SLOTS,
    move_slots,
    number_alive,
)
from fastml.kernels.cluster.mst import COLUMNS_PER_BLOCK, panel_rdists
from fastml.kernels.distances.metrics import SQEUCLIDEAN


@kernel
def _ward_block(panel, sizes, blocked, start, stop, point, size, values, bits):
    """Write a cluster's squared Ward distances to slots start..stop; return the least, as bits.

    ``bits`` is the memory of ``values`` as integers.
    """
    panel_rdists(SQEUCLIDEAN, panel, start, stop, point, values)
    others, barred = sizes[start:stop], blocked[start:stop]
    for j in range(stop - start):
        other = others[j]
        values[j] = values[j] * (2.0 * size * other / (size + other)) + barred[j]
    least = INFINITE_BITS
    for j in range(stop - start):
        if bits[j] < least:
            least = bits[j]
    return least


@kernel
def _index_of(bits, n, value):
    """Return where ``value`` is first found among n, or 0."""
    for j in range(n):
        if bits[j] == value:
            return j
    return 0


@kernel
def _nearest_chunk(first, last, panel, sizes, blocked, near, near_distance):
    """`nearest_of_all` for slots first..last together: each block of columns serves all of them."""
    n = panel.shape[1]
    values = np.empty(COLUMNS_PER_BLOCK)
    bits = values.view(np.int64)
    point = np.empty(panel.shape[0])
    for start in range(0, n, COLUMNS_PER_BLOCK):
        stop = min(start + COLUMNS_PER_BLOCK, n)
        for i in range(first, last):
            for k in range(panel.shape[0]):
                point[k] = panel[k, i]
            least = _ward_block(panel, sizes, blocked, start, stop, point, sizes[i], values, bits)
            if start <= i < stop:  # the nearest but itself
                values[i - start] = INFINITE
                least = INFINITE_BITS
                for j in range(stop - start):
                    if bits[j] < least:
                        least = bits[j]
            where = -1
            if least < INFINITE_BITS:
                where = _index_of(bits, stop - start, least)
            if where >= 0 and values[where] < near_distance[i]:
                near_distance[i] = values[where]
                near[i] = start + where


@parallel_kernel
def nearest_of_all(first, last, n_rows, panel, sizes, blocked, near, near_distance):
    """Write the nearest neighbours of slots first..last to ``near``, and how far they are.

    ``near_distance`` must be infinite before.
    """
    for c in prange((last - first + n_rows - 1) // n_rows):
        start = first + np.intp(c) * n_rows
        stop = min(start + n_rows, last)
        _nearest_chunk(start, stop, panel, sizes, blocked, near, near_distance)


@kernel
def _nearest_of(panel, sizes, blocked, width, i, point, values, bits, kept, near, near_distance):
    """Write the nearest neighbour of slot i to ``near`` and ``near_distance``.

    ``point``, ``values`` (``bits``: the same memory) and ``kept``, the best block so far, are
    scratch; ``blocked[i]`` is changed and changed back.
    """
    for k in range(panel.shape[0]):
        point[k] = panel[k, i]
    blocked[i] = INFINITE
    best = INFINITE_BITS
    where = 0
    for start in range(0, width, COLUMNS_PER_BLOCK):
        stop = min(start + COLUMNS_PER_BLOCK, width)
        least = _ward_block(panel, sizes, blocked, start, stop, point, sizes[i], values, bits)
        if least < best:
            best = least
            where = start
            for j in range(stop - start):
                kept[j] = bits[j]
    blocked[i] = 0.0
    if best < INFINITE_BITS:
        near[i] = where + _index_of(kept, min(COLUMNS_PER_BLOCK, width - where), best)
    else:  # overflow: anything alive
        j = 0
        while j == i or blocked[j] != 0.0:
            j += 1
        near[i] = j
    near_distance[i] = np.int64(best).view(np.float64)


@kernel
def _ward_distance(panel, sizes, a, b):
    """Return the squared Ward distance of slots a and b."""
    total = 0.0
    for k in range(panel.shape[0]):
        gap = panel[k, a] - panel[k, b]
        total += gap * gap
    return total * (2.0 * sizes[a] * sizes[b] / (sizes[a] + sizes[b]))


@kernel
def _compact(panel, slots, state, moved):
    """Close the gaps that dead slots leave in ``panel`` and ``slots``, and write their number to
    ``state``; ``moved`` is scratch."""
    width = state[N_SLOTS]
    n = number_alive(slots.blocked, width, moved)
    for k in range(panel.shape[0]):
        for i in range(width):
            if moved[i] >= 0:
                panel[k, moved[i]] = panel[k, i]
    move_slots(slots, state, moved, n)


@kernel
def _merge(panel, slots, state, a, b, distance, merges, heights):
    """Merge slot b into a: write ``panel``, ``slots``, ``state`` and the next line of ``merges``
    and ``heights``."""
    sizes, blocked, leaf, seen, born = (
        slots.sizes,
        slots.blocked,
        slots.leaf,
        slots.seen,
        slots.born,
    )
    step = state[MERGED]
    merges[step, 0] = leaf[b]
    merges[step, 1] = leaf[a]
    heights[step] = distance
    share = sizes[b] / (sizes[a] + sizes[b])
    for k in range(panel.shape[0]):
        # In this form the centroid of equal points is that point, to the bit.
        panel[k, a] += (panel[k, b] - panel[k, a]) * share
    sizes[a] += sizes[b]
    blocked[b] = INFINITE
    state[CLOCK] += 1
    seen[a] = -1
    born[a] = state[CLOCK]
    state[MERGED] += 1
    state[N_ACTIVE] -= 1


@kernel
def ward_merges(panel, slots, state, moved, merges, heights, budget):
    """Merge along nearest-neighbour chains until done or ``budget`` slots have been read.

    Writes ``merges`` (pairs of leaves) and ``heights`` (squared), and changes ``panel``, ``slots``
    and ``state``, where the next call continues; ``moved`` is scratch. Returns how many clusters
    are left.
    """
    sizes, blocked, near, near_distance, seen, born, chain = (
        slots.sizes,
        slots.blocked,
        slots.near,
        slots.near_distance,
        slots.seen,
        slots.born,
        slots.chain,
    )
    values = np.empty(COLUMNS_PER_BLOCK)
    bits = values.view(np.int64)
    kept = np.empty(COLUMNS_PER_BLOCK, np.int64)
    point = np.empty(panel.shape[0])
    while state[N_ACTIVE] > 1 and budget > 0:
        if 4 * state[N_SLOTS] >= 5 * state[N_ACTIVE] + 64:
            _compact(panel, slots, state, moved)
        if state[CHAIN] == 0:
            first = 0
            while blocked[first] != 0.0:
                first += 1
            chain[0] = first
            state[CHAIN] = 1
        length = state[CHAIN]
        top = chain[length - 1]
        j = near[top]
        if seen[top] < 0 or blocked[j] != 0.0 or born[j] > seen[top]:
            _nearest_of(
                panel,
                sizes,
                blocked,
                state[N_SLOTS],
                top,
                point,
                values,
                bits,
                kept,
                near,
                near_distance,
            )
            seen[top] = state[CLOCK]
            budget -= state[N_SLOTS]
        if length > 1:
            before = chain[length - 2]
            distance = _ward_distance(panel, sizes, before, top)
            # Rounding must not let the chain pass its last link by: merge at almost equal, too.
            if distance <= near_distance[top] * (1.0 + 1e-14) or near[top] == before:
                state[CHAIN] = length - 2
                a, b = max(before, top), min(before, top)
                _merge(panel, slots, state, a, b, distance, merges, heights)
                budget -= panel.shape[0]
                continue
        chain[length] = near[top]
        state[CHAIN] = length + 1
    return state[N_ACTIVE]
