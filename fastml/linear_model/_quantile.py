"""Quantile regression and least absolute deviations."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from fastml._docs import COMMON, documented
from fastml._engines.pinball import minimise_pinball
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._progress import CallbackSupport, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, check_weights, validate_data
from fastml.linear_model._predictor import linear_predictor
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY, Summarised

SOLVERS = ("highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex")


class PinballBase(CallbackSupport, Summarised, RegressorMixin, BaseEstimator):
    """What quantile regression and least absolute deviations share."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _level(self) -> float:
        raise NotImplementedError

    def _strength(self) -> float:
        """Of the penalty, beside the mean pinball loss."""
        return float(self.alpha)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

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
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc", "coo"), dtype=FLOATS, y_numeric=True
        )
        self._check_solver(X)
        weights = check_weights(sample_weight, X, dtype=np.float64)
        penalty = float(weights.sum()) * self._strength()
        if not weights.all():
            inside = weights != 0.0
            X = X.tocsr() if sp.issparse(X) else X
            X, y, weights = X[inside], y[inside], weights[inside]
        design = SmoothDesign(X, self.n_jobs)
        with fit_steps(self, None, X, y) as steps, telling(steps):
            found = minimise_pinball(
                design, y.astype(np.float64), weights, self._level(), penalty, self.fit_intercept
            )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not reach the minimum: its objective is within "
                f"{found.gap:.2g} of the least per unit of the largest target. Scale the columns "
                "of X, or leave out those that depend on others",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = found.n_iter
        self.coef_ = found.w[: X.shape[1]].copy()
        self.intercept_ = float(found.w[-1]) if self.fit_intercept else 0.0
        self._keep(X, y, sample_weight=weights)
        return self

    def _check_solver(self, X) -> None:
        """Names of solvers are scikit-learn's affair."""

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


@documented(COMMON, {"keep_summary": KEEP_ENTRY})
class QuantileRegressor(PinballBase):
    """Linear regression of a conditional quantile.

    Minimises the mean pinball loss plus alpha \\|w\\|₁, where the loss of a residual
    r = y − w · x − b is quantile · r above zero and (quantile − 1) r below. An interior point
    method on the rows themselves, without the linear programme's matrix, ends at a vertex: the
    minimum is exact.

    Parameters
    ----------
    quantile : float, default=0.5
        Share of the targets that lies below the fit; between 0 and 1.
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept. It is never penalised.
    solver : {'highs-ds', 'highs-ipm', 'highs', 'interior-point', 'revised simplex'}, \
default='highs'
        Taken for scikit-learn's sake: the minimum is the same.
    solver_options : dict, default=None
        Likewise.
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        Intercept, 0 if there is none.
    n_iter_ : int
        Steps of the interior point method and from vertex to vertex.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import QuantileRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> model = QuantileRegressor(quantile=0.8, alpha=0).fit(X, 2 * X[:, 0] + [0, 1] * 5)
    >>> model.predict(X[:3]).round(1)
    array([1., 3., 5.])
    """

    _parameter_constraints: dict = {
        **KEEP,
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "solver_options": [dict, None],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        quantile=0.5,
        alpha=1.0,
        fit_intercept=True,
        solver="highs",
        solver_options=None,
        n_jobs=None,
        keep_summary=False,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.n_jobs = n_jobs
        self.keep_summary = keep_summary

    def _level(self) -> float:
        return float(self.quantile)

    def _check_solver(self, X) -> None:
        if self.solver == "interior-point":
            raise ValueError("Solver interior-point is not anymore available in SciPy >= 1.11.0.")
        if sp.issparse(X) and self.solver == "revised simplex":
            raise ValueError(
                f"Solver {self.solver} does not support sparse X. Use solver 'highs' for example."
            )


@documented(COMMON, {"keep_summary": KEEP_ENTRY})
class LeastAbsoluteDeviations(PinballBase):
    """Linear regression that minimises the mean absolute residual: robust, exact.

    Minimises mean \\|y − w · x − b\\| + alpha \\|w\\|₁: the regression of the conditional median,
    `QuantileRegressor` with quantile ½ and alpha / 2.

    Parameters
    ----------
    alpha : float, default=0.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept. It is never penalised.
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        Intercept, 0 if there is none.
    n_iter_ : int
        Steps of the interior point method and from vertex to vertex.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LeastAbsoluteDeviations
    >>> X = np.arange(9.0)[:, None]
    >>> y = 2 * X[:, 0] + 1
    >>> y[3] = 1000.0
    >>> model = LeastAbsoluteDeviations().fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.]), 1.0)
    """

    _parameter_constraints: dict = {
        **KEEP,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        alpha=0.0,
        fit_intercept=True,
        n_jobs=None,
        keep_summary=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.keep_summary = keep_summary

    def _level(self) -> float:
        return 0.5

    def _strength(self) -> float:
        return 0.5 * self.alpha
