"""Values from the nearest rows."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    Hidden,
    Interval,
    StrOptions,
    check_feature_names_in,
    fit_context,
    get_mask,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, validate_data
from fastml.impute._indicator import ENTRIES, Imputer
from fastml.kernels.preprocessing.donors import nearest_donors

FLOATS_AND_HALF = (np.float64, np.float32, np.float16)


@documented(ENTRIES)
class KNNImputer(Imputer):
    """Fill in the mean of the nearest rows that have the value.

    The distance of two rows is √(d / shared · Σ_shared (x − y)²), over the columns that both have.
    Distances are computed in tiles and the nearest kept: there is no matrix of them. Of rows that
    are equally near the first counts.

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
    }

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
        X = validate_data(
            self, X, dtype=FLOATS_AND_HALF, ensure_all_finite=self._finite, copy=self.copy
        )
        self._fit_X = X
        self._mask_fit_X = get_mask(X, self.missing_values)
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
        values = np.where(mask[rows], 0.0, X[rows]).astype(np.float64)
        absent = self._mask_fit_X.T
        columns = np.where(absent, 0.0, self._fit_X.T).astype(np.float64)
        n, d = self._fit_X.shape
        work = 4.0 * n * d
        nearest_donors(
            kernel_view(values), kernel_view(~mask[rows]), kernel_view(columns),
            kernel_view(~absent, dtype=np.float64), kernel_view(starts),
            kernel_view(entries[:, 1], dtype=np.int64), chunk_rows(len(rows), work, at_least=8),
            distances, donors, n_threads=effective_n_threads(None, work=work * len(rows)),
        )  # fmt: skip
        return np.sqrt(distances * d), donors

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
