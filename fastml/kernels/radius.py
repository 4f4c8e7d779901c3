"""All neighbours within a radius, in two passes: mark or count, then fill CSR arrays.

Brute search marks pairs in bits, one word per 64 points, so the second pass measures hits only.
Trees are walked twice. A point is a neighbour if its reduced distance is at most the reduced
radius; radii are given per query.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.argkmin import next_lane, score_limit, squared_distance
from fastml.kernels.balltree import ball_bound
from fastml.kernels.kdtree import box_rdist, leaf_rdists
from fastml.kernels.metrics import chosen_rdist, chosen_rdist_to_rows, rdist_to_dist
from fastml.kernels.simd import GROUP, LANES, panel_scores
from fastml.kernels.tree_build import LEAF, cut_leaf, right_child

# ---------------------------------------------------------------------------- brute


@kernel
def _mark_hits(bits, query, Y, first, limit):
    """Those of the marked points of a panel that are within reach."""
    kept = np.uint64(0)
    lane = 0
    while bits != np.uint64(0):
        lane = next_lane(bits, lane)
        bit = np.uint64(1) << np.uint64(lane)
        bits &= ~bit
        if squared_distance(query, Y[first + lane]) <= limit:
            kept |= bit
    return kept


@kernel
def _mark_panels_chunk(
    c, size, Q, Y, queries, q_halves, panels, y_halves, square_scale, reach, marks, first_word
):
    """float32 proposes, float64 decides (see argkmin)."""
    g0 = c * size
    n_groups = min(size, queries.shape[0] - g0)
    queries = queries[g0 : g0 + n_groups]
    limits = np.empty((n_groups, GROUP), np.float32)
    for g in range(n_groups):
        for i in range(GROUP):
            q = (g0 + g) * GROUP + i
            limits[g, i] = np.float32(np.nan)
            if q < Q.shape[0]:
                limits[g, i] = score_limit(reach[q], q_halves[g0 + g, i], square_scale)
    scores = np.empty((GROUP, LANES), np.float32)
    masks = np.empty(GROUP, np.uint64)
    for panel in range(panels.shape[0]):
        for g in range(n_groups):
            hits = panel_scores(panels, y_halves, panel, queries, limits, g, scores, masks)
            if hits == np.uint64(0):
                continue
            for i in range(GROUP):
                if masks[i] != np.uint64(0):
                    q = (g0 + g) * GROUP + i
                    marks[q, first_word + panel] = _mark_hits(
                        masks[i], Q[q], Y, panel * LANES, reach[q]
                    )


@parallel_kernel
def mark_panels(
    size, Q, Y, queries, q_halves, panels, y_halves, square_scale, reach, marks, first_word
):
    """Mark Euclidean neighbours; ``reach`` are squared radii, ``marks`` starts as zeros."""
    for c in prange((queries.shape[0] + size - 1) // size):
        _mark_panels_chunk(
            np.intp(c),
            size,
            Q,
            Y,
            queries,
            q_halves,
            panels,
            y_halves,
            square_scale,
            reach,
            marks,
            first_word,
        )


@kernel
def _mark_values(values, n, limit, marks, q, word):
    bits = np.uint64(0)
    for s in range(n):
        if values[s] <= limit:
            bits |= np.uint64(1) << np.uint64(s)
    marks[q, word] = bits


@kernel
def _mark_rows_chunk(start, stop, every, code, Q, Y, p, v, limits, marks):
    values = np.empty(LANES, np.float64)
    for q in range(start, stop):
        for word in range(marks.shape[1]):
            first = word * LANES
            last = min(first + LANES, Y.shape[0])
            chosen_rdist_to_rows(every, code, Q, q, Y, first, last, p, v, values)
            _mark_values(values, last - first, limits[q], marks, q, word)


@parallel_kernel
def mark_rows(every, code, n_rows, Q, Y, p, v, limits, marks):
    """Mark neighbours row by row; ``every`` as in `metrics.chosen_rdist`."""
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _mark_rows_chunk(
            start, min(start + n_rows, Q.shape[0]), every, code, Q, Y, p, v, limits, marks
        )


@kernel
def count_marks(marks, counts):
    for q in range(marks.shape[0]):
        total = 0
        for w in range(marks.shape[1]):
            bits = marks[q, w]
            while bits != np.uint64(0):
                bits &= bits - np.uint64(1)
                total += 1
        counts[q] = total


@kernel
def read_marks(marks, indptr, indices):
    """Indices of the marked points of each query, ascending, from ``indptr[q]`` on."""
    for q in range(marks.shape[0]):
        slot = indptr[q]
        for w in range(marks.shape[1]):
            bits = marks[q, w]
            if bits == np.uint64(0):
                continue
            for s in range(LANES):
                if (bits >> np.uint64(s)) & np.uint64(1):
                    indices[slot] = w * LANES + s
                    slot += 1


@kernel
def measure_pairs(every, code, Q, Y, p, v, indptr, indices, distances):
    """Distances of listed pairs."""
    for q in range(Q.shape[0]):
        for slot in range(indptr[q], indptr[q + 1]):
            reduced = chosen_rdist(every, code, Q, q, Y, indices[slot], p, v)
            distances[slot] = rdist_to_dist(code, reduced, p)


# ---------------------------------------------------------------------------- trees


@kernel
def _kdtree_chunk(start, stop, fill, code, tree, Q, p, v, limits, indptr, indices, distances):
    """Count into ``indptr[q + 1]``, or fill from ``indptr[q]`` on."""
    values = np.empty(LEAF, np.float64)
    nodes = np.empty((64, 3), np.intp)
    blocks, order, low, high, _, _ = tree
    for q in range(start, stop):
        found = 0
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, blocks.shape[0]
        size = 1
        while size > 0:
            size -= 1
            node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
            if box_rdist(code, low, high, node, Q, q, p, v) > limits[q]:
                continue
            if last - first > 1:
                cut = cut_leaf(first, last)
                right = right_child(node, first, cut)
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
                nodes[size + 1, 0], nodes[size + 1, 1], nodes[size + 1, 2] = node + 1, first, cut
                size += 2
                continue
            leaf_rdists(code, blocks, first, Q, q, p, v, values)
            for s in range(LEAF):
                index = order[first * LEAF + s]
                if values[s] <= limits[q] and index >= 0:
                    if fill:
                        indices[indptr[q] + found] = index
                        distances[indptr[q] + found] = rdist_to_dist(code, values[s], p)
                    found += 1
        if not fill:
            indptr[q + 1] = found


@parallel_kernel
def kdtree_radius(fill, code, tree, Q, n_rows, p, v, limits, indptr, indices, distances):
    """One of the two passes over a kd-tree."""
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, Q.shape[0])
        _kdtree_chunk(start, stop, fill, code, tree, Q, p, v, limits, indptr, indices, distances)


@kernel
def _balltree_chunk(
    start, stop, fill, every, code, tree, Q, p, v, limits, indptr, indices, distances
):
    n = tree.rows.shape[0]
    values = np.empty(LEAF, np.float64)
    nodes = np.empty((64, 3), np.intp)
    for q in range(start, stop):
        found = 0
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, (n + LEAF - 1) // LEAF
        size = 1
        while size > 0:
            size -= 1
            node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
            if ball_bound(every, code, tree, node, Q, q, p, v) > limits[q]:
                continue
            if last - first > 1:
                cut = cut_leaf(first, last)
                right = right_child(node, first, cut)
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
                nodes[size + 1, 0], nodes[size + 1, 1], nodes[size + 1, 2] = node + 1, first, cut
                size += 2
                continue
            row, stop_row = first * LEAF, min(last * LEAF, n)
            chosen_rdist_to_rows(every, code, Q, q, tree.rows, row, stop_row, p, v, values)
            for s in range(stop_row - row):
                if values[s] <= limits[q]:
                    if fill:
                        indices[indptr[q] + found] = tree.order[row + s]
                        distances[indptr[q] + found] = rdist_to_dist(code, values[s], p)
                    found += 1
        if not fill:
            indptr[q + 1] = found


@parallel_kernel
def balltree_radius(fill, every, code, tree, Q, n_rows, p, v, limits, indptr, indices, distances):
    """One of the two passes over a ball tree."""
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, Q.shape[0])
        _balltree_chunk(
            start, stop, fill, every, code, tree, Q, p, v, limits, indptr, indices, distances
        )


# ---------------------------------------------------------------------------- matrices


@kernel
def count_within(D, limits, counts):
    """Entries of each row that are at most the row's limit."""
    for q in range(D.shape[0]):
        total = 0
        for j in range(D.shape[1]):
            if D[q, j] <= limits[q]:
                total += 1
        counts[q] = total


@kernel
def list_within(D, limits, indptr, indices, distances):
    for q in range(D.shape[0]):
        slot = indptr[q]
        for j in range(D.shape[1]):
            if D[q, j] <= limits[q]:
                indices[slot] = j
                distances[slot] = D[q, j]
                slot += 1


@kernel
def sort_runs(indptr, indices, distances):
    """Sort every run of a CSR structure by (distance, index): shell sort, in place."""
    for q in range(indptr.shape[0] - 1):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        gap = 1
        while gap < n // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, n):
                distance, index = distances[start + i], indices[start + i]
                j = i
                while j >= gap and (
                    distances[start + j - gap] > distance
                    or (distances[start + j - gap] == distance and indices[start + j - gap] > index)
                ):
                    distances[start + j] = distances[start + j - gap]
                    indices[start + j] = indices[start + j - gap]
                    j -= gap
                distances[start + j] = distance
                indices[start + j] = index
            gap //= 3


@kernel
def drop_self_in_runs(indptr, indices, distances, out_indptr):
    """Remove q from run q, packing the arrays in place; returns the new length."""
    kept = 0
    for q in range(indptr.shape[0] - 1):
        out_indptr[q] = kept
        for slot in range(indptr[q], indptr[q + 1]):
            if indices[slot] != q:
                indices[kept] = indices[slot]
                distances[kept] = distances[slot]
                kept += 1
    out_indptr[indptr.shape[0] - 1] = kept
    return kept
