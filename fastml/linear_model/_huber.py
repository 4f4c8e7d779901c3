"""Huber's robust regression."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from fastml._docs import COMMON, documented
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.huber_scale import HuberObjective, minimise_huber
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, fit_context
from fastml._validation import FLOATS, check_sample_weight, validate_data
from fastml.linear_model._predictor import linear_predictor, warn_unless_converged
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY, Summarised


@documented(COMMON, {"keep_summary": KEEP_ENTRY})
class HuberRegressor(CallbackSupport, Summarised, RegressorMixin, BaseEstimator):
    """Linear regression that few outliers cannot sway.

    Minimises over weights w, intercept b and scale σ > 0

        Σ (σ + H((y − w · x − b) / σ) σ) + alpha \\|w\\|²

    with H(z) = z² for \\|z\\| ≤ epsilon and 2 epsilon \\|z\\| − epsilon² beyond (Huber, 1981; Owen,
    2006). Newton's method on all of them up to 300 columns, L-BFGS beyond.

    Parameters
    ----------
    epsilon : float, default=1.35
        Residuals of more than so many σ count linearly; at least 1.
    max_iter : int, default=100
        Most steps on all rows.
    alpha : float, default=0.0001
        Strength of the penalty.
    warm_start : bool, default=False
        Whether a further fit begins at the last solution.
    fit_intercept : bool, default=True
        Whether there is an intercept. It is never penalised.
    tol : float, default=1e-05
        The end: no entry of the objective's gradient is larger.
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        Intercept, 0 if there is none.
    scale_ : float
        The scale σ.
    n_iter_ : int
        Steps on all rows.
    outliers_ : ndarray of shape (n_samples,)
        Whether a row's residual is beyond epsilon σ.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.sin(7 * X[:, 0])
    >>> y[:2] = 500.0
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(1), int(model.outliers_.sum())
    (array([2.9]), 6)
    """

    _parameter_constraints: dict = {
        **KEEP,
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=100,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-05,
        n_jobs=None,
        keep_summary=False,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit weights, intercept and scale.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", y_numeric=True, dtype=FLOATS)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X)
        d = X.shape[1]
        objective = HuberObjective(
            SmoothDesign(X, self.n_jobs), self.epsilon, self.alpha, y, sample_weight,
            self.fit_intercept,
        )  # fmt: skip
        start = np.zeros(d + 1 + self.fit_intercept)
        start[-1] = 1.0
        if self.warm_start and hasattr(self, "coef_"):
            start[:d] = self.coef_
            start[-1] = self.scale_
            if self.fit_intercept:
                start[-2] = self.intercept_
        with fit_steps(self, None, X, y) as steps:

            def report(point) -> bool:
                return steps.begin().end(lambda: self._weights_of(point))

            report = report if steps.told else None
            found = minimise_huber(objective, start, self.tol, self.max_iter, report)
        if self.max_iter > 1:
            warn_unless_converged(self, found, self.tol)
        self.n_iter_ = found.n_iter
        for name, value in self._weights_of(found.w).items():
            setattr(self, name, value)
        residuals = np.abs(objective.y - objective.raw(found.w))
        self.outliers_ = residuals > self.scale_ * self.epsilon
        self._keep(X, y, sample_weight=sample_weight)
        return self

    def _weights_of(self, point) -> dict:
        """The free numbers as attributes."""
        return {
            "coef_": point[: self.n_features_in_].copy(),
            "intercept_": float(point[-2]) if self.fit_intercept else 0.0,
            "scale_": float(point[-1]),
        }

    def predict(self, X):
        """w · x + b of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
        """
        return linear_predictor(self, X)
