"""Factor analysis."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral import factors
from fastml._engines.spectral.operators import CentredRows, projected
from fastml._engines.spectral.scatter import scatter_of, spread_of
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, check_fitted, validate_data
from fastml.decomposition._docs import ENTRIES

SMALL = 1e-12
BEYOND_RANK, ROUNDING = 1e-14, 1e-32
"""Shares of the largest eigenvalue: below the first it is rounding, and the second is put there."""


@documented(ENTRIES)
class FactorAnalysis(
    CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Factor analysis: x = mean + W' z + noise, with noise of a variance of its own per column.

    z ~ N(0, I) has n_components entries. W and the variances ψ of the noise maximise the
    likelihood; given ψ, W comes from the eigenvectors of Ψ^(−½) C Ψ^(−½), so that rows are read
    once, for their covariance C (if there are as many rows as columns).

    Parameters
    ----------
    n_components : int, default=None
        How many; None: n_features.
    tol : float, default=1e-2
        Steps end when the log likelihood rises by less.
    copy : bool, default=True
        For scikit-learn's sake: X is never written to.
    max_iter : int, default=1000
        Most steps.
    noise_variance_init : array-like of shape (n_features,), default=None
        Variances of the noise to begin with; None: 1.
    svd_method : {'lapack', 'randomized'}, default='randomized'
        All eigenvectors, or the leading ones only (block Lanczos, as accurate).
    iterated_power : int, default=3
        For scikit-learn's sake: iterations end when they have converged.
    rotation : {'varimax', 'quartimax'}, default=None
        Rotation of the factors that makes loadings large or small.
    random_state : int or RandomState instance, default=0
        Of the vectors that 'randomized' begins with.
    {n_jobs}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        W: loadings of the factors in rows.
    loglike_ : list of shape (n_iter_,)
        Log likelihood after each step.
    noise_variance_ : ndarray of shape (n_features,)
        ψ.
    n_iter_ : int
        Steps taken.
    {mean_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    D. Barber, Bayesian reasoning and machine learning, algorithm 21.1.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.decomposition import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(500, 6))
    >>> FactorAnalysis(n_components=2).fit_transform(X).shape
    (500, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "copy": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "noise_variance_init": ["array-like", None],
        "svd_method": [StrOptions({"randomized", "lapack"})],
        "iterated_power": [Interval(Integral, 0, None, closed="left")],
        "rotation": [StrOptions({"varimax", "quartimax"}), None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        tol=1e-2,
        copy=True,
        max_iter=1000,
        noise_variance_init=None,
        svd_method="randomized",
        iterated_power=3,
        rotation=None,
        random_state=0,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.copy = copy
        self.tol = tol
        self.max_iter = max_iter
        self.svd_method = svd_method
        self.noise_variance_init = noise_variance_init
        self.iterated_power = iterated_power
        self.random_state = random_state
        self.rotation = rotation
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit loadings and noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        {y}

        Returns
        -------
        {self}
        """
        X = validate_data(self, X, dtype=np.float64)
        n, d = X.shape
        k = d if self.n_components is None else self.n_components
        if self.noise_variance_init is None:
            psi = np.ones(d)
        else:
            psi = np.array(self.noise_variance_init, dtype=np.float64)
            if len(psi) != d:
                raise ValueError(
                    "noise_variance_init dimension does not with number of features : "
                    f"{len(psi)} != {d}"
                )
        constant = d * np.log(2.0 * np.pi) + k
        k = min(k, n, d)  # there are no more
        spectrum, mean, variances = self._spectrum_of(X, k)
        log_likelihoods: list[float] = []
        before = -np.inf
        W = np.zeros((k, d))
        with fit_steps(self, self.max_iter, X) as steps:
            for _ in range(self.max_iter):
                step = steps.begin()
                root = np.sqrt(psi) + SMALL
                values, rows, left = spectrum(root)
                W = np.sqrt(np.maximum(values - 1.0, 0.0))[:, None] * rows * root
                most = values.max(initial=0.0)
                with np.errstate(divide="ignore"):
                    # The same beyond the rank every time, so that steps can be compared.
                    there = np.where(values > BEYOND_RANK * most, values, ROUNDING * most)
                    logs = np.log(there).sum()
                found = -0.5 * n * (constant + logs + left + np.log(psi).sum())
                log_likelihoods.append(float(found))
                # Infinite where rows are constant.
                if step.end() or found == before or found - before < self.tol:
                    break
                before = found
                psi = np.maximum(variances - (W**2).sum(axis=0), SMALL)
            else:
                warnings.warn(
                    "FactorAnalysis did not converge. You might want to increase the number of "
                    "iterations.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
        self.components_ = W if self.rotation is None else rotated(W, self.rotation)
        self.mean_, self.noise_variance_ = mean, psi
        self.loglike_, self.n_iter_ = log_likelihoods, len(log_likelihoods)
        return self

    def _spectrum_of(self, X, k):
        """(function of √ψ → eigenvalues, their vectors in rows, sum of the other eigenvalues)."""
        n, d = X.shape
        random = check_random_state(self.random_state)
        few = self.svd_method == "randomized"
        if d <= max(n, 500):
            scatter = scatter_of(X, n_jobs=self.n_jobs)
            C, mean = scatter.products / n, scatter.mean

            def of_columns(root):
                scaled = C / np.outer(root, root)
                values, rows = factors.eigenvectors(scaled, k if few else None, random)
                values = np.maximum(values[:k], 0.0)
                return values, factors.flipped(rows[:k]), np.trace(scaled) - values.sum()

            return of_columns, mean, np.diag(C).copy()
        spread = spread_of(X, n_jobs=self.n_jobs)
        centred = np.ascontiguousarray(X) - spread.mean

        def of_rows(root):
            A = CentredRows(centred / (root * np.sqrt(n)), None, n_jobs=self.n_jobs)
            if few and 3 * k < n:
                found = factors.leading(A, k, random_state=random, tol=1e-10)
            else:
                found = factors.by_singular_values(A)
            values = found.singular[:k] ** 2
            whole = np.einsum("ij,ij->", A.X, A.X)
            return values, found.rows[:k], whole - values.sum()

        return of_rows, spread.mean, spread.products / n

    def _check_state(self):
        check_is_fitted(self)
        d = self.n_features_in_
        check_fitted(self, "components_", self.components_, (len(self.components_), d))
        check_fitted(self, "noise_variance_", self.noise_variance_, (d,))
        check_fitted(self, "mean_", self.mean_, (d,))

    def transform(self, X):
        """Expected factors z of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        {projected}
        """
        self._check_state()
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        scaled = self.components_ / self.noise_variance_
        inner = np.eye(len(scaled)) + scaled @ self.components_.T
        return projected(X, np.linalg.solve(inner, scaled), self.mean_, n_jobs=self.n_jobs)

    def get_covariance(self):
        """W'W + Ψ.

        Returns
        -------
        cov : ndarray of shape (n_features, n_features)
        """
        self._check_state()
        cov = self.components_.T @ self.components_
        cov.flat[:: len(cov) + 1] += self.noise_variance_
        return cov

    def get_precision(self):
        """Its inverse.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
        """
        self._check_state()
        scaled = self.components_ / self.noise_variance_
        inner = np.eye(len(scaled)) + scaled @ self.components_.T
        precision = -(scaled.T @ np.linalg.solve(inner, scaled))
        precision.flat[:: len(precision) + 1] += 1.0 / self.noise_variance_
        return precision

    def score_samples(self, X):
        """Log density of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ll : ndarray of shape (n_samples,)
        """
        self._check_state()
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        off = np.ascontiguousarray(X) - self.mean_
        inner = np.eye(len(self.components_)) + (
            (self.components_ / self.noise_variance_) @ self.components_.T
        )
        log_det = np.linalg.slogdet(inner)[1] + np.log(self.noise_variance_).sum()
        squares = np.einsum("ij,ij->i", off, off @ self.get_precision())
        return -0.5 * (squares + X.shape[1] * np.log(2.0 * np.pi) + log_det)

    def score(self, X, y=None):
        """Mean log density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        {y}

        Returns
        -------
        ll : float
        """
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self):
        return self.components_.shape[0]


def rotated(W, method: str, tol: float = 1e-6, max_iter: int = 100):
    """Loadings W (factors × features) after the rotation whose fourth powers are largest."""
    loadings = W.T
    d = len(loadings)
    turn = np.eye(loadings.shape[1])
    before = 0.0
    for _ in range(max_iter):
        turned = loadings @ turn
        target = turned**3
        if method == "varimax":
            target = target - turned * ((turned**2).sum(axis=0) / d)
        left, singular, right = np.linalg.svd(loadings.T @ target)
        turn = left @ right
        now = float(singular.sum())
        if before != 0.0 and now < before * (1.0 + tol):
            break
        before = now
    return (loadings @ turn).T
