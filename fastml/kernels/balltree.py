"""Nearest neighbours in a ball tree: any metric with the triangle inequality.

A node holds a centre c and a radius r; no point inside is nearer to q than d(q, c) - r. Cuts are
those of `tree_build`; leaves are runs of rows. ``every`` is that of `metrics.chosen_rdist`.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.heap import heap_clear, heap_push, heap_sort
from fastml.kernels.metrics import (
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
from fastml.kernels.tree_build import LEAF, cut_leaf, right_child

ROUNDING = 1e-12  # relative slack of a computed bound
FLOAT64_MAX = np.finfo(np.float64).max


class BallTreeArrays(NamedTuple):
    """A partition (see `tree_build`) with a ball around every node."""

    rows: np.ndarray  # (n, d) points in leaf order
    order: np.ndarray  # (n,) their original indices
    centres: np.ndarray  # (n_nodes, d)
    radii: np.ndarray  # (n_nodes,)
    smallest: np.ndarray  # (n_nodes,) smallest original index inside


@kernel
def _enclose_from(every, code, tree, node, first, last, whole_subtree, p, v):
    """Centre nodes at their means; a radius reaches the farthest point."""
    rows, centres = tree.rows, tree.centres
    n, d = rows.shape
    sums = np.empty(d, np.float64)
    stack = np.empty((64, 3), np.intp)
    stack[0, 0], stack[0, 1], stack[0, 2] = node, first, last
    size = 1
    while size > 0:
        size -= 1
        node, first, last = stack[size, 0], stack[size, 1], stack[size, 2]
        start, stop = first * LEAF, min(last * LEAF, n)
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
def enclose_nodes(every, code, tree, tasks, whole_subtree, p, v):
    """Balls of the nodes ``tasks`` = rows of (node, first leaf, last leaf), or all below them."""
    for c in prange(tasks.shape[0]):
        _enclose_from(every, code, tree, tasks[c, 0], tasks[c, 1], tasks[c, 2], whole_subtree, p, v)


@kernel
def ball_bound(every, code, tree, node, Q, q, p, v):
    """A lower bound of the reduced distance of a query to the points of a node."""
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
    bound = distance - radius - ROUNDING * (distance + radius)
    if bound > 0.0:
        return dist_to_rdist(code, bound, p)
    return 0.0


@kernel
def _query_one(every, code, tree, Q, q, p, v, distances, indices, values, nodes, bounds):
    heap_clear(distances, indices)
    n = tree.rows.shape[0]
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, (n + LEAF - 1) // LEAF
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
            left_bound = ball_bound(every, code, tree, node + 1, Q, q, p, v)
            right_bound = ball_bound(every, code, tree, right, Q, q, p, v)
            if left_bound <= right_bound:
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
                bounds[size] = right_bound
                node, last = node + 1, cut
            else:
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = node + 1, first, cut
                bounds[size] = left_bound
                node, first = right, cut
            size += 1
        start, stop = first * LEAF, min(last * LEAF, n)
        chosen_rdist_to_rows(every, code, Q, q, tree.rows, start, stop, p, v, values)
        for s in range(stop - start):
            value = values[s]
            if not value <= FLOAT64_MAX:
                value = FLOAT64_MAX
            heap_push(distances, indices, value, tree.order[start + s])
    heap_sort(distances, indices)


@kernel
def _query_chunk(start, stop, every, code, tree, Q, visit, p, v, distances, indices):
    values = np.empty(LEAF, np.float64)
    nodes = np.empty((64, 3), np.intp)
    bounds = np.empty(64, np.float64)
    for i in range(start, stop):
        q = visit[i]
        _query_one(every, code, tree, Q, q, p, v, distances[q], indices[q], values, nodes, bounds)
        for j in range(distances.shape[1]):
            distances[q, j] = rdist_to_dist(code, distances[q, j], p)


@parallel_kernel
def balltree_query(every, code, tree, Q, visit, n_rows, p, v, distances, indices):
    """The k nearest of the queries ``visit``; distances, not reduced."""
    for c in prange((visit.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _query_chunk(
            start,
            min(start + n_rows, visit.shape[0]),
            every,
            code,
            tree,
            Q,
            visit,
            p,
            v,
            distances,
            indices,
        )
