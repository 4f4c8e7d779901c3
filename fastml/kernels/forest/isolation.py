"""Isolation trees: random splits of a small sample until every row is alone, and path lengths.

Nodes are `tree.nodes.NODE`, depth first. The threshold of a leaf holds the length of a path that
ends there: its depth plus c(n) for its n rows, the mean depth of a search tree of n keys. Its
``right`` holds n.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import log64
from fastml.kernels.numeric.rng import draw, next_float, seed_stream
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT

EULER = 0.5772156649015329


@kernel
def average_path(n):
    """c(n) = 2 H(n - 1) - 2 (n - 1) / n, with H(i) = ln i + Euler's constant."""
    if n <= 1:
        return 0.0
    if n == 2:
        return 1.0
    return 2.0 * (log64(n - 1.0) + EULER) - 2.0 * (n - 1.0) / n


@kernel
def isolate(X, rows, columns, seed, max_depth, nodes):
    """Write the tree of ``rows`` of X to ``nodes``; ``rows`` and ``columns`` change their order.
    Returns the number of nodes.

    A node draws columns until one varies, and a threshold uniform between its extremes; missing
    values follow the larger part.
    """
    state = np.empty(1, dtype=np.uint64)
    seed_stream(state, seed, np.uint64(0))
    begins = np.empty(2 * max_depth + 4, dtype=np.int64)
    ends = np.empty(2 * max_depth + 4, dtype=np.int64)
    depths = np.empty(2 * max_depth + 4, dtype=np.int64)
    parents = np.empty(2 * max_depth + 4, dtype=np.int64)
    begins[0], ends[0], depths[0], parents[0] = 0, rows.shape[0], 0, -1
    pending = 1
    n_nodes = 0
    while pending > 0:
        pending -= 1
        begin, end, depth = begins[pending], ends[pending], depths[pending]
        node = n_nodes
        n_nodes += 1
        if parents[pending] >= 0:
            nodes[parents[pending]]["right"] = node
        found = False
        feature = np.intp(0)
        low = np.float32(0.0)
        high = np.float32(0.0)
        if end - begin > 1 and depth < max_depth:
            for drawn in range(columns.shape[0]):
                feature = np.intp(draw(state, columns, drawn))
                low = np.float32(np.inf)
                high = np.float32(-np.inf)
                for i in range(begin, end):
                    value = X[rows[i], feature]
                    if value < low:
                        low = value
                    if value > high:
                        high = value
                if low < high:
                    found = True
                    break
        if not found:
            n = end - begin
            nodes[node]["feature"] = LEAF
            nodes[node]["right"] = n
            nodes[node]["threshold"] = depth + average_path(n)
            continue
        threshold = np.float64(low) + next_float(state) * (np.float64(high) - np.float64(low))
        if threshold >= high:
            threshold = np.float64(low)
        n_left = 0
        n_right = 0
        for i in range(begin, end):
            if X[rows[i], feature] <= threshold:
                n_left += 1
            elif X[rows[i], feature] > threshold:
                n_right += 1
        missing_left = n_left > n_right
        middle = begin
        for i in range(begin, end):
            value = X[rows[i], feature]
            if value <= threshold or (missing_left and value != value):
                rows[i], rows[middle] = rows[middle], rows[i]
                middle += 1
        nodes[node]["feature"] = feature | (MISSING_LEFT if missing_left else 0)
        nodes[node]["threshold"] = threshold
        begins[pending], ends[pending] = middle, end
        depths[pending], parents[pending] = depth + 1, node
        begins[pending + 1], ends[pending + 1] = begin, middle
        depths[pending + 1], parents[pending + 1] = depth + 1, -1
        pending += 2
    return n_nodes


@parallel_kernel
def isolate_all(X, rows, columns, seeds, max_depth, nodes, sizes):
    """Write the tree of ``rows[t]`` on ``columns[t]`` to ``nodes[t]``, its size to ``sizes[t]``."""
    for t in prange(seeds.shape[0]):
        sizes[t] = isolate(X, rows[t], columns[t], seeds[t], max_depth, nodes[t])
