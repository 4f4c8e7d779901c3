"""SphericalKMeans."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from fastml._engines.kmeans.once import warn_of_empty_clusters
from fastml._progress import current_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import single_threaded_blas
from fastml._validation import relative_weights
from fastml.cluster._prototypes._base import CenterClusters, PrototypeRun

BLOCK_VALUES = 1 << 21
"""Similarities held at a time."""


class SphericalKMeans(CenterClusters):
    """K-means of directions: clusters by cosine, or by correlation of rows.

    With unit vectors :math:`u_i = x_i / \\|x_i\\|` and unit centres, raises
    :math:`\\sum_i w_i \\, u_i \\cdot c_{l_i}` by turns: label rows by the centre of the largest dot
    product, move every centre to the direction of the sum of its rows. Rows standardised to
    mean 0 have the correlation as their cosine.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    metric : {'cosine', 'correlation'}, default='cosine'
        'correlation' subtracts each row's mean first (dense input).
    init : {'k-means++', 'random'} or array-like of shape (n_clusters, n_features), \
            default='k-means++'
        First centres.
    n_init : int, default=1
        Starts, of which the best result is kept.
    max_iter : int, default=300
        Most rounds of a start.
    tol : float, default=1e-6
        A start ends when the mean similarity rises by at most this much.
    random_state : int, RandomState instance or None, default=None
        Randomness of the starts.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centres.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    inertia_ : float
        :math:`\\sum_i w_i (1 - u_i \\cdot c_{l_i})`.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    I. S. Dhillon, D. S. Modha, "Concept decompositions for large sparse text data using
    clustering", Machine Learning 42 (2001).

    Examples
    --------
    >>> from fastml.cluster import SphericalKMeans
    >>> X = [[1.0, 0.1], [5.0, 0.4], [0.1, 2.0], [0.2, 9.0]]
    >>> SphericalKMeans(2, init=[[1, 0], [0, 1]]).fit(X).labels_
    array([0, 0, 1, 1])
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({"cosine", "correlation"})],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="cosine",
        init="k-means++",
        n_init=1,
        max_iter=300,
        tol=1e-6,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of ``X`` by direction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. A row of zeros has no direction: its similarity to all centres is 0.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        U = self._unit_rows(self._check_rows(X, accept_sparse=self._accepted))
        weights, unit = relative_weights(sample_weight, U, dtype=U.dtype)
        random_state = check_random_state(self.random_state)
        with single_threaded_blas():
            best = self._best_run(
                lambda: self._run(U, weights, self._start(U, weights, random_state))
            )
        self.inertia_ = best.objective * unit
        self.labels_, self.n_iter_ = best.labels, best.n_iter
        self.cluster_centers_ = best.centers
        warn_of_empty_clusters(self.labels_, self.n_clusters)
        return self

    @property
    def _accepted(self):
        return False if self.metric == "correlation" else "csr"

    def _unit_rows(self, X):
        return _unit(_centred(X) if self.metric == "correlation" else X)

    def _start(self, U, weights, random_state):
        n, k = U.shape[0], self.n_clusters
        if not isinstance(self.init, str):
            centers = self._given_centers(U.shape[1], U.dtype)
            return self._unit_rows(centers)
        if self.init == "random":
            return _dense(U[self._random_rows(weights, random_state)])
        mass = np.asarray(weights, dtype=np.float64)
        share = mass / mass.sum()
        centers = np.empty((k, U.shape[1]), dtype=U.dtype)
        nearest = np.full(n, np.inf)
        for c in range(k):
            centers[c] = _dense(U[[random_state.choice(n, p=share)]])[0]
            np.minimum(nearest, np.maximum(0.0, 1.0 - U @ centers[c]), out=nearest)
            total = (mass * nearest).sum()
            if total > 0:
                share = mass * nearest / total
        return centers

    def _run(self, U, weights, centers):
        n, k = U.shape[0], self.n_clusters
        total = float(weights.sum(dtype=np.float64))
        previous = np.inf
        labels, similarity = _nearest(U, centers)
        converged = False
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            step = current_steps().begin()
            for empty in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
                far = int(np.argmin(np.where(weights > 0, similarity, np.inf)))
                labels[far], similarity[far] = empty, 1.0
            member = sparse.csr_array((weights, (labels, np.arange(n))), shape=(k, n))
            sums = _dense(member @ U)
            norms = np.linalg.norm(sums, axis=1)
            moved = norms > 0
            centers = centers.copy()
            centers[moved] = sums[moved] / norms[moved, None]
            old = labels
            labels, similarity = _nearest(U, centers)
            loss = float((weights * (1.0 - similarity)).sum(dtype=np.float64))
            converged = np.array_equal(old, labels) or previous - loss <= self.tol * total
            if step.end() or converged:
                break
            previous = loss
        return PrototypeRun(loss, centers, labels, n_iter, converged)

    def predict(self, X):
        """The centre of the most similar direction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        U = self._unit_rows(self._check_new_rows(X, accept_sparse=self._accepted))
        with single_threaded_blas():
            return _nearest(U, self.cluster_centers_.astype(U.dtype, copy=False))[0]

    def transform(self, X):
        """Distances 1 - cosine (or 1 - correlation) to the centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        U = self._unit_rows(self._check_new_rows(X, accept_sparse=self._accepted))
        centers = self.cluster_centers_.astype(U.dtype, copy=False)
        with single_threaded_blas():
            return np.clip(1.0 - _dense(U @ centers.T), 0.0, 2.0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "correlation"
        return tags


def _dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def _centred(X):
    """Rows less their means; a constant row becomes zero, whatever rounding leaves."""
    means = X.mean(axis=1, keepdims=True)
    rounding = X.shape[1] * np.finfo(X.dtype).eps * np.abs(means)
    X = X - means
    return np.where(np.abs(X).max(axis=1, keepdims=True) > rounding, X, 0.0)


def _unit(X):
    """Rows of length 1, or 0; scaled by their largest entry first, so that no square overflows."""
    if sparse.issparse(X):
        X = X.copy()
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        largest = np.zeros(X.shape[0], dtype=X.dtype)
        np.maximum.at(largest, row, np.abs(X.data))
        X.data /= _or_one(largest)[row]
        X.data /= _or_one(np.sqrt(np.bincount(row, X.data**2, X.shape[0])))[row]
        return X
    X = X / _or_one(np.abs(X).max(axis=1, keepdims=True))
    return X / _or_one(np.linalg.norm(X, axis=1, keepdims=True))


def _or_one(lengths):
    return np.where(lengths > 0, lengths, 1).astype(lengths.dtype)


def _nearest(U, centers):
    """Labels and similarities, a block of rows at a time."""
    n = U.shape[0]
    labels = np.empty(n, dtype=np.intp)
    similarity = np.empty(n, dtype=U.dtype)
    step = max(1, BLOCK_VALUES // len(centers))
    for first in range(0, n, step):
        dots = _dense(U[first : first + step] @ centers.T)
        best = dots.argmax(axis=1)
        labels[first : first + step] = best
        similarity[first : first + step] = np.take_along_axis(dots, best[:, None], axis=1)[:, 0]
    return labels, similarity
