"""Rules for outliers: of the box plot, by percentiles, by deviations from the mean or the median.

A rule learns a lower and an upper bound for every column. What is done with values beyond is said
on purpose: marked, drawn in to the bounds, their rows dropped, or kept.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import moments, quantiles
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import FLOATS, check_fitted, validate_data

__all__ = ["BoxPlotRule", "MedianRule", "PercentileRule", "ZScoreRule", "trim", "winsorize"]

NORMAL_MAD = 1.482602218505602
"""Standard deviation over median absolute deviation, of a normal distribution."""

ENTRIES = {
    "action": """
        action : {'mark', 'clip', 'drop', 'keep'}, default='mark'
            What `transform` returns: where values are outliers; values drawn in to the bounds
            (winsorised); rows without an outlier; or all as it is.
    """,
    "lower_": """
        lower_ : ndarray of shape (n_features,)
            Values below are outliers.
    """,
    "upper_": """
        upper_ : ndarray of shape (n_features,)
            Values above are outliers.
    """,
}


class OutlierRule(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Bounds of every column."""

    _parameter_constraints: dict = {"action": [StrOptions({"mark", "clip", "drop", "keep"})]}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the bounds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN counts as absent.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan")
        self.lower_, self.upper_ = self._bounds(X)
        return self

    def _bounds(self, X):
        raise NotImplementedError

    def _rows(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        for name in ("lower_", "upper_"):
            check_fitted(self, name, getattr(self, name), (X.shape[1],))
        return X

    def is_outlier(self, X):
        """Where values are beyond the bounds; NaN is not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mask : ndarray of bool of shape (n_samples, n_features)
        """
        X = self._rows(X)
        return (self.lower_ > X) | (self.upper_ < X)

    def transform(self, X):
        """Mark, draw in, drop or keep, as ``action`` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Xt : ndarray of shape (n_samples, n_features), fewer rows with ``action='drop'``
        """
        X = self._rows(X)
        if self.action == "keep":
            return X.copy()
        if self.action == "clip":
            return np.clip(X, self.lower_, self.upper_).astype(X.dtype, copy=False)
        outlier = (self.lower_ > X) | (self.upper_ < X)
        return outlier if self.action == "mark" else X[~outlier.any(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@documented(ENTRIES)
class BoxPlotRule(OutlierRule):
    """Outliers of the box plot: more than 1.5 interquartile ranges beyond the quartiles.

    Q₁ − w (Q₃ − Q₁) ≤ x ≤ Q₃ + w (Q₃ − Q₁)

    Parameters
    ----------
    whisker : float, default=1.5
        The length w of the whiskers.
    {action}

    Attributes
    ----------
    {lower_}
    {upper_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.outliers import BoxPlotRule
    >>> BoxPlotRule().fit_transform([[1.0], [2.0], [3.0], [4.0], [90.0]]).ravel()
    array([False, False, False, False,  True])
    """

    _parameter_constraints: dict = {
        **OutlierRule._parameter_constraints,
        "whisker": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, whisker=1.5, *, action="mark"):
        self.whisker = whisker
        self.action = action

    def _bounds(self, X):
        (low, high), _ = quantiles(X, [0.25, 0.75])
        reach = self.whisker * (high - low)
        return low - reach, high + reach


@documented(ENTRIES)
class PercentileRule(OutlierRule):
    """Outliers below one percentile or above another.

    P_low ≤ x ≤ P_high

    Parameters
    ----------
    low : float, default=3.0
        Percentage.
    high : float, default=97.0
        Percentage.
    {action}

    Attributes
    ----------
    {lower_}
    {upper_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.outliers import PercentileRule
    >>> PercentileRule(10, 90, action="clip").fit_transform([[float(k)] for k in range(11)])[-1]
    array([9.])
    """

    _parameter_constraints: dict = {
        **OutlierRule._parameter_constraints,
        "low": [Interval(Real, 0, 100, closed="both")],
        "high": [Interval(Real, 0, 100, closed="both")],
    }

    def __init__(self, low=3.0, high=97.0, *, action="mark"):
        self.low = low
        self.high = high
        self.action = action

    def _bounds(self, X):
        if self.low > self.high:
            raise ValueError(f"low must not be above high, got low={self.low}, high={self.high}")
        (low, high), _ = quantiles(X, [self.low / 100.0, self.high / 100.0])
        return low, high


@documented(ENTRIES)
class ZScoreRule(OutlierRule):
    """Outliers many standard deviations away from the mean.

    \\|x − mean\\| ≤ t · std

    Parameters
    ----------
    threshold : float, default=3.0
        Deviations t.
    {action}

    Attributes
    ----------
    {lower_}
    {upper_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.outliers import ZScoreRule
    >>> ZScoreRule(1.5).fit_transform([[0.0], [1.0], [0.0], [1.0], [9.0]]).ravel()
    array([False, False, False, False,  True])
    """

    _parameter_constraints: dict = {
        **OutlierRule._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, threshold=3.0, *, action="mark"):
        self.threshold = threshold
        self.action = action

    def _bounds(self, X):
        found = moments(X)
        reach = self.threshold * np.sqrt(found.variances)
        return found.means - reach, found.means + reach


@documented(ENTRIES)
class MedianRule(OutlierRule):
    """Outliers many median deviations away from the median, which outliers do not move.

    \\|x − median\\| ≤ t · 1.4826 · median \\|x − median\\|

    Parameters
    ----------
    threshold : float, default=3.5
        Deviations t, in standard deviations of a normal distribution.
    {action}

    Attributes
    ----------
    {lower_}
    {upper_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.outliers import MedianRule
    >>> MedianRule().fit_transform([[1.0], [2.0], [3.0], [4.0], [90.0]]).ravel()
    array([False, False, False, False,  True])
    """

    _parameter_constraints: dict = ZScoreRule._parameter_constraints

    def __init__(self, threshold=3.5, *, action="mark"):
        self.threshold = threshold
        self.action = action

    def _bounds(self, X):
        centre = quantiles(X, [0.5])[0][0]
        spread = quantiles(np.abs(X - centre), [0.5])[0][0]
        reach = self.threshold * NORMAL_MAD * spread
        return centre - reach, centre + reach


def _cut(X, share):
    """Values in order and how many to take from each end."""
    if not (isinstance(share, Real) and 0 <= share < 0.5):
        raise ValueError(f"share must be a number from 0 up to 0.5, got {share!r}")
    values = np.asarray(X, dtype=np.float64).ravel()
    if np.isnan(values).any():
        raise ValueError("X must have no NaN")
    return values, np.sort(values), int(np.floor(share * len(values)))


def trim(X, share=0.05):
    """Leave out a share of the values at each end.

    Parameters
    ----------
    X : array-like
        Values.
    share : float, default=0.05
        floor(share · n) of them are left out at each end.

    Returns
    -------
    values : ndarray
        The others, in order.

    Examples
    --------
    >>> from fastml.outliers import trim
    >>> trim([5.0, 1.0, 2.0, 90.0, 3.0], share=0.2)
    array([2., 3., 5.])
    """
    values, ordered, n = _cut(X, share)
    return ordered[n : len(values) - n]


def winsorize(X, share=0.05):
    """Replace a share of the values at each end by the nearest of the others.

    Parameters
    ----------
    X : array-like
        Values.
    share : float, default=0.05
        floor(share · n) of them are replaced at each end.

    Returns
    -------
    values : ndarray
        In the order of X.

    Examples
    --------
    >>> from fastml.outliers import winsorize
    >>> winsorize([5.0, 1.0, 2.0, 90.0, 3.0], share=0.2)
    array([5., 2., 2., 5., 3.])
    """
    values, ordered, n = _cut(X, share)
    if not len(values):
        return values
    return np.clip(values, ordered[n], ordered[len(values) - 1 - n])
