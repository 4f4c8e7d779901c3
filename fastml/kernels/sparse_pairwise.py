"""Distance matrices of CSR rows, without making the data dense.

`sparse_dots`: a row of X is scattered into a dense buffer, every row of Y gathers from it. Squared
distances that lost digits to cancellation are computed again by merging the two rows.
`sparse_manhattan`: merging only. Column indices are sorted and unique.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.gram import CANCELLED
from fastml.kernels.metrics import (
    COSINE,
    EUCLIDEAN,
    JACCARD,
    MANHATTAN,
    SQEUCLIDEAN,
)
from fastml.kernels.row_metrics import one_minus_cosine

DOT = 45


@kernel
def sparse_row_squares(data, starts, out):
    for i in range(out.shape[0]):
        total = 0.0
        for s in range(starts[i], starts[i + 1]):
            total += data[s] * data[s]
        out[i] = total


@kernel
def _gap(code, x):
    return abs(x) if code == MANHATTAN else x * x


@kernel
def merged_gaps(code, x_data, x_columns, start_x, stop_x, y_data, y_columns, start_y, stop_y):
    """Sum of |gap| (MANHATTAN) or gap² over the union of the columns of two rows."""
    total = 0.0
    s, t = start_x, start_y
    while s < stop_x and t < stop_y:
        if x_columns[s] == y_columns[t]:
            total += _gap(code, x_data[s] - y_data[t])
            s += 1
            t += 1
        elif x_columns[s] < y_columns[t]:
            total += _gap(code, x_data[s])
            s += 1
        else:
            total += _gap(code, y_data[t])
            t += 1
    while s < stop_x:
        total += _gap(code, x_data[s])
        s += 1
    while t < stop_y:
        total += _gap(code, y_data[t])
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
def _dots_block(
    i0,
    i1,
    code,
    exact,
    n_columns,
    x_data,
    x_columns,
    x_starts,
    squares_x,
    y_data,
    y_columns,
    y_starts,
    squares_y,
    out,
):
    dense = np.zeros(n_columns)
    for i in range(i0, i1):
        start, stop = x_starts[i], x_starts[i + 1]
        for s in range(start, stop):
            dense[x_columns[s]] = x_data[s]
        for j in range(out.shape[1]):
            dot = 0.0
            for t in range(y_starts[j], y_starts[j + 1]):
                dot += dense[y_columns[t]] * y_data[t]
            value = _from_dot(code, dot, squares_x[i], squares_y[j])
            if code <= SQEUCLIDEAN:
                if value < 0.0 and not exact:
                    value = max(0.0, squares_x[i] + squares_y[j] - 2.0 * dot)
                elif value < 0.0:
                    value = merged_gaps(
                        code,
                        x_data,
                        x_columns,
                        start,
                        stop,
                        y_data,
                        y_columns,
                        y_starts[j],
                        y_starts[j + 1],
                    )
                if code == EUCLIDEAN:
                    value = np.sqrt(value)
            out[i, j] = value
        for s in range(start, stop):
            dense[x_columns[s]] = 0.0


@parallel_kernel
def sparse_dots(
    first,
    last,
    size,
    code,
    exact,
    n_columns,
    x_data,
    x_columns,
    x_starts,
    squares_x,
    y_data,
    y_columns,
    y_starts,
    squares_y,
    out,
):
    """Blocks first..last of ``size`` rows; for JACCARD all data are 1.

    ``exact``: Euclidean distances that lost digits to cancellation are computed again.
    """
    for c in prange(last - first):
        i0 = (first + np.intp(c)) * size
        _dots_block(
            i0,
            min(i0 + size, out.shape[0]),
            code,
            exact,
            n_columns,
            x_data,
            x_columns,
            x_starts,
            squares_x,
            y_data,
            y_columns,
            y_starts,
            squares_y,
            out,
        )


@kernel
def _manhattan_block(i0, i1, x_data, x_columns, x_starts, y_data, y_columns, y_starts, out):
    for i in range(i0, i1):
        for j in range(out.shape[1]):
            out[i, j] = merged_gaps(
                MANHATTAN,
                x_data,
                x_columns,
                x_starts[i],
                x_starts[i + 1],
                y_data,
                y_columns,
                y_starts[j],
                y_starts[j + 1],
            )


@parallel_kernel
def sparse_manhattan(
    first, last, size, x_data, x_columns, x_starts, y_data, y_columns, y_starts, out
):
    """Blocks first..last of ``size`` rows."""
    for c in prange(last - first):
        i0 = (first + np.intp(c)) * size
        _manhattan_block(
            i0,
            min(i0 + size, out.shape[0]),
            x_data,
            x_columns,
            x_starts,
            y_data,
            y_columns,
            y_starts,
            out,
        )
