"""Categories of every column: learned, given, rare ones grouped; rows → their places."""

from __future__ import annotations

import numbers
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from fastml._engines.categories import factorise, is_nan, positions, sorted_factor
from fastml._validation import check_array, validate_data

INFREQUENT = "infrequent_sklearn"

ENTRIES = {
    "categories": """
        categories : 'auto' or a list of array-like, default='auto'
            'auto': the distinct values of each column, sorted, None and NaN last. Or the
            categories of each column, numbers in order.
    """,
    "dtype": """
        dtype : number type, default=np.float64
            Of the result.
    """,
    "min_frequency": """
        min_frequency : int or float, default=None
            Categories with fewer rows (a float: a smaller share of them) are infrequent: they
            are encoded as one.
    """,
    "max_categories": """
        max_categories : int, default=None
            At most so many, the infrequent one included; the most frequent are kept.
    """,
    "X": """
        X : array-like of shape (n_samples, n_features)
            Text, numbers or other values; columns of pandas, polars and Arrow keep their codes.
    """,
    "categories_": """
        categories_ : list of ndarray
            Of each column.
    """,
    "infrequent_categories_": """
        infrequent_categories_ : list of ndarray
            Those encoded as one, of each column; None where there are none.
    """,
}


class Places(NamedTuple):
    """Rows of one column: distinct values, where they are among the categories (−1: nowhere)."""

    values: NDArray
    places: NDArray  # of the values
    codes: NDArray  # of the rows, among the values

    @property
    def rows(self) -> NDArray:
        """Place of each row's category."""
        return self.places[self.codes]

    @property
    def unknown(self) -> list:
        """Values that are no category."""
        return list(self.values[self.places < 0])


def columns_of(X) -> list:
    """Columns of X as `factorise` takes them; scikit-learn's errors for what is no table."""
    is_pandas = hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2
    kind = type(X).__module__.partition(".")[0]
    if is_pandas and len(X):
        return [_checked(X.iloc[:, j]) for j in range(X.shape[1])]
    if kind == "polars" and hasattr(X, "get_columns") and len(X) and X.width:
        return [_checked(column) for column in X.get_columns()]
    if kind == "pyarrow" and hasattr(X, "itercolumns") and len(X) and X.num_columns:
        return list(X.itercolumns())
    checked = check_array(X, dtype=None, ensure_all_finite="allow-nan")
    if not hasattr(X, "dtype") and checked.dtype.kind == "U":
        checked = check_array(X, dtype=object, ensure_all_finite="allow-nan")
    return [checked[:, j] for j in range(checked.shape[1])]


def _checked(column):
    """Numbers as an array without infinity; text and categories as they are."""
    dtype = column.dtype
    name = getattr(dtype, "name", str(dtype))
    text = type(dtype).__name__ in ("StringDtype", "ArrowDtype", "String", "Categorical", "Enum")
    if text or name == "category":
        return column
    return check_array(column, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan")


class CategoryEncoder(TransformerMixin, BaseEstimator):
    """An encoder of columns of categories."""

    def _learn_categories(self, X, *, handle_unknown, count=False):
        """Set ``categories_``; return factors of the columns, their values in order if learned."""
        validate_data(self, X=X, reset=True, skip_check_array=True)
        columns = columns_of(X)
        self.n_features_in_ = len(columns)
        given = self.categories
        if not isinstance(given, str) and len(given) != len(columns):
            raise ValueError(
                "Shape mismatch: if categories is an array, it has to be of shape (n_features,)."
            )
        found, factors = [], []
        for j, column in enumerate(columns):
            factor = sorted_factor(factorise(column))
            if isinstance(given, str):
                found.append(factor.values)
            else:
                categories = _given_categories(given[j], factor.values, j)
                found.append(categories)
                if handle_unknown == "error":
                    at = positions(factor.values, categories)
                    if (at < 0).any():
                        raise ValueError(
                            f"Found unknown categories {list(factor.values[at < 0])} in column "
                            f"{j} during fit"
                        )
            factors.append(factor)
        self.categories_ = found
        if getattr(self, "_keeps_codes", False):
            self._codes_of_fit = factors
        return factors

    def fit_transform(self, X, y=None, **fit_params):
        """Learn the categories and encode the same rows, whose values are looked at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        **fit_params : dict
            For `fit`.

        Returns
        -------
        X_out : {ndarray, sparse matrix} of shape (n_samples, n_features_new)
        """
        self._keeps_codes = True
        try:
            return self.fit(X, y, **fit_params).transform(X)
        finally:
            vars(self).pop("_keeps_codes", None)
            vars(self).pop("_codes_of_fit", None)

    def _counts(self, factors) -> list[NDArray]:
        """Rows of each category."""
        counted = []
        for factor, categories in zip(factors, self.categories_):
            at = positions(factor.values, categories)
            counts = np.zeros(len(categories), dtype=np.int64)
            np.add.at(counts, at[at >= 0], factor.counts[at >= 0])
            counted.append(counts)
        return counted

    def _group_infrequent(self, factors, *, but_missing=False):
        """Set the code of each category, the infrequent ones sharing the last (None: no group)."""
        asked = self.max_categories is not None or self.min_frequency is not None
        self._infrequent_enabled = asked
        self._infrequent_indices: list = [None] * len(self.categories_)
        self._default_to_infrequent_mappings: list = [None] * len(self.categories_)
        if not asked:
            return
        n = len(factors[0].codes) if factors else 0
        for j, counts in enumerate(self._counts(factors)):
            if but_missing and j in self._missing_indices:
                counts = counts[: self._missing_indices[j]]
            rare = self._rare(counts, n)
            if not len(rare):
                continue
            self._infrequent_indices[j] = rare
            group = np.full(len(counts), len(counts) - len(rare), dtype=np.int64)
            often = np.setdiff1d(np.arange(len(counts)), rare)
            group[often] = np.arange(len(often))
            self._default_to_infrequent_mappings[j] = group

    def _rare(self, counts, n) -> NDArray:
        rare = np.zeros(len(counts), dtype=bool)
        if self.min_frequency is not None:
            whole = isinstance(self.min_frequency, numbers.Integral)
            rare = counts < (self.min_frequency if whole else n * self.min_frequency)
        n_codes = len(counts) - rare.sum() + 1
        if self.max_categories is not None and self.max_categories < n_codes:
            n_often = self.max_categories - 1
            by_count = np.argsort(counts, kind="stable")
            rare[by_count[: len(counts) - n_often]] = True
        return np.flatnonzero(rare)

    @property
    def infrequent_categories_(self):
        """Categories that are encoded as one, of each column; None where there are none."""
        return [
            None if rare is None else categories[rare]
            for categories, rare in zip(self.categories_, self._infrequent_indices)
        ]

    def _find(self, X, *, handle_unknown, warn=None) -> list[Places]:
        """Where the rows of each column are among its categories."""
        factors = vars(self).get("_codes_of_fit")
        if factors is None:
            columns = columns_of(X)
            validate_data(self, X=X, reset=False, skip_check_array=True)
            factors = map(factorise, columns)
        found, with_unknown = [], []
        for j, (values, codes) in enumerate(factors):
            place = Places(values, positions(values, self.categories_[j]), codes)
            if (place.places < 0).any():
                if handle_unknown == "error":
                    raise ValueError(
                        f"Found unknown categories {_each_once(place.unknown)} in column {j} "
                        "during transform"
                    )
                with_unknown.append(j)
            found.append(place)
        if with_unknown and warn is not None:
            warnings.warn(
                f"Found unknown categories in columns {with_unknown} during transform. These "
                f"unknown categories will be encoded as {warn}",
                UserWarning,
                stacklevel=3,
            )
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def _each_once(values: list) -> list:
    """NaN once, at the end."""
    plain = [value for value in values if not is_nan(value)]
    return plain + ([np.nan] if len(plain) < len(values) else [])


def _given_categories(given, values, j):
    """Categories that the user gave for column j, in the type of the column's values."""
    dtype = {"U": np.dtype(object), "S": np.dtype("S")}.get(values.dtype.kind, values.dtype)
    try:
        categories = np.array(given, dtype=dtype)
    except (TypeError, ValueError):
        categories = np.array(given, dtype=object)
    if (
        categories.dtype == object
        and len(categories)
        and isinstance(categories[0], bytes)
        and values.dtype.kind != "S"
    ):
        raise ValueError(
            f"In column {j}, the predefined categories have type 'bytes' which is incompatible "
            f"with values of type '{type(values[0]).__name__}'."
        )
    if any(is_nan(category) for category in categories[:-1]):
        raise ValueError(
            "Nan should be the last element in user provided categories, see categories "
            f"{categories} in column #{j}"
        )
    if len(sorted_factor(factorise(categories)).values) < len(categories):
        raise ValueError(f"In column {j}, the predefined categories contain duplicate elements.")
    if values.dtype.kind not in "OUS":
        plain = categories[:-1] if len(categories) and is_nan(categories[-1]) else categories
        if (np.sort(plain) != plain).any():
            raise ValueError("Unsorted categories are not supported for numerical categories")
    return categories
