"""Sums of small trees without walking them (QuickScorer): every node is asked, none is visited.

A row that a node sends to the right cannot end in a leaf of its left subtree. With the leaves
numbered from left to right, one bit each, the row's leaf is the first that no node of the tree
rules out. So a tree is a list of conditions, each the same few vector instructions for many rows,
where a walk is a chain of loads that wait for each other.

Values are compared as integers of the same order, their keys, of the rows' own width: 31 leaves for
float32, 63 for float64. Missing values have the greatest key; nodes that send them to the left read
a second copy of the columns, in which they have the least.

Reference: C. Lucchese et al., "QuickScorer", SIGIR 2015.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

ROWS_PER_BLOCK = 256  # their keys stay in the nearest cache
CONDITIONS_AT_ONCE = 4  # conditions of a tree come in groups of so many
FRACTION_BITS, BIAS = np.int64(52), np.int64(1023)


class Conditions(NamedTuple):
    """The splits of all trees, tree by tree; leaves are bits of an integer as wide as a key."""

    bounds: np.ndarray  # (n_trees + 1,) which thresholds belong to which tree
    columns: np.ndarray  # of each threshold: its feature
    far: np.ndarray  # whether missing values go left
    thresholds: np.ndarray  # a row with a greater key goes right
    lefts: np.ndarray  # leaves of the left subtree
    set_bounds: np.ndarray  # (n_trees + 1,) which sets belong to which tree
    set_columns: np.ndarray  # of each split by a set: its feature
    sets: np.ndarray  # (n_sets, 4) uint64, the categories that go left
    set_lefts: np.ndarray  # leaves of the left subtree
    leaf_starts: np.ndarray  # (n_trees,) where the values of its leaves begin
    values: np.ndarray  # of the leaves


@kernel
def fill_block(X, bits, limits, n_categories, missing_code, keys):
    """Write the keys of some rows by column (2 d, rows); the second half, in which missing values
    have the least key, only if there are any. Returns whether there are.

    ``bits`` are the numbers of ``X`` seen as integers; ``limits`` the greatest integer and that of
    infinity. A category's key is its code, or ``missing_code``.
    """
    n, d = X.shape
    greatest, infinity = limits[0], limits[1]
    least = ~greatest
    missing = False
    for i in range(n):
        for j in range(d):
            value = bits[i, j]
            if n_categories[j] > 0:
                known = X[i, j] >= 0.0 and X[i, j] < n_categories[j]
                keys[j, i] = np.intp(X[i, j]) if known else missing_code
                continue
            missing |= (value & greatest) > infinity
            if value == least:  # minus zero
                value = bits.dtype.type(0)
            keys[j, i] = value ^ greatest if value < 0 else value
    if missing:
        for i in range(n):
            for j in range(d):
                lost = n_categories[j] == 0 and (bits[i, j] & greatest) > infinity
                keys[d + j, i] = least if lost else keys[j, i]
                if lost:
                    keys[j, i] = greatest
    return missing


@kernel
def rule_out(keys, n, shift, columns, far, thresholds, lefts, first, last, gone):
    """Add to ``gone`` the leaves that the thresholds first..last rule out for n rows; ``shift`` is
    the distance to the second copy of the columns, 0 if there is none."""
    zero = gone.dtype.type(0)
    for k in range(first, last, CONDITIONS_AT_ONCE):
        k0 = keys[columns[k] + far[k] * shift]
        k1 = keys[columns[k + 1] + far[k + 1] * shift]
        k2 = keys[columns[k + 2] + far[k + 2] * shift]
        k3 = keys[columns[k + 3] + far[k + 3] * shift]
        t0, t1, t2, t3 = thresholds[k], thresholds[k + 1], thresholds[k + 2], thresholds[k + 3]
        m0, m1, m2, m3 = lefts[k], lefts[k + 1], lefts[k + 2], lefts[k + 3]
        for i in range(n):
            a = m0 if k0[i] > t0 else zero
            b = m1 if k1[i] > t1 else zero
            c = m2 if k2[i] > t2 else zero
            d = m3 if k3[i] > t3 else zero
            gone[i] |= (a | b) | (c | d)


@kernel
def rule_out_by_set(keys, n, column, members, left, gone):
    """Add the leaves ``left`` to ``gone`` of the rows whose category in this column is none of
    ``members``, 256 bits: only these go left."""
    for i in range(n):
        code = np.uint64(keys[column, i])
        if not (members[code >> np.uint64(6)] >> (code & np.uint64(63))) & np.uint64(1):
            gone[i] |= left


@kernel
def add_first_left(gone, n, values, out, column):
    """Add to out[:n, column] the value of the first leaf that is not gone."""
    for i in range(n):
        bit = ~gone[i] & (gone[i] + 1)
        leaf = (np.float64(bit).view(np.int64) >> FRACTION_BITS) - BIAS
        out[i, column] += values[np.uint64(leaf)]


@kernel
def add_chunk(X, bits, limits, n_categories, missing_code, trees, out):
    """Add all trees on some rows to ``out``; tree t belongs to column t mod K.

    ``trees`` are `Conditions`; the other arguments are those of `fill_block`.
    """
    d = X.shape[1]
    keys = np.empty((2 * d, ROWS_PER_BLOCK), bits.dtype)
    gone = np.empty(ROWS_PER_BLOCK, bits.dtype)
    columns, far, thresholds, lefts = trees.columns, trees.far, trees.thresholds, trees.lefts
    bounds, set_bounds, leaf_starts = trees.bounds, trees.set_bounds, trees.leaf_starts
    for begin in range(0, X.shape[0], ROWS_PER_BLOCK):
        end = min(begin + ROWS_PER_BLOCK, X.shape[0])
        n, rows = end - begin, slice(begin, end)
        missing = fill_block(X[rows], bits[rows], limits, n_categories, missing_code, keys)
        shift = d if missing else 0
        for t in range(leaf_starts.shape[0]):
            gone[:n] = 0
            rule_out(
                keys, n, shift, columns, far, thresholds, lefts, bounds[t], bounds[t + 1], gone
            )
            for k in range(set_bounds[t], set_bounds[t + 1]):
                rule_out_by_set(
                    keys, n, trees.set_columns[k], trees.sets[k], trees.set_lefts[k], gone
                )
            column = np.uint64(t % out.shape[1])
            add_first_left(gone, n, trees.values[leaf_starts[t] :], out[begin:end], column)


@parallel_kernel
def add_small_trees(X, bits, limits, n_categories, missing_code, trees, out, rows_per_chunk):
    """out[i, t mod K] += the value that tree t gives row i, chunk by chunk; see `add_chunk`."""
    for c in prange(-(-X.shape[0] // rows_per_chunk)):
        begin = np.intp(c) * rows_per_chunk
        end = min(begin + rows_per_chunk, X.shape[0])
        add_chunk(
            X[begin:end],
            bits[begin:end],
            limits,
            n_categories,
            missing_code,
            trees,
            out[begin:end],
        )
