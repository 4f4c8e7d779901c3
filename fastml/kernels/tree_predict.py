"""From rows to leaves: one tree or many, packed one after the other.

A forest is the nodes of its trees in one array; tree t starts at ``starts[t]`` and its child
indices count from there. Rows come in blocks, and a block goes through one tree after the other,
so the block and the tree stay in cache. A set of categories is a run of 32-bit words in
``bitsets``: the first holds the number of words and, in its top bit, where categories beyond them
go.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree_nodes import CATEGORIES, FEATURE, LEAF, MISSING_LEFT


@kernel
def in_categories(bitsets, offset, value):
    """Whether the category ``value`` (not NaN) goes left."""
    head = bitsets[offset]
    n_words = np.intp(head & np.uint32(0x7FFFFFFF))
    if value < 0.0 or value >= 32.0 * n_words or value != np.floor(value):
        return (head >> np.uint32(31)) != 0
    code = np.intp(value)
    word = bitsets[offset + 1 + (code >> 5)]
    return ((word >> np.uint32(code & 31)) & np.uint32(1)) != 0


@kernel
def leaves_of_rows(nodes, bitsets, X, leaves):
    """leaves[i] = node of one tree that row i falls into."""
    for row in range(X.shape[0]):
        i, node = np.uint64(row), np.uint64(0)  # unsigned: no test for negative indices
        feature = nodes[node]["feature"]
        while feature != LEAF:
            value = X[i, np.uint64(feature & FEATURE)]
            threshold = nodes[node]["threshold"]
            right = np.uint64(nodes[node]["right"])
            left = node + np.uint64(1)
            if value != value:
                node = left if (feature & MISSING_LEFT) != 0 else right
            elif feature < CATEGORIES:
                node = left if value <= threshold else right
            else:
                node = left if in_categories(bitsets, np.intp(threshold), value) else right
            feature = nodes[node]["feature"]
        leaves[i] = node


@kernel
def _apply_chunk(c, rows_per_chunk, nodes, starts, bitsets, X, out):
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    leaves = np.empty(last - first, np.intp)
    for t in range(starts.shape[0]):
        leaves_of_rows(nodes[starts[t] :], bitsets, X[first:last], leaves)
        for i in range(first, last):
            out[i, t] = leaves[i - first]


@parallel_kernel
def forest_apply(n_chunks, rows_per_chunk, nodes, starts, bitsets, X, out):
    """out[i, t] = leaf of row i in tree t."""
    for c in prange(n_chunks):
        _apply_chunk(np.intp(c), rows_per_chunk, nodes, starts, bitsets, X, out)


@kernel
def _sum_chunk(
    c, rows_per_chunk, nodes, starts, table, table_starts, scalar, scales, bitsets, X, out
):
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    leaves = np.empty(last - first, np.intp)
    for t in range(starts.shape[0]):
        scale = scales[t]
        leaves_of_rows(nodes[starts[t] :], bitsets, X[first:last], leaves)
        for i in range(first, last):
            leaf = np.uint64(starts[t] + leaves[i - first])
            right = np.intp(nodes[leaf]["right"])
            if scalar:
                out[i, 0] += scale * nodes[leaf]["threshold"]
            elif right < 0:
                out[i, ~right] += scale
            else:
                for j in range(out.shape[1]):
                    out[i, j] += scale * table[table_starts[t] + right, j]


@parallel_kernel
def forest_sum(
    n_chunks, rows_per_chunk, nodes, starts, table, table_starts, scalar, scales, bitsets, X, out
):
    """out[i] += sum over the trees t of scales[t] * value of row i's leaf in t."""
    for c in prange(n_chunks):
        _sum_chunk(
            np.intp(c), rows_per_chunk, nodes, starts, table, table_starts, scalar, scales,
            bitsets, X, out,
        )  # fmt: skip


@kernel
def fill_paths(nodes, leaves, indptr, indices):
    """Nodes on the way to every row's leaf: ``indices[indptr[i]:indptr[i + 1]]``, ascending."""
    for i in range(leaves.shape[0]):
        node, at = 0, indptr[i]
        while node != leaves[i]:
            indices[at] = node
            at += 1
            right = np.intp(nodes[node]["right"])
            node = right if leaves[i] >= right else node + 1  # depth first: left subtree < right
        indices[at] = node
