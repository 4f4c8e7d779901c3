"""Votes of many stumps: a block of rows is transposed, then one stump after the other votes."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

BLOCK_ROWS = 256
"""Rows that are transposed at a time: their columns and votes stay in the first-level cache."""


@kernel
def _vote_block(X, features, thresholds, lefts, rights, scales, columns, votes, out):
    """Write to out[i, k] the sum of the scales of the stumps that predict class k for row i;
    ``columns`` and ``votes`` are scratch."""
    n = X.shape[0]
    for i in range(n):
        for f in range(X.shape[1]):
            columns[f, i] = X[i, f]
    for k in range(votes.shape[0]):
        for i in range(n):
            votes[k, i] = 0.0
    for t in range(features.shape[0]):
        x, threshold, scale = columns[features[t]], thresholds[t], scales[t]
        left, right = votes[lefts[t]], votes[rights[t]]
        for i in range(n):
            left[i] += scale if x[i] <= threshold else 0.0
        for i in range(n):
            right[i] += 0.0 if x[i] <= threshold else scale
    for i in range(n):
        for k in range(votes.shape[0]):
            out[i, k] = votes[k, i]


@kernel
def _vote_chunk(first, last, X, features, thresholds, lefts, rights, scales, out):
    """`stump_votes` for the rows first..last, a block at a time."""
    columns = np.empty((X.shape[1], BLOCK_ROWS), np.float32)
    votes = np.empty((out.shape[1], BLOCK_ROWS))
    for start in range(first, last, BLOCK_ROWS):
        end = min(start + BLOCK_ROWS, last)
        _vote_block(
            X[start:end], features, thresholds, lefts, rights, scales, columns, votes,
            out[start:end],
        )  # fmt: skip


@parallel_kernel
def stump_votes(
    n_chunks, rows_per_chunk, X, features, thresholds, lefts, rights, scales, out
):  # fmt: skip
    """Write to out[i, k] the sum of the scales of the stumps that predict class k for row i.

    Stump t predicts lefts[t] where x <= thresholds[t], else rights[t].
    """
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, X.shape[0])
        _vote_chunk(first, last, X, features, thresholds, lefts, rights, scales, out)
