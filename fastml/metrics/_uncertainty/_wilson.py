"""Wilson's interval for a share."""

from __future__ import annotations

from numbers import Real

import numpy as np

from fastml._sklearn import Interval, validate_params


@validate_params(
    {
        "n_successes": ["array-like", Real],
        "n_trials": ["array-like", Real],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "correction": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def wilson_interval(n_successes, n_trials, *, confidence_level=0.95, correction=False):
    """Interval for a share such as accuracy, recall or precision.

    The shares p that are no farther than z standard errors from the observed one,

    .. math:: \\frac{\\hat p + \\frac{z^2}{2n} \\pm
        z \\sqrt{\\frac{\\hat p (1 - \\hat p)}{n} + \\frac{z^2}{4 n^2}}}{1 + z^2 / n}

    Parameters
    ----------
    n_successes : float or array-like
        How often it was right.
    n_trials : float or array-like
        Out of how many.
    confidence_level : float, default=0.95
        Level of the interval.
    correction : bool, default=False
        Whether to widen it for continuity (Newcombe, 1998).

    Returns
    -------
    low, high : float or ndarray
        NaN for no trials.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927).

    Examples
    --------
    >>> from fastml.metrics import wilson_interval
    >>> low, high = wilson_interval(90, 100)
    >>> round(low, 4), round(high, 4)
    (0.8256, 0.9448)
    """
    from scipy.special import ndtri

    k, n = np.asarray(n_successes, dtype=np.float64), np.asarray(n_trials, dtype=np.float64)
    if not ((k >= 0.0) & (k <= n)).all():
        raise ValueError("n_successes must lie between 0 and n_trials")
    z = ndtri((1.0 + confidence_level) / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / n
        whole = 2.0 * (n + z * z)
        middle = 2.0 * n * p + z * z
        if correction:
            low = (
                middle - 1.0 - z * np.sqrt(z * z - 2.0 - 1.0 / n + 4.0 * p * (n * (1.0 - p) + 1.0))
            )
            high = (
                middle + 1.0 + z * np.sqrt(z * z + 2.0 - 1.0 / n + 4.0 * p * (n * (1.0 - p) - 1.0))
            )
            low, high = np.where(k == 0, 0.0, low / whole), np.where(k == n, 1.0, high / whole)
        else:
            half = z * np.sqrt(z * z + 4.0 * n * p * (1.0 - p))
            low = np.where(k == 0, 0.0, (middle - half) / whole)
            high = np.where(k == n, 1.0, (middle + half) / whole)
    low, high = (np.where(n > 0, np.clip(side, 0.0, 1.0), np.nan) for side in (low, high))
    return (float(low), float(high)) if low.ndim == 0 else (low, high)
