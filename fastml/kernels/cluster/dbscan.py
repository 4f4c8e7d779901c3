"""Density-based clusters on a kd-tree, leaf by leaf, without neighbour lists.

A leaf and the leaves whose boxes are within eps of its box are compared point by point, as vector
arithmetic. Three passes: weights within eps (`core_leaves`), union of core points that are
neighbours (`join_leaves`), the first cluster that reaches each other point (`border_leaves`).
Leaves that are known to lie in one and the same cluster need no comparison.

Points are named by their place in the tree's padded order. M. Ester, H.-P. Kriegel, J. Sander,
X. Xu, "A density-based algorithm for discovering clusters in large spatial databases with noise",
KDD 1996.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import CHEBYSHEV, gap_term
from fastml.kernels.neighbors.kdtree import leaf_rdists
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, cut_leaf, right_child
from fastml.kernels.numeric.bitset import ONE64, lowest_bit


class EpsSearch(NamedTuple):
    """What a search within eps reads besides the tree: the metric, the rows and eps."""

    code: int  # of the metric
    X: np.ndarray  # rows, by original index
    limit: float  # eps as a reduced distance
    p: float  # parameters of the metric
    v: np.ndarray


@kernel
def _boxes_rdist(code, low, high, a, b, p, v):
    """Return the reduced distance of boxes a and b; never above that of two points inside."""
    total = 0.0
    for k in range(low.shape[1]):
        gap = np.float64(low[a, k]) - np.float64(high[b, k])
        other = np.float64(low[b, k]) - np.float64(high[a, k])
        if other > gap:
            gap = other
        if gap > 0.0:
            term = gap_term(code, gap, k, p, v)
            if code == CHEBYSHEV:
                total = term if term > total else total
            else:
                total += term
    return total


@kernel
def _near_leaves(tree, search, leaf, last_leaf, nodes, found):
    """Write to ``found`` the leaves < last_leaf whose box is within eps of a leaf's box.

    The leaf itself comes first. ``nodes`` is scratch; returns how many were found.
    """
    code, _, limit, p, v = search
    n_leaves = tree.blocks.shape[0]
    own, first, last = 0, 0, n_leaves
    while last - first > 1:
        cut = cut_leaf(first, last)
        if leaf < cut:
            own, last = own + 1, cut
        else:
            own, first = right_child(own, first, cut), cut
    found[0] = leaf
    n = 1
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, n_leaves
    size = 1
    while size > 0:
        size -= 1
        node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
        if first >= last_leaf or _boxes_rdist(code, tree.low, tree.high, own, node, p, v) > limit:
            continue
        if last - first == 1:
            if first != leaf:
                found[n] = first
                n += 1
            continue
        cut = cut_leaf(first, last)
        right = right_child(node, first, cut)
        nodes[size, 0], nodes[size, 1], nodes[size, 2] = right, cut, last
        nodes[size + 1, 0], nodes[size + 1, 1], nodes[size + 1, 2] = node + 1, first, cut
        size += 2
    return n


@kernel(fast_math=True)
def _weight_within(values, limit, weights):
    """Return the sum of the weights whose value is at most ``limit``."""
    total = 0.0
    for s in range(LEAF_POINTS):
        total += weights[s] if values[s] <= limit else 0.0
    return total


@kernel
def _core_chunk(start, stop, tree, search, weights, enough, may_stop, core):
    """`core_leaves` for leaves start..stop."""
    code, X, limit, p, v = search
    n_leaves = tree.blocks.shape[0]
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(n_leaves, np.intp)
    values = np.empty(LEAF_POINTS)
    for leaf in range(start, stop):
        n = _near_leaves(tree, search, leaf, n_leaves, nodes, found)
        for point in range(leaf * LEAF_POINTS, (leaf + 1) * LEAF_POINTS):
            q = tree.order[point]
            if q < 0:
                core[point] = False
                continue
            total = 0.0
            for f in range(n):
                leaf_rdists(code, tree.blocks, found[f], X, q, p, v, values)
                total += _weight_within(values, limit, weights[found[f]])
                if may_stop and total >= enough:
                    break
            core[point] = total >= enough


@parallel_kernel
def core_leaves(first, last, leaves_per_chunk, tree, search, weights, enough, may_stop, core):
    """Write to ``core`` whether the weight within eps reaches ``enough``, for leaves first..last.

    ``weights`` are (leaf, point). ``may_stop`` says that none is negative: counting may end early.
    """
    for c in prange((last - first + leaves_per_chunk - 1) // leaves_per_chunk):
        start = first + np.intp(c) * leaves_per_chunk
        stop = min(start + leaves_per_chunk, last)
        _core_chunk(start, stop, tree, search, weights, enough, may_stop, core)


@kernel
def find(parent, i):
    """Return the root of i; the path to it in ``parent`` is halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(parent, i, j):
    """Make one set of those of i and j in ``parent``; the lower root becomes the root of both."""
    i, j = find(parent, i), find(parent, j)
    if i < j:
        parent[j] = i
    else:
        parent[i] = j


@kernel
def _same_cluster(parent, core, leaf):
    """Return a core point of the leaf if all of them are in one cluster, else -1; -2 for none.
    Shortens paths in ``parent``."""
    root = -2
    for point in range(leaf * LEAF_POINTS, (leaf + 1) * LEAF_POINTS):
        if core[point]:
            own = find(parent, point)
            if root >= 0 and own != root:
                return -1
            root = own
    return root


@kernel
def join_leaves(first, last, tree, search, core, parent, whole):
    """Join core points within eps in ``parent``: those of leaves first..last with earlier leaves.

    Written too is ``whole[leaf]``, a core point of a leaf known to lie in one cluster, -1 if that
    is not known, -2 for a leaf without core points.
    """
    code, X, limit, p, v = search
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(tree.blocks.shape[0], np.intp)
    values = np.empty(LEAF_POINTS)
    for leaf in range(first, last):
        whole[leaf] = _same_cluster(parent, core, leaf)
        if whole[leaf] == -2:
            continue
        n = _near_leaves(tree, search, leaf, leaf + 1, nodes, found)
        for f in range(n):
            other = found[f]
            if whole[other] == -2:
                continue
            if whole[other] == -1:
                whole[other] = _same_cluster(parent, core, other)
            for point in range(leaf * LEAF_POINTS, (leaf + 1) * LEAF_POINTS):
                if not core[point]:
                    continue
                if whole[other] >= 0 and find(parent, whole[other]) == find(parent, point):
                    continue
                leaf_rdists(code, tree.blocks, other, X, tree.order[point], p, v, values)
                for s in range(LEAF_POINTS):
                    if values[s] <= limit and core[other * LEAF_POINTS + s]:
                        join(parent, point, other * LEAF_POINTS + s)
            if whole[leaf] == -1:
                whole[leaf] = _same_cluster(parent, core, leaf)


@kernel
def number_clusters(core, parent, label):
    """Write the clusters of core points to ``label``, numbered by their first point.

    ``label`` starts as -1 everywhere; paths in ``parent`` are shortened. Returns the number of
    clusters.
    """
    n_clusters = 0
    for i in range(core.shape[0]):
        if core[i]:
            root = find(parent, i)
            if label[root] < 0:
                label[root] = n_clusters
                n_clusters += 1
            label[i] = label[root]
    return n_clusters


@kernel
def number_leaves(place, core, parent, root_label, label):
    """`number_clusters` where ``core`` and ``parent`` are ordered by place in the tree, ``label``
    by original index.

    ``place[i]`` is the place of original index i; ``root_label``, by place, starts as -1 everywhere
    and is overwritten.
    """
    n_clusters = 0
    for i in range(place.shape[0]):
        point = place[i]
        label[i] = -1
        if core[point]:
            root = find(parent, point)
            if root_label[root] < 0:
                root_label[root] = n_clusters
                n_clusters += 1
            label[i] = root_label[root]
    return n_clusters


@kernel
def _border_chunk(start, stop, tree, search, core, whole, n_clusters, label):
    """`border_leaves` for leaves start..stop."""
    code, X, limit, p, v = search
    n_leaves = tree.blocks.shape[0]
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(n_leaves, np.intp)
    values = np.empty(LEAF_POINTS)
    for leaf in range(start, stop):
        n = -1
        for point in range(leaf * LEAF_POINTS, (leaf + 1) * LEAF_POINTS):
            q = tree.order[point]
            if q < 0 or core[point]:
                continue
            if n < 0:
                n = _near_leaves(tree, search, leaf, n_leaves, nodes, found)
            lowest = n_clusters
            for f in range(n):
                other = found[f]
                if whole[other] == -2:
                    continue
                leaf_rdists(code, tree.blocks, other, X, q, p, v, values)
                for s in range(LEAF_POINTS):
                    if values[s] <= limit and core[other * LEAF_POINTS + s]:
                        reached = label[tree.order[other * LEAF_POINTS + s]]
                        if reached < lowest:
                            lowest = reached
            if lowest < n_clusters:
                label[q] = lowest


@parallel_kernel
def border_leaves(first, last, leaves_per_chunk, tree, search, core, whole, n_clusters, label):
    """Write ``label`` of points that are not core: the first cluster with a core point within eps.

    Points of leaves first..last; ``whole`` is that of `join_leaves`.
    """
    for c in prange((last - first + leaves_per_chunk - 1) // leaves_per_chunk):
        start = first + np.intp(c) * leaves_per_chunk
        stop = min(start + leaves_per_chunk, last)
        _border_chunk(start, stop, tree, search, core, whole, n_clusters, label)


# ---------------------------------------------------------------------------- neighbour lists
# The neighbours of row r are ``indices[indptr[r] : indptr[r + 1]]``.


@kernel
def weigh_lists(indptr, indices, weights, total):
    """Write the weight of each row's neighbours to ``total``."""
    for row in range(indptr.shape[0] - 1):
        total[row] = 0.0
        for e in range(indptr[row], indptr[row + 1]):
            total[row] += weights[indices[e]]


@kernel
def join_lists(start, indptr, indices, core, parent):
    """Join core rows with their core neighbours in ``parent``; the first list is of row start."""
    for row in range(indptr.shape[0] - 1):
        if core[start + row]:
            for e in range(indptr[row], indptr[row + 1]):
                if core[indices[e]]:
                    join(parent, start + row, indices[e])


@kernel
def border_lists(start, indptr, indices, core, label):
    """Write to ``label`` the first cluster that reaches each row which is not core."""
    for row in range(indptr.shape[0] - 1):
        if core[start + row]:
            for e in range(indptr[row], indptr[row + 1]):
                i = indices[e]
                if not core[i] and (label[i] < 0 or label[start + row] < label[i]):
                    label[i] = label[start + row]


# ---------------------------------------------------------------------------- bits
# Bit i % 64 of ``marks[r, i // 64]`` says that row i is a neighbour of row r.


@kernel
def weigh_marks(marks, weights, total):
    """Write the weight of each row's neighbours to ``total``."""
    for row in range(marks.shape[0]):
        total[row] = 0.0
        for w in range(marks.shape[1]):
            bits = marks[row, w]
            while bits != np.uint64(0):
                total[row] += weights[64 * w + lowest_bit(bits)]
                bits &= bits - ONE64


@kernel
def spread_marks(marks, core, label):
    """Write the clusters to ``label``, -1 for noise: from each core row that has none yet to all
    that can be reached. Returns their number.

    A row is looked at once: words of rows that have a label already are masked out.
    """
    n = marks.shape[0]
    waiting = np.zeros(marks.shape[1], np.uint64)  # bits of the rows without a label
    for i in range(n):
        label[i] = -1
        waiting[i >> 6] |= ONE64 << np.uint64(i & 63)
    queue = np.empty(n, np.intp)
    n_clusters = 0
    for first in range(n):
        if not core[first] or label[first] >= 0:
            continue
        label[first] = n_clusters
        waiting[first >> 6] &= ~(ONE64 << np.uint64(first & 63))
        queue[0] = first
        head, tail = 0, 1
        while head < tail:
            row = queue[head]
            head += 1
            for w in range(marks.shape[1]):
                bits = marks[row, w] & waiting[w]
                waiting[w] &= ~bits
                while bits != np.uint64(0):
                    i = 64 * w + lowest_bit(bits)
                    bits &= bits - ONE64
                    label[i] = n_clusters
                    if core[i]:
                        queue[tail] = i
                        tail += 1
        n_clusters += 1
    return n_clusters
