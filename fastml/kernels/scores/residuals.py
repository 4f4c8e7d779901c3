"""Sums over the residuals of a regression, from one pass over the rows.

Each chunk of RESIDUAL_ROWS rows stays in cache while it is read twice: once for sums and means,
once for squares about these means. A constant has no spread at all.
Chunks are merged as by Chan, Golub and LeVeque (1983). Rows of float32 are read as they are and
summed in float64.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

RESIDUAL_ROWS = 4096

# Columns of the partial results.
N_ABSOLUTE, N_SQUARE = 0, 1
N_MEAN_RESIDUAL, N_SPREAD_RESIDUAL, N_MEAN_TRUE, N_SPREAD_TRUE = 2, 3, 4, 5
N_RESIDUAL_SUMS = 6

ROUNDING = 1e-30
"""A spread below this share of the squared mean may be one of rounding alone."""


@kernel(fast_math=True)
def _first_sums(y_true, y_pred):
    """Return sum |d|, sum d², sum d, and the sum of y less the first one."""
    first = np.float64(y_true[0])
    absolute = 0.0
    square = 0.0
    residual = 0.0
    value = 0.0
    for i in range(y_true.shape[0]):
        y = np.float64(y_true[i])
        d = y - y_pred[i]
        absolute += abs(d)
        square += d * d
        residual += d
        value += y - first
    return absolute, square, residual, value


@kernel(fast_math=True)
def _spreads(y_true, y_pred, mean_residual, mean_true):
    """Return the sums of squares of d and of y about their means."""
    of_residuals = 0.0
    of_true = 0.0
    for i in range(y_true.shape[0]):
        y = np.float64(y_true[i])
        a = y - y_pred[i] - mean_residual
        b = y - mean_true
        of_residuals += a * a
        of_true += b * b
    return of_residuals, of_true


@kernel
def _is_constant(y_true, y_pred):
    """Return whether all d, and whether all y, are equal."""
    residuals = True
    values = True
    first = np.float64(y_true[0]) - y_pred[0]
    for i in range(1, y_true.shape[0]):
        residuals = residuals and np.float64(y_true[i]) - y_pred[i] == first
        values = values and y_true[i] == y_true[0]
    return residuals, values


@kernel
def _residual_chunk(c, y_true, y_pred, partials):
    """Write the sums of chunk c to ``partials[c]``."""
    start = c * RESIDUAL_ROWS
    stop = min(start + RESIDUAL_ROWS, y_true.shape[0])
    n = stop - start
    y = y_true[start:stop]
    p = y_pred[start:stop]
    absolute, square, residual, value = _first_sums(y, p)
    mean_residual = residual / n
    mean_true = np.float64(y[0]) + value / n
    of_residuals, of_true = _spreads(y, p, mean_residual, mean_true)
    no_residual_spread = of_residuals <= n * ROUNDING * mean_residual * mean_residual
    if no_residual_spread or of_true <= n * ROUNDING * mean_true * mean_true:
        same_residuals, same_true = _is_constant(y, p)
        if same_residuals:
            mean_residual, of_residuals = np.float64(y[0]) - p[0], 0.0
        if same_true:
            mean_true, of_true = np.float64(y[0]), 0.0
    row = partials[c]
    row[N_ABSOLUTE] = absolute
    row[N_SQUARE] = square
    row[N_MEAN_RESIDUAL] = mean_residual
    row[N_SPREAD_RESIDUAL] = of_residuals
    row[N_MEAN_TRUE] = mean_true
    row[N_SPREAD_TRUE] = of_true


@parallel_kernel
def residual_sums(y_true, y_pred, partials):
    """Write sum |d|, sum d², and mean and squares about it of d and of y to ``partials``.

    d = y_true - y_pred; one row of partial results per chunk of RESIDUAL_ROWS rows.
    """
    for c in prange(partials.shape[0]):
        _residual_chunk(c, y_true, y_pred, partials)


@kernel
def merge_residual_sums(partials, n_rows, out):
    """Write the sums over all chunks to ``out``, in the order of the chunks."""
    for column in range(N_RESIDUAL_SUMS):
        out[column] = partials[0, column]
    n = min(RESIDUAL_ROWS, n_rows)
    for c in range(1, partials.shape[0]):
        more = min(RESIDUAL_ROWS, n_rows - c * RESIDUAL_ROWS)
        row = partials[c]
        out[N_ABSOLUTE] += row[N_ABSOLUTE]
        out[N_SQUARE] += row[N_SQUARE]
        for mean in (N_MEAN_RESIDUAL, N_MEAN_TRUE):
            gap = row[mean] - out[mean]
            out[mean + 1] += row[mean + 1] + gap * gap * n / (n + more) * more
            out[mean] += gap * more / (n + more)
        n += more
