"""Scalers by moments and by extremes: mean and deviation, range, largest absolute value."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import (
    ColumnMoments,
    extremes,
    moments,
    multiply_add,
    scale_sparse_columns,
    sparse_extremes,
    sparse_moments,
    subtract_divide,
)
from fastml._progress import CallbackSupport, TaskSteps
from fastml._sklearn import Options, fit_context, validate_params
from fastml._validation import check_array, check_fitted, check_sample_weight
from fastml.preprocessing._base import (
    ENTRIES,
    FLOATS_AND_HALF,
    ColumnwiseTransformer,
    one_or_two_dimensional,
    refuse_infinity,
    work_type,
)
from fastml.preprocessing._blocks import block_extremes, block_moments, merged_moments, wider

EPSILON = np.finfo(np.float64).eps
NOT_CENTRED = (
    "Cannot {} sparse matrices: pass `with_mean=False` instead. See docstring for motivation and "
    "alternatives."
)


def without_zeros(scale):
    """A copy in which 1 stands for what is next to 0."""
    scale = np.array(scale)
    scale[scale < 10.0 * np.finfo(scale.dtype).eps] = 1.0
    return scale


class Scaler(ColumnwiseTransformer):
    """Columns scaled and shifted."""

    def _apply(self, X, pass_over, first, second, *, copy, bounds=None):
        """One of the two passes over dense X, in place without ``copy``."""
        options = {} if bounds is None else {"bounds": bounds}
        for constants in (first, second):
            if constants is not None:
                check_fitted(self, "scale or shift", np.asarray(constants), (X.shape[1],))
        if X.dtype == np.float16:
            result = pass_over(work_type(X), first, second, **options)
            result = self._checked(result, X).astype(np.float16)
            if not copy:
                X[...] = result
            return result
        if not copy:
            refuse_infinity(self, X)
        return self._checked(pass_over(X, first, second, in_place=not copy, **options), X)


@documented(ENTRIES)
class StandardScaler(CallbackSupport, Scaler):
    """Subtract the mean of each column and divide by its standard deviation.

    z = (x − mean) / √(Σ w (x − mean)² / Σ w)

    Mean and variance come from one pass over the rows. A column whose values are all the same has
    variance 0 exactly, and is divided by 1. NaN counts as absent and stays NaN.

    Parameters
    ----------
    {copy}
    with_mean : bool, default=True
        Subtract the mean; not for sparse matrices.
    with_std : bool, default=True
        Divide by the standard deviation.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,) or None
        Divisors: standard deviations, 1 where a column does not vary.
    mean_ : ndarray of shape (n_features,) or None
    var_ : ndarray of shape (n_features,) or None
    {n_features_in_}
    {feature_names_in_}
    n_samples_seen_ : int or ndarray of shape (n_features,)
        Rows, or the sum of their weights; of each column, if they differ.

    Examples
    --------
    >>> from fastml.preprocessing import StandardScaler
    >>> StandardScaler().fit_transform([[0.0, 1.0], [2.0, 1.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    _parameter_constraints: dict = {
        "copy": ["boolean"],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
    }

    def __init__(self, *, copy=True, with_mean=True, with_std=True):
        self.with_mean = with_mean
        self.with_std = with_std
        self.copy = copy

    def fit(self, X, y=None, sample_weight=None):
        """Learn mean and standard deviation.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        {self}
        """
        for name in ("scale_", "n_samples_seen_", "mean_", "var_"):
            vars(self).pop(name, None)
        return self.partial_fit(X, y, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from further rows: the same scale as from all rows at once.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        {self}
        """
        first = not hasattr(self, "n_samples_seen_")
        X = self._to_fit(X, sparse=("csr", "csc"), reset=first)
        if not getattr(self, "_skl_callbacks", None):
            return self._learn(X, sample_weight, first)
        steps = TaskSteps(self, self._init_callback_context(), X, y)
        self._learn(X, sample_weight, first)
        steps.end(dict)
        return self

    def _learn(self, X, sample_weight, first):
        d = X.shape[1]
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        if sp.issparse(X):
            if self.with_mean:
                raise ValueError(NOT_CENTRED.format("center"))
            found = sparse_moments(X, weights)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                found = moments(work_type(X), weights)
            if not np.isfinite(found.means).all():
                refuse_infinity(self, X)
        learns_moments = self.with_std or (self.with_mean and not sp.issparse(X))
        if not first:
            counts = np.broadcast_to(np.asarray(self.n_samples_seen_, dtype=np.float64), (d,))
            if learns_moments:
                squares = np.zeros(d) if self.var_ is None else self.var_ * counts
                empty = counts == 0.0
                before = (counts, np.where(empty, 0.0, self.mean_), np.where(empty, 0.0, squares))
                now = (found.counts, *(np.where(found.counts == 0.0, 0.0, m) for m in found[1:]))
                found = ColumnMoments(*before).merged(ColumnMoments(*now))
            else:
                found = found._replace(counts=found.counts + counts)
        whole = weights is None and (first or np.asarray(self.n_samples_seen_).dtype.kind == "i")
        self._finish(found, learns_moments, np.dtype(np.int64) if whole else X.dtype)
        return self

    def _finish(self, found, learns_moments, count_type):
        """Attributes from the moments of all rows."""
        d = len(found.counts)
        seen = found.counts
        if count_type != np.float16:
            seen = seen.astype(count_type, copy=False)
        self.mean_ = found.means if learns_moments else None
        self.var_ = found.variances if self.with_std else None
        self.n_samples_seen_ = seen[0] if d and (seen == seen[0]).all() else seen
        self.scale_ = None
        if self.with_std:
            # Variance that rounding of the mean alone could make is none.
            with np.errstate(over="ignore", invalid="ignore"):
                bound = (found.counts * self.mean_ * EPSILON) ** 2
                bound += found.counts * EPSILON * self.var_
                scale = np.sqrt(self.var_)
                scale[self.var_ <= bound] = 1.0
            self.scale_ = scale

    def _fit_blocks(self, passes):
        found = passes.reduced(block_moments, merged_moments, name="moments")
        counts = passes.dtype if passes.has_weights else np.dtype(np.int64)
        self._finish(found, self.with_mean or self.with_std, counts)

    def transform(self, X, copy=None):
        """Standardise rows.

        Parameters
        ----------
        {X_sparse}
        copy : bool, default=None
            Instead of the parameter of the same name.

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        copy = self.copy if copy is None else copy
        X = self._to_transform(X, sparse="csr", copy=copy)
        if sp.issparse(X):
            if self.with_mean:
                raise ValueError(NOT_CENTRED.format("center"))
            if self.scale_ is not None:
                scale_sparse_columns(X, 1.0 / self.scale_)
            return X
        mean = self.mean_ if self.with_mean else None
        return self._apply(X, subtract_divide, mean, self.scale_, copy=copy)

    def inverse_transform(self, X, copy=None):
        """Undo `transform`.

        Parameters
        ----------
        {X_sparse}
        copy : bool, default=None
            Instead of the parameter of the same name.

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        copy = self.copy if copy is None else copy
        X = self._to_transform(X, sparse="csr", copy=copy, check_columns=False)
        if sp.issparse(X):
            if self.with_mean:
                raise ValueError(NOT_CENTRED.format("uncenter"))
            if self.scale_ is not None:
                scale_sparse_columns(X, self.scale_)
            return X
        mean = self.mean_ if self.with_mean else None
        return self._apply(X, multiply_add, self.scale_, mean, copy=copy)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@documented(ENTRIES)
class MinMaxScaler(Scaler):
    """Bring each column to a range.

    z = (x − min) / (max − min) · (b − a) + a, for ``feature_range=(a, b)``.

    NaN counts as absent and stays NaN.

    Parameters
    ----------
    feature_range : tuple (min, max), default=(0, 1)
    {copy}
    clip : bool, default=False
        Cut what lies outside of the range.

    Attributes
    ----------
    min_ : ndarray of shape (n_features,)
        Added after the multiplication by ``scale_``.
    scale_ : ndarray of shape (n_features,)
        Factors.
    data_min_ : ndarray of shape (n_features,)
    data_max_ : ndarray of shape (n_features,)
    data_range_ : ndarray of shape (n_features,)
        ``data_max_ - data_min_``.
    {n_features_in_}
    n_samples_seen_ : int
        Rows seen.
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import MinMaxScaler
    >>> MinMaxScaler().fit_transform([[1.0], [2.0], [3.0]]).ravel()
    array([0. , 0.5, 1. ])
    """

    _parameter_constraints: dict = {
        "feature_range": [tuple],
        "copy": ["boolean"],
        "clip": ["boolean"],
    }

    def __init__(self, feature_range=(0, 1), *, copy=True, clip=False):
        self.feature_range = feature_range
        self.copy = copy
        self.clip = clip

    def fit(self, X, y=None):
        """Learn the range of each column.

        Parameters
        ----------
        {X_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        vars(self).pop("n_samples_seen_", None)
        return self.partial_fit(X, y)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn from further rows.

        Parameters
        ----------
        {X_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        self._check_range()
        if sp.issparse(X):
            raise TypeError(
                "MinMaxScaler does not support sparse input. Consider using MaxAbsScaler instead."
            )
        first = not hasattr(self, "n_samples_seen_")
        X = self._to_fit(X, reset=first)
        low, high = extremes(work_type(X))
        if np.isinf(low).any() or np.isinf(high).any():
            refuse_infinity(self, X)
        if not first:
            low, high = np.fmin(self.data_min_, low), np.fmax(self.data_max_, high)
        self._finish(low, high, X.shape[0] + (0 if first else self.n_samples_seen_), X.dtype)
        return self

    def _finish(self, low, high, n_rows, dtype):
        """Attributes from the extremes of all rows."""
        least, most = self.feature_range
        with np.errstate(over="ignore"):
            spread = high - low
        scale = (np.asarray(most, dtype) - np.asarray(least, dtype)) / without_zeros(spread)
        self.n_samples_seen_ = n_rows
        self.scale_ = scale
        self.min_ = least - low * scale
        self.data_min_, self.data_max_, self.data_range_ = low, high, spread

    def _fit_blocks(self, passes):
        self._check_range()
        low, high = passes.reduced(block_extremes, wider, name="extremes")
        self._finish(low, high, passes.n_rows, passes.dtype)

    def _check_range(self):
        least, most = self.feature_range
        if least >= most:
            raise ValueError(
                "Minimum of desired feature range must be smaller than maximum. Got "
                f"{self.feature_range}."
            )

    def transform(self, X):
        """Scale rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, copy=self.copy)
        bounds = self.feature_range if self.clip else None
        return self._apply(X, multiply_add, self.scale_, self.min_, copy=self.copy, bounds=bounds)

    def inverse_transform(self, X):
        """Undo `transform`.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, copy=self.copy, check_columns=False)
        return self._apply(X, subtract_divide, self.min_, self.scale_, copy=self.copy)


@documented(ENTRIES)
class MaxAbsScaler(Scaler):
    """Divide each column by its largest absolute value: zeros stay, so do sparse matrices.

    z = x / max \\|x\\|

    Parameters
    ----------
    {copy}
    clip : bool, default=False
        Cut what lies outside of [−1, 1].

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        Divisors.
    max_abs_ : ndarray of shape (n_features,)
    {n_features_in_}
    {feature_names_in_}
    n_samples_seen_ : int
        Rows seen.

    Examples
    --------
    >>> from fastml.preprocessing import MaxAbsScaler
    >>> MaxAbsScaler().fit_transform([[-2.0], [1.0]]).ravel()
    array([-1. ,  0.5])
    """

    _parameter_constraints: dict = {"copy": ["boolean"], "clip": ["boolean"]}

    def __init__(self, *, copy=True, clip=False):
        self.copy = copy
        self.clip = clip

    def fit(self, X, y=None):
        """Learn the largest absolute values.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        vars(self).pop("n_samples_seen_", None)
        return self.partial_fit(X, y)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn from further rows.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        first = not hasattr(self, "n_samples_seen_")
        X = self._to_fit(X, sparse=("csr", "csc"), reset=first)
        low, high = sparse_extremes(X) if sp.issparse(X) else extremes(work_type(X))
        largest = np.maximum(np.abs(low), np.abs(high))
        if np.isinf(largest).any():
            refuse_infinity(self, X.data if sp.issparse(X) else X)
        if not first:
            largest = np.fmax(self.max_abs_, largest)
        self.n_samples_seen_ = X.shape[0] + (0 if first else self.n_samples_seen_)
        self.max_abs_ = largest
        self.scale_ = without_zeros(largest)
        return self

    def _fit_blocks(self, passes):
        low, high = passes.reduced(block_extremes, wider, name="extremes")
        self.n_samples_seen_ = passes.n_rows
        self.max_abs_ = np.maximum(np.abs(low), np.abs(high))
        self.scale_ = without_zeros(self.max_abs_)

    def transform(self, X):
        """Scale rows.

        Parameters
        ----------
        {X_sparse}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, sparse=("csr", "csc"), copy=self.copy)
        bounds = (-1.0, 1.0) if self.clip else None
        if sp.issparse(X):
            scale_sparse_columns(X, 1.0 / self.scale_)
            if bounds is not None:
                np.clip(X.data, *bounds, out=X.data)
            return X
        return self._apply(X, subtract_divide, None, self.scale_, copy=self.copy, bounds=bounds)

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
            scale_sparse_columns(X, self.scale_)
            return X
        return self._apply(X, multiply_add, self.scale_, None, copy=self.copy)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# ---------------------------------------------------------------------------- functions


def rows_or_columns(X, *, sparse=(), estimator=None):
    """X of a scaling function: one or two dimensions, NaN allowed."""
    return check_array(
        X, accept_sparse=sparse or False, copy=False, ensure_2d=False, dtype=FLOATS_AND_HALF,
        ensure_all_finite="allow-nan", estimator=estimator, input_name="X",
    )  # fmt: skip


@documented(ENTRIES)
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "axis": [Options(Integral, {0, 1})],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
        "copy": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def scale(X, *, axis=0, with_mean=True, with_std=True, copy=True):
    """Standardise columns or rows.

    Parameters
    ----------
    {X_sparse}
    {axis}
    with_mean : bool, default=True
        Subtract the mean; not for sparse matrices.
    with_std : bool, default=True
        Divide by the standard deviation.
    {copy}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> from fastml.preprocessing import scale
    >>> scale([1.0, 3.0])
    array([-1.,  1.])
    """
    X = rows_or_columns(X, sparse=("csc", "csr"), estimator="the scale function")
    if sp.issparse(X):
        if with_mean:
            raise ValueError(NOT_CENTRED.format("center"))
        if axis != 0:
            raise ValueError(f"Can only scale sparse matrix on axis=0,  got axis={axis}")
        return StandardScaler(copy=copy, with_mean=False, with_std=with_std).fit_transform(X)

    def standardised(X):
        if not (with_mean or with_std):
            return X.copy() if copy else X
        found = moments(work_type(X))
        spread = without_zeros(np.sqrt(found.variances)) if with_std else None
        scaler = StandardScaler(copy=copy)
        shift = found.means if with_mean else None
        result = scaler._apply(X, subtract_divide, shift, spread, copy=copy)
        if with_mean:
            with np.errstate(over="ignore"):
                left = moments(work_type(result)).means
            if not np.allclose(left, 0.0, equal_nan=True):
                warnings.warn(
                    "Numerical issues were encountered when centering the data and might not be "
                    "solved. Dataset may contain too large values. You may need to prescale your "
                    "features.",
                    stacklevel=3,
                )
                result -= left.astype(result.dtype)
        return result

    return one_or_two_dimensional(standardised, X, axis)


@documented(ENTRIES)
@validate_params(
    {"X": ["array-like"], "axis": [Options(Integral, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def minmax_scale(X, feature_range=(0, 1), *, axis=0, copy=True):
    """Bring columns or rows to a range, as `MinMaxScaler`.

    Parameters
    ----------
    {X}
    feature_range : tuple (min, max), default=(0, 1)
    {axis}
    {copy}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> from fastml.preprocessing import minmax_scale
    >>> minmax_scale([1.0, 2.0, 3.0])
    array([0. , 0.5, 1. ])
    """
    scaler = MinMaxScaler(feature_range=feature_range, copy=copy)
    return one_or_two_dimensional(scaler.fit_transform, rows_or_columns(X), axis)


@documented(ENTRIES)
@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(Integral, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def maxabs_scale(X, *, axis=0, copy=True):
    """Divide columns or rows by their largest absolute value, as `MaxAbsScaler`.

    Parameters
    ----------
    {X_sparse}
    {axis}
    {copy}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> from fastml.preprocessing import maxabs_scale
    >>> maxabs_scale([-2.0, 1.0])
    array([-1. ,  0.5])
    """
    X = rows_or_columns(X, sparse=("csr", "csc"))
    return one_or_two_dimensional(MaxAbsScaler(copy=copy).fit_transform, X, axis)
