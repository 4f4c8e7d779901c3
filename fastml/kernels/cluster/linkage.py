"""Agglomeration on stored distances: nearest-neighbour chain, and a generic scheme.

Both keep a matrix over *slots*: a merge writes the new cluster into one of the two slots and kills
the other. The matrix is square (rows are contiguous both ways, twice the memory) or SciPy's
condensed vector; when half of the slots are dead it is compacted in place.

`chain_merges` (F. Murtagh, "A survey of recent advances in hierarchical clustering algorithms",
1983) is right for the reducible methods: complete, average, weighted, ward. There, merging never
brings a cluster nearer to a third one than the nearer part was, so a remembered nearest neighbour
stays right until it is merged itself. `closest_merges` (D. Müllner, arXiv:1109.2378) merges the
closest pair of all; it serves centroid and median, where heights may fall.

Ward, centroid and median work on squared distances.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel

SINGLE = 0
COMPLETE = 1
AVERAGE = 2
WEIGHTED = 3
WARD = 4
CENTROID = 5
MEDIAN = 6

VALUES_PER_SCAN = 256  # whose minimum is taken as one vector loop
INFINITE = np.inf
INFINITE_BITS = np.int64(0x7FF0000000000000)

# Entries of ``state``.
N_SLOTS = 0  # slots in the matrix
N_ACTIVE = 1  # clusters that have not been merged into others
CHAIN = 2  # length of the chain
MERGED = 3  # merges done
CLOCK = 4  # merges so far: the time that `ClusterSlots` notes


class ClusterSlots(NamedTuple):
    """What is known of the cluster in each slot."""

    sizes: np.ndarray
    blocked: np.ndarray  # 0, or infinity if the slot is dead
    leaf: np.ndarray  # one of its points, to name it by
    near: np.ndarray  # a nearest neighbour, as last seen
    near_distance: np.ndarray
    seen: np.ndarray  # at which CLOCK that was, -1 for never
    born: np.ndarray  # at which CLOCK the cluster was made
    chain: np.ndarray  # the slots of the nearest-neighbour chain


@kernel
def row_start(width, i):
    """Return where entry (i, j) of the condensed matrix is, for j > i, less j."""
    return i * width - i * (i + 1) // 2 - i - 1


@kernel
def load_row(D, square, width, i, blocked, row):
    """Write the distances of slot i to ``row``; infinite for i itself and for blocked slots."""
    if square:
        stored = D[i * width : (i + 1) * width]
        for j in range(width):
            row[j] = stored[j] + blocked[j]
    else:
        position = i - 1
        for j in range(i):
            row[j] = D[position] + blocked[j]
            position += width - j - 2
        start = row_start(width, i) + i + 1
        stored = D[start : start + width - i - 1]
        rest = row[i + 1 :]
        blocked_rest = blocked[i + 1 :]
        for j in range(width - i - 1):
            rest[j] = stored[j] + blocked_rest[j]
    row[i] = INFINITE


@kernel
def first_smallest(row, bits, n):
    """Return the index of the smallest of n non-negative values, the first of equals.

    ``bits`` is the same memory as integers: those are ordered alike, and their minimum vectorises.
    """
    best = INFINITE_BITS
    where = 0
    for start in range(0, n, VALUES_PER_SCAN):
        smallest = INFINITE_BITS
        part = bits[start : min(start + VALUES_PER_SCAN, n)]
        for j in range(part.shape[0]):
            smallest = part[j] if part[j] < smallest else smallest
        if smallest < best:
            best = smallest
            where = start
    for j in range(where, min(where + VALUES_PER_SCAN, n)):
        if bits[j] == best:
            return j
    return 0


@kernel
def _nearest(row, bits, n, i, blocked):
    """Return the nearest slot to i; if nothing is at a finite distance, the first one alive."""
    j = first_smallest(row, bits, n)
    if not row[j] < INFINITE:
        j = 0
        while j < n - 1 and (blocked[j] != 0.0 or j == i):
            j += 1
    return j


@kernel
def _merged_row(method, row_a, row_b, size_a, size_b, sizes, distance, n, out):
    """Write the distances of the union of a and b to ``out``, which may be row_a.

    The formulas are those of Lance and Williams.
    """
    if method == SINGLE:
        for j in range(n):
            out[j] = row_a[j] if row_a[j] < row_b[j] else row_b[j]
    elif method == COMPLETE:
        for j in range(n):
            out[j] = row_a[j] if row_a[j] > row_b[j] else row_b[j]
    elif method == AVERAGE:
        total = size_a + size_b
        for j in range(n):
            out[j] = (size_a * row_a[j] + size_b * row_b[j]) / total
    elif method == WEIGHTED:
        for j in range(n):
            out[j] = 0.5 * (row_a[j] + row_b[j])
    elif method == WARD:
        total = size_a + size_b
        for j in range(n):
            size = sizes[j]
            value = (size + size_a) * row_a[j] + (size + size_b) * row_b[j] - size * distance
            value /= size + total
            out[j] = value if value > 0.0 else 0.0
    else:
        share_a = 0.5
        if method == CENTROID:
            share_a = size_a / (size_a + size_b)
        share_b = 1.0 - share_a
        for j in range(n):
            value = share_a * row_a[j] + share_b * row_b[j] - share_a * share_b * distance
            out[j] = value if value > 0.0 else 0.0


@kernel
def _store_row(D, square, width, i, blocked, row):
    """Write ``row`` to the distances of slot i in ``D``, for the slots that are alive."""
    if square:
        stored = D[i * width : (i + 1) * width]
        for j in range(width):
            stored[j] = row[j]
        for j in range(width):
            if blocked[j] == 0.0:
                D[j * width + i] = row[j]
    else:
        position = i - 1
        for j in range(i):
            if blocked[j] == 0.0:
                D[position] = row[j]
            position += width - j - 2
        start = row_start(width, i)
        for j in range(i + 1, width):
            D[start + j] = row[j]


@kernel
def number_alive(blocked, width, moved):
    """Write the new place of each slot to ``moved``, -1 if it is dead; return how many live."""
    n = 0
    for i in range(width):
        moved[i] = -1
        if blocked[i] == 0.0:
            moved[i] = n
            n += 1
    return n


@kernel
def move_slots(slots, state, moved, n):
    """Move what ``slots`` holds of the n slots alive to their new places ``moved``; write the new
    N_SLOTS to ``state``."""
    for i in range(state[N_SLOTS]):
        j = moved[i]
        if j >= 0:
            slots.sizes[j] = slots.sizes[i]
            slots.blocked[j] = 0.0
            slots.leaf[j] = slots.leaf[i]
            slots.near_distance[j] = slots.near_distance[i]
            slots.born[j] = slots.born[i]
            near = moved[slots.near[i]]
            slots.seen[j] = slots.seen[i] if near >= 0 else -1
            slots.near[j] = near if near >= 0 else 0
    for c in range(state[CHAIN]):
        slots.chain[c] = moved[slots.chain[c]]
    state[N_SLOTS] = n


@kernel
def _compact(D, square, slots, state, moved):
    """Close the gaps that dead slots leave in ``D`` and ``slots``, and write their number to
    ``state``.

    Entries only move forwards. ``moved`` is scratch.
    """
    width = state[N_SLOTS]
    n = number_alive(slots.blocked, width, moved)
    position = 0
    for i in range(width):
        if moved[i] < 0:
            continue
        start = i * width if square else row_start(width, i)
        for j in range(0 if square else i + 1, width):
            if moved[j] >= 0:
                D[position] = D[start + j]
                position += 1
    move_slots(slots, state, moved, n)


@kernel
def _merge(D, square, method, slots, state, rows, bits, a, b, distance, merges, heights):
    """Merge slots a > b into a, as SciPy does, so that ties are broken in the same way.

    Writes ``D``, ``slots``, ``state`` and the next line of ``merges`` and ``heights``; ``rows``
    (``bits``: the same memory) is scratch.
    """
    row_a, row_b = rows[0], rows[1]
    sizes, blocked, leaf, near, near_distance, seen, born = (
        slots.sizes,
        slots.blocked,
        slots.leaf,
        slots.near,
        slots.near_distance,
        slots.seen,
        slots.born,
    )
    width = state[N_SLOTS]
    step = state[MERGED]
    merges[step, 0] = leaf[b]
    merges[step, 1] = leaf[a]
    heights[step] = distance
    load_row(D, square, width, a, blocked, row_a)
    load_row(D, square, width, b, blocked, row_b)
    blocked[b] = INFINITE
    row_a[b] = INFINITE
    row_b[a] = INFINITE
    _merged_row(method, row_a, row_b, sizes[a], sizes[b], sizes, distance, width, row_a)
    row_a[a] = INFINITE
    row_a[b] = INFINITE
    _store_row(D, square, width, a, blocked, row_a)
    state[CLOCK] += 1
    sizes[a] += sizes[b]
    born[a] = state[CLOCK]
    near_distance[a] = -1.0
    clock = state[CLOCK]
    for j in range(width):
        # Nothing is nearer than near_distance, not even a neighbour that was merged away.
        if row_a[j] <= near_distance[j] and blocked[j] == 0.0:
            known = seen[j] >= 0 and blocked[near[j]] == 0.0 and born[near[j]] <= seen[j]
            if row_a[j] < near_distance[j] or (known and a < near[j]):
                near[j] = a
                near_distance[j] = row_a[j]
                seen[j] = clock
    near[a] = _nearest(row_a, bits[0], width, a, blocked)
    near_distance[a] = row_a[near[a]]
    seen[a] = state[CLOCK]
    state[MERGED] += 1
    state[N_ACTIVE] -= 1


@kernel
def _look(D, square, slots, state, i, row, bits):
    """Bring the nearest neighbour of slot i in ``slots`` up to date; return whether a scan was
    needed.

    ``row`` (``bits``: the same memory) is scratch.
    """
    blocked, near, near_distance, seen, born = (
        slots.blocked,
        slots.near,
        slots.near_distance,
        slots.seen,
        slots.born,
    )
    j = near[i]
    if seen[i] >= 0 and blocked[j] == 0.0 and born[j] <= seen[i]:
        return False
    load_row(D, square, state[N_SLOTS], i, blocked, row)
    j = _nearest(row, bits, state[N_SLOTS], i, blocked)
    near[i] = j
    near_distance[i] = row[j]
    seen[i] = state[CLOCK]
    return True


@kernel
def chain_merges(D, square, method, slots, state, rows, bits, moved, merges, heights, budget):
    """Merge along nearest-neighbour chains until done or ``budget`` entries have been read.

    Writes ``merges`` (pairs of leaves) and ``heights``, and changes ``D``, ``slots`` and ``state``,
    where the next call continues; ``rows`` (``bits``: the same memory) and ``moved`` are scratch.
    Returns how many clusters are left.
    """
    blocked, near, near_distance, chain = (
        slots.blocked,
        slots.near,
        slots.near_distance,
        slots.chain,
    )
    while state[N_ACTIVE] > 1 and budget > 0:
        if state[N_SLOTS] >= 2 * state[N_ACTIVE]:
            _compact(D, square, slots, state, moved)
        if state[CHAIN] == 0:
            first = 0
            while blocked[first] != 0.0:
                first += 1
            chain[0] = first
            state[CHAIN] = 1
        length = state[CHAIN]
        top = chain[length - 1]
        if _look(D, square, slots, state, top, rows[0], bits[0]):
            budget -= state[N_SLOTS]
        nearest = near[top]
        # Prefer the previous link among equals, or the chain could run in a circle.
        if length > 1:
            before = chain[length - 2]
            i = min(before, top)
            j = max(before, top)
            position = i * state[N_SLOTS] + j
            if not square:
                position = row_start(state[N_SLOTS], i) + j
            if D[position] <= near_distance[top]:
                state[CHAIN] = length - 2
                distance = D[position]
                _merge(
                    D,
                    square,
                    method,
                    slots,
                    state,
                    rows,
                    bits,
                    j,
                    i,
                    distance,
                    merges,
                    heights,
                )
                budget -= 3 * state[N_SLOTS]
                continue
        chain[length] = nearest
        state[CHAIN] = length + 1
    return state[N_ACTIVE]


@kernel
def closest_merges(D, square, method, slots, state, rows, bits, moved, merges, heights, budget):
    """Merge the closest pair of all until done or ``budget`` entries have been read.

    Arguments and result are those of `chain_merges`. Each slot remembers a neighbour and a distance
    that nothing is below. The slot with the least such bound is looked at again if its neighbour
    was merged; else it is in the closest pair.
    """
    blocked, near, near_distance = slots.blocked, slots.near, slots.near_distance
    while state[N_ACTIVE] > 1 and budget > 0:
        if state[N_SLOTS] >= 2 * state[N_ACTIVE]:
            _compact(D, square, slots, state, moved)
        width = state[N_SLOTS]
        for j in range(width):
            rows[0, j] = near_distance[j] + blocked[j]
        i = first_smallest(rows[0], bits[0], width)
        if blocked[i] != 0.0:  # all that is left is infinitely far away
            i = 0
            while blocked[i] != 0.0:
                i += 1
        budget -= width
        if _look(D, square, slots, state, i, rows[0], bits[0]):
            continue
        j = near[i]
        if i == j or blocked[j] != 0.0:
            j = 0
            while blocked[j] != 0.0 or j == i:
                j += 1
        distance = near_distance[i]
        _merge(
            D,
            square,
            method,
            slots,
            state,
            rows,
            bits,
            max(i, j),
            min(i, j),
            distance,
            merges,
            heights,
        )
        budget -= 3 * width
    return state[N_ACTIVE]


@kernel
def _find(parent, i):
    """Return the root of i; ``parent`` of all on the way to it becomes the root."""
    root = i
    while parent[root] != root:
        root = parent[root]
    while parent[i] != root:
        parent[i], i = root, parent[i]
    return root


@kernel
def label_merges(merges, heights, order, smaller_first, parent, name, size, Z):
    """Write merges of leaves, taken in ``order``, as SciPy's linkage matrix to ``Z``.

    ``parent``, ``name`` and ``size`` are scratch.
    """
    n = order.shape[0] + 1
    for i in range(n):
        parent[i] = i
        name[i] = i
        size[i] = 1
    for step in range(n - 1):
        k = order[step]
        a = _find(parent, merges[k, 0])
        b = _find(parent, merges[k, 1])
        Z[step, 0] = name[a]
        Z[step, 1] = name[b]
        if smaller_first and name[b] < name[a]:
            Z[step, 0] = name[b]
            Z[step, 1] = name[a]
        Z[step, 2] = heights[k]
        parent[b] = a
        name[a] = n + step
        size[a] += size[b]
        Z[step, 3] = size[a]
