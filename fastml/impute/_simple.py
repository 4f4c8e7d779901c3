"""One value for all that is missing in a column."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.categories import factorise
from fastml._engines.columns import moments, quantiles, quantiles_of
from fastml._sklearn import StrOptions, check_feature_names_in, fit_context, get_mask
from fastml._validation import validate_data
from fastml.impute._indicator import (
    ENTRIES,
    KINDS,
    Imputer,
    check_kinds,
    is_pandas_na,
    is_plain_nan,
)

FLOATS_AND_HALF = (np.float64, np.float32, np.float16)


def most_frequent(values, *, zeros=0):
    """The value that occurs most often, the least of several; NaN of none.

    ``zeros`` of them are not listed.
    """
    found, codes = factorise(values)
    counts = np.bincount(codes, minlength=len(found))
    if zeros:
        found, counts = np.append(found, 0), np.append(counts, zeros)
    if not len(found):
        return np.nan
    best = found[counts == counts.max()].tolist()
    try:
        return min(best)
    except TypeError:  # of several types
        return min(best, key=lambda value: (str(type(value)), str(value)))


@documented(ENTRIES)
class SimpleImputer(Imputer):
    """Fill in the mean, median or most frequent value of a column, or a constant.

    Parameters
    ----------
    {missing_values}
    strategy : {'mean', 'median', 'most_frequent', 'constant'} or callable, default='mean'
        A callable takes the values of a column that are there.
    fill_value : str or number, default=None
        The constant; None: 0, or "missing_value" for text.
    copy : bool, default=True
        False: fill in X itself where it is a writeable array of floats.
    {add_indicator}
    {keep_empty_features}

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What is filled in.
    {indicator_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.impute import SimpleImputer
    >>> SimpleImputer(strategy="median").fit_transform([[1.0], [np.nan], [3.0], [8.0]]).ravel()
    array([1., 3., 3., 8.])
    """

    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "strategy": [StrOptions({"mean", "median", "most_frequent", "constant"}), callable],
        "fill_value": "no_validation",
        "copy": ["boolean"],
    }

    def __init__(
        self,
        *,
        missing_values=np.nan,
        strategy="mean",
        fill_value=None,
        copy=True,
        add_indicator=False,
        keep_empty_features=False,
    ):
        super().__init__(
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
        )
        self.strategy = strategy
        self.fill_value = fill_value
        self.copy = copy

    # ------------------------------------------------------------------ checks

    def _checked(self, X, in_fit):
        dtype = FLOATS_AND_HALF
        if self.strategy in ("most_frequent", "constant"):
            of_text = isinstance(X, list) and any(isinstance(v, str) for row in X for v in row)
            dtype = object if of_text else None
        if not in_fit and self._fit_dtype.kind == "O":
            dtype = self._fit_dtype
        absent = is_pandas_na(self.missing_values) or is_plain_nan(self.missing_values)
        try:
            X = validate_data(
                self, X, reset=in_fit, accept_sparse="csc", dtype=dtype,
                force_writeable=None if in_fit else True,
                ensure_all_finite="allow-nan" if absent else True,
                copy=False if in_fit else self.copy,
            )  # fmt: skip
        except ValueError as error:
            if "could not convert" in str(error):
                raise ValueError(
                    f"Cannot use {self.strategy} strategy with non-numeric data:\n{error}"
                ) from None
            raise
        if in_fit:
            self._fit_dtype = X.dtype
        check_kinds(X, self.missing_values)
        if X.dtype.kind not in "iufO":
            raise ValueError(KINDS.format("SimpleImputer", X.dtype))
        if sp.issparse(X) and self.missing_values == 0:
            raise ValueError(
                "Imputation not possible when missing_values == 0 and input is sparse. Provide a "
                "dense array instead."
            )
        if self.strategy == "constant":
            self._check_fill_type(X, in_fit)
        return X

    def _check_fill_type(self, X, in_fit):
        if in_fit and self.fill_value is None:
            return
        kind = type(self.fill_value) if in_fit else self._fill_dtype
        if np.can_cast(kind, X.dtype, casting="same_kind"):
            return
        if in_fit:
            raise ValueError(
                f"fill_value={self.fill_value!r} (of type {kind!r}) cannot be cast to the input "
                f"data that is {X.dtype!r}. If fill_value is a Python scalar, instead pass  a "
                "numpy scalar (e.g. fill_value=np.uint8(0) if your data is of type np.uint8). "
                "Make sure that both dtypes are of the same kind."
            )
        raise ValueError(
            f"The dtype of the filling value (i.e. {kind!r}) cannot be cast to the input data that "
            f"is {X.dtype!r}. Make sure that the dtypes of the input data are of the same kind "
            "between fit and transform."
        )

    # ------------------------------------------------------------------ learning

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn what to fill in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        {y}

        Returns
        -------
        {self}
        """
        X = self._checked(X, in_fit=True)
        fill = self.fill_value
        if fill is None:
            fill = 0 if X.dtype.kind in "iuf" else "missing_value"
        self._fill_dtype = X.dtype
        mask = get_mask(X, self.missing_values)
        learn = self._of_sparse if sp.issparse(X) else self._of_dense
        self.statistics_ = learn(X, mask, fill)
        self._fit_indicator(mask)
        return self

    def _of_dense(self, X, mask, fill):
        d = X.shape[1]
        empty = mask.all(axis=0)
        if self.strategy == "constant":
            found = np.full(d, fill, dtype=object)
            if not self.keep_empty_features:
                found[empty] = np.nan
            return found
        if self.strategy in ("mean", "median"):
            values = X if X.dtype != np.float16 else X.astype(np.float32)
            if not is_plain_nan(self.missing_values):
                values = np.where(mask, np.nan, values)
            if self.strategy == "mean":
                found = moments(values).means
            else:
                found = quantiles(values, [0.5])[0][0]
            found[empty] = 0.0 if self.keep_empty_features else np.nan
            return found
        found = np.empty(d, dtype=object if X.dtype.kind == "O" else np.float64)
        for j in range(d):
            values = X[~mask[:, j], j]
            if callable(self.strategy):
                found[j] = self.strategy(values)
            elif not len(values) and self.keep_empty_features:
                found[j] = 0
            else:
                found[j] = most_frequent(values)
        return found

    def _of_sparse(self, X, mask, fill):
        n, d = X.shape
        found = np.full(d, fill if self.strategy == "constant" else np.nan, dtype=np.float64)
        absent = np.asarray(mask.data, dtype=bool)
        for j, (first, last) in enumerate(zip(X.indptr[:-1], X.indptr[1:])):
            values = X.data[first:last][~absent[first:last]]
            n_zeros = n - (last - first) + int(np.sum(values == 0))
            values = values[values != 0]
            if self.strategy == "constant":
                if not self.keep_empty_features and absent[first:last].all():
                    found[j] = np.nan
            elif not len(values) and self.keep_empty_features:
                found[j] = 0.0
            elif callable(self.strategy):
                found[j] = self.strategy(values)
            elif self.strategy == "most_frequent":
                found[j] = most_frequent(values, zeros=n_zeros)
            elif len(values) + n_zeros:
                whole = np.concatenate([values.astype(np.float64), np.zeros(n_zeros)])
                mean = self.strategy == "mean"
                found[j] = whole.mean() if mean else quantiles_of(whole, np.array([0.5]))[0]
        return found

    # ------------------------------------------------------------------ filling in

    def transform(self, X):
        """Fill in what is missing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        {X_imputed}
        """
        check_is_fitted(self)
        X = self._checked(X, in_fit=False)
        if X.shape[1] != len(self.statistics_):
            raise ValueError(
                f"X has {X.shape[1]} features per sample, expected {len(self.statistics_)}"
            )
        mask = get_mask(X, self.missing_values)
        values, kept = self.statistics_, None
        if not self.keep_empty_features:
            useless = get_mask(values, np.nan)
            if useless.any():
                kept = np.flatnonzero(~useless)
                names = np.flatnonzero(useless)
                if hasattr(self, "feature_names_in_"):
                    names = self.feature_names_in_[names]
                warnings.warn(
                    f"Skipping features without any observed values: {names}. At least one "
                    "non-missing value is needed for imputation with strategy="
                    f"'{self.strategy}'.",
                    stacklevel=2,
                )
                X, values = X[:, kept], values[kept]
        values = values.astype(self._fill_dtype, copy=False)
        if sp.issparse(X):
            absent = get_mask(X.data, self.missing_values)
            columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
            X.data[absent] = values[columns[absent]]
        else:
            absent = mask if kept is None else mask[:, kept]
            rows, columns = np.nonzero(absent)
            X[rows, columns] = values[columns]
        return self._with_indicator(X, mask)

    def inverse_transform(self, X):
        """Put the missing values back, by the indicator's columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features + n_features_missing_indicator)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if not self.add_indicator:
            raise ValueError(
                "'inverse_transform' works only when 'SimpleImputer' is instantiated with "
                f"'add_indicator=True'. Got 'add_indicator={self.add_indicator}' instead."
            )
        n_kept = X.shape[1] - len(self.indicator_.features_)
        absent = np.zeros((X.shape[0], len(self.statistics_)), dtype=bool)
        absent[:, self.indicator_.features_] = X[:, n_kept:].astype(bool)
        found = np.zeros(absent.shape)
        found[:, np.flatnonzero(~absent.all(axis=0))[:n_kept]] = X[:, :n_kept]
        found[absent] = self.missing_values
        return found

    def get_feature_names_out(self, input_features=None):
        """Names of the columns.

        Parameters
        ----------
        {input_features}

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        kept = names[~get_mask(self.statistics_, np.nan)]
        return self._names_with_indicator(kept, names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        absent = is_pandas_na(self.missing_values) or is_plain_nan(self.missing_values)
        tags.input_tags.allow_nan = absent
        return tags
