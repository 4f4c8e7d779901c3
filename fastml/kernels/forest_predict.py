"""Sums of leaf values over the trees of a forest, many rows at a time.

Many rows go through packed trees (see `tree_walk`). For few rows packing would cost more than it
saves: they walk the nodes as they are (`tree_nodes.NODE` without sets of categories), all rows of a
chunk one step after the other, so that their chains of loads overlap.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree_nodes import FEATURE, LEAF, MISSING_LEFT
from fastml.kernels.tree_walk import fill_keys, pack_tree, walk

BLOCK = 1024  # rows that walk together


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


@kernel
def pack_with_leaves(nodes, n_columns, missing, shift, scalar, words, values, codes):
    """Words of a tree, and of its leaves the value (``scalar``) or the row of the table."""
    order = np.empty(nodes.shape[0] + 1, np.int32)
    pack_tree(nodes, n_columns, missing, shift, words, order)
    for k in range(nodes.shape[0]):
        if scalar:
            values[k] = nodes[order[k]]["threshold"]
        else:
            codes[k] = nodes[order[k]]["right"]


@parallel_kernel
def pack_trees(nodes, bounds, n_columns, missing, shift, scalar, words, values, codes):
    """Pack the trees ``nodes[bounds[t]:bounds[t + 1]]``; the words begin at that of bounds[0]."""
    for t in prange(bounds.shape[0] - 1):
        first, last = bounds[t] - bounds[0], bounds[t + 1] - bounds[0]
        pack_with_leaves(
            nodes[bounds[t] : bounds[t + 1]], n_columns, missing, shift, scalar,
            words[first:last], values[first:last], codes[first:last],
        )  # fmt: skip


@kernel
def add_leaves(places, scalar, values, codes, table, out):
    """out[i] += value of leaf ``places[i]`` of a tree."""
    if scalar:
        for i in range(out.shape[0]):
            out[i, 0] += values[places[i]]
        return
    for i in range(out.shape[0]):
        code = codes[places[i]]
        if code < 0:
            out[i, np.uint64(~code)] += 1.0
        else:
            for k in range(out.shape[1]):
                out[i, k] += table[code, k]


@kernel
def walk_chunk(words, bounds, values, codes, table, table_starts, scalar, shift, missing, X, out):
    """All trees on one chunk of rows: the chunk's keys and a tree stay in the cache."""
    n, d = X.shape
    n_columns = 2 * d if missing else d
    mask = (np.uint64(1) << (shift - np.uint64(32))) - np.uint64(1)
    keys = np.empty((n, n_columns), np.uint32)
    fill_keys(X, missing, keys)
    places, active = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    for t in range(bounds.shape[0] - 1):
        first, last = bounds[t] - bounds[0], bounds[t + 1] - bounds[0]
        for i in range(0, n, BLOCK):
            j = min(i + BLOCK, n)
            walk(words[first:last], shift, mask, keys[i:j], places, active)
            add_leaves(
                places, scalar, values[first:last], codes[first:last], table[table_starts[t] :],
                out[i:j],
            )  # fmt: skip


@parallel_kernel
def sum_of_packed(
    words, bounds, values, codes, table, table_starts, scalar, shift, missing, X, out,
    rows_per_chunk,
):  # fmt: skip
    """As `sum_of_leaves`, on trees from `pack_trees`."""
    n_chunks = (X.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, X.shape[0])
        walk_chunk(
            words, bounds, values, codes, table, table_starts, scalar, shift, missing,
            X[first:last], out[first:last],
        )  # fmt: skip
