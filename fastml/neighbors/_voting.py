"""Weights of neighbours and scores of classifiers: what estimators by neighbours share."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin

from fastml._sklearn import Interval, StrOptions
from fastml.neighbors._weights import KERNELS, WEIGHTS, neighbour_weights

WEIGHT_CONSTRAINTS = {
    "weights": [StrOptions(set(WEIGHTS)), callable, None],
    "bandwidth": [StrOptions({"next"}), Interval(Real, 0, None, closed="neither")],
    "ratio": [Interval(Real, 0, 1, closed="neither")],
}


class NeighborsClassifierMixin(ClassifierMixin):
    """scikit-learn's mixin, with a score of the training points."""

    def score(self, X, y, sample_weight=None):
        """Mean accuracy; with ``X=None`` by leave-one-out on the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Queries, or None for the training points, each without itself.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
            Mean accuracy.
        """
        return super().score(X, y, sample_weight)


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
