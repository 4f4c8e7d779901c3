"""Numbers behind the curves of scores: counts of both classes above every threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RankedCounts(NamedTuple):
    """Weights above thresholds, the highest threshold first."""

    true: NDArray  # of the positive class
    false: NDArray
    thresholds: NDArray
    positives: float
    negatives: float


def ranked_counts(y_true, y_score, sample_weight=None, pos_label=None) -> RankedCounts:
    """Sort once; one entry for every different score."""
    from sklearn.utils.validation import check_consistent_length, column_or_1d

    y, score = column_or_1d(y_true), column_or_1d(y_score).astype(np.float64)
    check_consistent_length(y, score, sample_weight)
    if not np.isfinite(score).all():
        raise ValueError("y_score must be finite, it has NaN or infinity")
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    positive = y == positive_class(y, pos_label)
    order = np.argsort(-score, kind="stable")
    score, positive, weights = score[order], positive[order], weights[order]
    ends = np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)
    true = np.cumsum(np.where(positive, weights, 0.0))[ends]
    false = np.cumsum(np.where(positive, 0.0, weights))[ends]
    return RankedCounts(true, false, score[ends], float(true[-1]), float(false[-1]))


def positive_class(y, pos_label):
    """The class named, or the greater of two."""
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(f"the curve is of two classes, y_true has {len(classes)}")
    if pos_label is None:
        return classes[-1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a class of y_true: {list(classes)}")
    return pos_label


def roc_points(counts: RankedCounts) -> tuple[NDArray, NDArray]:
    """Shares of negatives and of positives above each threshold, from (0, 0) to (1, 1)."""
    if counts.positives == 0.0 or counts.negatives == 0.0:
        raise ValueError("y_true has only one class: there is no curve")
    false = np.concatenate([[0.0], counts.false / counts.negatives])
    return false, np.concatenate([[0.0], counts.true / counts.positives])


def area_below(x, y) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2.0))


def model_scores(estimator, X, response_method="auto", pos_label=None):
    """A fitted classifier's scores of the positive class, that class, and the model's name."""
    from fastml._sklearn import get_response_values

    asked = ["predict_proba", "decision_function"] if response_method == "auto" else response_method
    scores, positive = get_response_values(estimator, X, response_method=asked, pos_label=pos_label)
    if np.ndim(scores) != 1:
        raise ValueError(f"the curve is of two classes, {type(estimator).__name__} has more")
    return scores, positive, type(estimator).__name__
