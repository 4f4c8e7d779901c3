"""What linear regressors share: reading input, the intercept, predictions."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from fastml._validation import (
    FLOATS,
    check_array,
    check_is_fitted,
    check_weights,
    validate_data,
)
from fastml.linear_model._summarised import Summarised

MANY_VALUES = 1 << 20
"""Values of dense X from which NaN is looked for in sums of squares that are needed anyway."""

SCALINGS = ("sum", "half_sum", "mean", "half_mean")
"""What multiplies the sum of squared residuals: 1, ½, 1/n, 1/(2n)."""


class LinearPredictor(Summarised, BaseEstimator):
    """Predictions X w + intercept, and how the intercept follows from means."""

    def _read(self, X, y, *, accept_sparse=("csr", "csc"), check_later=False):
        """(X, y, axes of y) validated; y as (rows, targets) float64.

        With ``check_later`` NaN in a large dense X is left to `_refuse_nan`.
        """
        large = isinstance(X, np.ndarray) and X.ndim == 2 and X.size > MANY_VALUES
        large = large and X.shape[0] >= X.shape[1]
        X, y = validate_data(
            self, X, y, accept_sparse=accept_sparse, dtype=FLOATS, multi_output=True,
            y_numeric=True, ensure_all_finite=not (check_later and large),
        )  # fmt: skip
        return settled(X), np.asarray(y, dtype=np.float64).reshape(len(y), -1), y.ndim

    @staticmethod
    def _refuse_nan(X, values):
        """Raise scikit-learn's error if NaN or infinity in X made ``values`` what they are."""
        if not np.isfinite(values).all():
            check_array(X, accept_sparse=True)

    @staticmethod
    def _weights(sample_weight, X):
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(X.shape[0], float(sample_weight))
        return check_weights(sample_weight, X, dtype=np.float64)

    def _relative_weights(self, sample_weight, X):
        """Weights of the sum n, since only their ratios matter."""
        if sample_weight is None or isinstance(sample_weight, Real):
            return None
        weights = self._weights(sample_weight, X)
        return weights * (len(weights) / weights.sum())

    def _set(self, coef, x_means, y_means, dtype, axes: int, *, flat: bool):
        """Attributes from weights (features, targets) for a y with that many axes.

        With ``flat`` the weights of a single target have one axis even if y has two.
        """
        intercept = y_means - x_means @ coef
        coef = np.ascontiguousarray(coef.T, dtype=dtype)
        if axes == 1:
            intercept = intercept[0]
        self.coef_ = coef[0] if axes == 1 or (flat and len(coef) == 1) else coef
        self.intercept_ = intercept.astype(dtype) if self.fit_intercept else 0.0

    def predict(self, X):
        """X w + intercept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc", "coo"), reset=False)
        found = settled(X) @ self.coef_.T + self.intercept_
        return found.toarray() if sp.issparse(found) else found


def settled(X):
    """Few values in C order, so that how they lay in memory changes no bit; many as they are."""
    if sp.issparse(X) or X.size > MANY_VALUES:
        return X
    return np.ascontiguousarray(X)


def loss_factor(scaling: str, total: float) -> float:
    """What multiplies the sum of squares under a name of `SCALINGS`."""
    return {"sum": 1.0, "half_sum": 0.5, "mean": 1.0 / total, "half_mean": 0.5 / total}[scaling]
