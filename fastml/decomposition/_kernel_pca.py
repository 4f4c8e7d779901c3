"""Principal components in the space of a kernel."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.gram.matrix import KERNELS, check_square, gram
from fastml._engines.spectral.factors import calm_blas, largest
from fastml._engines.spectral.lanczos import leading_eigenpairs
from fastml._engines.spectral.operators import symmetric_product
from fastml._engines.spectral.signs import flipped
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, check_array, check_fitted, validate_data
from fastml.decomposition._docs import ENTRIES

MANY_ROWS = 200
"""Rows from which 'auto' may compute the leading eigenvectors only."""

NOT_OF_COMPONENTS = ("additive_chi2", "chi2", "exponential")
"""Kernels of which components can be no arguments: they are negative, or very large."""


@documented(ENTRIES)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis in the space of a kernel.

    With K the centred kernel matrix, K a_j = λ_j a_j, and row x has the components
    Σ_i a_ij k(x_i, x) / √λ_j, k centred as K is. Only the leading eigenvectors are computed.

    Parameters
    ----------
    n_components : int, default=None
        How many; None: all whose eigenvalue is not 0.
    kernel : str or callable, default='linear'
        A name of `fastml.metrics.pairwise.kernel_metrics`, 'precomputed', a function of two rows,
        or kernels put together by `fastml.metrics.pairwise.make_kernel`.
    gamma : float, default=None
        Of rbf, laplacian, polynomial, sigmoid, exponential and chi2 kernels; None is 1 / n_features
        of the rows fitted, also in `inverse_transform`.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    alpha : float, default=1.0
        Penalty of the ridge regression that `inverse_transform` is.
    fit_inverse_transform : bool, default=False
        Whether to learn `inverse_transform`, by kernel ridge regression of rows on components, with
        the kernel of the rows; chi2 kernels, which know no negative values, and the exponential
        kernel, which overflows, give way to rbf. Not with a precomputed kernel or sparse X.
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        'dense': LAPACK. 'arpack': block Lanczos, to ``tol``. 'randomized': a block Krylov space of
        random vectors after ``iterated_power`` passes. 'auto': 'arpack' for less than an eighth of
        the eigenvectors of more than 200 rows.
    tol : float, default=0
        Accuracy of 'arpack'; 0 is as good as possible.
    max_iter : int, default=None
        Most blocks of vectors that 'arpack' multiplies; None: as many as it takes.
    iterated_power : int or 'auto', default='auto'
        Passes of 'randomized'; 'auto' is 7, and 4 for more than a tenth of all components.
    remove_zero_eig : bool, default=False
        Whether to leave out components whose eigenvalue is 0; so it is with n_components=None.
    {random_state}
    copy_X : bool, default=True
        For scikit-learn's sake: X is copied anyway if it would be written to.
    {n_jobs}

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, descending.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        In columns; of each, the entry that is largest in absolute value is positive.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Of the inverse (``fit_inverse_transform``).
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Components of the rows fitted (``fit_inverse_transform``).
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows fitted.
    gamma_ : float
        The gamma used.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller, Kernel principal component analysis, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.decomposition import KernelPCA
    >>> angle = np.linspace(0, 6, 60)
    >>> circle = np.c_[np.cos(angle), np.sin(angle)]
    >>> circles = np.r_[circle, 4 * circle]
    >>> first = KernelPCA(1, kernel="rbf", gamma=0.5).fit_transform(circles)[:, 0]
    >>> bool((first[:60] > 0).all() and (first[60:] < 0).all())
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.copy_X = copy_X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _gram(self, X, Y=None):
        parameters = (self.gamma_, self.degree, self.coef0, self.kernel_params)
        return gram(X, Y, self.kernel, *parameters, self.n_jobs)

    def _gram_of_components(self, Z, fitted=None):
        """The kernel of `inverse_transform`: that of the rows where components can have it."""
        if callable(self.kernel) or self.kernel not in NOT_OF_COMPONENTS:
            return self._gram(Z, fitted)
        spread = float(np.sum(np.var(self.X_transformed_fit_, axis=0, dtype=np.float64)))
        gamma = 1.0 / spread if spread > 0.0 else 1.0
        return gram(Z, fitted, "rbf", gamma, self.degree, self.coef0, None, self.n_jobs)

    @fit_context(prefer_skip_nested_validation=True)
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
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.fit_inverse_transform and sp.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, copy=self.copy_X)
        if self.kernel == "precomputed":
            check_square(X)
        self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        K = self._gram(X)
        K = K.toarray() if sp.issparse(K) else K
        values, vectors = self._eigenvectors(K)
        if self.remove_zero_eig or self.n_components is None:
            vectors, values = vectors[:, values > 0], values[values > 0]
        self.eigenvalues_ = values.astype(X.dtype)
        self.eigenvectors_ = vectors.astype(X.dtype)
        if self.fit_inverse_transform:
            self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
            own = np.array(self._gram_of_components(self.X_transformed_fit_), dtype=np.float64)
            own.flat[:: len(own) + 1] += self.alpha
            with calm_blas(len(own)):
                self.dual_coef_ = _ridge(own, X.astype(np.float64)).astype(X.dtype)
        self.X_fit_ = X
        return self

    def _eigenvectors(self, K):
        n = len(K)
        k = n if self.n_components is None else min(n, self.n_components)
        solver = self.eigen_solver
        if solver == "auto":
            solver = "arpack" if n > MANY_ROWS and 8 * k < n else "dense"
        if solver != "dense" and 2 * k >= n:
            if solver == "arpack" and k == n:
                warnings.warn(
                    f"n_components={self.n_components} of {n} rows: all eigenvectors are computed, "
                    "by eigen_solver='dense'.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            solver = "dense"
        if solver == "dense":
            means = K.mean(axis=0, dtype=np.float64)
        else:
            means = symmetric_product(K, np.ones((n, 1)), self.n_jobs)[:, 0] / n
        if not np.isfinite(means.sum()):
            check_array(K, input_name="the kernel matrix")
        self._column_means, self._mean = means, float(means.mean())
        if solver == "dense":
            centred = K.astype(np.float64)
            centred -= means
            centred -= K.mean(axis=1, dtype=np.float64)[:, None]
            centred += self._mean
            with calm_blas(n):
                values, vectors = largest(centred, k)
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            values, vectors = self._leading(K, k, solver)
        return psd_eigenvalues(values, K.dtype), flipped(vectors.T).T

    def _leading(self, K, k, solver):
        n = len(K)
        random = check_random_state(self.random_state)

        def apply(V):
            found = symmetric_product(K, V - V.mean(axis=0), self.n_jobs)
            return found - found.mean(axis=0)

        options: dict = {"tol": max(self.tol, 1e-12)}
        if K.dtype == np.float32:
            options["tol"] = max(self.tol, 1e-6)
        if solver == "randomized":
            passes = self.iterated_power
            if passes == "auto":
                passes = 7 if k < 0.1 * n else 4
            size = min(n, k + 10)
            options["start"] = random.normal(size=(n, -(-size // 3)))
            options["most_products"] = int(size * max(2.0, 1.5 + 0.3 * int(passes)))
        elif self.max_iter is not None:
            options["most_products"] = self.max_iter * 8
        found = leading_eigenpairs(apply, n, k, random_state=random, **options)
        return found.values, found.vectors

    def fit_transform(self, X, y=None, **params):
        """Find the components and return those of the rows.

        Parameters
        ----------
        {X}
        {y}
        **params : dict
            Of `fit`.

        Returns
        -------
        {projected}
        """
        self.fit(X, **params)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X):
        """Components of new rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        {projected}
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        n = self.X_fit_.shape[0]
        k = len(self.eigenvalues_)
        check_fitted(self, "eigenvectors_", self.eigenvectors_, (n, k))
        check_fitted(self, "_column_means", self._column_means, (n,))
        K = self._gram(X, self.X_fit_)
        K = K.toarray() if sp.issparse(K) else K
        there = self.eigenvalues_ > 0
        scaled = np.zeros((n, k))
        scaled[:, there] = self.eigenvectors_[:, there] / np.sqrt(self.eigenvalues_[there])
        # (K − row means − column means + mean) scaled, from products of K alone
        column = scaled.sum(axis=0)
        found = K @ scaled.astype(K.dtype, copy=False)
        found = found - np.outer(K.mean(axis=1, dtype=np.float64) - self._mean, column)
        found -= self._column_means @ scaled
        return found.astype(X.dtype, copy=False)

    def inverse_transform(self, X):
        """Rows that have these components, approximately: kernel ridge regression on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)
            As `transform` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        check_is_fitted(self)
        return self._gram_of_components(X, self.X_transformed_fit_) @ self.dual_coef_

    @property
    def _n_features_out(self):
        return self.eigenvalues_.shape[0]


def _ridge(K, targets):
    """K⁻¹ targets; the shortest solution where K, without a penalty, has no inverse."""
    from scipy.linalg import LinAlgError, lstsq, solve

    try:
        return solve(K, targets, assume_a="pos", check_finite=False)
    except LinAlgError:
        return lstsq(K, targets, check_finite=False)[0]


def psd_eigenvalues(values, dtype):
    """Eigenvalues of a kernel without those of rounding; a ValueError if some are truly negative.

    ``values`` descend.
    """
    double = np.dtype(dtype) == np.float64
    largest, least = float(values[0]), float(values[-1])
    if largest < 0.0:
        raise ValueError(
            f"All eigenvalues are negative (maximum is {largest:g}). Either the matrix is not PSD, "
            "or there was an issue while computing the eigendecomposition of the matrix."
        )
    if least < -(1e-5 if double else 5e-3) * largest and least < -(1e-10 if double else 1e-6):
        raise ValueError(
            f"There are significant negative eigenvalues ({-least / largest:g} of the maximum "
            "positive). Either the matrix is not PSD, or there was an issue while computing the "
            "eigendecomposition of the matrix."
        )
    small = values < (1e-12 if double else 2e-7) * largest
    return np.where(small | (values < 0.0), 0.0, values)
