"""Rows that a summary can read: dense or CSR, finite, with the right number of columns."""

from __future__ import annotations

from fastml._validation import FLOATS, check_array


def checked_rows(X, n_columns: int):
    X = check_array(X, accept_sparse="csr", dtype=FLOATS, ensure_min_features=0)
    if X.shape[1] != n_columns:
        raise ValueError(f"X has {X.shape[1]} columns, but the model has {n_columns} coefficients")
    return X
