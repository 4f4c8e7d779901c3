"""What the clusterings by other centres than means share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from fastml._validation import FLOATS


class Run(NamedTuple):
    """One run from one start."""

    objective: float
    centers: NDArray
    labels: NDArray | None
    n_iter: int
    converged: bool


class CentreClusters(TransformerMixin, ClusterMixin, BaseEstimator):
    """Starts, runs, and distances to fitted centres."""

    _distance = "euclidean"

    def _check_rows(self, X):
        X = validate_data(self, X, dtype=FLOATS, order="C")
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        return X

    def _given_centers(self, n_features: int) -> NDArray:
        """``init`` as a fresh array of the right shape."""
        centers = check_array(self.init, dtype=np.float64, copy=True, order="C")
        if centers.shape != (self.n_clusters, n_features):
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match "
                f"{(self.n_clusters, n_features)}, the numbers of clusters and features."
            )
        return centers

    def _best_run(self, run_from_start: Callable[[], Run]) -> Run:
        """The run with the least objective of ``n_init`` runs, of one if the centres are given."""
        n_init = self.n_init if isinstance(self.init, str) else 1
        best = min((run_from_start() for _ in range(n_init)), key=lambda run: run.objective)
        if not best.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} rounds.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return best

    def transform(self, X):
        """Distances to the centres, in the metric of the clustering.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        from fastml.metrics import pairwise_distances

        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, order="C", reset=False)
        return pairwise_distances(
            X, self.cluster_centers_, metric=self._distance, n_jobs=self.n_jobs
        )
