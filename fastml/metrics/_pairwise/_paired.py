"""Distances of row i of X and row i of Y. `pairwise` re-exports them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fastml._engines.distances.checks import check_paired_arrays
from fastml._engines.gram.similarities import unit_rows
from fastml._sklearn import StrOptions, validate_params

_PAIR = {"X": ["array-like", "sparse matrix"], "Y": ["array-like", "sparse matrix"]}


def _sum_rows(terms) -> np.ndarray:
    return np.asarray(terms.sum(axis=1)).reshape(-1)


def _squares(difference):
    return difference.multiply(difference) if issparse(difference) else difference * difference


@validate_params(_PAIR, prefer_skip_nested_validation=True)
def paired_euclidean_distances(X: Any, Y: Any) -> np.ndarray:
    """sqrt(Σ (x_k - y_k)²) of row i of X and row i of Y.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    distances : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from fastml.metrics.pairwise import paired_euclidean_distances
    >>> paired_euclidean_distances([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([1., 1.])
    """
    X, Y = check_paired_arrays(X, Y)
    return np.sqrt(_sum_rows(_squares(_difference(X, Y))))


@validate_params(_PAIR, prefer_skip_nested_validation=True)
def paired_manhattan_distances(X: Any, Y: Any) -> np.ndarray:
    """Σ |x_k - y_k| of row i of X and row i of Y.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    distances : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from fastml.metrics.pairwise import paired_manhattan_distances
    >>> paired_manhattan_distances([[1, 1, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1]])
    array([1., 2.])
    """
    X, Y = check_paired_arrays(X, Y)
    return _sum_rows(abs(_difference(X, Y)))


@validate_params(_PAIR, prefer_skip_nested_validation=True)
def paired_cosine_distances(X: Any, Y: Any) -> np.ndarray:
    """1 - cos of row i of X and row i of Y: half the squared distance of the unit vectors.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    distances : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from fastml.metrics.pairwise import paired_cosine_distances
    >>> paired_cosine_distances([[0, 0, 1], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]).round(3)
    array([1.   , 0.184])
    """
    X, Y = check_paired_arrays(X, Y)
    return 0.5 * _sum_rows(_squares(_difference(unit_rows(X), unit_rows(Y))))


def _difference(X, Y):
    """X - Y; one of them sparse and the other not gives an array, not a matrix, whose product with
    itself would be another."""
    difference = X - Y
    return difference if issparse(difference) else np.asarray(difference)


PAIRED_DISTANCES: dict[str, Callable] = {
    "cosine": paired_cosine_distances,
    "euclidean": paired_euclidean_distances,
    "l2": paired_euclidean_distances,
    "l1": paired_manhattan_distances,
    "manhattan": paired_manhattan_distances,
    "cityblock": paired_manhattan_distances,
}


@validate_params(
    {
        "X": ["array-like"],
        "Y": ["array-like"],
        "metric": [StrOptions(set(PAIRED_DISTANCES)), callable],
    },
    prefer_skip_nested_validation=True,
)
def paired_distances(
    X: Any, Y: Any, *, metric: str | Callable = "euclidean", **kwds: Any
) -> np.ndarray:
    """Distance of row i of X and row i of Y, for every i.

    Parameters
    ----------
    X, Y : array-like of shape (n_samples, n_features)
    metric : str or callable, default="euclidean"
        A name of ``PAIRED_DISTANCES`` or a function of two rows.
    **kwds
        Not used; for compatibility.

    Returns
    -------
    distances : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from fastml.metrics.pairwise import paired_distances
    >>> paired_distances([[0, 1], [1, 1]], [[0, 1], [2, 1]])
    array([0., 1.])
    """
    if isinstance(metric, str):
        return PAIRED_DISTANCES[metric](X, Y)
    X, Y = check_paired_arrays(X, Y)
    return np.array([metric(x, y) for x, y in zip(X, Y)], dtype=np.float64)
