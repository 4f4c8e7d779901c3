"""AgglomerativeClustering, and the trees it cuts."""

from __future__ import annotations

import warnings
from heapq import heappush, heappushpop
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_memory

from fastml._engines.distances.named import callable_matrix, is_compiled
from fastml._engines.distances.names import METRICS, TREE_METRICS
from fastml._progress import CallbackSupport, fit_steps, telling
from fastml._sklearn import HasMethods, Interval, StrOptions, fit_context, validate_params
from fastml._validation import check_array, validate_data
from fastml.cluster._hierarchy._connected_merges import graph_tree
from fastml.cluster._hierarchy._linkage import (
    check_finite,
    linkage_matrix,
    linkage_of_rows,
    merge_by_matrix,
    metric_of_rows,
)
from fastml.kernels.cluster import connected_merges as graph

LINKAGES = ("ward", "complete", "average", "single", "weighted", "centroid", "median")
EUCLIDEAN_ONLY = {"ward": ("euclidean", "l2")} | dict.fromkeys(
    ("centroid", "median"), ("euclidean", "l2", "precomputed")
)
"""Linkages of means → the metrics they take."""

ON_GRAPHS = ("ward", "complete", "average", "single")
METRIC_NAMES = {*METRICS, "precomputed"}


@validate_params(
    {
        "X": ["array-like"],
        "connectivity": ["array-like", "sparse matrix", None],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "return_distance": ["boolean"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def ward_tree(X, *, connectivity=None, n_clusters=None, return_distance=False, n_jobs=None):
    """Ward's hierarchy, on all pairs of rows or on the edges of a graph.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    connectivity : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
        Which rows are neighbours; only neighbouring clusters merge.
    n_clusters : int, default=None
        Stop here (with a graph only).
    return_distance : bool, default=False
        Whether to return the heights too.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    children : ndarray of shape (n_nodes - n_samples, 2)
        The nodes merged at each step.
    n_connected_components : int
        Components of the graph before it was completed.
    n_leaves : int
    parents : ndarray of shape (n_nodes,) or None
        Only with a graph.
    distances : ndarray of shape (n_nodes - n_samples,)
        Only with ``return_distance=True``.

    Examples
    --------
    >>> from fastml.cluster import ward_tree
    >>> ward_tree([[0.0], [1.0], [5.0]])[0]
    array([[0, 1],
           [2, 3]])
    """
    return _tree(X, "ward", "euclidean", connectivity, n_clusters, return_distance, n_jobs)


def linkage_tree(
    X,
    connectivity=None,
    n_clusters=None,
    linkage="complete",
    affinity="euclidean",
    return_distance=False,
    *,
    n_jobs=None,
):
    """Hierarchy by any linkage but Ward's, on all pairs or on the edges of a graph.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or distances if ``affinity='precomputed'``.
    connectivity : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
        Which rows are neighbours; only neighbouring clusters merge.
    n_clusters : int, default=None
        Stop here (with a graph only).
    linkage : {'complete', 'average', 'single', 'weighted', 'centroid', 'median'}, \
            default='complete'
        Distance of clusters; the last three not with a graph, and not in scikit-learn.
    affinity : str or callable, default='euclidean'
        Distance of rows, 'precomputed', a function of ``X`` that returns the distance matrix, or
        one of two rows under Numba's ``njit``.
    return_distance : bool, default=False
        Whether to return the heights too.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    children, n_connected_components, n_leaves, parents, distances
        As from `ward_tree`.

    Examples
    --------
    >>> from fastml.cluster import linkage_tree
    >>> linkage_tree([[0.0], [1.0], [5.0]], return_distance=True)[-1]
    array([1., 5.])
    """
    if linkage not in LINKAGES[1:]:
        raise ValueError(
            f"Unknown linkage option, linkage should be one of {LINKAGES[1:]}, "
            f"but {linkage} was given"
        )
    return _tree(X, linkage, affinity, connectivity, n_clusters, return_distance, n_jobs)


def _tree(X, linkage, affinity, connectivity, n_clusters, return_distance, n_jobs):
    if issparse(X):
        raise TypeError("X must be dense: the tree is built from all distances")
    X = np.asarray(X)
    if X.ndim == 1:
        X = X.reshape(-1, 1)
    if isinstance(affinity, str) and affinity == "cosine" and (~X.any(axis=1)).any():
        raise ValueError("Cosine affinity cannot be used when X contains zero vectors")
    allowed = EUCLIDEAN_ONLY.get(linkage)
    if allowed is not None and (callable(affinity) or affinity not in allowed):
        raise ValueError(
            f"{affinity} was provided as metric. {linkage.capitalize()} can only work with "
            f"euclidean distances, metric one of {allowed}."
        )
    if connectivity is not None:
        if linkage not in ON_GRAPHS:
            raise ValueError(f"linkage={linkage!r} does not work with connectivity")
        return graph_tree(X, linkage, affinity, connectivity, n_clusters, return_distance)
    if n_clusters is not None:
        warnings.warn(
            "Partial build of the tree is implemented only for structured clustering (i.e. with "
            "explicit connectivity). The algorithm will build the full tree and only retain the "
            "lower branches required for the specified number of clusters",
            stacklevel=3,
        )
    n = X.shape[0]
    if n < 2:
        raise ValueError(f"a tree needs at least two rows, got {n}")
    if callable(affinity) or affinity == "precomputed":
        D = _given_distances(X, affinity, n_jobs)
        if D.shape[0] != D.shape[1]:
            raise ValueError(f"Distance matrix should be square, got matrix of shape {D.shape}")
        # Only the upper triangle is read.
        D = np.concatenate([D[i, i + 1 :] for i in range(n - 1)], dtype=np.float64)
        check_finite(D)
        Z = linkage_matrix(*merge_by_matrix(D, n, linkage), linkage)
    else:
        # For single linkage scikit-learn builds a spanning tree, with the metrics of its `KDTree`,
        # and keeps the two clusters of a merge in the order in which that tree has them.
        own = linkage == "single" and affinity in TREE_METRICS and affinity != "sqeuclidean"
        metric = metric_of_rows(affinity, {}, X, TREE_METRICS if own else METRICS)
        Z = linkage_of_rows(X, linkage, metric, n_jobs, smaller_first=not own)
    found = Z[:, :2].astype(np.intp), 1, n, None
    return (*found, Z[:, 2]) if return_distance else found


def _given_distances(X, affinity, n_jobs):
    """The matrix itself, or from a function of two rows under ``njit``, or of X."""
    if not callable(affinity):
        return X
    if is_compiled(affinity):
        return callable_matrix(affinity, X, None, n_jobs=n_jobs)
    return np.asarray(affinity(X))


def cut_tree(n_clusters, children, n_leaves):
    """Labels after undoing the last ``n_clusters - 1`` merges."""
    if n_clusters > n_leaves:
        raise ValueError(
            "Cannot extract more clusters than samples: "
            f"{n_clusters} clusters were given for a tree with {n_leaves} leaves."
        )
    nodes = [-(int(children[-1].max()) + 1)]  # a heap of negated node numbers
    for _ in range(n_clusters - 1):
        left, right = children[-nodes[0] - n_leaves]
        heappush(nodes, -int(left))
        heappushpop(nodes, -int(right))
    labels = np.zeros(n_leaves, dtype=np.intp)
    stack = np.empty(n_leaves + 1, dtype=np.intp)
    children = np.ascontiguousarray(children, dtype=np.intp)
    for label, node in enumerate(nodes):
        graph.leaves_below(-node, children, n_leaves, stack, labels, label)
    return labels


class AgglomerativeClustering(CallbackSupport, ClusterMixin, BaseEstimator):
    """Hierarchical clustering from the bottom up, cut into clusters.

    See `fastml.cluster.linkage` for the formulas.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Clusters to keep; None if ``distance_threshold`` is given.
    metric : str or callable, default='euclidean'
        Distance of rows; 'precomputed' if ``X`` is a distance matrix. Ward takes 'euclidean' only,
        centroid and median that or a matrix of such distances. A callable takes ``X`` and returns
        the distance matrix; under Numba's ``njit`` it takes two rows.
    memory : str or object with the joblib.Memory interface, default=None
        Where to cache the tree.
    connectivity : array-like, sparse matrix or callable, default=None
        Graph of which rows may merge, or a function of ``X`` that returns it.
    compute_full_tree : 'auto' or bool, default='auto'
        Whether to go on to the root after ``n_clusters`` is reached (with ``connectivity`` only).
    linkage : {'ward', 'complete', 'average', 'single', 'weighted', 'centroid', 'median'}, \
            default='ward'
        Distance of clusters; the last three are not in scikit-learn, and need all pairs of rows
        (no ``connectivity``).
    distance_threshold : float, default=None
        Clusters at or above this distance do not merge. Where heights may fall (centroid and
        median), the first such merge and all that follow are undone.
    compute_distances : bool, default=False
        Whether to keep ``distances_`` when no threshold is given.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    n_clusters_ : int
        The number of clusters found.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_leaves_ : int
        Leaves of the tree.
    n_connected_components_ : int
        Components of the graph.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    children_ : ndarray of shape (n_nodes - n_samples, 2)
        Row i holds the two nodes that merge into node ``n_samples + i``.
    distances_ : ndarray of shape (n_nodes - n_samples,)
        Heights of the merges, if asked for.

    Examples
    --------
    >>> from fastml.cluster import AgglomerativeClustering
    >>> X = [[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]]
    >>> AgglomerativeClustering().fit(X).labels_
    array([1, 1, 1, 0, 0, 0])
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [StrOptions(METRIC_NAMES), callable],
        "memory": [str, HasMethods("cache"), None],
        "connectivity": ["array-like", "sparse matrix", callable, None],
        "compute_full_tree": [StrOptions({"auto"}), "boolean"],
        "linkage": [StrOptions(set(LINKAGES))],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "compute_distances": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        metric="euclidean",
        memory=None,
        connectivity=None,
        compute_full_tree="auto",
        linkage="ward",
        distance_threshold=None,
        compute_distances=False,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Build the tree of the rows of ``X`` and cut it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or distances if ``metric='precomputed'``.
        y : Ignored

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, ensure_min_samples=2)
        return self._fit(X)

    def _fit(self, X):
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, "
                "and the other needs to be None."
            )
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ValueError("compute_full_tree must be True if distance_threshold is set.")
        if self.linkage == "ward" and (
            callable(self.metric) or self.metric not in ("euclidean", "l2")
        ):
            raise ValueError(
                f"{self.metric} was provided as metric. Ward can only work with euclidean "
                "distances (i.e. 'euclidean' and 'l2')."
            )
        connectivity = self.connectivity
        if connectivity is not None:
            if callable(connectivity):
                connectivity = connectivity(X)
            connectivity = check_array(connectivity, accept_sparse=["csr", "coo", "lil"])
        n = X.shape[0]
        full = self.compute_full_tree
        if connectivity is None:
            full = True
        elif full == "auto":
            full = self.distance_threshold is not None or self.n_clusters < max(100, 0.02 * n)
        with_distance = self.distance_threshold is not None or self.compute_distances
        stop_at = None if full else self.n_clusters

        build = check_memory(self.memory).cache(_tree, ignore=["n_jobs"])
        with fit_steps(self, None, X) as steps, telling(steps):
            out = build(
                X, self.linkage, self.metric, connectivity, stop_at, with_distance, self.n_jobs
            )
        self.children_, self.n_connected_components_, self.n_leaves_, parents = out[:4]
        if with_distance:
            self.distances_ = out[-1]
        if self.distance_threshold is None:
            self.n_clusters_ = self.n_clusters
        else:
            undone = self.distances_ >= self.distance_threshold
            if self.linkage in ("centroid", "median"):  # heights may fall
                undone = np.logical_or.accumulate(undone)
            self.n_clusters_ = np.count_nonzero(undone) + 1
        if full:
            self.labels_ = cut_tree(self.n_clusters_, self.children_, self.n_leaves_)
        else:
            parents = parents.copy()
            graph.heads(parents)
            self.labels_ = np.unique(parents[:n], return_inverse=True)[1]
        return self

    def fit_predict(self, X, y=None):
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return super().fit_predict(X, y)
