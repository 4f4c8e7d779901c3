"""A scaler by median and quantiles."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import (
    multiply_add,
    quantiles,
    quantiles_of,
    scale_sparse_columns,
    subtract_divide,
)
from fastml._sklearn import Options, fit_context, validate_params
from fastml.preprocessing._base import (
    ENTRIES,
    one_or_two_dimensional,
    refuse_infinity,
    work_type,
)
from fastml.preprocessing._scale import Scaler, rows_or_columns, without_zeros

OWN = {
    "with_centering": """
        with_centering : bool, default=True
            Subtract the median; not for sparse matrices.
    """,
    "with_scaling": """
        with_scaling : bool, default=True
            Divide by the distance of the two quantiles.
    """,
    "quantile_range": """
        quantile_range : tuple (q_min, q_max), 0.0 < q_min < q_max < 100.0, default=(25.0, 75.0)
            Percentages.
    """,
    "unit_variance": """
        unit_variance : bool, default=False
            Divide further by the distance of these quantiles of a normal distribution.
    """,
}


def sparse_quantiles(X, shares):
    """Quantiles of the columns of a CSC matrix, its zeros included."""
    found = []
    for first, last in zip(X.indptr[:-1], X.indptr[1:]):
        column = np.zeros(X.shape[0], dtype=X.dtype)
        column[: last - first] = X.data[first:last]
        found.append(quantiles_of(column[column == column], shares))
    return np.array(found).reshape(X.shape[1], len(shares)).T


@documented(ENTRIES, OWN)
class RobustScaler(Scaler):
    """Subtract the median of each column and divide by the distance of two quantiles.

    z = (x − median) / (Q_75 − Q_25)

    Order statistics come from a partial sort of every column, columns side by side on threads.

    Parameters
    ----------
    {with_centering}
    {with_scaling}
    {quantile_range}
    {copy}
    {unit_variance}

    Attributes
    ----------
    center_ : ndarray of shape (n_features,) or None
        Medians.
    scale_ : ndarray of shape (n_features,) or None
        Divisors.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import RobustScaler
    >>> RobustScaler().fit_transform([[1.0], [2.0], [3.0], [4.0], [100.0]]).ravel()
    array([-1. , -0.5,  0. ,  0.5, 48.5])
    """

    _parameter_constraints: dict = {
        "with_centering": ["boolean"],
        "with_scaling": ["boolean"],
        "quantile_range": [tuple],
        "copy": ["boolean"],
        "unit_variance": ["boolean"],
    }

    def __init__(
        self,
        *,
        with_centering=True,
        with_scaling=True,
        quantile_range=(25.0, 75.0),
        copy=True,
        unit_variance=False,
    ):
        self.with_centering = with_centering
        self.with_scaling = with_scaling
        self.quantile_range = quantile_range
        self.unit_variance = unit_variance
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn median and quantiles.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        X = self._to_fit(X, sparse="csc")
        low, high = self.quantile_range
        if not 0 <= low <= high <= 100:
            raise ValueError(f"Invalid quantile range: {self.quantile_range}")
        shares = np.array([low, 50.0, high]) / 100.0
        if sp.issparse(X):
            if self.with_centering:
                raise ValueError(
                    "Cannot center sparse matrices: use `with_centering=False` instead. See "
                    "docstring for motivation and alternatives."
                )
            found = sparse_quantiles(X, shares)
        else:
            found, infinite = quantiles(work_type(X), shares)
            if infinite:
                refuse_infinity(self, X)
        self.center_ = found[1].copy() if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            self.scale_ = without_zeros(found[2] - found[0])
            if self.unit_variance:
                from scipy.special import ndtri

                self.scale_ = self.scale_ / (ndtri(high / 100.0) - ndtri(low / 100.0))
        return self

    def transform(self, X):
        """Centre and scale rows.

        Parameters
        ----------
        {X_sparse}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, sparse=("csr", "csc"), copy=self.copy)
        if sp.issparse(X):
            if self.with_scaling:
                scale_sparse_columns(X, 1.0 / self.scale_)
            return X
        return self._apply(X, subtract_divide, self.center_, self.scale_, copy=self.copy)

    def inverse_transform(self, X):
        """Undo `transform`.

        Parameters
        ----------
        {X_sparse}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, sparse=("csr", "csc"), copy=self.copy, check_columns=False)
        if sp.issparse(X):
            if self.with_scaling:
                scale_sparse_columns(X, self.scale_)
            return X
        return self._apply(X, multiply_add, self.scale_, self.center_, copy=self.copy)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_centering
        return tags


@documented(ENTRIES, OWN)
@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(Integral, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def robust_scale(
    X,
    *,
    axis=0,
    with_centering=True,
    with_scaling=True,
    quantile_range=(25.0, 75.0),
    copy=True,
    unit_variance=False,
):
    """Scale columns or rows by median and quantiles, as `RobustScaler`.

    Parameters
    ----------
    {X_sparse}
    {axis}
    {with_centering}
    {with_scaling}
    {quantile_range}
    {copy}
    {unit_variance}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> from fastml.preprocessing import robust_scale
    >>> robust_scale([1.0, 2.0, 3.0, 4.0, 100.0])
    array([-1. , -0.5,  0. ,  0.5, 48.5])
    """
    scaler = RobustScaler(
        with_centering=with_centering, with_scaling=with_scaling, quantile_range=quantile_range,
        unit_variance=unit_variance, copy=copy,
    )  # fmt: skip
    X = rows_or_columns(X, sparse=("csr", "csc"))
    return one_or_two_dimensional(scaler.fit_transform, X, axis)
