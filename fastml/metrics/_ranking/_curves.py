"""Curves over all thresholds of a score."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, deprecate_positional_args
from fastml.metrics._checks import ARRAYS, OPTIONAL_ARRAY, checked, warn_undefined
from fastml.metrics._ranking._order import Thresholds, thresholds_of

SCORED: dict = {
    "y_true": ARRAYS,
    "y_score": ARRAYS,
    "pos_label": [Real, str, "boolean", None],
    "sample_weight": OPTIONAL_ARRAY,
}
DROP: dict = {"drop_intermediate": ["boolean"]}


@deprecate_positional_args(version="1.11")
@checked(**SCORED)
def confusion_matrix_at_thresholds(y_true, y_score, *, pos_label=None, sample_weight=None):
    """Confusion matrices of "positive from this score on", for every distinct score.

    Parameters
    ----------
    {y_true}
    {y_score}
    {pos_label}
    {sample_weight}

    Returns
    -------
    tns, fps, fns, tps : ndarray of shape (n_thresholds,)
        True negatives, false positives, false negatives, true positives.
    thresholds : ndarray of shape (n_thresholds,)
        Falling scores.

    Examples
    --------
    >>> from fastml.metrics import confusion_matrix_at_thresholds
    >>> tns, fps, fns, tps, thresholds = confusion_matrix_at_thresholds([0, 0, 1, 1],
    ...                                                                 [0.1, 0.4, 0.35, 0.8])
    >>> tps
    array([1., 1., 2., 2.])
    """
    fps, tps, thresholds = thresholds_of(y_true, y_score, pos_label, sample_weight)
    return fps[-1] - fps, fps, tps[-1] - tps, tps, thresholds


def _kept(found: Thresholds, keep: NDArray) -> Thresholds:
    return Thresholds(*(each[keep] for each in found))


def _ends(inner: NDArray) -> NDArray:
    """Positions to keep: both ends and these between."""
    return np.flatnonzero(np.concatenate([[True], inner, [True]]))


def _with_origin(found: Thresholds) -> Thresholds:
    """And a first threshold, infinity, that nothing reaches."""
    fps, tps, thresholds = found
    return Thresholds(
        np.concatenate([[0.0], fps]),
        np.concatenate([[0.0], tps]),
        np.concatenate([[np.inf], thresholds.astype(np.float64, copy=False)]),
    )


def roc_points(found: Thresholds, drop_intermediate: bool) -> tuple[NDArray, NDArray, NDArray]:
    """False and true positive rates, and thresholds; points on straight lines may be dropped."""
    if drop_intermediate and found.false_positives.shape[0] > 2:
        bends = [np.diff(each, 2) != 0 for each in found[:2]]
        found = _kept(found, _ends(bends[0] | bends[1]))
    fps, tps, thresholds = _with_origin(found)
    if fps[-1] <= 0:
        warn_undefined(
            "No negative samples in y_true, false positive value should be meaningless", 4
        )
        fpr = np.full(fps.shape, np.nan)
    else:
        fpr = fps / fps[-1]
    if tps[-1] <= 0:
        warn_undefined(
            "No positive samples in y_true, true positive value should be meaningless", 4
        )
        return fpr, np.full(tps.shape, np.nan), thresholds
    return fpr, tps / tps[-1], thresholds


@checked(**SCORED, **DROP)
def roc_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True):
    """False positive rate and true positive rate over all thresholds.

    Parameters
    ----------
    {y_true}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=True
        Whether to leave out points on straight lines.

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
    tpr : ndarray of shape (n_thresholds,)
    thresholds : ndarray of shape (n_thresholds,)
        Falling scores; the first is infinite: nothing is predicted positive.

    Examples
    --------
    >>> from fastml.metrics import roc_curve
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    found = thresholds_of(y_true, y_score, pos_label, sample_weight)
    return roc_points(found, drop_intermediate)


def _drop_steps(found: Thresholds) -> Thresholds:
    """Leave out points between which no positive is found."""
    tps = found.true_positives
    steps = (np.diff(tps[:-1]) != 0) | (np.diff(tps[1:]) != 0)
    return _kept(found, _ends(steps))


@checked(**SCORED, **DROP)
def precision_recall_curve(
    y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=False
):
    """Precision and recall over all thresholds.

    Parameters
    ----------
    {y_true}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=False
        Whether to leave out thresholds between which no positive is found.

    Returns
    -------
    precision : ndarray of shape (n_thresholds + 1,)
        The last is 1.
    recall : ndarray of shape (n_thresholds + 1,)
        Falling; the last is 0.
    thresholds : ndarray of shape (n_thresholds,)
        Rising scores.

    Examples
    --------
    >>> from fastml.metrics import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> precision
    array([0.5       , 0.66666667, 0.5       , 1.        , 1.        ])
    """
    found = thresholds_of(y_true, y_score, pos_label, sample_weight)
    if drop_intermediate and found.true_positives.shape[0] > 2:
        found = _drop_steps(found)
    fps, tps, thresholds = found
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(tps + fps != 0, tps / (tps + fps), 0.0)
    if tps[-1] == 0:
        warnings.warn(
            "No positive class found in y_true, recall is set to one for all thresholds.",
            stacklevel=3,
        )
        recall = np.ones(tps.shape)
    else:
        recall = tps / tps[-1]
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


@checked(**SCORED, **DROP)
def det_curve(y_true, y_score, pos_label=None, sample_weight=None, drop_intermediate=False):
    """Detection error trade-off: false positive rate and false negative rate.

    Parameters
    ----------
    {y_true}
    {y_score}
    {pos_label}
    {sample_weight}
    drop_intermediate : bool, default=False
        Whether to leave out thresholds between which no positive is found.

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
    fnr : ndarray of shape (n_thresholds,)
    thresholds : ndarray of shape (n_thresholds,)
        Rising scores.

    Examples
    --------
    >>> from fastml.metrics import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr, fnr
    (array([0.5, 0.5, 0. ]), array([0. , 0.5, 0.5]))
    """
    found = _with_origin(thresholds_of(y_true, y_score, pos_label, sample_weight))
    if drop_intermediate and found.true_positives.shape[0] > 2:
        found = _drop_steps(found)
    fps, tps, thresholds = found
    if np.unique(y_true).shape[0] != 2:
        raise ValueError(
            "Only one class is present in y_true. Detection error tradeoff curve is not defined in "
            "that case."
        )
    first = np.searchsorted(fps, fps[0], side="right") - 1
    last = np.searchsorted(tps, tps[-1]) + 1
    used = slice(first, last)
    missed = tps[-1] - tps
    return (
        fps[used][::-1] / fps[-1],
        missed[used][::-1] / tps[-1],
        thresholds[used][::-1],
    )


# ---------------------------------------------------------------------------- beyond scikit-learn


@checked(**SCORED, **DROP)
def background_rejection_curve(
    y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True
):
    """Background rejection 1 - FPR against signal efficiency TPR, over all thresholds.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: signal is positive, background negative.
    y_score : array-like of shape (n_samples,)
        Scores of the signal.
    pos_label : int, float, bool or str, default=None
        The label of the signal; by default 1 of 0 and 1 or of -1 and 1.
    {sample_weight}
    drop_intermediate : bool, default=True
        Whether to leave out points on straight lines.

    Returns
    -------
    efficiency : ndarray of shape (n_thresholds,)
        Rising shares of the signal that are kept.
    rejection : ndarray of shape (n_thresholds,)
        Falling shares of the background that are rejected.
    thresholds : ndarray of shape (n_thresholds,)
        Falling scores; the first is infinite.

    Examples
    --------
    >>> from fastml.metrics import background_rejection_curve
    >>> efficiency, rejection, thresholds = background_rejection_curve([0, 0, 1, 1],
    ...                                                                [0.1, 0.4, 0.35, 0.8])
    >>> rejection
    array([1. , 1. , 0.5, 0.5, 0. ])
    """
    found = thresholds_of(y_true, y_score, pos_label, sample_weight)
    fpr, tpr, thresholds = roc_points(found, drop_intermediate)
    return tpr, 1 - fpr, thresholds


@checked(**SCORED, rejection=[Interval(Real, 0, 1, closed="both")])
def signal_efficiency(y_true, y_score, rejection, *, pos_label=None, sample_weight=None):
    """Largest signal efficiency TPR at which at least this share of the background is rejected.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: signal is positive, background negative.
    y_score : array-like of shape (n_samples,)
        Scores of the signal.
    rejection : float
        The least background rejection 1 - FPR.
    pos_label : int, float, bool or str, default=None
        The label of the signal; by default 1 of 0 and 1 or of -1 and 1.
    {sample_weight}

    Returns
    -------
    efficiency : float

    Examples
    --------
    >>> from fastml.metrics import signal_efficiency
    >>> signal_efficiency([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.9)
    0.5
    """
    found = thresholds_of(y_true, y_score, pos_label, sample_weight)
    fpr, tpr, _ = roc_points(found, False)
    enough = 1 - fpr >= rejection
    return float(tpr[enough].max()) if enough.any() else float("nan")
