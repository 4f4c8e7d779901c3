"""A column for each category."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.categories import is_nan
from fastml._sklearn import (
    Interval,
    RealNotInt,
    StrOptions,
    align_api_if_sparse,
    check_feature_names_in,
    fit_context,
    get_output_config,
)
from fastml._validation import check_array
from fastml.preprocessing._encoders._base import ENTRIES, INFREQUENT, CategoryEncoder


def _joined(feature, category):
    return f"{feature}_{category}"


@documented(ENTRIES)
class OneHotEncoder(CategoryEncoder):
    """A column of zeros and ones for each category.

    z_k = [x = category k]

    Rows are encoded by hashing, on threads. A missing value is a category like any other.

    Parameters
    ----------
    {categories}
    drop : {'first', 'if_binary'} or array-like of shape (n_features,), default=None
        Category without a column: the first, the first of two, or those given.
    sparse_output : bool, default=True
        Return a CSR matrix.
    {dtype}
    handle_unknown : {'error', 'ignore', 'infrequent_if_exist', 'warn'}, default='error'
        What a category is that was not seen: an error; zeros only; as the infrequent ones, if
        there are any, else zeros; the same with a warning.
    {min_frequency}
    {max_categories}
    feature_name_combiner : 'concat' or callable, default='concat'
        ``f(feature, category)`` gives the name of a column; 'concat': joined by "_".

    Attributes
    ----------
    {categories_}
    drop_idx_ : ndarray of shape (n_features,) or None
        Category without a column; None for none.
    {infrequent_categories_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import OneHotEncoder
    >>> OneHotEncoder(sparse_output=False).fit_transform([["red"], ["blue"]])
    array([[0., 1.],
           [1., 0.]])
    """

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "drop": [StrOptions({"first", "if_binary"}), "array-like", None],
        "dtype": "no_validation",
        "handle_unknown": [StrOptions({"error", "ignore", "infrequent_if_exist", "warn"})],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "sparse_output": ["boolean"],
        "feature_name_combiner": [StrOptions({"concat"}), callable],
    }

    def __init__(
        self,
        *,
        categories="auto",
        drop=None,
        sparse_output=True,
        dtype=np.float64,
        handle_unknown="error",
        min_frequency=None,
        max_categories=None,
        feature_name_combiner="concat",
    ):
        self.categories = categories
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.drop = drop
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.feature_name_combiner = feature_name_combiner

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
        factors = self._learn_categories(X, handle_unknown=self.handle_unknown)
        self._group_infrequent(factors)
        self._choose_dropped()
        return self

    # ------------------------------------------------------------------ what is dropped

    def _n_codes(self, j) -> int:
        rare = self._infrequent_indices[j]
        return len(self.categories_[j]) - (0 if rare is None else len(rare) - 1)

    def _choose_dropped(self):
        """Set the code without a column of each feature, and ``drop_idx_``."""
        n = len(self.categories_)
        if self.drop is None:
            self._dropped_codes = None
            self.drop_idx_ = None
            return
        if isinstance(self.drop, str):
            first = self.drop == "first"
            dropped = [0 if first or self._n_codes(j) == 2 else None for j in range(n)]
        else:
            dropped = self._dropped_by_name()
        self._dropped_codes = dropped
        self.drop_idx_ = np.empty(n, dtype=object)
        for j, code in enumerate(dropped):
            group = self._default_to_infrequent_mappings[j]
            if code is not None and group is not None:
                code = np.flatnonzero(group == code)[0]
            self.drop_idx_[j] = code

    def _dropped_by_name(self):
        names = np.asarray(self.drop, dtype=object)
        if len(names) != len(self.categories_):
            raise ValueError(
                "`drop` should have length equal to the number of features "
                f"({len(self.categories_)}), got {len(names)}"
            )
        dropped, missing = [], []
        for j, (name, categories) in enumerate(zip(names, self.categories_)):
            if is_nan(name):
                at = [k for k, category in enumerate(categories) if is_nan(category)]
            else:
                at = np.flatnonzero(categories == name)
            if not len(at):
                missing.append(f"Category: {j}, Feature: {name}")
                continue
            at = int(at[0])
            group, rare = self._default_to_infrequent_mappings[j], self._infrequent_indices[j]
            if rare is not None and at in rare:
                raise ValueError(
                    f"Unable to drop category {np.asarray(categories[at]).item()!r} from feature "
                    f"{j} because it is infrequent"
                )
            dropped.append(at if group is None else int(group[at]))
        if missing:
            listed = "\n".join(missing)
            raise ValueError(
                "The following categories were supposed to be dropped, but were not found in the "
                f"training data.\n{listed}"
            )
        return dropped

    # ------------------------------------------------------------------ columns

    def _columns(self, j):
        """(column of each category of feature j and, last, of unknown ones; number of columns).

        −1: no column.
        """
        n_categories = len(self.categories_[j])
        group, rare = self._default_to_infrequent_mappings[j], self._infrequent_indices[j]
        codes = np.arange(n_categories) if group is None else group
        n_codes = self._n_codes(j)
        unknown = -1
        if rare is not None and self.handle_unknown in ("infrequent_if_exist", "warn"):
            unknown = n_codes - 1
        codes = np.append(codes, unknown)
        dropped = None if self._dropped_codes is None else self._dropped_codes[j]
        if dropped is not None:
            codes = np.where(codes == dropped, -1, codes - (codes > dropped))
            n_codes -= 1
        return codes, n_codes

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        X_out : {ndarray, sparse matrix} of shape (n_samples, n_encoded_features)
        """
        check_is_fitted(self)
        container = get_output_config("transform", estimator=self)["dense"]
        if container != "default" and self.sparse_output:
            name = container.capitalize()
            raise ValueError(
                f"{name} output does not support sparse data. Set sparse_output=False to output "
                f"{container} dataframes or disable {name} output via` "
                'ohe.set_output(transform="default").'
            )
        handling, warn = self.handle_unknown, None
        if handling == "warn" or (handling == "infrequent_if_exist" and self.drop is not None):
            handling, warn = "infrequent_if_exist", "the infrequent category."
        elif handling == "ignore" and self.drop is not None:
            warn = "all zeros"
        found = self._find(X, handle_unknown=handling, warn=warn)
        n = len(found[0].codes) if found else 0
        columns = np.empty((n, len(found)), dtype=np.int32)
        first, complete = 0, True
        for j, place in enumerate(found):
            of_category, n_columns = self._columns(j)
            of_value = of_category[place.places]
            complete = complete and not (of_value < 0).any()
            columns[:, j] = np.where(of_value < 0, -1, of_value + first)[place.codes]
            first += n_columns
        if complete:
            indices, starts = columns.ravel(), np.arange(n + 1, dtype=np.int64) * len(found)
        else:
            there = columns >= 0
            indices, starts = columns[there], np.zeros(n + 1, dtype=np.int64)
            np.cumsum(there.sum(axis=1), out=starts[1:])
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        values = np.ones(len(indices), dtype=self.dtype)
        out = sp.csr_array((values, indices, starts), shape=(n, first))
        return align_api_if_sparse(out) if self.sparse_output else out.toarray()

    def inverse_transform(self, X):
        """Categories of encoded rows; None where a row has no column and none was dropped.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_encoded_features)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr")
        widths = [self._columns(j)[1] for j in range(len(self.categories_))]
        if X.shape[1] != sum(widths):
            raise ValueError(
                f"Shape of the passed X data is not correct. Expected {sum(widths)} columns, got "
                f"{X.shape[1]}."
            )
        names = [self._code_names(j) for j in range(len(widths))]
        out = np.empty((X.shape[0], len(widths)), dtype=np.result_type(*[n.dtype for n in names]))
        nowhere, first = {}, 0
        for j, width in enumerate(widths):
            dropped = None if self._dropped_codes is None else self._dropped_codes[j]
            kept = names[j] if dropped is None else np.delete(names[j], dropped)
            if width == 0:
                out[:, j] = names[j][dropped]
                continue
            part = X[:, first : first + width]
            first += width
            out[:, j] = kept[np.asarray(part.argmax(axis=1)).ravel()]
            empty = np.asarray(part.sum(axis=1) == 0).ravel()
            if not empty.any():
                continue
            if dropped is not None:
                out[empty, j] = names[j][dropped]
            elif self.handle_unknown == "ignore" or (
                self.handle_unknown in ("infrequent_if_exist", "warn")
                and self._infrequent_indices[j] is None
            ):
                nowhere[j] = empty
            else:
                raise ValueError(
                    f"Samples {np.flatnonzero(empty)} can not be inverted when drop=None and "
                    "handle_unknown='error' because they contain all zeros"
                )
        if nowhere:
            out = out.astype(object)
            for j, empty in nowhere.items():
                out[empty, j] = None
        return out

    def _code_names(self, j):
        """Categories by code; the infrequent ones have one name."""
        categories, group = self.categories_[j], self._default_to_infrequent_mappings[j]
        if group is None:
            return categories
        often = categories[group < group.max()]
        return np.concatenate([often, np.array([INFREQUENT], dtype=object)])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: feature_category.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self)
        features = check_feature_names_in(self, input_features)
        join = _joined
        if self.feature_name_combiner != "concat":
            join = self.feature_name_combiner
            tried = join("feature", "category")
            if not isinstance(tried, str):
                raise TypeError(
                    "When `feature_name_combiner` is a callable, it should return a Python "
                    f"string. Got {type(tried)} instead."
                )
        names = []
        for j, feature in enumerate(features):
            dropped = None if self._dropped_codes is None else self._dropped_codes[j]
            kept = self._code_names(j)
            kept = kept if dropped is None else np.delete(kept, dropped)
            names += [join(feature, category) for category in kept]
        return np.array(names, dtype=object)
