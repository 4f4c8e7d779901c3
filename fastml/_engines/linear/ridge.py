"""Least squares with the penalty alpha \\|w\\|², by scikit-learn's names of solvers.

Tall X: Cholesky on A'A + alpha. Wide X: the dual, (A A' + alpha) c = b and w = A' c. Both fall back
on a singular value decomposition where the matrix is singular to working accuracy.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.least_squares import (
    GRAM_COLUMNS,
    Fit,
    RowsAtHand,
    by_lsqr,
    by_svd,
    lapack_threads,
)
from fastml._engines.linear.moments import Centred

REFINED = 1e-4
"""Reciprocal condition below which a solution is improved by one step on X itself."""

SINGULAR = 1e-14
"""Reciprocal condition below which Cholesky's solution is not used."""


def ridge(X, Y: NDArray, alphas: NDArray, weights, centre: bool) -> Fit:
    """Exact solution for one penalty a target; ``Y`` has one column a target."""
    if X.shape[1] <= X.shape[0]:
        return tall_ridge(RowsAtHand(X, Y, weights, centre), alphas)
    design = CentredDesign(X, weights, centre)
    right, y_means = design.targets(Y)
    matrix = design.outer_gram()
    coef = np.empty((X.shape[1], Y.shape[1]))
    for own, alpha, solved in _by_penalty(matrix, alphas, right, lambda: lapack_threads(X)):
        if solved is None:
            coef[:, own] = by_svd(design, Y[:, own], alphas[own]).coef
            continue
        again, rcond = solved
        coef[:, own] = design.transposed(again.solution)
        if rcond < REFINED:
            left = right[:, own] - design.product(coef[:, own])
            coef[:, own] += design.transposed(again(left - alpha * again.solution))
    return Fit(coef, design.means, y_means)


def tall_ridge(rows, alphas: NDArray) -> Fit:
    """The same of `RowsAtHand`, or of rows in blocks that answer the same calls."""
    centred = Centred.of(rows.moments(), rows.centre, spoiled=True)
    matrix, right = centred.gram, centred.cross
    if not np.isfinite(matrix).all() and not rows.finite():
        return rows.unknown()
    coef = np.empty(right.shape)
    for own, alpha, solved in _by_penalty(matrix, alphas, right, rows.lapack):
        if solved is None:
            coef[:, own] = rows.shrunk(own, alphas[own])
            continue
        again, rcond = solved
        coef[:, own] = again.solution
        if rcond < REFINED:
            left = rows.left(coef, centred, own)
            coef[:, own] += again(left - alpha * coef[:, own])
    return Fit(coef, centred.x_means, centred.y_means)


def _by_penalty(matrix: NDArray, alphas: NDArray, right: NDArray, lapack):
    """(targets of a penalty, the penalty, factor and condition or None) for every penalty."""
    for alpha in np.unique(alphas):
        own = alphas == alpha
        with lapack():
            solved = _positive_definite(matrix, alpha, right[:, own])
        yield own, alpha, solved


class _Factor:
    """Cholesky's factor of a matrix and the first solution."""

    def __init__(self, factor, right):
        self.factor = factor
        self.solution = self(right)

    def __call__(self, right):
        from scipy.linalg import cho_solve

        return cho_solve((self.factor, True), right, check_finite=False)


def _positive_definite(matrix: NDArray, alpha: float, right: NDArray):
    """(factor of matrix + alpha with its solution, reciprocal condition); None if singular."""
    from scipy.linalg.lapack import dpocon, dpotrf

    shifted = matrix.copy()
    shifted.flat[:: len(matrix) + 1] += alpha
    norm = np.abs(shifted).sum(axis=0).max(initial=0.0)
    # Symmetric: the transpose is in Fortran order, and LAPACK need not copy it.
    factor, failure = dpotrf(shifted.T, lower=1, overwrite_a=1)
    if failure or not np.isfinite(norm):
        return None
    rcond, _ = dpocon(factor, norm, uplo="L")
    if not rcond > SINGULAR:
        return None
    return _Factor(factor, right), rcond


def by_conjugate_gradients(design: CentredDesign, Y, alphas, tol, max_iter, verbose=0) -> Fit:
    """Conjugate gradients on A'A + alpha, or on A A' + alpha if that is smaller."""
    from scipy.sparse.linalg import LinearOperator, cg

    targets, y_means = design.targets(Y)
    n, d = design.n_rows, design.n_features
    coef = np.empty((d, targets.shape[1]))
    for t, alpha in enumerate(alphas):
        b = targets[:, t]
        if d > n:

            def product(c, alpha=alpha):
                return design.product(design.transposed(c)) + alpha * c

            right = b
        else:

            def product(w, alpha=alpha):
                return design.transposed(design.product(w)) + alpha * w

            right = design.transposed(b)
        size = min(n, d)
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        found, info = cg(operator, right, rtol=tol, maxiter=max_iter)
        coef[:, t] = design.transposed(found) if d > n else found
        if info < 0:
            raise ValueError(f"Failed with error code {info}")
        if max_iter is None and info > 0 and verbose:
            warnings.warn(f"sparse_cg did not converge after {info} iterations.", stacklevel=4)
    return Fit(coef, design.means, y_means)


def small_enough(X) -> bool:
    """Whether sparse X has few enough rows or columns to be solved exactly."""
    return not sp.issparse(X) or min(X.shape) <= GRAM_COLUMNS


def solve_named(X, Y, alphas, weights, centre, solver, tol, max_iter) -> tuple[Fit, NDArray | None]:
    """(solution, numbers of iterations or None) by one of scikit-learn's names of solvers.

    'sag' and 'saga' get the exact solution.
    """
    if solver == "svd":
        return by_svd(CentredDesign(X, weights, centre), Y, alphas), None
    if solver == "lsqr":
        fit = by_lsqr(CentredDesign(X, weights, centre), Y, tol, alphas, max_iter)
        return fit, fit.singular
    if solver == "sparse_cg" or not small_enough(X):
        design = CentredDesign(X, weights, centre)
        return by_conjugate_gradients(design, Y, alphas, tol, max_iter), None
    fit = ridge(X, Y, alphas, weights, centre)
    iterations = np.ones(Y.shape[1], dtype=np.int32) if solver in ("sag", "saga") else None
    return fit, iterations
