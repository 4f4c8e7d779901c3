"""Generalised linear models: Poisson, gamma and Tweedie distributions with an l2 penalty."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral, Real

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, RegressorMixin

from fastml._docs import COMMON, documented
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.in_blocks import (
    BlocksObjective,
    LossOfRows,
    minimise_in_blocks,
)
from fastml._engines.smooth_linear.objective import SmoothObjective
from fastml._engines.smooth_linear.offset import OffsetObjective
from fastml._engines.smooth_linear.solvers import lbfgs, minimise, newton
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import (
    FLOATS,
    check_array,
    check_is_fitted,
    check_sample_weight,
    check_weights,
    kernel_view,
    validate_data,
)
from fastml.kernels.losses import definitions
from fastml.linear_model._base import MANY_VALUES
from fastml.linear_model._blocks import block_target_sums, both_sums, refuse_summary
from fastml.linear_model._predictor import linear_predictor, warn_unless_converged
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY, Summarised

ENTRIES = {
    **COMMON,
    "parameters": """
        alpha : float, default=1.0
            Strength of the penalty; 0 is none.
        fit_intercept : bool, default=True
            Whether there is an intercept. It is never penalised.
        solver : {'lbfgs', 'newton-cholesky'}, default='lbfgs'
            Taken for scikit-learn's sake: the problem is the same, and Newton's method solves it
            up to 300 columns, L-BFGS beyond.
        max_iter : int, default=100
            Most steps on all rows.
        tol : float, default=1e-4
            The end: no entry of the objective's gradient is larger.
        warm_start : bool, default=False
            Whether a further fit begins at the last solution.
        verbose : int, default=0
            If positive, each step is printed.
    """,
    "keep_summary": KEEP_ENTRY,
    "attributes": """
        coef_ : ndarray of shape (n_features,)
            Weights.
        intercept_ : float
            Intercept, 0 if there is none.
        n_iter_ : int
            Steps on all rows.
        n_features_in_ : int
            Number of features seen during fit.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of features seen during fit, where ``X`` has names that are all strings.
    """,
}


def check_offset(offset, n: int):
    """Offsets of n rows in float64; None if there are none."""
    if offset is None:
        return None
    offset = check_array(offset, ensure_2d=False, dtype=np.float64)
    if offset.shape != (n,):
        raise ValueError(f"offset must have shape ({n},), got {offset.shape}")
    return offset


class GeneralizedLinearBase(CallbackSupport, Summarised, RegressorMixin, BaseEstimator):
    """What the three share; a subclass says its power, link and scikit-learn's name of the loss."""

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"lbfgs", "newton-cholesky"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
        **KEEP,
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
        keep_summary=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.keep_summary = keep_summary

    def _distribution(self) -> tuple[str, float, bool]:
        """(name of the loss, power, whether the link is the logarithm)."""
        raise NotImplementedError

    def _loss(self) -> tuple[int, float]:
        """(code, parameter) of the loss."""
        _, power, log_link = self._distribution()
        if log_link:
            codes = {1.0: definitions.POISSON, 2.0: definitions.GAMMA}
            return codes.get(power, definitions.TWEEDIE_LOG), power
        return (definitions.SQUARED if power == 0.0 else definitions.TWEEDIE_IDENTITY), power

    def _in_range(self, y) -> bool:
        power = self._distribution()[1]
        if power <= 0.0:
            return True
        return bool(np.all(np.asarray(y) >= 0.0 if power < 2.0 else np.asarray(y) > 0.0))

    def _check_range(self, y) -> None:
        if not self._in_range(y):
            raise ValueError(
                "Some value(s) of y are out of the valid range of the loss "
                f"{self._distribution()[0]!r}."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with suppress(ValueError, AttributeError, TypeError):  # a parameter that fit refuses
            tags.target_tags.positive_only = not self._in_range(-1.0)
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, offset=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: how often a row was seen (frequency), or what divides its variance
            (exposure of a mean, say). The fit is the same; the errors of `summary` are not
            (``weight_kind``), and those kept are of the second kind.
        offset : array-like of shape (n_samples,), default=None
            Added to w · x + b with a weight of 1: log exposure of counts, say.

        Returns
        -------
        self : object
        """
        later = isinstance(X, np.ndarray) and X.size > MANY_VALUES  # NaN shows in the gradient
        X, y = validate_data(
            self, X, y, accept_sparse=("csc", "csr"), dtype=FLOATS, y_numeric=True,
            ensure_all_finite=not later,
        )  # fmt: skip
        y = check_array(y, dtype=X.dtype, order="C", ensure_2d=False)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X, dtype=X.dtype)
        self._check_range(y)
        shift = check_offset(offset, X.shape[0])

        described = (
            SmoothDesign(X, self.n_jobs), *self._loss(), y, sample_weight, self.alpha,
            self.fit_intercept,
        )  # fmt: skip
        objective = (
            SmoothObjective(*described) if shift is None else OffsetObjective(*described, shift)
        )
        start = np.zeros(objective.n_free)
        if self.warm_start and hasattr(self, "coef_"):
            start[: X.shape[1]] = self.coef_
            if self.fit_intercept:
                start[-1] = self.intercept_
        elif self.fit_intercept:
            start[-1] = self._level(y, sample_weight, shift)
        try:
            with fit_steps(self, None, X, y) as steps:

                def report(step: int, value: float, gradient: float, w) -> bool:
                    self._report(step, value, gradient, w)
                    return steps.begin().end(lambda: self._weights_of(w, X))

                found = minimise(objective, start, self.tol, self.max_iter, report=report)
        except np.linalg.LinAlgError:  # NaN, or squares that overflow
            validate_data(self, X, dtype=FLOATS, reset=False)
            found = lbfgs(objective, start, self.tol, self.max_iter, None)
        if later and not (np.isfinite(found.gradient) and np.isfinite(found.w).all()):
            validate_data(self, X, dtype=FLOATS, reset=False)
        warn_unless_converged(self, found, self.tol)
        self.n_iter_ = found.n_iter
        for name, value in self._weights_of(found.w, X).items():
            setattr(self, name, value)
        self._keep(X, y, sample_weight=sample_weight, offset=shift)
        return self

    def _weights_of(self, w, X) -> dict:
        """The free numbers as attributes."""
        w = w.astype(X.dtype, copy=False)
        return {
            "coef_": w[: X.shape[1]].copy(),
            "intercept_": w[-1] if self.fit_intercept else 0.0,
        }

    def _fit_blocks(self, passes):
        refuse_summary(self)
        passes.need_target()
        total, weighted, low = passes.reduced(block_target_sums, both_sums, name="targets")
        self._check_range(low)
        objective = BlocksObjective(
            passes, LossOfRows(*self._loss(), self.fit_intercept), total, self.alpha
        )
        start = np.zeros(objective.n_free)
        if self.fit_intercept:
            mean = weighted / total
            start[-1] = np.log(mean) if self._distribution()[2] else mean
        found, _ = minimise_in_blocks(objective, start, 0.0, self.tol, self.max_iter)
        warn_unless_converged(self, found, self.tol)
        self.n_iter_ = found.n_iter
        w = found.w.astype(passes.dtype, copy=False)
        self.coef_ = w[: passes.n_features].copy()
        self.intercept_ = w[-1] if self.fit_intercept else 0.0

    def _level(self, y, weights, offset) -> float:
        """The intercept to begin with: the best without weights, up to the offsets' spread."""
        mean = float(np.average(y, weights=weights))
        if offset is None:
            return float(np.log(mean)) if self._distribution()[2] else mean
        if not self._distribution()[2]:
            return mean - float(np.average(offset, weights=weights))
        highest = float(offset.max())
        spread = float(np.average(np.exp(offset - highest), weights=weights))
        return float(np.log(mean / spread)) - highest

    def _report(self, step: int, value: float, gradient: float, w) -> None:
        if self.verbose:
            print(f"step {step}: objective {value:.10g}, gradient {gradient:.3g}")  # noqa: T201

    def predict(self, X, *, offset=None):
        """Expected targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,), default=None
            Added to w · x + b.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
        """
        raw = self._raw(X, offset)
        return np.exp(raw) if self._distribution()[2] else raw

    def _raw(self, X, offset):
        raw = linear_predictor(self, X)
        shift = check_offset(offset, len(raw))
        return raw if shift is None else raw + shift

    def score(self, X, y, sample_weight=None, *, offset=None):
        """D² = 1 − deviance / deviance of the best constant (beside the offset).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,), default=None
            Added to w · x + b.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        raw = np.asarray(self._raw(X, offset), dtype=np.float64)
        y = check_array(y, dtype=np.float64, order="C", ensure_2d=False)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        self._check_range(y)
        constant = self._best_constant(y, sample_weight, check_offset(offset, len(y)))
        least = np.average(self._saturated(y), weights=sample_weight)
        own = self._mean_loss(y, raw, sample_weight) - least
        null = self._mean_loss(y, constant, sample_weight) - least
        return float(1.0 - own / null)

    def _best_constant(self, y, weights, offset):
        """Raw predictions of the best model without columns."""
        level = self._level(y, weights, offset)
        if offset is None:
            return np.full(len(y), level)
        design = SmoothDesign(np.zeros((len(y), 1)), self.n_jobs)
        objective = OffsetObjective(design, *self._loss(), y, weights, 1.0, True, offset)
        start = np.array([0.0, level])
        found = newton(objective, start, 1e-12 * max(1.0, float(np.abs(y).mean())), 100, None, None)
        return found[0].w[-1] + offset

    def _mean_loss(self, y, raw, weights) -> float:
        values, slopes, curvatures = np.empty((3, len(y)))
        rows = kernel_view(y), kernel_view(raw)
        definitions.loss_of_each(*self._loss(), *rows, values, slopes, curvatures)
        return float(np.average(values, weights=weights))

    def _saturated(self, y):
        """The loss of predictions that are the targets."""
        code, power = self._loss()
        if code == definitions.SQUARED:
            return np.zeros_like(y)
        if power == 0.0:
            return -0.5 * y**2
        if power == 1.0:
            return y - xlogy(y, y)
        if power == 2.0:
            return np.log(y) + 1.0
        return np.maximum(y, 0.0) ** (2.0 - power) * (1.0 / (2.0 - power) - 1.0 / (1.0 - power))


@documented(ENTRIES)
class PoissonRegressor(GeneralizedLinearBase):
    """Poisson regression: counts with mean exp(w · x + b).

    Minimises the mean of μ − y log μ, which is half the deviance up to a constant, plus
    ½ alpha \\|w\\|², with μ = exp(w · x + b).

    Parameters
    ----------
    {parameters}
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from fastml.linear_model import PoissonRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = PoissonRegressor().fit(X, [12, 17, 22, 21])
    >>> model.predict([[1, 1], [3, 4]]).round(1)
    array([10.7, 21.9])
    """

    def _distribution(self):
        return "HalfPoissonLoss", 1.0, True


@documented(ENTRIES)
class GammaRegressor(GeneralizedLinearBase):
    """Gamma regression: positive amounts with mean exp(w · x + b).

    Minimises the mean of log μ + y / μ, which is half the deviance up to a constant, plus
    ½ alpha \\|w\\|², with μ = exp(w · x + b).

    Parameters
    ----------
    {parameters}
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from fastml.linear_model import GammaRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = GammaRegressor().fit(X, [19, 26, 33, 30])
    >>> model.predict([[1, 0], [2, 8]]).round(1)
    array([19.5, 35.8])
    """

    def _distribution(self):
        return "HalfGammaLoss", 2.0, True


@documented(ENTRIES)
class TweedieRegressor(GeneralizedLinearBase):
    """Generalised linear model whose variance is proportional to a power of its mean.

    Minimises the mean of μ^(2−p) / (2−p) − y μ^(1−p) / (1−p), half the deviance up to a constant,
    plus ½ alpha \\|w\\|². The power p is 0 for the normal, 1 for the Poisson, 2 for the gamma and 3
    for the inverse Gaussian distribution; between 1 and 2 lie sums of a random number of gamma
    variables, which may be 0.

    Parameters
    ----------
    power : float, default=0
        The power p.
    {parameters}
    link : {'auto', 'identity', 'log'}, default='auto'
        μ = w · x + b or its exponential; 'auto' is the former for powers up to 0.
    {n_jobs}
    {keep_summary}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from fastml.linear_model import TweedieRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = TweedieRegressor().fit(X, [2, 3.5, 5, 5.5])
    >>> model.predict([[1, 1], [3, 4]]).round(1)
    array([2.5, 4.6])
    """

    _parameter_constraints: dict = {
        **GeneralizedLinearBase._parameter_constraints,
        "power": [Interval(Real, None, None, closed="neither")],
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power=0.0,
        alpha=1.0,
        fit_intercept=True,
        link="auto",
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
        keep_summary=False,
    ):
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
            n_jobs=n_jobs,
            keep_summary=keep_summary,
        )
        self.power = power
        self.link = link

    def _distribution(self):
        log_link = self.power > 0 if self.link == "auto" else self.link == "log"
        name = "HalfTweedieLoss" if log_link else "HalfTweedieLossIdentity"
        return name, float(self.power), log_link
