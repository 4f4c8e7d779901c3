"""What the estimators of the k-means family share."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from fastml._engines.kmeans.make_rows import make_rows
from fastml._engines.kmeans.rows import KMeansRows
from fastml._engines.kmeans.seeding import random_partition, random_rows, seed
from fastml._sklearn import Interval, StrOptions, is_arraylike_not_scalar
from fastml._validation import FLOATS, check_array, check_fitted, relative_weights, validate_data


class BaseKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Parameters, starting centres, and what fitted centres are good for."""

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random", "random-partition"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------------ fitting

    def _validate(self, X, *, reset=True):
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=FLOATS,
            order="C",
            reset=reset,
        )

    def _check_params_vs_input(self, X, default_n_init=None):
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        given = is_arraylike_not_scalar(self.init)
        self._n_init = self.n_init
        if self.n_init == "auto":
            once = given or (isinstance(self.init, str) and self.init == "k-means++")
            self._n_init = 1 if once else default_n_init
        elif given and self.n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
            self._n_init = 1

    def _check_init(self, X):
        """``init``, as a fresh array of the right shape if it is an array."""
        if not is_arraylike_not_scalar(self.init):
            return self.init
        centers = check_array(self.init, dtype=X.dtype, copy=True, order="C")
        self._check_center_shape(centers, self.n_clusters, X.shape[1])
        return centers

    @staticmethod
    def _check_center_shape(centers, n_clusters, n_features):
        if centers.shape[0] != n_clusters:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match "
                f"the number of clusters {n_clusters}."
            )
        if centers.shape[1] != n_features:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match "
                f"the number of features of the data {n_features}."
            )

    def _init_centroids(
        self,
        X,
        x_squared_norms,
        init,
        random_state,
        sample_weight,
        init_size=None,
        n_centroids=None,
    ):
        """Starting centres from a matrix, or from ``init_size`` random rows of it."""
        n_clusters = self.n_clusters if n_centroids is None else n_centroids
        if init_size is not None and init_size < X.shape[0]:
            picked = random_state.randint(0, X.shape[0], init_size)
            X, sample_weight = X[picked], sample_weight[picked]
        rows = make_rows(X, sample_weight, n_jobs=self.n_jobs)
        return self._initial_centers(rows, init, n_clusters, random_state)

    def _initial_centers(self, rows: KMeansRows, init, n_clusters, random_state):
        """Starting centres, shifted as the rows are; the caller may overwrite them."""
        if isinstance(init, str):
            if init == "random-partition":
                return random_partition(rows, n_clusters, random_state)
            choose = seed if init == "k-means++" else random_rows
            return rows.take(choose(rows, n_clusters, random_state))
        if callable(init):
            centers = init(rows.matrix(), n_clusters, random_state=random_state)
            centers = check_array(centers, dtype=rows.dtype, copy=True, order="C")
            self._check_center_shape(centers, n_clusters, rows.n_features)
            return centers
        return np.array(init, dtype=rows.dtype, order="C")

    # ------------------------------------------------------------------ fitted

    def _centers_for(self, X) -> np.ndarray:
        """The centres, of the type and width of the rows X."""
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=X.dtype)
        check_fitted(self, "cluster_centers_", centers, (len(centers), X.shape[1]))
        return centers

    def _rows_for(self, X, sample_weight=None) -> tuple[KMeansRows, np.ndarray]:
        """New rows and the centres, shifted alike: as in fit, for the same rounding."""
        centers = self._centers_for(X)
        shift = getattr(self, "_X_mean", None)
        if shift is not None:
            check_fitted(self, "_X_mean", shift, (X.shape[1],))
        rows = make_rows(X, sample_weight, shift, self.n_jobs)
        if shift is None:
            return rows, centers.copy()
        if rows.shift is None:
            return rows, centers.copy()
        return rows, centers - rows.shift

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit and return the labels of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to cluster.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of every row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The nearest centre of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of centres; ties go to the lowest.
        """
        check_is_fitted(self)
        rows, centers = self._rows_for(self._validate(X, reset=False))
        return rows.nearest(centers)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit and return the distances to the centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to cluster.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X):
        """Distances of the rows to the centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return make_rows(X, n_jobs=self.n_jobs).distances(self._centers_for(X).copy())

    def score(self, X, y=None, sample_weight=None):
        """Minus the inertia of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger, the better the centres fit.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        weights, unit = relative_weights(sample_weight, X, dtype=X.dtype)
        rows, centers = self._rows_for(X, weights)
        return -unit * rows.nearest_and_inertia(centers)[1]
