"""Means and variances of every class in one pass over the rows, and log densities from them."""

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _chunk_moments(c, X, codes, weights, rows_per_chunk, counts, means, squares):
    """`class_moments` for chunk c: its rows are read twice, the second time from the cache."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, X.shape[0])
    weighted = weights.shape[0] > 0
    n_features = X.shape[1]
    for i in range(first, last):
        k = codes[i]
        w = weights[i] if weighted else 1.0
        counts[c, k] += w
        mean = means[c, k]
        for j in range(n_features):
            mean[j] += w * X[i, j]
    for k in range(counts.shape[1]):
        if counts[c, k] > 0.0:
            for j in range(n_features):
                means[c, k, j] /= counts[c, k]
    for i in range(first, last):
        k = codes[i]
        w = weights[i] if weighted else 1.0
        mean = means[c, k]
        square = squares[c, k]
        for j in range(n_features):
            off = X[i, j] - mean[j]
            square[j] += w * off * off


@parallel_kernel
def class_moments(X, codes, weights, rows_per_chunk, counts, means, squares):
    """Sum weights, means and squares about these means, by chunk of rows and class.

    Adds into ``counts`` (chunks × classes), ``means`` and ``squares`` (× features), which come as
    zeros. ``weights`` may be empty: every row counts once.
    """
    for c in prange(counts.shape[0]):
        _chunk_moments(c, X, codes, weights, rows_per_chunk, counts, means, squares)


@kernel(fast_math=True)
def _chunk_scores(c, X, means, precisions, constants, rows_per_chunk, scores):
    """`gaussian_scores` for the rows of chunk c."""
    last = min((c + 1) * rows_per_chunk, X.shape[0])
    for i in range(c * rows_per_chunk, last):
        for k in range(means.shape[0]):
            total = 0.0
            for j in range(X.shape[1]):
                off = X[i, j] - means[k, j]
                total += off * off * precisions[k, j]
            scores[i, k] = constants[k] - 0.5 * total


@parallel_kernel
def gaussian_scores(X, means, precisions, constants, rows_per_chunk, scores):
    """Write ``scores``[i, k] = constants[k] − ½ Σ_j (X[i, j] − means[k, j])² precisions[k, j]."""
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_scores(c, X, means, precisions, constants, rows_per_chunk, scores)


@kernel(fast_math=True)
def take_half_squares(z, width, scores):
    """Take half the sum of squares of each ``width`` columns of ``z`` from ``scores``, a class."""
    for i in range(z.shape[0]):
        for k in range(scores.shape[1]):
            total = 0.0
            for j in range(k * width, (k + 1) * width):
                total += z[i, j] * z[i, j]
            scores[i, k] -= 0.5 * total
