"""Sums over support vectors for new rows."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from fastml._engines.gram.sources import (
    Kernel,
    by_dots,
    dot_kernel,
    normed_rows,
    single_precision_will_do,
)
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.svm.support_sums import QUERIES, kernel_sums

VALUES_PER_CALL = 2**27
"""Kernel values between returns to Python: below two seconds."""


MANY_VALUES = 2**23
"""From so many kernel values on, single precision is taken where it will do."""


def support_sums(
    kernel: Kernel, X, support, vectors, coefficients, starts, n_jobs, tol=0.0
) -> np.ndarray:
    """S[i, b, o] = Σ_j coefficients[o, j] K(x_i, v_j) over j in starts[b]..starts[b + 1].

    Right to a tenth of ``tol``, which the coefficients are no better than.
    """
    coefficients = kernel_view(coefficients, np.float64)
    n, n_blocks = X.shape[0], starts.size - 1
    if kernel.name == "precomputed":
        return _by_matrix(X[:, support], coefficients, starts)
    if not by_dots(X, kernel):
        out = np.empty((n, n_blocks, coefficients.shape[0]))
        step = max(16, 2**22 // max(1, support.size))
        for start in range(0, n, step):
            part = slice(start, start + step)
            if support.size:
                K = kernel.matrix(X[part], vectors, n_jobs)
            else:
                K = np.empty((X[part].shape[0], 0))
            out[part] = _by_matrix(K, coefficients, starts)
        return out
    out = np.empty((n, n_blocks, coefficients.shape[0]))
    per_query = max(1.0, support.size * (8.0 + X.shape[1] / 4 + coefficients.shape[0]))
    n_threads = effective_n_threads(n_jobs, work=n * per_query)
    dtype: np.dtype = np.dtype(np.float64)
    if float(n) * support.size >= MANY_VALUES:
        size = float(np.sqrt((coefficients**2).sum(axis=1).max() / support.size))
        if single_precision_will_do(vectors, kernel, size, support.size, tol):
            dtype = np.dtype(np.float32)
            centre = vectors.mean(axis=0)  # distances stay, norms become small
            X, vectors = X - centre, vectors - centre
    given = (
        dot_kernel(kernel, dtype),
        normed_rows(kernel.name, kernel_view(X, dtype)),
        normed_rows(kernel.name, kernel_view(vectors, dtype)),
        coefficients,
        kernel_view(starts, np.intp),
        out,
    )
    n_tiles = -(-n // QUERIES)
    per_call = max(1, int(VALUES_PER_CALL // max(1, QUERIES * support.size)))
    with single_threaded_blas():
        for first in range(0, n_tiles, per_call):
            last = min(first + per_call, n_tiles)
            kernel_sums(first, last, *given, n_threads=n_threads)
    return out


def _by_matrix(K, coefficients, starts) -> np.ndarray:
    if issparse(K):
        K = K.toarray()
    out = np.empty((K.shape[0], starts.size - 1, coefficients.shape[0]))
    with single_threaded_blas():
        for block in range(starts.size - 1):
            own = slice(starts[block], starts[block + 1])
            out[:, block] = K[:, own] @ coefficients[:, own].T
    return out
