"""Repulsion of t-SNE by all pairs, and of new rows from the rows learned.

w_ij = (1 + |y_i - y_j|² / ν)^(-(ν+1)/2)
R_i = Σ_j w_ij u_ij (y_i - y_j),   z_i = Σ_{j≠i} w_ij
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import exp64, log64

PLANE_BLOCK = 512


@kernel(fast_math=True)
def _plane_row(x, y, Y, out):
    """Σ w u (difference) of the point (x, y) in the plane for ν = 1, into ``out``; return Σ w."""
    rx, ry, z = 0.0, 0.0, 0.0
    for j in range(Y.shape[0]):
        dx = x - Y[j, 0]
        dy = y - Y[j, 1]
        w = 1.0 / (1.0 + dx * dx + dy * dy)
        z += w
        rx += w * w * dx
        ry += w * w * dy
    out[0], out[1] = rx, ry
    return z


@kernel
def _any_row(point, Y, nu, out):
    """The same in any number of dimensions for any ν, into ``out``; return Σ w."""
    n, d = Y.shape
    for f in range(d):
        out[f] = 0.0
    z = 0.0
    power = -0.5 * (nu + 1.0)
    for j in range(n):
        square = 0.0
        for f in range(d):
            gap = point[f] - Y[j, f]
            square += gap * gap
        u = 1.0 / (1.0 + square / nu)
        w = u if nu == 1.0 else exp64(-power * log64(u))
        z += w
        for f in range(d):
            out[f] += w * u * (point[f] - Y[j, f])
    return z


@kernel
def repel_row(point, Y, nu, out):
    """Write Σ_j w u (point - y_j) over all rows of Y to ``out``; return Σ_j w."""
    if Y.shape[1] == 2 and nu == 1.0:
        return _plane_row(point[0], point[1], Y, out)
    return _any_row(point, Y, nu, out)


@kernel
def _repel_chunk(start, stop, Y, nu, out):
    """`repel_pairs` for rows start..stop, into ``out``; return their Σ z_i."""
    total = 0.0
    for i in range(start, stop):
        total += repel_row(Y[i], Y, nu, out[i]) - 1.0
    return total


@parallel_kernel
def repel_pairs(Y, nu, rows_per_chunk, out, partial):
    """Write R_i to ``out`` and the Σ z_i of each chunk of rows to ``partial``."""
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _repel_chunk(start, stop, Y, nu, out)


@kernel(fast_math=True)
def _plane_block(x, y, X, Y):
    """Σ w², times both differences, and Σ w of the point (x, y) against a block, as float32."""
    rx, ry, z = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(X.shape[0]):
        dx = x - X[j]
        dy = y - Y[j]
        w = np.float32(1.0) / (np.float32(1.0) + dx * dx + dy * dy)
        z += w
        rx += w * w * dx
        ry += w * w * dy
    return rx, ry, z


@kernel
def _repel_plane_chunk(start, stop, X, Y, out):
    """`repel_plane` for rows start..stop, into ``out``; return their Σ z_i."""
    total = 0.0
    n = X.shape[0]
    for i in range(start, stop):
        rx, ry, z = 0.0, 0.0, -1.0
        for begin in range(0, n, PLANE_BLOCK):
            end = min(n, begin + PLANE_BLOCK)
            bx, by, bz = _plane_block(X[i], Y[i], X[begin:end], Y[begin:end])
            rx += bx
            ry += by
            z += bz
        out[i, 0], out[i, 1] = rx, ry
        total += z
    return total


@parallel_kernel
def repel_plane(X, Y, rows_per_chunk, out, partial):
    """`repel_pairs` in the plane for ν = 1, for coordinates X and Y of float32: six times as fast.

    Sums of float64 are taken over blocks of rows, within which they are of float32.
    """
    n = X.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _repel_plane_chunk(start, stop, X, Y, out)
