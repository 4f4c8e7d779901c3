"""Sums of trees on binned rows.

A node is one 64-bit word: threshold (8 bits), shift (8), feature (20), left child (27), leaf flag.
The right child is the left one's neighbour. A row goes right if ``(bin + shift) mod 256 >
threshold``; the shift turns the bin of missing values into 0 where those go left. A leaf is its own
left child. Eight rows descend side by side, so that their memory latencies overlap.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

LEAF_FLAG = np.uint64(1 << 63)
FEATURE_MASK = np.uint64((1 << 20) - 1)
CHILD_MASK = np.uint64((1 << 27) - 1)
BYTE = np.uint64(255)
FEATURE_SHIFT, CHILD_SHIFT, STEP_SHIFT = np.uint64(16), np.uint64(36), np.uint64(8)

MOST_FEATURES, MOST_NODES = 1 << 20, 1 << 27  # that the fields can tell apart

ROWS_PER_BLOCK = 256  # their bins stay in the cache while all trees pass


class PackedTrees(NamedTuple):
    """Many trees; all their nodes stand in a row, and children are found by their place in it."""

    roots: np.ndarray  # (n_trees,) place of each root
    depths: np.ndarray  # (n_trees,) most steps from the root to a leaf
    has_sets: np.ndarray  # (n_trees,) uint8, whether some split is by a set of bins
    words: np.ndarray  # (n_nodes,) uint64, see above
    values: np.ndarray  # (n_nodes,) what a leaf adds
    sets: np.ndarray  # (n_sets, 4) uint64, the bins that go left, a bit each
    set_of: np.ndarray  # (n_nodes,) int32, which set splits the node; -1: none


@kernel
def step(word, bins, i):
    """The child that row i goes to from a node that is split by a threshold."""
    b = np.uint64(bins[i, (word >> FEATURE_SHIFT) & FEATURE_MASK])
    right = ((b + (word >> STEP_SHIFT)) & BYTE) > (word & BYTE)
    return ((word >> CHILD_SHIFT) & CHILD_MASK) + np.uint64(right)


@kernel
def descend_eight(root, depth, words, values, bins, first, out, column):
    """Add the values of the leaves that rows first .. first + 7 of ``bins`` reach from this root to
    their ``out[:, column]``; at most ``depth`` steps, no splits by sets."""
    i0 = np.uintp(first)
    i1, i2, i3 = i0 + np.uintp(1), i0 + np.uintp(2), i0 + np.uintp(3)
    i4, i5, i6 = i0 + np.uintp(4), i0 + np.uintp(5), i0 + np.uintp(6)
    i7 = i0 + np.uintp(7)
    n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = np.uint64(root)
    for _ in range(depth):
        w0, w1, w2, w3 = words[n0], words[n1], words[n2], words[n3]
        w4, w5, w6, w7 = words[n4], words[n5], words[n6], words[n7]
        if w0 & w1 & w2 & w3 & w4 & w5 & w6 & w7 & LEAF_FLAG:
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
def leaf_of(root, trees, bins, i):
    """The leaf that row i reaches from this root."""
    words, set_of = trees.words, trees.set_of
    node = np.uint64(root)
    while not words[node] & LEAF_FLAG:
        word = words[node]
        if set_of[node] >= 0:
            b = np.uint64(bins[i, (word >> FEATURE_SHIFT) & FEATURE_MASK])
            members = trees.sets[set_of[node], b >> np.uint64(6)]
            left = (members >> (b & np.uint64(63))) & np.uint64(1)
            node = ((word >> CHILD_SHIFT) & CHILD_MASK) + np.uint64(1) - left
        else:
            node = step(word, bins, i)
    return node


@kernel
def predict_block(block, bins, trees, out):
    """Add all trees to one block of rows of ``out``; tree t belongs to column t mod K."""
    first = block * ROWS_PER_BLOCK
    last = min(bins.shape[0], first + ROWS_PER_BLOCK)
    roots, values = trees.roots, trees.values
    for t in range(roots.shape[0]):
        column = np.uintp(t % out.shape[1])
        i = first
        if not trees.has_sets[t]:
            while i + 8 <= last:
                descend_eight(roots[t], trees.depths[t], trees.words, values, bins, i, out, column)
                i += 8
        while i < last:
            out[i, column] += values[leaf_of(roots[t], trees, bins, i)]
            i += 1


@parallel_kernel
def add_trees(bins, trees, out):
    """out[i, t mod K] += the value that tree t gives row i of ``bins``; ``out`` has K columns."""
    for block in prange(-(-bins.shape[0] // ROWS_PER_BLOCK)):
        predict_block(np.intp(block), bins, trees, out)
