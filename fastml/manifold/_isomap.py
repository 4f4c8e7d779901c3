"""Isomap: classical scaling of the lengths of paths along the rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_symmetric

from fastml._docs import documented
from fastml._engines.rows import csr_rows
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling, told
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_fitted, kernel_view
from fastml.kernels.manifold.paths import all_shortest_paths, detours, group_sources, shortest_paths
from fastml.manifold._leading import leading_of_squares
from fastml.manifold._memory import check_square
from fastml.neighbors import (
    VALID_METRICS,
    NearestNeighbors,
    kneighbors_graph,
    radius_neighbors_graph,
)

BYTES_PER_PAIR = 8.0
OPERATIONS_PER_STEP = 60.0  # a vertex reached from a source
LAST = np.iinfo(np.int64).max
FEW, DENSE = 400, 0.2
"""Vertices up to which, and share of all pairs from which Floyd and Warshall's paths are faster."""

LAUNCH = 2e9  # operations of a launch and thread, so that Ctrl-C takes effect
REACH = 128  # vertices around a source among which others are looked for


@documented()
class Isomap(CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Isometric mapping: classical scaling of geodesic distances.

    The distance of two rows is the length of the shortest path along the graph of neighbours,
    ``D``; the positions are ``V sqrt(Λ)`` for the leading eigenvalues of ``-½ J D² J``.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Neighbours of a row; None if ``radius`` is given.
    radius : float or None, default=None
        Rows within this distance are neighbours.
    n_components : int, default=2
        Dimension of the embedding, at most the number of rows from which paths are taken.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        For scikit-learn's sake: one block Krylov solver, exact for few rows, serves all.
    tol : float, default=0
        For scikit-learn's sake.
    max_iter : int, default=None
        For scikit-learn's sake.
    path_method : {"auto", "FW", "D"}, default="auto"
        For scikit-learn's sake: paths are Dijkstra's.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How neighbours are searched.
    {n_jobs}
    metric : str or callable, default="minkowski"
        Distance of rows; "precomputed" means that X holds distances, or a graph of them.
    p : float, default=2
        Power of the Minkowski distance.
    metric_params : dict, default=None
        Parameters of the metric.
    n_landmarks : int, default=None
        Paths are taken from so many rows only, and the others are placed by their distances to
        these (landmark scaling): n × n_landmarks lengths in the place of n × n.
    verbose : int, default=0
        Above 0, what the n × n lengths take is printed before they are computed.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    nbrs_ : NearestNeighbors
        The search.
    dist_matrix_ : ndarray of shape (n_samples, n_samples) or (n_landmarks, n_samples)
        Lengths of shortest paths.
    eigenvalues_ : ndarray of shape (n_components,)
        The leading eigenvalues.
    landmarks_ : ndarray of shape (n_landmarks,)
        Rows from which paths are taken.
    n_connected_components_ : int
        Parts of the graph of neighbours before they were joined.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Tenenbaum, de Silva and Langford, "A global geometric framework for nonlinear dimensionality
    reduction", Science 290 (2000). de Silva and Tenenbaum, "Sparse multidimensional scaling using
    landmark points" (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import Isomap
    >>> t = np.linspace(0.0, 5.0, 40)
    >>> X = np.c_[np.cos(t), np.sin(t)]  # an arc, which is to be a line
    >>> Y = Isomap(n_components=1).fit_transform(X)
    >>> bool(abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.999)
    True
    """

    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "path_method": [StrOptions({"auto", "FW", "D"})],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "n_jobs": [Integral, None],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric": [StrOptions({*VALID_METRICS["brute"], "precomputed"}), callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=None,
        n_components=2,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        path_method="auto",
        neighbors_algorithm="auto",
        n_jobs=None,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_landmarks=None,
        verbose=0,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Compute the positions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted search
            The rows.
        y : Ignored

        Returns
        -------
        self : object
        """
        with fit_steps(self, None, X) as steps, telling(steps):
            self._fit(X)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y=None):
        """Compute and return the positions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a fitted search
            The rows.
        y : Ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        with fit_steps(self, None, X) as steps, telling(steps):
            self._fit(X)
        return self.embedding_

    def _fit(self, X):
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                "Both n_neighbors and radius are provided. Use"
                f" Isomap(radius={self.radius}, n_neighbors=None) if intended to use radius-based"
                " neighbors"
            )
        search = NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(X)
        n = search.n_samples_fit_
        if self.metric == "precomputed" and not issparse(search._fit_X):
            largest = float(np.max(search._fit_X, initial=0.0))
            check_symmetric(search._fit_X, tol=1e-6 * largest, raise_exception=True)
        if self.n_landmarks is None:
            check_square("Isomap", n, BYTES_PER_PAIR, "Take n_landmarks", self.verbose)
        steps = current_steps()
        step = steps.begin("neighbours")
        graph = self._joined(self._graph(search), search, X)
        step.end()
        landmarks = self._chosen(n)
        paths = self._paths(graph, landmarks)
        if self.n_landmarks is None:
            squares = np.square(paths, out=paths)  # in place: memory that is new takes longer
        else:
            squares = np.square(paths[:, landmarks])
        n_components = min(self.n_components, len(landmarks))  # as in scikit-learn
        step = steps.begin("eigenvectors")
        values, vectors = leading_of_squares(squares, n_components, self.n_jobs)
        step.end()
        means = squares.mean(axis=0)
        if self.n_landmarks is None:
            np.sqrt(paths, out=paths)  # sqrt(x * x) is x
        dtype = np.float32 if search._fit_X.dtype == np.float32 else np.float64
        self.nbrs_ = search
        self.n_features_in_ = search.n_features_in_
        if hasattr(search, "feature_names_in_"):
            self.feature_names_in_ = search.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.landmarks_ = landmarks
        self.eigenvalues_ = values.astype(dtype)
        self._mean_squares = means
        roots = np.sqrt(np.maximum(values, 0.0))
        self._projection = vectors / np.where(roots > 0, roots, 1.0)
        self.dist_matrix_ = paths.astype(dtype, copy=False)
        if self.n_landmarks is None:
            self.embedding_ = (vectors * roots).astype(dtype)
        else:
            self.embedding_ = self._project(np.square(paths.T)).astype(dtype)
        self._n_features_out = n_components

    def _graph(self, search):
        shared = {
            "metric": self.metric,
            "p": self.p,
            "metric_params": self.metric_params,
            "mode": "distance",
            "n_jobs": self.n_jobs,
        }
        if self.n_neighbors is not None:
            return kneighbors_graph(search, self.n_neighbors, **shared)
        return radius_neighbors_graph(search, radius=self.radius, **shared)

    def _joined(self, graph, search, X):
        """The graph, its parts joined by their closest rows as scikit-learn does."""
        n_parts, labels = connected_components(graph)
        self.n_connected_components_ = int(n_parts)
        if n_parts == 1:
            return graph
        if self.metric == "precomputed" and issparse(X):
            raise RuntimeError(
                f"The number of connected components of the neighbors graph is {n_parts} > 1. The "
                "graph cannot be completed with metric='precomputed', and Isomap cannot be"
                "fitted. Increase the number of neighbors to avoid this issue, or precompute the "
                "full distance matrix instead of passing a sparse neighbors graph."
            )
        warnings.warn(
            f"The number of connected components of the neighbors graph is {n_parts} > 1. "
            "Completing the graph to fit Isomap might be slow. Increase the number of neighbors "
            "to avoid this issue.",
            stacklevel=4,
        )
        from fastml._sklearn import fix_connected_components  # loads scikit-learn's metrics

        joined = fix_connected_components(
            X=search._fit_X,
            graph=graph.tolil(),
            n_connected_components=n_parts,
            component_labels=labels,
            mode="distance",
            metric=search.effective_metric_,
            **search.effective_metric_params_,
        )
        return joined.tocsr()

    def _chosen(self, n):
        if self.n_landmarks is None or self.n_landmarks >= n:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, self.n_landmarks, replace=False))

    def _paths(self, graph, landmarks):
        """Lengths of shortest paths from the landmarks to all rows."""
        both = _both_directions(csr_array(graph))
        return all_paths(both, landmarks, self.n_jobs)

    def _project(self, squares):
        """Positions of rows whose squared path lengths to the landmarks are given."""
        return (0.5 * (self._mean_squares - squares)) @ self._projection

    def transform(self, X):
        """Positions of new rows, by their paths over the neighbours among the rows learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        check_is_fitted(self)
        n = self.nbrs_.n_samples_fit_
        check_fitted(self, "dist_matrix_", self.dist_matrix_, (len(self.landmarks_), n))
        if self.n_neighbors is not None:
            graph = self.nbrs_.kneighbors_graph(X, mode="distance")
        else:
            graph = self.nbrs_.radius_neighbors_graph(X, mode="distance")
        near = csr_rows(csr_array(graph), canonical=False)
        lengths = np.empty((graph.shape[0], len(self.landmarks_)))
        work = float(len(near.data) / max(len(lengths), 1) * len(self.landmarks_))
        detours(
            near, kernel_view(self.dist_matrix_, np.float64), chunk_rows(len(lengths), work),
            lengths, n_threads=effective_n_threads(self.n_jobs, work * len(lengths)),
        )  # fmt: skip
        found = np.empty((len(lengths), self._projection.shape[1]))
        for i, row in enumerate(lengths):  # one by one: a batch must not change a row's bits
            found[i] = self._project(np.square(row))
        return found.astype(np.float32 if _is_single(X) else np.float64)

    def reconstruction_error(self):
        """``‖K(D) - K(D_fit)‖ / n``, K the doubly centred squares of path lengths and of the
        distances of positions.

        Returns
        -------
        error : float
            0 where the embedding keeps all path lengths.
        """
        check_is_fitted(self)
        squares = np.square(self.dist_matrix_[:, self.landmarks_], dtype=np.float64)
        squares -= squares.mean(axis=0)
        squares -= squares.mean(axis=1, keepdims=True)
        total = 0.25 * np.sum(squares**2) - np.sum(np.square(self.eigenvalues_, dtype=np.float64))
        return np.sqrt(max(total, 0.0)) / len(squares)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        return tags


def all_paths(graph, sources, n_jobs=None):
    """Lengths of shortest paths from the sources to all vertices of a graph of both directions."""
    n = len(graph.indptr) - 1
    if len(sources) == n <= FEW and len(graph.data) > DENSE * n * n:
        paths = np.full((n, n), np.inf)
        paths[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
        np.fill_diagonal(paths, 0.0)
        effective_n_threads(n_jobs, 0.0)  # refuses a bad n_jobs
        all_shortest_paths(paths)
        return paths
    sources = kernel_view(sources, np.intp)
    members, begins = np.empty(len(sources), dtype=np.intp), np.empty(n + 1, dtype=np.intp)
    n_groups = group_sources(graph, sources, REACH, np.full(n, -1), members, begins)
    paths = np.empty((len(sources), n))
    members = kernel_view(members)
    n_threads = effective_n_threads(n_jobs, OPERATIONS_PER_STEP * n * len(sources))
    work = OPERATIONS_PER_STEP * n * len(sources) / n_groups
    at_once = max(16, int(LAUNCH * n_threads / work))
    for first in told("paths", range(0, n_groups, at_once)):
        own = kernel_view(begins[first : min(first + at_once, n_groups) + 1])
        shortest_paths(graph, sources, members, own, paths, n_threads=n_threads)
    return paths


def _is_single(X) -> bool:
    """Whether scikit-learn's validation, by which the search goes, would see float32 rows."""
    if not hasattr(X, "dtype") and hasattr(X, "dtypes"):  # of a polars frame it sees no NumPy type
        return all(isinstance(kind, np.dtype) and kind == np.float32 for kind in X.dtypes)
    return (X if hasattr(X, "dtype") else np.asarray(X)).dtype == np.float32


def _both_directions(graph):
    """A `Csr` with every edge in both directions, the shorter where both were stored."""
    graph = graph.astype(np.float64)
    graph.sum_duplicates()
    # Non-negative floats are in the order of their bits; counted down from the largest integer, no
    # length is 0, which sparse arrays do not tell from no edge, and the longest is the shortest.
    bits = LAST - (graph.data + 0.0).view(np.int64)
    down = csr_array((bits, graph.indices, graph.indptr), shape=graph.shape)
    both = csr_array(down.maximum(down.T.tocsr()))
    lengths = (LAST - both.data).view(np.float64)
    return csr_rows(csr_array((lengths, both.indices, both.indptr), shape=graph.shape))
