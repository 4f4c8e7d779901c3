"""KMedoids."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._engines.distances.named import BOOLEAN
from fastml._engines.distances.names import COUNTING, METRICS
from fastml._engines.kmeans.once import warn_of_empty_clusters
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, kernel_view, validate_data
from fastml.kernels.cluster import pam

LARGEST_MATRIX = 10_000
"""Rows up to which method='auto' stores all distances (0.8 GB)."""

ENTRIES_PER_CALL = 200_000_000


class KMedoids(
    CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Clusters around rows of the data, for any metric.

    Finds k rows (medoids) that minimise :math:`\\sum_i \\min_m d(x_i, x_m)` locally: no exchange
    of a medoid for another row lowers the sum.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of medoids.
    metric : str or callable, default='euclidean'
        Distance of rows; 'precomputed' if ``X`` is a symmetric distance matrix. A function takes
        two rows, or two entries of a list of strings, sets or other objects; one under Numba's
        ``njit`` runs compiled and in parallel.
    metric_params : dict, default=None
        What the metric needs.
    method : {'auto', 'fasterpam', 'fasterclara'}, default='auto'
        'fasterpam' stores all distances. 'fasterclara' runs it on random samples, keeps the medoids
        that are best for all rows, and stores only distances to medoids. 'auto' takes the second
        for more than 10,000 rows.
    init : {'random', 'build', 'k-medoids++'} or array-like of shape (n_clusters,), default='random'
        The first medoids: random rows; greedily the best one by one; random with a probability
        proportional to the distance to those chosen; or row numbers (which then are in every
        sample of 'fasterclara').
    max_iter : int, default=100
        Most rounds over the rows.
    n_init : int, default=1
        Starts, of which the best result is kept.
    n_samples_clara : int, default=None
        Rows in a sample of 'fasterclara'; None means 80 + 4 n_clusters.
    n_repeats_clara : int, default=5
        Samples of 'fasterclara'.
    random_state : int, RandomState instance or None, default=None
        Randomness of starts and samples.
    n_jobs : int, default=None
        Threads for the distances; None means all cores.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Rows that are medoids.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Those rows; None for a precomputed metric.
    labels_ : ndarray of shape (n_samples,)
        The nearest medoid of each row.
    inertia_ : float
        Sum of the distances to the nearest medoid.
    n_iter_ : int
        Rounds made.
    n_swaps_ : int
        Medoids exchanged.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    E. Schubert, P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of
    the PAM, CLARA, and CLARANS algorithms", Information Systems 101 (2021).

    Examples
    --------
    >>> from fastml.cluster import KMedoids
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> fitted = KMedoids(2, init=[0, 3]).fit(X)
    >>> fitted.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> fitted.inertia_
    8.0
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({*METRICS, *COUNTING, "precomputed"}), callable],
        "metric_params": [dict, None],
        "method": [StrOptions({"auto", "fasterpam", "fasterclara"})],
        "init": [StrOptions({"random", "build", "k-medoids++"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_samples_clara": [Interval(Integral, 1, None, closed="left"), None],
        "n_repeats_clara": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="euclidean",
        metric_params=None,
        method="auto",
        init="random",
        max_iter=100,
        n_init=1,
        n_samples_clara=None,
        n_repeats_clara=5,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_samples_clara = n_samples_clara
        self.n_repeats_clara = n_repeats_clara
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find medoids among the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or distances if ``metric='precomputed'``. CSR rows for metrics that take them;
            booleans for those of sets; text and objects for "hamming"; a list of Python's sets for
            "jaccard"; any list for a function.
        y : Ignored

        Returns
        -------
        self : object
        """
        X = self._check_rows(X, reset=True)
        n = X.shape[0]
        precomputed = self._precomputed
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix, got {X.shape}")
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}.")
        given = None if isinstance(self.init, str) else self._given_medoids(n)
        random_state = check_random_state(self.random_state)
        method = self.method
        if method == "auto":
            method = "fasterpam" if precomputed or n <= LARGEST_MATRIX else "fasterclara"
        with fit_steps(self, None, X) as steps, telling(steps):
            if method == "fasterpam":
                D = X if precomputed else self._distances(X, X)
                found = self._best_start(kernel_view(D), random_state, given)
            else:
                found = self._clara(X, random_state, given)
        self.inertia_, self.medoid_indices_, self.labels_, self.n_iter_, self.n_swaps_ = found
        self.cluster_centers_ = None if precomputed else X[self.medoid_indices_].copy()
        # A medoid is labelled as itself; equal ones show in which medoid they are nearest to.
        medoids = X[self.medoid_indices_]
        D = medoids[:, self.medoid_indices_] if precomputed else self._distances(medoids, medoids)
        warn_of_empty_clusters(D.argmin(axis=1), self.n_clusters)
        return self

    def _check_rows(self, X, reset):
        """Rows as the metric takes them."""
        if self._precomputed:
            return validate_data(self, X, dtype=FLOATS, reset=reset)
        if issparse(X):
            return validate_data(self, X, dtype=FLOATS, accept_sparse="csr", reset=reset)
        kind = _kind(X)
        if kind == "b" and self.metric in BOOLEAN:
            return validate_data(self, X, dtype=None, reset=reset)
        if kind in "OUS" and self._takes_objects():
            entries = _entries(X)
            if entries is not None:
                return entries
            return validate_data(self, X, dtype=None, reset=reset)
        return validate_data(self, X, dtype=FLOATS, reset=reset)

    def _takes_objects(self) -> bool:
        return callable(self.metric) or self.metric in {"hamming", "jaccard", *COUNTING}

    @property
    def _n_features_out(self):
        return self.n_clusters

    @property
    def _precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _distances(self, X, Y):
        from fastml.metrics import pairwise_distances

        params = self.metric_params or {}
        same = Y is X
        D = pairwise_distances(
            X, None if same else Y, metric=self.metric, n_jobs=self.n_jobs, **params
        )
        if not np.isfinite(D.max(initial=0.0)):
            raise ValueError(f"distances must be finite: metric {self.metric!r} gave others")
        return np.ascontiguousarray(D)

    def _given_medoids(self, n):
        """``init`` as row numbers."""
        medoids = np.asarray(self.init)
        whole = medoids.dtype.kind in "iu" and medoids.shape == (self.n_clusters,)
        if not whole or np.unique(medoids[(medoids >= 0) & (medoids < n)]).size < self.n_clusters:
            raise ValueError(
                f"init must hold {self.n_clusters} different row numbers below {n}, "
                f"got {self.init!r}"
            )
        return medoids.astype(np.intp)

    def _best_start(self, D, random_state, given):
        """The best run from ``n_init`` starts, or the run from given rows of D."""
        if given is not None:
            return self._run(D, given)
        starts = (self._start(D, random_state) for _ in range(self._n_starts))
        return min((self._run(D, start) for start in starts), key=lambda found: found[0])

    @property
    def _n_starts(self):
        return 1 if self.init == "build" else self.n_init

    def _start(self, D, random_state):
        n, k = D.shape[0], self.n_clusters
        if self.init == "random":
            return random_state.permutation(n)[:k].astype(np.intp)
        if self.init == "build":
            return _build(D, k)
        medoids = np.empty(k, dtype=np.intp)
        medoids[0] = random_state.randint(n)
        nearest = np.array(D[medoids[0]], dtype=np.float64)
        for m in range(1, k):
            nearest[medoids[:m]] = 0.0
            total = nearest.sum()
            free = np.setdiff1d(np.arange(n), medoids[:m])
            if total > 0:
                medoids[m] = random_state.choice(n, p=nearest / total)
            else:
                medoids[m] = random_state.choice(free)
            np.minimum(nearest, D[medoids[m]], out=nearest)
        return medoids

    def _run(self, D, medoids):
        """FasterPAM from given medoids: loss, medoids, labels, rounds, swaps."""
        n, k = D.shape[0], self.n_clusters
        if k == 1:  # no second medoid to go to: the row with the least sum
            sums = D.sum(axis=1, dtype=np.float64)
            medoids = np.array([np.argmin(sums)])
            return float(sums[medoids[0]]), medoids, np.zeros(n, dtype=np.intp), 1, 1
        medoids = medoids.copy()
        two = pam.NearestTwo(*np.empty((2, n), dtype=np.intp), *np.empty((2, n)))
        loss = pam.assign(D, medoids, two)
        removal, change = np.empty((2, k))
        pam.removal_losses(two, removal)
        order = np.arange(n)
        last_swap, swaps, done, rounds = n, 0, False, 0
        step = max(1, ENTRIES_PER_CALL // n)
        while not done and rounds < self.max_iter:
            rounds += 1
            told = current_steps().begin("round")
            for first in range(0, n, step):
                last_swap, swaps, loss, done = pam.swap_round(
                    D,
                    first,
                    min(first + step, n),
                    order,
                    last_swap,
                    swaps,
                    loss,
                    medoids,
                    two,
                    removal,
                    change,
                )
                if done:
                    break
            done = done or last_swap == n
            if told.end():
                break
        if not done:
            warnings.warn(
                f"FasterPAM did not converge in {self.max_iter} rounds; increase max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return float(loss), medoids, two.near, rounds, swaps

    def _clara(self, X, random_state, given):
        n, k = X.shape[0], self.n_clusters
        size = min(n, max(k, self.n_samples_clara or 80 + 4 * k))
        best = None
        for _ in range(self.n_repeats_clara):
            rows = np.sort(random_state.permutation(n)[:size])
            if given is not None:
                rows = np.union1d(rows, given)
            if best is not None:  # the best medoids so far take part
                rows = np.union1d(rows, best[1])
            part = X[np.ix_(rows, rows)] if self._precomputed else X[rows]
            D = part if self._precomputed else self._distances(part, part)
            start = None if given is None else np.searchsorted(rows, given)
            _, medoids, _, rounds, swaps = self._best_start(kernel_view(D), random_state, start)
            medoids = rows[medoids]
            loss, labels = self._nearest(X, medoids)
            if best is None or loss < best[0]:
                best = loss, medoids, labels, rounds, swaps
        return best

    def _nearest(self, X, medoids):
        """Loss and labels of all rows, a block at a time."""
        n = X.shape[0]
        labels = np.empty(n, dtype=np.intp)
        loss = 0.0
        for first in range(0, n, 65_536):
            block = slice(first, first + 65_536)
            D = X[block][:, medoids] if self._precomputed else self._distances(X[block], X[medoids])
            labels[block] = D.argmin(axis=1)
            loss += float(D.min(axis=1).sum(dtype=np.float64))
        labels[medoids] = np.arange(len(medoids))
        return loss, labels

    def transform(self, X):
        """Distances to the medoids.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features) or (n_queries, n_samples)
            Rows like those of the fit, or their distances to all of them if
            ``metric='precomputed'``.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_clusters)
        """
        return self._to_medoids(X)

    def predict(self, X):
        """The nearest medoid of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features) or (n_queries, n_samples)

        Returns
        -------
        labels : ndarray of shape (n_queries,)
        """
        return self._to_medoids(X).argmin(axis=1)

    def _to_medoids(self, X):
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        if self._precomputed:
            return X[:, self.medoid_indices_]
        return self._distances(X, self.cluster_centers_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _kind(X) -> str:
    """NumPy's letter for the values of X: "b" booleans, "U" and "S" text, "O" objects."""
    if hasattr(X, "dtypes"):  # a frame: mixed columns are objects
        return np.asarray(X[:1]).dtype.kind
    if hasattr(X, "dtype"):
        return np.dtype(X.dtype).kind
    first = X[0] if isinstance(X, list | tuple) and X else 0.0
    if isinstance(first, str | bytes | set | frozenset):
        return "O"
    try:
        return np.asarray(first).dtype.kind
    except ValueError:
        return "O"


def _entries(X):
    """A list of strings, sets or other objects as an array of them; None for a table."""
    if getattr(X, "ndim", 1) != 1:
        return None
    if not hasattr(X, "ndim") and isinstance(X[0], list | tuple | np.ndarray):
        return None
    found = np.empty(len(X), dtype=object)
    found[:] = list(X)
    return found


def _build(D, k):
    """PAM's BUILD: medoids chosen one by one, each the row that lowers the loss the most."""
    n = D.shape[0]
    medoids = np.empty(k, dtype=np.intp)
    nearest, taken = np.full(n, np.inf), np.zeros(n, dtype=np.bool_)
    step = max(1, ENTRIES_PER_CALL // n)
    for m in range(k):
        best, most = -1, -np.inf
        for first in range(0, n, step):
            last = min(first + step, n)
            best, most = pam.best_addition(D, first, last, nearest, taken, best, most)
        medoids[m] = best
        taken[best] = True
        np.minimum(nearest, D[best], out=nearest)
    return medoids
