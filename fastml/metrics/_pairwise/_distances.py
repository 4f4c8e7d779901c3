"""Distance matrices, of one metric each or by name. `pairwise` re-exports the functions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_non_negative

from fastml._engines.distances import matrix
from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.distances.named import (
    BOOLEAN,
    callable_matrix,
    check_parameters,
    checked_matrix,
    checked_out,
    named_matrix,
)
from fastml._engines.distances.names import COUNTING, METRICS
from fastml._sklearn import MissingValues, StrOptions, get_mask, is_scalar_nan, validate_params
from fastml.kernels.distances import metrics

_ARRAYS = {"X": ["array-like", "sparse matrix"], "Y": ["array-like", "sparse matrix", None]}


@validate_params(
    {
        **_ARRAYS,
        "Y_norm_squared": ["array-like", None],
        "squared": ["boolean"],
        "X_norm_squared": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
def euclidean_distances(
    X: Any,
    Y: Any = None,
    *,
    Y_norm_squared: Any = None,
    squared: bool = False,
    X_norm_squared: Any = None,
) -> np.ndarray:
    """d(x, y) = sqrt(Σ (x_k - y_k)²).

    Computed in float64 for float32 data too. Where |x|² + |y|² - 2 x·y would lose digits, between
    near duplicates, the differences themselves are summed; the matrix is exactly symmetric.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    Y_norm_squared : array-like of shape (n_samples_Y,), default=None
        Known Σ y_k² of every row, to save computing them. They are trusted: near duplicates are
        then as exact as the formula allows. Ignored if they are float32.
    squared : bool, default=False
        Whether to leave out the square root.
    X_norm_squared : array-like of shape (n_samples_X,), default=None

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import euclidean_distances
    >>> euclidean_distances([[0, 1], [1, 1]], [[0, 0]], squared=True)
    array([[1.],
           [2.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    norms = {"X_norm_squared": X_norm_squared, "Y_norm_squared": Y_norm_squared}
    return checked_matrix("euclidean", X, Y, squared=squared, **norms)


@validate_params(
    {
        "X": ["array-like"],
        "Y": ["array-like", None],
        "squared": ["boolean"],
        "missing_values": [MissingValues(numeric_only=True)],
        "copy": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def nan_euclidean_distances(
    X: Any, Y: Any = None, *, squared: bool = False, missing_values: Any = np.nan, copy: bool = True
) -> np.ndarray:
    """Euclidean distance over the coordinates present in both rows, scaled up to all of them.

    d(x, y)² = n_features / n_present · Σ_present (x_k - y_k)²; NaN if none is present in both.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
    Y : array-like of shape (n_samples_Y, n_features), default=None
        None means X.
    squared : bool, default=False
        Whether to leave out the square root.
    missing_values : np.nan, float or int, default=np.nan
        What stands for a missing value.
    copy : bool, default=True
        For compatibility: the input is never changed.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)

    References
    ----------
    John K. Dixon, "Pattern Recognition with Partly Missing Data", IEEE Transactions on Systems,
    Man, and Cybernetics, 1979.

    Examples
    --------
    >>> from fastml.metrics.pairwise import nan_euclidean_distances
    >>> nan_euclidean_distances([[3, float("nan"), float("nan"), 6]], [[1, float("nan"), 4, 5]])
    array([[3.16227766]])
    """
    return _nan_euclidean(X, Y, squared=squared, missing_values=missing_values)


def _nan_euclidean(X, Y, *, squared=False, missing_values=np.nan, copy=True, n_jobs=None, out=None):
    finite = "allow-nan" if is_scalar_nan(missing_values) else True
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False, ensure_all_finite=finite)
    out = checked_out(out, X, Y)
    if not is_scalar_nan(missing_values):
        same = Y is X
        X = np.where(get_mask(X, missing_values), np.nan, X)
        Y = X if same else np.where(get_mask(Y, missing_values), np.nan, Y)
    out = matrix.row_matrix(metrics.NAN_SQUARES, X, Y, n_jobs=n_jobs, out=out)
    return out if squared else np.sqrt(out, out=out)


@validate_params(_ARRAYS, prefer_skip_nested_validation=True)
def haversine_distances(X: Any, Y: Any = None) -> np.ndarray:
    """Angle between points on a sphere, given as (latitude, longitude) in radians.

    d = 2 arcsin sqrt(sin²(Δlat / 2) + cos lat_x cos lat_y sin²(Δlon / 2))

    Parameters
    ----------
    X : array-like of shape (n_samples_X, 2)
    Y : array-like of shape (n_samples_Y, 2), default=None
        None means X.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from math import radians
    >>> from fastml.metrics.pairwise import haversine_distances
    >>> buenos_aires = [radians(-34.83333), radians(-58.5166646)]
    >>> paris = [radians(49.0083899664), radians(2.53844117956)]
    >>> (haversine_distances([buenos_aires], [paris]) * 6371).round()  # kilometres
    array([[11100.]])
    """
    dense = [each.toarray() if issparse(each) else each for each in (X, Y)]
    return named_matrix("haversine", dense[0], None if Y is X else dense[1])


@validate_params(_ARRAYS, prefer_skip_nested_validation=True)
def manhattan_distances(X: Any, Y: Any = None) -> np.ndarray:
    """d(x, y) = Σ |x_k - y_k|.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import manhattan_distances
    >>> manhattan_distances([[1, 2], [3, 4]], [[1, 2], [0, 3]])
    array([[0., 2.],
           [4., 4.]])
    """
    return named_matrix("manhattan", X, Y)


@validate_params(_ARRAYS, prefer_skip_nested_validation=True)
def cosine_distances(X: Any, Y: Any = None) -> np.ndarray:
    """d(x, y) = 1 - x·y / (|x| |y|); 1 to a zero row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import cosine_distances
    >>> cosine_distances([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]).round(3)
    array([[1.   , 1.   ],
           [0.423, 0.184]])
    """
    return named_matrix("cosine", X, Y)


PAIRWISE_BOOLEAN_FUNCTIONS = sorted(BOOLEAN - {"matching"})
PAIRWISE_DISTANCE_FUNCTIONS: dict[str, Callable | None] = {
    "cityblock": manhattan_distances,
    "cosine": cosine_distances,
    "euclidean": euclidean_distances,
    "haversine": haversine_distances,
    "l2": euclidean_distances,
    "l1": manhattan_distances,
    "manhattan": manhattan_distances,
    "precomputed": None,
    "nan_euclidean": nan_euclidean_distances,
}


def distance_metrics() -> dict[str, Callable | None]:
    """The metrics that have a function of their own, by name.

    Returns
    -------
    distance_metrics : dict

    Examples
    --------
    >>> from fastml.metrics.pairwise import distance_metrics
    >>> distance_metrics()["l1"].__name__
    'manhattan_distances'
    """
    return PAIRWISE_DISTANCE_FUNCTIONS


@validate_params(
    {
        **_ARRAYS,
        "metric": [StrOptions({"precomputed", "nan_euclidean", *METRICS, *COUNTING}), callable],
        "n_jobs": [Integral, None],
        "ensure_all_finite": ["boolean", StrOptions({"allow-nan"})],
        "out": [np.ndarray, None],
    },
    prefer_skip_nested_validation=True,
)
def pairwise_distances(
    X: Any,
    Y: Any = None,
    metric: str | Callable = "euclidean",
    *,
    n_jobs: int | None = None,
    ensure_all_finite: bool | str = True,
    out: np.ndarray | None = None,
    **kwds: Any,
) -> np.ndarray:
    """The distance matrix of X and Y.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Or the distance matrix itself if ``metric="precomputed"``.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    metric : str or callable, default="euclidean"
        - differences: "euclidean" ("l2"), "sqeuclidean", "manhattan" ("cityblock", "l1"),
          "chebyshev", "minkowski" (``p``, ``w``), "seuclidean" (``V``), "mahalanobis" (``VI``),
          "nan_euclidean", "canberra", "braycurtis";
        - angles: "cosine", "correlation", "haversine";
        - equal or not, any type, also strings: "hamming" (share of the coordinates that differ),
          "l0" (their number), "discrete" (1 if any differs, else 0);
        - sets, that is boolean rows, for "jaccard" also Python's: "jaccard", "dice", "matching",
          "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule";
        - non-negative rows: "weighted_jaccard", 1 - Σ min(x_k, y_k) / Σ max(x_k, y_k);
        - "precomputed": X is returned after a check;
        - a function of two rows. Under Numba's ``njit`` it runs compiled and in parallel (compiled
          once per process); any other Python function is called pair by pair.

        Sparse matrices: "euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard", functions.
    n_jobs : int, default=None
        Threads; None means all cores that this process may use. The result does not depend on it.
    ensure_all_finite : bool or "allow-nan", default=True
        Whether infinities and NaN in X and Y are errors, for metrics without a function of their
        own in `distance_metrics`.
    out : ndarray of shape (n_samples_X, n_samples_Y), default=None
        Where to write, float32 or float64, C-contiguous.
    **kwds
        Parameters of the metric; ``w`` are non-negative weights of the coordinates.

    Returns
    -------
    D : ndarray of shape (n_samples_X, n_samples_Y)
        float32 if X and Y are, else float64.

    Examples
    --------
    >>> from fastml.metrics.pairwise import pairwise_distances
    >>> pairwise_distances([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]], metric="sqeuclidean")
    array([[1., 2.],
           [2., 1.]])
    >>> pairwise_distances([["red", "big"]], [["red", "small"]], metric="hamming")
    array([[0.5]])
    >>> pairwise_distances([{"a", "b"}, {"b"}], metric="jaccard")
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    if not isinstance(metric, str):
        finite = {"ensure_all_finite": ensure_all_finite}
        return callable_matrix(metric, X, Y, n_jobs=n_jobs, out=out, **finite, **kwds)
    if metric == "precomputed":
        X, _ = check_pairwise_arrays(X, Y, precomputed=True, ensure_all_finite=ensure_all_finite)
        check_non_negative(
            X, "`pairwise_distances`. Precomputed distance need to have non-negative values."
        )
        if out is None:
            return X
        checked_out(out, X, np.empty((X.shape[1], 0)))[...] = X
        return out
    if metric == "nan_euclidean":
        check_parameters(metric, kwds)
        return _nan_euclidean(X, Y, n_jobs=n_jobs, out=out, **kwds)
    if metric in PAIRWISE_DISTANCE_FUNCTIONS:
        ensure_all_finite = True
    finite = {"ensure_all_finite": ensure_all_finite}
    return named_matrix(metric, X, Y, n_jobs=n_jobs, out=out, **finite, **kwds)
