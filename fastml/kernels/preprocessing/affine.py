"""Scale and shift columns, or rows to unit length, in one pass over the rows.

Rows come as (n × d) or, with ``by_column``, transposed; results have the same layout.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

SUBTRACT_DIVIDE = 0
MULTIPLY_ADD = 1

NORM_L1 = 0
NORM_L2 = 1
NORM_MAX = 2


@kernel
def _one_constant(line, mode, shift, factor, low, high, out):
    """`affine` for a line that is one column: write ``out``, return 1 if a value is infinite."""
    bad = 0
    if mode == SUBTRACT_DIVIDE:
        for i in range(line.shape[0]):
            x = line[i]
            bad |= np.intp(abs(x) == np.inf)
            y = (x - shift) / factor
            y = low if y < low else y
            out[i] = high if y > high else y
    else:
        for i in range(line.shape[0]):
            x = line[i]
            bad |= np.intp(abs(x) == np.inf)
            y = x * factor + shift
            y = low if y < low else y
            out[i] = high if y > high else y
    return bad


@kernel
def _one_row(line, mode, shifts, factors, low, high, out):
    """`affine` for a row: write ``out``, return 1 if a value is infinite."""
    bad = 0
    if mode == SUBTRACT_DIVIDE:
        for j in range(line.shape[0]):
            x = line[j]
            bad |= np.intp(abs(x) == np.inf)
            y = (x - shifts[j]) / factors[j]
            y = low if y < low else y
            out[j] = high if y > high else y
    else:
        for j in range(line.shape[0]):
            x = line[j]
            bad |= np.intp(abs(x) == np.inf)
            y = x * factors[j] + shifts[j]
            y = low if y < low else y
            out[j] = high if y > high else y
    return bad


@kernel
def _chunk_affine(c, X, by_column, mode, shifts, factors, bounds, rows_per_chunk, out, infinite):
    """`affine` for chunk c."""
    n = X.shape[1] if by_column else X.shape[0]
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, n)
    low, high = bounds
    bad = 0
    if by_column:
        for j in range(X.shape[0]):
            bad |= _one_constant(
                X[j, first:last], mode, shifts[j], factors[j], low, high, out[j, first:last]
            )
    else:
        for i in range(first, last):
            bad |= _one_row(X[i], mode, shifts, factors, low, high, out[i])
    infinite[c] = bad


@parallel_kernel
def affine(X, by_column, mode, shifts, factors, bounds, rows_per_chunk, out, infinite):
    """Write (x − shift) / factor, or x · factor + shift, of each column to ``out``.

    The result is cut to ``bounds``, (low, high). ``infinite`` (one entry per chunk of rows) gets 1
    where X has an infinite value. ``out`` may be X itself.
    """
    for c in prange(infinite.shape[0]):
        _chunk_affine(c, X, by_column, mode, shifts, factors, bounds, rows_per_chunk, out, infinite)


@kernel(fast_math=True)
def row_norm(row, kind):
    """Return the sum of absolute values, the root of the sum of squares or the largest value."""
    total = 0.0
    if kind == NORM_L1:
        for j in range(row.shape[0]):
            total += abs(row[j])
    elif kind == NORM_L2:
        for j in range(row.shape[0]):
            x = np.float64(row[j])
            total += x * x
        total = np.sqrt(total)
    else:
        for j in range(row.shape[0]):
            total = max(total, abs(row[j]))
    return total


@kernel
def _chunk_normalise(c, X, kind, least, rows_per_chunk, norms, out):
    """`normalise_rows` for chunk c."""
    last = min((c + 1) * rows_per_chunk, X.shape[0])
    for i in range(c * rows_per_chunk, last):
        norm = row_norm(X[i], kind)
        if norm < least:
            norm = 1.0
        norms[i] = norm
        for j in range(X.shape[1]):
            out[i, j] = X[i, j] / norm


@parallel_kernel
def normalise_rows(X, kind, least, rows_per_chunk, norms, out):
    """Write rows over their norms to ``out``, and the ``norms``; one below ``least`` counts as 1.

    ``out`` may be X itself.
    """
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_normalise(c, X, kind, least, rows_per_chunk, norms, out)
