"""What is learned of every column in one pass: moments, extremes. NaN counts as absent.

Rows come as an (n × d) array or, with ``by_column``, as its transpose (d × n), C-contiguous both.
The order of summation is that of the rows in either case, so that the result is the same.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _first_values(X, by_column, first, last, found):
    """Write the first value of every column that is no NaN to ``found``, or 0."""
    n_columns = X.shape[0] if by_column else X.shape[1]
    for j in range(n_columns):
        found[j] = 0.0
        for i in range(first, last):
            x = X[j, i] if by_column else X[i, j]
            if x == x:
                found[j] = x
                break


@kernel
def _add_row(x_row, weight, means, counts, sums):
    """Add a row's distances from ``means`` to ``sums``, and its weight to ``counts``."""
    for j in range(x_row.shape[0]):
        x = x_row[j]
        there = x == x
        counts[j] += weight if there else 0.0
        sums[j] += weight * (x - means[j]) if there else 0.0


@kernel
def _add_squares(x_row, weight, means, squares):
    """Add a row's squared distances from ``means`` to ``squares``."""
    for j in range(x_row.shape[0]):
        off = x_row[j] - means[j]
        off = off if off == off else 0.0
        squares[j] += weight * off * off


@kernel
def _chunk_moments(c, X, by_column, weights, rows_per_chunk, counts, means, squares):
    """`column_moments` for chunk c: its rows are read twice, the second time from the cache."""
    n = X.shape[1] if by_column else X.shape[0]
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, n)
    weighted = weights.shape[0] > 0
    count, mean, square = counts[c], means[c], squares[c]
    _first_values(X, by_column, first, last, mean)
    if by_column:
        for j in range(X.shape[0]):
            total, off_total = 0.0, 0.0
            start = mean[j]
            for i in range(first, last):
                x = X[j, i]
                w = weights[i] if weighted else 1.0
                if x == x:
                    total += w
                    off_total += w * (x - start)
            count[j] = total
            square[j] = off_total
    else:
        for i in range(first, last):
            _add_row(X[i], weights[i] if weighted else 1.0, mean, count, square)
    for j in range(mean.shape[0]):
        if count[j] != 0.0:
            mean[j] += square[j] / count[j]
        square[j] = 0.0
    if by_column:
        for j in range(X.shape[0]):
            total = 0.0
            for i in range(first, last):
                off = X[j, i] - mean[j]
                w = weights[i] if weighted else 1.0
                if off == off:
                    total += w * off * off
            square[j] = total
    else:
        for i in range(first, last):
            _add_squares(X[i], weights[i] if weighted else 1.0, mean, square)


@parallel_kernel
def column_moments(X, by_column, weights, rows_per_chunk, counts, means, squares):
    """Sum weights, means and squares about these means, by chunk of rows and column.

    Writes ``counts``, ``means`` and ``squares`` (chunks × columns), which come as zeros.
    ``weights`` may be empty: every row counts once.
    """
    for c in prange(counts.shape[0]):
        _chunk_moments(c, X, by_column, weights, rows_per_chunk, counts, means, squares)


@kernel
def _chunk_extremes(c, X, by_column, rows_per_chunk, lows, highs):
    """`column_extremes` for chunk c."""
    n = X.shape[1] if by_column else X.shape[0]
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, n)
    low, high = lows[c], highs[c]
    for j in range(low.shape[0]):
        low[j] = np.inf
        high[j] = -np.inf
    if by_column:
        for j in range(X.shape[0]):
            least, most = low[j], high[j]
            for i in range(first, last):
                x = X[j, i]
                least = x if x < least else least
                most = x if x > most else most
            low[j] = least
            high[j] = most
    else:
        for i in range(first, last):
            for j in range(X.shape[1]):
                x = X[i, j]
                low[j] = x if x < low[j] else low[j]
                high[j] = x if x > high[j] else high[j]


@parallel_kernel
def column_extremes(X, by_column, rows_per_chunk, lows, highs):
    """Write the least and the greatest value of each chunk and column to ``lows`` and ``highs``.

    Without a value that is no NaN they are ∞ and −∞.
    """
    for c in prange(lows.shape[0]):
        _chunk_extremes(c, X, by_column, rows_per_chunk, lows, highs)


GATHERED_ROWS = 64


@kernel
def _chunk_gather(c, X, by_column, first_column, rows_per_chunk, columns, absent):
    """`gather_columns` for chunk c."""
    n = X.shape[1] if by_column else X.shape[0]
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, n)
    for start in range(first, last, GATHERED_ROWS):
        stop = min(start + GATHERED_ROWS, last)
        for k in range(columns.shape[0]):
            j = first_column + k
            column = columns[k]
            bad = 0
            for i in range(start, stop):
                x = X[j, i] if by_column else X[i, j]
                column[i] = x
                bad |= np.intp(not (x - x == 0.0))  # NaN or infinite
            absent[c, k] |= bad


@parallel_kernel
def gather_columns(X, by_column, first_column, rows_per_chunk, columns, absent):
    """Write columns of X, from ``first_column`` on, as rows of ``columns``.

    ``absent`` (chunks × columns, zeros) gets 1 where a value is NaN or infinite.
    """
    for c in prange(absent.shape[0]):
        _chunk_gather(c, X, by_column, first_column, rows_per_chunk, columns, absent)
