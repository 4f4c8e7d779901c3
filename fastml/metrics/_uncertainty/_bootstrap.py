"""Bootstrap of a metric on given predictions: nothing is fitted again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions, validate_params
from fastml._validation import check_choice
from fastml.metrics._uncertainty._gather import Loop, Truth, draws_of
from fastml.metrics._uncertainty._measures import BY_FUNCTION, MEASURES, canonical

METHODS = ("percentile", "basic", "bca")
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class BootstrapResult:
    """A metric, how it varies among resamples, and intervals for it.

    Attributes
    ----------
    metric : str
        Its name.
    estimate : float
        The metric of the data themselves.
    mean, standard_deviation : float
        Of the resamples.
    low, high : float
        The interval that was asked for.
    confidence_level : float
        Its level.
    method : str
        Its method.
    n_undefined : int
        Resamples for which the metric has no value; they are left out.
    distribution : ndarray of shape (n_resamples,)
        The metric of every resample.

    Examples
    --------
    >>> from fastml.metrics import bootstrap_metric
    >>> found = bootstrap_metric("accuracy", [0, 1] * 50, [0, 1, 1, 1] * 25, random_state=0)
    >>> found.low < found.estimate < found.high
    True
    """

    metric: str
    estimate: float
    mean: float
    standard_deviation: float
    low: float
    high: float
    confidence_level: float
    method: str
    n_undefined: int
    distribution: NDArray = field(repr=False)
    _influence: Callable[[], NDArray] = field(repr=False, compare=False)
    _strata: NDArray = field(repr=False, compare=False)

    @property
    def bias(self) -> float:
        """How far the mean of the resamples is from the estimate."""
        return self.mean - self.estimate

    def interval(self, method: str = "percentile", confidence_level: float | None = None):
        """Bounds of the metric by another method, or at another level.

        Parameters
        ----------
        method : {"percentile", "basic", "bca"}, default="percentile"
            Quantiles of the resamples; the same reflected at the estimate; quantiles corrected for
            bias and acceleration, by leaving out each unit in turn (Efron, 1987).
        confidence_level : float, default=None
            None takes the one of the call.

        Returns
        -------
        low, high : float
        """
        check_choice("method", method, METHODS)
        level = self.confidence_level if confidence_level is None else confidence_level
        return _interval(
            self.distribution, self.estimate, method, level, self._influence, self._strata
        )


@dataclass(frozen=True)
class BootstrapComparison:
    """A metric of two models on the same resamples.

    Attributes
    ----------
    first, second : BootstrapResult
        Of either model.
    difference : BootstrapResult
        Of the first less the second.
    p_value : float
        How often the difference is on the other side of 0, twice if two-sided.
    alternative : str
        What would speak against equality.
    meaning : str
        A sentence.

    Examples
    --------
    >>> from fastml.metrics import bootstrap_metric
    >>> y, a, b = [0, 1] * 50, [0, 1] * 48 + [1, 0] * 2, [0, 1, 1, 1] * 25
    >>> found = bootstrap_metric("accuracy", y, a, other=b, random_state=0)
    >>> found.p_value < 0.05
    True
    """

    first: BootstrapResult
    second: BootstrapResult
    difference: BootstrapResult
    p_value: float
    alternative: str
    meaning: str


@validate_params(
    {
        "metric": [str, callable],
        "y_true": ["array-like"],
        "y_pred": ["array-like"],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "other": ["array-like", None],
        "sample_weight": ["array-like", None],
        "stratify": ["boolean", "array-like"],
        "groups": ["array-like", None],
        "pos_label": "no_validation",
        "method": [StrOptions(set(METHODS))],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "alternative": [StrOptions(set(ALTERNATIVES))],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def bootstrap_metric(
    metric,
    y_true,
    y_pred,
    n_resamples=1000,
    *,
    other=None,
    sample_weight=None,
    stratify=False,
    groups=None,
    pos_label=None,
    method="percentile",
    confidence_level=0.95,
    alternative="two-sided",
    random_state=None,
    n_jobs=None,
):
    """Distribution of a metric over resamples of the rows, with an interval.

    Rows are drawn with replacement, predictions stay as they are. Metrics by name are gathered by
    kernels: rows are sorted or coded once, and a resample is how often each was drawn,

    .. math:: \\hat\\theta_b = \\theta(m_b), \\qquad m_b \\sim \\mathrm{Multinomial}(n, 1/n).

    Parameters
    ----------
    metric : str or callable
        A name ("roc_auc", "average_precision": with a column of scores for each of several classes
        the mean of each class against the rest; "roc_auc_ovr", "roc_auc_ovo", "_weighted" behind
        them; "accuracy", "balanced_accuracy", "f1", "f1_macro",
        "precision", "recall", "jaccard", "matthews_corrcoef", "cohen_kappa", "log_loss",
        "brier_score", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error",
        "mean_absolute_percentage_error", "r2", "explained_variance"; "neg_" before a loss changes
        its sign), or a function of ``y_true`` and ``y_pred`` that returns a number: it is called
        for every resample.
    y_true : array-like of shape (n_samples,)
        Targets.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_classes)
        Predictions: labels, scores or probabilities, whatever the metric takes.
    n_resamples : int, default=1000
        Number of resamples.
    other : array-like, default=None
        Predictions of a second model, which is then compared with the first on the same resamples.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; a function gets them as ``sample_weight``.
    stratify : bool or array-like of shape (n_samples,), default=False
        Whether each class keeps its number of rows; or strata of the rows.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, which are drawn together.
    pos_label : int or str, default=None
        The positive class; None means the greater one.
    method : {"percentile", "basic", "bca"}, default="percentile"
        Method of the interval; the others remain available from the result.
    confidence_level : float, default=0.95
        Its level.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        With ``other``: whether the first model's metric differs, is greater or is less.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    result : BootstrapResult, or BootstrapComparison with ``other``

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.metrics import bootstrap_metric
    >>> y = np.array([0, 0, 1, 1] * 50)
    >>> scores = np.array([0.1, 0.4, 0.35, 0.8] * 50)
    >>> found = bootstrap_metric("roc_auc", y, scores, random_state=0)
    >>> round(found.estimate, 2), 0.6 < found.low < 0.75 < found.high < 0.9
    (0.75, True)
    """
    truth = _checked(y_true, y_pred, sample_weight, pos_label)
    draws, strata = draws_of(truth.y_true, stratify, groups, random_state)
    plan, name, sign = _plan(metric, truth, sample_weight is not None)
    finish = partial(
        _summary, draws=draws, strata=strata, method=method, confidence_level=confidence_level
    )
    first = sign * plan.resampled(draws, n_resamples, n_jobs)
    units = draws.unit, int(draws.starts[-1])
    loo = partial(_left_out, ((sign, plan),), *units)
    if other is None:
        return finish(name, sign * plan.estimate(), first, influence=loo)

    rival = _checked(y_true, other, sample_weight, pos_label)
    plan_b, _, _ = _plan(metric, rival, sample_weight is not None)
    second = sign * plan_b.resampled(draws, n_resamples, n_jobs)
    estimates = sign * plan.estimate(), sign * plan_b.estimate()
    one = finish(name, estimates[0], first, influence=loo)
    two = finish(
        name, estimates[1], second, influence=partial(_left_out, ((sign, plan_b),), *units)
    )
    both = partial(_left_out, ((sign, plan), (-sign, plan_b)), *units)
    gap = estimates[0] - estimates[1]
    difference = finish(f"difference of {name}", gap, first - second, influence=both)
    p = _p_value(difference.distribution, alternative)
    return BootstrapComparison(one, two, difference, p, alternative, _sentence(difference, p))


def _checked(y_true, y_pred, sample_weight, pos_label) -> Truth:
    from sklearn.utils.validation import check_consistent_length

    y, f = np.asarray(y_true), np.asarray(y_pred)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    check_consistent_length(y, f)
    if len(y) == 0:
        raise ValueError("y_true has no rows")
    if sample_weight is None:
        weights = np.ones(len(y))
    else:
        weights = np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(y, weights)
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("sample_weight must be finite numbers from 0 up, one for each row")
    return Truth(y, f, weights, pos_label)


def _plan(metric, truth: Truth, weighted: bool):
    """What gathers the metric, its name and sign."""
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
    home = getattr(metric, "__module__", "") or ""
    ours = not isinstance(metric, str) and name in BY_FUNCTION
    if isinstance(metric, str) or (ours and home.startswith(("sklearn.metrics", "fastml.metrics"))):
        known, sign = canonical(name)
        if isinstance(metric, str) or known != "roc_auc" or np.ndim(truth.y_pred) == 1:
            return MEASURES[known](truth), name, sign
    return Loop(truth, metric, weighted=weighted), name, 1.0


def _left_out(plans, unit, n_units) -> NDArray:
    """The metric, or the sum of several by their signs, without each unit in turn."""
    return np.sum([sign * plan.without_units(unit, n_units) for sign, plan in plans], axis=0)


def _summary(name, estimate, distribution, *, draws, strata, method, confidence_level, influence):
    defined = distribution[~np.isnan(distribution)]
    n_undefined = len(distribution) - len(defined)
    if n_undefined:
        warnings.warn(
            f"{name} has no value for {n_undefined} of {len(distribution)} resamples (a class is "
            "missing): they are left out; stratify=True keeps every class",
            UserWarning,
            stacklevel=3,
        )
    low, high = _interval(defined, estimate, method, confidence_level, influence, strata)
    sd = float(np.std(defined, ddof=1)) if len(defined) > 1 else float("nan")
    mean = float(np.mean(defined)) if len(defined) else float("nan")
    return BootstrapResult(
        name, float(estimate), mean, sd, low, high, float(confidence_level), method, n_undefined,
        defined, influence, strata,
    )  # fmt: skip


def _interval(distribution, estimate, method, level, influence, strata) -> tuple[float, float]:
    if len(distribution) == 0:
        return float("nan"), float("nan")
    shares = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if method == "bca":
        shares = _corrected(distribution, estimate, shares, influence(), strata)
        if np.isnan(shares).any():
            return float("nan"), float("nan")
    low, high = np.quantile(distribution, shares)
    if method == "basic":
        low, high = 2.0 * estimate - high, 2.0 * estimate - low
    return float(low), float(high)


def _corrected(distribution, estimate, shares, left_out, strata) -> NDArray:
    """Shares corrected for the median's bias and for acceleration."""
    from scipy.special import ndtr, ndtri

    below = np.mean(distribution < estimate), np.mean(distribution <= estimate)
    bias = ndtri(np.mean(below))
    cubes = squares = 0.0
    for s in range(int(strata.max(initial=0)) + 1):
        values = left_out[strata == s]
        values = values[~np.isnan(values)]
        if len(values) == 0:
            continue
        pull = (len(values) - 1.0) * (values.mean() - values) / len(values)
        cubes += float((pull**3).sum())
        squares += float((pull**2).sum())
    acceleration = cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0
    if not np.isfinite(bias):
        return np.full(2, np.nan)
    z = bias + ndtri(shares)
    return ndtr(bias + z / (1.0 - acceleration * z))


def _p_value(differences: NDArray, alternative: str) -> float:
    """How often a resample speaks for the other side, counting the data themselves as one."""
    n = len(differences)
    not_greater = (1 + int(np.sum(differences <= 0.0))) / (n + 1)
    not_less = (1 + int(np.sum(differences >= 0.0))) / (n + 1)
    if alternative == "greater":
        return not_greater
    if alternative == "less":
        return not_less
    return min(1.0, 2.0 * min(not_greater, not_less))


def _sentence(difference: BootstrapResult, p: float) -> str:
    level = 1.0 - difference.confidence_level
    which = "differ" if p < level else "do not differ detectably"
    return (
        f"The models {which} (p = {p:.3g}): the {difference.metric} is {difference.estimate:.4g}, "
        f"{difference.confidence_level:.0%} interval {difference.low:.4g} to {difference.high:.4g}."
    )
