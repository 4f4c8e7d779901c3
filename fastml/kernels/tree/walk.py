"""Rows through trees, many at a time; no branch depends on a value.

Values become 32-bit integers of the same order (`presort.key_of`): a step compares integers. A node
is a word of 64 bits: the key of its threshold, the column, and from bit ``shift`` on the left
child; the right child is the left one's neighbour. A leaf is its own left child, with a
threshold that no key exceeds. Missing values have the greatest key; a node that sends them to the
left reads a second copy of the columns, where they have the least.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.tree.nodes import FEATURE, LEAF, MISSING_LEFT
from fastml.kernels.tree.presort import MISSING_KEY, key_below, key_of

COLUMN_SHIFT = np.uint64(32)
KEY = np.uint64(0xFFFFFFFF)
FIRST_STEPS = 8
"""Steps before the first look at which rows have reached a leaf."""
LATER_STEPS = 4


@kernel
def fill_keys(X, missing, keys):
    """Write the keys of the rows of float32 to ``keys``; ``missing`` says that there is a second
    copy of the columns."""
    d = X.shape[1]
    for i in range(X.shape[0]):
        for j in range(d):
            keys[i, j] = key_of(X[i, j])
        if missing:
            for j in range(d):
                keys[i, d + j] = keys[i, j] if keys[i, j] != MISSING_KEY else 0


@kernel
def pack_tree(nodes, n_columns, missing, shift, words, order):
    """Write the words of a tree of `nodes.NODE`, breadth first; ``order[k]`` is the node of word k.

    The levels near the root, which every row passes, lie together. ``n_columns`` is the number of
    features; ``missing`` as in `fill_keys`.
    """
    order[0] = 0
    n = 1
    for k in range(nodes.shape[0]):
        node = order[k]
        feature = nodes[node]["feature"]
        if feature == LEAF:
            words[k] = np.uint64(MISSING_KEY) | (np.uint64(k) << shift)
            continue
        cut = key_below(nodes[node]["threshold"])
        column = feature & FEATURE
        if missing and (feature & MISSING_LEFT) != 0:
            column += n_columns
        words[k] = cut | (np.uint64(column) << COLUMN_SHIFT) | (np.uint64(n) << shift)
        order[n], order[n + 1] = node + 1, nodes[node]["right"]
        n += 2


@kernel
def _step(words, shift, mask, keys, row, node):
    """The child of a node that a row goes to."""
    word = words[node]
    right = keys[row, (word >> COLUMN_SHIFT) & mask] > np.uint32(word & KEY)
    return (word >> shift) + np.uint64(right)


@kernel
def _settle(words, shift, row, node, places, active, kept):
    """Write where a row is to ``places``; unless at a leaf it stays in the list ``active``. Returns
    the length of the list."""
    places[row] = np.uint32(node)
    active[kept] = np.uint32(row)
    return kept + np.uint64((words[node] >> shift) != node)


@kernel
def walk(words, shift, mask, keys, places, active):
    """Write the leaf of row i to places[i]; ``active`` is scratch, the rows still on their way.

    Eight rows step in turn: the processor waits for all of their loads at once.
    """
    n_active = np.uint64(keys.shape[0])
    for i in range(n_active):
        places[i], active[i] = 0, i
    steps = FIRST_STEPS
    while n_active > np.uint64(0):
        kept, j = np.uint64(0), np.uint64(0)
        while j + np.uint64(8) <= n_active:
            r0, r1 = np.uint64(active[j]), np.uint64(active[j + np.uint64(1)])
            r2, r3 = np.uint64(active[j + np.uint64(2)]), np.uint64(active[j + np.uint64(3)])
            r4, r5 = np.uint64(active[j + np.uint64(4)]), np.uint64(active[j + np.uint64(5)])
            r6, r7 = np.uint64(active[j + np.uint64(6)]), np.uint64(active[j + np.uint64(7)])
            n0, n1 = np.uint64(places[r0]), np.uint64(places[r1])
            n2, n3 = np.uint64(places[r2]), np.uint64(places[r3])
            n4, n5 = np.uint64(places[r4]), np.uint64(places[r5])
            n6, n7 = np.uint64(places[r6]), np.uint64(places[r7])
            for _ in range(steps):
                n0 = _step(words, shift, mask, keys, r0, n0)
                n1 = _step(words, shift, mask, keys, r1, n1)
                n2 = _step(words, shift, mask, keys, r2, n2)
                n3 = _step(words, shift, mask, keys, r3, n3)
                n4 = _step(words, shift, mask, keys, r4, n4)
                n5 = _step(words, shift, mask, keys, r5, n5)
                n6 = _step(words, shift, mask, keys, r6, n6)
                n7 = _step(words, shift, mask, keys, r7, n7)
            kept = _settle(words, shift, r0, n0, places, active, kept)
            kept = _settle(words, shift, r1, n1, places, active, kept)
            kept = _settle(words, shift, r2, n2, places, active, kept)
            kept = _settle(words, shift, r3, n3, places, active, kept)
            kept = _settle(words, shift, r4, n4, places, active, kept)
            kept = _settle(words, shift, r5, n5, places, active, kept)
            kept = _settle(words, shift, r6, n6, places, active, kept)
            kept = _settle(words, shift, r7, n7, places, active, kept)
            j += np.uint64(8)
        while j < n_active:
            row = np.uint64(active[j])
            node = np.uint64(places[row])
            for _ in range(steps):
                node = _step(words, shift, mask, keys, row, node)
            kept = _settle(words, shift, row, node, places, active, kept)
            j += np.uint64(1)
        n_active = kept
        steps = LATER_STEPS
