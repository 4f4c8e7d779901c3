"""Mean, median and largest errors."""

from __future__ import annotations

from numbers import Real

import numpy as np

from fastml._sklearn import Interval
from fastml.metrics._checks import ARRAYS, checked
from fastml.metrics._regression._targets import (
    AVERAGES,
    TARGETS,
    Targets,
    check_targets,
    moments,
    refuse_several_outputs,
)


@checked(**TARGETS, **AVERAGES)
def mean_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of |y - f|.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_absolute_error
    >>> mean_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    return targets.average(found.absolute)


@checked(**TARGETS, **AVERAGES)
def mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of (y - f)².

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_squared_error
    >>> mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.375
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    return targets.average(found.square)


@checked(**TARGETS, **AVERAGES)
def root_mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Root of the mean of (y - f)², of each output before they are averaged.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import root_mean_squared_error
    >>> root_mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.612...
    """
    targets, found = moments(y_true, y_pred, sample_weight, multioutput)
    return targets.average(np.sqrt(found.square))


def _log_differences(y_true, y_pred, sample_weight, multioutput, name: str) -> tuple:
    """The targets, and log(1 + y) - log(1 + f)."""
    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    if (targets.y_true <= -1).any() or (targets.y_pred <= -1).any():
        raise ValueError(
            f"{name} cannot be used when targets contain values less than or equal to -1."
        )
    return targets, np.log1p(targets.y_true) - np.log1p(targets.y_pred)


@checked(**TARGETS, **AVERAGES)
def mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of (log(1 + y) - log(1 + f))².

    For targets that span several orders of magnitude.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_squared_log_error
    >>> mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8])
    0.0397...
    """
    targets, differences = _log_differences(
        y_true, y_pred, sample_weight, multioutput, "Mean Squared Logarithmic Error"
    )
    return targets.mean(differences**2)


@checked(**TARGETS, **AVERAGES)
def root_mean_squared_log_error(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"
):
    """Root of the mean of (log(1 + y) - log(1 + f))², of each output before they are averaged.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import root_mean_squared_log_error
    >>> root_mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8])
    0.199...
    """
    targets, differences = _log_differences(
        y_true, y_pred, sample_weight, multioutput, "Root Mean Squared Logarithmic Error"
    )
    raw = targets._replace(multioutput="raw_values")
    return targets.average(np.sqrt(raw.mean(differences**2)))


@checked(**TARGETS, **AVERAGES)
def mean_absolute_percentage_error(
    y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"
):
    """Mean of |y - f| / |y|, as a fraction; huge where y is near 0.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_absolute_percentage_error
    >>> mean_absolute_percentage_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.327...
    """
    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    least = targets.y_true.dtype.type(np.finfo(np.float64).eps)
    size = np.abs(targets.y_true)
    return targets.mean(np.abs(targets.y_pred - targets.y_true) / np.maximum(size, least))


def pinball_loss(targets: Targets, alpha: float):
    """Mean over rows of alpha (y - f) where y is above f, of (1 - alpha) (f - y) elsewhere."""
    above = targets.y_true - targets.y_pred
    return targets.mean(np.where(above >= 0, alpha * above, (alpha - 1) * above))


@checked(**TARGETS, alpha=[Interval(Real, 0, 1, closed="both")], **AVERAGES)
def mean_pinball_loss(
    y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"
):
    """Mean of alpha (y - f) where y is above f, of (1 - alpha) (f - y) elsewhere.

    The quantile of level alpha has the least.

    Parameters
    ----------
    {targets}
    {sample_weight}
    alpha : float, default=0.5
        Level of the quantile that was predicted.
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_pinball_loss
    >>> mean_pinball_loss([1, 2, 3], [0, 2, 3], alpha=0.1)
    0.03...
    """
    if alpha == 0.5:  # half of the absolute error, to the last bit
        targets, found = moments(y_true, y_pred, sample_weight, multioutput)
        return targets.average(np.multiply(found.absolute, 0.5))
    return pinball_loss(check_targets(y_true, y_pred, sample_weight, multioutput), alpha)


@checked(**TARGETS, **AVERAGES)
def median_absolute_error(y_true, y_pred, *, multioutput="uniform_average", sample_weight=None):
    """Median of |y - f|.

    Parameters
    ----------
    {targets}
    {multioutput}
    {sample_weight}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import median_absolute_error
    >>> median_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    size = np.abs(targets.y_pred - targets.y_true)
    if targets.weights is None:
        return targets.average(np.median(size, axis=0))
    from fastml._sklearn import weighted_percentile

    return targets.average(weighted_percentile(size, sample_weight=targets.weights, average=True))


@checked(y_true=ARRAYS, y_pred=ARRAYS)
def max_error(y_true, y_pred):
    """Largest |y - f|.

    Parameters
    ----------
    {one_target}

    Returns
    -------
    error : float

    Examples
    --------
    >>> from fastml.metrics import max_error
    >>> max_error([3, 2, 7, 1], [4, 2, 7, 1])
    1.0
    """
    targets = check_targets(y_true, y_pred)
    refuse_several_outputs(targets, "max_error")
    return float(np.abs(targets.y_true - targets.y_pred).max())


@checked(**TARGETS, epsilon=[Interval(Real, 0, None, closed="neither")], **AVERAGES)
def mean_huber_error(
    y_true, y_pred, *, sample_weight=None, epsilon=1.0, multioutput="uniform_average"
):
    """Mean of d² / 2 where |d| <= epsilon, of epsilon (|d| - epsilon / 2) beyond; d = y - f.

    Parameters
    ----------
    {targets}
    {sample_weight}
    epsilon : float, default=1.0
        Where the loss becomes linear.
    {multioutput}

    Returns
    -------
    loss : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from fastml.metrics import mean_huber_error
    >>> mean_huber_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 10])
    0.6875
    """
    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    size = np.abs(targets.y_true - targets.y_pred)
    return targets.mean(np.where(size <= epsilon, size**2 / 2, epsilon * (size - epsilon / 2)))
