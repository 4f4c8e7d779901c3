"""Gradients and hessians of the losses of gradient boosting, and what their sizes are.

``raw`` has one row per tree of an iteration. Losses, with r = raw prediction:
squared (y - r)^2 / 2, absolute |y - r|, pinball, Huber, Poisson exp(r) - y r, gamma r + y exp(-r),
binomial log(1 + exp(r)) - y r, multinomial log sum_k exp(r_k) - r_y, exponential exp(-r) for y = 1
and exp(r) for y = 0.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.exp import exp64, log64

SQUARED, ABSOLUTE, PINBALL, HUBER, POISSON, GAMMA, BINOMIAL, MULTINOMIAL = 0, 1, 2, 3, 4, 5, 6, 7
EXPONENTIAL = 8

# Columns of the statistics.
MOST_GRADIENT, ALL_GRADIENT, MOST_HESSIAN, ALL_HESSIAN = 0, 1, 2, 3
N_STATISTICS = 4

ROWS = 8192  # of a chunk


@kernel
def element(code, parameter, y, r):
    """Gradient and hessian of one row, all but binomial and multinomial; gamma comes last."""
    if code == SQUARED:
        return r - y, 1.0
    if code == ABSOLUTE:
        return (1.0 if r > y else -1.0), 1.0
    if code == PINBALL:
        return (1.0 - parameter if r > y else -parameter), 1.0
    if code == HUBER:
        g = r - y
        if g > parameter:
            g = parameter
        if g < -parameter:
            g = -parameter
        return g, 1.0
    if code == POISSON:
        e = exp64(r)
        return e - y, e
    if code == EXPONENTIAL:
        e = exp64(r if y == 0.0 else -r)
        return (e if y == 0.0 else -e), e
    e = y * exp64(-r)
    return 1.0 - e, e


@kernel
def element_loss(code, parameter, y, r):
    d = y - r
    if code == SQUARED:
        return 0.5 * d * d
    if code == ABSOLUTE:
        return abs(d)
    if code == PINBALL:
        return parameter * d if d >= 0.0 else (parameter - 1.0) * d
    if code == HUBER:
        if abs(d) <= parameter:
            return 0.5 * d * d
        return parameter * (abs(d) - 0.5 * parameter)
    if code == POISSON:
        return exp64(r) - y * r
    if code == GAMMA:
        return r + y * exp64(-r)
    if code == EXPONENTIAL:
        return exp64(r if y == 0.0 else -r)
    if r > 0.0:
        return r + log64(1.0 + exp64(-r)) - y * r
    return log64(1.0 + exp64(r)) - y * r


@kernel
def binomial_rows(first, last, y, raw, gradients, hessians):
    for i in range(first, last):
        p = 1.0 / (1.0 + exp64(-raw[0, i]))
        gradients[0, i] = np.float32(p - y[i])
        hessians[0, i] = np.float32(p * (1.0 - p))


@kernel
def multinomial_row(i, y, raw, gradients, hessians):
    """Softmax of one row into its gradients and hessians."""
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
def sizes(values, k, first, last, statistics, chunk, column):
    """Largest and sum of the absolute values of a chunk."""
    most, total = np.float32(0.0), 0.0
    for i in range(first, last):
        size = abs(values[k, i])
        if size > most:
            most = size
        total += size
    statistics[chunk, k, column] = most
    statistics[chunk, k, column + 1] = total


@kernel
def finish_chunk(chunk, first, last, weights, gradients, hessians, statistics):
    """Apply the weights and note the sizes."""
    for k in range(gradients.shape[0]):
        if weights.shape[0] > 0:
            for i in range(first, last):
                gradients[k, i] *= np.float32(weights[i])
                hessians[k, i] *= np.float32(weights[i])
        sizes(gradients, k, first, last, statistics, chunk, np.intp(MOST_GRADIENT))
        sizes(hessians, k, first, last, statistics, chunk, np.intp(MOST_HESSIAN))


@kernel
def gradient_chunk(chunk, code, parameter, y, raw, weights, gradients, hessians, statistics):
    """Gradients, hessians and their sizes for one chunk of rows, where there is one tree."""
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    if code == BINOMIAL:
        binomial_rows(first, last, y, raw, gradients, hessians)
    else:
        for i in range(first, last):
            g, h = element(code, parameter, y[i], raw[0, i])
            gradients[0, i] = np.float32(g)
            hessians[0, i] = np.float32(h)
    finish_chunk(chunk, first, last, weights, gradients, hessians, statistics)


@parallel_kernel
def loss_gradients(n_chunks, code, parameter, y, raw, weights, gradients, hessians, statistics):
    """Fill gradients and hessians (trees x rows) and statistics (chunks x trees x 4)."""
    for c in prange(n_chunks):
        gradient_chunk(
            np.intp(c), code, parameter, y, raw, weights, gradients, hessians, statistics
        )


@kernel
def multinomial_chunk(chunk, y, raw, weights, gradients, hessians, statistics):
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    for i in range(first, last):
        multinomial_row(i, y, raw, gradients, hessians)
    finish_chunk(chunk, first, last, weights, gradients, hessians, statistics)


@parallel_kernel
def multinomial_gradients(n_chunks, y, raw, weights, gradients, hessians, statistics):
    """As `loss_gradients`; apart, so that only those who need it compile it."""
    for c in prange(n_chunks):
        multinomial_chunk(np.intp(c), y, raw, weights, gradients, hessians, statistics)


@kernel
def multinomial_loss(i, y, raw):
    most = raw[0, i]
    for k in range(1, raw.shape[0]):
        if raw[k, i] > most:
            most = raw[k, i]
    total = 0.0
    for k in range(raw.shape[0]):
        total += exp64(raw[k, i] - most)
    return log64(total) + most - raw[np.intp(y[i]), i]


@kernel
def loss_chunk(chunk, code, parameter, y, raw, weights, sums):
    """sums[chunk] = weighted sum of the losses of one chunk of rows."""
    first = chunk * ROWS
    last = min(y.shape[0], first + ROWS)
    total = 0.0
    for i in range(first, last):
        if code == MULTINOMIAL:
            loss = multinomial_loss(i, y, raw)
        else:
            loss = element_loss(code, parameter, y[i], raw[0, i])
        total += loss * weights[i] if weights.shape[0] > 0 else loss
    sums[chunk] = total


@parallel_kernel
def loss_sums(n_chunks, code, parameter, y, raw, weights, sums):
    for c in prange(n_chunks):
        loss_chunk(np.intp(c), code, parameter, y, raw, weights, sums)


@kernel
def user_gradients(function, y, raw, weights, gradients, hessians, statistics):
    """The same for a compiled function of the user, (y, raw) -> (gradient, hessian) of one row."""
    weighted = weights.shape[0] > 0
    for i in range(y.shape[0]):
        g, h = function(y[i], raw[0, i])
        weight = weights[i] if weighted else 1.0
        gradients[0, i] = np.float32(g * weight)
        hessians[0, i] = np.float32(h * weight)
    sizes(gradients, 0, 0, y.shape[0], statistics, 0, MOST_GRADIENT)
    sizes(hessians, 0, 0, y.shape[0], statistics, 0, MOST_HESSIAN)


@kernel
def sample_loss(y, raw):
    """Squared error without the half (for warm-up and tests)."""
    return 2.0 * (raw - y), 1.0


# Two functions of one name would look alike to the cache.
if hasattr(user_gradients, "_cache"):
    user_gradients._cache.disable()
