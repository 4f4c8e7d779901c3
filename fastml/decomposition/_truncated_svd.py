"""Truncated singular value decomposition: latent semantic analysis."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral import factors
from fastml._engines.spectral.operators import CentredRows, projected
from fastml._engines.spectral.scatter import spread_of
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, check_array, check_fitted, validate_data
from fastml.decomposition._blocks import BlockedRows
from fastml.decomposition._docs import ENTRIES


@documented(ENTRIES)
class TruncatedSVD(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The leading singular vectors of X as it is, without centring: X ≈ U S V'.

    Of counts of words or tf-idf this is latent semantic analysis.

    Parameters
    ----------
    n_components : int, default=2
        How many; at most n_features, and less with 'arpack'.
    algorithm : {'arpack', 'randomized'}, default='randomized'
        'arpack': block Lanczos, to ``tol``. 'randomized': a block Krylov space of random vectors
        after ``n_iter`` passes, at least as accurate as as many power iterations.
    n_iter : int, default=5
        Passes of 'randomized'.
    n_oversamples : int, default=10
        Random vectors beyond n_components ('randomized').
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        For scikit-learn's sake: vectors are always made orthonormal.
    {random_state}
    tol : float, default=0.0
        Accuracy of 'arpack'; 0 is as good as possible.
    {n_jobs}

    Attributes
    ----------
    {components_}
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the projected rows, divided by n.
    {explained_variance_ratio_}
    {singular_values_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    C. Musco and C. Musco, Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import random_array
    >>> from fastml.decomposition import TruncatedSVD
    >>> X = random_array((100, 50), density=0.1, rng=np.random.default_rng(0))
    >>> TruncatedSVD(n_components=3, random_state=0).fit_transform(X).shape
    (100, 3)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"arpack", "randomized"})],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=2,
        *,
        algorithm="randomized",
        n_iter=5,
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        tol=0.0,
        n_jobs=None,
    ):
        self.algorithm = algorithm
        self.n_components = n_components
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Find the components.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        {self}
        """
        self.fit_transform(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the components and project the rows.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        {projected}
        """
        X = validate_data(
            self, X, accept_sparse=["csr", "csc"], ensure_min_features=2, dtype=FLOATS
        )
        n, d = X.shape
        k, random = self.n_components, check_random_state(self.random_state)
        if self.algorithm == "arpack" and k >= min(n, d):
            raise ValueError(
                f"n_components={k} must be less than min(n_samples, n_features)={min(n, d)} with "
                "algorithm='arpack'"
            )
        if k > d:
            raise ValueError(f"n_components({k}) must be <= n_features({d}).")
        with np.errstate(over="ignore"):
            whole = self._variance(X)
        if not np.isfinite(whole):
            raise ValueError("TruncatedSVD: values of X are so large that their squares overflow")
        A = CentredRows(X, None, n_jobs=self.n_jobs)
        if self.algorithm == "randomized":
            found = factors.randomised(
                A, k, n_oversamples=self.n_oversamples, n_iter=self.n_iter, random_state=random
            )
        elif 3 * k > min(n, d):
            found = factors.by_singular_values(A)
        else:
            found = factors.leading(A, k, tol=self.tol, random_state=random)
        self.components_ = np.array(found.rows[:k], dtype=X.dtype)
        self.singular_values_ = found.singular[:k].astype(X.dtype)
        projections = projected(X, self.components_, None, n_jobs=self.n_jobs)
        own = spread_of(projections, n_jobs=self.n_jobs).products / n
        self.explained_variance_ = own.astype(X.dtype)
        shares = own / whole if whole > 0.0 else np.zeros(len(own))
        self.explained_variance_ratio_ = shares.astype(X.dtype)
        return projections

    def _fit_blocks(self, passes):
        """By the triangle R of all rows, X = Q R, whichever the algorithm."""
        k, rows = self.n_components, BlockedRows(passes)
        if k > passes.n_features:
            raise ValueError(f"n_components({k}) must be <= n_features({passes.n_features}).")
        scatter = rows.scatter()
        triangle = rows.triangle(np.zeros(passes.n_features))
        found = factors.by_singular_values(CentredRows(triangle, None))
        V = found.rows[:k]
        own = np.maximum(np.einsum("kj,ji,ki->k", V, scatter.products, V), 0.0) / scatter.total
        whole = float(np.trace(scatter.products)) / scatter.total
        self.components_ = np.array(V, dtype=passes.dtype)
        self.singular_values_ = found.singular[:k].astype(passes.dtype)
        self.explained_variance_ = own.astype(passes.dtype)
        shares = own / whole if whole > 0.0 else np.zeros(len(own))
        self.explained_variance_ratio_ = shares.astype(passes.dtype)

    def _variance(self, X):
        """Of all columns together, divided by n."""
        n = X.shape[0]
        if not sp.issparse(X):
            return float(spread_of(X, n_jobs=self.n_jobs).products.sum()) / n
        means = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        squares = float(np.square(X.data, dtype=np.float64).sum()) / n
        return max(squares - float(means @ means), 0.0)

    def transform(self, X):
        """Project rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        {projected}
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=FLOATS, reset=False)
        shape = (len(self.components_), self.n_features_in_)
        check_fitted(self, "components_", self.components_, shape)
        return projected(X, self.components_, None, n_jobs=self.n_jobs)

    def inverse_transform(self, X):
        """Rows of components back to columns: X components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            As `transform` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS)
        return X @ self.components_.astype(X.dtype, copy=False)

    @property
    def _n_features_out(self):
        return self.components_.shape[0]
