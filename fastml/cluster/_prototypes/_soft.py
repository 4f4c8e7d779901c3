"""SoftKMeans."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from fastml._progress import current_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, relative_weights
from fastml.cluster._kmeans._plusplus import kmeans_plusplus
from fastml.cluster._prototypes._base import CenterClusters, PrototypeRun
from fastml.kernels.cluster import soft_means


class SoftKMeans(CenterClusters):
    """K-means with shares instead of labels: soft k-means, or fuzzy c-means.

    ``method='soft'``: row i belongs to centre c by the share
    :math:`r_{ic} \\propto \\exp(-\\beta \\|x_i - c\\|^2)`, and a centre is the mean of the rows
    weighted by their shares. It lowers :math:`-\\frac1\\beta\\sum_i \\log\\sum_c
    \\exp(-\\beta\\|x_i-c\\|^2)`; for :math:`\\beta \\to \\infty` it is k-means.

    ``method='fuzzy'``: :math:`u_{ic} \\propto \\|x_i - c\\|^{-2/(m-1)}`, centres weighted by
    :math:`u^m`; it lowers :math:`\\sum_{ic} u_{ic}^m \\|x_i - c\\|^2`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of centres.
    method : {'soft', 'fuzzy'}, default='soft'
        Which shares.
    beta : float, default=1.0
        Stiffness of 'soft': 1 / (2 σ²) for clusters of standard deviation σ.
    m : float, default=2.0
        Fuzziness of 'fuzzy', above 1; near 1 it is k-means.
    init : {'k-means++', 'random'} or array-like of shape (n_clusters, n_features), \
            default='k-means++'
        First centres.
    n_init : int, default=1
        Starts, of which the one with the least objective is kept.
    max_iter : int, default=300
        Most rounds of a start.
    tol : float, default=1e-4
        A start ends when the squared moves of the centres sum up to at most ``tol`` times the mean
        variance of the features.
    random_state : int, RandomState instance or None, default=None
        Randomness of the starts.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The centre with the largest share of each row.
    objective_ : float
        What is minimised, at the end.
    n_iter_ : int
        Rounds of the start that was kept.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    D. MacKay, "Information Theory, Inference and Learning Algorithms", chapter 20 (2003).
    J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms" (1981).

    Examples
    --------
    >>> from fastml.cluster import SoftKMeans
    >>> fitted = SoftKMeans(2, init=[[0.0], [10.0]]).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> fitted.cluster_centers_.round(3)
    array([[0.5],
           [9.5]])
    >>> fitted.predict_proba([[5.0]]).round(3)
    array([[0.5, 0.5]])
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"soft", "fuzzy"})],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "m": [Interval(Real, 1, None, closed="neither")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
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
        method="soft",
        beta=1.0,
        m=2.0,
        init="k-means++",
        n_init=1,
        max_iter=300,
        tol=1e-4,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.beta = beta
        self.m = m
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the centres.

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
        tol = self.tol * float(X.var(axis=0, dtype=np.float64).mean())
        rows = kernel_view(X)
        best = self._best_run(
            lambda: self._run(rows, weights, self._start(X, weights, random_state), tol)
        )
        self.objective_, self.n_iter_ = best.objective * unit, best.n_iter
        self.cluster_centers_ = best.centers.astype(X.dtype)
        self.labels_ = self._shares(kernel_view(X)).argmax(axis=1)
        return self

    @property
    def _form(self):
        if self.method == "soft":
            return soft_means.SOFT, float(self.beta)
        return soft_means.FUZZY, float(self.m)

    def _start(self, X, weights, random_state):
        if (centers := self._given_or_random(X, weights, random_state)) is not None:
            return centers
        centers, _ = kmeans_plusplus(
            X,
            self.n_clusters,
            sample_weight=weights,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )
        return np.array(centers, dtype=np.float64)

    def _statistics(self, X, weights, centers):
        """Sums, masses and objective of all rows for given centres."""
        n, d = X.shape
        k = len(centers)
        rows = chunk_rows(n, 4.0 * k * d + 20.0 * k, at_least=-(-n // 64))
        n_chunks = -(-n // rows)
        threads = effective_n_threads(self.n_jobs, work=n * (4.0 * k * d + 20.0 * k))
        sums, masses = np.empty((n_chunks, k, d)), np.empty((n_chunks, k))
        objective = np.empty((n_chunks, 1))
        panel = kernel_view(centers.T)
        soft_means.statistics(
            rows, *self._form, X, weights, panel, sums, masses, objective, n_threads=threads
        )
        total_sums, total_masses = np.zeros((k, d)), np.zeros(k)
        value = soft_means.merge(sums, masses, objective, total_sums, total_masses)
        return total_sums, total_masses, float(value)

    def _run(self, X, weights, centers, tol):
        converged = False
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            step = current_steps().begin()
            sums, masses, _ = self._statistics(X, weights, centers)
            moved = centers.copy()
            alive = masses > 0
            moved[alive] = sums[alive] / masses[alive, None]
            shift = float(((moved - centers) ** 2).sum())
            centers = moved
            converged = shift <= tol
            if step.end() or converged:
                break
        objective = self._statistics(X, weights, centers)[2]
        return PrototypeRun(objective, centers, None, n_iter, converged)

    def _shares(self, X):
        n = X.shape[0]
        k, d = self.cluster_centers_.shape
        out = np.empty((n, k))
        work = 4.0 * k * d + 20.0 * k
        threads = effective_n_threads(self.n_jobs, work=n * work)
        panel = kernel_view(self.cluster_centers_.T, np.float64)
        soft_means.row_shares(chunk_rows(n, work), *self._form, X, panel, out, n_threads=threads)
        return out

    def predict_proba(self, X):
        """Shares of the rows in the centres; every row sums to 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        shares : ndarray of shape (n_samples, n_clusters)
        """
        X = self._check_new_rows(X)
        return self._shares(kernel_view(X))

    def predict(self, X):
        """The centre with the largest share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.predict_proba(X).argmax(axis=1)
