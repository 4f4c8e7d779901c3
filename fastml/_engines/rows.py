"""Rows of data as kernels read them: SciPy's sparse matrices become one struct of one type."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._threads import chunk_rows
from fastml._validation import check_indices, kernel_view
from fastml.kernels.linear.rows import LinearRows, row_squares
from fastml.kernels.numeric.csr import COLUMN, POSITION, Csr

MOST_COLUMNS = 2**31 - 1


def csr_rows(X, *, canonical: bool = True) -> Csr:
    """The CSR (or, read by columns, CSC) matrix ``X`` as kernels take it, without a copy if it can.

    With ``canonical``, columns ascend within a row and none occurs twice. Kernels read by these
    indices without a check, so that they are checked here.
    """
    check_indices(X)
    if canonical and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    n_columns = X.shape[1 if X.format == "csr" else 0]
    if n_columns > MOST_COLUMNS:
        raise ValueError(f"sparse X must have less than 2**31 columns, got {n_columns}")
    indptr = np.asarray(X.indptr)
    indices = np.asarray(X.indices)[: indptr[-1]]
    if indices.dtype == np.int32:  # the same bits, since none is negative
        indices = np.ascontiguousarray(indices).view(COLUMN)
    return Csr(
        kernel_view(X.data), kernel_view(indices, dtype=COLUMN), kernel_view(indptr, dtype=POSITION)
    )


class DesignMatrix:
    """Dense or CSR rows of a linear model, with the constant ``bias`` behind each."""

    def __init__(self, X, bias: float, n_jobs=None):
        self.n_rows, self.n_features = X.shape
        self.matrix, self.bias, self.n_jobs = X, float(bias), n_jobs
        self.sparse = sp.issparse(X)
        self.size = X.nnz if self.sparse else X.size
        self.rows = _linear_rows(X, self.bias)

    def squares(self) -> NDArray:
        """Squared norms of the rows."""
        squares = np.empty(self.n_rows)
        row_squares(self.rows, squares)
        return squares

    def columns(self) -> LinearRows:
        """The columns as rows, the constant as the last one."""
        constant = np.full((self.n_rows, 1), self.bias)
        if self.sparse:
            return _linear_rows(sp.hstack([self.matrix, sp.csr_array(constant)]).tocsc(), 0.0)
        return _linear_rows(np.hstack([self.matrix, constant]).T, 0.0)

    def chunks(self) -> tuple[int, int]:
        """(chunks, rows of each): sums of chunks must stay small beside the rows themselves."""
        rows = chunk_rows(self.n_rows, 2.0 * self.size / self.n_rows)
        most = max(1, min(64, self.size // (16 * (self.n_features + 1))))
        rows = max(rows, -(-self.n_rows // most))
        return -(-self.n_rows // rows), rows


def _linear_rows(X, bias: float) -> LinearRows:
    if sp.issparse(X):
        return LinearRows(kernel_view(np.empty((0, 0))), *csr_rows(X), bias)
    no_values, no_columns = kernel_view(np.empty(0)), kernel_view(np.empty(0, dtype=COLUMN))
    no_positions = kernel_view(np.empty(0, dtype=POSITION))
    return LinearRows(kernel_view(X, dtype=np.float64), no_values, no_columns, no_positions, bias)
