"""Values from the nearest rows."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    Hidden,
    Interval,
    StrOptions,
    check_categorical_features,
    check_feature_names_in,
    fit_context,
    get_mask,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, validate_data
from fastml.impute._indicator import ENTRIES, Imputer
from fastml.impute._simple import most_frequent
from fastml.kernels.preprocessing.donors import nearest_donors

FLOATS_AND_HALF = (np.float64, np.float32, np.float16)
VOTES_AT_ONCE = 1 << 20


def _voted(values, weights, usual):
    """The value of most weight in every row, the least of several; ``usual`` where none has any."""
    found = np.empty(len(values))
    step = max(1, VOTES_AT_ONCE // values.shape[1] ** 2)
    for first in range(0, len(values), step):
        value, weight = values[first : first + step], weights[first : first + step]
        votes = ((value[:, :, None] == value[:, None, :]) * weight[:, None, :]).sum(axis=2)
        most = votes.max(axis=1)
        winners = np.where((votes >= most[:, None]) & (weight > 0.0), value, np.inf).min(axis=1)
        found[first : first + step] = np.where(most > 0.0, winners, usual)
    return found


@documented(ENTRIES)
class KNNImputer(Imputer):
    """Fill in the mean of the nearest rows that have the value.

    The distance of two rows is √(d / shared · Σ_shared (x − y)²), over the columns that both have;
    of categories (x − y)² is 0 or 1, and the nearest rows vote instead of their mean. Distances are
    computed in tiles and the nearest kept: there is no matrix of them. Of rows that are equally
    near the first counts.

    Parameters
    ----------
    {missing_values}
    n_neighbors : int, default=5
        Rows whose mean is taken.
    weights : {'uniform', 'distance'} or callable, default='uniform'
        Weights of the rows: the same, 1 / distance, or a function of an array of distances.
    metric : 'nan_euclidean' or callable, default='nan_euclidean'
        A callable takes two rows and ``missing_values``, and returns their distance.
    copy : bool, default=True
        False: fill in X itself where it is a writeable array of floats.
    {add_indicator}
    {keep_empty_features}
    categorical_features : array-like, default=None
        Columns of categories, numbered in any way (`OrdinalEncoder` numbers text and leaves NaN,
        and brings the text back): places, names or a mask. Of categories with as many votes the
        least is filled in. Columns of numbers should be scaled: a difference of 1 is that of two
        categories.

    Attributes
    ----------
    {indicator_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.impute import KNNImputer
    >>> X = [[1.0, 10.0], [2.0, np.nan], [3.0, 30.0], [90.0, 900.0]]
    >>> KNNImputer(n_neighbors=2).fit_transform(X)[1]
    array([ 2., 20.])
    """

    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"}), callable, Hidden(None)],
        "metric": [StrOptions({"nan_euclidean"}), callable],
        "copy": ["boolean"],
        "categorical_features": ["array-like", None],
    }

    _levels: ClassVar[dict] = {}  # column of categories → those that `fit` met

    def __init__(
        self,
        *,
        missing_values=np.nan,
        n_neighbors=5,
        weights="uniform",
        metric="nan_euclidean",
        copy=True,
        add_indicator=False,
        keep_empty_features=False,
        categorical_features=None,
    ):
        super().__init__(
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
        )
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.copy = copy
        self.categorical_features = categorical_features

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Keep the rows.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        {self}
        """
        given = X
        X = validate_data(
            self, X, dtype=FLOATS_AND_HALF, ensure_all_finite=self._finite, copy=self.copy
        )
        chosen = check_categorical_features(given, self.categorical_features)
        self._fit_X = X
        self._mask_fit_X = get_mask(X, self.missing_values)
        self._levels = {
            j: np.unique(X[~self._mask_fit_X[:, j], j])
            for j in ([] if chosen is None else np.flatnonzero(chosen).tolist())
        }
        self._valid_mask = ~self._mask_fit_X.all(axis=0)
        self._fit_indicator(self._mask_fit_X)
        return self

    def transform(self, X):
        """Fill in what is missing.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_imputed}
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=FLOATS_AND_HALF, force_writeable=True, ensure_all_finite=self._finite,
            copy=self.copy, reset=False,
        )  # fmt: skip
        mask = get_mask(X, self.missing_values)
        entries = np.argwhere(mask & self._valid_mask)
        if len(entries):
            distances, donors = self._donors(X, mask, entries)
            self._fill(X, entries, distances, donors)
        if self.keep_empty_features:
            X[:, ~self._valid_mask] = 0
        else:
            X = X[:, self._valid_mask]
        return self._with_indicator(X, mask)

    def _donors(self, X, mask, entries):
        """(distances, rows) of the nearest donors of each missing entry; −1 for none."""
        k = min(self.n_neighbors, len(self._fit_X))
        distances = np.full((len(entries), k), np.inf)
        donors = np.full((len(entries), k), -1, dtype=np.int64)
        if callable(self.metric):
            return self._by_metric(X, entries, distances, donors)
        rows, starts = np.unique(entries[:, 0], return_index=True)
        starts = np.append(starts, len(entries)).astype(np.int64)
        values, there, firsts = self._spread(X[rows], mask[rows])
        columns, present, _ = self._spread(self._fit_X, self._mask_fit_X)
        n, d = self._fit_X.shape
        work = 4.0 * n * values.shape[1]
        nearest_donors(
            kernel_view(values), kernel_view(there > 0.0), kernel_view(columns.T),
            kernel_view(present.T), kernel_view(starts),
            kernel_view(firsts[entries[:, 1]], dtype=np.int64),
            chunk_rows(len(rows), work, at_least=8), distances, donors,
            n_threads=effective_n_threads(None, work=work * len(rows)),
        )  # fmt: skip
        return np.sqrt(distances * d), donors

    def _spread(self, X, mask):
        """(Values, weights of squares, where each column begins.)

        A column of L − 1 known categories becomes L columns, the last for all others, that weigh
        1 / L each: two categories are 1 apart, and the column counts once.
        """
        d = X.shape[1]
        widths = np.ones(d, dtype=np.intp)
        for j, levels in self._levels.items():
            widths[j] = len(levels) + 1
        firsts = np.cumsum(widths) - widths
        if not self._levels:
            return np.where(mask, 0.0, X).astype(np.float64), (~mask).astype(np.float64), firsts
        values, weights = np.zeros((2, len(X), int(widths.sum())))
        numbers = np.setdiff1d(np.arange(d), list(self._levels))
        values[:, firsts[numbers]] = np.where(mask, 0.0, X)[:, numbers]
        weights[:, firsts[numbers]] = ~mask[:, numbers]
        for j, levels in self._levels.items():
            size = widths[j]
            rows = np.flatnonzero(~mask[:, j])
            places = np.searchsorted(levels, X[rows, j])
            known = places < len(levels)
            known[known] = levels[places[known]] == X[rows[known], j]
            values[rows, firsts[j] + np.where(known, places, size - 1)] = np.sqrt(size / 2.0)
            weights[rows, firsts[j] : firsts[j] + size] = 1.0 / size
        return values, weights, firsts

    def _by_metric(self, X, entries, distances, donors):
        """The same with a user's metric, one pair of rows after the other."""
        k, last = distances.shape[1], -1
        for e, (i, j) in enumerate(entries):
            if i != last:
                row = np.array(
                    [self.metric(X[i], y, missing_values=self.missing_values) for y in self._fit_X],
                    dtype=np.float64,
                )
                last = i
            usable = np.flatnonzero(~self._mask_fit_X[:, j] & ~np.isnan(row))
            nearest = usable[np.argsort(row[usable], kind="stable")[:k]]
            distances[e, : len(nearest)], donors[e, : len(nearest)] = row[nearest], nearest
        return distances, donors

    def _fill(self, X, entries, distances, donors):
        found = donors >= 0
        distances = np.where(found, distances, np.nan)
        for j in np.unique(entries[:, 1]):
            here = np.flatnonzero(entries[:, 1] == j)
            column = self._fit_X[:, j].astype(np.float64)
            there = found[here]
            weights = self._weights_of(distances[here])
            weights = np.where(there & ~np.isnan(weights), weights, 0.0)
            values = np.where(there, column[donors[here]], 0.0)
            if j in self._levels:
                usual = most_frequent(column[~self._mask_fit_X[:, j]])
                X[entries[here, 0], j] = _voted(values, weights, usual)
                continue
            total = weights.sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (weights * values).sum(axis=1) / total
            alone = ~there.any(axis=1)  # no row shares a column with it
            if alone.any():
                means[alone] = column[~self._mask_fit_X[:, j]].mean()
            means[(total == 0.0) & ~alone] = 0.0
            X[entries[here, 0], j] = means

    def _weights_of(self, distances):
        if self.weights in (None, "uniform"):
            return np.ones_like(distances)
        if callable(self.weights):
            given = self.weights(distances)
            return np.ones_like(distances) if given is None else np.asarray(given, dtype=np.float64)
        with np.errstate(divide="ignore"):
            weights = 1.0 / distances
        same = np.isinf(weights)
        twins = same.any(axis=1)
        weights[twins] = same[twins]
        return weights

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
        return self._names_with_indicator(names[self._valid_mask], names)
