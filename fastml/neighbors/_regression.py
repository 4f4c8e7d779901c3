"""KNeighborsRegressor: a mean over the k nearest."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from fastml._docs import documented
from fastml._sklearn import fit_context
from fastml._validation import check_fitted, kernel_view
from fastml.kernels.neighbors import votes
from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._voting import WEIGHT_CONSTRAINTS, WeightedNeighborsMixin


@documented(NEIGHBOR_ENTRIES)
class KNeighborsRegressor(WeightedNeighborsMixin, KNeighborsMixin, RegressorMixin, NeighborsBase):
    """Regression by the mean target of the k nearest training points.

        a(x) = sum_s w_s y_s / sum_s w_s

    Parameters
    ----------
    {n_neighbors}
    weights : str, callable or None, default="uniform"
        What a neighbour is worth: "uniform" (also None), "distance" (1 / d), a function from the
        array of distances to an array of weights; by rank "linear" ((k + 1 - s) / k) and
        "geometric" (ratio^s); by a kernel of d / h "gaussian", "epanechnikov",
        "triangular", "rectangular". Where a kernel leaves no neighbour any weight, all count alike.
    {algorithm}
    {leaf_size}
    {p}
    {metric}
    {metric_params}
    {n_jobs}
    {bandwidth}
    {ratio}

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric in use.
    {effective_metric_params_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

    Examples
    --------
    >>> from fastml.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _parameter_constraints: dict = {
        **NeighborsBase._parameter_constraints,
        **WEIGHT_CONSTRAINTS,
    }
    _parameter_constraints.pop("radius")

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        bandwidth="next",
        ratio=0.5,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights
        self.bandwidth = bandwidth
        self.ratio = ratio

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
        self : KNeighborsRegressor
        """
        return self._fit(X, y)

    def predict(self, X):
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), \
                or (n_queries, n_indexed) if metric == "precomputed", or None
            Queries. None means the training points, each without itself: leave-one-out.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Targets.
        """
        return self._predict_from(*self._neighbours_and_weights(X))

    def _predict_from(self, distances, indices, weights):
        targets = self._y if self._y.ndim == 2 else self._y[:, None]
        check_fitted(self, "_y", targets, (self.n_samples_fit_, targets.shape[1]))
        targets = kernel_view(targets, np.float64)
        out = np.empty((indices.shape[0], targets.shape[1]))
        if weights is None:
            votes.mean_targets(targets, kernel_view(indices), out)
        else:
            votes.weighted_mean_targets(targets, kernel_view(indices), kernel_view(weights), out)
        return out if self._y.ndim == 2 else out.ravel()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
