"""One stage of gradient boosting with exact trees: residuals, line search in the leaves, update.

``raw`` has one row per tree of a stage. Residuals are negative gradients in float64, so that trees
are fitted to the same values as scikit-learn's.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.losses.pointwise import BINOMIAL, EXPONENTIAL, MULTINOMIAL, ROWS, element
from fastml.kernels.numeric.exp import exp64


@kernel
def binomial_residual(y, r):
    """y - 1 / (1 + exp(-r)), without cancellation."""
    if r < -37.0:
        return y - exp64(r)
    e = exp64(-r)
    return (y * e - (1.0 - y)) / (1.0 + e)


@kernel
def multinomial_residuals(i, y, raw, residuals):
    """Write the class indicators minus the softmax of row i to residuals[:, i]."""
    most = raw[0, i]
    for k in range(1, raw.shape[0]):
        if raw[k, i] > most:
            most = raw[k, i]
    total = 0.0
    for k in range(raw.shape[0]):
        residuals[k, i] = exp64(raw[k, i] - most)
        total += residuals[k, i]
    right = np.intp(y[i])
    for k in range(raw.shape[0]):
        residuals[k, i] = (1.0 if k == right else 0.0) - residuals[k, i] / total


@kernel
def _residual_chunk(c, code, parameter, y, raw, residuals):
    """`loss_residuals` for chunk c of the rows."""
    for i in range(c * ROWS, min(c * ROWS + ROWS, y.shape[0])):
        if code == MULTINOMIAL:
            multinomial_residuals(i, y, raw, residuals)
        elif code == BINOMIAL:
            residuals[0, i] = binomial_residual(y[i], raw[0, i])
        else:
            residuals[0, i] = -element(code, parameter, y[i], raw[0, i])[0]


@parallel_kernel
def loss_residuals(n_chunks, code, parameter, y, raw, residuals):
    """Write the negative gradients of the loss to ``residuals``, trees x rows."""
    for c in prange(n_chunks):
        _residual_chunk(np.intp(c), code, parameter, y, raw, residuals)


@kernel
def newton_sums(code, k, y, residuals, weights, leaves, sums):
    """sums[leaf] += (weights, residuals, second derivatives) of the leaf's rows, weighted.

    The second derivative follows from the residual: p (1 - p) with p = y - residual, or its size
    for the exponential loss. Rows of weight zero do not count; ``weights`` may be None.
    """
    for i in range(leaves.shape[0]):
        w = 1.0
        if weights is not None:
            w = weights[i]
            if w == 0.0:
                continue
        g = residuals[i]
        curvature = abs(g)
        if code != EXPONENTIAL:
            target = y[i]
            if code == MULTINOMIAL:
                target = 1.0 if target == k else 0.0
            p = target - g
            curvature = p * (1.0 - p)
        leaf = np.uint64(leaves[i])
        sums[leaf, 0] += w
        sums[leaf, 1] += w * g
        sums[leaf, 2] += w * curvature


@kernel
def _add_chunk(c, rate, values, leaves, raw):
    """`add_leaf_values` for chunk c of the rows."""
    for i in range(c * ROWS, min(c * ROWS + ROWS, raw.shape[0])):
        raw[i] += rate * values[np.uint64(leaves[i])]


@parallel_kernel
def add_leaf_values(n_chunks, rate, values, leaves, raw):
    """raw[i] += rate * value of row i's leaf."""
    for c in prange(n_chunks):
        _add_chunk(np.intp(c), rate, values, leaves, raw)


@kernel
def draw_mask(uniform, n_inside, mask):
    """Mark ``n_inside`` rows in ``mask`` by one uniform number each (selection sampling, Knuth
    3.4.2 S)."""
    n, chosen = uniform.shape[0], 0
    for i in range(n):
        inside = uniform[i] * (n - i) < n_inside - chosen
        mask[i] = inside
        chosen += inside
