"""Where values are missing, and what all imputers share."""

from __future__ import annotations

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.categories import is_nan
from fastml._sklearn import (
    MissingValues,
    StrOptions,
    align_api_if_sparse,
    check_feature_names_in,
    check_n_features,
    fit_context,
    get_mask,
)
from fastml._validation import validate_data

ENTRIES = {
    "missing_values": """
        missing_values : int, float, str, np.nan, None or pandas.NA, default=np.nan
            What stands for a missing value.
    """,
    "add_indicator": """
        add_indicator : bool, default=False
            Append the columns of a `MissingIndicator`.
    """,
    "keep_empty_features": """
        keep_empty_features : bool, default=False
            Keep columns in which fit saw no value.
    """,
    "indicator_": """
        indicator_ : MissingIndicator
            With ``add_indicator``, else None.
    """,
    "X": """
        X : array-like of shape (n_samples, n_features)
    """,
    "y": """
        y : None
            Not used.
    """,
    "self": """
        self : object
    """,
    "X_imputed": """
        X_imputed : {ndarray, sparse matrix} of shape (n_samples, n_features_out)
    """,
    "input_features": """
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.
    """,
}

KINDS = (
    "{} does not support data with dtype {}. Please provide either a numeric array (with a "
    "floating point or integer dtype) or categorical data represented either as an array with "
    "integer dtype or an array of string values with an object dtype."
)


def is_pandas_na(value) -> bool:
    return type(value).__name__ == "NAType"


def is_plain_nan(value) -> bool:
    return is_nan(value) and not is_pandas_na(value)


def check_kinds(X, missing_values) -> None:
    """Numbers need a number to stand for missing ones."""
    if is_pandas_na(missing_values):
        return
    if X.dtype.kind in "fiu" and not isinstance(missing_values, numbers.Real):
        raise ValueError(
            "'X' and 'missing_values' types are expected to be both numerical. Got X.dtype="
            f"{X.dtype} and  type(missing_values)={type(missing_values)}."
        )


@documented(ENTRIES)
class MissingIndicator(TransformerMixin, BaseEstimator):
    """Where values are missing, as columns of booleans.

    Parameters
    ----------
    {missing_values}
    features : {'missing-only', 'all'}, default='missing-only'
        Columns in which fit saw a missing value, or all.
    sparse : bool or 'auto', default='auto'
        Whether the result is sparse; 'auto': if X is.
    error_on_new : bool, default=True
        Refuse missing values in columns in which fit saw none ('missing-only').

    Attributes
    ----------
    features_ : ndarray of shape (n_missing_features,) or (n_features,)
        Columns that the result has.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.impute import MissingIndicator
    >>> MissingIndicator().fit_transform([[1.0, np.nan], [2.0, 3.0]])
    array([[ True],
           [False]])
    """

    _parameter_constraints: dict = {
        "missing_values": [MissingValues()],
        "features": [StrOptions({"missing-only", "all"})],
        "sparse": ["boolean", StrOptions({"auto"})],
        "error_on_new": ["boolean"],
    }

    def __init__(
        self, *, missing_values=np.nan, features="missing-only", sparse="auto", error_on_new=True
    ):
        self.missing_values = missing_values
        self.features = features
        self.sparse = sparse
        self.error_on_new = error_on_new

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the columns with missing values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        {y}

        Returns
        -------
        {self}
        """
        self._fit(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the columns with missing values and say where these are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        {y}

        Returns
        -------
        Xt : {ndarray, sparse matrix} of shape (n_samples, n_features_out)
        """
        mask = self._fit(X)
        return mask if len(self.features_) == self._n_features else mask[:, self.features_]

    def _fit(self, X, y=None, precomputed=False):
        """Learn from X, or with ``precomputed`` from the mask of an imputer; return the mask."""
        if precomputed:
            self._check_mask(X)
            check_n_features(self, X, reset=True)
        else:
            X = self._checked(X, reset=True)
        self._precomputed = precomputed
        self._n_features = X.shape[1]
        mask, self.features_ = self._mask_and_features(X)
        return mask

    @staticmethod
    def _check_mask(X):
        if not (hasattr(X, "dtype") and X.dtype.kind == "b"):
            raise ValueError("precomputed is True but the input data is not a mask")

    def _checked(self, X, reset):
        finite = "allow-nan" if is_plain_nan(self.missing_values) else True
        X = validate_data(
            self, X, reset=reset, accept_sparse=("csc", "csr"), dtype=None, ensure_all_finite=finite
        )
        check_kinds(X, self.missing_values)
        if X.dtype.kind not in "iufO":
            raise ValueError(KINDS.format("MissingIndicator", X.dtype))
        if sp.issparse(X) and self.missing_values == 0:
            raise ValueError(
                "Sparse input with missing_values=0 is not supported. Provide a dense array "
                "instead."
            )
        return X

    def _mask_and_features(self, X):
        mask = X if self._precomputed else get_mask(X, self.missing_values)
        if sp.issparse(X):
            mask.eliminate_zeros()
        n_missing = np.asarray(mask.sum(axis=0)).ravel()
        if sp.issparse(X):
            if self.sparse is False:
                mask = mask.toarray()
            elif mask.format == "csr":
                mask = mask.tocsc()
        elif self.sparse is True:
            mask = align_api_if_sparse(sp.csc_array(mask))
        if self.features == "all":
            return mask, np.arange(X.shape[1])
        return mask, np.flatnonzero(n_missing)

    def transform(self, X):
        """Where values are missing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        Xt : {ndarray, sparse matrix} of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        if self._precomputed:
            self._check_mask(X)
        else:
            X = self._checked(X, reset=False)
        mask, features = self._mask_and_features(X)
        if self.features == "missing-only":
            new = np.setdiff1d(features, self.features_)
            if self.error_on_new and len(new):
                raise ValueError(
                    f"The features {new} have missing values in transform but have no missing "
                    "values in fit."
                )
            if len(self.features_) < self._n_features:
                mask = mask[:, self.features_]
        return mask

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: missingindicator_feature.

        Parameters
        ----------
        {input_features}

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}_{name}" for name in names[self.features_]], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class Imputer(TransformerMixin, BaseEstimator):
    """What imputers share: the indicator that may follow the columns."""

    _parameter_constraints: dict = {
        "missing_values": [MissingValues()],
        "add_indicator": ["boolean"],
        "keep_empty_features": ["boolean"],
    }

    def __init__(self, *, missing_values=np.nan, add_indicator=False, keep_empty_features=False):
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    @property
    def _finite(self):
        return "allow-nan" if is_plain_nan(self.missing_values) else True

    def _fit_indicator(self, mask):
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(
                missing_values=self.missing_values, error_on_new=False
            )
            self.indicator_._fit(mask, precomputed=True)

    def _with_indicator(self, X, mask):
        """X, followed by the columns of the indicator if there is one."""
        if not self.add_indicator:
            return X
        marks = self.indicator_.transform(mask)
        if sp.issparse(X):
            return align_api_if_sparse(sp.hstack([X, marks], format=X.format))
        return np.hstack([X, marks.toarray() if sp.issparse(marks) else marks])

    def _names_with_indicator(self, names, input_features):
        if not self.add_indicator:
            return names
        return np.concatenate([names, self.indicator_.get_feature_names_out(input_features)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_plain_nan(self.missing_values)
        return tags
