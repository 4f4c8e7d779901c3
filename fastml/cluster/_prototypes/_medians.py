"""KMedians."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from fastml._engines.kmeans.once import warn_of_empty_clusters
from fastml._progress import current_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, relative_weights
from fastml.cluster._prototypes._base import CenterClusters, PrototypeRun
from fastml.kernels.cluster import medians


class KMedians(CenterClusters):
    """Clusters around coordinate medians, in the Manhattan distance.

    Lowers :math:`\\sum_i w_i \\|x_i - c_{l_i}\\|_1` by turns: label rows by the nearest centre,
    move every centre to the coordinate-wise median of its rows, which is exactly where the sum is
    least for these labels. Outliers pull a median far less than a mean.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {'k-medians++', 'random'} or array-like of shape (n_clusters, n_features), \
            default='k-medians++'
        First centres: rows drawn with a probability proportional to the distance to those chosen;
        rows drawn evenly; or the centres themselves.
    n_init : int, default=1
        Starts, of which the best result is kept.
    max_iter : int, default=300
        Most rounds of a start.
    tol : float, default=0.0
        A start ends when the centres move by at most this much in all (and in any case when the
        labels stay).
    random_state : int, RandomState instance or None, default=None
        Randomness of the starts.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The medians.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of each row.
    inertia_ : float
        Weighted sum of the distances to the centres.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    Examples
    --------
    >>> from fastml.cluster import KMedians
    >>> X = [[1.0], [2.0], [90.0], [100.0], [101.0], [102.0]]
    >>> fitted = KMedians(2, init=[[0.0], [100.0]]).fit(X)
    >>> fitted.labels_
    array([0, 0, 1, 1, 1, 1])
    >>> fitted.cluster_centers_
    array([[  1.5],
           [100.5]])
    """

    _distance = "manhattan"
    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-medians++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-medians++",
        n_init=1,
        max_iter=300,
        tol=0.0,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        X = self._check_rows(X)
        weights, unit = relative_weights(sample_weight, X, dtype=np.float64)
        random_state = check_random_state(self.random_state)
        rows = kernel_view(X)
        best = self._best_run(
            lambda: self._run(rows, weights, self._start(X, weights, random_state))
        )
        self.inertia_ = best.objective * unit
        self.labels_, self.n_iter_ = best.labels, best.n_iter
        self.cluster_centers_ = best.centers.astype(X.dtype)
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    def _start(self, X, weights, random_state):
        k = self.n_clusters
        if (centers := self._given_or_random(X, weights, random_state)) is not None:
            return centers
        share = weights / weights.sum()
        centers = np.empty((k, X.shape[1]))
        nearest = np.full(len(X), np.inf)
        for c in range(k):
            centers[c] = X[random_state.choice(len(X), p=share)]
            np.minimum(nearest, self._label(kernel_view(X), centers[c : c + 1])[1], out=nearest)
            mass = weights * nearest
            if mass.sum() > 0:
                share = mass / mass.sum()
        return centers

    def _label(self, X, centers):
        n, d = X.shape
        labels = np.empty(n, dtype=np.intp)
        distances = np.empty(n)
        work = len(centers) * d
        threads = effective_n_threads(self.n_jobs, work=n * work)
        panel = kernel_view(np.asarray(centers, dtype=np.float64).T)
        medians.label_rows(chunk_rows(n, work), X, panel, labels, distances, n_threads=threads)
        return labels, distances

    def _run(self, X, weights, centers):
        labels, distances = self._label(X, centers)
        threads = effective_n_threads(self.n_jobs, work=10.0 * X.size)
        converged = False
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            before, step = centers.copy(), current_steps().begin()
            counts = np.bincount(labels, minlength=self.n_clusters)
            for empty in np.flatnonzero(counts == 0):  # the row that is worst off
                far = int(np.argmax(distances * weights))
                labels[far], distances[far] = empty, 0.0
                counts = np.bincount(labels, minlength=self.n_clusters)
            starts = np.concatenate([[0], np.cumsum(counts)])
            order = np.argsort(labels, kind="stable")
            medians.cluster_medians(X, weights, order, starts, centers, n_threads=threads)
            old = labels
            labels, distances = self._label(X, centers)
            converged = np.array_equal(old, labels) or np.abs(centers - before).sum() <= self.tol
            if step.end() or converged:
                break
        return PrototypeRun(float(weights @ distances), centers, labels, n_iter, converged)

    def predict(self, X):
        """The nearest centre of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._check_new_rows(X)
        return self._label(kernel_view(X), self.cluster_centers_)[0]
