"""Sums of leaf values over the trees of a forest, many rows at a time.

A row's way down a tree is a chain of loads, each waiting for the one before. So all rows of a chunk
take one step after the other: the chains of different rows overlap, and rows that reached a leaf
drop out of the list. Nodes are `tree_nodes.NODE` without sets of categories.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree_nodes import FEATURE, LEAF, MISSING_LEFT


@kernel
def sum_tree(nodes, table, scalar, X, places, active, out):
    """out[i] += value of row i's leaf in one tree; ``places`` and ``active`` are scratch."""
    n_active = np.uint64(X.shape[0])
    for j in range(X.shape[0]):
        i = np.uint64(j)
        active[i] = i
        places[i] = np.uint64(0)
    one = np.uint64(1)
    while n_active > np.uint64(0):
        kept = np.uint64(0)
        for j in range(n_active):
            row = active[np.uint64(j)]
            node = places[row]
            feature = nodes[node]["feature"]
            right = nodes[node]["right"]
            if feature != LEAF:
                value = X[row, np.uint64(feature & FEATURE)]
                left = value <= nodes[node]["threshold"]
                if value != value:
                    left = (feature & MISSING_LEFT) != 0
                # Arithmetic, not a branch: either side is as likely.
                other = np.uint64(right)
                places[row] = other + np.uint64(left) * (node + one - other)
                active[kept] = row
                kept += one
            elif scalar:
                out[row, 0] += nodes[node]["threshold"]
            elif right < 0:
                out[row, ~right] += 1.0
            else:
                for k in range(out.shape[1]):
                    out[row, k] += table[right, k]
        n_active = kept


@kernel
def sum_chunk(nodes, starts, table, table_starts, scalar, X, out):
    places = np.empty(X.shape[0], dtype=np.uint64)
    active = np.empty(X.shape[0], dtype=np.uint64)
    for t in range(starts.shape[0]):
        sum_tree(nodes[starts[t] :], table[table_starts[t] :], scalar, X, places, active, out)


@parallel_kernel
def sum_of_leaves(nodes, starts, table, table_starts, scalar, X, out, rows_per_chunk):
    """out[i] += sum over the trees of the value of row i's leaf."""
    n_chunks = (X.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, X.shape[0])
        sum_chunk(nodes, starts, table, table_starts, scalar, X[first:last], out[first:last])
