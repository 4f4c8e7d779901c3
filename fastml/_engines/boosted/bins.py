"""Quantile bins: which threshold separates which values, and the matrix of bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.hist.bins import WIDTH, bin_rows

ALMOST_INF = 1e300
"""Thresholds stay below it: only a split of missing values against the rest may be infinite."""

SUBSAMPLE = 200_000
"""Rows that the quantiles are taken from, at most."""


class BinMapper:
    """Bins of every feature, as scikit-learn's: exact for few distinct values, else quantiles.

    Parameters
    ----------
    max_bins : int, default=255
        Most bins of a feature, the bin of missing values not counted.
    n_categories : sequence of int, default=None
        Per feature, how many categories it has (codes 0, 1, ...), or 0 if it is a number.
    random_state : int or RandomState, default=None
        Which rows the quantiles are taken from, where there are more than ``subsample``.
    subsample : int or None, default=200_000
        Rows to take the quantiles from.
    n_jobs : int, default=None
        Threads.

    Attributes
    ----------
    bin_thresholds_ : list of ndarray of float64
        Ascending; x is in bin i if ``thresholds[i - 1] < x <= thresholds[i]``. The codes themselves
        if the feature is categorical.
    n_bins_non_missing_ : ndarray of uint32
        Bins in use.
    missing_values_bin_idx_ : int
        ``max_bins``: the bin of NaN, of every feature.
    is_categorical_ : ndarray of uint8
    sources : ndarray or None
        The column of the rows that each feature reads; None: its own. Trees of other libraries may
        split one column by more thresholds than a byte can number; it then serves as several.
    """

    sources: NDArray | None = None

    def __init__(
        self,
        max_bins=255,
        *,
        n_categories=None,
        random_state=None,
        subsample=SUBSAMPLE,
        n_jobs=None,
    ):
        self.max_bins = max_bins
        self.n_categories = n_categories
        self.random_state = random_state
        self.subsample = subsample
        self.n_jobs = n_jobs

    def fit(self, X: NDArray, sample_weight: NDArray | None = None) -> BinMapper:
        n_rows, n_features = X.shape
        if self.n_categories is None:
            self.n_categories_ = np.zeros(n_features, dtype=np.intp)
        else:
            self.n_categories_ = np.asarray(self.n_categories, dtype=np.intp)
        self.is_categorical_ = (self.n_categories_ > 0).astype(np.uint8)
        self.missing_values_bin_idx_ = self.max_bins
        if self.subsample is not None and n_rows > self.subsample:
            X, sample_weight = self._draw(X, sample_weight)
        columns = np.array(X.T, order="C")  # a copy of its own
        if sample_weight is None:
            columns.sort(axis=1)  # NaN goes last
        self.bin_thresholds_ = []
        for f, column in enumerate(columns):
            if self.n_categories_[f]:
                thresholds = np.arange(self.n_categories_[f], dtype=np.float64)
            elif sample_weight is None:
                thresholds = thresholds_of_sorted(column, self.max_bins)
            else:
                thresholds = thresholds_of_weighted(column, sample_weight, self.max_bins)
            self.bin_thresholds_.append(thresholds)
        counts = [
            len(t) + (0 if categorical else 1)
            for t, categorical in zip(self.bin_thresholds_, self.is_categorical_)
        ]
        self.n_bins_non_missing_ = np.array(counts, dtype=np.uint32)
        return self

    def transform(self, X: NDArray, n_jobs: int | None = None) -> NDArray:
        """Bins of ``X``: uint8, C order, one row per row."""
        self.check_width(X)
        X = kernel_view(X if self.sources is None else X[:, self.sources])
        n_rows, n_features = X.shape
        out = np.empty((n_rows, n_features), dtype=np.uint8)
        table = self.threshold_table(X.dtype)
        rows = chunk_rows(n_rows, 8.0 * n_features)
        bin_rows(
            -(-n_rows // rows),
            rows,
            X,
            table,
            self.n_categories_,
            self.missing_values_bin_idx_,
            out,
            n_threads=effective_n_threads(n_jobs or self.n_jobs, 8.0 * n_rows * n_features),
        )
        return out

    def check_width(self, X: NDArray) -> None:
        """Kernels read as many columns as there were in fit."""
        known = len(self.bin_thresholds_) if self.sources is None else self.n_columns
        if X.shape[1] != known:
            raise ValueError(f"X has {X.shape[1]} features, but the trees know {known}")

    @property
    def n_columns(self) -> int:
        """Columns of the rows."""
        return len(self.column_categories)

    @property
    def column_categories(self) -> NDArray:
        """Number of categories of every column of the rows, 0 if it is a number."""
        if self.sources is None:
            return self.n_categories_
        found = np.zeros(int(self.sources.max(initial=-1)) + 1, self.n_categories_.dtype)
        found[self.sources] = self.n_categories_
        return found

    def check_tables(self) -> None:
        """Whether kernels may bin by these thresholds: as many as fit one byte, ascending."""
        if not 2 <= self.max_bins <= 255 or self.missing_values_bin_idx_ != self.max_bins:
            raise ValueError(f"max_bins must be from 2 to 255, got {self.max_bins}")
        counts = self.n_categories_
        if len(counts) != len(self.bin_thresholds_) or np.any(counts < 0):
            raise ValueError("there must be one number of categories per feature")
        if np.any(self.is_categorical_ != (counts > 0)):
            raise ValueError("features with categories are not those that are categorical")
        for thresholds, n_categories in zip(self.bin_thresholds_, counts):
            most = self.max_bins if n_categories else self.max_bins - 1
            if thresholds.ndim != 1 or len(thresholds) > most or np.any(np.diff(thresholds) < 0):
                raise ValueError(f"a feature must have at most {most} thresholds, ascending")
            if n_categories not in (0, len(thresholds)):
                raise ValueError("a feature has more or fewer categories than codes")

    def fit_transform(self, X: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        return self.fit(X, sample_weight).transform(X)

    def threshold_table(self, dtype) -> NDArray:
        """Thresholds of all features, padded with infinity, in the type of the rows."""
        table = np.full((len(self.bin_thresholds_), WIDTH), np.inf)
        for f, thresholds in enumerate(self.bin_thresholds_):
            if not self.is_categorical_[f]:
                table[f, : len(thresholds)] = thresholds
        return rounded_down(table, dtype)

    def _draw(self, X, sample_weight):
        """Rows drawn with replacement in proportion to their weights, which then count no more."""
        from sklearn.utils import check_random_state

        random_state = check_random_state(self.random_state)
        p = None if sample_weight is None else sample_weight / sample_weight.sum()
        drawn = random_state.choice(len(X), self.subsample, p=p, replace=True)
        return X.take(np.sort(drawn), axis=0), None


def rounded_down(values: NDArray, dtype) -> NDArray:
    """The largest numbers of the type that are not above ``values``.

    For x of that type, ``x <= rounded_down(t)`` exactly if ``x <= t``.
    """
    if np.dtype(dtype) == np.float64:
        return values
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype)
        above = rounded > values
        rounded[above] = np.nextafter(rounded[above], np.asarray(-np.inf, dtype=dtype))
    return rounded


def thresholds_of_sorted(values: NDArray, max_bins: int) -> NDArray:
    """Midpoints of the distinct values, or quantiles if there are too many of them.

    ``values`` is ascending, NaN last. Quantiles average the two neighbours where the inverse
    distribution function jumps, as scikit-learn's.
    """
    values = values[: np.searchsorted(values, np.nan)]
    if len(values) == 0:
        return np.empty(0)
    new = np.empty(len(values), dtype=bool)
    new[0] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    if np.count_nonzero(new) <= max_bins:
        return _midpoints(values[new].astype(np.float64))
    percent = np.linspace(0, 100, num=max_bins + 1)[1:-1]
    place = percent / 100 * len(values) - 1.0
    below = np.floor(place)
    left = np.clip(below.astype(np.intp), 0, len(values) - 1)
    right = np.clip(below.astype(np.intp) + 1, 0, len(values) - 1)
    lower, upper = values[left].astype(np.float64), values[right].astype(np.float64)
    return _usable(np.where(place > below, upper, 0.5 * lower + 0.5 * upper))


def thresholds_of_weighted(values: NDArray, sample_weight: NDArray, max_bins: int) -> NDArray:
    """The same where every row counts by its weight; rows of weight zero are left out."""
    from fastml._sklearn import weighted_percentile

    there = (sample_weight != 0) & ~np.isnan(values)
    order = np.argsort(values[there])
    values, weights = values[there][order].astype(np.float64), sample_weight[there][order]
    distinct = np.unique(values)
    if len(distinct) <= max_bins:
        return _midpoints(distinct)
    percent = np.linspace(0, 100, num=max_bins + 1)[1:-1]
    quantiles = weighted_percentile(values, weights, percent, average=True)
    return _usable(np.asarray(quantiles, dtype=np.float64))


def _midpoints(distinct: NDArray) -> NDArray:
    if len(distinct) <= 1:
        return np.empty(0)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = (distinct[:-1] + distinct[1:]) / 2
    return _usable(middle)


def _usable(thresholds: NDArray) -> NDArray:
    return np.minimum(np.unique(thresholds), ALMOST_INF)
