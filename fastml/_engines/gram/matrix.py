"""Kernel matrices of estimators that keep their training rows."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp

from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.gram.expressions import KernelExpression
from fastml._engines.gram.similarities import (
    kernel_matrix,
    known_parameters,
    normalised,
    self_similarities,
)
from fastml._sklearn import Interval, StrOptions

KERNELS = frozenset(
    [
        "additive_chi2",
        "chi2",
        "linear",
        "poly",
        "polynomial",
        "rbf",
        "laplacian",
        "sigmoid",
        "cosine",
        "exponential",
    ]
)

GRAM_CONSTRAINTS: dict = {
    "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
    "degree": [Interval(Real, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def gram(X, Y, kernel, gamma, degree, coef0, kernel_params, n_jobs, normalize=False):
    """K(X, Y), or K(X, X) if Y is None; X itself if precomputed."""
    if isinstance(kernel, str) and kernel == "precomputed":
        if normalize:
            raise ValueError(
                "normalize=True needs a kernel: a matrix does not tell K(x, x) of new rows"
            )
        return check_pairwise_arrays(X, Y, precomputed=True)[0]
    if callable(kernel):
        if sp.issparse(X) and not isinstance(kernel, KernelExpression):
            raise TypeError("a callable kernel needs dense rows")
        parameters = kernel_params or {}
    else:
        parameters = {"degree": degree, "coef0": coef0}
        if gamma is not None:
            parameters["gamma"] = gamma
        parameters = known_parameters(kernel, parameters)
    K = kernel_matrix(kernel, X, Y, n_jobs=n_jobs, **parameters)
    if not normalize:
        return K
    own = self_similarities(kernel, X, parameters)
    return normalised(K, own, own if Y is None else self_similarities(kernel, Y, parameters))


def check_square(K) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"a precomputed kernel must be a square matrix, got {K.shape[0]} x {K.shape[1]}"
        )


def gamma_of(gamma, X, kernel, weights=None) -> float:
    """The number for ``'scale'``, 1 / (n_features var X), or ``'auto'``, 1 / n_features."""
    if not isinstance(gamma, str):
        return float(gamma)
    if kernel == "precomputed" or callable(kernel):
        return 1.0
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if sp.issparse(X):
        squares, means = X.multiply(X).mean(axis=1), X.mean(axis=1)
        mean = np.average(np.ravel(means), weights=weights)
        variance = np.average(np.ravel(squares), weights=weights) - mean**2
    else:
        mean = np.average(X.mean(axis=1), weights=weights)
        variance = np.average(((X - mean) ** 2).mean(axis=1), weights=weights)
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
