"""Sums of rows by group, and squares about each group's mean, in one pass."""

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _chunk_groups(c, X, codes, shift, rows_per_chunk, counts, means, squares):
    """`group_moments` for chunk c: its rows are read twice, the second time from the cache."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    n_features = X.shape[1]
    for i in range(first, last):
        k = codes[i]
        counts[c, k] += 1.0
        mean = means[c, k]
        for j in range(n_features):
            mean[j] += X[i, j] - shift[j]
    for k in range(counts.shape[1]):
        if counts[c, k] > 0.0:
            for j in range(n_features):
                means[c, k, j] /= counts[c, k]
    for i in range(first, last):
        k = codes[i]
        mean = means[c, k]
        square = squares[c, k]
        for j in range(n_features):
            off = (X[i, j] - shift[j]) - mean[j]
            square[j] += off * off


@parallel_kernel
def group_moments(X, codes, shift, rows_per_chunk, counts, means, squares):
    """Rows, means of X − ``shift`` and squares about them, by chunk of rows and group.

    Adds into ``counts`` (chunks × groups), ``means`` and ``squares`` (× features), which come as
    zeros. A column that never leaves ``shift`` has squares of exactly 0.
    """
    for c in prange(counts.shape[0]):
        _chunk_groups(c, X, codes, shift, rows_per_chunk, counts, means, squares)
