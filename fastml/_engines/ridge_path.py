"""Kernel ridge regression for several penalties from one decomposition of the kernel matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import AT_ONCE, cholesky_solve
from fastml._threads import interruptible
from fastml.kernels.linalg.band_inverse import inverse_trace

BAND = 64
"""Diagonals on each side of a band matrix."""

COLUMNS_AT_ONCE = 256
"""Columns of the blocks in which a triangle is updated or multiplied."""

FEW_PENALTIES = 10
"""Up to so many penalties of their own decompositions are faster than eigenvectors."""

SMALL = 1000
"""Rows up to which eigenvectors are as fast as a band."""


def by_eigenvectors(K: NDArray, targets: NDArray, alphas: NDArray, total: float):
    """(coefficients for every alpha, mean squared leave-one-out errors): K = Q diag(v) Q'.

    Many rows and few penalties take a Cholesky decomposition each instead: that is faster, and by
    steps between which Python sees Ctrl-C.
    """
    if len(K) > AT_ONCE and len(alphas) <= FEW_PENALTIES:
        return by_cholesky(K, targets, alphas, total)
    values, vectors = interruptible(np.linalg.eigh, K)
    rotated = vectors.T @ targets
    squares = vectors * vectors
    coefficients = np.empty((len(alphas), *targets.shape))
    errors = np.empty((len(alphas), targets.shape[1]))
    for a, alpha in enumerate(alphas):
        inverse = 1.0 / _positive(values + alpha)
        coefficients[a] = vectors @ (inverse[:, None] * rotated)
        residuals = coefficients[a] / (squares @ inverse)[:, None]
        errors[a] = (residuals**2).sum(axis=0) / total
    return coefficients, errors


def by_cholesky(K: NDArray, targets: NDArray, alphas: NDArray, total: float):
    """What `by_eigenvectors` returns, from K + alpha = L L'.

    The inverse of that is L⁻¹' L⁻¹: its diagonal are the squared lengths of the columns of L⁻¹.
    """
    coefficients = np.empty((len(alphas), *targets.shape))
    errors = np.empty((len(alphas), targets.shape[1]))
    shifted = np.empty_like(K)
    inverse = np.zeros_like(K)
    for a, alpha in enumerate(alphas):
        shifted[:] = K
        shifted.flat[:: len(K) + 1] += alpha
        _, coefficients[a], failure = cholesky_solve(shifted, targets)
        if failure:
            _positive(np.zeros(1))
        diagonal = np.zeros(len(K))
        for first in range(0, len(K), COLUMNS_AT_ONCE):
            last = min(first + COLUMNS_AT_ONCE, len(K))
            corner = np.linalg.inv(np.tril(shifted[first:last, first:last]))
            left = shifted[first:last, :first] @ inverse[:first, :first]
            inverse[first:last, :first] = -corner @ left
            inverse[first:last, first:last] = np.tril(corner)
            diagonal[:last] += (inverse[first:last, :last] ** 2).sum(axis=0)
        residuals = coefficients[a] / diagonal[:, None]
        errors[a] = (residuals**2).sum(axis=0) / total
    return coefficients, errors


def _positive(values: NDArray) -> NDArray:
    """A kernel that is not positive may have values below −alpha: refuse, as nothing is minimal."""
    if values.min() <= 0.0:
        raise ValueError(
            "alphas must be larger: the kernel matrix has an eigenvalue below the negative of "
            "the smallest"
        )
    return values


def by_generalised_validation(K: NDArray, targets: NDArray, alphas: NDArray, total: float):
    """(coefficients, n² / total · mean squared residual / (1 − trace of smoother / n)²).

    I − K (K + alpha)⁻¹ = alpha (K + alpha)⁻¹: the residual is alpha c, and the trace that of the
    inverse. Both follow from a band matrix B = Q' K Q.
    """
    n_rows = len(K)
    coefficients = np.empty((len(alphas), *targets.shape))
    errors = np.empty((len(alphas), targets.shape[1]))
    if n_rows <= SMALL:
        values, vectors = np.linalg.eigh(K)
        rotated = vectors.T @ targets
        for a, alpha in enumerate(alphas):
            inverse = 1.0 / _positive(values + alpha)
            coefficients[a] = vectors @ (inverse[:, None] * rotated)
            errors[a] = (coefficients[a] ** 2).sum(axis=0) * (n_rows / inverse.sum()) ** 2 / total
        return coefficients, errors

    from scipy.linalg.lapack import dpbtrf, dpbtrs

    reflectors = reduce_to_band(K)
    band = np.zeros((BAND + 1, n_rows))
    for k in range(BAND + 1):
        band[k, : n_rows - k] = K.diagonal(-k)
    rotated = targets.copy()
    for start, V, T in reflectors:
        rotated[start:] -= V @ (T.T @ (V.T @ rotated[start:]))
    for a, alpha in enumerate(alphas):
        shifted = band.copy()
        shifted[0] += alpha
        factor, failure = dpbtrf(shifted, lower=1)
        if failure:
            _positive(np.zeros(1))
        solved, _ = dpbtrs(factor, rotated, lower=1)
        for start, V, T in reversed(reflectors):
            solved[start:] -= V @ (T @ (V.T @ solved[start:]))
        coefficients[a] = solved
        trace = inverse_trace(np.ascontiguousarray(factor.T), np.zeros((BAND + 1, BAND + 1)))
        errors[a] = (solved**2).sum(axis=0) * (n_rows / trace) ** 2 / total
    return coefficients, errors


def reduce_to_band(A: NDArray) -> list[tuple[int, NDArray, NDArray]]:
    """Overwrite the lower triangle of A by that of B = Q' A Q, of bandwidth `BAND`; return Q.

    Q is a product of blocks I − V T V' of Householder reflections, each of the panel of columns
    below the band; the rest changes by A − W V' − V W' with W = A V T − ½ V T' V' A V T. All of it
    is matrix products (Bischof, Lang and Sun, "A framework for symmetric band reduction", 2000).
    """
    from scipy.linalg.lapack import dgeqrf

    n_rows = len(A)
    reflectors = []
    for first in range(0, n_rows - BAND - 1, BAND):
        start = first + BAND
        panel, tau, _, _ = dgeqrf(A[start:, first:start])
        height = len(panel)
        A[start:, first:start] = np.triu(panel)
        V = np.tril(panel, -1)[:, : len(tau)]
        V[np.arange(len(tau)), np.arange(len(tau))] = 1.0
        V[:, tau == 0.0] = 0.0
        inverse_T = np.triu(V.T @ V, 1)
        inverse_T[np.diag_indices(len(tau))] = 1.0 / np.where(tau == 0.0, 1.0, tau)
        T = np.linalg.inv(inverse_T)
        trailing = A[start:, start:]
        product = _symmetric_product(trailing, V) @ T
        W = product - 0.5 * V @ (T.T @ (V.T @ product))
        left, right = np.hstack([W, V]), np.hstack([V, W])
        for c in range(0, height, COLUMNS_AT_ONCE):
            trailing[c:, c : c + COLUMNS_AT_ONCE] -= left[c:] @ right[c : c + COLUMNS_AT_ONCE].T
        reflectors.append((start, np.ascontiguousarray(V), T))
    return reflectors


def _symmetric_product(lower: NDArray, V: NDArray) -> NDArray:
    """A V for a symmetric A of which the lower triangle is right."""
    product = np.zeros_like(V)
    for c in range(0, len(lower), COLUMNS_AT_ONCE):
        d = min(c + COLUMNS_AT_ONCE, len(lower))
        square = np.tril(lower[c:d, c:d])
        square += np.tril(square, -1).T
        product[c:d] += square @ V[c:d]
        product[d:] += lower[d:, c:d] @ V[c:d]
        product[c:d] += lower[d:, c:d].T @ V[d:]
    return product
