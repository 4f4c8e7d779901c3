"""DeLong's variance of an area under the ROC curve, for an interval and for comparing two areas."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions, validate_params


@dataclass(frozen=True)
class AreaInterval:
    """An area under the ROC curve with an interval.

    Attributes
    ----------
    estimate : float
        The area.
    standard_error : float
        By DeLong's variance.
    low, high : float
        The interval.
    confidence_level : float
        Its level.

    Examples
    --------
    >>> from fastml.metrics import delong_interval
    >>> delong_interval([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).estimate
    0.75
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    confidence_level: float


@dataclass(frozen=True)
class AreaComparison:
    """Two areas under ROC curves of the same rows.

    Attributes
    ----------
    first, second : AreaInterval
        Either area.
    difference : float
        The first less the second.
    standard_error : float
        Of the difference.
    low, high : float
        Interval of the difference.
    statistic : float
        The difference over its standard error.
    p_value : float
        By the normal distribution.
    meaning : str
        A sentence.

    Examples
    --------
    >>> from fastml.metrics import delong_test
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> delong_test(y, [1, 2, 3, 4, 5, 6], [1, 2, 6, 3, 4, 5]).difference
    0.33...
    """

    first: AreaInterval
    second: AreaInterval
    difference: float
    standard_error: float
    low: float
    high: float
    statistic: float
    p_value: float
    meaning: str


def _placements(y_true, scores, pos_label) -> tuple[NDArray, NDArray]:
    """Share of the negatives below each positive, and of the positives above each negative; a tie
    counts one half."""
    from sklearn.utils.validation import check_consistent_length, column_or_1d

    y, s = column_or_1d(y_true), column_or_1d(scores).astype(np.float64)
    check_consistent_length(y, s)
    if not np.isfinite(s).all():
        raise ValueError("y_score must be finite, it has NaN or infinity")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"y_true must have two classes, it has {len(classes)}")
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a class of y_true: {list(classes)}")
    positive = y == (classes[1] if pos_label is None else pos_label)
    high, low = s[positive], s[~positive]
    low_sorted, high_sorted = np.sort(low), np.sort(high)
    wins = np.searchsorted(low_sorted, high, "left") + np.searchsorted(low_sorted, high, "right")
    losses = np.searchsorted(high_sorted, low, "left") + np.searchsorted(high_sorted, low, "right")
    return wins / (2.0 * len(low)), 1.0 - losses / (2.0 * len(high))


def _variance(of_positives: NDArray, of_negatives: NDArray) -> float:
    """Variance of a mean over both classes."""
    parts = (
        np.var(a, ddof=1) / len(a) if len(a) > 1 else np.nan for a in (of_positives, of_negatives)
    )
    return float(sum(parts))


def _area(placements, confidence_level, method) -> AreaInterval:
    from scipy.special import expit, logit, ndtri

    area = float(np.mean(placements[0]))
    error = float(np.sqrt(_variance(*placements)))
    z = float(ndtri((1.0 + confidence_level) / 2.0))
    if method == "logit" and 0.0 < area < 1.0:
        half = z * error / (area * (1.0 - area))
        low, high = (float(expit(logit(area) + side * half)) for side in (-1.0, 1.0))
    else:
        low, high = (float(np.clip(area + side * z * error, 0.0, 1.0)) for side in (-1.0, 1.0))
    return AreaInterval(area, error, low, high, float(confidence_level))


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "pos_label": "no_validation",
        "method": [StrOptions({"wald", "logit"})],
    },
    prefer_skip_nested_validation=True,
)
def delong_interval(y_true, y_score, *, confidence_level=0.95, pos_label=None, method="wald"):
    """Area under the ROC curve with DeLong's interval.

    With :math:`V_i` the share of negatives below positive i and :math:`W_j` the share of positives
    above negative j,

    .. math:: \\widehat{\\mathrm{var}}(A) = \\frac{s^2_V}{n_+} + \\frac{s^2_W}{n_-}.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores, greater for the positive class.
    confidence_level : float, default=0.95
        Level of the interval.
    pos_label : int or str, default=None
        The positive class; None means the greater one.
    method : {"wald", "logit"}, default="wald"
        Whether the interval is symmetric around the area, cut at 0 and 1, or around its logit.

    Returns
    -------
    interval : AreaInterval

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44 (1988).

    Examples
    --------
    >>> from fastml.metrics import delong_interval
    >>> found = delong_interval([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.5, 0.35, 0.8, 0.9])
    >>> round(found.estimate, 4), round(found.standard_error, 4)
    (0.7778, 0.2485)
    """
    return _area(_placements(y_true, y_score, pos_label), confidence_level, method)


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "other_score": ["array-like"],
        "alternative": [StrOptions({"two-sided", "greater", "less"})],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "pos_label": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def delong_test(
    y_true,
    y_score,
    other_score,
    *,
    alternative="two-sided",
    confidence_level=0.95,
    pos_label=None,
):
    """Whether two scores of the same rows have different areas under the ROC curve.

    .. math:: z = (A_1 - A_2) \\Big/
        \\sqrt{\\frac{s^2_{V_1 - V_2}}{n_+} + \\frac{s^2_{W_1 - W_2}}{n_-}}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores of the first model.
    other_score : array-like of shape (n_samples,)
        Scores of the second model.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether the first area differs, is greater or is less.
    confidence_level : float, default=0.95
        Level of the intervals.
    pos_label : int or str, default=None
        The positive class; None means the greater one.

    Returns
    -------
    comparison : AreaComparison

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, Biometrics 44 (1988).

    Examples
    --------
    >>> from fastml.metrics import delong_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = delong_test(y, [1, 2, 3, 5, 4, 6, 7, 8], [1, 2, 6, 5, 3, 4, 7, 8])
    >>> round(found.difference, 4), round(found.p_value, 3)
    (0.1875, 0.268)
    """
    from scipy.special import ndtr, ndtri

    one, two = (_placements(y_true, scores, pos_label) for scores in (y_score, other_score))
    first, second = (_area(each, confidence_level, "wald") for each in (one, two))
    gap = first.estimate - second.estimate
    error = float(np.sqrt(_variance(one[0] - two[0], one[1] - two[1])))
    if error > 0.0:
        z = gap / error
    else:
        z = 0.0 if gap == 0.0 else float(np.copysign(np.inf, gap))
    tail = {"two-sided": 2.0 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}[alternative]
    half = float(ndtri((1.0 + confidence_level) / 2.0)) * error
    which = "differ" if tail < 1.0 - confidence_level else "do not differ detectably"
    meaning = (
        f"The areas {which} (p = {tail:.3g}): {first.estimate:.4g} and {second.estimate:.4g}, "
        f"difference {gap:.4g}, {confidence_level:.0%} interval {gap - half:.4g} to "
        f"{gap + half:.4g}."
    )
    return AreaComparison(
        first, second, gap, error, gap - half, gap + half, float(z), float(tail), meaning
    )
