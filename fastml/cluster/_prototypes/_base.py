"""What the clusterings by other centres than means share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fastml._engines.kmeans.seeding import RowSampler, distinct_rows
from fastml._progress import CallbackSupport, fit_steps, telling
from fastml._validation import FLOATS, check_array, check_fitted, validate_data


class PrototypeRun(NamedTuple):
    """One run from one start."""

    objective: float
    centers: NDArray
    labels: NDArray | None
    n_iter: int
    converged: bool


class CenterClusters(
    CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Starts, runs, and distances to fitted centres."""

    _distance = "euclidean"

    @property
    def _n_features_out(self):
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_rows(self, X, *, accept_sparse=False):
        """Rows to fit, at least as many as clusters."""
        X = validate_data(self, X, dtype=FLOATS, order="C", accept_sparse=accept_sparse)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        return X

    def _check_new_rows(self, X, *, accept_sparse=False):
        """Rows like those of the fit."""
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=FLOATS, order="C", accept_sparse=accept_sparse, reset=False
        )
        centers = self.cluster_centers_
        check_fitted(self, "cluster_centers_", centers, (len(centers), X.shape[1]))
        return X

    def _given_centers(self, n_features: int, dtype=np.float64) -> NDArray:
        """``init`` as a fresh array of the right shape."""
        centers = check_array(self.init, dtype=dtype, copy=True, order="C")
        if centers.shape != (self.n_clusters, n_features):
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match "
                f"{(self.n_clusters, n_features)}, the numbers of clusters and features."
            )
        return centers

    def _random_rows(self, weights: NDArray, random_state) -> NDArray:
        """Numbers of distinct rows, drawn in proportion to their weights."""
        return distinct_rows(RowSampler(weights.astype(np.float64)), self.n_clusters, random_state)

    def _given_or_random(self, X, weights: NDArray, random_state) -> NDArray | None:
        """Starting centres in float64: ``init`` itself, or random rows; None for other rules."""
        if not isinstance(self.init, str):
            return self._given_centers(X.shape[1])
        if self.init == "random":
            return np.array(X[self._random_rows(weights, random_state)], dtype=np.float64)
        return None

    def _best_run(self, run_from_start: Callable[[], PrototypeRun]) -> PrototypeRun:
        """The run with the least objective of ``n_init`` runs, of one if the centres are given."""
        n_init = self.n_init if isinstance(self.init, str) else 1
        runs = []
        with fit_steps(self, n_init) as steps:
            for _ in range(n_init):
                own = steps.begin("start", self.max_iter)
                with telling(own):
                    runs.append(run_from_start())
                if own.end():
                    break
        best = min(runs, key=lambda run: run.objective)
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

        X = self._check_new_rows(X)
        return pairwise_distances(
            X, self.cluster_centers_, metric=self._distance, n_jobs=self.n_jobs
        )
