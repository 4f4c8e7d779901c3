"""DBSCAN."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin

from fastml._engines.distances.names import METRICS, TREE_METRICS
from fastml._progress import CallbackSupport, fit_steps, telling, told
from fastml._sklearn import Interval, StrOptions, check_sample_weight, fit_context, validate_params
from fastml._threads import chunk_rows, effective_n_threads, thread_limit
from fastml._validation import kernel_view, validate_data
from fastml.kernels.cluster import dbscan as kernels
from fastml.kernels.distances.metrics import LAST_GAP_METRIC, dist_to_rdist
from fastml.kernels.neighbors.radius import count_marks

LARGEST_TREE_DIMENSION = 15
LEAVES_PER_CALL = 2048
MARKED_SHARE = 0.25
"""Of the working memory, for a bit per pair of rows."""

METRIC_NAMES = {*METRICS, *TREE_METRICS, "nan_euclidean", "precomputed"}


class DBSCAN(CallbackSupport, ClusterMixin, BaseEstimator):
    """Density-based clustering: dense regions and what they reach.

    A row is *core* if at least ``min_samples`` rows (itself included) lie within ``eps``. Core rows
    within ``eps`` of each other are in one cluster; other rows join the first cluster with a core
    row within ``eps``, or are noise. Labels are scikit-learn's.

    For metrics that a kd-tree takes, on up to 15 features, no neighbour lists are built: memory is
    a small multiple of ``X``. Exhaustive search takes a bit per pair of rows, as long as that is a
    quarter of scikit-learn's ``working_memory``.

    Parameters
    ----------
    eps : float, default=0.5
        Radius of a neighbourhood.
    min_samples : int, default=5
        Weight of a neighbourhood that makes its centre a core row.
    metric : str or callable, default='euclidean'
        Distance of rows; 'precomputed' if ``X`` is a distance matrix or a sparse graph.
    metric_params : dict, default=None
        What the metric needs.
    algorithm : {'auto', 'ball_tree', 'kd_tree', 'brute'}, default='auto'
        How neighbours are found; 'auto' chooses by metric and dimension. All are exact.
    leaf_size : int, default=30
        For compatibility.
    p : float, default=None
        Power of the Minkowski metric; None means 2.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    core_sample_indices_ : ndarray of shape (n_core_samples,)
        Core rows.
    components_ : ndarray of shape (n_core_samples, n_features)
        Copies of the core rows.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, -1 for noise.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    M. Ester, H.-P. Kriegel, J. Sander, X. Xu, "A density-based algorithm for discovering clusters
    in large spatial databases with noise", KDD 1996.

    Examples
    --------
    >>> from fastml.cluster import DBSCAN
    >>> X = [[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]]
    >>> DBSCAN(eps=3, min_samples=2).fit(X).labels_
    array([ 0,  0,  0,  1,  1, -1])
    """

    _parameter_constraints: dict = {
        "eps": [Interval(Real, 0.0, None, closed="neither")],
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(METRIC_NAMES), callable],
        "metric_params": [dict, None],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0.0, None, closed="left"), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        eps=0.5,
        *,
        min_samples=5,
        metric="euclidean",
        metric_params=None,
        algorithm="auto",
        leaf_size=30,
        p=None,
        n_jobs=None,
    ):
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)  # the metric is checked further down
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or distances if ``metric='precomputed'``.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights towards ``min_samples``; a negative one may keep its neighbours from being core.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, accept_sparse="csr")
        weights = None
        if sample_weight is not None:
            weights = kernel_view(check_sample_weight(sample_weight, X, dtype=np.float64))
        with fit_steps(self, None, X) as steps, telling(steps):
            fit = self._fit_tree if self._for_tree(X) else self._fit_lists
            labels, core = fit(X, weights)
        self.core_sample_indices_ = np.flatnonzero(core)
        self.labels_ = labels
        if len(self.core_sample_indices_):
            self.components_ = X[self.core_sample_indices_].copy()
        else:
            self.components_ = np.empty((0, X.shape[1]))
        return self

    def _for_tree(self, X):
        if sparse.issparse(X) or self.algorithm == "brute" or callable(self.metric):
            return False
        if TREE_METRICS.get(self.metric, LAST_GAP_METRIC + 1) > LAST_GAP_METRIC:
            return False
        p = (self.metric_params or {}).get("p", self.p)
        if self.metric in ("sqeuclidean", "seuclidean") or (p is not None and p < 1):
            return False
        return self.algorithm != "auto" or X.shape[1] <= LARGEST_TREE_DIMENSION

    def _fit_tree(self, X, sample_weight):
        from fastml.kernels.neighbors.space_tree import LEAF_POINTS
        from fastml.neighbors import KDTree

        params = dict(self.metric_params or {})
        if "p" in params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=4,
            )
        if self.metric in ("minkowski", "p"):
            params.setdefault("p", 2.0 if self.p is None else self.p)
        with thread_limit(effective_n_threads(self.n_jobs)):
            built = KDTree(X, metric=self.metric, **params)
        tree, (code, p, v) = built._tree, built._metric
        rows = kernel_view(built.data)
        n, d = rows.shape
        n_leaves = tree.blocks.shape[0]
        limit = float(dist_to_rdist(code, float(self.eps), p))

        weights = np.zeros(n_leaves * LEAF_POINTS)
        filled = tree.order >= 0
        weights[filled] = 1.0 if sample_weight is None else sample_weight[tree.order[filled]]
        may_stop = bool(sample_weight is None or sample_weight.min() >= 0)
        core = np.zeros(n_leaves * LEAF_POINTS, dtype=bool)
        parent = np.arange(n_leaves * LEAF_POINTS)
        whole = np.full(n_leaves, -1, dtype=np.intp)
        work = 10.0 * LEAF_POINTS * LEAF_POINTS * d
        per_chunk = chunk_rows(n_leaves, work)
        threads = effective_n_threads(self.n_jobs, work=n_leaves * work)
        search = kernels.EpsSearch(code, rows, limit, p, v)
        blocks = [
            (first, min(first + LEAVES_PER_CALL, n_leaves))
            for first in range(0, n_leaves, LEAVES_PER_CALL)
        ]
        enough = float(self.min_samples)
        by_leaf = weights.reshape(n_leaves, LEAF_POINTS)
        for block in told("core rows", blocks):
            kernels.core_leaves(
                *block, per_chunk, tree, search, by_leaf, enough, may_stop, core, n_threads=threads
            )
        for block in told("clusters", blocks):
            kernels.join_leaves(*block, tree, search, core, parent, whole)
        place = np.empty(n, dtype=np.intp)
        place[tree.order[filled]] = np.flatnonzero(filled)
        labels = np.empty(n, dtype=np.intp)
        root_label = np.full(n_leaves * LEAF_POINTS, -1, dtype=np.intp)
        n_clusters = kernels.number_leaves(place, core, parent, root_label, labels)
        if n_clusters:
            for block in told("border", blocks):
                kernels.border_leaves(
                    *block,
                    per_chunk,
                    tree,
                    search,
                    core,
                    whole,
                    n_clusters,
                    labels,
                    n_threads=threads,
                )
        return labels, core[place]

    def _fit_lists(self, X, sample_weight):
        """By bits if there is room for them; else by neighbour lists in blocks of rows, kept up to
        half of the working memory, else found again in every pass."""
        n = X.shape[0]
        if sparse.issparse(X) and self.metric == "precomputed":
            X = _with_diagonal(X)
        model = self._neighbors(X)
        if n * n <= MARKED_SHARE * 8.0 * _working_memory() and (blocks := model._mark_blocks()):
            return self._fit_marks(n, blocks, sample_weight)
        kept: dict[int, tuple] = {}
        room = _working_memory() / 16
        step = min(n, max(256, int(room / (4 * n))))

        def lists(pass_name):
            for start in told(pass_name, range(0, n, step)):
                stop = min(start + step, n)
                found = kept.get(start) or model._within(X[start:stop], None, with_distances=False)
                yield start, found[:2]

        total = np.empty(n)
        for start, (indptr, indices) in lists("core rows"):
            if sample_weight is None:
                total[start : start + step] = np.diff(indptr)
            else:
                kernels.weigh_lists(indptr, indices, sample_weight, total[start : start + step])
            if indices.shape[0] <= room:
                room -= indices.shape[0]
                kept[start] = indptr, indices
        core = total >= self.min_samples
        parent = np.arange(n)
        for start, runs in lists("clusters"):
            kernels.join_lists(start, *runs, core, parent)
        labels = np.full(n, -1, dtype=np.intp)
        kernels.number_clusters(core, parent, labels)
        for start, runs in lists("border"):
            kernels.border_lists(start, *runs, core, labels)
        return labels, core

    def _fit_marks(self, n, blocks, sample_weight):
        """By a bit for every pair of rows."""
        marks, labels = np.empty((n, -(-n // 64)), dtype=np.uint64), np.empty(n, dtype=np.intp)
        for rows, found in told("neighbours", blocks):
            marks[rows] = found
        if sample_weight is None:
            total = np.empty(n, dtype=np.intp)
            count_marks(marks, total)
        else:
            total = np.empty(n)
            kernels.weigh_marks(marks, sample_weight, total)
        core = total >= self.min_samples
        kernels.spread_marks(marks, core, labels)
        return labels, core

    def _neighbors(self, X):
        """A fitted search within eps."""
        from fastml.neighbors import NearestNeighbors

        return NearestNeighbors(
            radius=self.eps,
            algorithm="brute" if callable(self.metric) else self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            metric_params=self.metric_params,
            p=self.p,
            n_jobs=self.n_jobs,
        ).fit(X)

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags


def _working_memory() -> float:
    from sklearn import get_config

    return get_config()["working_memory"] * 2.0**20


def _with_diagonal(graph):
    """A row is its own neighbour: its entry must be stored, and rows sorted by distance."""
    graph = graph.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        graph.setdiag(graph.diagonal())
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    order = np.lexsort((graph.data, rows))
    graph.data, graph.indices = graph.data[order], graph.indices[order]
    graph.has_sorted_indices = False
    return graph


@validate_params(
    {"X": ["array-like", "sparse matrix"], "sample_weight": ["array-like", None]},
    prefer_skip_nested_validation=False,
)
def dbscan(
    X,
    eps=0.5,
    *,
    min_samples=5,
    metric="minkowski",
    metric_params=None,
    algorithm="auto",
    leaf_size=30,
    p=2,
    sample_weight=None,
    n_jobs=None,
):
    """DBSCAN as a function; see `DBSCAN`, whose parameters it takes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or distances if ``metric='precomputed'``.
    eps, min_samples, metric, metric_params, algorithm, leaf_size, p, n_jobs
        As in `DBSCAN`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    core_samples : ndarray of shape (n_core_samples,)
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from fastml.cluster import dbscan
    >>> dbscan([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]], eps=3, min_samples=2)[1]
    array([ 0,  0,  0,  1,  1, -1])
    """
    fitted = DBSCAN(
        eps=eps,
        min_samples=min_samples,
        metric=metric,
        metric_params=metric_params,
        algorithm=algorithm,
        leaf_size=leaf_size,
        p=p,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    return fitted.core_sample_indices_, fitted.labels_
