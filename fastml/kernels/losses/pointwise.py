"""Losses of gradient boosting with their gradients and hessians, and the sizes of these.

``raw`` has one row per tree of an iteration. What a loss is, `definitions` says; here are sums over
rows, in the types that trees are grown from. Where a loss has no curvature that helps (absolute,
pinball, Huber), the hessian is 1.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.losses.definitions import (
    ABSOLUTE,
    BINOMIAL,
    EXPONENTIAL,
    GAMMA,
    HUBER,
    MULTINOMIAL,
    PINBALL,
    POISSON,
    SQUARED,
    absolute,
    exponential,
    gamma,
    huber,
    logistic,
    logistic_slopes,
    pinball,
    poisson,
    squared,
)
from fastml.kernels.numeric.exp import exp64, log64

# Columns of the statistics.
MOST_GRADIENT, ALL_GRADIENT, MOST_HESSIAN, ALL_HESSIAN = 0, 1, 2, 3
N_STATISTICS = 4

ROWS = 8192  # of a chunk


@kernel
def element(code, parameter, y, r):
    """Gradient and hessian of one row for all losses but binomial and multinomial; any other code
    means gamma."""
    if code == SQUARED:
        return squared(y, r)[1], 1.0
    if code == ABSOLUTE:
        return absolute(y, r)[1], 1.0
    if code == PINBALL:
        return pinball(y, r, parameter)[1], 1.0
    if code == HUBER:
        return huber(y, r, parameter)[1], 1.0
    if code == POISSON:
        return poisson(y, r)[1:]
    if code == EXPONENTIAL:
        return exponential(y, r)[1:]
    return gamma(y, r)[1:]


@kernel
def _element_loss(code, parameter, y, r):
    """Loss of one row for all losses but multinomial; any other code means binomial."""
    if code == SQUARED:
        return squared(y, r)[0]
    if code == ABSOLUTE:
        return absolute(y, r)[0]
    if code == PINBALL:
        return pinball(y, r, parameter)[0]
    if code == HUBER:
        return huber(y, r, parameter)[0]
    if code == POISSON:
        return poisson(y, r)[0]
    if code == GAMMA:
        return gamma(y, r)[0]
    if code == EXPONENTIAL:
        return exponential(y, r)[0]
    return logistic(y, r)[0]


@kernel
def _binomial_rows(first, last, y, raw, gradients, hessians):
    """Write the gradients and hessians of rows first..last."""
    for i in range(first, last):
        g, h = logistic_slopes(y[i], raw[0, i])
        gradients[0, i] = np.float32(g)
        hessians[0, i] = np.float32(h)


@kernel
def _multinomial_row(i, y, raw, gradients, hessians):
    """Write the gradients and hessians of row i, from the softmax of its raw predictions."""
    most = raw[0, i]
    for k in range(1, raw.shape[0]):
        if raw[k, i] > most:
            most = raw[k, i]
    total = 0.0
    for k in range(raw.shape[0]):
        e = exp64(raw[k, i] - most)
        gradients[k, i] = np.float32(e)
        total += e
    right = np.intp(y[i])
    for k in range(raw.shape[0]):
        p = gradients[k, i] / total
        gradients[k, i] = np.float32(p - (1.0 if k == right else 0.0))
        hessians[k, i] = np.float32(p * (1.0 - p))


@kernel(fast_math=True)
def _sizes(values, k, first, last, statistics, chunk, column):
    """Write the largest and the sum of the absolute values of a chunk to two columns of its
    statistics."""
    most, total = np.float32(0.0), 0.0
    for i in range(first, last):
        size = abs(values[k, i])
        if size > most:
            most = size
        total += size
    statistics[chunk, k, column] = most
    statistics[chunk, k, column + 1] = total


@kernel
def _finish_chunk(chunk, first, last, weights, gradients, hessians, statistics):
    """Multiply gradients and hessians by the weights, if there are any, and write their sizes to
    ``statistics``."""
    for k in range(gradients.shape[0]):
        if weights.shape[0] > 0:
            for i in range(first, last):
                gradients[k, i] *= np.float32(weights[i])
                hessians[k, i] *= np.float32(weights[i])
        _sizes(gradients, k, first, last, statistics, chunk, np.intp(MOST_GRADIENT))
        _sizes(hessians, k, first, last, statistics, chunk, np.intp(MOST_HESSIAN))


@kernel
def _gradient_chunk(chunk, code, parameter, y, raw, weights, gradients, hessians, statistics):
    """`loss_gradients` for one chunk of rows."""
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    if code == BINOMIAL:
        _binomial_rows(first, last, y, raw, gradients, hessians)
    else:
        for i in range(first, last):
            g, h = element(code, parameter, y[i], raw[0, i])
            gradients[0, i] = np.float32(g)
            hessians[0, i] = np.float32(h)
    _finish_chunk(chunk, first, last, weights, gradients, hessians, statistics)


@parallel_kernel
def loss_gradients(n_chunks, code, parameter, y, raw, weights, gradients, hessians, statistics):
    """Write gradients and hessians (1 x rows) and their statistics (chunks x 1 x 4) of any loss but
    the multinomial; no weights are an empty array."""
    for c in prange(n_chunks):
        _gradient_chunk(
            np.intp(c), code, parameter, y, raw, weights, gradients, hessians, statistics
        )


@kernel
def _multinomial_chunk(chunk, y, raw, weights, gradients, hessians, statistics):
    """`multinomial_gradients` for one chunk of rows."""
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    for i in range(first, last):
        _multinomial_row(i, y, raw, gradients, hessians)
    _finish_chunk(chunk, first, last, weights, gradients, hessians, statistics)


@parallel_kernel
def multinomial_gradients(n_chunks, y, raw, weights, gradients, hessians, statistics):
    """As `loss_gradients`, trees x rows; apart, so that it is compiled only where it is needed."""
    for c in prange(n_chunks):
        _multinomial_chunk(np.intp(c), y, raw, weights, gradients, hessians, statistics)


@kernel
def _multinomial_loss(i, y, raw):
    """Multinomial loss of row i."""
    most = raw[0, i]
    for k in range(1, raw.shape[0]):
        if raw[k, i] > most:
            most = raw[k, i]
    total = 0.0
    for k in range(raw.shape[0]):
        total += exp64(raw[k, i] - most)
    return log64(total) + most - raw[np.intp(y[i]), i]


@kernel
def _loss_chunk(chunk, code, parameter, y, raw, weights, sums):
    """`loss_sums` for one chunk of rows."""
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    total = 0.0
    for i in range(first, last):
        if code == MULTINOMIAL:
            loss = _multinomial_loss(i, y, raw)
        else:
            loss = _element_loss(code, parameter, y[i], raw[0, i])
        total += loss * weights[i] if weights.shape[0] > 0 else loss
    sums[chunk] = total


@parallel_kernel
def loss_sums(n_chunks, code, parameter, y, raw, weights, sums):
    """Write the weighted sum of the losses of every chunk of rows to ``sums``; no weights are an
    empty array."""
    for c in prange(n_chunks):
        _loss_chunk(np.intp(c), code, parameter, y, raw, weights, sums)


# Losses of the user: a compiled function(y, raw) of one row that returns its gradient and hessian,
# and perhaps its loss as a third value.


@kernel
def user_gradients(function, y, raw, weights, gradients, hessians, statistics):
    """As `loss_gradients` for a function of the user; writes ``gradients``, ``hessians`` and
    ``statistics``, all rows being one chunk."""
    weighted = weights.shape[0] > 0
    for i in range(y.shape[0]):
        found = function(y[i], raw[0, i])
        weight = weights[i] if weighted else 1.0
        gradients[0, i] = np.float32(found[0] * weight)
        hessians[0, i] = np.float32(found[1] * weight)
    _sizes(gradients, 0, 0, y.shape[0], statistics, 0, MOST_GRADIENT)
    _sizes(hessians, 0, 0, y.shape[0], statistics, 0, MOST_HESSIAN)


@kernel
def user_slope(function, constant, y, weights):
    """Weighted sum of the gradients of all rows where every raw prediction is this constant."""
    total = 0.0
    for i in range(y.shape[0]):
        found = function(y[i], constant)
        total += found[0] * weights[i] if weights.shape[0] > 0 else found[0]
    return total


@kernel
def user_loss_sum(function, y, raw, weights):
    """Weighted sum of the third values."""
    total = 0.0
    for i in range(y.shape[0]):
        found = function(y[i], raw[0, i])
        total += found[2] * weights[i] if weights.shape[0] > 0 else found[2]
    return total


@kernel
def user_loss_rise(function, origins, y, raw, weights, places, shares):
    """Weighted sum of what the losses at ``raw`` are above those at ``origins``: integrals of the
    gradients by a rule of quadrature on [0, 1]."""
    total = 0.0
    for i in range(y.shape[0]):
        way = raw[0, i] - origins[i]
        mean = 0.0
        for k in range(places.shape[0]):
            found = function(y[i], origins[i] + places[k] * way)
            mean += shares[k] * found[0]
        total += mean * way * weights[i] if weights.shape[0] > 0 else mean * way
    return total


@kernel
def sample_loss(y, raw):
    """Squared error without the half (for warm-up and tests)."""
    return 2.0 * (raw - y), 1.0


@kernel
def sample_loss_and_value(y, raw):
    """The same with the loss itself."""
    return 2.0 * (raw - y), 1.0, (raw - y) ** 2


# The cache would take two functions of the user for one if they have the same name.
for each in (user_gradients, user_slope, user_loss_sum, user_loss_rise):
    if hasattr(each, "_cache"):
        each._cache.disable()
