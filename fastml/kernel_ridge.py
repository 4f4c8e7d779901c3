"""Ridge regression in the space of a kernel."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fastml._engines.gram.matrix import KERNELS, check_square, gram
from fastml._engines.optimise import AT_ONCE, cholesky_solve
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import interruptible
from fastml._validation import validate_data

__all__ = ["KernelRidge"]


class KernelRidge(CallbackSupport, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Ridge regression with a kernel.

    f(x) = Σ c_i k(x_i, x) with c = (K + alpha I)⁻¹ y: least squares with penalty alpha \\|f\\|².
    Weights w_i multiply the squared errors.

    Several penalties cost one decomposition (``alphas``). The best is chosen by the mean squared
    error of leave-one-out predictions, exact and without refitting:

        y_i − f₋ᵢ(x_i) = c_i / [(K + alpha I)⁻¹]_ii

    which takes the eigenvectors of K; or by generalised cross-validation, in which the diagonal of
    that inverse is replaced by its mean, which takes a reduction of K to a band only and is several
    times faster on thousands of rows.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Penalty, or one for each target. Not used if ``alphas`` is given.
    kernel : str or callable, default='linear'
        A name of `fastml.metrics.pairwise.kernel_metrics`, 'precomputed', a function of two rows,
        or kernels put together by `fastml.metrics.pairwise.make_kernel`.
    gamma : float, default=None
        Of rbf, laplacian, polynomial, sigmoid, exponential and chi2 kernels; None is each kernel's
        default.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    alphas : array-like of shape (n_alphas,), default=None
        Positive penalties to choose from. One alone gives its leave-one-out error.
    select_by : {'loo', 'gcv'}, default='loo'
        How to choose: exact leave-one-out error, or generalised cross-validation.
    n_jobs : int, default=None
        Threads of the kernel matrix; None means all cores.
    normalize : bool, default=False
        Whether K(x, y) is divided by √(K(x, x) K(y, y)); it is 0 where K(x, x) or K(y, y) is 0.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The c above.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows, or the kernel matrix if precomputed.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.
    alpha_ : float
        The chosen penalty; only with ``alphas``, as are the next three.
    dual_coefs_ : ndarray of shape (n_alphas, n_samples) or (n_alphas, n_samples, n_targets)
    loo_errors_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Mean squared leave-one-out errors (``select_by='loo'``).
    gcv_errors_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Generalised cross-validation errors (``select_by='gcv'``).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> KernelRidge(alpha=0.01, kernel="rbf", gamma=1.0).fit(X, y).predict([[np.pi / 2]]).round(2)
    array([1.])
    >>> model = KernelRidge(kernel="rbf", gamma=1.0, alphas=[1e-3, 1.0, 1e3]).fit(X, y)
    >>> model.alpha_
    0.001
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alphas": ["array-like", None],
        "select_by": [StrOptions({"loo", "gcv"})],
        "n_jobs": [None, Integral],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        alpha=1,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alphas=None,
        select_by="loo",
        n_jobs=None,
        normalize=False,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alphas = alphas
        self.select_by = select_by
        self.n_jobs = n_jobs
        self.normalize = normalize

    def _gram(self, X, Y=None):
        parameters = (self.gamma, self.degree, self.coef0, self.kernel_params)
        return gram(X, Y, self.kernel, *parameters, self.n_jobs, self.normalize)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the dual coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or the kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors.

        Returns
        -------
        self : object
        """
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=np.float64, order="C",
            multi_output=True, y_numeric=True,
        )  # fmt: skip
        if self.kernel == "precomputed":
            check_square(X)
        for name in ("alpha_", "dual_coefs_", "loo_errors_", "gcv_errors_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        alphas = self._check_alphas()
        weights = self._check_weights(sample_weight, X)
        with fit_steps(self, None, X, y) as steps, telling(steps):
            self._fit(X, y, alphas, weights)
        return self

    def _fit(self, X, y, alphas, weights):
        """Sets the coefficients; the kernel matrix and what is done with it are steps."""
        step = current_steps().begin("kernel matrix")
        K = np.array(self._gram(X), dtype=np.float64, order="C")
        step.end()
        targets = np.array(y, dtype=np.float64).reshape(len(K), -1)
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            K *= root
            K *= root.T
            targets = targets * root

        if alphas is None:
            coefficients = _solve(K, targets, self._penalties(targets.shape[1]))
        else:
            total = float(len(K) if weights is None else weights.sum())
            coefficients = self._choose(K, targets, alphas, total)
        if weights is not None:
            coefficients = coefficients * root
        single = np.ndim(y) == 1
        if alphas is not None:
            self.dual_coefs_ = coefficients[..., 0] if single else coefficients
            coefficients = coefficients[self._best]
            del self._best
        self.dual_coef_ = coefficients.ravel() if single else coefficients
        self.X_fit_ = X

    def _check_alphas(self):
        if self.alphas is None:
            return None
        alphas = np.asarray(self.alphas, dtype=np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (alphas > 0.0).all():
            raise ValueError(f"alphas must be a list of positive numbers, got {self.alphas!r}")
        return alphas

    def _check_weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        from fastml._validation import check_weights

        if isinstance(sample_weight, Real):
            sample_weight = np.full(X.shape[0], float(sample_weight))
        return check_weights(sample_weight, X, dtype=np.float64)

    def _penalties(self, n_targets: int):
        penalties = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if penalties.shape not in ((1,), (n_targets,)):
            raise ValueError(
                f"alpha must be one number or one for each of {n_targets} targets, "
                f"got shape {penalties.shape}"
            )
        return penalties

    def _choose(self, K, targets, alphas, total: float):
        """Coefficients for every penalty; sets the errors, ``alpha_`` and the best's index."""
        from fastml._engines.ridge_path import by_eigenvectors, by_generalised_validation

        exact = self.select_by == "loo"
        solve = by_eigenvectors if exact else by_generalised_validation
        step = current_steps().begin("path of penalties")
        coefficients, errors = solve(K, targets, alphas, total)
        step.end()
        self._best = int(errors.mean(axis=1).argmin())
        self.alpha_ = float(alphas[self._best])
        errors = errors[:, 0] if targets.shape[1] == 1 else errors
        setattr(self, "loo_errors_" if exact else "gcv_errors_", errors)
        return coefficients

    def predict(self, X):
        """Σ c_i k(x_i, x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=np.float64, order="C", reset=False
        )
        if len(self.dual_coef_) != self.X_fit_.shape[0]:
            raise ValueError(
                f"dual_coef_ of {type(self).__name__} was altered: it has "
                f"{len(self.dual_coef_)} rows, and there are {self.X_fit_.shape[0]} training rows"
            )
        return self._gram(X, self.X_fit_) @ self.dual_coef_


def _solve(K, targets, penalties):
    """(K + penalty I)⁻¹ targets, by Cholesky; least squares if that is singular. Destroys K."""
    if (penalties == penalties[0]).all():
        K.flat[:: len(K) + 1] += penalties[0]
        return _solve_symmetric(K, targets)
    found = np.empty_like(targets)
    for j, penalty in enumerate(penalties):
        shifted = K.copy()
        shifted.flat[:: len(K) + 1] += penalty
        found[:, j] = _solve_symmetric(shifted, targets[:, j : j + 1])[:, 0]
    return found


def _solve_symmetric(A, targets):
    """A⁻¹ targets by Cholesky, or least squares with a warning if A is nearly singular."""
    from scipy.linalg.lapack import dposv

    diagonal = A.diagonal().copy()
    if len(A) > AT_ONCE:
        factor, found, failure = cholesky_solve(A, targets)
    else:
        # A is symmetric: its transpose is in Fortran order, and LAPACK need not copy it.
        factor, found, failure = dposv(A.T, targets, lower=1)
    pivots = factor.diagonal()
    if failure == 0 and np.isfinite(found).all() and pivots.min() ** 2 > 1e-16 * pivots.max() ** 2:
        return found
    warnings.warn(
        "Singular matrix in solving dual problem. Using least-squares solution instead.",
        stacklevel=6,
    )
    if len(A) > AT_ONCE:  # the factor is where the lower triangle was
        A = np.triu(A, 1)
        A += A.T
        np.fill_diagonal(A, diagonal)
    return interruptible(np.linalg.lstsq, A, targets, rcond=None)[0]
