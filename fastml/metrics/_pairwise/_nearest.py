"""Distances that are reduced as they are computed: chunks of rows, nearest rows.

`pairwise` re-exports the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from fastml._engines.distances import matrix
from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.distances.named import (
    BOOLEAN,
    check_parameters,
    derived_parameters,
    sums_of_gaps,
)
from fastml._engines.distances.names import COUNTING, METRICS
from fastml._sklearn import Interval, Options, StrOptions, num_samples, validate_params
from fastml.kernels.distances import metrics
from fastml.metrics._pairwise._distances import pairwise_distances

_NAMES = {"nan_euclidean", *METRICS, *COUNTING}
_NEAREST = {
    "X": ["array-like", "sparse matrix"],
    "Y": ["array-like", "sparse matrix"],
    "axis": [Options(Integral, {0, 1})],
    "metric": [StrOptions(_NAMES), callable],
    "metric_kwargs": [dict, None],
}


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "Y": ["array-like", "sparse matrix", None],
        "reduce_func": [callable, None],
        "metric": [StrOptions({"precomputed"} | _NAMES), callable],
        "n_jobs": [Integral, None],
        "working_memory": [Interval(Real, 0, None, closed="left"), None],
    },
    prefer_skip_nested_validation=False,
)
def pairwise_distances_chunked(
    X: Any,
    Y: Any = None,
    *,
    reduce_func: Callable | None = None,
    metric: str | Callable = "euclidean",
    n_jobs: int | None = None,
    working_memory: float | None = None,
    **kwds: Any,
) -> Iterator[Any]:
    """Blocks of rows of the distance matrix, one after the other, reduced if asked.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Or the distance matrix itself if ``metric="precomputed"``.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    reduce_func : callable, default=None
        ``reduce_func(D_chunk, start)`` of a block that begins at row ``start``. It returns a
        sequence as long as the block, a tuple of such, or None for work in place.
    metric : str or callable, default="euclidean"
        As in `pairwise_distances`.
    n_jobs : int, default=None
        Threads; None means all cores that this process may use.
    working_memory : float, default=None
        MiB of a block; None means ``sklearn.get_config()["working_memory"]``.
    **kwds
        Parameters of the metric.

    Yields
    ------
    D_chunk : ndarray, or what reduce_func returned

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.metrics import pairwise_distances_chunked
    >>> X = np.arange(4.0)[:, None]
    >>> for nearest in pairwise_distances_chunked(
    ...     X, X + 0.4, reduce_func=lambda D, start: D.argmin(axis=1), working_memory=0
    ... ):
    ...     print(nearest)
    [0]
    [1]
    [2]
    [3]
    """
    n_rows = num_samples(X)
    if isinstance(metric, str) and metric == "precomputed":
        blocks = iter([slice(0, n_rows)])
    else:
        Y = X if Y is None else Y
        blocks = gen_batches(n_rows, _rows_within(working_memory, n_rows, 8 * num_samples(Y)))
    kwds = {**kwds, **derived_parameters(X, Y, metric, kwds)}
    for block in blocks:
        whole = block.start == 0 and block.stop == n_rows
        D = pairwise_distances(X if whole else X[block], Y, metric=metric, n_jobs=n_jobs, **kwds)
        if reduce_func is not None:
            n_block = D.shape[0]
            D = reduce_func(D, block.start)
            _check_reduced(D, n_block)
        yield D


def _rows_within(working_memory: float | None, n_rows: int, row_bytes: int) -> int:
    if working_memory is None:
        working_memory = get_config()["working_memory"]
    return max(1, min(n_rows, int(working_memory * 2**20 // max(1, row_bytes))))


def _check_reduced(reduced: Any, n_rows: int) -> None:
    """Raise unless ``reduced`` is None, a sequence of n_rows items or a tuple of such."""
    if reduced is None:
        return
    parts = reduced if isinstance(reduced, tuple) else (reduced,)
    if any(isinstance(part, tuple) or not hasattr(part, "__iter__") for part in parts):
        raise TypeError(
            f"reduce_func returned {reduced!r}. Expected sequence(s) of length {n_rows}."
        )
    lengths = tuple(num_samples(part) for part in parts)
    if any(length != n_rows for length in lengths):
        shown = lengths if isinstance(reduced, tuple) else lengths[0]
        raise ValueError(
            f"reduce_func returned object of length {shown}. "
            f"Expected same length as input: {n_rows}."
        )


@validate_params(_NEAREST, prefer_skip_nested_validation=False)
def pairwise_distances_argmin_min(
    X: Any,
    Y: Any,
    *,
    axis: int = 1,
    metric: str | Callable = "euclidean",
    metric_kwargs: dict[str, Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Index of the nearest row of Y, and the distance to it, for each row of X.

    The distance matrix is never stored. The first of equally near rows is returned.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
    axis : {0, 1}, default=1
        0: for each row of Y, the nearest row of X.
    metric : str or callable, default="euclidean"
        As in `pairwise_distances`.
    metric_kwargs : dict, default=None
        Parameters of the metric.

    Returns
    -------
    argmin : ndarray of shape (n_samples_X,)
    distances : ndarray of shape (n_samples_X,)

    Examples
    --------
    >>> from fastml.metrics import pairwise_distances_argmin_min
    >>> pairwise_distances_argmin_min([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    (array([0, 1]), array([1., 1.]))
    """
    return _nearest(X, Y, axis, metric, metric_kwargs)


@validate_params(_NEAREST, prefer_skip_nested_validation=False)
def pairwise_distances_argmin(
    X: Any,
    Y: Any,
    *,
    axis: int = 1,
    metric: str | Callable = "euclidean",
    metric_kwargs: dict[str, Any] | None = None,
) -> np.ndarray:
    """Index of the nearest row of Y for each row of X.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
    axis : {0, 1}, default=1
        0: for each row of Y, the nearest row of X.
    metric : str or callable, default="euclidean"
        As in `pairwise_distances`.
    metric_kwargs : dict, default=None
        Parameters of the metric.

    Returns
    -------
    argmin : ndarray of shape (n_samples_X,)

    Examples
    --------
    >>> from fastml.metrics import pairwise_distances_argmin
    >>> pairwise_distances_argmin([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([0, 1])
    """
    return _nearest(X, Y, axis, metric, metric_kwargs)[0]


def _nearest(X, Y, axis, metric, parameters):
    parameters = dict(parameters or {})
    named = isinstance(metric, str)
    if named:
        check_parameters(metric, parameters)
    missing = named and metric == "nan_euclidean"
    boolean = named and (metric in BOOLEAN | COUNTING or metric == "hamming")
    if not boolean:
        X, Y = check_pairwise_arrays(X, Y, ensure_all_finite="allow-nan" if missing else True)
    if axis == 0:
        X, Y = Y, X
    if not named or missing or boolean or not _has_kernel(metric, X, Y, parameters):
        return _nearest_by_chunks(X, Y, metric, parameters)
    code = METRICS[metric]
    if code == metrics.EUCLIDEAN:
        squared = parameters.pop("squared", False)
        code = metrics.SQEUCLIDEAN if squared else code
        return matrix.nearest(code, X, Y)
    parameters |= derived_parameters(X, Y, metric, parameters)
    code, X, Y, p, v = sums_of_gaps(code, X, Y, **parameters)
    return matrix.nearest(code, X, Y, p=p, v=v)


def _has_kernel(metric, X, Y, parameters) -> bool:
    """Metrics with checks or transformations of their own go by chunks of the matrix."""
    code = METRICS[metric]
    by_chunks = (
        metrics.MAHALANOBIS,
        metrics.CORRELATION,
        metrics.HAVERSINE,
        metrics.WEIGHTED_JACCARD,
    )
    given = any(parameters.get(name) is not None for name in ("X_norm_squared", "Y_norm_squared"))
    return not (code in by_chunks or given or matrix.any_sparse(X, Y))


def _nearest_by_chunks(X, Y, metric, parameters):
    def reduce_chunk(D, start):
        indices = D.argmin(axis=1)
        return indices, D[np.arange(D.shape[0]), indices]

    chunks = pairwise_distances_chunked(X, Y, reduce_func=reduce_chunk, metric=metric, **parameters)
    indices, distances = zip(*chunks)
    return np.concatenate(indices), np.concatenate(distances)
