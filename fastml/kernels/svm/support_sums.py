"""Sums of kernel values over support vectors: what decision functions are made of.

Tiles of queries by support vectors: one-threaded GEMM, the kernel, then products with all
coefficients while the tile is in the cache. Callers limit BLAS to one thread.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.svm.rows import finish_row

QUERIES = 128
SUPPORTS = 512


@kernel(fast_math=True)
def _dot(x, y):
    """x · y."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@kernel
def _query_block(i0, i1, dot_kernel, queries, supports, coefficients, starts, out):
    """`kernel_sums` for the queries i0..i1."""
    Q, q_norms = queries
    S, s_norms = supports
    x = np.empty((i1 - i0, Q.shape[1]), Q.dtype)
    for i in range(i0, i1):
        for k in range(Q.shape[1]):
            x[i - i0, k] = Q[i, k]
        for block in range(out.shape[1]):
            for o in range(out.shape[2]):
                out[i, block, o] = 0.0
    for block in range(out.shape[1]):
        for j0 in range(starts[block], starts[block + 1], SUPPORTS):
            j1 = min(j0 + SUPPORTS, starts[block + 1])
            y = np.empty((j1 - j0, Q.shape[1]), Q.dtype)
            for j in range(j0, j1):
                for k in range(Q.shape[1]):
                    y[j - j0, k] = S[j, k]
            dots = np.empty((i1 - i0, j1 - j0), Q.dtype)
            np.dot(x, y.T, dots)
            values = np.empty(j1 - j0, Q.dtype)  # in the place of dots, LLVM would not vectorise
            for i in range(i0, i1):
                finish_row(dot_kernel, dots[i - i0], q_norms[i], s_norms[j0:j1], values)
                for o in range(out.shape[2]):
                    out[i, block, o] += _dot(values, coefficients[o, j0:j1])


@parallel_kernel
def kernel_sums(first, last, dot_kernel, queries, supports, coefficients, starts, out):
    """Write Σ_j coefficients[o, j] K(q_i, s_j) over j in starts[b]..starts[b + 1] to out[i, b, o].

    For the blocks first..last of QUERIES rows q of ``queries``; both matrices are `NormedRows`.
    """
    for c in prange(last - first):
        i0 = (first + np.intp(c)) * QUERIES
        i1 = min(i0 + QUERIES, queries.X.shape[0])
        _query_block(i0, i1, dot_kernel, queries, supports, coefficients, starts, out)
