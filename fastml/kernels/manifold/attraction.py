"""Attraction of t-SNE: sums over the stored affinities of each row.

    A_i = Σ_j p_ij u_ij (y_i - y_j),   u_ij = 1 / (1 + |y_i - y_j|² / ν)

Affinities and positions are float32 here: the sums wait for memory.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import log64


@kernel(fast_math=True)
def _attract_plane(start, stop, graph, Y, inverse_nu, out):
    """`attract` in two dimensions for rows start..stop, into ``out``."""
    for i in range(start, stop):
        x, y = Y[i, 0], Y[i, 1]
        ax, ay = np.float32(0.0), np.float32(0.0)
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        shares = graph.data[graph.indptr[i] : graph.indptr[i + 1]]
        for p in range(near.shape[0]):
            j = near[p]
            dx = x - Y[j, 0]
            dy = y - Y[j, 1]
            pull = shares[p] / (np.float32(1.0) + (dx * dx + dy * dy) * inverse_nu)
            ax += pull * dx
            ay += pull * dy
        out[i, 0], out[i, 1] = ax, ay


@kernel
def _attract_any(start, stop, graph, Y, inverse_nu, out):
    """`attract` in any number of dimensions for rows start..stop, into ``out``."""
    d = Y.shape[1]
    for i in range(start, stop):
        for f in range(d):
            out[i, f] = 0.0
        for p in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[p]
            square = np.float32(0.0)
            for f in range(d):
                gap = Y[i, f] - Y[j, f]
                square += gap * gap
            pull = graph.data[p] / (np.float32(1.0) + square * inverse_nu)
            for f in range(d):
                out[i, f] += pull * (Y[i, f] - Y[j, f])


@parallel_kernel
def attract(graph, Y, inverse_nu, rows_per_chunk, out):
    """Write the attraction of every row to ``out``. ``graph`` is a `Csr` of float32 affinities."""
    n = Y.shape[0]
    n_chunks = -(-n // rows_per_chunk)
    for c in prange(n_chunks):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        if Y.shape[1] == 2:
            _attract_plane(start, stop, graph, Y, inverse_nu, out)
        else:
            _attract_any(start, stop, graph, Y, inverse_nu, out)


@kernel(fast_math=True)
def _log_kernel_plane(near, shares, x, y, Y, inverse_nu):
    """Σ_j p_j log(1 + |(x, y) - y_j|² / ν) over the neighbours of one row."""
    total = 0.0
    for p in range(near.shape[0]):
        j = near[p]
        dx = x - Y[j, 0]
        dy = y - Y[j, 1]
        total += shares[p] * log64(1.0 + np.float64(dx * dx + dy * dy) * inverse_nu)
    return total


@kernel
def _log_kernel_any(near, shares, i, Y, inverse_nu):
    """The same of row i in any number of dimensions."""
    total = 0.0
    for p in range(near.shape[0]):
        square = 0.0
        for f in range(Y.shape[1]):
            gap = np.float64(Y[i, f]) - np.float64(Y[near[p], f])
            square += gap * gap
        total += shares[p] * log64(1.0 + square * inverse_nu)
    return total


@kernel
def _log_kernel_chunk(start, stop, graph, Y, nu):
    """Σ p_ij log(1 + |y_i - y_j|² / ν) of rows start..stop."""
    total = 0.0
    for i in range(start, stop):
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        shares = graph.data[graph.indptr[i] : graph.indptr[i + 1]]
        if Y.shape[1] == 2:
            total += _log_kernel_plane(near, shares, Y[i, 0], Y[i, 1], Y, 1.0 / nu)
        else:
            total += _log_kernel_any(near, shares, i, Y, 1.0 / nu)
    return total


@parallel_kernel
def log_kernel(graph, Y, nu, rows_per_chunk, partial):
    """Write Σ p_ij log(1 + |y_i - y_j|² / ν) of each chunk of rows to ``partial``."""
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _log_kernel_chunk(start, stop, graph, Y, nu)
