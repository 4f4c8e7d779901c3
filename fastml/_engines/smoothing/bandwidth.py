"""Checking a bandwidth, and searching one."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import NDArray

N_CANDIDATES = 30
GOLDEN = 0.6180339887498949
REFINEMENTS = 8


def check_bandwidth(bandwidth, d: int):
    """A positive number, d positive numbers or a positive definite (d, d) matrix."""
    if isinstance(bandwidth, Real):
        if not 0.0 < float(bandwidth) < np.inf:
            raise ValueError(f"bandwidth must be positive and finite, got {bandwidth}")
        return float(bandwidth)
    array = np.asarray(bandwidth, dtype=np.float64)
    if array.shape not in ((d,), (d, d)):
        raise ValueError(
            f"bandwidth must be a number, one per feature (shape ({d},)) or a covariance (shape "
            f"({d}, {d})); got shape {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        raise ValueError("bandwidth must be finite")
    if array.ndim == 1:
        if not np.all(array > 0.0):
            raise ValueError(f"every bandwidth must be positive, got {array.min()}")
        return array
    if not np.allclose(array, array.T):
        raise ValueError("a bandwidth matrix must be symmetric: it is a covariance")
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        raise ValueError("a bandwidth matrix must be positive definite") from None
    return array


def effective_size(weights: NDArray) -> float:
    """(sum w)^2 / sum w^2: the number of equal weights with the same variance of the mean."""
    return float(weights.sum() ** 2 / np.sum(weights**2))


def spread(X: NDArray, weights: NDArray) -> NDArray:
    """Weighted standard deviation of each feature (n - 1 for equal weights)."""
    mean = np.average(X, axis=0, weights=weights)
    variance = np.average((X - mean) ** 2, axis=0, weights=weights)
    size = effective_size(weights)
    return np.sqrt(variance * size / max(size - 1.0, 1.0))


def refuse_constant_features(X: NDArray) -> None:
    """Rules of thumb need a spread."""
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0.0)
    if constant.shape[0]:
        raise ValueError(
            f"feature {constant[0]} is constant: a rule of thumb needs a positive variance; drop "
            "the feature or give its bandwidth yourself"
        )


def silverman_factor(n: float, d: int) -> float:
    """Best Gaussian bandwidth for Gaussian data of unit variance."""
    return (n * (d + 2) / 4) ** (-1 / (d + 4))


def reference_bandwidth(X: NDArray, weights: NDArray) -> float:
    """A first guess for the search: Silverman's rule with the features' mean spread."""
    deviations = spread(X, weights)
    scale = deviations[deviations > 0.0]
    if scale.shape[0] == 0:
        raise ValueError(
            "a bandwidth cannot be chosen for data of zero variance: all rows are equal"
        )
    mean_scale = float(np.exp(np.mean(np.log(scale))))
    return mean_scale * silverman_factor(effective_size(weights), X.shape[1])


def search_bandwidth(loss: Callable[[float], float], reference: float) -> float:
    """Minimise ``loss`` on a geometric grid around ``reference``, then by golden section."""
    grid = reference * np.geomspace(0.05, 4.0, N_CANDIDATES)
    losses = [loss(float(h)) for h in grid]
    best = int(np.argmin(losses))
    if not np.isfinite(losses[best]):
        raise ValueError(
            "no bandwidth between "
            f"{grid[0]:.3g} and {grid[-1]:.3g} has a finite score; give one yourself"
        )
    low = np.log(grid[max(best - 1, 0)])
    high = np.log(grid[min(best + 1, grid.shape[0] - 1)])
    found = {float(grid[best]): losses[best]}
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [loss(float(np.exp(h))) for h in inner]
    for _ in range(REFINEMENTS):
        found.update({float(np.exp(h)): value for h, value in zip(inner, values)})
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - GOLDEN * (high - low)
            values[0] = loss(float(np.exp(inner[0])))
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + GOLDEN * (high - low)
            values[1] = loss(float(np.exp(inner[1])))
    found.update({float(np.exp(h)): value for h, value in zip(inner, values)})
    return min(found, key=lambda h: found[h])
