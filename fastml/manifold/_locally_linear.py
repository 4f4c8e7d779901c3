"""Locally linear embedding and its kin: what neighbours say of a row, kept in few dimensions."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, dia_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral.signs import flipped
from fastml._sklearn import Interval, StrOptions, fit_context, validate_params
from fastml._threads import single_threaded_blas
from fastml._validation import check_array, check_fitted, validate_data
from fastml.manifold._patches import (
    barycenters,
    by_curvature,
    by_several_weights,
    by_tangents,
    by_weights,
)
from fastml.manifold._smallest import symmetric_inverse
from fastml.neighbors import NearestNeighbors

SHIFT = 1e-13
"""Of the largest entry of the diagonal, where a matrix is singular to the last bit."""

SINGULAR = (
    "Error in determining null-space with ARPACK. Error message: '{}'. Note that"
    " eigen_solver='arpack' can fail when the weight matrix is singular or otherwise ill-behaved."
    " In that case, eigen_solver='dense' is recommended."
)

CONSTRAINTS: dict = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "reg": [Interval(Real, 0, None, closed="left")],
    "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "method": [StrOptions({"standard", "hessian", "modified", "ltsa"})],
    "hessian_tol": [Interval(Real, 0, None, closed="left")],
    "modified_tol": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
}


@validate_params({"X": ["array-like", object], **CONSTRAINTS}, prefer_skip_nested_validation=True)
def locally_linear_embedding(
    X,
    *,
    n_neighbors,
    n_components,
    reg=1e-3,
    eigen_solver="auto",
    tol=1e-6,
    max_iter=100,
    method="standard",
    hessian_tol=1e-4,
    modified_tol=1e-12,
    random_state=None,
    n_jobs=None,
):
    """Positions that keep what the neighbours of each row say of it.

    The eigenvectors of the smallest eigenvalues of a sparse matrix M but the first, which is
    constant; see `LocallyLinearEmbedding` for M and for the parameters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a fitted search
        The rows.
    n_neighbors, n_components : int
        Neighbours of a row; dimension of the embedding.
    reg : float, default=1e-3
        Added to the diagonal of the Gram matrix of neighbours, as a share of its trace.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        How eigenvectors are found.
    tol, max_iter : float and int, default=1e-6 and 100
        When "arpack" ends.
    method : {"standard", "hessian", "modified", "ltsa"}, default="standard"
        What makes M.
    hessian_tol, modified_tol : float, default=1e-4 and 1e-12
        What counts as 0.
    random_state : int, RandomState instance or None, default=None
        Where "arpack" starts.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    Y : ndarray of shape (n_samples, n_components)
        The positions.
    squared_error : float
        Sum of the eigenvalues, ``‖Y - W Y‖²`` for the standard method.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import locally_linear_embedding
    >>> t = np.linspace(0.0, 5.0, 60)
    >>> X = np.c_[np.cos(t), np.sin(t)]  # an arc, which is to be a line
    >>> Y, error = locally_linear_embedding(X, n_neighbors=6, n_components=1)
    >>> bool(abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.98)
    True
    """
    search = NearestNeighbors(n_neighbors=n_neighbors + 1, n_jobs=n_jobs).fit(X)
    single = search._fit_X.dtype == np.float32 and method == "standard"
    found, error = _embed(
        search, n_neighbors, n_components, reg, eigen_solver, tol, max_iter, method, hessian_tol,
        modified_tol, random_state, n_jobs,
    )  # fmt: skip
    return found.astype(np.float32 if single else np.float64, copy=False), error


def _embed(
    search, n_neighbors, n_components, reg, eigen_solver, tol, max_iter, method, hessian_tol,
    modified_tol, random_state, n_jobs,
):  # fmt: skip
    """Positions of the rows of a fitted search, and the sum of the eigenvalues."""
    X = check_array(search._fit_X, dtype=np.float64)
    n, n_features = X.shape
    if n_components > n_features:
        raise ValueError("output dimension must be less than or equal to input dimension")
    if n_neighbors >= n:
        raise ValueError(
            f"Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = {n_neighbors}"
        )
    if method == "hessian" and 2 * n_neighbors <= n_components * (n_components + 3):
        raise ValueError(
            "for method='hessian', n_neighbors must be greater than"
            " [n_components * (n_components + 3) / 2]"
        )
    if method == "modified" and n_neighbors < n_components:
        raise ValueError("modified LLE requires n_neighbors >= n_components")
    near = search.kneighbors(n_neighbors=n_neighbors, return_distance=False)  # of others
    _warn_of_parts(near)
    with single_threaded_blas():
        if method == "standard":
            M = by_weights(X, near, reg, n_jobs)
        elif method == "hessian":
            M = by_curvature(X, near, n_components, hessian_tol, n_jobs)
        elif method == "modified":
            M = by_several_weights(X, near, n_components, modified_tol, n_jobs)
        else:
            M = by_tangents(X, near, n_components, n_jobs)
        if eigen_solver == "auto":
            eigen_solver = "arpack" if n > 200 and n_components + 1 < 10 else "dense"
        if eigen_solver == "dense":
            return _null_space(M, n_components)
        if not np.ptp(X, axis=0).any():  # which neighbours there are is chance
            raise ValueError(SINGULAR.format("all rows are the same"))
        return _null_space_by_lanczos(M, n_components, tol, max_iter, random_state)


def _warn_of_parts(near):
    """Nothing holds the parts of a graph together: each is a null vector of its own."""
    n, k = near.shape
    graph = csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    n_parts, _ = connected_components(graph, directed=False)
    if n_parts > 1:
        warnings.warn(
            f"The neighbors graph is not connected, it has {n_parts} connected components: the "
            "embedding tells them apart but not how they lie within. Increase n_neighbors, or embed"
            " each on its own.",
            stacklevel=4,
        )


def _null_space(M, k):
    """Eigenvectors of the smallest k eigenvalues but the first, and these eigenvalues' sum."""
    from scipy.linalg import eigh

    values, vectors = eigh(M.toarray(), subset_by_index=(1, k), overwrite_a=True)
    order = np.argsort(np.abs(values))
    return vectors[:, order], np.sum(values)


def _null_space_by_lanczos(M, k, tol, max_iter, random_state):
    """The same by Lanczos on the inverse.

    Signs that it finds depend on rounding (is the eigenvalue 0 above or below 0?), so that of
    each vector the entry that is largest in absolute value is made positive.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = M.shape[0]
    start = check_random_state(random_state).uniform(-1, 1, n)
    options = {"tol": tol, "maxiter": max_iter, "v0": start}

    def smallest(count, shift):
        moved = M + dia_array((np.full((1, n), shift), [0]), shape=(n, n)) if shift else M
        inverse = LinearOperator((n, n), matvec=symmetric_inverse(moved), dtype=np.float64)
        return eigsh(M, count, sigma=-shift, OPinv=inverse, **options)

    try:
        try:
            values, vectors = smallest(k + 1, 0.0)
        except RuntimeError:  # a pivot is 0 to the last bit
            shift = SHIFT * float(M.diagonal().max())
            values, vectors = smallest(k + 2, shift)
            if shift == 0 or values[-1] < shift:  # the positions could be anything
                raise
            values, vectors = values[: k + 1], vectors[:, : k + 1]
    except RuntimeError as error:
        raise ValueError(SINGULAR.format(error)) from error
    return flipped(vectors[:, 1:].T).T, np.sum(values[1:])


@documented()
class LocallyLinearEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Locally linear embedding.

    Every row is made up of its neighbours, ``x_i ≈ Σ w_ij x_j`` with ``Σ_j w_ij = 1``; the
    positions are to be made up of theirs by the same weights: they minimise ``tr(Y' M Y)`` with
    ``M = (I - W)' (I - W)`` and ``Y' Y = I``, and are eigenvectors of M. The other methods put
    other matrices of the neighbourhoods together to M.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a row.
    n_components : int, default=2
        Dimension of the embedding.
    reg : float, default=1e-3
        Added to the diagonal of the Gram matrix of neighbours, as a share of its trace.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        "arpack" is Lanczos on the inverse of the sparse M, "dense" LAPACK on all of it; "auto"
        takes the former from 201 rows.
    tol : float, default=1e-6
        When "arpack" ends.
    max_iter : int, default=100
        Restarts of "arpack".
    method : {"standard", "hessian", "modified", "ltsa"}, default="standard"
        "hessian" keeps functions whose second derivatives along the manifold vanish (it needs
        ``n_neighbors > n_components (n_components + 3) / 2``), "modified" takes several weight
        vectors per row, "ltsa" aligns tangent spaces.
    hessian_tol : float, default=1e-4
        Sums below it count as 0 in "hessian".
    modified_tol : float, default=1e-12
        Norms below it count as 0 in "modified".
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How neighbours are searched.
    random_state : int, RandomState instance or None, default=None
        Where "arpack" starts.
    {n_jobs}

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    reconstruction_error_ : float
        Sum of the eigenvalues, ``tr(Y' M Y)``.
    nbrs_ : NearestNeighbors
        The search.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Roweis and Saul, "Nonlinear dimensionality reduction by locally linear embedding", Science 290
    (2000). Donoho and Grimes, "Hessian eigenmaps", PNAS 100 (2003). Zhang and Wang, "MLLE:
    modified locally linear embedding using multiple weights" (2006). Zhang and Zha, "Principal
    manifolds and nonlinear dimensionality reduction via tangent space alignment" (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import LocallyLinearEmbedding
    >>> rng = np.random.default_rng(0)
    >>> t, height = 1.5 + 2.0 * rng.random(300), rng.random(300)
    >>> X = np.c_[np.cos(t), height, np.sin(t)]  # a bent sheet
    >>> model = LocallyLinearEmbedding(n_neighbors=12, method="ltsa", random_state=0).fit(X)
    >>> model.embedding_.shape
    (300, 2)
    >>> bool(abs(model.reconstruction_error_) < 1e-3)
    True
    """

    _parameter_constraints: dict = {
        **CONSTRAINTS,
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
    }

    def __init__(
        self,
        *,
        n_neighbors=5,
        n_components=2,
        reg=1e-3,
        eigen_solver="auto",
        tol=1e-6,
        max_iter=100,
        method="standard",
        hessian_tol=1e-4,
        modified_tol=1e-12,
        neighbors_algorithm="auto",
        random_state=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Compute the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=np.float64)
        search = NearestNeighbors(
            n_neighbors=self.n_neighbors, algorithm=self.neighbors_algorithm, n_jobs=self.n_jobs
        ).fit(X)
        found, error = _embed(
            search, self.n_neighbors, self.n_components, self.reg, self.eigen_solver, self.tol,
            self.max_iter, self.method, self.hessian_tol, self.modified_tol, self.random_state,
            self.n_jobs,
        )  # fmt: skip
        self.nbrs_ = search
        self.embedding_, self.reconstruction_error_ = found, error
        self._n_features_out = found.shape[1]
        return self

    def fit_transform(self, X, y=None):
        """Compute and return the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        return self.fit(X).embedding_

    def transform(self, X):
        """Positions of new rows, made up of their neighbours' as the rows are of the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        learned = self.nbrs_._fit_X
        check_fitted(self, "embedding_", self.embedding_, (len(learned), self.n_components))
        near = self.nbrs_.kneighbors(X, self.n_neighbors, return_distance=False)
        with single_threaded_blas():
            weights = barycenters(X, learned, near, self.reg, self.n_jobs)
        return np.einsum("ik,ikc->ic", weights, self.embedding_[near])
