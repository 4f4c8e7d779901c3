"""Derivatives by differences, where none are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FIRST, SECOND = np.finfo(float).eps ** (1 / 3), np.finfo(float).eps ** (1 / 4)


def numeric_gradient(loss, point) -> NDArray:
    """Central differences (f(x + h e_j) − f(x − h e_j)) / 2h.

    Parameters
    ----------
    loss : callable
        Of a vector; returns a number or a vector.
    point : array-like of shape (n,)

    Returns
    -------
    gradient : ndarray of shape (n,) or (n, n_values)

    Examples
    --------
    >>> from fastml.optimize import numeric_gradient
    >>> numeric_gradient(lambda w: w[0] ** 2 + (w[1] - 1) ** 2, [1.0, 0.0]).round(6)
    array([ 2., -2.])
    """
    point = np.asarray(point, dtype=np.float64)
    found = []
    for j in range(len(point)):
        ahead, behind = point.copy(), point.copy()
        h = FIRST * max(1.0, abs(point[j]))
        ahead[j] += h
        behind[j] -= h
        found.append((loss(ahead) - loss(behind)) / (ahead[j] - behind[j]))
    return np.asarray(found, dtype=np.float64)


def numeric_hessian(loss, point, gradient=None) -> NDArray:
    """Differences of the gradient, made symmetric; without one, second differences of the loss.

    Parameters
    ----------
    loss : callable
        Of a vector; returns a number.
    point : array-like of shape (n,)
    gradient : callable, default=None

    Returns
    -------
    hessian : ndarray of shape (n, n)

    Examples
    --------
    >>> from fastml.optimize import numeric_hessian
    >>> numeric_hessian(lambda w: w[0] ** 2 / 2 + 3 * w[1] ** 2 / 2, [1.0, 1.0]).round(4) + 0.0
    array([[1., 0.],
           [0., 3.]])
    """
    point = np.asarray(point, dtype=np.float64)
    if gradient is not None:
        found = numeric_gradient(gradient, point)
        return (found + found.T) / 2.0
    n = len(point)
    steps = np.diag(SECOND * np.maximum(1.0, np.abs(point)))
    found = np.empty((n, n))
    for i in range(n):
        for j in range(i, n):
            a, b = steps[i], steps[j]
            crossed = loss(point + a + b) - loss(point + a - b)
            crossed += loss(point - a - b) - loss(point - a + b)
            found[i, j] = found[j, i] = crossed / (4.0 * a[i] * b[j])
    return found
