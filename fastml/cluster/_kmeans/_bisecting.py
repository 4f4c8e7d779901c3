"""BisectingKMeans: top-down division by 2-means."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._engines.kmeans.lloyd import run_kmeans
from fastml._engines.kmeans.make_rows import make_rows
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import check_fitted, relative_weights
from fastml.cluster._kmeans._base import BaseKMeans


class Node:
    """A cluster: its centre, its rows while fitting, and the two parts it was cut into."""

    def __init__(self, center, indices, score):
        self.center = center
        self.indices = indices
        self.score = score
        self.left = None
        self.right = None

    def leaves(self):
        """The undivided clusters, from left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.left is None:
                yield node
            else:
                waiting += [node.right, node.left]


class BisectingKMeans(CallbackSupport, BaseKMeans):
    """K-means by repeated division of one cluster into two.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {'k-means++', 'random', 'random-partition'} or callable, default='random'
        Starting centres of each division, as in `KMeans`; a callable is asked for two.
    n_init : int, default=1
        Starts per division, of which the best is kept.
    random_state : int, RandomState instance or None, default=None
        Randomness of the starting centres.
    max_iter : int, default=300
        Most iterations of each division.
    verbose : int, default=0
        Print the iterations and the new centres.
    tol : float, default=1e-4
        A division stops when the squared moves of its centres sum up to at most this.
    copy_x : bool, default=True
        For compatibility: ``X`` is never modified.
    algorithm : {'lloyd', 'elkan', 'auto'}, default='lloyd'
        As in `KMeans`.
    bisecting_strategy : {'biggest_inertia', 'largest_cluster'}, default='biggest_inertia'
        Which cluster to divide next: that with the most inertia, or with the most rows.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The cluster of every row.
    inertia_ : float
        Weighted sum of squared distances of the rows to their centres.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import BisectingKMeans
    >>> X = np.array([[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2],
    ...               [10, 8], [10, 9], [10, 10]])
    >>> bisecting = BisectingKMeans(n_clusters=3, random_state=0).fit(X)
    >>> bisecting.labels_
    array([0, 2, 0, 2, 0, 2, 1, 1, 1], dtype=int32)
    >>> bisecting.predict([[0, 0], [12, 3]])
    array([0, 2], dtype=int32)
    """

    _parameter_constraints: dict = {
        **BaseKMeans._parameter_constraints,
        "init": [StrOptions({"k-means++", "random", "random-partition"}), callable],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan", "auto"})],
        "bisecting_strategy": [StrOptions({"biggest_inertia", "largest_cluster"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init="random",
        n_init=1,
        random_state=None,
        max_iter=300,
        verbose=0,
        tol=1e-4,
        copy_x=True,
        algorithm="lloyd",
        bisecting_strategy="biggest_inertia",
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.bisecting_strategy = bisecting_strategy
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Divide the rows of ``X`` into clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to cluster.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        X = self._validate(X)
        self._check_params_vs_input(X)
        random_state = check_random_state(self.random_state)
        weights, unit = relative_weights(sample_weight, X, dtype=X.dtype)
        mean = np.asarray(X.mean(axis=0), dtype=X.dtype).reshape(-1)
        shift = None if sp.issparse(X) else mean
        center = mean if shift is None else np.zeros_like(mean)

        tree = Node(center, np.arange(X.shape[0]), 0)
        with fit_steps(self, self.n_clusters - 1, X) as steps:
            for _ in range(self.n_clusters - 1):
                told = steps.begin("division")
                divided = max(tree.leaves(), key=lambda leaf: leaf.score)
                self._divide(divided, X, weights, shift, random_state)
                if told.end():
                    break

        labels = np.empty(X.shape[0], dtype=np.int32)
        leaves = list(tree.leaves())
        centers = np.empty((len(leaves), X.shape[1]), dtype=X.dtype)
        for number, leaf in enumerate(leaves):
            labels[leaf.indices] = number
            centers[number] = leaf.center
            leaf.label = number
            leaf.indices = None
        rows = make_rows(X, weights, shift, self.n_jobs)
        self.inertia_ = unit * rows.inertia(centers, labels)
        self._X_mean = shift
        self._bisecting_tree = tree
        self.cluster_centers_ = centers if shift is None else centers + shift
        self.labels_ = labels
        self._n_features_out = len(leaves)
        return self

    def _take_tree(self, theirs):
        """For `fastml.convert`: be divided as scikit-learn's tree."""

        def taken(node):
            made = Node(node.center, None, node.score)
            if node.left is None:
                made.label = node.label
            else:
                made.left, made.right = taken(node.left), taken(node.right)
            return made

        self._bisecting_tree = taken(theirs)

    def _divide(self, node, X, weights, shift, random_state):
        X, weights = X[node.indices], weights[node.indices]
        rows = make_rows(X, weights, shift, self.n_jobs)
        best = None
        for _ in range(self.n_init):
            centers = self._initial_centers(rows, self.init, 2, random_state)
            run = run_kmeans(
                rows,
                centers,
                max_iter=self.max_iter,
                tol=self.tol,
                algorithm=self.algorithm,
                verbose=self.verbose,
            )
            if best is None or run.inertia < best.inertia * (1 - 1e-6):
                best = run
        if self.verbose:
            print(f"New centroids from bisection: {best.centers}")  # noqa: T201
        if self.bisecting_strategy == "largest_cluster":
            scores = np.bincount(best.labels, minlength=2)
        else:
            distances = rows.distances_to_own_center(best.centers, best.labels)
            weighted = distances.astype(np.float64) * weights
            scores = np.bincount(best.labels, weights=weighted, minlength=2)
        for name, side in (("left", 0), ("right", 1)):
            indices = node.indices[best.labels == side]
            setattr(node, name, Node(best.centers[side], indices, scores[side]))
        node.indices = None

    def predict(self, X):
        """The cluster of every row, by going down the divisions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of clusters.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        labels = np.empty(X.shape[0], dtype=np.int32)
        waiting = [(self._bisecting_tree, np.arange(X.shape[0]))]
        while waiting:
            node, indices = waiting.pop()
            if node.left is None:
                labels[indices] = node.label
                continue
            if not indices.size:
                continue
            centers = np.vstack((node.left.center, node.right.center)).astype(X.dtype)
            check_fitted(self, "_bisecting_tree", centers, (2, X.shape[1]))
            rows = make_rows(X[indices], None, self._X_mean, self.n_jobs)
            if self._X_mean is not None and sp.issparse(X):
                centers += self._X_mean
            side = rows.nearest(centers)
            waiting += [(node.left, indices[side == 0]), (node.right, indices[side == 1])]
        return labels
