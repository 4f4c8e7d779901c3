"""Principal components of rows with missing values: EM for x = mean + W z + noise.

Every row has z ~ N(0, I) and tells of it by the columns that it has; a column's weights are fitted
to the rows that have it (A. Ilin and T. Raiko, Practical approaches to principal component analysis
in the presence of missing values, 2010). After each step z gets mean 0 and covariance I again by
changing the mean and W instead, which saves most of the steps (C. Liu, D. Rubin and Y. Wu,
Parameter expansion to accelerate EM, 1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 4096


class Fitted(NamedTuple):
    """Directions in rows, variances along them with the noise, the noise, the mean."""

    rows: NDArray
    variances: NDArray
    noise: float
    mean: NDArray
    total: float  # variance of all columns together
    n_iter: int
    converged: bool


class Posterior(NamedTuple):
    """Of some rows: what they have, their z, and the covariance of it."""

    here: NDArray
    centred: NDArray
    z: NDArray
    spread: NDArray


def posterior(X: NDArray, W: NDArray, mean: NDArray, noise: float) -> Posterior:
    """``W`` is (features, components)."""
    k = W.shape[1]
    here = ~np.isnan(X)
    centred = np.where(here, X - mean, 0.0)
    squares = (W[:, :, None] * W[:, None, :]).reshape(len(W), k * k)
    M = (here.astype(np.float64) @ squares).reshape(len(X), k, k)
    M[:, np.arange(k), np.arange(k)] += noise
    inverse = np.linalg.inv(M)
    z = np.einsum("ikl,il->ik", inverse, centred @ W)
    return Posterior(here, centred, z, noise * inverse)


def filled(X: NDArray, W: NDArray, mean: NDArray, noise: float) -> NDArray:
    """X with what is missing replaced by its expectation."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = X.copy()
    for first in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        gaps = np.isnan(out[rows])
        if gaps.any():
            found = posterior(out[rows], W, mean, noise)
            out[rows] = np.where(gaps, found.z @ W.T + mean, out[rows])
    return out


def fit_missing(X, k: int, weights, *, ddof: int, tol: float, max_iter: int, random) -> Fitted:
    """k components; EM ends when the weights move by less than ``tol`` of their size."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    n, d = X.shape
    u = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    here = ~np.isnan(X)
    held = u @ here
    mean = np.where(here, X, 0.0).T @ u / held
    off = np.where(here, X - mean, 0.0)
    variances = (off * off).T @ u / held
    scale = max(float(variances.mean()), np.finfo(np.float64).tiny)
    start = np.linalg.svd(off * np.sqrt(u)[:, None], full_matrices=False)[2][:k].T
    W = start * np.sqrt(scale) + 1e-3 * np.sqrt(scale) * random.normal(size=(d, k))
    noise: float = scale
    floor = 1e-12 * scale
    converged = False
    steps = 0
    while steps < max_iter and not converged:
        steps += 1
        # columns are regressed on (z, 1), so that the mean is fitted along
        second = np.zeros((d, (k + 1) * (k + 1)))
        cross, of_z = np.zeros((d, k + 1)), np.zeros((k + 1, k + 1))
        for first in range(0, n, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            found = posterior(X[rows], W, mean, noise)
            z = np.hstack([found.z, np.ones((len(found.z), 1))])
            both = z[:, :, None] * z[:, None, :]
            both[:, :k, :k] += found.spread
            own = found.here * u[rows, None]
            second += own.T @ both.reshape(len(z), -1)
            cross += (found.centred * u[rows, None]).T @ z
            of_z += np.einsum("i,ikl->kl", u[rows], both)
        second = second.reshape(d, k + 1, k + 1)
        second[:, np.arange(k), np.arange(k)] += 1e-12 * n
        solved = np.linalg.solve(second, cross[:, :, None])[:, :, 0]
        new, shift = solved[:, :k], solved[:, k]
        residual = 0.0
        for first in range(0, n, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            found = posterior(X[rows], W, mean, noise)
            off = found.centred - found.here * (found.z @ new.T + shift)
            squares = (new[:, :, None] * new[:, None, :]).reshape(d, k * k)
            unsure = (found.spread.reshape(len(off), -1) @ squares.T) * found.here
            residual += float(u[rows] @ (off * off + unsure).sum(axis=1))
        of_z /= of_z[k, k]
        middle = of_z[:k, k]
        shift = shift + new @ middle
        new = new @ np.linalg.cholesky(of_z[:k, :k] - np.outer(middle, middle))
        size = max(np.linalg.norm(new.T @ new), np.finfo(np.float64).tiny)
        # \|new new' − W W'\| from products of k × k
        overlap = np.linalg.norm(new.T @ W) ** 2
        squared = size**2 + np.linalg.norm(W.T @ W) ** 2 - 2.0 * overlap
        moved = max(float(squared), 0.0) ** 0.5
        quiet = abs(residual / held.sum() - noise) <= tol * scale
        W, mean, noise = new, mean + shift, max(residual / held.sum(), floor)
        converged = bool(moved <= tol * size and quiet)
    left, singular, _ = np.linalg.svd(W, full_matrices=False)
    total_weight = float(u.sum())
    factor = total_weight / (total_weight - ddof)
    leading = (singular**2 + noise) * factor
    return Fitted(
        left.T, leading, noise * factor, mean,
        float(leading.sum() + (d - k) * noise * factor), steps, converged,
    )  # fmt: skip
