"""Kernels: similarities of all pairs of rows. `pairwise` re-exports them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from fastml._engines.gram import similarities
from fastml._sklearn import Hidden, Interval, validate_params

_ARRAYS = {"X": ["array-like", "sparse matrix"], "Y": ["array-like", "sparse matrix", None]}
_DENSE = {"X": ["array-like"], "Y": ["array-like", None]}
_GAMMA = [Interval(Real, 0, None, closed="left"), None, Hidden(np.ndarray)]
_POSITIVE_GAMMA = [Interval(Real, 0, None, closed="neither"), None, Hidden(np.ndarray)]
_COEF0 = [Interval(Real, None, None, closed="neither")]


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
    return similarities.linear(X, Y, dense_output)


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
    return similarities.polynomial(X, Y, degree, gamma, coef0)


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
    return similarities.sigmoid(X, Y, gamma, coef0)


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
    return similarities.rbf(X, Y, gamma)


@validate_params({**_ARRAYS, "gamma": _GAMMA}, prefer_skip_nested_validation=True)
def exponential_kernel(X: Any, Y: Any = None, gamma: float | None = None) -> np.ndarray:
    """K(x, y) = exp(gamma x · y); normalised it is `rbf_kernel` of half the gamma.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    gamma : float, default=None
        1 / σ²; None means 1 / n_features.

    Returns
    -------
    kernel : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import exponential_kernel
    >>> exponential_kernel([[1, 1]], [[1, 0]], gamma=1).round(3)
    array([[2.718]])
    """
    return similarities.exponential(X, Y, gamma)


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
    return similarities.laplacian(X, Y, gamma)


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
    return similarities.cosine(X, Y, dense_output)


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
    return similarities.additive_chi2(X, Y)


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
    return similarities.chi2(X, Y, gamma)
