"""Deviances of the Tweedie family."""

from __future__ import annotations

from numbers import Real

import numpy as np

from fastml._sklearn import Interval
from fastml.metrics._checks import checked, mean, warn_undefined
from fastml.metrics._regression._targets import (
    TARGETS,
    Targets,
    check_targets,
    refuse_several_outputs,
)

POWER: dict = {
    "power": [
        Interval(Real, None, 0, closed="right"),
        Interval(Real, 1, None, closed="left"),
    ]
}


def _check_domain(y_true, y_pred, power: float) -> None:
    message = f"Mean Tweedie deviance error with power={power} can only be used on "
    if power < 0:
        if (y_pred <= 0).any():
            raise ValueError(message + "strictly positive y_pred.")
    elif 1 <= power < 2:
        if (y_true < 0).any() or (y_pred <= 0).any():
            raise ValueError(message + "non-negative y and strictly positive y_pred.")
    elif power >= 2 and ((y_true <= 0).any() or (y_pred <= 0).any()):
        raise ValueError(message + "strictly positive y and y_pred.")


def _deviance(y, f, weights, power: float) -> float:
    """Mean unit deviance; f may be one number."""
    if power == 0:
        unit = (y - f) ** 2
    elif power == 1:
        logs = np.log(np.where(y == 0, 1.0, y / f))
        unit = 2 * (y * logs - y + f)
    elif power == 2:
        unit = 2 * (np.log(f / y) + y / f - 1)
    else:
        base = np.where(y > 0, y, 0.0) if power < 0 else y
        unit = 2 * (
            base ** (2 - power) / ((1 - power) * (2 - power))
            - y * f ** (1 - power) / (1 - power)
            + f ** (2 - power) / (2 - power)
        )
    return float(mean(unit, weights))


def _checked_deviance(targets: Targets, power: float) -> float:
    _check_domain(targets.y_true, targets.y_pred, power)
    return _deviance(targets.y_true, targets.y_pred, targets.weights, power)


@checked(**TARGETS, **POWER)
def mean_tweedie_deviance(y_true, y_pred, *, sample_weight=None, power=0):
    """Mean of the unit deviances 2 (y^(2-p) / ((1-p)(2-p)) - y f^(1-p) / (1-p) + f^(2-p) / (2-p)).

    (y - f)² for p = 0, 2 (y log(y / f) - y + f) for p = 1, 2 (log(f / y) + y / f - 1) for p = 2.

    Parameters
    ----------
    {one_target}
    {sample_weight}
    power : float, default=0
        p of the variance mean^p: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian, between 1 and 2
        compound Poisson.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import mean_tweedie_deviance
    >>> mean_tweedie_deviance([2, 0, 1, 4], [0.5, 0.5, 2., 2.], power=1)
    1.4260...
    """
    targets = check_targets(y_true, y_pred, sample_weight, None)
    refuse_several_outputs(targets, "mean_tweedie_deviance")
    return _checked_deviance(targets, power)


@checked(**TARGETS)
def mean_poisson_deviance(y_true, y_pred, *, sample_weight=None):
    """Mean of 2 (y log(y / f) - y + f).

    Parameters
    ----------
    {one_target}
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import mean_poisson_deviance
    >>> mean_poisson_deviance([2, 0, 1, 4], [0.5, 0.5, 2., 2.])
    1.4260...
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


@checked(**TARGETS)
def mean_gamma_deviance(y_true, y_pred, *, sample_weight=None):
    """Mean of 2 (log(f / y) + y / f - 1).

    Parameters
    ----------
    {one_target}
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import mean_gamma_deviance
    >>> mean_gamma_deviance([2, 0.5, 1, 4], [0.5, 0.5, 2., 2.])
    1.0568...
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)


@checked(**TARGETS, **POWER)
def d2_tweedie_score(y_true, y_pred, *, sample_weight=None, power=0):
    """1 - deviance of the predictions / deviance of the targets' mean.

    Parameters
    ----------
    {one_target}
    {sample_weight}
    power : float, default=0
        p of the variance mean^p: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian, between 1 and 2
        compound Poisson.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import d2_tweedie_score
    >>> d2_tweedie_score([0.5, 1, 2.5, 7], [1, 1, 5, 3.5], power=1)
    0.487...
    """
    targets = check_targets(y_true, y_pred, sample_weight, None)
    refuse_several_outputs(targets, "d2_tweedie_score")
    if targets.y_true.shape[0] < 2:
        warn_undefined("D^2 score is not well-defined with less than two samples.")
        return float("nan")
    numerator = _checked_deviance(targets, power)
    center = mean(targets.y_true, targets.weights)
    return 1 - numerator / _deviance(targets.y_true, center, targets.weights, power)
