"""Least squares: Cholesky on the Gram matrix where that is accurate, QR and SVD behind it.

The Gram matrix squares the condition of X. Its eigenvalues say how much that costs: above
`ACCURATE` of the largest, one step of refinement on X itself brings the answer to full accuracy;
below `NOTHING` a direction has no values at all; between the two an orthogonal decomposition
decides. Rows are read in blocks throughout.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.moments import MANY_VALUES, Centred, Moments, careful_moments
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._threads import single_threaded_blas

ACCURATE, NOTHING = 1e-8, 1e-13
"""Eigenvalues of a Gram matrix, over the largest: trusted above the first, zero below the other."""

WELL_CONDITIONED = 1e-3
"""Eigenvalue over the largest from which Cholesky needs no refinement."""

FEW_VALUES = 1 << 14
"""Values of X up to which a centred copy and its SVD are the fastest."""

FEW_FOR_LAPACK = range(64, 513)
"""Columns of a Gram matrix that LAPACK decomposes on one thread nearly as fast as on all."""

GRAM_COLUMNS = 3_000
"""Columns up to which sparse X gets a Gram matrix."""


class Fit(NamedTuple):
    """Weights (features, targets), the means that make the intercept, and what was seen of X."""

    coef: NDArray
    x_means: NDArray
    y_means: NDArray
    rank: int | None = None
    singular: NDArray | None = None


def least_squares(X, Y: NDArray, weights, centre: bool, tol: float) -> Fit:
    """The least-squares solution of smallest norm; singular values below tol · largest count as 0.

    Sparse X with many columns is solved by LSQR to a relative accuracy of ``tol``.
    """
    n, d = X.shape
    if sp.issparse(X):
        if d > GRAM_COLUMNS or d > n:
            return by_lsqr(CentredDesign(X, weights, centre), Y, tol)
    elif X.size <= FEW_VALUES:
        return by_decomposition(CentredDesign(X, weights, centre), Y, tol)
    if d > n:
        return _wide(CentredDesign(X, weights, centre), Y, tol)
    with lapack_threads(X):
        return tall(RowsAtHand(X, Y, weights, centre), tol)


class RowsAtHand:
    """What solvers for tall data ask of X and Y, which are in memory."""

    def __init__(self, X, Y: NDArray, weights, centre: bool):
        self.X, self.Y, self.weights, self.centre = X, Y, weights, centre

    def moments(self) -> Moments:
        return careful_moments(self.X, self.Y, self.weights, self.centre)

    def finite(self) -> bool:
        return all_finite(self.X)

    def unknown(self) -> Fit:
        return unknown(self.X, self.Y)

    def left(self, coef: NDArray, centred: Centred, own=slice(None)) -> NDArray:
        """A'(b − A w) for every target, or those ``own``."""
        some = centred._replace(y_means=centred.y_means[own])
        return pulls(self.X, self.Y[:, own], self.weights, self.centre, some, coef[:, own])

    def decomposed(self, tol: float) -> Fit:
        return by_decomposition(CentredDesign(self.X, self.weights, self.centre), self.Y, tol)

    def shrunk(self, own, alphas: NDArray) -> NDArray:
        """Weights of the targets ``own`` under penalties too small for Cholesky."""
        design = CentredDesign(self.X, self.weights, self.centre)
        return by_svd(design, self.Y[:, own], alphas).coef

    def lapack(self):
        return lapack_threads(self.X)


def all_finite(X) -> bool:
    return bool(np.isfinite(X.data if sp.issparse(X) else X).all())


def unknown(X, Y) -> Fit:
    """NaN for all weights: X has values that are not numbers."""
    d, k = X.shape[1], Y.shape[1]
    return Fit(np.full((d, k), np.nan), np.full(d, np.nan), np.full(k, np.nan))


def lapack_threads(X):
    """One thread for LAPACK on a Gram matrix that is neither tiny nor large.

    Its idle threads spin for milliseconds after that and would hold up our passes over X.
    """
    if X.shape[1] in FEW_FOR_LAPACK and X.size > MANY_VALUES and not sp.issparse(X):
        return single_threaded_blas()
    return contextlib.nullcontext()


def tall(rows, tol: float) -> Fit:
    """By the Gram matrix of `RowsAtHand`, or of rows in blocks that answer the same calls."""
    centred = Centred.of(rows.moments(), rows.centre)
    gram = centred.gram
    if not np.isfinite(gram).all():
        if not rows.finite():
            return rows.unknown()
        return rows.decomposed(tol)  # too large to square
    values = np.linalg.eigvalsh(gram)
    largest = max(values[-1], 0.0)
    if _uncertain(values, largest, tol):
        return rows.decomposed(tol)
    singular = np.sqrt(np.maximum(values, 0.0))[::-1].copy()
    rank = int((values > max(tol * tol, NOTHING) * largest).sum())
    if rank < len(gram):
        coef = _minimum_norm(gram, centred.cross, rank)
    else:
        coef = _cholesky(gram, centred.cross)
    smallest = values[len(values) - rank] if rank else 0.0
    if smallest < WELL_CONDITIONED * largest:
        left = rows.left(coef, centred)
        if rank < len(gram):
            coef = coef + _minimum_norm(gram, left, rank)
        else:
            coef = coef + _cholesky(gram, left)
    return Fit(coef, centred.x_means, centred.y_means, rank, singular)


def pulls(X, Y, weights, centre: bool, centred: Centred, coef: NDArray) -> NDArray:
    """A'(b − A w): what is left to be explained, along the columns."""
    if sp.issparse(X) or Y.shape[1] > 1 or X.size <= MANY_VALUES:
        design = CentredDesign(X, weights, centre, centred.x_means)
        return design.transposed(design.targets(Y)[0] - design.product(coef))
    rows = SmoothDesign(X)
    level = centred.y_means - centred.x_means @ coef
    left = Y[:, 0] - rows.products(np.append(coef[:, 0], level))
    sums = rows.slopes(left if weights is None else weights * left)
    return (sums[:-1] - centred.x_means * sums[-1])[:, None]


def _uncertain(values: NDArray, largest: float, tol: float) -> bool:
    between = (values > NOTHING * largest) & (values < ACCURATE * largest)
    return bool(between.any() or (tol < 1e-6 and (values < ACCURATE * largest).any()))


def _cholesky(gram: NDArray, right: NDArray) -> NDArray:
    from scipy.linalg import cho_factor, cho_solve

    return cho_solve(cho_factor(gram, lower=True, check_finite=False), right, check_finite=False)


def _minimum_norm(gram: NDArray, right: NDArray, rank: int) -> NDArray:
    if rank == 0:
        return np.zeros_like(right)
    values, vectors = np.linalg.eigh(gram)
    kept = vectors[:, len(values) - rank :]
    return kept @ ((kept.T @ right) / values[len(values) - rank :, None])


def _wide(design: CentredDesign, Y, tol) -> Fit:
    """From A A', which is small: w = A' (A A')⁺ b."""
    targets, y_means = design.targets(Y)
    values, vectors = np.linalg.eigh(design.outer_gram())
    largest = max(values[-1], 0.0)
    if not np.isfinite(largest) or _uncertain(values, largest, tol):
        return by_decomposition(design, Y, tol)
    kept = values > max(tol * tol, NOTHING) * largest
    basis = vectors[:, kept]
    dual = basis @ ((basis.T @ targets) / values[kept, None])
    coef = design.transposed(dual)
    left = targets - design.product(coef)
    coef = coef + design.transposed(basis @ ((basis.T @ left) / values[kept, None]))
    singular = np.sqrt(np.maximum(values, 0.0))[::-1].copy()
    return Fit(coef, design.means, y_means, int(kept.sum()), singular)


def triangle(design: CentredDesign, targets: NDArray) -> NDArray:
    """R of the QR decomposition of [A, b], from blocks of rows: R of stacked R's is R of all."""
    d, k = design.n_features, targets.shape[1]
    R = np.zeros((0, d + k))
    step = max(4 * (d + k), 1024)
    for first in range(0, design.n_rows, step):
        rows = slice(first, first + step)
        stacked = np.vstack([R, np.hstack([design.rows(rows), targets[rows]])])
        R = np.asarray(np.linalg.qr(stacked, mode="r"))
    return R


def by_decomposition(design: CentredDesign, Y, tol) -> Fit:
    """By QR of blocks of rows and SVD of what is left, or by SVD at once if X is not tall."""
    from scipy.linalg import lstsq

    targets, y_means = design.targets(Y)
    n, d = design.n_rows, design.n_features
    if n > 4 * d and n * d > FEW_VALUES:
        R = triangle(design, targets)
        A, b = R[:d, :d], R[:d, d:]
    else:
        A, b = design.rows(slice(None)), targets
    coef, _, rank, singular = lstsq(A, b, cond=tol, check_finite=False)
    return Fit(coef, design.means, y_means, int(rank), singular)


def by_svd(design: CentredDesign, Y: NDArray, alphas: NDArray) -> Fit:
    """From A = U diag(s) V': w = V diag(s / (s² + alpha)) U' b; tall X by its triangle first."""
    targets, y_means = design.targets(Y)
    d = design.n_features
    if design.n_rows > 2 * d:
        R = triangle(design, targets)
        A, b = R[:d, :d], R[:d, d:]
    else:
        A, b = design.rows(slice(None)), targets
    return Fit(shrunk_by_svd(A, b, alphas), design.means, y_means)


def shrunk_by_svd(A: NDArray, b: NDArray, alphas: NDArray) -> NDArray:
    """Weights by the singular values of A, one penalty a target."""
    from scipy.linalg import svd

    U, s, Vt = svd(A, full_matrices=False, check_finite=False)
    kept = s > 1e-15 * max(A.shape) * s.max(initial=0.0)
    U, s, Vt = U[:, kept], s[kept, None], Vt[kept]
    return Vt.T @ (s / (s * s + alphas) * (U.T @ b))


def by_lsqr(design: CentredDesign, Y, tol, alpha=None, max_iter=None) -> Fit:
    """By LSQR, one target at a time; ``alpha`` has one squared-norm penalty a target.

    The numbers of iterations stand where the singular values would.
    """
    from scipy.sparse.linalg import lsqr

    targets, y_means = design.targets(Y)
    operator = design.operator()
    coef = np.empty((design.n_features, targets.shape[1]))
    iterations = np.empty(targets.shape[1], dtype=np.int32)
    for t in range(targets.shape[1]):
        damp = 0.0 if alpha is None else np.sqrt(alpha[t])
        found = lsqr(operator, targets[:, t], damp=damp, atol=tol, btol=tol, iter_lim=max_iter)
        coef[:, t], iterations[t] = found[0], found[2]
    return Fit(coef, design.means, y_means, None, iterations)


def non_negative(X, Y: NDArray, weights, centre: bool) -> Fit:
    """Least squares with weights of at least 0: Lawson and Hanson's method on the triangle."""
    from scipy.optimize import nnls

    design = CentredDesign(X, weights, centre)
    targets, y_means = design.targets(Y)
    d = design.n_features
    if design.n_rows > d:
        R = triangle(design, targets)
        A, b = R[:d, :d], R[:d, d:]
    else:
        A, b = design.rows(slice(None)), targets
    coef = np.stack([nnls(A, b[:, t])[0] for t in range(b.shape[1])], axis=1)
    return Fit(coef, design.means, y_means)
