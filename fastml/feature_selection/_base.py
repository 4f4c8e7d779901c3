"""What every selector does once it knows its columns, and the importances that models have."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fastml._validation import check_array, validate_data


class SelectorMixin(TransformerMixin, metaclass=ABCMeta):
    """Transform by the mask of columns that ``_get_support_mask`` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from fastml.feature_selection import SelectorMixin
    >>> class First(SelectorMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         self.n_features_in_ = X.shape[1]
    ...         return self
    ...     def _get_support_mask(self):
    ...         return np.arange(self.n_features_in_) < 1
    >>> First().fit_transform(np.ones((3, 2))).shape
    (3, 1)
    """

    @abstractmethod
    def _get_support_mask(self):
        """The mask of selected columns."""

    def get_support(self, indices=False):
        """The mask of selected columns, or their indices."""
        mask = self._get_support_mask()
        return np.flatnonzero(mask) if indices else mask

    def transform(self, X):
        """The selected columns of X."""
        from fastml._sklearn import get_output_config

        asked = get_output_config("transform", estimator=self)["dense"]
        X = validate_data(
            self,
            X,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
            skip_check_array=asked != "default" and hasattr(X, "iloc"),
            reset=False,
        )
        return self._transform(X)

    def _transform(self, X):
        from fastml._sklearn import safe_indexing

        mask = self.get_support()
        if mask.any():
            return safe_indexing(X, mask, axis=1)
        warnings.warn(
            "No features were selected: either the data is too noisy or the selection test too "
            "strict.",
            UserWarning,
            stacklevel=2,
        )
        return X.iloc[:, :0] if hasattr(X, "iloc") else np.empty((X.shape[0], 0), dtype=X.dtype)

    def inverse_transform(self, X):
        """X with zeros in the columns that `transform` left out."""
        from scipy.sparse import csc_array, issparse

        from fastml._sklearn import align_api_if_sparse

        mask = self.get_support()
        if issparse(X):
            X = X.tocsc()
            self._check_width(mask, X)
            sizes = np.zeros(len(mask), dtype=X.indptr.dtype)
            sizes[mask] = np.diff(X.indptr)
            starts = np.concatenate([[0], np.cumsum(sizes)])
            parts = (X.data, X.indices, starts)
            return align_api_if_sparse(csc_array(parts, shape=(X.shape[0], len(mask))))
        X = check_array(X, dtype=None)
        self._check_width(mask, X)
        found = np.zeros((X.shape[0], len(mask)), dtype=X.dtype)
        found[:, mask] = X
        return found

    def _check_width(self, mask, X) -> None:
        if mask.sum() != X.shape[1]:
            raise ValueError("X has a different shape than during fitting.")

    def get_feature_names_out(self, input_features=None):
        """Names of the selected columns."""
        from fastml._sklearn import check_feature_names_in

        check_is_fitted(self)
        return check_feature_names_in(self, input_features)[self.get_support()]


def importances_of(estimator, getter, how: str, norm_order=1) -> NDArray:
    """A model's weights of columns, made positive; several rows (classes) become one.

    ``how`` is "norm" (of order ``norm_order`` over the rows) or "square".
    """
    from scipy.sparse import issparse

    if getter == "auto":
        if hasattr(estimator, "coef_"):
            getter = "coef_"
        elif hasattr(estimator, "feature_importances_"):
            getter = "feature_importances_"
        else:
            raise ValueError(
                "when `importance_getter=='auto'`, the underlying estimator "
                f"{type(estimator).__name__} should have `coef_` or `feature_importances_` "
                "attribute. Either pass a fitted estimator to feature selector or call fit before "
                "calling transform."
            )
    found = attrgetter(getter)(estimator) if isinstance(getter, str) else getter(estimator)
    found = found.toarray() if issparse(found) else np.asarray(found)
    if how == "square":
        return found**2 if found.ndim == 1 else (found**2).sum(axis=0)
    return np.abs(found) if found.ndim == 1 else np.linalg.norm(found, ord=norm_order, axis=0)
