"""Quantiles of the targets that share a leaf with a row, over all trees (Meinshausen, 2006)."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def sort_by_rank(ranks, weights, n):
    """Heap sort of the first ``n`` ranks, with their weights."""
    for begin in range(n // 2 - 1, -1, -1):
        sink(ranks, weights, begin, n)
    for last in range(n - 1, 0, -1):
        ranks[0], ranks[last] = ranks[last], ranks[0]
        weights[0], weights[last] = weights[last], weights[0]
        sink(ranks, weights, 0, last)


@kernel
def sink(ranks, weights, slot, size):
    while True:
        child = 2 * slot + 1
        if child >= size:
            return
        if child + 1 < size and ranks[child + 1] > ranks[child]:
            child += 1
        if ranks[slot] >= ranks[child]:
            return
        ranks[slot], ranks[child] = ranks[child], ranks[slot]
        weights[slot], weights[child] = weights[child], weights[slot]
        slot = child


@kernel
def quantiles_of_row(
    leaves, starts, ranks, draws, sorted_targets, quantiles, ranks_here, weights_here, out
):
    """``leaves[t]`` = number of the row's leaf among all leaves of all trees.

    Leaf l holds ``ranks[starts[l]:starts[l + 1]]`` (of the targets), drawn ``draws`` times each.
    """
    n = 0
    for t in range(leaves.shape[0]):
        leaf = leaves[t]
        total = 0.0
        for j in range(starts[leaf], starts[leaf + 1]):
            total += draws[j]
        for j in range(starts[leaf], starts[leaf + 1]):
            ranks_here[n] = ranks[j]
            weights_here[n] = draws[j] / total
            n += 1
    sort_by_rank(ranks_here, weights_here, n)
    for q in range(quantiles.shape[0]):
        wanted = quantiles[q] * leaves.shape[0] * (1.0 - 1e-12)
        reached = 0.0
        at = 0
        for j in range(n):
            reached += weights_here[j]
            at = j
            if reached >= wanted:
                break
        out[q] = sorted_targets[ranks_here[at]]


@kernel
def quantiles_of_chunk(
    first, last, leaves, starts, most, ranks, draws, sorted_targets, quantiles, out
):
    ranks_here = np.empty(most, dtype=np.int64)
    weights_here = np.empty(most)
    for i in range(first, last):
        quantiles_of_row(
            leaves[i],
            starts,
            ranks,
            draws,
            sorted_targets,
            quantiles,
            ranks_here,
            weights_here,
            out[i],
        )


@parallel_kernel
def leaf_quantiles(
    leaves, starts, most, ranks, draws, sorted_targets, quantiles, out, rows_per_chunk
):
    """out[i, q] = quantile of the weighted targets of row i's leaves."""
    n_chunks = (leaves.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        quantiles_of_chunk(
            first,
            min(first + rows_per_chunk, leaves.shape[0]),
            leaves,
            starts,
            most,
            ranks,
            draws,
            sorted_targets,
            quantiles,
            out,
        )
