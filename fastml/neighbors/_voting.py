"""Neighbours and their weights for prediction: shared by the k-neighbour estimators."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from fastml.neighbors._weights import KERNELS, WEIGHTS, neighbour_weights

WEIGHT_CONSTRAINTS = {
    "weights": [StrOptions(set(WEIGHTS)), callable, None],
    "bandwidth": [StrOptions({"next"}), Interval(Real, 0, None, closed="neither")],
    "ratio": [Interval(Real, 0, 1, closed="neither")],
}


class WeightedNeighborsMixin:
    """Turns ``weights``, ``bandwidth`` and ``ratio`` into an array of weights."""

    weights: object
    bandwidth: float | str

    def _wants_next(self) -> bool:
        """Whether the bandwidth is the distance to the (k + 1)-th neighbour."""
        return (
            isinstance(self.weights, str)
            and self.weights in KERNELS
            and isinstance(self.bandwidth, str)
        )

    def _neighbours_and_weights(self, X):
        """(distances, indices, weights) of the queries; weights are None where all are equal."""
        found = self.kneighbors(X, self.n_neighbors + self._wants_next())
        return self._weigh(*found, self.n_neighbors)

    def _weigh(self, distances, indices, k):
        """The same for the first k of at least k (or k + 1) sorted neighbours."""
        bandwidth = distances[:, k] if self._wants_next() else self.bandwidth
        distances = np.ascontiguousarray(distances[:, :k])
        indices = np.ascontiguousarray(indices[:, :k], dtype=np.intp)
        weights = neighbour_weights(self.weights, distances, bandwidth=bandwidth, ratio=self.ratio)
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
        return distances, indices, weights
