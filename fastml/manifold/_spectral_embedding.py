"""Spectral embedding: smooth functions on a graph of the rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components, laplacian
from sklearn.base import BaseEstimator
from sklearn.utils import check_symmetric

from fastml._docs import documented
from fastml._engines.spectral.signs import flipped
from fastml._sklearn import Interval, StrOptions, fit_context, validate_params
from fastml._validation import check_array, validate_data
from fastml.manifold._smallest import smallest_of_laplacian
from fastml.metrics.pairwise import pairwise_kernels
from fastml.neighbors import NearestNeighbors, kneighbors_graph

SOLVERS = [StrOptions({"arpack", "lobpcg", "amg"}), None]
TOLERANCES = [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})]


@validate_params(
    {
        "adjacency": ["array-like", "sparse matrix"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": SOLVERS,
        "random_state": ["random_state"],
        "eigen_tol": TOLERANCES,
        "norm_laplacian": ["boolean"],
        "drop_first": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def spectral_embedding(
    adjacency,
    *,
    n_components=8,
    eigen_solver=None,
    random_state=None,
    eigen_tol="auto",
    norm_laplacian=True,
    drop_first=True,
):
    """Positions of the vertices of a graph by its Laplacian.

    Eigenvectors of the smallest eigenvalues of ``L = D - A``, or with ``norm_laplacian`` of
    ``L = I - D^-½ A D^-½`` and divided by the roots of the degrees D. Of each, the entry that is
    largest in absolute value is positive.

    Parameters
    ----------
    adjacency : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Weights A of the edges, symmetric.
    n_components : int, default=8
        Dimension of the embedding.
    eigen_solver : {"arpack", "lobpcg", "amg"} or None, default=None
        For scikit-learn's sake: block Lanczos, on the inverse where that is faster, serves all.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: the result does not depend on it.
    eigen_tol : float or "auto", default="auto"
        For scikit-learn's sake: vectors are found to rounding.
    norm_laplacian : bool, default=True
        Whether degrees are divided out.
    drop_first : bool, default=True
        Whether the first vector, constant where the graph hangs together, is left out.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
        The positions.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import spectral_embedding
    >>> chain = np.eye(5, k=1) + np.eye(5, k=-1)
    >>> Y = spectral_embedding(chain, n_components=1)[:, 0]
    >>> bool((np.diff(Y) > 0).all() or (np.diff(Y) < 0).all())
    True
    """
    return _embed(_symmetric(adjacency), n_components, norm_laplacian, drop_first)


def _symmetric(adjacency):
    adjacency = check_array(adjacency, accept_sparse="csr", dtype=[np.float64, np.float32])
    return check_symmetric(adjacency)


def _parts(adjacency) -> int:
    """Number of connected components."""
    if not issparse(adjacency):  # most often the first row reaches all
        reached, fresh = np.zeros(len(adjacency), dtype=bool), np.array([0])
        while len(fresh):
            reached[fresh] = True
            fresh = np.flatnonzero((adjacency[fresh] != 0).any(axis=0) & ~reached)
        if reached.all():
            return 1
    return int(connected_components(adjacency, directed=False)[0])


def _embed(adjacency, n_components, norm_laplacian=True, drop_first=True, n_jobs=None):
    n = adjacency.shape[0]
    first = int(drop_first)
    if n_components + first > n:
        warnings.warn(
            f"n_components={n_components} needs {n_components + first} eigenvectors of a Laplacian"
            f" that has {n}; there will be {n - first} components",
            stacklevel=3,
        )
    count = min(n_components + first, n)
    n_parts = _parts(adjacency)
    if n_parts > 1:
        warnings.warn(
            "Graph is not fully connected, spectral embedding may not work as expected. It has"
            f" {n_parts} connected components.",
            stacklevel=3,
        )
    dtype = adjacency.dtype
    L, roots = laplacian(
        adjacency.astype(np.float64, copy=False), normed=norm_laplacian, return_diag=True
    )
    if norm_laplacian:  # also of vertices without edges
        if issparse(L):
            L = L.tocsr()
            L.setdiag(1.0)
        else:
            L.flat[:: n + 1] = 1.0
    vectors = smallest_of_laplacian(L, count, n_jobs).T
    if norm_laplacian:
        vectors = vectors / roots
    return flipped(vectors)[first:].T.astype(dtype)


@documented()
class SpectralEmbedding(BaseEstimator):
    """Spectral embedding, or Laplacian eigenmaps.

    The positions y minimise ``Σ a_ij |y_i - y_j|²`` over the edges of a graph of neighbours: they
    are the eigenvectors of the smallest eigenvalues but the first of its normalised Laplacian
    ``I - D^-½ A D^-½``, divided by the roots of the degrees.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    affinity : {"nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"} or \
callable, default="nearest_neighbors"
        What the edges are: 1 between neighbours (½ if one way only), ``exp(-gamma |x - y|²)``, X
        itself, neighbours by the distances X, or what the function makes of X.
    gamma : float, default=None
        Of "rbf"; None means 1 / n_features.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: the result does not depend on it.
    eigen_solver : {"arpack", "lobpcg", "amg"} or None, default=None
        For scikit-learn's sake: block Lanczos, on the inverse where that is faster, serves all.
    eigen_tol : float or "auto", default="auto"
        For scikit-learn's sake: vectors are found to rounding.
    n_neighbors : int, default=None
        Neighbours of a row, itself among them; None means a tenth of the rows.
    {n_jobs}

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    affinity_matrix_ : {ndarray, sparse matrix} of shape (n_samples, n_samples)
        The weights of the edges.
    n_neighbors_ : int
        Neighbours of a row that "nearest_neighbors" takes.
    gamma_ : float
        The parameter used, with "rbf".
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Belkin and Niyogi, "Laplacian eigenmaps for dimensionality reduction and data representation",
    Neural Computation 15 (2003). von Luxburg, "A tutorial on spectral clustering" (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import SpectralEmbedding
    >>> t = np.linspace(0.0, 5.0, 60)
    >>> X = np.c_[np.cos(t), np.sin(t)]  # an arc, which is to be a line
    >>> Y = SpectralEmbedding(n_components=1).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Y, t)[0, 1]) > 0.98)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "affinity": [
            StrOptions(
                {"nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"}
            ),
            callable,
        ],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "eigen_solver": SOLVERS,
        "eigen_tol": TOLERANCES,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=2,
        *,
        affinity="nearest_neighbors",
        gamma=None,
        random_state=None,
        eigen_solver=None,
        eigen_tol="auto",
        n_neighbors=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Compute the positions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
(n_samples, n_samples)
            The rows, or the graph or distances if these are precomputed.
        y : Ignored

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, accept_sparse="csr", ensure_min_samples=2)
        self.affinity_matrix_ = self._affinities(X)
        self.embedding_ = _embed(self.affinity_matrix_, self.n_components, n_jobs=self.n_jobs)
        return self

    def _affinities(self, X):
        affinity = self.affinity
        self.n_neighbors_ = self.n_neighbors or max(X.shape[0] // 10, 1)
        if affinity == "nearest_neighbors" and issparse(X):
            warnings.warn(
                "Nearest neighbors affinity currently does not support sparse input, falling back"
                " to rbf affinity",
                stacklevel=4,
            )
            affinity = "rbf"
        if affinity == "precomputed":
            return _symmetric(X)
        if affinity == "rbf":
            self.gamma_ = self.gamma if self.gamma is not None else 1.0 / X.shape[1]
            return pairwise_kernels(X, metric="rbf", gamma=self.gamma_, n_jobs=self.n_jobs)
        if affinity == "nearest_neighbors":
            graph = kneighbors_graph(X, self.n_neighbors_, include_self=True, n_jobs=self.n_jobs)
        elif affinity == "precomputed_nearest_neighbors":
            search = NearestNeighbors(
                n_neighbors=self.n_neighbors, n_jobs=self.n_jobs, metric="precomputed"
            ).fit(X)
            graph = search.kneighbors_graph(X=X, mode="connectivity")
        else:
            return _symmetric(affinity(X))
        return 0.5 * (graph + graph.T)

    def fit_transform(self, X, y=None):
        """Compute and return the positions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
(n_samples, n_samples)
            The rows, or the graph or distances if these are precomputed.
        y : Ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        return self.fit(X).embedding_
