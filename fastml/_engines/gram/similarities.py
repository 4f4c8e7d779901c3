"""Kernels of kernel methods by name: matrices of similarities of all pairs of rows.

Each checks its rows, as every kernel takes others: any, sparse or not, or non-negative dense ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy.sparse import diags_array, issparse

from fastml._engines.distances import matrix as _matrix
from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.distances.named import callable_matrix
from fastml.kernels.distances import gram, metrics


def linear(X, Y, dense_output=True, n_jobs=None):
    """x · y."""
    X, Y = check_pairwise_arrays(X, Y)
    return _dot(X, Y, dense_output)


def polynomial(X, Y, degree=3, gamma=None, coef0=1, n_jobs=None):
    """(gamma x · y + coef0)^degree."""
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    coef0, degree = _one_number(coef0), _one_number(degree)
    if _matrix.any_sparse(X, Y):
        matrix = _dot(X, Y)
        matrix *= gamma
        matrix += coef0
        matrix **= degree
        return matrix
    parameters = {"gamma": gamma, "coef0": coef0, "degree": degree, "n_jobs": n_jobs}
    return _gram(gram.POLYNOMIAL, X, Y, **parameters)


def sigmoid(X, Y, gamma=None, coef0=1, n_jobs=None):
    """tanh(gamma x · y + coef0)."""
    X, Y = check_pairwise_arrays(X, Y)
    gamma, coef0 = _default_gamma(gamma, X), _one_number(coef0)
    if _matrix.any_sparse(X, Y):
        matrix = _dot(X, Y)
        matrix *= gamma
        matrix += coef0
        return np.tanh(matrix, out=matrix)
    return _gram(gram.SIGMOID, X, Y, gamma=gamma, coef0=coef0, n_jobs=n_jobs)


def rbf(X, Y, gamma=None, n_jobs=None):
    """exp(-gamma |x - y|²)."""
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


def exponential(X, Y, gamma=None, n_jobs=None):
    """exp(gamma x · y)."""
    X, Y = check_pairwise_arrays(X, Y)
    return _exponential(np.array(_dot(X, Y)), _default_gamma(gamma, X))


def laplacian(X, Y, gamma=None, n_jobs=None):
    """exp(-gamma Σ |x_k - y_k|)."""
    X, Y = check_pairwise_arrays(X, Y)
    gamma = _default_gamma(gamma, X)
    if _matrix.any_sparse(X, Y):
        distances = _matrix.sparse_matrix(metrics.MANHATTAN, X, Y, n_jobs=n_jobs)
        return _exponential(distances, -gamma)
    return _matrix.gap_matrix(metrics.MANHATTAN, X, Y, scale=-gamma, n_jobs=n_jobs)


def cosine(X, Y, dense_output=True, n_jobs=None):
    """x · y / (|x| |y|), and 0 with a zero row."""
    X, Y = check_pairwise_arrays(X, Y)
    if not _matrix.any_sparse(X, Y):
        return _matrix.cosine_matrix(gram.COSINE_SIMILARITY, X, Y, n_jobs=n_jobs)
    left = unit_rows(X)
    return _dot(left, left if Y is X else unit_rows(Y), dense_output)


def additive_chi2(X, Y, n_jobs=None):
    """-Σ (x_k - y_k)² / (x_k + y_k)."""
    X, Y = _non_negative(X, Y)
    matrix = _matrix.row_matrix(metrics.CHI_SQUARES, X, Y, n_jobs=n_jobs)
    return np.negative(matrix, out=matrix)


def chi2(X, Y, gamma=1.0, n_jobs=None):
    """exp(-gamma Σ (x_k - y_k)² / (x_k + y_k))."""
    X, Y = _non_negative(X, Y)
    scale = -float(_one_number(gamma))
    return _matrix.row_matrix(metrics.CHI_SQUARES, X, Y, scale=scale, n_jobs=n_jobs)


def _dot(X, Y, dense_output=True):
    product = X @ Y.T
    return product.toarray() if dense_output and issparse(product) else product


def _default_gamma(gamma, X) -> float:
    return 1.0 / X.shape[1] if gamma is None else float(_one_number(gamma))


def _one_number(value):
    """A parameter of a kernel; Gaussian processes and searches hand over arrays of one value."""
    if not isinstance(value, np.ndarray):
        return value
    if value.size != 1:
        raise ValueError(f"a kernel takes one number, not an array of shape {value.shape}")
    return value.item()


def _exponential(matrix, scale):
    """exp(scale · matrix), in place."""
    matrix *= scale
    return np.exp(matrix, out=matrix)


def _gram(form, X, Y, **parameters):
    """A kernel that needs no norms."""
    unused = np.empty(0)
    return _matrix.gram_matrix(form, X, Y, unused, unused, **parameters)


def unit_rows(X):
    if not issparse(X):
        return X * _matrix.inverse_norms(X)[:, None].astype(X.dtype)
    norms = np.sqrt(_matrix.sparse_row_squares(_matrix.canonical_csr(X)))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return type(X)(diags_array(inverse.astype(X.dtype), format="csr") @ X)


def _non_negative(X, Y):
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False)
    for name, data in (("X", X), ("Y", Y)):
        if data.size and data.min() < 0:
            raise ValueError(f"{name} contains negative values.")
    return X, Y


SIMILARITIES: dict[str, Callable] = {
    "additive_chi2": additive_chi2,
    "chi2": chi2,
    "linear": linear,
    "polynomial": polynomial,
    "poly": polynomial,
    "rbf": rbf,
    "laplacian": laplacian,
    "sigmoid": sigmoid,
    "cosine": cosine,
    "exponential": exponential,
}
KERNEL_PARAMS: dict[str, frozenset[str]] = {
    "additive_chi2": frozenset(),
    "chi2": frozenset({"gamma"}),
    "cosine": frozenset(),
    "exponential": frozenset({"gamma"}),
    "linear": frozenset(),
    "poly": frozenset({"gamma", "degree", "coef0"}),
    "polynomial": frozenset({"gamma", "degree", "coef0"}),
    "rbf": frozenset({"gamma"}),
    "laplacian": frozenset({"gamma"}),
    "sigmoid": frozenset({"gamma", "coef0"}),
}
"""The parameters that each kernel takes."""


def known_parameters(name: str, parameters: dict) -> dict:
    """Those of ``parameters`` that the kernel takes."""
    return {key: value for key, value in parameters.items() if key in KERNEL_PARAMS[name]}


def kernel_matrix(kernel, X, Y, *, n_jobs=None, **parameters):
    """K(X, Y) of a named kernel, a function of two rows, a kernel of Gaussian processes or one that
    is made of others (`expressions`)."""
    if isinstance(kernel, str):
        return SIMILARITIES[kernel](X, Y, n_jobs=n_jobs, **parameters)
    if is_gaussian_process_kernel(kernel):
        return kernel(X, X if Y is None else Y, **parameters)
    if hasattr(kernel, "matrix_of"):
        return kernel.matrix_of(X, Y, n_jobs)
    return callable_matrix(kernel, X, Y, n_jobs=n_jobs, **parameters)


def is_gaussian_process_kernel(kernel) -> bool:
    """Whether it is one of scikit-learn's objects, which take whole matrices."""
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(kernel, module.Kernel)


def self_similarities(kernel, X, parameters: dict) -> np.ndarray:
    """K(x, x) of every row."""
    if is_gaussian_process_kernel(kernel):
        return kernel.diag(X)
    X, _ = check_pairwise_arrays(X, None)
    if hasattr(kernel, "matrix_of"):
        return kernel.diagonal(X)
    if not isinstance(kernel, str):
        rows = X.toarray() if issparse(X) else X
        return np.array([kernel(row, row, **parameters) for row in rows], dtype=np.float64)
    if kernel in ("rbf", "laplacian", "chi2", "additive_chi2"):
        return np.full(X.shape[0], 0.0 if kernel == "additive_chi2" else 1.0)
    if issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        squares = _matrix.row_squares(X)
    if kernel == "linear":
        return squares
    if kernel == "cosine":
        return (squares > 0).astype(np.float64)
    inner = _default_gamma(parameters.get("gamma"), X) * squares
    if kernel == "exponential":
        return np.exp(inner)
    inner = inner + _one_number(parameters.get("coef0", 1))
    if kernel == "sigmoid":
        return np.tanh(inner)
    return inner ** _one_number(parameters.get("degree", 3))


def normalised(K, own_x, own_y) -> np.ndarray:
    """K(x, y) / √(K(x, x) K(y, y)), and 0 where K(x, x) or K(y, y) is 0."""
    factors = []
    for own in (np.asarray(own_x, np.float64), np.asarray(own_y, np.float64)):
        if not (own >= 0).all():
            raise ValueError("a kernel can be normalised only where K(x, x) >= 0 for every row")
        roots = np.sqrt(own)
        factors.append(np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0))
    K = K * factors[0][:, None]
    K *= factors[1]
    return K
