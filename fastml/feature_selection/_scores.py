"""Scores of columns by tests: analysis of variance, chi-squared, correlation."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import validate_params
from fastml._threads import chunk_rows, effective_n_threads, single_threaded_blas
from fastml._validation import FLOATS, check_array, check_X_y, kernel_view
from fastml.kernels.selection.group_moments import group_moments

TABLE = {"X": ["array-like", "sparse matrix"], "y": ["array-like"]}
CORRELATION = {**TABLE, "center": ["boolean"], "force_finite": ["boolean"]}


def _is_sparse(X) -> bool:
    from scipy.sparse import issparse

    return issparse(X)


def _moments(X, codes: NDArray, n_groups: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """(rows, means of X − shift, squares about them, shift): by group; shift by column."""
    if _is_sparse(X):
        return _sparse_moments(X.tocsr(), codes, n_groups)
    X = kernel_view(X, X.dtype if X.dtype in FLOATS else np.float64)
    n, d = X.shape
    shift = X[0].astype(np.float64) if n else np.zeros(d)
    rows_per_chunk = chunk_rows(n, 4.0 * d)
    n_chunks = -(-n // rows_per_chunk)
    counts = np.zeros((n_chunks, n_groups))
    means, squares = np.zeros((2, n_chunks, n_groups, d))
    group_moments(
        X, kernel_view(codes, np.intp), kernel_view(shift), rows_per_chunk, counts, means, squares,
        n_threads=effective_n_threads(None, 4.0 * n * d),
    )  # fmt: skip
    total = counts.sum(axis=0)
    share = counts / np.maximum(total, 1.0)
    mean = np.einsum("ck,ckj->kj", share, means)
    apart = np.einsum("ck,ckj->kj", counts, (means - mean) ** 2)
    return total, mean, squares.sum(axis=0) + apart, shift


def _sparse_moments(X, codes, n_groups):
    from scipy.sparse import csr_array

    n, d = X.shape
    X = csr_array(X, dtype=np.float64)
    member = csr_array((np.ones(n), (codes, np.arange(n))), shape=(n_groups, n))
    counts = np.bincount(codes, minlength=n_groups).astype(np.float64)
    sums, squares = (member @ X).toarray(), (member @ X.multiply(X)).toarray()
    means = sums / np.maximum(counts, 1.0)[:, None]
    return counts, means, np.maximum(squares - counts[:, None] * means**2, 0.0), np.zeros(d)


def _variance_ratio(X, codes: NDArray, n_groups: int) -> tuple[NDArray, NDArray]:
    from scipy.special import fdtrc

    counts, means, squares, _ = _moments(X, codes, n_groups)
    n = counts.sum()
    centre = (counts[:, None] * means).sum(axis=0) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (counts[:, None] * (means - centre) ** 2).sum(axis=0) / np.float64(n_groups - 1)
        within = squares.sum(axis=0) / np.float64(n - n_groups)
        constant = np.flatnonzero(within == 0.0)
        if len(constant) and not between.all():
            warnings.warn(f"Features {constant} are constant.", UserWarning, stacklevel=4)
        ratio = between / within
    return ratio, fdtrc(n_groups - 1, n - n_groups, ratio)


def f_oneway(*args):
    """Analysis of variance: do groups of rows have the same means.

    .. math:: F_j = \\frac{\\sum_k n_k (\\bar x_{kj} - \\bar x_j)^2 / (K - 1)}
              {\\sum_k \\sum_{i \\in k} (x_{ij} - \\bar x_{kj})^2 / (n - K)}

    Parameters
    ----------
    *args : {array-like, sparse matrix} of shape (n_rows, n_features)
        The groups; one of shape (n_rows,) is the same in all columns.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
    p_value : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import f_oneway
    >>> f, p = f_oneway([[1.0], [2.0]], [[3.0], [4.0]])
    >>> f
    array([8.])
    """
    from scipy.sparse import vstack

    groups = [check_array(a, accept_sparse="csr", ensure_2d=False) for a in args]
    width = max((a.shape[1] for a in groups if a.ndim == 2), default=1)
    groups = [np.tile(a[:, None], width) if a.ndim == 1 else a for a in groups]
    if any(_is_sparse(a) for a in groups):
        X = vstack([a if _is_sparse(a) else a.astype(np.float64) for a in groups], format="csr")
    else:
        X = np.concatenate(groups)
    codes = np.repeat(np.arange(len(groups)), [a.shape[0] for a in groups])
    return _variance_ratio(X, codes, len(groups))


@validate_params(TABLE, prefer_skip_nested_validation=True)
def f_classif(X, y):
    """F statistic of every column between the classes; see `f_oneway`.

    One pass over the rows, on threads; sums are about a row of the data, so that columns far from
    zero lose no digits.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
    p_values : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import f_classif
    >>> f, p = f_classif([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 4.0]], [0, 0, 1, 1])
    >>> f
    array([8., 0.])
    """
    X, y = check_X_y(X, y, accept_sparse=["csr", "csc", "coo"])
    classes, codes = np.unique(y, return_inverse=True)
    return _variance_ratio(X, codes, len(classes))


@validate_params(TABLE, prefer_skip_nested_validation=True)
def chi2(X, y):
    """Chi-squared statistic of every column of counts against the classes.

    .. math:: \\chi^2_j = \\sum_k \\frac{(O_{kj} - E_{kj})^2}{E_{kj}}, \\quad
              O_{kj} = \\sum_{i \\in k} x_{ij}, \\quad E_{kj} = \\frac{n_k}{n} \\sum_i x_{ij}

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts or frequencies, none negative.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Labels, or indicators of labels.

    Returns
    -------
    chi2 : ndarray of shape (n_features,)
    p_values : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import chi2
    >>> statistic, p = chi2([[1, 1], [1, 0], [0, 1], [0, 0]], [0, 0, 1, 1])
    >>> statistic
    array([2., 0.])
    """
    from scipy.special import chdtrc
    from sklearn.utils.multiclass import check_classification_targets

    X = check_array(X, accept_sparse="csr", dtype=FLOATS)
    y = check_array(y, ensure_2d=False, dtype=None)
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y has {y.shape[0]}")
    check_classification_targets(y)
    if ((X.data if _is_sparse(X) else X) < 0).any():
        raise ValueError("Input X must be non-negative.")
    if y.ndim == 2 and y.shape[1] > 1:
        observed, shares = np.asarray((X.T @ y).T), y.mean(axis=0)
        totals = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    else:
        classes, codes = np.unique(y.ravel(), return_inverse=True)
        counts, means, _, shift = _moments(X, codes, len(classes))
        observed, shares = counts[:, None] * (means + shift), counts / counts.sum()
        totals = observed.sum(axis=0)
        if len(classes) == 1:  # nothing to tell apart, as with scikit-learn: no number
            observed, shares = np.vstack([observed, 0.0 * observed]), np.array([1.0, 0.0])
    expected = np.outer(shares, totals)
    with np.errstate(invalid="ignore"):
        statistic = ((observed - expected) ** 2 / expected).sum(axis=0)
    return statistic, chdtrc(len(observed) - 1, statistic)


@validate_params(CORRELATION, prefer_skip_nested_validation=True)
def r_regression(X, y, *, center=True, force_finite=True):
    """Pearson's correlation of every column with the target.

    .. math:: r_j = \\frac{\\sum_i (x_{ij} - \\bar x_j)(y_i - \\bar y)}
              {\\|x_j - \\bar x_j\\| \\; \\|y - \\bar y\\|}

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Target.
    center : bool, default=True
        Whether to subtract the means.
    force_finite : bool, default=True
        0 instead of NaN where a column or the target is constant.

    Returns
    -------
    correlation_coefficient : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import r_regression
    >>> r_regression([[1.0], [2.0], [3.0]], [3.0, 2.0, 1.0])
    array([-1.])
    """
    X, y = check_X_y(X, y, accept_sparse=["csr", "csc", "coo"], dtype=np.float64)
    if _is_sparse(X):
        across, norms = _sparse_products(X.tocsr(), y, center)
    else:
        across, norms = _products(X, y, center)
    if center:
        y = y - np.mean(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = across / norms / np.linalg.norm(y)
    if force_finite:
        found[np.isnan(found)] = 0.0
    return found


def _products(X, y, center) -> tuple[NDArray, NDArray]:
    """(X'y, norms of the columns), of centred columns if asked for, by blocks of rows."""
    n, d = X.shape
    shift = X[0].copy() if center else np.zeros(d)
    y = y - np.mean(y) if center else y
    rows_per_block = chunk_rows(n, 4.0 * d, at_least=256)
    products, squares = np.zeros((2, d)), np.zeros(d)
    left = np.vstack([y, np.ones(n)])
    with single_threaded_blas() if n > rows_per_block else nullcontext():
        for first in range(0, n, rows_per_block):
            block = X[first : first + rows_per_block] - shift
            products += left[:, first : first + rows_per_block] @ block
            squares += np.einsum("ij,ij->j", block, block)
    across, sums = products
    if center:
        squares -= sums**2 / n
    return across, np.sqrt(np.maximum(squares, 0.0))


def _sparse_products(X, y, center) -> tuple[NDArray, NDArray]:
    n = X.shape[0]
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
    if center:
        y = y - np.mean(y)
        squares = squares - np.asarray(X.sum(axis=0)).ravel() ** 2 / n
    return np.asarray(X.T @ y).ravel(), np.sqrt(np.maximum(squares, 0.0))


@validate_params(CORRELATION, prefer_skip_nested_validation=True)
def f_regression(X, y, *, center=True, force_finite=True):
    """F statistic and p-value of each column's correlation with the target.

    .. math:: F_j = \\frac{r_j^2}{1 - r_j^2} (n - 2)

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Target.
    center : bool, default=True
        Whether to subtract the means; without, n − 1 stands for n − 2.
    force_finite : bool, default=True
        0 where a column or the target is constant, the largest float where they are in line.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
    p_values : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import f_regression
    >>> f, p = f_regression([[1.0], [2.0], [4.0]], [1.0, 3.0, 2.0])
    >>> f.round(3)
    array([0.12])
    """
    from scipy.special import fdtrc

    r = r_regression(X, y, center=center, force_finite=force_finite)
    free = np.asarray(y).size - (2 if center else 1)
    squared = r**2
    with np.errstate(divide="ignore", invalid="ignore"):
        f = squared / (1.0 - squared) * free
        p = fdtrc(1, free, f)
    if force_finite:
        aligned, undefined = np.isinf(f), np.isnan(f)
        f[aligned] = np.finfo(f.dtype).max
        f[undefined], p[undefined] = 0.0, 1.0
        p[aligned] = 0.0
    return f, p
