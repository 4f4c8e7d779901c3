"""Nearest neighbours in a ball tree: any metric with the triangle inequality.

A node holds a centre c and a radius r; no point inside is nearer to q than d(q, c) - r. Cuts are
those of `space_tree`; leaves are runs of rows. ``every`` is that of `metrics.chosen_rdist`.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import (
    BRAYCURTIS_ABSOLUTE,
    DICE,
    KULSINSKI,
    RUSSELLRAO,
    YULE,
    chosen_rdist,
    chosen_rdist_to_rows,
    dist_to_rdist,
    rdist_to_dist,
)
from fastml.kernels.neighbors.space_tree import (
    DEEPEST,
    LEAF_POINTS,
    cut_leaf,
    right_child,
    search_scratch,
)
from fastml.kernels.numeric.heap import FLOAT64_MAX, heap_clear, heap_push, heap_sort

BOUND_SLACK = 1e-12  # of a computed bound, relative: more than its rounding error


class BallTreeArrays(NamedTuple):
    """A partition (see `space_tree`) with a ball around every node."""

    rows: np.ndarray  # (n, d) points in leaf order
    order: np.ndarray  # (n,) their original indices
    centres: np.ndarray  # (n_nodes, d)
    radii: np.ndarray  # (n_nodes,)
    smallest: np.ndarray  # (n_nodes,) smallest original index inside


@kernel
def _enclose_from(every, metric, tree, node, first, last, whole_subtree):
    """Write to ``tree`` a node's centre, the mean of its points, and its radius, which reaches all
    of them.

    With ``whole_subtree`` those of all nodes below it, too.
    """
    code, p, v = metric
    rows, centres = tree.rows, tree.centres
    n, d = rows.shape
    sums = np.empty(d, np.float64)
    stack = np.empty((DEEPEST, 3), np.intp)
    stack[0, 0], stack[0, 1], stack[0, 2] = node, first, last
    size = 1
    while size > 0:
        size -= 1
        node, first, last = stack[size, 0], stack[size, 1], stack[size, 2]
        start, stop = first * LEAF_POINTS, min(last * LEAF_POINTS, n)
        for k in range(d):
            sums[k] = 0.0
        for i in range(start, stop):
            for k in range(d):
                sums[k] += np.float64(rows[i, k])
        for k in range(d):
            centres[node, k] = sums[k] / (stop - start)
        radius = 0.0
        for i in range(start, stop):
            reduced = chosen_rdist(every, code, rows, i, centres, node, p, v)
            if reduced > radius:
                radius = reduced
        tree.radii[node] = rdist_to_dist(code, radius, p)
        if whole_subtree and last - first > 1:
            cut = cut_leaf(first, last)
            stack[size, 0], stack[size, 1], stack[size, 2] = node + 1, first, cut
            right = right_child(node, first, cut)
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = right, cut, last
            size += 2


@parallel_kernel
def enclose_nodes(every, metric, tree, tasks, whole_subtree):
    """Write to ``tree`` the centres and radii of the nodes in ``tasks``: rows of (node, first leaf,
    last leaf).

    With ``whole_subtree`` those of all nodes below them, too.
    """
    for c in prange(tasks.shape[0]):
        _enclose_from(every, metric, tree, tasks[c, 0], tasks[c, 1], tasks[c, 2], whole_subtree)


@kernel
def ball_bound(every, metric, tree, node, Q, q):
    """A lower bound of the reduced distance of row q of Q to the points of a node."""
    code, p, v = metric
    if (
        code == BRAYCURTIS_ABSOLUTE
        or code == DICE
        or code == KULSINSKI
        or code == RUSSELLRAO
        or code == YULE
    ):
        return 0.0  # no triangle inequality, no bound
    reduced = chosen_rdist(every, code, Q, q, tree.centres, node, p, v)
    distance = rdist_to_dist(code, reduced, p)
    radius = tree.radii[node]
    bound = distance - radius - BOUND_SLACK * (distance + radius)
    if bound > 0.0:
        return dist_to_rdist(code, bound, p)
    return 0.0


@kernel
def _query_one(every, metric, tree, Q, q, distances, indices, scratch):
    """Write the k points nearest to row q of Q, sorted, to ``distances`` (reduced) and ``indices``;
    ``scratch`` is a `SearchScratch`."""
    code, p, v = metric
    nodes, bounds, values = scratch
    heap_clear(distances, indices)
    n = tree.rows.shape[0]
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, (n + LEAF_POINTS - 1) // LEAF_POINTS
    bounds[0] = 0.0
    size = 1
    while size > 0:
        size -= 1
        node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
        bound = bounds[size]
        if bound > distances[0]:
            continue
        if bound == distances[0] and np.uint64(tree.smallest[node]) > np.uint64(indices[0]):
            continue
        while last - first > 1:
            cut = cut_leaf(first, last)
            right = right_child(node, first, cut)
            left_bound = ball_bound(every, metric, tree, node + 1, Q, q)
            right_bound = ball_bound(every, metric, tree, right, Q, q)
            if left_bound <= right_bound:
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
                bounds[size] = right_bound
                node, last = node + 1, cut
            else:
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = node + 1, first, cut
                bounds[size] = left_bound
                node, first = right, cut
            size += 1
        start, stop = first * LEAF_POINTS, min(last * LEAF_POINTS, n)
        chosen_rdist_to_rows(every, code, Q, q, tree.rows, start, stop, p, v, values)
        for s in range(stop - start):
            value = values[s]
            if not value <= FLOAT64_MAX:
                value = FLOAT64_MAX
            heap_push(distances, indices, value, tree.order[start + s])
    heap_sort(distances, indices)


@kernel
def _query_chunk(start, stop, every, metric, tree, Q, visit, distances, indices):
    """`balltree_query` of the queries ``visit[start:stop]``."""
    scratch = search_scratch()
    for i in range(start, stop):
        q = visit[i]
        _query_one(every, metric, tree, Q, q, distances[q], indices[q], scratch)
        for j in range(distances.shape[1]):
            distances[q, j] = rdist_to_dist(metric.code, distances[q, j], metric.p)


@parallel_kernel
def balltree_query(every, metric, tree, Q, visit, n_rows, distances, indices):
    """Write the k nearest points of the rows ``visit`` of Q, as `kdtree.kdtree_query` does."""
    for c in prange((visit.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, visit.shape[0])
        _query_chunk(start, stop, every, metric, tree, Q, visit, distances, indices)
