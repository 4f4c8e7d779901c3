"""What a solver found, and linear systems of Newton's steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_CONDITION = 1e-13
"""Below this reciprocal condition a Hessian counts as singular."""


class Minimum(NamedTuple):
    """Weights, steps, whether the gradient is as small as asked for, and its largest entry."""

    w: NDArray
    n_iter: int
    converged: bool
    gradient: float


class Factor:
    """A symmetric non-negative matrix, ready to solve with: Cholesky's factor, or its eigenvectors.

    Where the matrix is singular the solution is the shortest one.
    """

    def __init__(self, A: NDArray):
        from scipy.linalg.lapack import dpocon, dpotrf

        scale = 1.0 / np.sqrt(np.maximum(A.diagonal(), 1e-300))
        self.scale = np.where(A.diagonal() > 0.0, scale, 1.0)
        scaled = A * self.scale * self.scale[:, None]
        factor, failure = dpotrf(scaled, lower=1)
        if not failure:
            condition, _ = dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo=b"L")
            failure = condition < LEAST_CONDITION
        self.singular = bool(failure)
        if self.singular:
            self.values, self.vectors = np.linalg.eigh(A)
        else:
            self.factor = factor

    def solve(self, b: NDArray) -> NDArray:
        if self.singular:
            most = max(float(self.values[-1]), 0.0)
            inside = self.values > len(b) * np.finfo(np.float64).eps * most
            inverse = np.where(inside, 1.0 / np.where(inside, self.values, 1.0), 0.0)
            return self.vectors @ (inverse * (self.vectors.T @ b))
        from scipy.linalg.lapack import dpotrs

        solution, _ = dpotrs(self.factor, self.scale * b, lower=1)
        return self.scale * solution
