"""Quantiles of the targets that share a leaf with a row, over all trees (Meinshausen, 2006)."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def count_kept(rows, samples, y, weights, most, counts):
    """Write the number of targets that each leaf keeps to ``counts``: none if all are equal.
    Returns their sum.

    ``rows`` lie leaf by leaf, ``samples`` of them in each.
    """
    first, kept = 0, 0
    for leaf in range(samples.shape[0]):
        total, differ, whole = 0.0, False, True
        for i in range(first, first + samples[leaf]):
            w = weights[rows[i]]
            total += w
            differ |= y[rows[i]] != y[rows[first]]
            whole &= w == np.floor(w)
            if differ and (total >= most or not whole):
                break
        counts[leaf] = 0
        if differ:
            counts[leaf] = most
            if whole and total < most:
                counts[leaf] = np.intp(total)
        kept += counts[leaf]
        first += samples[leaf]
    return kept


@kernel
def draw_kept(rows, samples, y, weights, starts, counts, targets):
    """Write ``counts`` targets of each leaf to ``targets``, drawn at equal steps of the weight, the
    first ``starts`` of a step in."""
    first, kept = 0, 0
    for leaf in range(samples.shape[0]):
        last = first + samples[leaf]
        total = 0.0
        for i in range(first, last if counts[leaf] > 0 else first):
            total += weights[rows[i]]
        i, passed = first, weights[rows[first]]
        for j in range(counts[leaf]):
            while i < last - 1 and passed <= (starts[leaf] + j) * total / counts[leaf]:
                i += 1
                passed += weights[rows[i]]
            targets[kept] = y[rows[i]]
            kept += 1
        first = last


@kernel
def sort_by_value(values, weights, n):
    """Sort the first ``n`` values in place, with their weights."""
    for begin in range(n // 2 - 1, -1, -1):
        sink(values, weights, begin, n)
    for last in range(n - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        weights[0], weights[last] = weights[last], weights[0]
        sink(values, weights, 0, last)


@kernel
def sink(values, weights, slot, size):
    """Let the value at ``slot`` sink to its place in a max-heap, the first ``size`` of ``values``;
    ``weights`` are moved with their values."""
    while True:
        child = 2 * slot + 1
        if child >= size:
            return
        if child + 1 < size and values[child + 1] > values[child]:
            child += 1
        if values[slot] >= values[child]:
            return
        values[slot], values[child] = values[child], values[slot]
        weights[slot], weights[child] = weights[child], weights[slot]
        slot = child


@kernel
def quantiles_of_row(leaves, means, starts, targets, quantiles, values, weights, out):
    """Write the quantiles of the targets of one row's leaves to ``out``.

    ``leaves[t]`` is the number of its leaf in tree t among all leaves of all trees. Leaf l keeps
    ``targets[starts[l]:starts[l + 1]]``; if it keeps none, all its targets are ``means[l]``. Every
    tree weighs one. Scratch: ``values``, ``weights``.
    """
    n = 0
    for t in range(leaves.shape[0]):
        leaf = leaves[t]
        first, last = starts[leaf], starts[leaf + 1]
        if first == last:
            values[n] = means[leaf]
            weights[n] = 1.0
            n += 1
        for j in range(first, last):
            values[n] = targets[j]
            weights[n] = 1.0 / (last - first)
            n += 1
    sort_by_value(values, weights, n)
    for q in range(quantiles.shape[0]):
        wanted = quantiles[q] * leaves.shape[0] * (1.0 - 1e-12)
        reached = 0.0
        at = 0
        for j in range(n):
            reached += weights[j]
            at = j
            if reached >= wanted:
                break
        out[q] = values[at]


@kernel
def quantiles_of_chunk(first, last, leaves, means, starts, targets, most, quantiles, out):
    """Write `quantiles_of_row` of the rows from ``first`` to ``last`` to ``out``."""
    values, weights = np.empty(most), np.empty(most)
    for i in range(first, last):
        quantiles_of_row(leaves[i], means, starts, targets, quantiles, values, weights, out[i])


@parallel_kernel
def leaf_quantiles(leaves, means, starts, targets, most, quantiles, out, rows_per_chunk):
    """Write quantile q of the targets of row i's leaves, at most ``most``, to out[i, q]."""
    n_chunks = (leaves.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, leaves.shape[0])
        quantiles_of_chunk(first, last, leaves, means, starts, targets, most, quantiles, out)
