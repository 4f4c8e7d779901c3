"""Power transforms: moments for their likelihood, and the transforms of Yeo–Johnson and Box–Cox."""

import math

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _chunk_exp_moments(c, logs, factor, top, rows_per_chunk, counts, means, squares):
    """`exp_moments` for chunk c."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, logs.shape[0])
    start = math.expm1(factor * logs[first] - top)
    total = 0.0
    total_squares = 0.0
    for i in range(first, last):
        off = math.expm1(factor * logs[i] - top) - start
        total += off
        total_squares += off * off
    n = last - first
    counts[c, 0] = n
    means[c, 0] = start + total / n
    squares[c, 0] = max(total_squares - total * total / n, 0.0)


@parallel_kernel
def exp_moments(logs, factor, top, rows_per_chunk, counts, means, squares):
    """Write number, mean and squares about it of exp(factor · log − top) − 1, by chunk.

    ``counts``, ``means`` and ``squares`` are (chunks × 1).
    """
    for c in prange(counts.shape[0]):
        _chunk_exp_moments(c, logs, factor, top, rows_per_chunk, counts, means, squares)


@kernel
def box_cox(x, power):
    """Return (x^power − 1) / power, log x for power 0."""
    if power == 0.0:
        return np.log(x)
    return math.expm1(power * np.log(x)) / power


@kernel
def yeo_johnson(x, power):
    """Return Yeo and Johnson's transform of x."""
    if x >= 0.0:
        if abs(power) < 2.2e-16:
            return math.log1p(x)
        return math.expm1(power * math.log1p(x)) / power
    if abs(power - 2.0) < 2.2e-16:
        return -math.log1p(-x)
    return -math.expm1((2.0 - power) * math.log1p(-x)) / (2.0 - power)


@kernel
def inverse_box_cox(y, power):
    """Return the x of which y is Box and Cox's transform; NaN if there is none."""
    if power == 0.0:
        return np.exp(y)
    inside = power * y
    if inside < -1.0:
        return np.nan
    return np.exp(math.log1p(inside) / power)


@kernel
def inverse_yeo_johnson(y, power):
    """Return the x of which y is Yeo and Johnson's transform; NaN if there is none."""
    if y >= 0.0:
        if abs(power) < 2.2e-16:
            return math.expm1(y)
        inside = power * y
        if inside < -1.0:
            return np.nan
        return math.expm1(math.log1p(inside) / power)
    other = 2.0 - power
    if abs(other) < 2.2e-16:
        return -math.expm1(-y)
    inside = -other * y
    if inside < -1.0:
        return np.nan
    return -math.expm1(math.log1p(inside) / other)


YEO_JOHNSON = 0
BOX_COX = 1
INVERSE_YEO_JOHNSON = 2
INVERSE_BOX_COX = 3


@kernel
def _chunk_power(c, X, powers, mode, rows_per_chunk, out):
    """`power_columns` for chunk c."""
    last = min((c + 1) * rows_per_chunk, X.shape[0])
    for i in range(c * rows_per_chunk, last):
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if x != x:
                out[i, j] = x
            elif mode == YEO_JOHNSON:
                out[i, j] = yeo_johnson(x, powers[j])
            elif mode == BOX_COX:
                out[i, j] = box_cox(x, powers[j])
            elif mode == INVERSE_YEO_JOHNSON:
                out[i, j] = inverse_yeo_johnson(x, powers[j])
            else:
                out[i, j] = inverse_box_cox(x, powers[j])


@parallel_kernel
def power_columns(X, powers, mode, rows_per_chunk, out):
    """Write the transform ``mode`` of every value, by its column's power, to ``out``; NaN stays."""
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_power(c, X, powers, mode, rows_per_chunk, out)
