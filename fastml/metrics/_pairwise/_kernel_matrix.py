"""`pairwise_kernels`: kernels by name, normalised, made of others. `pairwise` re-exports it."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.gram.expressions import KernelExpression, expression_of
from fastml._engines.gram.similarities import (
    KERNEL_PARAMS,
    kernel_matrix,
    known_parameters,
    normalised,
    self_similarities,
)
from fastml._sklearn import StrOptions, validate_params
from fastml.metrics._pairwise import _similarity

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
    "exponential": _similarity.exponential_kernel,
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
        A name of `kernel_metrics`, "precomputed", a function of two rows, or a kernel of
        `make_kernel`. A function under Numba's ``njit`` runs compiled and in parallel.
    filter_params : bool, default=False
        Whether to drop parameters that the kernel does not take.
    n_jobs : int, default=None
        Threads; None means all cores that this process may use.
    normalize : bool, default=False
        Divide by sqrt(K(x, x) K(y, y)), so that every row has similarity 1 to itself; 0 where
        K(x, x) or K(y, y) is 0.
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
        if filter_params:
            kwds = known_parameters(metric, kwds)
        if unknown := sorted(set(kwds) - KERNEL_PARAMS[metric]):
            allowed = ", ".join(sorted(KERNEL_PARAMS[metric])) or "no parameters"
            raise TypeError(
                f"unexpected parameter {unknown[0]!r}: kernel {metric!r} takes {allowed}"
            )
    K = kernel_matrix(metric, X, Y, n_jobs=n_jobs, **kwds)
    if not normalize:
        return K
    own = self_similarities(metric, X, kwds)
    return normalized_kernel(K, own, own if Y is None else self_similarities(metric, Y, kwds))


def make_kernel(metric: Any = "rbf", **parameters: Any) -> KernelExpression:
    """A kernel to put together with others, for any kernel machine.

    Sums, products, positive multiples, whole powers and exponentials of kernels are kernels:
    ``a + b``, ``a * b``, ``2.0 * a``, ``a + 1.0``, ``a**2``, ``a.exp()``. ``a.normalized()``
    divides by the roots of the diagonal, ``a.on([0, 2])`` looks at some columns: the product of
    kernels on different columns is their tensor product.

    Parameters
    ----------
    metric : str, float or callable, default="rbf"
        A name of `kernel_metrics`, a constant, or a function of two rows; one under Numba's
        ``njit`` runs compiled and in parallel.
    **parameters
        Of that kernel.

    Returns
    -------
    kernel : object
        Called with one or two sets of rows, their matrix.

    Examples
    --------
    >>> from fastml.metrics.pairwise import make_kernel
    >>> from fastml.svm import SVC
    >>> kernel = make_kernel("rbf", gamma=0.5) + 2.0 * make_kernel("linear").on([0])
    >>> kernel([[0.0, 1.0]], [[0.0, 1.0], [2.0, 1.0]]).round(3)
    array([[1.   , 0.135]])
    >>> SVC(kernel=kernel).fit([[0.0, 1.0], [2.0, 1.0]], [0, 1]).predict([[1.5, 1.0]])
    array([1])
    """
    return expression_of(metric, **parameters)


def normalized_kernel(K: Any, own_x: Any, own_y: Any) -> np.ndarray:
    """K(x, y) / sqrt(K(x, x) K(y, y)), and 0 where K(x, x) or K(y, y) is 0.

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
    return normalised(K, own_x, own_y)
