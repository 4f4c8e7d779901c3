"""`pairwise_kernels`: any kernel by name, and normalised kernels. `pairwise` re-exports it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils._param_validation import StrOptions, validate_params

from fastml.metrics import _similarity
from fastml.metrics._checks import check_pairwise_arrays
from fastml.metrics._matrix import row_squares
from fastml.metrics._named import callable_matrix

PAIRWISE_KERNEL_FUNCTIONS: dict[str, Callable] = {
    "additive_chi2": _similarity.additive_chi2_kernel,
    "chi2": _similarity.chi2_kernel,
    "linear": _similarity.linear_kernel,
    "polynomial": _similarity.polynomial_kernel,
    "poly": _similarity.polynomial_kernel,
    "rbf": _similarity.rbf_kernel,
    "laplacian": _similarity.laplacian_kernel,
    "sigmoid": _similarity.sigmoid_kernel,
    "cosine": _similarity.cosine_similarity,
}
_WITH_THREADS: dict[str, Callable] = {
    "additive_chi2": _similarity._additive_chi2,
    "chi2": _similarity._chi2,
    "linear": _similarity._linear,
    "polynomial": _similarity._polynomial,
    "poly": _similarity._polynomial,
    "rbf": _similarity._rbf,
    "laplacian": _similarity._laplacian,
    "sigmoid": _similarity._sigmoid,
    "cosine": _similarity._cosine,
}
KERNEL_PARAMS: dict[str, frozenset[str]] = {
    "additive_chi2": frozenset(),
    "chi2": frozenset({"gamma"}),
    "cosine": frozenset(),
    "linear": frozenset(),
    "poly": frozenset({"gamma", "degree", "coef0"}),
    "polynomial": frozenset({"gamma", "degree", "coef0"}),
    "rbf": frozenset({"gamma"}),
    "laplacian": frozenset({"gamma"}),
    "sigmoid": frozenset({"gamma", "coef0"}),
}


def kernel_metrics() -> dict[str, Callable]:
    """The kernels that `pairwise_kernels` knows, by name.

    Returns
    -------
    kernel_metrics : dict

    Examples
    --------
    >>> from fastml.metrics.pairwise import kernel_metrics
    >>> "rbf" in kernel_metrics()
    True
    """
    return PAIRWISE_KERNEL_FUNCTIONS


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "Y": ["array-like", "sparse matrix", None],
        "metric": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "filter_params": ["boolean"],
        "n_jobs": [Integral, None],
        "normalize": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def pairwise_kernels(
    X: Any,
    Y: Any = None,
    metric: str | Callable = "linear",
    *,
    filter_params: bool = False,
    n_jobs: int | None = None,
    normalize: bool = False,
    **kwds: Any,
) -> Any:
    """The kernel matrix of X and Y.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Or the kernel matrix itself if ``metric="precomputed"``.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        None means X.
    metric : str or callable, default="linear"
        A name of `kernel_metrics`, "precomputed", or a function of two rows. A function under
        Numba's ``njit`` runs compiled and in parallel.
    filter_params : bool, default=False
        Whether to drop parameters that the kernel does not take.
    n_jobs : int, default=None
        Threads; None means all cores that this process may use.
    normalize : bool, default=False
        Divide by sqrt(K(x, x) K(y, y)), so that every row has similarity 1 to itself.
    **kwds
        Parameters of the kernel.

    Returns
    -------
    K : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import pairwise_kernels
    >>> pairwise_kernels([[0, 0], [1, 1]], [[1, 0], [1, 1]], metric="linear")
    array([[0., 0.],
           [1., 2.]])
    >>> pairwise_kernels([[1, 1]], [[1, 0], [2, 2]], metric="linear", normalize=True).round(3)
    array([[0.707, 1.   ]])
    """
    if isinstance(metric, str) and metric == "precomputed":
        X, _ = check_pairwise_arrays(X, Y, precomputed=True)
        if not normalize:
            return X
        if X.shape[0] != X.shape[1]:
            raise ValueError("normalize=True needs a square precomputed matrix")
        return normalized_kernel(X, np.diagonal(X), np.diagonal(X))
    if isinstance(metric, str):
        kwds = {k: v for k, v in kwds.items() if not filter_params or k in KERNEL_PARAMS[metric]}
        if unknown := sorted(set(kwds) - KERNEL_PARAMS[metric]):
            allowed = ", ".join(sorted(KERNEL_PARAMS[metric])) or "no parameters"
            raise TypeError(
                f"unexpected parameter {unknown[0]!r}: kernel {metric!r} takes {allowed}"
            )
        K = _WITH_THREADS[metric](X, Y, n_jobs=n_jobs, **kwds)
    elif _is_gaussian_process_kernel(metric):
        K = metric(X, X if Y is None else Y, **kwds)
    else:
        K = callable_matrix(metric, X, Y, n_jobs=n_jobs, **kwds)
    if not normalize:
        return K
    own = _self_similarities(metric, X, kwds)
    return normalized_kernel(K, own, own if Y is None else _self_similarities(metric, Y, kwds))


def _is_gaussian_process_kernel(metric) -> bool:
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(metric, module.Kernel)


def _self_similarities(metric, X, kwds: dict[str, Any]) -> np.ndarray:
    """K(x, x) of every row."""
    if _is_gaussian_process_kernel(metric):
        return metric.diag(X)
    X, _ = check_pairwise_arrays(X, None)
    if not isinstance(metric, str):
        return np.array([metric(X[i], X[i], **kwds) for i in range(X.shape[0])])
    if metric in ("rbf", "laplacian", "chi2", "additive_chi2"):
        return np.full(X.shape[0], 0.0 if metric == "additive_chi2" else 1.0)
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if issparse(X) else row_squares(X)
    if metric == "linear":
        return squares
    if metric == "cosine":
        return (squares > 0).astype(np.float64)
    gamma = 1.0 / X.shape[1] if kwds.get("gamma") is None else kwds["gamma"]
    inner = gamma * squares + kwds.get("coef0", 1)
    return np.tanh(inner) if metric == "sigmoid" else inner ** kwds.get("degree", 3)


def normalized_kernel(K: Any, own_x: Any, own_y: Any) -> np.ndarray:
    """K(x, y) / sqrt(K(x, x) K(y, y)).

    Parameters
    ----------
    K : array-like of shape (n_samples_X, n_samples_Y)
        Kernel matrix.
    own_x : array-like of shape (n_samples_X,)
        Similarity of each row of X to itself: the diagonal of its kernel matrix.
    own_y : array-like of shape (n_samples_Y,)

    Returns
    -------
    normalized : ndarray of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from fastml.metrics.pairwise import normalized_kernel
    >>> normalized_kernel([[4.0, 3.0], [3.0, 9.0]], [4, 9], [4, 9])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    K, own_x, own_y = np.asarray(K), np.asarray(own_x), np.asarray(own_y)
    if K.shape != (own_x.size, own_y.size):
        raise ValueError(f"K must have shape {(own_x.size, own_y.size)}, got {K.shape}")
    if not ((own_x > 0).all() and (own_y > 0).all()):
        raise ValueError("a kernel can be normalised only where K(x, x) > 0 for every row")
    return K / (np.sqrt(own_x)[:, None] * np.sqrt(own_y))
