"""KCentroids: the generic machine of clusters around centres."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from fastml._engines.distances.names import METRICS
from fastml._engines.kmeans.once import warn_of_empty_clusters
from fastml._progress import current_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view, relative_weights
from fastml.cluster._prototypes._base import CenterClusters, PrototypeRun
from fastml.kernels.cluster import medians

BEST_CENTRE = {
    "sqeuclidean": "mean",
    "euclidean": "geometric_median",
    "l2": "geometric_median",
    "manhattan": "median",
    "cityblock": "median",
    "l1": "median",
    "hamming": "mode",
    "cosine": "unit_mean",
}
"""Metric → the point with the least sum of distances; of any other the medoid."""

CENTRES = ("mean", "median", "geometric_median", "mode", "unit_mean", "medoid")

DISTANCES_AT_ONCE = 1 << 22
WEISZFELD_STEPS = 100
WEISZFELD_TOL = 1e-9


class KCentroids(CenterClusters):
    """Clusters around centres, for any pair of a distance and a centre.

    Lowers :math:`\\sum_i w_i d(x_i, c_{l_i})` by turns: label rows by the nearest centre, move
    every centre to that of its rows. The centre that fits a distance is the point of the least sum,
    :math:`c = \\arg\\min_c \\sum_i w_i d(x_i, c)`; with it no turn raises the sum. Any other pair
    may be given, too: the machine ends when the sum no longer falls.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : str or callable, default='sqeuclidean'
        Distance of a row and a centre: a name of `fastml.metrics.pairwise_distances`, or a function
        of two rows; one under Numba's ``njit`` runs compiled and in parallel.
    center : {'auto', 'mean', 'median', 'geometric_median', 'mode', 'unit_mean', 'medoid'} or \
            callable, default='auto'
        The centre of rows: their mean; coordinate-wise median or most frequent value; the point of
        the least sum of Euclidean distances; the mean of the rows scaled to length 1, so scaled
        itself; the row of the least sum of distances; or a function ``center(rows, weights)``.
        'auto' takes the one that fits the metric: mean (squared Euclidean), geometric median
        (Euclidean), median (Manhattan), mode (Hamming), mean of directions (cosine), medoid (any
        other).
    metric_params : dict, default=None
        What the metric needs.
    init : {'k-centroids++', 'random'} or array-like of shape (n_clusters, n_features), \
            default='k-centroids++'
        First centres: rows drawn with a probability proportional to the distance to those chosen;
        rows drawn evenly; or the centres themselves.
    n_init : int, default=1
        Starts, of which the best result is kept.
    max_iter : int, default=300
        Most rounds of a start.
    tol : float, default=0.0
        A start ends when a round lowers the sum by at most this share.
    random_state : int, RandomState instance or None, default=None
        Randomness of the starts.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
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

    References
    ----------
    F. Leisch, "A toolbox for k-centroids cluster analysis", Computational Statistics & Data
    Analysis 51 (2006). Y. Vardi, C.-H. Zhang, "The multivariate L1-median and associated data
    depth", PNAS 97 (2000), on Weiszfeld's steps.

    Examples
    --------
    >>> from fastml.cluster import KCentroids
    >>> X = [[1.0], [2.0], [90.0], [100.0], [101.0], [102.0]]
    >>> KCentroids(2, metric="manhattan", init=[[0.0], [100.0]]).fit(X).cluster_centers_
    array([[  1.5],
           [100.5]])
    >>> KCentroids(2, metric="canberra", init=[[1.0], [100.0]]).fit(X).labels_
    array([0, 0, 1, 1, 1, 1])
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(METRICS)), callable],
        "center": [StrOptions({"auto", *CENTRES}), callable],
        "metric_params": [dict, None],
        "init": [StrOptions({"k-centroids++", "random"}), "array-like"],
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
        metric="sqeuclidean",
        center="auto",
        metric_params=None,
        init="k-centroids++",
        n_init=1,
        max_iter=300,
        tol=0.0,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.center = center
        self.metric_params = metric_params
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
        centre_of = self._centre()
        best = self._best_run(
            lambda: self._run(X, weights, self._start(X, weights, random_state), centre_of)
        )
        self.inertia_ = best.objective * unit
        self.labels_, self.n_iter_ = best.labels, best.n_iter
        self.cluster_centers_ = best.centers
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    # ------------------------------------------------------------------ turns

    def _start(self, X, weights, random_state):
        centers = self._given_or_random(X, weights, random_state)
        if centers is not None:
            return centers.astype(X.dtype)
        share = weights / weights.sum()
        centers = np.empty((self.n_clusters, X.shape[1]), X.dtype)
        nearest = np.full(len(X), np.inf)
        for c in range(self.n_clusters):
            centers[c] = X[random_state.choice(len(X), p=share)]
            np.minimum(nearest, self._label(X, centers[c : c + 1])[1], out=nearest)
            mass = weights * np.maximum(nearest, 0.0)
            if mass.sum() > 0:
                share = mass / mass.sum()
        return centers

    def _distances(self, X, Y):
        from fastml.metrics import pairwise_distances

        params = self.metric_params or {}
        found = pairwise_distances(X, Y, metric=self.metric, n_jobs=self.n_jobs, **params)
        if not np.isfinite(found).all():
            raise ValueError(f"distances must be finite: metric {self.metric!r} gave others")
        return found

    def _label(self, X, centers):
        """Nearest centre of every row and its distance, a block at a time."""
        labels, distances = np.empty(len(X), np.intp), np.empty(len(X))
        step = max(1, DISTANCES_AT_ONCE // len(centers))
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            found = self._distances(X[part], centers)
            labels[part] = found.argmin(axis=1)
            distances[part] = found[np.arange(len(found)), labels[part]]
        return labels, distances

    def _run(self, X, weights, centers, centre_of):
        labels, distances = self._label(X, centers)
        objective = float(weights @ distances)
        converged = False
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            step = current_steps().begin()
            counts = np.bincount(labels, minlength=self.n_clusters)
            for empty in np.flatnonzero(counts == 0):  # the row that is worst off
                far = int(np.argmax(distances * weights))
                labels[far], distances[far] = empty, 0.0
            made = centre_of(X, weights, labels, centers).astype(X.dtype, copy=False)
            now, away = self._label(X, made)
            lower = float(weights @ away)
            same = np.array_equal(now, labels)
            if lower <= objective:
                fall, objective = objective - lower, lower
                centers, labels, distances = made, now, away
                converged = same or fall <= self.tol * lower
            else:
                labels, distances = self._label(X, centers)
                converged = True
            if step.end() or converged:
                break
        return PrototypeRun(objective, centers, labels, n_iter, converged)

    # ------------------------------------------------------------------ centres

    def _centre(self):
        """A function of rows, weights, labels and centres that makes new centres."""
        if callable(self.center):
            return self._given_centre
        name = self.center
        if name == "auto":
            known = isinstance(self.metric, str) and not self.metric_params
            name = BEST_CENTRE.get(self.metric, "medoid") if known else "medoid"
        return getattr(self, f"_{name}")

    def _each(self, labels):
        """(cluster, its rows) of those that have any."""
        order = np.argsort(labels, kind="stable")
        counts = np.bincount(labels, minlength=self.n_clusters)
        return [(c, r) for c, r in enumerate(np.split(order, np.cumsum(counts)[:-1])) if len(r)]

    def _given_centre(self, X, weights, labels, centers):
        made = centers.copy()
        for c, rows in self._each(labels):
            found = np.asarray(self.center(X[rows], weights[rows]), dtype=np.float64)
            if found.shape != X.shape[1:] or not np.isfinite(found).all():
                raise ValueError(
                    f"center must return {X.shape[1]} finite numbers, got shape {found.shape}"
                )
            made[c] = found
        return made

    def _mean(self, X, weights, labels, centers):
        made = np.array(centers, dtype=np.float64)
        for c, rows in self._each(labels):
            w = weights[rows]
            if w.any():
                made[c] = w @ X[rows] / w.sum()
        return made

    def _unit_mean(self, X, weights, labels, centers):
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        units = X / np.where(lengths > 0, lengths, 1.0)[:, None]
        made = self._mean(units, weights, labels, centers)
        lengths = np.sqrt(np.einsum("ij,ij->i", made, made))
        kept = lengths > 0
        return np.where(kept[:, None], made / np.where(kept, lengths, 1.0)[:, None], centers)

    def _median(self, X, weights, labels, centers):
        made = np.array(centers, dtype=np.float64)
        order = np.argsort(labels, kind="stable")
        counts = np.bincount(labels, minlength=self.n_clusters)
        starts = np.concatenate([[0], np.cumsum(counts)])
        n_threads = effective_n_threads(self.n_jobs, work=10.0 * X.size)
        medians.cluster_medians(kernel_view(X), weights, order, starts, made, n_threads=n_threads)
        made[counts == 0] = centers[counts == 0]
        return made

    def _mode(self, X, weights, labels, centers):
        made = np.array(centers, dtype=np.float64)
        for j in range(X.shape[1]):
            values, codes = np.unique(X[:, j], return_inverse=True)
            for c, rows in self._each(labels):
                counts = np.bincount(codes[rows], weights=weights[rows], minlength=len(values))
                made[c, j] = values[counts.argmax()]
        return made

    def _medoid(self, X, weights, labels, centers):
        made = centers.copy()
        for c, rows in self._each(labels):
            own, w = X[rows], weights[rows]
            sums = np.empty(len(own))
            step = max(1, DISTANCES_AT_ONCE // len(own))
            for first in range(0, len(own), step):
                part = slice(first, first + step)
                sums[part] = self._distances(own, own[part]).T @ w
            made[c] = own[sums.argmin()]
        return made

    def _geometric_median(self, X, weights, labels, centers):
        made = np.array(centers, dtype=np.float64)
        for c, rows in self._each(labels):
            if weights[rows].any():
                made[c] = geometric_median(X[rows].astype(np.float64), weights[rows], made[c])
        return made

    # ------------------------------------------------------------------ new rows

    def transform(self, X):
        """Distances to the centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._distances(self._check_new_rows(X), self.cluster_centers_)

    def predict(self, X):
        """The nearest centre of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._label(self._check_new_rows(X), self.cluster_centers_)[0]


def geometric_median(X, weights, start):
    """The point of the least weighted sum of Euclidean distances, by Weiszfeld's steps.

    At a row of the data the step is Vardi and Zhang's, so that no step raises the sum.
    """
    centre, scale = start, np.abs(X).max(initial=0.0) + np.abs(start).max(initial=0.0)
    for _ in range(WEISZFELD_STEPS):
        gaps = X - centre
        lengths = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
        away = lengths > 0.0
        if not away.any():
            return centre
        pull = weights[away] / lengths[away]
        total = pull.sum()
        if total == 0.0:
            return centre
        target = pull @ X[away] / total
        here = weights[~away].sum()
        if here > 0.0:
            force = total * np.linalg.norm(target - centre)
            share = min(1.0, here / force) if force > 0.0 else 1.0
            target = (1.0 - share) * target + share * centre
        moved = np.abs(target - centre).max(initial=0.0)
        centre = target
        if moved <= WEISZFELD_TOL * scale:
            break
    return centre
