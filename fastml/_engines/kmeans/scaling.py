"""The means that rows are shifted by, and how small a move of the centres ends a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 1024


def column_means(X: NDArray) -> NDArray:
    """The mean of every column; short rows are laid side by side, for loops long enough to pay."""
    n_rows, n_features = X.shape
    side_by_side = max(1, 512 // n_features)
    whole = n_rows - n_rows % side_by_side
    folded = X[:whole].reshape(-1, side_by_side * n_features).sum(axis=0)
    total = folded.reshape(side_by_side, n_features).sum(axis=0) + X[whole:].sum(axis=0)
    return total / X.dtype.type(n_rows)


def scaled_tolerance(X, tol: float, means: NDArray | None = None) -> float:
    """``tol`` times the mean variance of the features; ``means`` if they are known."""
    import scipy.sparse as sp

    if tol == 0:
        return 0.0
    if sp.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return float(np.mean(mean_variance_axis(X, axis=0)[1]) * tol)
    means = column_means(X) if means is None else means
    block = np.empty((min(ROWS_AT_ONCE, X.shape[0]), X.shape[1]), X.dtype)
    total = 0.0
    for first in range(0, X.shape[0], ROWS_AT_ONCE):  # within the cache
        rows = X[first : first + ROWS_AT_ONCE]
        deviations = np.subtract(rows, means, out=block[: len(rows)])
        squares = np.einsum("ij,ij->i", deviations, deviations)
        total += float(np.add.reduce(squares, dtype=np.float64))
    return total / X.size * tol
