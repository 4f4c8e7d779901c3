"""The means that rows are shifted by, and how small a move of the centres ends a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.cluster.lloyd import squared_deviations


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
    return squared_deviations(kernel_view(X), kernel_view(means)) / X.size * tol
