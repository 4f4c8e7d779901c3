"""RadiusNeighborsRegressor: a mean over all points within a radius."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import fit_context
from fastml._validation import check_fitted, kernel_view
from fastml.kernels.neighbors import votes
from fastml.neighbors._base import NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._radius import RADIUS_CONSTRAINTS, RadiusNeighborsMixin


@documented(NEIGHBOR_ENTRIES)
class RadiusNeighborsRegressor(RadiusNeighborsMixin, RegressorMixin, NeighborsBase):
    """Regression by the mean target of all training points within a radius.

    Queries without neighbours are predicted as NaN, with a warning.

    Parameters
    ----------
    {radius}
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        What a neighbour is worth: the same, 1 / d, or a function of the distances.
    {algorithm}
    {leaf_size}
    {p}
    metric : str or callable, default="minkowski"
        Distance; see ``fastml.neighbors.VALID_METRICS``.
    {metric_params}
    {n_jobs}

    Attributes
    ----------
    {effective_metric_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

    Examples
    --------
    >>> from fastml.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _parameter_constraints: dict = {**RADIUS_CONSTRAINTS}

    def __init__(
        self,
        radius=1.0,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Remember the training points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), \
                or (n_samples, n_samples) if metric == "precomputed"
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self : RadiusNeighborsRegressor
        """
        return self._fit(X, y)

    def predict(self, X):
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries. None means the training points, each without itself.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Targets.
        """
        check_is_fitted(self)
        indptr, indices, distances = self._within(X, None)
        weights = self._run_weights(indptr, distances)
        targets = kernel_view(self._y if self._y.ndim == 2 else self._y[:, None], np.float64)
        check_fitted(self, "_y", targets, (self.n_samples_fit_, targets.shape[1]))
        out = np.empty((indptr.size - 1, targets.shape[1]))
        votes.ragged_mean_targets(targets, indptr, indices, weights, out)
        if np.isnan(out).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.",
                stacklevel=2,
            )
        return out if self._y.ndim == 2 else out.ravel()
