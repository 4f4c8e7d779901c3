"""AdaBoost regression: predictions of all trees, their weighted medians, drawn training rows."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.exact_split import ROW
from fastml.kernels.tree.predict import leaves_of_rows

GAPS = (701, 301, 132, 57, 23, 10, 4, 1)
"""Distances of Shell's sort (Ciura's sequence)."""


@kernel
def sort_pairs(values, weights):
    """Sort a few values in place, and their weights with them."""
    n = values.shape[0]
    for gap in GAPS:
        for i in range(gap, n):
            value, weight, j = values[i], weights[i], i
            while j >= gap and values[j - gap] > value:
                values[j], weights[j] = values[j - gap], weights[j - gap]
                j -= gap
            values[j], weights[j] = value, weight


@kernel
def _median_chunk(first, last, values, scales, out):
    """`weighted_medians` for the rows first..last."""
    n_trees = scales.shape[0]
    row, weights = np.empty(n_trees), np.empty(n_trees)
    for i in range(first, last):
        for t in range(n_trees):
            row[t], weights[t] = values[i, t], scales[t]
        sort_pairs(row, weights)
        total = 0.0
        for t in range(n_trees):
            total += weights[t]
        at, below = 0, weights[0]
        while below < 0.5 * total and at < n_trees - 1:
            at += 1
            below += weights[at]
        out[i] = row[at]


@parallel_kernel
def weighted_medians(n_chunks, rows_per_chunk, values, scales, out):
    """Write to out[i] the first of the sorted values[i, :len(scales)] with half the scale at or
    below it."""
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, out.shape[0])
        _median_chunk(first, last, values, scales, out)


@kernel
def _value_chunk(first, last, nodes, starts, bitsets, X, out):
    """`tree_values` for the rows first..last."""
    leaves, active = np.empty(last - first, np.uint64), np.empty(last - first, np.uint64)
    for t in range(starts.shape[0]):
        tree = nodes[starts[t] :]
        leaves_of_rows(tree, bitsets, X[first:last], leaves, active)
        for i in range(first, last):
            out[i, t] = tree[leaves[i - first]]["threshold"]


@parallel_kernel
def tree_values(n_chunks, rows_per_chunk, nodes, starts, bitsets, X, out):
    """Write to out[i, t] the value of row i's leaf in regression tree t."""
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, X.shape[0])
        _value_chunk(first, last, nodes, starts, bitsets, X, out)


@kernel
def _repeat_column(entries, starts, out):
    """`repeat_entries` for one column."""
    at = 0
    for p in range(entries.shape[0]):
        row = np.intp(entries[p] & ROW)
        value = entries[p] & ~ROW
        for copy in range(starts[row], starts[row + 1]):
            out[at] = value | np.uint64(copy)
            at += 1


@parallel_kernel
def repeat_entries(orders, starts, out):
    """Write to ``out`` the entries of a draw with repetition, in order like ``orders``: row i
    becomes the rows starts[i]..starts[i + 1]."""
    for f in prange(orders.shape[0]):
        _repeat_column(orders[f], starts, out[f])
