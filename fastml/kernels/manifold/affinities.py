"""Conditional affinities of rows: Gaussian ones of a given perplexity.

    p_j|i = exp(-β_i d_ij²) / Σ_k exp(-β_i d_ik²),   H(p_·|i) = log(perplexity)

β_i is found by bisection on the entropy, which falls as β_i grows.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import exp64

BISECTIONS = 100
ENTROPY_TOLERANCE = 1e-5


@kernel
def _row_affinities(squares, goal, out):
    """Write the affinities of one row to ``out``; return β. ``squares`` are squared distances."""
    k = squares.shape[0]
    least = np.inf
    for j in range(k):
        if squares[j] < least:
            least = squares[j]
    beta, low, high = 1.0, 0.0, np.inf
    for _ in range(BISECTIONS):
        total, weighted = 0.0, 0.0
        for j in range(k):
            gap = squares[j] - least
            out[j] = exp64(-beta * gap)
            total += out[j]
            weighted += out[j] * gap
        entropy = np.log(total) + beta * weighted / total
        if abs(entropy - goal) <= ENTROPY_TOLERANCE:
            break
        if entropy > goal:
            low = beta
            beta = 2.0 * beta if high == np.inf else 0.5 * (beta + high)
        else:
            high = beta
            beta = 0.5 * (beta + low)
    for j in range(k):
        out[j] /= total
    return beta


@kernel
def _affinities_chunk(start, stop, squares, goal, out, betas):
    """`gaussian_affinities` for rows start..stop, into ``out`` and ``betas``."""
    for i in range(start, stop):
        betas[i] = _row_affinities(squares[i], goal, out[i])


@parallel_kernel
def gaussian_affinities(squares, goal, rows_per_chunk, out, betas):
    """Write to row i of ``out`` the affinities of entropy ``goal`` for the squared distances of
    row i, and β_i to ``betas``."""
    n = squares.shape[0]
    n_chunks = -(-n // rows_per_chunk)
    for c in prange(n_chunks):
        start = c * rows_per_chunk
        _affinities_chunk(start, min(n, start + rows_per_chunk), squares, goal, out, betas)
