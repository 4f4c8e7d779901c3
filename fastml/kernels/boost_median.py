"""Boosted regression: what every tree says of every row, the weighted median, and the draw."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.exact_split import ROW
from fastml.kernels.tree_predict import leaves_of_rows

GAPS = (701, 301, 132, 57, 23, 10, 4, 1)
"""Of Shell's sort (Ciura's sequence)."""


@kernel
def sort_pairs(values, weights):
    """Sort a few values, and their weights with them."""
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
    """out[i] = first of the sorted values[i, :len(scales)] with half the scale at or below it."""
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, out.shape[0])
        _median_chunk(first, last, values, scales, out)


@kernel
def _value_chunk(first, last, nodes, starts, bitsets, X, out):
    leaves = np.empty(last - first, np.intp)
    for t in range(starts.shape[0]):
        leaves_of_rows(nodes[starts[t] :], bitsets, X[first:last], leaves)
        for i in range(first, last):
            out[i, t] = nodes[starts[t] + leaves[i - first]]["threshold"]


@parallel_kernel
def tree_values(n_chunks, rows_per_chunk, nodes, starts, bitsets, X, out):
    """out[i, t] = value of row i's leaf in regression tree t."""
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, X.shape[0])
        _value_chunk(first, last, nodes, starts, bitsets, X, out)


@kernel
def _repeat_column(entries, starts, out):
    at = 0
    for p in range(entries.shape[0]):
        row = np.intp(entries[p] & ROW)
        value = entries[p] & ~ROW
        for copy in range(starts[row], starts[row + 1]):
            out[at] = value | np.uint64(copy)
            at += 1


@parallel_kernel
def repeat_entries(orders, starts, out):
    """Entries of a draw with repetition, still in order: row i becomes starts[i]..starts[i + 1]."""
    for f in prange(orders.shape[0]):
        _repeat_column(orders[f], starts, out[f])
