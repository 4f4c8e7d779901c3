"""Distance matrices of CSR rows, without making the data dense.

`sparse_dots`: a row of X is scattered into a dense buffer, every row of Y gathers from it. Squared
distances that lost digits to cancellation are computed again by merging the two rows.
`sparse_manhattan`: merging only. Rows come as a `Csr` of float64, columns sorted and unique.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.gram import CANCELLED
from fastml.kernels.distances.metrics import COSINE, EUCLIDEAN, JACCARD, MANHATTAN, SQEUCLIDEAN
from fastml.kernels.distances.row_metrics import one_minus_cosine

DOT = 45  # the dot product itself, beside the codes of `metrics`


@kernel
def sparse_row_squares(rows, out):
    """Write the squared norms of the rows of a `Csr` to ``out``."""
    for i in range(out.shape[0]):
        total = 0.0
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[s] * rows.data[s]
        out[i] = total


@kernel
def _gap_share(code, gap):
    """What a gap adds to the sum: |gap| (MANHATTAN) or gap²."""
    return abs(gap) if code == MANHATTAN else gap * gap


@kernel
def _merged_gaps(code, x, i, y, j):
    """Sum of |gap| (MANHATTAN) or gap² over the columns stored in row i of x or row j of y."""
    total = 0.0
    s, stop_x = x.indptr[i], x.indptr[i + 1]
    t, stop_y = y.indptr[j], y.indptr[j + 1]
    while s < stop_x and t < stop_y:
        if x.indices[s] == y.indices[t]:
            total += _gap_share(code, x.data[s] - y.data[t])
            s += 1
            t += 1
        elif x.indices[s] < y.indices[t]:
            total += _gap_share(code, x.data[s])
            s += 1
        else:
            total += _gap_share(code, y.data[t])
            t += 1
    while s < stop_x:
        total += _gap_share(code, x.data[s])
        s += 1
    while t < stop_y:
        total += _gap_share(code, y.data[t])
        t += 1
    return total


@kernel
def _from_dot(code, dot, square_x, square_y):
    """The wanted value; for Euclidean the squared distance, -1 where it lost its digits."""
    if code == EUCLIDEAN or code == SQEUCLIDEAN:
        scale = square_x + square_y
        squared = scale - 2.0 * dot
        return squared if squared >= CANCELLED * scale else -1.0
    if code == COSINE:
        return one_minus_cosine(dot, square_x, square_y)
    if code == JACCARD:
        union = square_x + square_y - dot
        return (union - dot) / union if union > 0.0 else 0.0
    return dot


@kernel
def _dots_block(i0, i1, code, exact, n_columns, x, squares_x, y, squares_y, out):
    """`sparse_dots` of rows i0..i1 of x."""
    dense = np.zeros(n_columns)
    for i in range(i0, i1):
        start, stop = x.indptr[i], x.indptr[i + 1]
        for s in range(start, stop):
            dense[x.indices[s]] = x.data[s]
        for j in range(out.shape[1]):
            dot = 0.0
            for t in range(y.indptr[j], y.indptr[j + 1]):
                dot += dense[y.indices[t]] * y.data[t]
            value = _from_dot(code, dot, squares_x[i], squares_y[j])
            if code <= SQEUCLIDEAN:
                if value < 0.0 and not exact:
                    value = max(0.0, squares_x[i] + squares_y[j] - 2.0 * dot)
                elif value < 0.0:
                    value = _merged_gaps(code, x, i, y, j)
                if code == EUCLIDEAN:
                    value = np.sqrt(value)
            out[i, j] = value
        for s in range(start, stop):
            dense[x.indices[s]] = 0.0


@parallel_kernel
def sparse_dots(first, last, size, code, exact, n_columns, x, squares_x, y, squares_y, out):
    """Write functions of the dot products of rows of x and y to ``out``: blocks first..last.

    ``code``: EUCLIDEAN, SQEUCLIDEAN, COSINE, JACCARD (all data are 1) or DOT. x and y are `Csr`
    with ``n_columns`` columns, the squares their rows' squared norms; a block is ``size`` rows.
    ``exact``: Euclidean distances that lost digits to cancellation are computed again.
    """
    for c in prange(last - first):
        i0 = (first + np.intp(c)) * size
        i1 = min(i0 + size, out.shape[0])
        _dots_block(i0, i1, code, exact, n_columns, x, squares_x, y, squares_y, out)


@kernel
def _manhattan_block(i0, i1, x, y, out):
    """`sparse_manhattan` of rows i0..i1 of x."""
    for i in range(i0, i1):
        for j in range(out.shape[1]):
            out[i, j] = _merged_gaps(MANHATTAN, x, i, y, j)


@parallel_kernel
def sparse_manhattan(first, last, size, x, y, out):
    """Write the Manhattan distances of rows of the `Csr` x and y to ``out``: blocks first..last.

    A block is ``size`` rows.
    """
    for c in prange(last - first):
        i0 = (first + np.intp(c)) * size
        _manhattan_block(i0, min(i0 + size, out.shape[0]), x, y, out)
