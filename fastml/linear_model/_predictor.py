"""Predictions x · coef_ + intercept_, and what fits with a smooth loss share."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from fastml._validation import (
    FLOATS,
    check_fitted,
    check_is_fitted,
    validate_data,
)


def linear_predictor(model, X):
    """x · coef_ + intercept_ of each row, after the checks of a fitted model."""
    check_is_fitted(model)
    X = validate_data(
        model, X, accept_sparse=("csr", "csc", "coo"), dtype=FLOATS, order="C", reset=False
    )
    coef = np.asarray(model.coef_)
    check_fitted(model, "coef_", coef.reshape(-1), (X.shape[1],))
    return safe_sparse_dot(X, coef.reshape(-1), dense_output=True) + np.ravel(model.intercept_)[0]


def warn_unless_converged(model, found, tol: float) -> None:
    """A warning that says how far off the gradient is and what to change."""
    if not found.converged:
        warnings.warn(
            f"{type(model).__name__} failed to converge after {found.n_iter} iterations: the "
            f"largest entry of the gradient is {found.gradient:.2g}, and tol={tol:g}. Increase "
            "max_iter, scale the columns of X, or raise tol",
            ConvergenceWarning,
            stacklevel=3,
        )
