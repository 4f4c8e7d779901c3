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

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

BLOCK = 256  # rows whose keys stay in the nearest cache
GROUP = 4  # conditions of a tree come in groups of so many
FRACTION_BITS, BIAS = np.int64(52), np.int64(1023)


@kernel
def fill_block(X, bits, limits, n_categories, missing_code, keys):
    """Keys of some rows by column (2 d, rows). Returns whether there are missing values.

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
    """Rule out leaves by the conditions first..last; far[k] says that missing values go left."""
    zero = gone.dtype.type(0)
    for k in range(first, last, GROUP):
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
    """The same for a split by categories: ``members``, 256 bits, go left."""
    for i in range(n):
        code = np.uint64(keys[column, i])
        if not (members[code >> np.uint64(6)] >> (code & np.uint64(63))) & np.uint64(1):
            gone[i] |= left


@kernel
def add_first_left(gone, n, values, out, column):
    """Add the value of the first leaf that is left."""
    for i in range(n):
        bit = ~gone[i] & (gone[i] + 1)
        leaf = (np.float64(bit).view(np.int64) >> FRACTION_BITS) - BIAS
        out[i, column] += values[np.uint64(leaf)]


@kernel
def add_chunk(
    X, bits, limits, n_categories, missing_code, bounds, columns, far, thresholds, lefts,
    set_bounds, set_columns, sets, set_lefts, leaf_starts, values, out,
):  # fmt: skip
    """All trees on some rows; tree t belongs to column t mod K."""
    d = X.shape[1]
    keys = np.empty((2 * d, BLOCK), bits.dtype)
    gone = np.empty(BLOCK, bits.dtype)
    for begin in range(0, X.shape[0], BLOCK):
        end = min(begin + BLOCK, X.shape[0])
        n, rows = end - begin, slice(begin, end)
        missing = fill_block(X[rows], bits[rows], limits, n_categories, missing_code, keys)
        shift = d if missing else 0
        for t in range(leaf_starts.shape[0]):
            gone[:n] = 0
            rule_out(
                keys, n, shift, columns, far, thresholds, lefts, bounds[t], bounds[t + 1], gone
            )
            for k in range(set_bounds[t], set_bounds[t + 1]):
                rule_out_by_set(keys, n, set_columns[k], sets[k], set_lefts[k], gone)
            column = np.uint64(t % out.shape[1])
            add_first_left(gone, n, values[leaf_starts[t] :], out[begin:end], column)


@parallel_kernel
def add_small_trees(
    X, bits, limits, n_categories, missing_code, bounds, columns, far, thresholds, lefts,
    set_bounds, set_columns, sets, set_lefts, leaf_starts, values, out, rows_per_chunk,
):  # fmt: skip
    """out[i, t mod K] += the value that tree t gives row i."""
    for c in prange(-(-X.shape[0] // rows_per_chunk)):
        begin = np.intp(c) * rows_per_chunk
        end = min(begin + rows_per_chunk, X.shape[0])
        add_chunk(
            X[begin:end], bits[begin:end], limits, n_categories, missing_code, bounds, columns,
            far, thresholds, lefts, set_bounds, set_columns, sets, set_lefts, leaf_starts, values,
            out[begin:end],
        )  # fmt: skip
