"""Any metric at every threshold, and how probabilities compare with shares."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from fastml._sklearn import Interval, StrOptions
from fastml.metrics._checks import ARRAYS, OPTIONAL_ARRAY, check_lengths, checked, one_axis
from fastml.metrics._classification._labels import check_pos_label, encode_labels
from fastml.metrics._ranking._order import check_scores


@checked(
    y_true=ARRAYS,
    y_score=ARRAYS,
    metric_func=[callable],
    sample_weight=OPTIONAL_ARRAY,
    metric_params=[dict, None],
)
def metric_at_thresholds(y_true, y_score, metric_func, *, sample_weight=None, metric_params=None):
    """A metric of labels, at every distinct score as the threshold.

    Parameters
    ----------
    {y_true}
    y_score : array-like of shape (n_samples,)
        Scores.
    metric_func : callable
        ``metric_func(y_true, y_pred)``, with y_pred 1 from the threshold on and 0 below, rows
        sorted by falling score.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, handed over sorted; rows of weight 0 are left out.
    metric_params : dict, default=None
        Further parameters of the metric.

    Returns
    -------
    metric_values : ndarray of shape (n_thresholds,) or (n_thresholds, \\*n_outputs)
    thresholds : ndarray of shape (n_thresholds,)
        Falling scores.

    Examples
    --------
    >>> from fastml.metrics import accuracy_score, metric_at_thresholds
    >>> metric_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], accuracy_score)
    (array([0.75, 0.5 , 0.75, 0.5 ]), array([0.8 , 0.4 , 0.35, 0.1 ]))
    """
    from sklearn.utils import assert_all_finite

    y_true = one_axis(y_true)
    assert_all_finite(y_true)
    y_true, scores, weights = check_scores(y_true, y_score, sample_weight)
    order = np.argsort(-scores, kind="stable")
    y_true, scores = y_true[order], scores[order]
    parameters = dict(metric_params or {})
    if weights is not None:
        parameters["sample_weight"] = weights[order]
    last = np.append(np.flatnonzero(np.diff(scores)), scores.shape[0] - 1)
    thresholds = scores[last]
    values = [
        metric_func(y_true, (scores >= threshold).astype(np.int32), **parameters)
        for threshold in thresholds
    ]
    return np.asarray(values), thresholds


@checked(
    y_true=ARRAYS,
    y_prob=ARRAYS,
    pos_label=[Real, str, "boolean", None],
    n_bins=[Interval(Integral, 1, None, closed="left")],
    strategy=[StrOptions({"uniform", "quantile"})],
)
def calibration_curve(y_true, y_prob, *, pos_label=None, n_bins=5, strategy="uniform"):
    """Share of positives and mean probability in bins of the probability.

    Parameters
    ----------
    {y_true}
    y_prob : array-like of shape (n_samples,)
        Probabilities of the positive label.
    {pos_label}
    n_bins : int, default=5
        Number of bins; empty ones are left out.
    strategy : {'uniform', 'quantile'}, default='uniform'
        Bins of equal width, or with equally many rows.

    Returns
    -------
    prob_true : ndarray of shape (n_bins,) or smaller
    prob_pred : ndarray of shape (n_bins,) or smaller

    Examples
    --------
    >>> from fastml.metrics import calibration_curve
    >>> calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    (array([0., 1.]), array([0.15, 0.8 ]))
    """
    y_true, y_prob = one_axis(y_true), one_axis(y_prob)
    check_lengths(y_true, y_prob)
    labels = encode_labels(y_true).labels
    pos_label = check_pos_label(pos_label, y_true, labels)
    if y_prob.min() < 0 or y_prob.max() > 1:
        raise ValueError("y_prob has values outside [0, 1].")
    if len(labels) > 2:
        raise ValueError(f"Only binary classification is supported. Provided labels {labels}.")
    shares = np.linspace(0.0, 1.0, n_bins + 1)
    edges = np.percentile(y_prob, shares * 100) if strategy == "quantile" else shares
    places = np.searchsorted(edges[1:-1], y_prob)
    n_rows = np.bincount(places, minlength=n_bins)
    used = n_rows > 0
    positives = np.bincount(places, weights=y_true == pos_label, minlength=n_bins)
    sums = np.bincount(places, weights=y_prob, minlength=n_bins)
    return positives[used] / n_rows[used], sums[used] / n_rows[used]
