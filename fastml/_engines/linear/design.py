"""The matrix of a linear model with its weights and means: products with it, never a centred copy.

With weights u_i and means m of the columns (zeros without an intercept), the solvers work on

    A = diag(√u) (X − 1 m'),    b = diag(√u) (y − mean y)

so that least squares of A and b is the weighted problem with its intercept eliminated. A is not
made: its products follow from those of X.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._threads import single_threaded_blas

ROWS_AT_ONCE = 1 << 21
"""Bytes of the blocks of rows that are copied, weighted or multiplied at once."""

FEW = 16
"""One in so many columns: that few are read on their own, more with all the others."""


class CentredDesign:
    """A of the module's docstring; X is dense in either order, CSR or CSC, float32 or float64.

    ``means`` of the columns, if they are known, save a pass.
    """

    def __init__(self, X, weights: NDArray | None = None, centre: bool = True, means=None):
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.sparse = sp.issparse(X)
        self.by_columns = not self.sparse and X.flags.f_contiguous and not X.flags.c_contiguous
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

    def blocks(self, parts: int = 1):
        """Slices of rows, of about `ROWS_AT_ONCE` bytes each, or of a part of that."""
        step = max(256, ROWS_AT_ONCE // (8 * parts * max(self.n_features, 1)))
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
        if chosen is not None and not self.sparse:
            found = np.zeros((len(chosen), *r.shape[1:]))
            for rows, tile in self.tiles(chosen):
                found += tile.T @ r[rows]
            return found
        if self.root is not None:
            r = (r.T * self.root).T
        if self.sparse or self.X.dtype == np.float64:
            found = self.X.T @ r
        else:
            found = np.asarray(self.X.T @ r.astype(self.X.dtype), dtype=np.float64)
        if self.centre:
            found = found - np.multiply.outer(self.means, r.sum(axis=0))
        return found if chosen is None else found[chosen]

    def tiles(self, chosen: NDArray) -> Iterator[tuple[slice, NDArray]]:
        """Blocks of rows of the columns ``chosen`` of A, of about `ROWS_AT_ONCE` bytes each."""
        step = max(64, ROWS_AT_ONCE // (8 * max(len(chosen), 1)))
        for first in range(0, self.n_rows, step):
            rows = slice(first, min(first + step, self.n_rows))
            if self.by_columns:
                tile = self.X.T[chosen, rows].T
            else:
                tile = self.X[rows].take(chosen, axis=1)
            yield rows, self._finished(tile, chosen, rows)

    def columns_at_once(self) -> int:
        """Columns that fill about `ROWS_AT_ONCE` bytes."""
        return max(64, ROWS_AT_ONCE // (8 * self.n_rows))

    def inner(self, chosen: NDArray, k: int) -> NDArray:
        """Products of the last ``k`` of the columns ``chosen`` of A with all of them."""
        if not self.sparse:
            found = np.empty((k, len(chosen)))
            last = self.columns(chosen[len(chosen) - k :])
            step = self.columns_at_once()
            for first in range(0, len(chosen), step):
                some = slice(first, first + step)
                found[:, some] = last.T @ self.columns(chosen[some])
            return found
        columns = self.X[:, chosen].tocsc().astype(np.float64, copy=False)
        left = columns[:, len(chosen) - k :]
        left = left if self.root is None else sp.diags_array(self.weights) @ left
        found = (left.T @ columns).toarray()
        if self.centre:
            means = self.means[chosen]
            found -= self.total * np.outer(means[len(chosen) - k :], means)
        return found

    def fitted(self, w: NDArray, chosen: NDArray) -> NDArray:
        """A w where only the weights ``chosen`` differ from 0."""
        many = FEW * len(chosen) > self.n_features and self.X.dtype == np.float64
        if self.sparse or many:
            return self.product(w)
        found = np.empty((self.n_rows, *w.shape[1:]))
        with single_threaded_blas():
            for rows, tile in self.tiles(chosen):
                found[rows] = tile @ w[chosen]
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
        """Columns of A, dense, in X's order."""
        if self.sparse:
            found = self.X[:, chosen].toarray()
        else:
            found = self.X.T[chosen].T if self.by_columns else self.X.take(chosen, axis=1)
        return self._finished(found, chosen, slice(None))

    def _finished(self, found: NDArray, chosen: NDArray, rows: slice) -> NDArray:
        """Values of X, freshly gathered, as those of A."""
        found = found.astype(np.float64, copy=False)
        if self.centre:
            found -= self.means[chosen]
        if self.root is not None:
            found *= self.root[rows, None]
        return found

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
