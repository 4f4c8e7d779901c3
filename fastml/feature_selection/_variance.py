"""Columns that hardly vary."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, fit_context
from fastml._threads import chunk_rows
from fastml._validation import validate_data
from fastml.feature_selection._base import SelectorMixin
from fastml.feature_selection._docs import ENTRIES


@documented(ENTRIES)
class VarianceThreshold(SelectorMixin, BaseEstimator):
    """Leave out columns whose variance is not above a threshold.

    Missing values are passed over. A column of one value has variance 0, exactly.

    Parameters
    ----------
    threshold : float, default=0.0
        The variance.

    Attributes
    ----------
    variances_ : ndarray of shape (n_features_in_,)
        Variances; with the threshold 0, ranges where they are smaller.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import VarianceThreshold
    >>> VarianceThreshold().fit_transform([[0, 2, 3], [0, 1, 4]])
    array([[2, 3],
           [1, 4]])
    """

    _parameter_constraints: dict = {"threshold": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Take the variances of the columns of X."""
        X = validate_data(
            self,
            X,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan",
        )
        lowest, highest, variances = _sparse_spread(X) if hasattr(X, "toarray") else _spread(X)
        if self.threshold == 0:
            variances = np.fmin(variances, highest - lowest)
        self.variances_ = variances
        if not (np.isfinite(variances) & (variances > self.threshold)).any():
            alone = " (X contains only one sample)" if X.shape[0] == 1 else ""
            raise ValueError(
                f"No feature in X meets the variance threshold {self.threshold:.5f}{alone}"
            )
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.variances_ > self.threshold

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _spread(X) -> tuple[NDArray, NDArray, NDArray]:
    """(lowest, highest, variance) of the values of each column that are there, by blocks."""
    n, d = X.shape
    lowest, highest = np.full(d, np.inf), np.full(d, -np.inf)
    counts, means, squares = np.zeros((3, d))
    step = chunk_rows(n, 8.0 * d, at_least=64)
    for first in range(0, n, step):
        block = X[first : first + step]
        missing = np.isnan(block)
        holes = missing.any()
        there = len(block) - missing.sum(axis=0) if holes else np.full(d, float(len(block)))
        lowest = np.fmin(lowest, np.fmin.reduce(block, axis=0))
        highest = np.fmax(highest, np.fmax.reduce(block, axis=0))
        mean = np.where(missing, 0.0, block).sum(axis=0) if holes else block.sum(axis=0)
        mean = mean / np.maximum(there, 1.0)
        off = block - mean
        if holes:
            off[missing] = 0.0
        total = np.maximum(counts + there, 1.0)
        apart = mean - means
        squares += np.einsum("ij,ij->j", off, off) + apart**2 * counts * there / total
        means += apart * there / total
        counts += there
    with np.errstate(invalid="ignore"):
        return lowest, highest, np.where(counts > 0, squares, np.nan) / np.maximum(counts, 1.0)


def _sparse_spread(X) -> tuple[NDArray, NDArray, NDArray]:
    X = X.tocsc()
    n, d = X.shape
    lowest, highest, variances = np.empty((3, d))
    for j in range(d):
        values = X.data[X.indptr[j] : X.indptr[j + 1]]
        zeros = n - len(values)
        values = values[~np.isnan(values)]
        there = len(values) + zeros
        if there == 0:
            lowest[j] = highest[j] = variances[j] = np.nan
            continue
        mean = values.sum() / there
        variances[j] = (np.sum((values - mean) ** 2) + zeros * mean**2) / there
        lowest[j] = min(values.min(initial=np.inf), 0.0 if zeros else np.inf)
        highest[j] = max(values.max(initial=-np.inf), 0.0 if zeros else -np.inf)
    return lowest, highest, variances
