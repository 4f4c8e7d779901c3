"""The rows of a linear model, and the three passes over them: products, slopes, Gram matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.rows import csr_rows
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.linalg.panel_products import PANEL
from fastml.kernels.linear.design import DesignRows, grams, products, slopes
from fastml.kernels.numeric.csr import COLUMN, POSITION

MOST_CHUNKS, MOST_GRAMS = 64, 16
LEAST_CHUNKS = 8
"""Of sparse rows; with fewer, sums over rows are made by columns."""

PRODUCTS_AT_ONCE = 16
"""Products that the kernel of Gram matrices makes in the time of one operation elsewhere."""

LINES = 64
"""Lines of a symmetric matrix that are turned at once."""

NOTHING = np.empty(0)


class SmoothDesign:
    """Dense (either order) or sparse X with a column of ones behind it; X is not copied.

    CSC is turned to CSR, the one copy that there is.
    """

    def __init__(self, X, n_jobs=None):
        self.n_rows, self.n_features = X.shape
        self.n_weights = self.n_features + 1
        self.n_jobs = n_jobs
        self._columns: DesignRows | None = None
        self._squares: NDArray | None = None
        self.matrix = X.tocsr() if sp.issparse(X) and X.format != "csr" else X
        self.sparse = sp.issparse(X)
        self.size = self.matrix.nnz if self.sparse else X.size
        self.rows = _design_rows(self.matrix)
        per_row = 2.0 * self.size / max(self.n_rows, 1)
        rows = chunk_rows(self.n_rows, per_row, at_least=64)
        most = max(1, min(MOST_CHUNKS, self.size // (16 * self.n_weights)))
        self.rows_per_chunk = max(rows, -(-self.n_rows // most))
        self.by_columns = X if self.sparse and X.format == "csc" else None
        # Sums of chunks of sparse rows have as many entries as there are columns.
        self.is_wide = self.sparse and most < LEAST_CHUNKS

    def sample(self, n_wanted: int) -> tuple[SmoothDesign, NDArray]:
        """About so many rows at equal distances, and their numbers."""
        chosen = np.arange(0, self.n_rows, max(1, self.n_rows // n_wanted))
        return SmoothDesign(self.matrix[:: max(1, self.n_rows // n_wanted)], self.n_jobs), chosen

    def _threads(self, work: float) -> int:
        return effective_n_threads(self.n_jobs, work=work)

    def products(self, w: NDArray) -> NDArray:
        """w · (x, 1) of each row."""
        out = np.empty(self.n_rows)
        n_chunks = -(-self.n_rows // self.rows_per_chunk)
        n_threads = self._threads(2.0 * self.size)
        products(n_chunks, self.rows_per_chunk, self.rows, w, out, n_threads=n_threads)
        return out

    def slopes(self, factors: NDArray) -> NDArray:
        """Σ factor (x, 1)."""
        if self.is_wide:
            out = np.empty(self.n_weights)
            columns = max(1, -(-self.n_features // MOST_CHUNKS))
            n_threads = self._threads(2.0 * self.size)
            n_chunks = -(-self.n_features // columns)
            ends = np.append(factors, 0.0)
            products(n_chunks, columns, self.columns(), ends, out[:-1], n_threads=n_threads)
            out[-1] = factors.sum()
            return out
        sums = np.empty((-(-self.n_rows // self.rows_per_chunk), self.n_weights))
        n_threads = self._threads(2.0 * self.size)
        slopes(self.rows_per_chunk, self.rows, factors, sums, n_threads=n_threads)
        return sums.sum(axis=0)

    def columns(self) -> DesignRows:
        """The columns as rows."""
        if self._columns is None:
            if not self.sparse:
                self._columns = _design_rows(np.ascontiguousarray(self.matrix.T))
            else:
                if self.by_columns is None:
                    self.by_columns = self.matrix.tocsc()
                self._columns = _design_rows(self.by_columns.T)
        return self._columns

    def column_squares(self) -> NDArray:
        """Sums of squares of the columns, and the number of rows."""
        if self._squares is None:
            if self.sparse:
                values = self.matrix.data.astype(np.float64) ** 2
                found = np.bincount(self.matrix.indices, values, self.n_features)
            else:
                found = np.einsum("ij,ij->j", self.matrix, self.matrix, dtype=np.float64)
            self._squares = np.append(found, float(self.n_rows))
        return self._squares

    def gram(self, weights: NDArray | None, extra: NDArray = NOTHING, alone=False) -> NDArray:
        """Σ weight u u' with u = (x, 1), or (x, 1, extra); no weights: 1.

        ``alone``: in one sum, so in one thread, and with the memory of no more than the result.
        """
        m = self.n_weights + (1 if len(extra) else 0)
        width = -(-m // PANEL) * PANEL
        # Two for two threads; more only where they are together smaller than a fifth of X.
        most = max(2 if self.n_rows >= m else 1, min(MOST_GRAMS, self.n_rows // (5 * m)))
        rows = max(self.rows_per_chunk, -(-self.n_rows // (1 if alone else most)))
        sums = np.empty((-(-self.n_rows // rows), width, width))
        n_threads = self._threads(self.n_rows * m**2 / PRODUCTS_AT_ONCE)
        weights = NOTHING if weights is None else weights
        grams(
            self.n_rows, rows, self.rows, weights, extra, self.n_features, sums,
            n_threads=n_threads,
        )  # fmt: skip
        total = sums[0]
        for part in sums[1:]:
            total += part
        found = corner(total, m) if len(sums) == 1 else total[:m, :m].copy()
        for first in range(0, m, LINES):  # the lower triangle is the upper one, turned
            lines = slice(first, first + LINES)
            found[lines, :first] = found[:first, lines].T
            square = np.triu(found[lines, lines])
            found[lines, lines] = square + np.triu(square, 1).T
        return found


def corner(square: NDArray, m: int) -> NDArray:
    """The first ``m`` rows and columns of a matrix, in its own memory: the rest is lost."""
    flat, n = square.reshape(-1), len(square)
    if m < n:
        for i in range(1, m):
            flat[i * m : (i + 1) * m] = flat[i * n : i * n + m]
    return flat[: m * m].reshape(m, m)


def _design_rows(X) -> DesignRows:
    if sp.issparse(X):
        csr = csr_rows(X)
        return DesignRows(kernel_view(np.empty((0, 0), dtype=csr.data.dtype)), False, *csr)
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    nothing = kernel_view(np.empty(0, dtype=X.dtype))
    no_columns = kernel_view(np.empty(0, dtype=COLUMN))
    no_positions = kernel_view(np.empty(0, dtype=POSITION))
    view = kernel_view(X.T if by_columns else X)
    return DesignRows(view, by_columns, nothing, no_columns, no_positions)
