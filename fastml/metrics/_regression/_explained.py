"""Shares of what the targets' mean, or quantile, leaves unexplained."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from fastml._sklearn import Interval
from fastml.metrics._checks import checked, mean, warn_undefined
from fastml.metrics._regression._errors import pinball_loss
from fastml.metrics._regression._targets import (
    ALL_AVERAGES,
    AVERAGES,
    TARGETS,
    Targets,
    check_targets,
    moments,
)

FINITE: dict = {"force_finite": ["boolean"]}
FEATURES: dict = {"n_features": [Interval(Integral, 0, None, closed="left")]}


def _share_explained(targets: Targets, numerator, denominator, force_finite: bool = True):
    """1 - numerator / denominator of each output, averaged."""
    numerator, denominator = np.atleast_1d(numerator), np.atleast_1d(denominator)
    if force_finite:
        scores = np.where(numerator != 0, 0.0, 1.0)
        usable = (numerator != 0) & (denominator != 0)
        scores[usable] = 1 - numerator[usable] / denominator[usable]
    else:
        scores = 1 - numerator / denominator
    multioutput = targets.multioutput
    if isinstance(multioutput, str) and multioutput == "variance_weighted":
        if not denominator.any():
            return float(scores.mean())
        return float(np.average(scores, weights=denominator))
    return targets.average(scores)


def _too_few(targets: Targets, score: str) -> bool:
    if targets.y_true.shape[0] >= 2:
        return False
    warn_undefined(f"{score} score is not well-defined with less than two samples.", stacklevel=4)
    return True


@checked(**TARGETS, multioutput=[*ALL_AVERAGES["multioutput"], None], **FINITE)
def r2_score(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True
):
    """R² = 1 - sum (y - f)² / sum (y - mean y)²; negative for worse than the mean.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput_of_scores}
    force_finite : bool, default=True
        Whether constant targets give 1 for perfect predictions and 0 for others, not NaN and -inf.

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import r2_score
    >>> r2_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.948...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    if _too_few(targets, "R^2"):
        return float("nan")
    return _share_explained(targets, found.square, found.true_variance, force_finite)


@checked(**TARGETS, **ALL_AVERAGES, **FINITE)
def explained_variance_score(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True
):
    """1 - variance of y - f / variance of y: R² that forgives a constant shift.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput_of_scores}
    force_finite : bool, default=True
        Whether constant targets give 1 for perfect predictions and 0 for others, not NaN and -inf.

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import explained_variance_score
    >>> explained_variance_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.957...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    return _share_explained(targets, found.residual_variance, found.true_variance, force_finite)


@checked(**TARGETS, alpha=[Interval(Real, 0, 1, closed="both")], **AVERAGES)
def d2_pinball_score(
    y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"
):
    """1 - pinball loss of the predictions / that of the targets' quantile of level alpha.

    Parameters
    ----------
    {targets}
    {sample_weight}
    alpha : float, default=0.5
        Level of the quantile.
    {multioutput}

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import d2_pinball_score
    >>> d2_pinball_score([1, 2, 3], [1.3, 2, 2.9])
    0.79...
    """
    from fastml._sklearn import weighted_percentile

    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    if _too_few(targets, "D^2"):
        return float("nan")
    weights = targets.weights
    if weights is None:
        weights = np.ones(targets.y_true.shape[0], dtype=targets.y_true.dtype)
    raw = targets._replace(multioutput="raw_values")
    quantile = weighted_percentile(
        targets.y_true, sample_weight=weights, percentile_rank=alpha * 100, average=True
    )
    return _share_explained(
        targets, pinball_loss(raw, alpha), pinball_loss(raw._replace(y_pred=quantile), alpha)
    )


@checked(**TARGETS, **AVERAGES)
def d2_absolute_error_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """1 - mean |y - f| / mean |y - median y|.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import d2_absolute_error_score
    >>> d2_absolute_error_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.764...
    """
    return d2_pinball_score(
        y_true, y_pred, sample_weight=sample_weight, alpha=0.5, multioutput=multioutput
    )


# ---------------------------------------------------------------------------- beyond scikit-learn


def _total(targets: Targets) -> float:
    """The sum of the weights."""
    if targets.weights is None:
        return float(targets.y_true.shape[0])
    return float(targets.weights.sum())


def _degrees_of_freedom(targets: Targets, n_features: int) -> int:
    left = targets.y_true.shape[0] - int(n_features) - 1
    if left < 1:
        raise ValueError(
            f"n_features={n_features} and an intercept need more than {n_features + 1} rows, "
            f"got {targets.y_true.shape[0]}"
        )
    return left


@checked(**TARGETS, **ALL_AVERAGES, **FEATURES)
def adjusted_r2_score(
    y_true, y_pred, n_features, *, sample_weight=None, multioutput="uniform_average"
):
    """1 - (RSS / (m - n - 1)) / (TSS / (m - 1)): R² that no idle feature raises.

    Parameters
    ----------
    {targets}
    n_features : int
        Number of features of the model, its intercept not counted.
    {sample_weight}
    {multioutput_of_scores}

    Returns
    -------
    score : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import adjusted_r2_score
    >>> adjusted_r2_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8], n_features=1)
    0.922...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    left = _degrees_of_freedom(targets, n_features)
    lost = (targets.y_true.shape[0] - 1) / left
    return _share_explained(targets, np.multiply(found.square, lost), found.true_variance)


@checked(**TARGETS, **AVERAGES)
def residual_sum_of_squares(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """RSS = sum of (y - f)².

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    rss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import residual_sum_of_squares
    >>> residual_sum_of_squares([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    1.5
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    return targets.average(np.multiply(found.square, _total(targets)))


@checked(**TARGETS, **AVERAGES)
def total_sum_of_squares(y_true, *, sample_weight=None, multioutput="uniform_average"):
    """TSS = sum of (y - mean y)².

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    {sample_weight}
    {multioutput}

    Returns
    -------
    tss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import total_sum_of_squares
    >>> total_sum_of_squares([3, -0.5, 2, 7])
    29.1875
    """
    targets, found = moments(y_true, y_true, sample_weight, multioutput)
    return targets.average(np.multiply(found.true_variance, _total(targets)))


@checked(**TARGETS, **AVERAGES, **FEATURES)
def residual_standard_error(
    y_true, y_pred, n_features, *, sample_weight=None, multioutput="uniform_average"
):
    """sqrt(RSS / (m - n - 1)): an estimate of the standard deviation of the noise.

    Parameters
    ----------
    {targets}
    n_features : int
        Number of features of the model, its intercept not counted.
    {sample_weight}
    {multioutput}

    Returns
    -------
    error : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import residual_standard_error
    >>> residual_standard_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8], n_features=1)
    0.866...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    left = _degrees_of_freedom(targets, n_features)
    return targets.average(np.sqrt(np.multiply(found.square, _total(targets) / left)))


@checked(**TARGETS, **AVERAGES, root=["boolean"])
def relative_squared_error(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", root=False
):
    """RSS / TSS = 1 - R²; infinite for constant targets that are missed.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}
    root : bool, default=False
        Whether to take the root, of each output before they are averaged.

    Returns
    -------
    error : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import relative_squared_error
    >>> relative_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.051...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    ratio = _ratio(found.square, found.true_variance)
    return targets.average(np.sqrt(ratio) if root else ratio)


def _ratio(numerator, denominator):
    """Their quotient: infinite over 0, 0 for 0 / 0."""
    numerator, denominator = np.atleast_1d(numerator), np.atleast_1d(denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator == 0, 0.0, numerator / denominator)


@checked(**TARGETS, **AVERAGES)
def relative_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """sum |y - f| / sum |y - mean y|; infinite for constant targets that are missed.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    error : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import relative_absolute_error
    >>> relative_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.235...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    apart = mean(np.abs(targets.y_true - found.true), targets.weights)
    return targets.average(_ratio(found.absolute, apart))
