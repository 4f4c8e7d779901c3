"""Sums of trees on binned rows.

A node is one 64-bit word: threshold (8 bits), shift (8), feature (20), left child (27), leaf flag.
The right child is the left one's neighbour. A row goes right if ``(bin + shift) mod 256 >
threshold``; the shift turns the bin of missing values into 0 where those go left. A leaf is its own
left child. Eight rows descend side by side, so that their memory latencies overlap.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

LEAF = np.uint64(1 << 63)
FEATURE_MASK = np.uint64((1 << 20) - 1)
CHILD_MASK = np.uint64((1 << 27) - 1)
BYTE = np.uint64(255)
FEATURE_SHIFT, CHILD_SHIFT, STEP_SHIFT = np.uint64(16), np.uint64(36), np.uint64(8)

BLOCK = 256  # rows whose bins stay in the cache while all trees pass


@kernel
def step(word, bins, i):
    """The child that row i goes to."""
    b = np.uint64(bins[i, (word >> FEATURE_SHIFT) & FEATURE_MASK])
    right = ((b + (word >> STEP_SHIFT)) & BYTE) > (word & BYTE)
    return ((word >> CHILD_SHIFT) & CHILD_MASK) + np.uint64(right)


@kernel
def descend_eight(root, depth, words, values, bins, first, out, column):
    """Add the leaves' values of rows first .. first + 7."""
    i0 = np.uintp(first)
    i1, i2, i3 = i0 + np.uintp(1), i0 + np.uintp(2), i0 + np.uintp(3)
    i4, i5, i6 = i0 + np.uintp(4), i0 + np.uintp(5), i0 + np.uintp(6)
    i7 = i0 + np.uintp(7)
    n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = np.uint64(root)
    for _ in range(depth):
        w0, w1, w2, w3 = words[n0], words[n1], words[n2], words[n3]
        w4, w5, w6, w7 = words[n4], words[n5], words[n6], words[n7]
        if w0 & w1 & w2 & w3 & w4 & w5 & w6 & w7 & LEAF:
            break
        n0, n1, n2, n3 = (
            step(w0, bins, i0),
            step(w1, bins, i1),
            step(w2, bins, i2),
            step(w3, bins, i3),
        )
        n4, n5, n6, n7 = (
            step(w4, bins, i4),
            step(w5, bins, i5),
            step(w6, bins, i6),
            step(w7, bins, i7),
        )
    out[i0, column] += values[n0]
    out[i1, column] += values[n1]
    out[i2, column] += values[n2]
    out[i3, column] += values[n3]
    out[i4, column] += values[n4]
    out[i5, column] += values[n5]
    out[i6, column] += values[n6]
    out[i7, column] += values[n7]


@kernel
def leaf_of(root, words, sets, set_of, bins, i):
    """The leaf of row i; set_of[node] >= 0 is the set of bins that go left."""
    node = np.uint64(root)
    while not words[node] & LEAF:
        word = words[node]
        if set_of[node] >= 0:
            b = np.uint64(bins[i, (word >> FEATURE_SHIFT) & FEATURE_MASK])
            left = (sets[set_of[node], b >> np.uint64(6)] >> (b & np.uint64(63))) & np.uint64(1)
            node = ((word >> CHILD_SHIFT) & CHILD_MASK) + np.uint64(1) - left
        else:
            node = step(word, bins, i)
    return node


@kernel
def predict_block(
    block, bins, roots, depths, has_sets, words, values, sets, set_of, n_columns, out
):
    """Add all trees to one block of rows; tree t belongs to column t mod n_columns."""
    first = block * BLOCK
    last = min(bins.shape[0], first + BLOCK)
    for t in range(roots.shape[0]):
        column = np.uintp(t % n_columns)
        i = first
        if not has_sets[t]:
            while i + 8 <= last:
                descend_eight(roots[t], depths[t], words, values, bins, i, out, column)
                i += 8
        while i < last:
            out[i, column] += values[leaf_of(roots[t], words, sets, set_of, bins, i)]
            i += 1


@parallel_kernel
def add_trees(bins, roots, depths, has_sets, words, values, sets, set_of, n_columns, out):
    """out[i, t mod n_columns] += the value that tree t gives row i."""
    for block in prange(-(-bins.shape[0] // BLOCK)):
        predict_block(
            np.intp(block), bins, roots, depths, has_sets, words, values, sets, set_of, n_columns,
            out,
        )  # fmt: skip
