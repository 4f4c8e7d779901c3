"""Kernels: similarities of all pairs of rows. `pairwise` re-exports them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse
from sklearn.utils._param_validation import Hidden, Interval, validate_params

from fastml.kernels import gram, metrics
from fastml.metrics import _matrix
from fastml.metrics._checks import check_pairwise_arrays

_ARRAYS = {"X": ["array-like", "sparse matrix"], "Y": ["array-like", "sparse matrix", None]}
_DENSE = {"X": ["array-like"], "Y": ["array-like", None]}
_GAMMA = [Interval(Real, 0, None, closed="left"), None, Hidden(np.ndarray)]
_POSITIVE_GAMMA = [Interval(Real, 0, None, closed="neither"), None, Hidden(np.ndarray)]
_COEF0 = [Interval(Real, None, None, closed="neither")]


def _dot(X, Y, dense_output=True):
    product = X @ Y.T
    return product.toarray() if dense_output and issparse(product) else product


def _default_gamma(gamma, X) -> float:
    return 1.0 / X.shape[1] if gamma is None else float(gamma)


def _exponential(matrix, scale):
    """exp(scale · matrix), in place."""
    matrix *= scale
    return np.exp(matrix, out=matrix)


@validate_params({**_ARRAYS, "dense_output": ["boolean"]}, prefer_skip_nested_validation=True)
def linear_kernel(X: Any, Y: Any = None, dense_output: bool = True) -> Any:
    """K(x, y) = x · y.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    dense_output : bool, default=True
        False: the result is sparse if X and Y are.

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import linear_kernel
    >>> linear_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([[0., 0.],
           [1., 2.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    return _dot(X, Y, dense_output)


@validate_params(
    {
        **_ARRAYS,
        "degree": [Interval(Real, 1, None, closed="left")],
        "gamma": _GAMMA,
        "coef0": _COEF0,
    },
    prefer_skip_nested_validation=True,
)
def polynomial_kernel(
    X: Any, Y: Any = None, degree: float = 3, gamma: float | None = None, coef0: float = 1
) -> np.ndarray:
    """K(x, y) = (gamma x · y + coef0)^degree.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    degree : float, default=3
    gamma : float, default=None
        None means 1 / n_features.
    coef0 : float, default=1

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import polynomial_kernel
    >>> polynomial_kernel([[1, 1]], [[1, 0]], degree=2)
    array([[2.25]])
    """
    return _polynomial(X, Y, degree, gamma, coef0)


def _polynomial(X, Y, degree=3, gamma=None, coef0=1, n_jobs=None):
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    if _matrix.any_sparse(X, Y):
        matrix = _dot(X, Y)
        matrix *= gamma
        matrix += coef0
        matrix **= degree
        return matrix
    parameters = {"gamma": gamma, "coef0": coef0, "degree": degree, "n_jobs": n_jobs}
    return _gram(gram.POLYNOMIAL, X, Y, **parameters)


def _gram(form, X, Y, **parameters):
    """A kernel that needs no norms."""
    unused = np.empty(0)
    return _matrix.gram_matrix(form, X, Y, unused, unused, **parameters)


@validate_params({**_ARRAYS, "gamma": _GAMMA, "coef0": _COEF0}, prefer_skip_nested_validation=True)
def sigmoid_kernel(
    X: Any, Y: Any = None, gamma: float | None = None, coef0: float = 1
) -> np.ndarray:
    """K(x, y) = tanh(gamma x · y + coef0).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    gamma : float, default=None
        None means 1 / n_features.
    coef0 : float, default=1

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import sigmoid_kernel
    >>> sigmoid_kernel([[1, 1]], [[1, 0]]).round(2)
    array([[0.91]])
    """
    return _sigmoid(X, Y, gamma, coef0)


def _sigmoid(X, Y, gamma=None, coef0=1, n_jobs=None):
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    if _matrix.any_sparse(X, Y):
        matrix = _dot(X, Y)
        matrix *= gamma
        matrix += coef0
        return np.tanh(matrix, out=matrix)
    return _gram(gram.SIGMOID, X, Y, gamma=gamma, coef0=coef0, n_jobs=n_jobs)


@validate_params({**_ARRAYS, "gamma": _GAMMA}, prefer_skip_nested_validation=True)
def rbf_kernel(X: Any, Y: Any = None, gamma: float | None = None) -> np.ndarray:
    """K(x, y) = exp(-gamma |x - y|²).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    gamma : float, default=None
        None means 1 / n_features.

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import rbf_kernel
    >>> rbf_kernel([[1, 1]], [[1, 0]], gamma=1).round(3)
    array([[0.368]])
    """
    return _rbf(X, Y, gamma)


def _rbf(X, Y, gamma=None, n_jobs=None):
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    if _matrix.any_sparse(X, Y):
        squared = _matrix.sparse_matrix(metrics.SQEUCLIDEAN, X, Y, n_jobs=n_jobs)
        return _exponential(squared, -gamma)
    if X.shape[1] < _matrix.GAPS_BELOW and gamma > 0:
        return _matrix.gap_matrix(metrics.SQEUCLIDEAN, X, Y, scale=-gamma, n_jobs=n_jobs)
    squares = _matrix.row_squares(X)
    y_squares = squares if Y is X else _matrix.row_squares(Y)
    return _matrix.gram_matrix(gram.RBF, X, Y, squares, y_squares, gamma=gamma, n_jobs=n_jobs)


@validate_params({**_ARRAYS, "gamma": _POSITIVE_GAMMA}, prefer_skip_nested_validation=True)
def laplacian_kernel(X: Any, Y: Any = None, gamma: float | None = None) -> np.ndarray:
    """K(x, y) = exp(-gamma Σ |x_k - y_k|).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    gamma : float, default=None
        Positive; None means 1 / n_features.

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import laplacian_kernel
    >>> laplacian_kernel([[1, 1]], [[1, 0]], gamma=1).round(3)
    array([[0.368]])
    """
    return _laplacian(X, Y, gamma)


def _laplacian(X, Y, gamma=None, n_jobs=None):
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    if _matrix.any_sparse(X, Y):
        distances = _matrix.sparse_matrix(metrics.MANHATTAN, X, Y, n_jobs=n_jobs)
        return _exponential(distances, -gamma)
    return _matrix.gap_matrix(metrics.MANHATTAN, X, Y, scale=-gamma, n_jobs=n_jobs)


@validate_params({**_ARRAYS, "dense_output": ["boolean"]}, prefer_skip_nested_validation=True)
def cosine_similarity(X: Any, Y: Any = None, dense_output: bool = True) -> Any:
    """K(x, y) = x · y / (|x| |y|), and 0 with a zero row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    dense_output : bool, default=True
        False: the result is sparse if X and Y are.

    Returns
    -------
    similarities : ndarray or sparse matrix of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import cosine_similarity
    >>> cosine_similarity([[1, 1, 1]], [[1, 0, 0], [1, 1, 0]]).round(3)
    array([[0.577, 0.816]])
    """
    return _cosine(X, Y, dense_output)


def _cosine(X, Y, dense_output=True, n_jobs=None):
    X, Y = check_pairwise_arrays(X, Y)
    if not _matrix.any_sparse(X, Y):
        return _matrix.cosine_matrix(gram.COSINE_SIMILARITY, X, Y, n_jobs=n_jobs)
    left = _unit_rows(X)
    return _dot(left, left if Y is X else _unit_rows(Y), dense_output)


def _unit_rows(X):
    if not issparse(X):
        return X * _matrix.inverse_norms(X)[:, None].astype(X.dtype)
    norms = np.sqrt(_matrix.sparse_row_squares(_matrix.canonical_csr(X)))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return type(X)(diags_array(inverse.astype(X.dtype), format="csr") @ X)


@validate_params(_DENSE, prefer_skip_nested_validation=True)
def additive_chi2_kernel(X: Any, Y: Any = None) -> np.ndarray:
    """K(x, y) = -Σ (x_k - y_k)² / (x_k + y_k), of non-negative data such as histograms.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
    Y : array-like of shape (n_samples_Y, n_features), default=None
        None means X.

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import additive_chi2_kernel
    >>> additive_chi2_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([[-1., -2.],
           [-2., -1.]])
    """
    return _additive_chi2(X, Y)


def _additive_chi2(X, Y, n_jobs=None):
    X, Y = _non_negative(X, Y)
    matrix = _matrix.row_matrix(metrics.CHI_SQUARES, X, Y, n_jobs=n_jobs)
    return np.negative(matrix, out=matrix)


def _non_negative(X, Y):
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False)
    for name, data in (("X", X), ("Y", Y)):
        if data.size and data.min() < 0:
            raise ValueError(f"{name} contains negative values.")
    return X, Y


@validate_params({**_DENSE, "gamma": _POSITIVE_GAMMA}, prefer_skip_nested_validation=True)
def chi2_kernel(X: Any, Y: Any = None, gamma: float = 1.0) -> np.ndarray:
    """K(x, y) = exp(-gamma Σ (x_k - y_k)² / (x_k + y_k)), of non-negative data.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
    Y : array-like of shape (n_samples_Y, n_features), default=None
        None means X.
    gamma : float, default=1

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    References
    ----------
    Zhang, Marszalek, Lazebnik and Schmid, "Local features and kernels for classification of texture
    and object categories", International Journal of Computer Vision, 2007.

    Examples
    --------
    >>> from fastml.metrics.pairwise import chi2_kernel
    >>> chi2_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]).round(3)
    array([[0.368, 0.135],
           [0.135, 0.368]])
    """
    return _chi2(X, Y, gamma)


def _chi2(X, Y, gamma=1.0, n_jobs=None):
    X, Y = _non_negative(X, Y)
    return _matrix.row_matrix(metrics.CHI_SQUARES, X, Y, scale=-float(gamma), n_jobs=n_jobs)


def _linear(X, Y, n_jobs=None):
    return linear_kernel(X, Y)
