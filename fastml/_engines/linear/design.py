"""The matrix of a linear model with its weights and means: products with it, never a centred copy.

With weights u_i and means m of the columns (zeros without an intercept), the solvers work on

    A = diag(√u) (X − 1 m'),    b = diag(√u) (y − mean y)

so that least squares of A and b is the weighted problem with its intercept eliminated. A is not
made: its products follow from those of X.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ROWS_AT_ONCE = 1 << 21
"""Bytes of the blocks of rows that are copied, weighted or multiplied at once."""


class CentredDesign:
    """A of the module's docstring; X is dense in either order, CSR or CSC, float32 or float64.

    ``means`` of the columns, if they are known, save a pass.
    """

    def __init__(self, X, weights: NDArray | None = None, centre: bool = True, means=None):
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.sparse = sp.issparse(X)
        self.centre = centre
        self.root = None if weights is None else np.sqrt(weights, dtype=np.float64)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.total = float(self.n_rows if weights is None else weights.sum(dtype=np.float64))
        if means is None:
            means = self._means() if centre else np.zeros(self.n_features)
        self.means = means

    def _means(self) -> NDArray:
        if self.sparse:
            ones = np.ones(self.n_rows) if self.weights is None else self.weights
            return np.asarray(self.X.T @ ones, dtype=np.float64).ravel() / self.total
        if self.weights is None:
            return np.asarray(np.mean(self.X, axis=0, dtype=np.float64))
        total = np.zeros(self.n_features)
        for rows in self.blocks():
            total += self.weights[rows] @ self.X[rows].astype(np.float64, copy=False)
        return total / self.total

    def blocks(self):
        """Slices of rows, of about `ROWS_AT_ONCE` bytes each."""
        step = max(256, ROWS_AT_ONCE // (8 * max(self.n_features, 1)))
        return (slice(first, first + step) for first in range(0, self.n_rows, step))

    def targets(self, y: NDArray) -> tuple[NDArray, NDArray]:
        """(b for every target, means of y): ``y`` has one column a target."""
        y = np.asarray(y, dtype=np.float64)
        if self.centre:
            means = y.mean(axis=0) if self.weights is None else self.weights @ y / self.total
            y = y - means
        else:
            means = np.zeros(y.shape[1])
        return (y if self.root is None else y * self.root[:, None]), means

    def product(self, w: NDArray) -> NDArray:
        """A w, for one vector or for columns of them."""
        if self.sparse or self.X.dtype == np.float64:
            found = self.X @ w
        else:
            found = np.asarray(self.X @ w.astype(self.X.dtype), dtype=np.float64)
        if self.centre:
            found = found - self.means @ w
        if self.root is not None:
            found = (found.T * self.root).T
        return found

    def transposed(self, r: NDArray, chosen: NDArray | None = None) -> NDArray:
        """A' r, for one vector or for columns of them; or that of the columns ``chosen``."""
        if self.root is not None:
            r = (r.T * self.root).T
        X = self.X if chosen is None else self.X[:, chosen]
        if self.sparse or X.dtype == np.float64:
            found = X.T @ r
        else:
            found = np.asarray(X.T @ r.astype(X.dtype), dtype=np.float64)
        if self.centre:
            means = self.means if chosen is None else self.means[chosen]
            found = found - np.multiply.outer(means, r.sum(axis=0))
        return found

    def column_squares(self) -> NDArray:
        """\\|a_j\\|² of every column, or a little more."""
        if self.sparse:
            squared = self.X.copy()
            squared.data = self.X.data.astype(np.float64) ** 2
            ones = np.ones(self.n_rows) if self.weights is None else self.weights
            found = np.asarray(squared.T @ ones).ravel()
        else:
            found = np.zeros(self.n_features)
            for rows in self.blocks():
                block = self.X[rows]
                if self.weights is None:
                    found += np.einsum("ij,ij->j", block, block, dtype=np.float64)
                else:
                    found += self.weights[rows] @ block.astype(np.float64) ** 2
        # Sums of squares less that of the mean: rounding must not make a length too small.
        spread = found - self.total * self.means**2 if self.centre else found
        return np.maximum(spread, 0.0) + self.n_rows * np.finfo(self.X.dtype).eps * found

    def rows(self, block: slice) -> NDArray:
        """Rows of A, dense."""
        found = self.X[block]
        found = found.toarray() if self.sparse else found
        found = found.astype(np.float64) - self.means
        if self.root is not None:
            found *= self.root[block, None]
        return found

    def columns(self, chosen: NDArray) -> NDArray:
        """Columns of A, dense and one after the other in memory."""
        found = self.X[:, chosen]
        found = found.toarray() if self.sparse else found
        found = np.asarray(found, dtype=np.float64).T - self.means[chosen, None]
        if self.root is not None:
            found *= self.root
        return np.ascontiguousarray(found).T

    def outer_gram(self) -> NDArray:
        """A A'."""
        if self.sparse:
            K = (self.X @ self.X.T).toarray().astype(np.float64)
        else:
            X = self.X
            K = X @ X.T if X.dtype == np.float64 else _in_double(X)
        if self.centre:
            shift = np.asarray(self.X @ self.means, dtype=np.float64)
            K = K - shift[:, None] - shift + self.means @ self.means
        if self.root is not None:
            K *= self.root[:, None]
            K *= self.root
        return K

    def operator(self):
        """A as SciPy's iterative solvers take it."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.X.shape, matvec=self.product, rmatvec=self.transposed, dtype=np.float64
        )


def _in_double(X: NDArray) -> NDArray:
    """X X' of float32 columns, a block of columns at a time in float64."""
    K = np.zeros((len(X), len(X)))
    step = max(64, ROWS_AT_ONCE // (8 * len(X)))
    for first in range(0, X.shape[1], step):
        part = X[:, first : first + step].astype(np.float64)
        K += part @ part.T
    return K
