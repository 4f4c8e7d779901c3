"""All neighbours within a radius, in two passes: mark or count, then fill CSR arrays.

Brute search marks pairs in bits, one word per 64 points, so the second pass measures hits only.
Trees are walked twice. A point is a neighbour if its reduced distance is at most the reduced
radius; radii are given per query.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import chosen_rdist, chosen_rdist_to_rows, rdist_to_dist
from fastml.kernels.neighbors.argkmin import finite_square, score_limit
from fastml.kernels.neighbors.balltree import ball_bound
from fastml.kernels.neighbors.kdtree import box_rdist, leaf_rdists
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES, first_lane, panel_scores
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, cut_leaf, right_child, search_scratch

# ---------------------------------------------------------------------------- brute


@kernel
def _mark_hits(bits, Q, q, Y, first, limit):
    """Of the points of a panel that ``bits`` marks, keep the bits of those within reach of row q.

    Row ``first`` of Y is the panel's first point; ``limit`` is the squared radius.
    """
    kept = np.uint64(0)
    while bits != np.uint64(0):
        lane = first_lane(bits)
        bit = np.uint64(1) << np.uint64(lane)
        bits &= ~bit
        if finite_square(Q, q, Y, first + lane) <= limit:
            kept |= bit
    return kept


@kernel
def _mark_panels_chunk(c, size, Q, Y, queries, points, square_scale, reach, marks, first_word):
    """`mark_panels` of ``size`` groups: candidates are found in float32 and measured in float64, as
    in `argkmin`."""
    panels, y_halves = points
    q_halves = queries.halves
    g0 = c * size
    n_groups = min(size, q_halves.shape[0] - g0)
    groups = queries.panels[g0 : g0 + n_groups]
    limits = np.empty((n_groups, GROUP_QUERIES), np.float32)
    for g in range(n_groups):
        for i in range(GROUP_QUERIES):
            q = (g0 + g) * GROUP_QUERIES + i
            limits[g, i] = np.float32(np.nan)
            if q < Q.shape[0]:
                limits[g, i] = score_limit(reach[q], q_halves[g0 + g, i], square_scale)
    scores = np.empty((GROUP_QUERIES, LANES), np.float32)
    masks = np.empty(GROUP_QUERIES, np.uint64)
    for panel in range(panels.shape[0]):
        for g in range(n_groups):
            hits = panel_scores(panels, y_halves, panel, groups, limits, g, scores, masks)
            if hits == np.uint64(0):
                continue
            for i in range(GROUP_QUERIES):
                if masks[i] != np.uint64(0):
                    q = (g0 + g) * GROUP_QUERIES + i
                    marks[q, first_word + panel] = _mark_hits(
                        masks[i], Q, q, Y, panel * LANES, reach[q]
                    )


@parallel_kernel
def mark_panels(size, Q, Y, queries, points, square_scale, reach, marks, first_word):
    """Mark in ``marks`` the rows of Y within sqrt(``reach[q]``) of row q of Q.

    ``queries`` and ``points`` are Q and Y as `PackedRows`, scaled by sqrt(``square_scale``); a
    chunk has ``size`` groups of queries. ``marks`` (n_queries, n_words) is zero before; the bits of
    Y begin in ``first_word``.
    """
    for c in prange((queries.panels.shape[0] + size - 1) // size):
        _mark_panels_chunk(
            np.intp(c), size, Q, Y, queries, points, square_scale, reach, marks, first_word
        )


@kernel
def _mark_values(values, n, limit, marks, q, word):
    """Write to ``marks[q, word]`` which of ``values[:n]`` are at most ``limit``."""
    bits = np.uint64(0)
    for s in range(n):
        if values[s] <= limit:
            bits |= np.uint64(1) << np.uint64(s)
    marks[q, word] = bits


@kernel
def _mark_rows_chunk(start, stop, every, metric, Q, Y, limits, marks):
    """`mark_rows` of rows start..stop of Q."""
    code, p, v = metric
    values = np.empty(LANES, np.float64)
    for q in range(start, stop):
        for word in range(marks.shape[1]):
            first = word * LANES
            last = min(first + LANES, Y.shape[0])
            chosen_rdist_to_rows(every, code, Q, q, Y, first, last, p, v, values)
            _mark_values(values, last - first, limits[q], marks, q, word)


@parallel_kernel
def mark_rows(every, metric, n_rows, Q, Y, limits, marks):
    """Write to ``marks`` which rows of Y are within the reduced distance ``limits[q]`` of row q.

    ``every`` as in `metrics.chosen_rdist`; a chunk has ``n_rows`` rows of Q.
    """
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, Q.shape[0])
        _mark_rows_chunk(start, stop, every, metric, Q, Y, limits, marks)


@kernel
def count_marks(marks, counts):
    """Write the number of marked points of each query to ``counts``."""
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
    """Write each query's marked points to ``indices`` from ``indptr[q]`` on, ascending."""
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
def measure_pairs(every, metric, Q, Y, indptr, indices, distances):
    """Write the distances of row q of Q and the rows ``indices[indptr[q]:indptr[q + 1]]`` of Y."""
    code, p, v = metric
    for q in range(Q.shape[0]):
        for slot in range(indptr[q], indptr[q + 1]):
            reduced = chosen_rdist(every, code, Q, q, Y, indices[slot], p, v)
            distances[slot] = rdist_to_dist(code, reduced, p)


# ---------------------------------------------------------------------------- trees


@kernel
def _kdtree_chunk(start, stop, fill, metric, tree, Q, limits, indptr, indices, distances):
    """`kdtree_radius` of rows start..stop of Q."""
    code, p, v = metric
    nodes, _, values = search_scratch()
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
            for s in range(LEAF_POINTS):
                index = order[first * LEAF_POINTS + s]
                if values[s] <= limits[q] and index >= 0:
                    if fill:
                        indices[indptr[q] + found] = index
                        distances[indptr[q] + found] = rdist_to_dist(code, values[s], p)
                    found += 1
        if not fill:
            indptr[q + 1] = found


@parallel_kernel
def kdtree_radius(fill, metric, tree, Q, n_rows, limits, indptr, indices, distances):
    """One of the two passes over a kd-tree, for points within the reduced distances ``limits``.

    Without ``fill`` write their number to ``indptr[q + 1]``; with it write their ``indices`` and
    ``distances`` from ``indptr[q]`` on. A chunk has ``n_rows`` rows of Q.
    """
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, Q.shape[0])
        _kdtree_chunk(start, stop, fill, metric, tree, Q, limits, indptr, indices, distances)


@kernel
def _balltree_chunk(start, stop, fill, every, metric, tree, Q, limits, indptr, indices, distances):
    """`balltree_radius` of rows start..stop of Q."""
    code, p, v = metric
    n = tree.rows.shape[0]
    nodes, _, values = search_scratch()
    for q in range(start, stop):
        found = 0
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, (n + LEAF_POINTS - 1) // LEAF_POINTS
        size = 1
        while size > 0:
            size -= 1
            node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
            if ball_bound(every, metric, tree, node, Q, q) > limits[q]:
                continue
            if last - first > 1:
                cut = cut_leaf(first, last)
                right = right_child(node, first, cut)
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
                nodes[size + 1, 0], nodes[size + 1, 1], nodes[size + 1, 2] = node + 1, first, cut
                size += 2
                continue
            row, stop_row = first * LEAF_POINTS, min(last * LEAF_POINTS, n)
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
def balltree_radius(fill, every, metric, tree, Q, n_rows, limits, indptr, indices, distances):
    """One of the two passes over a ball tree, as `kdtree_radius`; ``every``: `chosen_rdist`."""
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, Q.shape[0])
        _balltree_chunk(
            start, stop, fill, every, metric, tree, Q, limits, indptr, indices, distances
        )


# ---------------------------------------------------------------------------- matrices


@kernel
def count_within(D, limits, counts):
    """Write to ``counts`` how many entries of each row of D are at most the row's limit."""
    for q in range(D.shape[0]):
        total = 0
        for j in range(D.shape[1]):
            if D[q, j] <= limits[q]:
                total += 1
        counts[q] = total


@kernel
def list_within(D, limits, indptr, indices, distances):
    """Write the columns and values of the entries that `count_within` counts to ``indices`` and
    ``distances``, from ``indptr[q]`` on, columns ascending."""
    for q in range(D.shape[0]):
        slot = indptr[q]
        for j in range(D.shape[1]):
            if D[q, j] <= limits[q]:
                indices[slot] = j
                distances[slot] = D[q, j]
                slot += 1


@kernel
def sort_runs(indptr, indices, distances):
    """Sort each query's ``indices`` and ``distances`` by (distance, index), in place."""
    for q in range(indptr.shape[0] - 1):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        gap = 1  # shell sort
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
    """Remove q from the neighbours of query q, packing ``indices`` and ``distances`` in place.

    Where the runs start afterwards goes to ``out_indptr``; returns how many entries are left.
    """
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
