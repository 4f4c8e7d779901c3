"""Ridge regressions whose penalties maximise the evidence: one for all weights, or one for each."""

from __future__ import annotations

from math import log
from numbers import Integral, Real

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, RegressorMixin

from fastml._docs import COMMON, documented
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, fit_context
from fastml._validation import FLOATS, check_sample_weight, validate_data
from fastml.linear_model._predictor import linear_predictor
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY, Summarised

ENTRIES = {
    **COMMON,
    "parameters": """
        max_iter : int, default=300
            Most steps.
        tol : float, default=1e-3
            The end: the weights change by less, summed over all.
        alpha_1 : float, default=1e-6
            Shape of the gamma prior of alpha.
        alpha_2 : float, default=1e-6
            Rate of the gamma prior of alpha.
        lambda_1 : float, default=1e-6
            Shape of the gamma prior of lambda.
        lambda_2 : float, default=1e-6
            Rate of the gamma prior of lambda.
    """,
    "further": """
        fit_intercept : bool, default=True
            Whether there is an intercept. It is never penalised.
        copy_X : bool, default=True
            Taken for scikit-learn's sake: X is never overwritten.
        verbose : bool, default=False
            Whether to say when the steps end.
    """,
    "attributes": """
        coef_ : ndarray of shape (n_features,)
            Means of the weights.
        intercept_ : float
            Intercept, 0 if there is none.
        alpha_ : float
            Precision of the noise.
        n_iter_ : int
            Steps.
        X_offset_ : ndarray of shape (n_features,)
            Means of the columns, 0 without intercept.
        X_scale_ : ndarray of shape (n_features,)
            Ones.
    """,
}
TINY = np.finfo(np.float64).eps


class EvidenceBase(CallbackSupport, Summarised, RegressorMixin, BaseEstimator):
    """Centring, predictions and their standard deviations."""

    def _centre(self, X, y, weights):
        """X and y with zero mean and, if there are weights, times the roots of those."""
        dtype = X.dtype
        d = X.shape[1]
        if self.fit_intercept:
            self.X_offset_ = np.average(X, axis=0, weights=weights).astype(dtype)
            y_offset = dtype.type(np.average(y, weights=weights))
        else:
            self.X_offset_, y_offset = np.zeros(d, dtype=dtype), dtype.type(0)
        self.X_scale_ = np.ones(d, dtype=dtype)
        X, y = X - self.X_offset_, (y - y_offset).astype(dtype)
        if weights is not None:
            roots = np.sqrt(weights)
            X *= roots[:, None]
            y = y * roots
        return X, y, y_offset

    def _set_intercept(self, y_offset) -> None:
        if self.fit_intercept:
            self.intercept_ = y_offset - self.X_offset_ @ self.coef_.astype(self.X_offset_.dtype)
        else:
            self.intercept_ = 0.0

    def _kept(self):
        """Which weights have a variance."""
        return np.ones(len(self.coef_), dtype=bool)

    def predict(self, X, return_std=False):
        """Means of the predictive distribution, and its standard deviations if asked for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
        y_std : ndarray of shape (n_samples,)
            Only with ``return_std``.
        """
        mean = linear_predictor(self, X)
        if not return_std:
            return mean
        X = validate_data(self, X, dtype=FLOATS, order="C", reset=False)
        X = (X - self.X_offset_)[:, self._kept()]
        variance = np.einsum("ij,ij->i", X @ self.sigma_, X)
        return mean, np.sqrt(variance + 1.0 / self.alpha_)


@documented(ENTRIES, {"keep_summary": KEEP_ENTRY})
class BayesianRidge(EvidenceBase):
    """Ridge regression with the penalty of greatest evidence.

    y is normal with mean w · x + b and precision alpha, w normal with mean 0 and precision lambda;
    alpha and lambda have gamma priors and are found by MacKay's (1992) steps

        lambda = (gamma + 2 lambda_1) / (\\|w\\|² + 2 lambda_2),
        alpha = (n − gamma + 2 alpha_1) / (\\|y − X w\\|² + 2 alpha_2),

    gamma = Σ alpha s_i / (lambda + alpha s_i) with the eigenvalues s_i of X'X, which are found
    once: from X'X where there are more rows than columns, else from X.

    Parameters
    ----------
    {parameters}
    alpha_init : float, default=None
        alpha to begin with; None is one over the variance of y.
    lambda_init : float, default=None
        lambda to begin with; None is 1.
    compute_score : bool, default=False
        Whether to keep the log evidence of each step.
    {further}
    {keep_summary}

    Attributes
    ----------
    {attributes}
    lambda_ : float
        Precision of the weights.
    sigma_ : ndarray of shape (n_features, n_features)
        Covariance of the weights.
    scores_ : ndarray of shape (n_iter_ + 1,)
        Log evidence before each step and at the end, if asked for.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.linear_model import BayesianRidge
    >>> BayesianRidge().fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2]).predict([[1, 1]]).round(3)
    array([1.])
    """

    _parameter_constraints: dict = {
        **KEEP,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "alpha_1": [Interval(Real, 0, None, closed="left")],
        "alpha_2": [Interval(Real, 0, None, closed="left")],
        "lambda_1": [Interval(Real, 0, None, closed="left")],
        "lambda_2": [Interval(Real, 0, None, closed="left")],
        "alpha_init": [None, Interval(Real, 0, None, closed="left")],
        "lambda_init": [None, Interval(Real, 0, None, closed="left")],
        "compute_score": ["boolean"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        max_iter=300,
        tol=1.0e-3,
        alpha_1=1.0e-6,
        alpha_2=1.0e-6,
        lambda_1=1.0e-6,
        lambda_2=1.0e-6,
        alpha_init=None,
        lambda_init=None,
        compute_score=False,
        fit_intercept=True,
        copy_X=True,
        verbose=False,
        keep_summary=False,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit weights and precisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, order="C", y_numeric=True)
        dtype = X.dtype
        n, d = X.shape
        total, variance = n, y.var()
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=dtype)
            total = sample_weight.sum()
            variance = np.average(
                (y - np.average(y, weights=sample_weight)) ** 2, weights=sample_weight
            )
        given = X, y
        given = X, y
        X, y, y_offset = self._centre(X, y, sample_weight)
        vectors, eigenvalues = _spectrum(X)
        rank = min(n, d)
        products = X.T @ y
        along = vectors[:, :rank].T @ products
        alpha = 1.0 / (variance + TINY) if self.alpha_init is None else self.alpha_init
        alpha = np.asarray(alpha, dtype=dtype)
        lambda_ = np.asarray(1.0 if self.lambda_init is None else self.lambda_init, dtype=dtype)

        def weights_and_error(alpha, lambda_):
            w = vectors[:, :rank] @ (along / (eigenvalues[:rank] + lambda_ / alpha))
            rest = y - X @ w
            return w, np.sum(rest**2)

        scores: list = []
        before = None
        own = eigenvalues[:rank]
        with fit_steps(self, self.max_iter, *given) as steps:
            for n_iter in range(1, self.max_iter + 1):
                step = steps.begin()
                w, error = weights_and_error(alpha, lambda_)
                if self.compute_score:
                    scores.append(self._evidence(total, eigenvalues, alpha, lambda_, w, error))
                gamma = np.sum(alpha * own / (lambda_ + alpha * own))
                lambda_ = (gamma + 2 * self.lambda_1) / (np.sum(w**2) + 2 * self.lambda_2)
                alpha = (total - gamma + 2 * self.alpha_1) / (error + 2 * self.alpha_2)
                converged = before is not None and np.sum(np.abs(before - w)) < self.tol
                if converged and self.verbose:
                    print("Convergence after ", str(n_iter - 1), " iterations")  # noqa: T201
                if step.end() or converged:
                    break
                before = w
        self.n_iter_ = n_iter
        self.alpha_, self.lambda_ = alpha, lambda_
        self.coef_, error = weights_and_error(alpha, lambda_)
        if self.compute_score:
            scores.append(self._evidence(total, eigenvalues, alpha, lambda_, self.coef_, error))
            self.scores_ = np.array(scores)
        else:
            self.scores_ = []
        self.sigma_ = (vectors / (alpha * eigenvalues + lambda_)) @ vectors.T
        self._set_intercept(y_offset)
        self._keep(*given, sample_weight=sample_weight)
        return self

    def _evidence(self, total, eigenvalues, alpha, lambda_, w, error) -> float:
        """Log marginal likelihood, with the priors of alpha and lambda."""
        determinant = -np.sum(np.log(lambda_ + alpha * eigenvalues))
        score = self.lambda_1 * log(lambda_) - self.lambda_2 * lambda_
        score += self.alpha_1 * log(alpha) - self.alpha_2 * alpha
        return score + 0.5 * (
            len(w) * log(lambda_)
            + total * log(alpha)
            - alpha * error
            - lambda_ * np.sum(w**2)
            + determinant
            - total * log(2 * np.pi)
        )


def _spectrum(X):
    """Eigenvectors (columns) and eigenvalues of X'X, the greatest first."""
    n, d = X.shape
    if n > d:
        values, vectors = linalg.eigh(X.T @ X)
        return vectors[:, ::-1], np.maximum(values[::-1], 0.0)
    _, roots, lines = linalg.svd(X, full_matrices=True)
    values = np.zeros(d, dtype=X.dtype)
    values[: len(roots)] = roots**2
    return lines.T, values


@documented(ENTRIES, {"keep_summary": KEEP_ENTRY})
class ARDRegression(EvidenceBase):
    """Regression in which each weight has a precision of its own, and most weights vanish.

    y is normal with mean w · x + b and precision alpha, w_j normal with mean 0 and precision
    lambda_j; all precisions have gamma priors and are found by MacKay's (1992) steps. Weights whose
    precision passes a threshold are set to zero (automatic relevance determination).

    Parameters
    ----------
    {parameters}
    compute_score : bool, default=False
        Whether to keep the objective of each step.
    threshold_lambda : float, default=1e4
        Weights of greater precision are dropped.
    {further}
    {keep_summary}

    Attributes
    ----------
    {attributes}
    lambda_ : ndarray of shape (n_features,)
        Precisions of the weights.
    sigma_ : ndarray of shape (n_kept, n_kept)
        Covariance of the weights that are not dropped.
    scores_ : list
        Objective of each step, if asked for.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.linear_model import ARDRegression
    >>> ARDRegression().fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2]).predict([[1, 1]]).round(3)
    array([1.])
    """

    _parameter_constraints: dict = {
        **KEEP,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "alpha_1": [Interval(Real, 0, None, closed="left")],
        "alpha_2": [Interval(Real, 0, None, closed="left")],
        "lambda_1": [Interval(Real, 0, None, closed="left")],
        "lambda_2": [Interval(Real, 0, None, closed="left")],
        "compute_score": ["boolean"],
        "threshold_lambda": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        max_iter=300,
        tol=1.0e-3,
        alpha_1=1.0e-6,
        alpha_2=1.0e-6,
        lambda_1=1.0e-6,
        lambda_2=1.0e-6,
        compute_score=False,
        threshold_lambda=1.0e4,
        fit_intercept=True,
        copy_X=True,
        verbose=False,
        keep_summary=False,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.compute_score = compute_score
        self.threshold_lambda = threshold_lambda
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Fit weights and precisions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
        """
        X, y = validate_data(
            self, X, y, dtype=FLOATS, order="C", y_numeric=True, ensure_min_samples=2
        )
        dtype = X.dtype
        n, d = X.shape
        given = X, y
        given = X, y
        X, y, y_offset = self._centre(X, y, None)
        products = X.T @ y
        gram = X.T @ X if n >= d else None
        alpha = np.asarray(1.0 / (np.var(y) + TINY), dtype=dtype)
        lambda_ = np.ones(d, dtype=dtype)
        keep = np.ones(d, dtype=bool)
        w = np.zeros(d, dtype=dtype)
        self.scores_ = []
        before = None

        def covariance():
            if gram is None:
                return _woodbury(X[:, keep], alpha, lambda_[keep])
            inverse = alpha * gram[np.ix_(keep, keep)]
            inverse.flat[:: len(inverse) + 1] += lambda_[keep]
            return linalg.pinvh(inverse)

        with fit_steps(self, self.max_iter, *given) as steps:
            for n_iter in range(1, self.max_iter + 1):
                step = steps.begin()
                sigma = covariance()
                w[keep] = alpha * (sigma @ products[keep])
                rest = y - X @ w
                error = np.sum(rest**2)
                gamma = 1.0 - lambda_[keep] * np.diag(sigma)
                lambda_[keep] = (gamma + 2.0 * self.lambda_1) / (w[keep] ** 2 + 2.0 * self.lambda_2)
                alpha = (n - gamma.sum() + 2.0 * self.alpha_1) / (error + 2.0 * self.alpha_2)
                keep = lambda_ < self.threshold_lambda
                w[~keep] = 0
                if self.compute_score:
                    self.scores_.append(self._objective(n, alpha, lambda_, w, error, sigma))
                converged = before is not None and np.sum(np.abs(before - w)) < self.tol
                if converged and self.verbose:
                    print(f"Converged after {n_iter - 1} iterations")  # noqa: T201
                before = w.copy()
                if step.end() or converged or not keep.any():
                    break
        self.n_iter_ = n_iter
        sigma = np.empty((0, 0))
        if keep.any():
            sigma = covariance()
            w[keep] = alpha * (sigma @ products[keep])
        self.coef_, self.alpha_, self.sigma_, self.lambda_ = w, alpha, sigma, lambda_
        self._set_intercept(y_offset)
        self._keep(*given)
        return self

    def _kept(self):
        return self.lambda_ < self.threshold_lambda

    def _objective(self, n, alpha, lambda_, w, error, sigma) -> float:
        sign, determinant = np.linalg.slogdet(sigma)
        score = (self.lambda_1 * np.log(lambda_) - self.lambda_2 * lambda_).sum()
        score += self.alpha_1 * log(alpha) - self.alpha_2 * alpha
        determinant = determinant if sign > 0 else -np.inf
        score += 0.5 * (determinant + n * log(alpha) + np.sum(np.log(lambda_)))
        return float(score - 0.5 * (alpha * error + (lambda_ * w**2).sum()))


def _woodbury(X, alpha, lambda_):
    """(diag(lambda) + alpha X'X)⁻¹ by a matrix of the size of the rows."""
    scaled = X / lambda_
    middle = linalg.pinvh(np.eye(len(X), dtype=X.dtype) / alpha + scaled @ X.T)
    sigma = -scaled.T @ (middle @ scaled)
    sigma.flat[:: len(sigma) + 1] += 1.0 / lambda_
    return sigma
