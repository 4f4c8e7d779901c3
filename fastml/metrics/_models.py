"""Measures of models beside each other: improvement, deviance, information criteria."""

from __future__ import annotations

from math import log
from numbers import Integral, Real
from typing import NamedTuple

from fastml._sklearn import Interval
from fastml.metrics._checks import checked

NUMBER: list = [Real]


class Improvement(NamedTuple):
    """How much better a second model is than a first."""

    absolute: float
    relative: float


@checked(first=NUMBER, second=NUMBER)
def improvement(first, second):
    """Absolute and relative improvement of a measure: r2 - r1 and (r2 - r1) / r1.

    Parameters
    ----------
    first : float
        The measure of the first model.
    second : float
        The measure of the second.

    Returns
    -------
    improvement : Improvement
        With the fields absolute and relative; relative to 0 it is infinite, or NaN for no change.

    Examples
    --------
    >>> from fastml.metrics import improvement
    >>> improvement(0.5, 0.75)
    Improvement(absolute=0.25, relative=0.5)
    """
    absolute = float(second) - float(first)
    if first:
        return Improvement(absolute, absolute / float(first))
    relative = float("nan") if absolute == 0 else float("inf") if absolute > 0 else float("-inf")
    return Improvement(absolute, relative)


@checked(log_likelihood=NUMBER, saturated=NUMBER)
def deviance(log_likelihood, *, saturated=0.0):
    """-2 (log L - log L of the saturated model); the latter is 0 for labels.

    Parameters
    ----------
    log_likelihood : float
        log L of the model: for labels, -``log_loss(..., normalize=False)``.
    saturated : float, default=0.0
        log L of the model that fits every row.

    Returns
    -------
    deviance : float

    Examples
    --------
    >>> from fastml.metrics import deviance
    >>> deviance(-3.5)
    7.0
    """
    return -2.0 * (float(log_likelihood) - float(saturated))


_CRITERION: dict = {
    "log_likelihood": NUMBER,
    "n_parameters": [Interval(Real, 0, None, closed="left")],
}


@checked(
    **_CRITERION,
    n_samples=[Interval(Integral, 1, None, closed="left"), None],
    per_sample=["boolean"],
)
def aic(log_likelihood, n_parameters, *, n_samples=None, per_sample=False):
    """Akaike's information criterion -2 log L + 2 d; less is better.

    Parameters
    ----------
    log_likelihood : float
        log L of the model.
    n_parameters : int or float
        d, the number of parameters.
    n_samples : int, default=None
        Number of rows, for ``per_sample``.
    per_sample : bool, default=False
        Whether to divide by the number of rows, as some texts do.

    Returns
    -------
    criterion : float

    Examples
    --------
    >>> from fastml.metrics import aic
    >>> aic(-10.0, 3)
    26.0
    """
    found = -2.0 * float(log_likelihood) + 2.0 * float(n_parameters)
    if not per_sample:
        return found
    if n_samples is None:
        raise ValueError("per_sample=True needs n_samples")
    return found / int(n_samples)


@checked(**_CRITERION, n_samples=[Interval(Integral, 1, None, closed="left")])
def bic(log_likelihood, n_parameters, n_samples):
    """Bayesian information criterion -2 log L + d log n; less is better.

    Parameters
    ----------
    log_likelihood : float
        log L of the model.
    n_parameters : int or float
        d, the number of parameters.
    n_samples : int
        n, the number of rows.

    Returns
    -------
    criterion : float

    Examples
    --------
    >>> from fastml.metrics import bic
    >>> bic(-10.0, 3, 100)
    33.8...
    """
    return -2.0 * float(log_likelihood) + float(n_parameters) * log(int(n_samples))
