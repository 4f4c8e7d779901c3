"""Nearest neighbours in a kd-tree: tight boxes, and leaves stored coordinate by coordinate.

A leaf is a (d, LEAF_POINTS) block, so the distances of a query to its points are plain vector
arithmetic. Queries are taken in the order of the tree, so that consecutive queries look at the same
leaves, which are then still in the cache. A box is skipped when it is farther than the k-th best,
or as far but holds only larger indices: the result is the k smallest (distance, index) pairs,
whatever the order of the visits.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import (
    CHEBYSHEV,
    MANHATTAN,
    SQEUCLIDEAN,
    gap_term,
    rdist_to_dist,
)
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, cut_leaf, right_child, search_scratch
from fastml.kernels.numeric.heap import heap_clear, heap_push, heap_sort

SHORT_LIST = 32  # up to this k a sorted list beats a heap


class KDTreeArrays(NamedTuple):
    """A partition (see `space_tree`) with leaves in blocks."""

    blocks: np.ndarray  # (n_leaves, d, LEAF_POINTS)
    order: np.ndarray  # (n_leaves * LEAF_POINTS,) original indices, -1 in the empty slots
    low: np.ndarray  # (n_nodes, d)
    high: np.ndarray
    axis: np.ndarray  # (n_nodes,)
    smallest: np.ndarray  # (n_nodes,)


@kernel
def pack_leaves(rows, order, blocks, padded_order):
    """Write rows in leaf order to ``blocks`` and their indices to ``padded_order``.

    The last leaf is filled up with copies of the last point under index -1.
    """
    n, d = rows.shape
    for leaf in range(blocks.shape[0]):
        first = leaf * LEAF_POINTS
        own, block = rows[first : first + LEAF_POINTS], blocks[leaf]
        m = own.shape[0]
        for k in range(d):
            for slot in range(m):
                block[k, slot] = own[slot, k]
            for slot in range(m, LEAF_POINTS):
                block[k, slot] = own[m - 1, k]
    for row in range(n):
        padded_order[row] = order[row]
    for row in range(n, padded_order.shape[0]):
        padded_order[row] = -1


@kernel
def box_rdist(code, low, high, node, Q, q, p, v):
    """Reduced distance of a query and a node's box; never above that of any point inside."""
    total = 0.0
    for k in range(Q.shape[1]):
        x = np.float64(Q[q, k])
        gap = np.float64(low[node, k]) - x
        other = x - np.float64(high[node, k])
        if other > gap:
            gap = other
        if gap > 0.0:
            if code <= SQEUCLIDEAN:
                total += gap * gap
            elif code == CHEBYSHEV:
                if gap > total:
                    total = gap
            else:
                total += gap_term(code, gap, k, p, v)
    return total


@kernel
def leaf_rdists(code, blocks, leaf, Q, q, p, v, out):
    """Write the reduced distances of row q of Q and the LEAF_POINTS points of a leaf to ``out``."""
    for s in range(LEAF_POINTS):
        out[s] = 0.0
    for k in range(Q.shape[1]):
        x = np.float64(Q[q, k])
        if code <= SQEUCLIDEAN:
            for s in range(LEAF_POINTS):
                gap = x - np.float64(blocks[leaf, k, s])
                out[s] += gap * gap
        elif code == MANHATTAN:
            for s in range(LEAF_POINTS):
                out[s] += abs(x - np.float64(blocks[leaf, k, s]))
        elif code == CHEBYSHEV:
            for s in range(LEAF_POINTS):
                gap = abs(x - np.float64(blocks[leaf, k, s]))
                if gap > out[s]:
                    out[s] = gap
        else:
            for s in range(LEAF_POINTS):
                out[s] += gap_term(code, abs(x - np.float64(blocks[leaf, k, s])), k, p, v)


@kernel
def _insert_sorted(distances, indices, distance, index):
    """Insert a pair into the list ``distances`` and ``indices``, sorted by (distance, index); the
    last pair drops out."""
    i = distances.shape[0] - 1
    while i > 0 and (
        distances[i - 1] > distance
        or (distances[i - 1] == distance and np.uint64(indices[i - 1]) > np.uint64(index))
    ):
        distances[i] = distances[i - 1]
        indices[i] = indices[i - 1]
        i -= 1
    distances[i] = distance
    indices[i] = index


@kernel
def _offer(distances, indices, values, order, start):
    """Offer a leaf's points to the k best so far, ``distances`` and ``indices``.

    ``values`` are their reduced distances, ``order`` from ``start`` on their indices.
    """
    k = distances.shape[0]
    worst = k - 1 if k <= SHORT_LIST else 0
    limit = distances[worst]
    hits = np.int32(0)
    for s in range(LEAF_POINTS):
        hits += np.int32(values[s] <= limit)
    if hits == 0:
        return
    for s in range(LEAF_POINTS):
        if values[s] > limit:
            continue
        index = order[start + s]
        if index < 0:
            continue
        value = values[s]
        if value == limit and np.uint64(index) > np.uint64(indices[worst]):
            continue
        if k <= SHORT_LIST:
            _insert_sorted(distances, indices, value, index)
        else:
            heap_push(distances, indices, value, index)
        limit = distances[worst]


@kernel
def _query_one(metric, tree, Q, q, distances, indices, scratch):
    """Write the k points nearest to row q of Q, sorted, to ``distances`` (reduced) and ``indices``;
    ``scratch`` is a `SearchScratch`."""
    code, p, v = metric
    blocks, order, low, high, axis, smallest = tree
    nodes, bounds, values = scratch
    heap_clear(distances, indices)
    k = distances.shape[0]
    worst = k - 1 if k <= SHORT_LIST else 0
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, blocks.shape[0]
    bounds[0] = 0.0
    size = 1
    while size > 0:
        size -= 1
        node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
        bound = bounds[size]
        if bound > distances[worst]:
            continue
        if bound == distances[worst] and np.uint64(smallest[node]) > np.uint64(indices[worst]):
            continue
        while last - first > 1:
            cut = cut_leaf(first, last)
            along = axis[node]
            right = right_child(node, first, cut)
            x = Q[q, along]
            # Nearer the left box than the right one along the axis that was cut?
            if x - high[node + 1, along] < low[right, along] - x:
                far, far_first, far_last = right, cut, last
                node, last = node + 1, cut
            else:
                far, far_first, far_last = node + 1, first, cut
                node, first = right, cut
            bound = box_rdist(code, low, high, far, Q, q, p, v)
            if bound <= distances[worst]:
                nodes[size, 0], nodes[size, 1], nodes[size, 2] = far, far_first, far_last
                bounds[size] = bound
                size += 1
        leaf_rdists(code, blocks, first, Q, q, p, v, values)
        _offer(distances, indices, values, order, first * LEAF_POINTS)
    if k > SHORT_LIST:
        heap_sort(distances, indices)


@kernel
def _query_chunk(start, stop, metric, tree, Q, visit, distances, indices):
    """`kdtree_query` of the queries ``visit[start:stop]``."""
    scratch = search_scratch()
    for i in range(start, stop):
        q = visit[i]
        _query_one(metric, tree, Q, q, distances[q], indices[q], scratch)
        for j in range(distances.shape[1]):
            distances[q, j] = rdist_to_dist(metric.code, distances[q, j], metric.p)


@parallel_kernel
def kdtree_query(metric, tree, Q, visit, n_rows, distances, indices):
    """Write the k nearest points of the rows ``visit`` of Q, nearest first; a chunk is ``n_rows``.

    Rows of ``distances`` (not reduced) and ``indices`` (n_queries, k) are those of Q; the rows are
    worked off in the order of ``visit``.
    """
    for c in prange((visit.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, visit.shape[0])
        _query_chunk(start, stop, metric, tree, Q, visit, distances, indices)


@kernel
def _leaves_of(start, stop, low, axis, n_leaves, Q, leaves):
    """`leaves_of` of rows start..stop of Q; writes to ``leaves``."""
    m = stop - start
    nodes, sizes = np.zeros(m, np.intp), np.empty(m, np.intp)
    for i in range(m):
        sizes[i] = n_leaves
        leaves[start + i] = 0
    largest = n_leaves
    while largest > 1:  # a level for all rows: no branch depends on a row, and they do not wait
        for i in range(m):
            node, size = nodes[i], sizes[i]
            if size > 1:
                half = (size + 1) // 2
                along = axis[node]
                right = np.intp(Q[start + i, along] >= low[node + 2 * half, along])
                nodes[i] = node + 1 + right * (2 * half - 1)
                sizes[i] = half - right * (2 * half - size)
                leaves[start + i] += right * half
        largest = (largest + 1) // 2


@parallel_kernel
def leaves_of(low, axis, n_leaves, Q, n_rows, leaves):
    """Write to ``leaves`` where the cuts lead each row of Q; a chunk is ``n_rows`` rows."""
    for c in prange((Q.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _leaves_of(start, min(start + n_rows, Q.shape[0]), low, axis, n_leaves, Q, leaves)


@kernel
def order_by_leaf(leaves, n_leaves, shift, visit):
    """Write the queries to ``visit`` leaf by leaf, in order within a leaf (counting sort).

    Runs of 2^shift leaves count as one.
    """
    starts = np.zeros(((n_leaves - 1) >> shift) + 2, np.intp)
    for q in range(leaves.shape[0]):
        starts[(leaves[q] >> shift) + 1] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    for q in range(leaves.shape[0]):
        cell = leaves[q] >> shift
        visit[starts[cell]] = q
        starts[cell] += 1
