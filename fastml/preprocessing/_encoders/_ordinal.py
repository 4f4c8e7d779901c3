"""A number for each category."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.categories import is_nan
from fastml._sklearn import Interval, RealNotInt, StrOptions, fit_context, get_mask
from fastml._validation import check_array
from fastml.preprocessing._encoders._base import ENTRIES, INFREQUENT, CategoryEncoder


@documented(ENTRIES)
class OrdinalEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """The number of each category: 0, 1, … in the order of the categories.

    z = k where x = category k

    Infrequent, unknown and missing values each have a code of their own.

    Parameters
    ----------
    {categories}
    {dtype}
    handle_unknown : {'error', 'use_encoded_value'}, default='error'
        What a category is that was not seen: an error, or ``unknown_value``.
    unknown_value : int or np.nan, default=None
        Must be no code of a category.
    encoded_missing_value : int or np.nan, default=np.nan
        The code of NaN.
    {min_frequency}
    {max_categories}

    Attributes
    ----------
    {categories_}
    {n_features_in_}
    {feature_names_in_}
    {infrequent_categories_}

    Examples
    --------
    >>> from fastml.preprocessing import OrdinalEncoder
    >>> OrdinalEncoder().fit_transform([["low"], ["high"], ["low"]]).ravel()
    array([1., 0., 1.])
    """

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "dtype": "no_validation",
        "encoded_missing_value": [Integral, type(np.nan)],
        "handle_unknown": [StrOptions({"error", "use_encoded_value"})],
        "unknown_value": [Integral, type(np.nan), None],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
    }

    def __init__(
        self,
        *,
        categories="auto",
        dtype=np.float64,
        handle_unknown="error",
        unknown_value=None,
        encoded_missing_value=np.nan,
        min_frequency=None,
        max_categories=None,
    ):
        self.categories = categories
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.unknown_value = unknown_value
        self.encoded_missing_value = encoded_missing_value
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the categories.

        Parameters
        ----------
        {X}
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._check_unknown_value()
        factors = self._learn_categories(X, handle_unknown=self.handle_unknown)
        self._missing_indices = {
            j: len(categories) - 1
            for j, categories in enumerate(self.categories_)
            if len(categories) and is_nan(categories[-1])
        }
        self._group_infrequent(factors, but_missing=True)
        self._check_codes_differ()
        return self

    def _check_unknown_value(self):
        if self.handle_unknown == "use_encoded_value":
            if is_nan(self.unknown_value):
                if np.dtype(self.dtype).kind != "f":
                    raise ValueError(
                        "When unknown_value is np.nan, the dtype parameter should be a float "
                        f"dtype. Got {self.dtype}."
                    )
            elif not isinstance(self.unknown_value, Integral):
                raise TypeError(
                    "unknown_value should be an integer or np.nan when handle_unknown is "
                    f"'use_encoded_value', got {self.unknown_value}."
                )
        elif self.unknown_value is not None:
            raise TypeError(
                "unknown_value should only be set when handle_unknown is 'use_encoded_value', got "
                f"{self.unknown_value}."
            )

    def _check_codes_differ(self):
        n_codes = [len(categories) for categories in self.categories_]
        for j, rare in enumerate(self._infrequent_indices):
            n_codes[j] -= (0 if rare is None else len(rare)) + (j in self._missing_indices)
        coded = self.handle_unknown == "use_encoded_value"
        if coded and any(0 <= self.unknown_value < n for n in n_codes):
            raise ValueError(
                f"The used value for unknown_value {self.unknown_value} is one of the values "
                "already used for encoding the seen categories."
            )
        missing = self.encoded_missing_value
        if not self._missing_indices:
            return
        if is_nan(missing):
            if np.dtype(self.dtype).kind != "f":
                raise ValueError(
                    f"There are missing values in features {list(self._missing_indices)}. For "
                    f"OrdinalEncoder to encode missing values with dtype: {self.dtype}, set "
                    "encoded_missing_value to a non-nan value, or set dtype to a float"
                )
            return
        clash = [j for j in self._missing_indices if 0 <= missing < n_codes[j]]
        if clash:
            if hasattr(self, "feature_names_in_"):
                clash = self.feature_names_in_[clash]
            raise ValueError(
                f"encoded_missing_value ({missing}) is already used to encode a known category in "
                f"features: {clash}"
            )

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self, "categories_")
        found = self._find(X, handle_unknown=self.handle_unknown)
        out = np.empty((len(found[0].codes) if found else 0, len(found)), dtype=self.dtype)
        for j, place in enumerate(found):
            group = self._default_to_infrequent_mappings[j]
            codes = np.arange(len(self.categories_[j])) if group is None else group
            codes = codes.astype(self.dtype)
            if j in self._missing_indices:
                codes = np.append(codes[: self._missing_indices[j]], self.encoded_missing_value)
            if self.handle_unknown == "use_encoded_value":
                codes = np.append(codes, self.unknown_value)  # where place −1 points to
            out[:, j] = codes[place.places].astype(self.dtype)[place.codes]
        return out

    def inverse_transform(self, X):
        """Categories of codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_encoded_features)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, ensure_all_finite="allow-nan")
        if X.shape[1] != len(self.categories_):
            raise ValueError(
                "Shape of the passed X data is not correct. Expected "
                f"{len(self.categories_)} columns, got {X.shape[1]}."
            )
        columns, as_objects = [], self.handle_unknown == "use_encoded_value"
        for j, categories in enumerate(self.categories_):
            codes = X[:, j]
            missing = np.zeros(len(codes), dtype=bool)
            names = categories
            if j in self._missing_indices:
                missing = get_mask(codes, self.encoded_missing_value)
                names = categories[: self._missing_indices[j]]
            rare = self._infrequent_indices[j]
            if rare is not None:
                often = np.delete(names, rare)
                names = np.append(often.astype(object), INFREQUENT)
                as_objects = True
            unknown = np.zeros(len(codes), dtype=bool)
            if self.handle_unknown == "use_encoded_value":
                unknown = get_mask(codes, self.unknown_value) & ~missing
            column = np.empty(len(codes), dtype=np.result_type(names.dtype, categories.dtype))
            known = ~(missing | unknown)
            column[known] = names[codes[known].astype(np.int64)]
            if missing.any():
                column[missing] = categories[-1]
            if unknown.any():
                column = column.astype(object)
                column[unknown] = None
            columns.append(column)
        dtype = object if as_objects else np.result_type(*[c.dtype for c in columns])
        out = np.empty(X.shape, dtype=dtype)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out
