"""From grown nodes to the tree that is kept: depth-first order, values of the leaves."""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.tree.nodes import LEAF


@kernel
def depth_first(lefts, rights, n, source):
    """Write to source[i] the old index of the i-th node in depth-first order, and to ``rights`` the
    right children in that order."""
    stack = np.empty(n + 1, np.intp)
    parents = np.empty(n + 1, np.intp)
    new_rights = np.full(n, -1, np.intp)
    stack[0], parents[0] = 0, -1
    size, at = 1, 0
    while size > 0:
        size -= 1
        old, parent = stack[size], parents[size]
        if parent >= 0:
            new_rights[parent] = at
        source[at] = old
        if lefts[old] >= 0:
            stack[size], parents[size] = rights[old], at
            stack[size + 1], parents[size + 1] = lefts[old], -1
            size += 2
        at += 1
    for i in range(n):
        rights[i] = new_rights[i]


@kernel
def leaf_statistics(nodes, ends, rows, classes, targets, weights, n_classes, out):
    """Write to ``out`` = (samples, weights, values) those of every leaf, in order; its values are
    class fractions or means.

    A leaf's rows are ``rows[right:end]``; of ``classes`` and ``targets`` one is None.
    """
    samples, leaf_weights, values = out
    n_columns = values.shape[1]
    n_outputs = n_columns // n_classes
    leaf = 0
    for i in range(nodes.shape[0]):
        if nodes[i]["feature"] != LEAF:
            continue
        start, end = np.intp(nodes[i]["right"]), np.intp(ends[i])
        for j in range(n_columns):
            values[leaf, j] = 0.0
        weight = 0.0
        for p in range(start, end):
            row = rows[p]
            weight += weights[row]
            if classes is not None:
                for o in range(n_outputs):
                    values[leaf, o * n_classes + classes[o, row]] += weights[row]
            if targets is not None:
                for o in range(n_outputs):
                    values[leaf, o] += weights[row] * targets[o, row]
        for j in range(n_columns):
            values[leaf, j] /= weight
        samples[leaf] = end - start
        leaf_weights[leaf] = weight
        leaf += 1
