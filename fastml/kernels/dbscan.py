"""Density-based clusters on a kd-tree, leaf by leaf, without neighbour lists.

A leaf and the leaves whose boxes are within eps of its box are compared point by point, as vector
arithmetic. Three passes: weights within eps (`core_leaves`), union of core points that are
neighbours (`join_leaves`), the first cluster that reaches each other point (`border_leaves`).
Leaves that are known to lie in one and the same cluster need no comparison.

Points are named by their place in the tree's padded order. M. Ester, H.-P. Kriegel, J. Sander,
X. Xu, "A density-based algorithm for discovering clusters in large spatial databases with noise",
KDD 1996.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.kdtree import leaf_rdists
from fastml.kernels.metrics import CHEBYSHEV, gap_term
from fastml.kernels.tree_build import LEAF, cut_leaf, right_child


@kernel
def _boxes_rdist(code, low, high, a, b, p, v):
    """Reduced distance of two boxes; never above that of two points inside."""
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
def near_leaves(code, tree, leaf, last_leaf, limit, p, v, nodes, found):
    """Leaves < last_leaf whose box is within the limit of a leaf's box, the leaf itself first."""
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
    total = 0.0
    for s in range(LEAF):
        total += weights[s] if values[s] <= limit else 0.0
    return total


@kernel
def _core_chunk(start, stop, code, tree, X, limit, p, v, weights, enough, may_stop, core):
    n_leaves = tree.blocks.shape[0]
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(n_leaves, np.intp)
    values = np.empty(LEAF)
    for leaf in range(start, stop):
        n = near_leaves(code, tree, leaf, n_leaves, limit, p, v, nodes, found)
        for point in range(leaf * LEAF, (leaf + 1) * LEAF):
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
def core_leaves(first, last, n_rows, code, tree, X, limit, p, v, weights, enough, may_stop, core):
    """Whether the weight within eps reaches ``enough``, for the points of leaves first..last.

    ``may_stop`` says that no weight is negative: counting may end early.
    """
    for c in prange((last - first + n_rows - 1) // n_rows):
        start = first + np.intp(c) * n_rows
        stop = min(start + n_rows, last)
        _core_chunk(start, stop, code, tree, X, limit, p, v, weights, enough, may_stop, core)


@kernel
def find(parent, i):
    """Root of i, halving the path."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(parent, i, j):
    i, j = find(parent, i), find(parent, j)
    if i < j:
        parent[j] = i
    else:
        parent[i] = j


@kernel
def _same_cluster(parent, core, leaf):
    """A core point of the leaf if all of them are in one cluster, else -1; -2 if it has none."""
    root = -2
    for point in range(leaf * LEAF, (leaf + 1) * LEAF):
        if core[point]:
            own = find(parent, point)
            if root >= 0 and own != root:
                return -1
            root = own
    return root


@kernel
def join_leaves(first, last, code, tree, X, limit, p, v, core, parent, whole):
    """Join core points within eps: those of leaves first..last with earlier leaves.

    ``whole[leaf]`` is a core point of a leaf known to lie in one cluster, -1 if that is not known,
    -2 for a leaf without core points.
    """
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(tree.blocks.shape[0], np.intp)
    values = np.empty(LEAF)
    for leaf in range(first, last):
        whole[leaf] = _same_cluster(parent, core, leaf)
        if whole[leaf] == -2:
            continue
        n = near_leaves(code, tree, leaf, leaf + 1, limit, p, v, nodes, found)
        for f in range(n):
            other = found[f]
            if whole[other] == -2:
                continue
            if whole[other] == -1:
                whole[other] = _same_cluster(parent, core, other)
            for point in range(leaf * LEAF, (leaf + 1) * LEAF):
                if not core[point]:
                    continue
                if whole[other] >= 0 and find(parent, whole[other]) == find(parent, point):
                    continue
                leaf_rdists(code, tree.blocks, other, X, tree.order[point], p, v, values)
                for s in range(LEAF):
                    if values[s] <= limit and core[other * LEAF + s]:
                        join(parent, point, other * LEAF + s)
            if whole[leaf] == -1:
                whole[leaf] = _same_cluster(parent, core, leaf)


@kernel
def number_clusters(core, parent, label):
    """Clusters of core points by their first point; parent and core by original index.

    ``label`` starts as -1 everywhere; returns the number of clusters.
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
    """`number_clusters` for points named by place: ``place[i]`` is that of original index i."""
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
def _border_chunk(start, stop, code, tree, X, limit, p, v, core, whole, n_clusters, label):
    n_leaves = tree.blocks.shape[0]
    nodes = np.empty((128, 3), np.intp)
    found = np.empty(n_leaves, np.intp)
    values = np.empty(LEAF)
    for leaf in range(start, stop):
        n = -1
        for point in range(leaf * LEAF, (leaf + 1) * LEAF):
            q = tree.order[point]
            if q < 0 or core[point]:
                continue
            if n < 0:
                n = near_leaves(code, tree, leaf, n_leaves, limit, p, v, nodes, found)
            lowest = n_clusters
            for f in range(n):
                other = found[f]
                if whole[other] == -2:
                    continue
                leaf_rdists(code, tree.blocks, other, X, q, p, v, values)
                for s in range(LEAF):
                    if values[s] <= limit and core[other * LEAF + s]:
                        reached = label[tree.order[other * LEAF + s]]
                        if reached < lowest:
                            lowest = reached
            if lowest < n_clusters:
                label[q] = lowest


@parallel_kernel
def border_leaves(first, last, n_rows, code, tree, X, limit, p, v, core, whole, n_clusters, label):
    """label[i] of points that are not core: the first cluster with a core point within eps."""
    for c in prange((last - first + n_rows - 1) // n_rows):
        start = first + np.intp(c) * n_rows
        stop = min(start + n_rows, last)
        _border_chunk(start, stop, code, tree, X, limit, p, v, core, whole, n_clusters, label)


# ---------------------------------------------------------------------------- neighbour lists


@kernel
def weigh_lists(indptr, indices, weights, total):
    """total[row] = weight of the row's neighbours, given as runs."""
    for row in range(indptr.shape[0] - 1):
        total[row] = 0.0
        for e in range(indptr[row], indptr[row + 1]):
            total[row] += weights[indices[e]]


@kernel
def join_lists(start, indptr, indices, core, parent):
    """Join core rows start.. with their core neighbours, given as runs."""
    for row in range(indptr.shape[0] - 1):
        if core[start + row]:
            for e in range(indptr[row], indptr[row + 1]):
                if core[indices[e]]:
                    join(parent, start + row, indices[e])


@kernel
def border_lists(start, indptr, indices, core, label):
    """The first cluster that reaches each row which is not core."""
    for row in range(indptr.shape[0] - 1):
        if core[start + row]:
            for e in range(indptr[row], indptr[row + 1]):
                i = indices[e]
                if not core[i] and (label[i] < 0 or label[start + row] < label[i]):
                    label[i] = label[start + row]
