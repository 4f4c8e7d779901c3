"""Weights of neighbours: by distance, by rank, by a kernel of distance / h, or a user's function.

For neighbours s = 1..k at distances d_s:

=================  ==========================================================
``"uniform"``      1
``"distance"``     1 / d_s; neighbours at distance 0, if any, share the vote
``"linear"``       (k + 1 - s) / k
``"geometric"``    q^s
``"gaussian"``     exp(-(d_s / h)² / 2)
``"epanechnikov"`` 1 - (d_s / h)² where d_s < h, else 0
``"triangular"``   1 - d_s / h where d_s < h, else 0
``"rectangular"``  1 where d_s <= h, else 0
=================  ==========================================================

h is a number, or by default the distance to the (k + 1)-th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

RANK_WEIGHTS = ("linear", "geometric")
KERNELS: dict[str, Callable[[NDArray], NDArray]] = {
    "gaussian": lambda u: np.exp(-0.5 * u * u),
    "epanechnikov": lambda u: np.maximum(1.0 - u * u, 0.0),
    "triangular": lambda u: np.maximum(1.0 - u, 0.0),
    "rectangular": lambda u: (u <= 1.0).astype(np.float64),
}
WEIGHTS = ("uniform", "distance", *RANK_WEIGHTS, *KERNELS)


def inverse_distances(distances: NDArray) -> NDArray:
    """1 / d; in a row with zeros, 1 for them and 0 for the rest."""
    with np.errstate(divide="ignore", over="ignore"):
        weights = 1.0 / distances
    infinite = np.isinf(weights)
    rows = infinite.any(axis=1)
    weights[rows] = infinite[rows]
    return weights


def neighbour_weights(
    rule, distances: NDArray, *, bandwidth: NDArray | float | None = None, ratio: float = 0.5
) -> NDArray | None:
    """Weights of sorted neighbours, shape of ``distances``; None means all equal.

    ``bandwidth`` is h: a number, or one per row.
    """
    if rule is None or (isinstance(rule, str) and rule == "uniform"):
        return None
    if callable(rule):
        return rule(distances)
    if rule == "distance":
        return inverse_distances(distances)
    k = distances.shape[1]
    ranks = np.arange(1, k + 1)
    if rule == "linear":
        return np.broadcast_to((k + 1.0 - ranks) / k, distances.shape)
    if rule == "geometric":
        return np.broadcast_to(float(ratio) ** ranks, distances.shape)
    h = np.asarray(bandwidth, dtype=np.float64)
    if h.ndim:
        h = h[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(distances > 0.0, distances / h, 0.0)  # 0 / 0: at the query itself
    weights = KERNELS[rule](scaled)
    # If the kernel gives every neighbour weight zero, all of them count alike.
    weights[~(weights > 0.0).any(axis=1)] = 1.0
    return weights
