"""ColumnCopies cut into bins."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import ColumnCopies, extremes
from fastml._sklearn import (
    Interval,
    Options,
    StrOptions,
    align_api_if_sparse,
    check_feature_names_in,
    fit_context,
    weighted_percentile,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, check_array, check_sample_weight, kernel_view, validate_data
from fastml.kernels.preprocessing.order import bins_of
from fastml.preprocessing._encoders._one_hot import OneHotEncoder

METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
)
LEAST_WIDTH = 1e-8


def bin_numbers(X, inner_edges, dtype):
    """How many of its column's edges are at or below each value, (n × d)."""
    n, d = X.shape
    n_edges = np.array([len(edges) for edges in inner_edges], dtype=np.intp)
    table = np.full((d, max(1, n_edges.max(initial=0))), np.inf)
    for j, edges in enumerate(inner_edges):
        table[j, : len(edges)] = edges
    out = np.empty((n, d), dtype=dtype)
    bins_of(
        kernel_view(X), kernel_view(table), kernel_view(n_edges), chunk_rows(n, 16.0 * max(d, 1)),
        out, n_threads=effective_n_threads(None, work=16.0 * X.size),
    )  # fmt: skip
    return out


class Binned(TransformerMixin, BaseEstimator):
    """Bins of the columns, as numbers or as columns of zeros and ones."""

    def _set_bins(self, bin_edges, n_bins, dtype):
        self.bin_edges_, self.n_bins_ = bin_edges, n_bins
        if "onehot" in self.encode:
            self._encoder = OneHotEncoder(
                categories=[np.arange(n) for n in n_bins],
                sparse_output=self.encode == "onehot",
                dtype=dtype,
            )
            self._encoder.fit(np.zeros((1, len(n_bins))))
        else:
            vars(self).pop("_encoder", None)

    def _encoded(self, X):
        """Bins of checked rows."""
        edges = [np.asarray(each) for each in np.atleast_1d(np.asarray(self.bin_edges_, object))]
        sizes = [each.size - 1 for each in edges if each.ndim == 1]
        if len(edges) != X.shape[1] or not np.array_equal(sizes, self.n_bins_):
            raise ValueError(
                f"bin_edges_ or n_bins_ of {type(self).__name__} was altered: they are not those "
                f"of {X.shape[1]} columns"
            )
        inner = [each[1:-1] for each in edges]
        if self.encode == "ordinal":
            return bin_numbers(X, inner, X.dtype)
        columns = bin_numbers(X, inner, np.int32)
        columns += np.concatenate([[0], np.cumsum(self.n_bins_)[:-1]]).astype(np.int32)
        n, d = X.shape
        starts = np.arange(n + 1, dtype=np.int64) * d
        if n * d <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        ones = np.ones(n * d, dtype=X.dtype)
        out = sp.csr_array((ones, columns.ravel(), starts), shape=(n, int(self.n_bins_.sum())))
        return align_api_if_sparse(out) if self.encode == "onehot" else out.toarray()

    def get_feature_names_out(self, input_features=None):
        """Names of the columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        if hasattr(self, "_encoder"):
            return self._encoder.get_feature_names_out(names)
        return names


@documented()
class KBinsDiscretizer(Binned):
    """Cut each column into bins: of equal width, of equally many rows, or around k means.

    z = k where edge_k ≤ x < edge_{k+1}

    Parameters
    ----------
    n_bins : int or array-like of shape (n_features,), default=5
    encode : {'onehot', 'onehot-dense', 'ordinal'}, default='onehot'
        ColumnCopies of zeros and ones, as a CSR matrix or dense, or the number of the bin.
    strategy : {'uniform', 'quantile', 'kmeans'}, default='quantile'
    quantile_method : str, default='averaged_inverted_cdf'
        Of `numpy.percentile`; with weights only 'inverted_cdf' and 'averaged_inverted_cdf'.
    dtype : {np.float32, np.float64}, default=None
        Of the result; None: that of X.
    subsample : int or None, default=200_000
        Rows that edges are learned from, drawn with replacement; None: all.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Attributes
    ----------
    bin_edges_ : ndarray of ndarray of shape (n_features,)
        Edges of each column.
    n_bins_ : ndarray of shape (n_features,)
        Bins of each column, without those that are too narrow.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import KBinsDiscretizer
    >>> model = KBinsDiscretizer(2, encode="ordinal", strategy="uniform")
    >>> model.fit_transform([[0.0], [1.0], [9.0], [10.0]]).ravel()
    array([0., 0., 1., 1.])
    """

    _parameter_constraints: dict = {
        "n_bins": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "encode": [StrOptions({"onehot", "onehot-dense", "ordinal"})],
        "strategy": [StrOptions({"uniform", "quantile", "kmeans"})],
        "quantile_method": [StrOptions(set(METHODS))],
        "dtype": [Options(type, {np.float64, np.float32}), None],
        "subsample": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_bins=5,
        *,
        encode="onehot",
        strategy="quantile",
        quantile_method="averaged_inverted_cdf",
        dtype=None,
        subsample=200_000,
        random_state=None,
    ):
        self.n_bins = n_bins
        self.encode = encode
        self.strategy = strategy
        self.quantile_method = quantile_method
        self.dtype = dtype
        self.subsample = subsample
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the edges.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=FLOATS)
        dtype = X.dtype if self.dtype is None else self.dtype
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        if self.subsample is not None and len(X) > self.subsample:
            from sklearn.utils import resample

            X = resample(
                X, replace=True, n_samples=self.subsample, random_state=self.random_state,
                sample_weight=weights,
            )  # fmt: skip
            weights = None
        n_bins = self._wanted_bins(X.shape[1])
        if (
            weights is not None
            and self.strategy == "quantile"
            and self.quantile_method not in ("inverted_cdf", "averaged_inverted_cdf")
        ):
            raise ValueError(
                "When fitting with strategy='quantile' and sample weights, quantile_method should "
                "either be set to 'averaged_inverted_cdf' or 'inverted_cdf', got "
                f"quantile_method='{self.quantile_method}' instead."
            )
        bin_edges = self._edges(X, weights, n_bins)
        self._set_bins(bin_edges, n_bins, dtype)
        return self

    def _wanted_bins(self, d):
        if isinstance(self.n_bins, Integral):
            return np.full(d, self.n_bins, dtype=int)
        n_bins = check_array(self.n_bins, dtype=int, copy=True, ensure_2d=False)
        if n_bins.ndim > 1 or len(n_bins) != d:
            raise ValueError("n_bins must be a scalar or array of shape (n_features,).")
        wrong = np.flatnonzero((n_bins < 2) | (n_bins != np.asarray(self.n_bins)))
        if len(wrong):
            listed = ", ".join(map(str, wrong))
            raise ValueError(
                f"KBinsDiscretizer received an invalid number of bins at indices {listed}. Number "
                "of bins must be at least 2, and must be an int."
            )
        return n_bins

    def _edges(self, X, weights, n_bins):
        """Edges of each column; ``n_bins`` of columns with fewer is changed."""
        used = X if weights is None or self.strategy == "quantile" else X[weights != 0]
        lows, highs = extremes(used)
        found = np.zeros(X.shape[1], dtype=object)
        by_quantile = self._quantile_edges(X, weights, n_bins) if self._by_quantile else None
        for j, (low, high) in enumerate(zip(lows, highs)):
            if low == high:
                warnings.warn(f"Feature {j} is constant and will be replaced with 0.", stacklevel=3)
                n_bins[j] = 1
                found[j] = np.array([-np.inf, np.inf])
                continue
            if self.strategy == "uniform":
                found[j] = np.linspace(low, high, n_bins[j] + 1)
                continue
            edges = by_quantile[j] if self._by_quantile else None
            if edges is None:
                edges = self._means_edges(X[:, j], weights, low, high, n_bins[j])
            wide = np.ediff1d(edges, to_begin=np.inf) > LEAST_WIDTH
            found[j] = edges[wide]
            if len(found[j]) - 1 != n_bins[j]:
                warnings.warn(
                    "Bins whose width are too small (i.e., <= 1e-8) in feature "
                    f"{j} are removed. Consider decreasing the number of bins.",
                    stacklevel=3,
                )
                n_bins[j] = len(found[j]) - 1
        return found

    @property
    def _by_quantile(self):
        return self.strategy == "quantile"

    def _quantile_edges(self, X, weights, n_bins):
        levels = [np.linspace(0, 100, n + 1) for n in n_bins]
        if weights is not None:
            average = self.quantile_method == "averaged_inverted_cdf"
            return [
                weighted_percentile(X[:, j], weights, level, average=average)
                for j, level in enumerate(levels)
            ]
        if (n_bins == n_bins[0]).all():
            return ColumnCopies(X).each(lambda values: self._percentiles(values, levels[0]))
        return [
            np.asarray(np.percentile(X[:, j], level, method=self.quantile_method), dtype=np.float64)
            for j, level in enumerate(levels)
        ]

    def _percentiles(self, values, level):
        values.sort()  # faster than what NumPy does where there are several levels
        found = np.percentile(values, level, method=self.quantile_method, overwrite_input=True)
        return np.asarray(found, dtype=np.float64)

    def _means_edges(self, column, weights, low, high, k):
        from fastml.cluster import KMeans

        start = np.linspace(low, high, k + 1)
        start = (start[1:] + start[:-1])[:, None] * 0.5
        model = KMeans(n_clusters=k, init=start, n_init=1)
        model.fit(np.ascontiguousarray(column)[:, None], sample_weight=weights)
        centres = np.sort(model.cluster_centers_[:, 0].astype(np.float64))
        return np.concatenate([[low], (centres[1:] + centres[:-1]) * 0.5, [high]])

    def transform(self, X):
        """Bins of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Xt : {ndarray, sparse matrix} of shape (n_samples, n_features or sum of ``n_bins_``)
        """
        check_is_fitted(self)
        dtype = FLOATS if self.dtype is None else self.dtype
        return self._encoded(validate_data(self, X, dtype=dtype, reset=False))

    def inverse_transform(self, X):
        """Middles of the bins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features or sum of ``n_bins_``)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if "onehot" in self.encode:
            X = self._encoder.inverse_transform(X)
        X = check_array(X, copy=True, dtype=FLOATS)
        d = len(self.n_bins_)
        if X.shape[1] != d:
            raise ValueError(f"Incorrect number of features. Expecting {d}, received {X.shape[1]}.")
        for j, edges in enumerate(self.bin_edges_):
            middles = (edges[1:] + edges[:-1]) * 0.5
            X[:, j] = middles[X[:, j].astype(np.int64)]
        return X


@documented()
class EdgeDiscretizer(Binned):
    """Cut each column at given edges into bins that are closed on the left.

    z = k where edge_k ≤ x < edge_{k+1}; the first and the last bin take what lies beyond.

    Parameters
    ----------
    edges : array-like of shape (n_edges,), or list of them, default=(-inf, 0, inf)
        Ascending, for all columns or for each; infinite ones are allowed.
    encode : {'ordinal', 'onehot', 'onehot-dense'}, default='ordinal'
        The number of the bin, or columns of zeros and ones, as a CSR matrix or dense.

    Attributes
    ----------
    bin_edges_ : ndarray of ndarray of shape (n_features,)
        Edges of each column.
    n_bins_ : ndarray of shape (n_features,)
        Bins of each column.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import EdgeDiscretizer
    >>> EdgeDiscretizer([0, 5, 10, 16]).fit_transform([[4.9], [5.0], [40.0]]).ravel()
    array([0., 1., 2.])
    """

    _parameter_constraints: dict = {
        "edges": ["array-like"],
        "encode": [StrOptions({"onehot", "onehot-dense", "ordinal"})],
    }

    def __init__(self, edges=(-np.inf, 0.0, np.inf), *, encode="ordinal"):
        self.edges = edges
        self.encode = encode

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check the edges.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=FLOATS)
        d = X.shape[1]
        one_list = all(np.ndim(edge) == 0 for edge in self.edges)
        given = [self.edges] * d if one_list else list(self.edges)
        if len(given) != d:
            raise ValueError(f"edges must be given for each of the {d} columns, got {len(given)}")
        found = np.zeros(d, dtype=object)
        for j, edges in enumerate(given):
            found[j] = np.array(edges, dtype=np.float64)
            if len(found[j]) < 2 or not (np.diff(found[j]) > 0).all():
                raise ValueError(f"edges of column {j} must be two or more that ascend")
        self._set_bins(found, np.array([len(edges) - 1 for edges in found]), X.dtype)
        return self

    def transform(self, X):
        """Bins of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Xt : {ndarray, sparse matrix} of shape (n_samples, n_features or sum of ``n_bins_``)
        """
        check_is_fitted(self)
        return self._encoded(validate_data(self, X, dtype=FLOATS, reset=False))
