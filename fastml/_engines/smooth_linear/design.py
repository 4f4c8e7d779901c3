"""The rows of a linear model, and the three passes over them: products, slopes, Gram matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.rows import csr_rows
from fastml._threads import chunk_rows, effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.linear.design import DesignRows, grams, products, slopes
from fastml.kernels.numeric.csr import COLUMN, POSITION

MOST_CHUNKS, MOST_GRAMS = 64, 16
NOTHING = np.empty(0)


class SmoothDesign:
    """Dense (either order) or sparse X with a column of ones behind it; X is not copied.

    CSC is turned to CSR, the one copy that there is.
    """

    def __init__(self, X, n_jobs=None):
        self.n_rows, self.n_features = X.shape
        self.n_weights = self.n_features + 1
        self.n_jobs = n_jobs
        self.matrix = X.tocsr() if sp.issparse(X) and X.format != "csr" else X
        self.sparse = sp.issparse(X)
        self.size = self.matrix.nnz if self.sparse else X.size
        self.rows = _design_rows(self.matrix)
        per_row = 2.0 * self.size / max(self.n_rows, 1)
        rows = chunk_rows(self.n_rows, per_row, at_least=64)
        most = max(1, min(MOST_CHUNKS, self.size // (16 * self.n_weights)))
        self.rows_per_chunk = max(rows, -(-self.n_rows // most))

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
        sums = np.empty((-(-self.n_rows // self.rows_per_chunk), self.n_weights))
        n_threads = self._threads(2.0 * self.size)
        slopes(self.rows_per_chunk, self.rows, factors, sums, n_threads=n_threads)
        return sums.sum(axis=0)

    def gram(self, weights: NDArray, extra: NDArray = NOTHING) -> NDArray:
        """Σ weight u u' with u = (x, 1), or (x, 1, extra)."""
        n_columns = self.n_weights + (1 if len(extra) else 0)
        rows = max(self.rows_per_chunk, -(-self.n_rows // MOST_GRAMS))
        sums = np.empty((-(-self.n_rows // rows), n_columns, n_columns))
        n_threads = self._threads(float(self.n_rows) * n_columns**2)
        with single_threaded_blas():
            grams(rows, self.rows, weights, extra, sums, n_threads=n_threads)
        return sums.sum(axis=0)


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
