"""From rows to leaves: one tree or many, on nodes as they lie in memory.

A forest is the nodes of its trees in one array; tree t starts at ``starts[t]`` and its child
indices count from there. Rows come in blocks, and a block goes through one tree after the other,
so the block and the tree stay in cache. A set of categories is a run of 32-bit words in
``bitsets``: the first holds the number of words and, in its top bit, where categories beyond them
go. `forest.predict` is faster for many rows, where there are no categories.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.nodes import CATEGORIES, FEATURE, LEAF, MISSING_LEFT, total_of


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
def leaves_of_rows(nodes, bitsets, X, leaves, active):
    """Write to leaves[i] the node of one tree that row i falls into; ``active`` is scratch, the
    rows still on their way.

    All rows take a step before any takes the next: the processor waits for many loads at once.
    """
    one, n_active = np.uint64(1), np.uint64(X.shape[0])  # unsigned: no test for negative indices
    for j in range(n_active):
        leaves[j], active[j] = 0, j
    while n_active > np.uint64(0):
        kept = np.uint64(0)
        for j in range(n_active):
            row = active[j]
            node = leaves[row]
            feature = nodes[node]["feature"]
            if feature == LEAF:
                continue
            value = X[row, np.uint64(feature & FEATURE)]
            left = value <= nodes[node]["threshold"]
            if value != value:
                left = (feature & MISSING_LEFT) != 0
            elif feature >= CATEGORIES:
                left = in_categories(bitsets, np.intp(nodes[node]["threshold"]), value)
            # Arithmetic, not a branch: either side is as likely.
            right = np.uint64(nodes[node]["right"])
            leaves[row] = right + np.uint64(left) * (node + one - right)
            active[kept] = row
            kept += one
        n_active = kept


@kernel
def _apply_chunk(c, rows_per_chunk, nodes, starts, bitsets, X, out):
    """`forest_apply` for chunk c of the rows: writes to ``out``."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    leaves, active = np.empty(last - first, np.uint64), np.empty(last - first, np.uint64)
    for t in range(starts.shape[0]):
        leaves_of_rows(nodes[starts[t] :], bitsets, X[first:last], leaves, active)
        for i in range(first, last):
            out[i, t] = leaves[i - first]


@parallel_kernel
def forest_apply(n_chunks, rows_per_chunk, nodes, starts, bitsets, X, out):
    """Write the leaf of row i in tree t to out[i, t]."""
    for c in prange(n_chunks):
        _apply_chunk(np.intp(c), rows_per_chunk, nodes, starts, bitsets, X, out)


@kernel
def _add_leaves(nodes, table, scalar, scale, leaves, out):
    """Add ``scale`` times the value of leaf ``leaves[i]`` of one tree to out[i]."""
    for i in range(out.shape[0]):
        leaf = leaves[i]
        right = np.intp(nodes[leaf]["right"])
        if scalar:
            out[i, 0] += scale * nodes[leaf]["threshold"]
        elif right < 0:
            out[i, ~right] += scale
        else:
            whole = total_of(table, right, out.shape[1])
            for j in range(out.shape[1]):
                out[i, j] += scale * (table[right, j] / whole)


@kernel
def _sum_chunk(
    c, rows_per_chunk, nodes, starts, table, table_starts, scalar, scales, bitsets, X, out
):
    """`forest_sum` for chunk c of the rows: adds to ``out``."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    leaves, active = np.empty(last - first, np.uint64), np.empty(last - first, np.uint64)
    for t in range(starts.shape[0]):
        tree = nodes[starts[t] :]
        leaves_of_rows(tree, bitsets, X[first:last], leaves, active)
        _add_leaves(tree, table[table_starts[t] :], scalar, scales[t], leaves, out[first:last])


@parallel_kernel
def forest_sum(
    n_chunks, rows_per_chunk, nodes, starts, table, table_starts, scalar, scales, bitsets, X, out
):
    """Add the sum over the trees t of scales[t] * value of row i's leaf in t to out[i].

    ``scalar`` says that leaves hold their value themselves; otherwise tree t's rows of the table of
    leaf values, or of counts with their sum behind them, begin at ``table_starts[t]``.
    """
    for c in prange(n_chunks):
        _sum_chunk(
            np.intp(c), rows_per_chunk, nodes, starts, table, table_starts, scalar, scales,
            bitsets, X, out,
        )  # fmt: skip


@kernel
def fill_paths(nodes, leaves, indptr, indices):
    """Write the nodes on the way to every row's leaf to ``indices[indptr[i]:indptr[i + 1]]``,
    ascending."""
    for i in range(leaves.shape[0]):
        node, at = 0, indptr[i]
        while node != leaves[i]:
            indices[at] = node
            at += 1
            right = np.intp(nodes[node]["right"])
            node = right if leaves[i] >= right else node + 1  # depth first: left subtree < right
        indices[at] = node
