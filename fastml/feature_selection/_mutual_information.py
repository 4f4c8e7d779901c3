"""Mutual information of columns with a target, from distances of neighbours."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from fastml._sklearn import Interval, StrOptions, validate_params
from fastml._threads import effective_n_threads, thread_limit
from fastml._validation import check_array, check_X_y, kernel_view
from fastml.kernels.selection.line_neighbors import class_neighbor_sums, reach_sums

CHECKS = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like"],
    "discrete_features": [StrOptions({"auto"}), "boolean", "array-like"],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "copy": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}

OPERATIONS_PER_VALUE = 200.0
"""What sorting, and searching among sorted values, costs for each."""


@validate_params(CHECKS, prefer_skip_nested_validation=True)
def mutual_info_classif(
    X, y, *, discrete_features="auto", n_neighbors=3, copy=True, random_state=None, n_jobs=None
):
    """Mutual information of every column with labels.

    For a continuous column, Ross's estimate

    .. math:: I = \\psi(n) + \\overline{\\psi(k)} - \\overline{\\psi(n_c)} - \\overline{\\psi(m)}

    where m values lie nearer to a row's than its k-th neighbour of the same class does. Columns are
    sorted once, neighbours are found along the line; columns are on threads. Discrete columns: the
    table of counts, and never more than either entropy.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    discrete_features : {"auto", bool, array-like}, default="auto"
        Whether columns are discrete: all or none, a mask or indices. "auto": those of sparse X are.
    n_neighbors : int, default=3
        Neighbours k.
    copy : bool, default=True
        False may overwrite X.
    random_state : int, RandomState instance or None, default=None
        Of the noise of 1e-10 that tells equal values apart, which is scikit-learn's.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    mi : ndarray of shape (n_features,)
        In nats.

    References
    ----------
    B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.feature_selection import mutual_info_classif
    >>> y = np.arange(40) % 2
    >>> mi = mutual_info_classif(np.c_[y + 0.01 * np.arange(40), np.arange(40)], y, random_state=0)
    >>> mi.round(2)
    array([0.71, 0.  ])
    """
    check_classification_targets(y)
    options = (discrete_features, n_neighbors, copy, random_state, n_jobs)
    return _estimate(X, y, True, *options)


@validate_params(CHECKS, prefer_skip_nested_validation=True)
def mutual_info_regression(
    X, y, *, discrete_features="auto", n_neighbors=3, copy=True, random_state=None, n_jobs=None
):
    """Mutual information of every column with a continuous target.

    For a continuous column, the estimate of Kraskov, Stögbauer and Grassberger

    .. math:: I = \\psi(n) + \\psi(k) - \\overline{\\psi(n_x + 1)} - \\overline{\\psi(n_y + 1)}

    where n_x and n_y rows are nearer in x and in y than the k-th neighbour in (x, y) is.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Target.
    discrete_features : {"auto", bool, array-like}, default="auto"
        Whether columns are discrete: all or none, a mask or indices. "auto": those of sparse X are.
    n_neighbors : int, default=3
        Neighbours k.
    copy : bool, default=True
        False may overwrite X.
    random_state : int, RandomState instance or None, default=None
        Of the noise of 1e-10 that tells equal values apart, which is scikit-learn's.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    mi : ndarray of shape (n_features,)
        In nats.

    References
    ----------
    A. Kraskov, H. Stögbauer, P. Grassberger, "Estimating mutual information", Phys. Rev. E 69
    (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.feature_selection import mutual_info_regression
    >>> y = np.sin(np.arange(50.0))
    >>> mi = mutual_info_regression(np.c_[y**3, np.arange(50.0)], y, random_state=0)
    >>> bool(mi[0] > 10.0 * mi[1])
    True
    """
    options = (discrete_features, n_neighbors, copy, random_state, n_jobs)
    return _estimate(X, y, False, *options)


def _estimate(
    X, y, labels: bool, discrete_features, n_neighbors, copy, random_state, n_jobs
) -> NDArray:
    from scipy.sparse import issparse

    X, y = check_X_y(X, y, accept_sparse="csc", y_numeric=not labels)
    discrete = _mask(discrete_features, X, issparse(X))
    continuous = ~discrete
    if continuous.any() and issparse(X):
        raise ValueError("Sparse matrix `X` can't have continuous features.")
    random = check_random_state(random_state)
    columns = np.empty((0, X.shape[0]))
    if continuous.any():
        columns = _with_noise(X[:, continuous], random)
        if not copy and X.dtype == np.float64:
            X[:, continuous] = columns
        columns = kernel_view(columns.T)
    if not labels:
        y = _with_noise(y.astype(np.float64)[:, None], random)[:, 0]

    n_threads = effective_n_threads(n_jobs, OPERATIONS_PER_VALUE * X.shape[0] * X.shape[1])
    found = np.empty(X.shape[1])
    if continuous.any():
        if labels:
            found[continuous] = _with_classes(columns, y, n_neighbors, n_threads)
        else:
            found[continuous] = _with_numbers(columns, y, n_neighbors, n_threads)
    for j in np.flatnonzero(discrete):
        x = X[:, [j]].toarray().ravel() if issparse(X) else X[:, j]
        if labels:
            found[j] = _of_table(x, y)
        else:
            found[j] = _with_classes(kernel_view(y[None]), x, n_neighbors, n_threads)[0]
    return found


def _mask(discrete_features, X, sparse: bool) -> NDArray:
    if isinstance(discrete_features, str | bool | np.bool_):
        chosen = sparse if isinstance(discrete_features, str) else bool(discrete_features)
        return np.full(X.shape[1], chosen)
    listed = check_array(discrete_features, ensure_2d=False)
    if listed.dtype == bool:
        if listed.shape != (X.shape[1],):
            raise IndexError(
                f"discrete_features has {listed.shape[0]} entries, X has {X.shape[1]} columns"
            )
        return listed
    mask = np.zeros(X.shape[1], dtype=bool)
    mask[listed] = True
    return mask


def _with_noise(X, random) -> NDArray:
    """Columns of unit variance, with noise of 1e-10: a new array."""
    spread = np.std(X, axis=0, dtype=np.float64)
    spread[spread < 10.0 * np.finfo(np.float64).eps] = 1.0
    X = X / spread
    size = np.maximum(1.0, np.mean(np.abs(X), axis=0))
    X += 1e-10 * size * random.standard_normal(size=X.shape)
    return X


def _digamma(n: int) -> NDArray:
    """Of 0 … n; what 0 has is never asked for."""
    from scipy.special import digamma

    return kernel_view(np.concatenate([[0.0], digamma(np.arange(1.0, n + 1.0))]))


def _with_classes(columns, y, n_neighbors, n_threads) -> NDArray:
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if (counts == 1).any():  # a row that is alone in its class says nothing
        kept = counts[codes] > 1
        if not kept.any():
            raise ValueError("no value of the discrete variable occurs twice: nothing to estimate")
        columns = kernel_view(columns[:, kept])
        _, codes, counts = np.unique(codes[kept], return_inverse=True, return_counts=True)
    n = codes.shape[0]
    table = _digamma(n)
    sums = np.empty(columns.shape[0])
    class_neighbor_sums(
        kernel_view(_orders(columns, n_threads)), columns, kernel_view(codes, np.intp),
        kernel_view(np.concatenate([[0], np.cumsum(counts)]), np.intp), int(n_neighbors), table,
        sums, n_threads=min(n_threads, len(columns)),
    )  # fmt: skip
    neighbours = np.minimum(n_neighbors, counts - 1)
    of_classes = np.sum(counts * (table[neighbours] - table[counts])) / n
    return np.maximum(0.0, table[n] + of_classes - sums / n)


def _with_numbers(columns, y, n_neighbors, n_threads) -> NDArray:
    from fastml.neighbors import KDTree

    d, n = columns.shape
    if n_neighbors >= n:
        raise ValueError(
            f"Expected n_neighbors < n_samples_fit, but n_neighbors = {n_neighbors}, "
            f"n_samples_fit = {n}, n_samples = {n}"
        )
    reaches = np.empty((2 * d, n))
    with thread_limit(n_threads):
        for j in range(d):
            pairs = np.column_stack([columns[j], y])
            tree = KDTree(pairs, metric="chebyshev")
            reaches[j] = reaches[d + j] = tree.query(pairs, n_neighbors + 1)[0][:, -1]
    lines = kernel_view(np.vstack([columns, y]))
    which = np.concatenate([np.arange(d), np.full(d, d)])
    table = _digamma(n)
    sums = np.empty(2 * d)
    reach_sums(
        kernel_view(_orders(lines, n_threads)), lines, kernel_view(which, np.intp),
        kernel_view(reaches), table, sums, n_threads=n_threads,
    )  # fmt: skip
    return np.maximum(0.0, table[n] + table[n_neighbors] - (sums[:d] + sums[d:]) / n)


def _orders(lines, n_threads) -> NDArray:
    """What sorts every line, on Python threads."""
    from concurrent.futures import ThreadPoolExecutor

    if n_threads == 1 or len(lines) == 1:
        return np.argsort(lines, axis=1)
    with ThreadPoolExecutor(n_threads) as pool:
        return np.array(list(pool.map(np.argsort, lines)))


def _of_table(x, y) -> float:
    """Of two discrete variables."""
    from fastml.information import mutual_information

    (of_x, x), (of_y, y) = (np.unique(v, return_inverse=True) for v in (x, y))
    table = np.bincount(x * len(of_y) + y, minlength=len(of_x) * len(of_y))
    return float(mutual_information(table.reshape(len(of_x), -1), normalise=True))
