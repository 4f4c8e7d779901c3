"""Losses of all rows at z + step · direction, with what Newton's method needs of each row.

Chunks of ROWS rows own their sums. No weights are an empty array.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.losses.definitions import (
    BINOMIAL,
    GAMMA,
    POISSON,
    SQUARED,
    TWEEDIE_LOG,
    by_code,
    gamma,
    huber,
    logistic_of,
    poisson,
    squared,
)
from fastml.kernels.losses.pointwise import ROWS
from fastml.kernels.numeric.exp import exp64

# Columns of the sums of `scaled_huber`.
HUBER_LOSS, HUBER_SLOPE, N_HUBER_SUMS = 0, 1, 2


@kernel
def _loss_rows(code, parameter, y, raw, values, slopes, curvatures):
    """Write loss and derivatives of rows of ``raw`` to ``values``, ``slopes``, ``curvatures``.

    Where Tweedie's loss with the logarithm as link curves downwards, the curvature is its
    expectation at y = μ.
    """
    n = y.shape[0]
    if code == SQUARED:
        for i in range(n):
            values[i], slopes[i], curvatures[i] = squared(y[i], raw[i])
    elif code == POISSON:
        for i in range(n):
            values[i], slopes[i], curvatures[i] = poisson(y[i], raw[i])
    elif code == GAMMA:
        for i in range(n):
            values[i], slopes[i], curvatures[i] = gamma(y[i], raw[i])
    elif code == BINOMIAL:
        for i in range(n):
            values[i] = exp64(-abs(raw[i]))
        for i in range(n):
            values[i], slopes[i], curvatures[i] = logistic_of(y[i], raw[i], values[i])
    else:
        for i in range(n):
            values[i], slopes[i], h = by_code(code, parameter, y[i], raw[i])
            if h <= 0.0 and code == TWEEDIE_LOG:
                h = exp64((2.0 - parameter) * raw[i])
            curvatures[i] = h if h > 0.0 else 0.0


@kernel
def _move(z, direction, step, out):
    """Write z + step · direction to ``out``."""
    for i in range(z.shape[0]):
        out[i] = z[i] + step * direction[i]


@kernel
def _weigh(weights, values, slopes, curvatures):
    """Multiply ``slopes`` and ``curvatures`` by the weights, if any; the weighted sum of values."""
    total = 0.0
    if weights.shape[0] == 0:
        for i in range(values.shape[0]):
            total += values[i]
        return total
    for i in range(values.shape[0]):
        if weights[i] == 0.0:  # whatever the loss, infinity included
            slopes[i] = 0.0
            curvatures[i] = 0.0
        else:
            total += weights[i] * values[i]
            slopes[i] *= weights[i]
            curvatures[i] *= weights[i]
    return total


@kernel
def _loss_chunk_at(c, code, parameter, y, weights, z, direction, step, slopes, curvatures):
    """`losses_along` for chunk c: writes ``slopes`` and ``curvatures`` there; the sum of losses."""
    first = c * ROWS
    last = min(first + ROWS, y.shape[0])
    raw, values = np.empty(last - first), np.empty(last - first)
    _move(z[first:last], direction[first:last], step, raw)
    s, h = slopes[first:last], curvatures[first:last]
    _loss_rows(code, parameter, y[first:last], raw, values, s, h)
    return _weigh(weights[first:last], values, s, h)


@parallel_kernel
def losses_along(code, parameter, y, weights, z, direction, step, slopes, curvatures, sums):
    """Weighted losses at z + step · direction: their derivatives by row to ``slopes`` and
    ``curvatures``, their sums by chunk to ``sums``."""
    for c in prange(sums.shape[0]):
        sums[c] = _loss_chunk_at(
            np.intp(c), code, parameter, y, weights, z, direction, step, slopes, curvatures
        )


@kernel
def _huber_chunk(c, width, scale, above, y, weights, raw, slopes, curvatures, extra, sums):
    """`scaled_huber` for chunk c: writes ``slopes``, ``curvatures``, ``extra`` and ``sums``."""
    first = c * ROWS
    loss, slope = 0.0, 0.0
    for i in range(first, min(first + ROWS, y.shape[0])):
        weight = weights[i] if weights.shape[0] > 0 else 1.0
        u = (raw[i] - y[i]) / scale
        value, by_u, curved = huber(0.0, u, width)
        loss += weight * scale * (1.0 + 2.0 * value)
        slope += weight * (1.0 + 2.0 * (value - by_u * u))
        slopes[i] = 2.0 * weight * by_u
        extra[i] = -u * curved
        if above and curved == 0.0:
            curved = by_u / u
        curvatures[i] = 2.0 * weight * curved / scale
    sums[c, HUBER_LOSS] = loss
    sums[c, HUBER_SLOPE] = slope


@parallel_kernel
def scaled_huber(width, scale, above, y, weights, raw, slopes, curvatures, extra, sums):
    """σ + 2 σ huber((r − y) / σ) with its derivatives by r and by the scale σ.

    Writes derivatives by r to ``slopes``, second ones to ``curvatures`` and −(r − y) / σ, or 0
    where the loss is linear, to ``extra``: the second derivatives by (r, σ) are
    curvature · (1, extra)(1, extra)'. With ``above``, curvatures of linear rows are those of the
    parabola that touches the loss from above. Sums of the loss and of its derivative by σ go to
    ``sums`` by chunk.
    """
    for c in prange(sums.shape[0]):
        _huber_chunk(
            np.intp(c), width, scale, above, y, weights, raw, slopes, curvatures, extra, sums
        )
