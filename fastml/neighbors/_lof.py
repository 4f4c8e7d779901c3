"""LocalOutlierFactor: density of a point compared with that of its neighbours."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES


def _if_novelty_is(novelty: bool, name: str):
    """A check for `available_if`: the method exists if the parameter ``novelty`` has this value."""

    def check(self):
        if self.novelty == novelty:
            return True
        if novelty:
            raise AttributeError(
                f"{name} is not available when novelty=False, use fit_predict if you want to "
                "predict on training data (their scores are in negative_outlier_factor_). Use "
                "novelty=True if you want to use LOF for novelty detection and predict on "
                "new unseen data."
            )
        raise AttributeError(
            f"{name} is not available when novelty=True. Use novelty=False if you want to predict "
            "on the training set."
        )

    return check


@documented(NEIGHBOR_ENTRIES)
class LocalOutlierFactor(KNeighborsMixin, OutlierMixin, NeighborsBase):
    """Outliers by local density.

    With reach(a, b) = max(k-distance(b), d(a, b)), the local reachability density of a is the
    inverse mean reach to its k neighbours, and its local outlier factor the mean of their densities
    over its own: about 1 inside a cluster, larger outside.

    Parameters
    ----------
    n_neighbors : int, default=20
        k.
    {algorithm}
    {leaf_size}
    metric : str or callable, default="minkowski"
        Distance.
    {p}
    {metric_params}
    contamination : "auto" or float, default="auto"
        Share of outliers, which sets the threshold; "auto" puts it at a factor of 1.5.
    novelty : bool, default=False
        False: judge the training points (`fit_predict`). True: judge new ones (`predict`).
    {n_jobs}

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n_samples,)
        Minus the factor of each training point.
    n_neighbors_ : int
        The k in use.
    offset_ : float
        The threshold on minus the factor.
    {effective_metric_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

    References
    ----------
    M. M. Breunig, H.-P. Kriegel, R. T. Ng, J. Sander, "LOF: identifying density-based local
    outliers", SIGMOD 2000.

    Examples
    --------
    >>> from fastml.neighbors import LocalOutlierFactor
    >>> LocalOutlierFactor(n_neighbors=2).fit_predict([[-1.1], [0.2], [101.1], [0.3]])
    array([ 1,  1, -1,  1])
    """

    _parameter_constraints: dict = {
        **NeighborsBase._parameter_constraints,
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "novelty": ["boolean"],
    }
    _parameter_constraints.pop("radius")

    def __init__(
        self,
        n_neighbors=20,
        *,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        contamination="auto",
        novelty=False,
        n_jobs=None,
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
        self.contamination = contamination
        self.novelty = novelty

    @available_if(_if_novelty_is(False, "fit_predict"))
    def fit_predict(self, X, y=None):
        """Fit on X and judge its points (``novelty=False`` only).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points.
        y : Ignored
            Present for the API.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        return self.fit(X)._predict()

    def _predict(self, X=None):
        """1 or -1 for new points, or for the training points if there are none."""
        check_is_fitted(self)
        if X is None:
            return np.where(self.negative_outlier_factor_ < self.offset_, -1, 1)
        return np.where(self.decision_function(X) < 0, -1, 1)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Compute the factors of the training points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), \
                or (n_samples, n_samples) if metric == "precomputed"
            Training points.
        y : Ignored
            Present for the API.

        Returns
        -------
        self : LocalOutlierFactor
        """
        self._fit(X)
        n_samples = self.n_samples_fit_
        if self.n_neighbors > n_samples:
            warnings.warn(
                f"n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({n_samples}). n_neighbors will be set to (n_samples - 1) for estimation.",
                stacklevel=2,
            )
        self.n_neighbors_ = max(1, min(self.n_neighbors, n_samples - 1))
        distances, indices = self.kneighbors(n_neighbors=self.n_neighbors_)
        if self._fit_X.dtype == np.float32:
            distances = distances.astype(np.float32, copy=False)
        self._distances_fit_X_ = distances
        self._lrd = self._reachability_density(distances, indices)
        self.negative_outlier_factor_ = -np.mean(
            self._lrd[indices] / self._lrd[:, np.newaxis], axis=1
        )
        if self.contamination == "auto":
            self.offset_ = -1.5
        else:
            self.offset_ = np.percentile(self.negative_outlier_factor_, 100.0 * self.contamination)
        if not self.novelty and self.negative_outlier_factor_.min() < -1e7:
            warnings.warn(
                "Duplicate values are leading to incorrect results. Increase the number of "
                "neighbors for more accurate results.",
                stacklevel=2,
            )
        return self

    def _reachability_density(self, distances, indices):
        reach = np.maximum(distances, self._distances_fit_X_[indices, self.n_neighbors_ - 1])
        return 1.0 / (np.mean(reach, axis=1) + 1e-10)  # duplicates: no division by zero

    @available_if(_if_novelty_is(True, "predict"))
    def predict(self, X=None):
        """Judge new points (``novelty=True`` only).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        return self._predict(X)

    @available_if(_if_novelty_is(True, "decision_function"))
    def decision_function(self, X):
        """Minus the factor, shifted so that outliers are negative (``novelty=True`` only).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            The lower, the more abnormal.
        """
        return self.score_samples(X) - self.offset_

    @available_if(_if_novelty_is(True, "score_samples"))
    def score_samples(self, X):
        """Minus the factor of new points (``novelty=True`` only).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points; one that equals a training point counts it among its neighbours.

        Returns
        -------
        score : ndarray of shape (n_samples,)
            The lower, the more abnormal.
        """
        check_is_fitted(self)
        distances, indices = self.kneighbors(X, n_neighbors=self.n_neighbors_)
        if self._check_queries(X).dtype == np.float32:
            distances = distances.astype(np.float32, copy=False)
        density = self._reachability_density(distances, indices)
        return -np.mean(self._lrd[indices] / density[:, np.newaxis], axis=1)
