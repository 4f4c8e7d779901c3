"""What transformers of columns share: how X is checked, and when infinite values are refused."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from fastml._validation import check_array, validate_data

FLOATS_AND_HALF = (np.float64, np.float32, np.float16)

ENTRIES = {
    "copy": """
        copy : bool, default=True
            False: work in place where X is a writeable array of floats.
    """,
    "X_to_fit": """
        X : array-like of shape (n_samples, n_features)
            Rows to learn from; NaN counts as absent.
    """,
    "X": """
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stays NaN.
    """,
    "X_sparse_to_fit": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from; NaN counts as absent.
    """,
    "X_sparse": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN stays NaN.
    """,
    "y": """
        y : None
            Not used.
    """,
    "self": """
        self : object
    """,
    "X_tr": """
        X_tr : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Transformed rows.
    """,
    "axis": """
        axis : {0, 1}, default=0
            0: columns, 1: rows.
    """,
}


def refuse_infinity(estimator, X) -> None:
    """Raise scikit-learn's error if X has an infinite value."""
    from sklearn.utils import assert_all_finite

    name = estimator if isinstance(estimator, str) else type(estimator).__name__
    assert_all_finite(X, allow_nan=True, estimator_name=name, input_name="X")


class ColumnwiseTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that treats every column by itself and keeps NaN.

    Infinite values of dense X are looked for in the pass that reads X anyway.
    """

    def _to_fit(self, X, *, sparse=False, reset=True):
        X = validate_data(
            self, X, reset=reset, accept_sparse=sparse, dtype=FLOATS_AND_HALF,
            ensure_all_finite=False,
        )  # fmt: skip
        return self._seen(X)

    def _to_transform(self, X, *, sparse=False, copy=True, check_columns=True):
        """X, not copied unless it is sparse and to be copied."""
        in_place = {} if copy else {"force_writeable": True, "copy": False}
        options = {"accept_sparse": sparse, "dtype": FLOATS_AND_HALF, "ensure_all_finite": False}
        if check_columns:
            X = validate_data(self, X, reset=False, **options, **in_place)
        else:
            X = check_array(X, estimator=self, input_name="X", **options, **in_place)
        X = self._seen(X)
        return X.copy() if copy and sp.issparse(X) else X

    def _seen(self, X):
        if sp.issparse(X):
            refuse_infinity(self, X.data)
        return X

    def _checked(self, result_and_infinite, X):
        """The result of a pass over X, if it met no infinite value."""
        result, infinite = result_and_infinite
        if infinite:
            refuse_infinity(self, X)
        return result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def work_type(X):
    """X in a type that kernels know: float16 becomes float32."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


def one_or_two_dimensional(transform, X, axis):
    """``transform`` of the columns (axis 0) or rows of X, which may have one dimension."""
    n_dimensions = X.ndim
    if n_dimensions == 1:
        X = X.reshape(-1, 1)
    result = transform(X) if axis == 0 else transform(X.T).T
    return result.ravel() if n_dimensions == 1 else result
