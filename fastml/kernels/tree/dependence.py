"""Partial dependence of a tree: the mean prediction with a few columns held fixed.

At a node that splits by a fixed column a row goes one way; at any other it goes both ways, by the
weights of the training rows (J. H. Friedman, "Greedy function approximation", 2001, section 8.2).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.nodes import CATEGORIES, FEATURE, LEAF, MISSING_LEFT
from fastml.kernels.tree.predict import in_categories


@kernel
def _mean_of_row(nodes, bitsets, weights, values, places, depth, row):
    """The tree's mean prediction with the columns of ``row`` held fixed.

    ``places[f]`` is where ``row`` holds column f, or -1; ``values`` and ``weights`` are by node,
    and ``depth`` is the tree's.
    """
    waiting, shares = np.empty(depth + 1, np.intp), np.empty(depth + 1)
    waiting[0], shares[0] = 0, 1.0
    n_waiting, total = 1, 0.0
    while n_waiting > 0:
        n_waiting -= 1
        node, share = waiting[n_waiting], shares[n_waiting]
        feature = nodes[node]["feature"]
        if feature == LEAF:
            total += share * values[node]
            continue
        left, right = node + 1, np.intp(nodes[node]["right"])
        place = places[feature & FEATURE]
        if place < 0:
            part = weights[left] / weights[node]
            waiting[n_waiting], shares[n_waiting] = right, share * (1.0 - part)
            waiting[n_waiting + 1], shares[n_waiting + 1] = left, share * part
            n_waiting += 2
            continue
        value, threshold = row[place], nodes[node]["threshold"]
        goes_left = value <= threshold
        if value != value:
            goes_left = (feature & MISSING_LEFT) != 0
        elif feature & CATEGORIES:
            goes_left = in_categories(bitsets, np.intp(threshold), value)
        waiting[n_waiting], shares[n_waiting] = left if goes_left else right, share
        n_waiting += 1
    return total


@parallel_kernel
def add_dependence(nodes, bitsets, weights, values, places, depth, grid, out):
    """out[i] += the tree's mean prediction with the columns of grid[i] held fixed; ``places``,
    ``weights`` and ``values`` as in `_mean_of_row`."""
    for i in prange(grid.shape[0]):
        out[i] += _mean_of_row(nodes, bitsets, weights, values, places, depth, grid[np.intp(i)])
