"""Confusion matrices."""

from __future__ import annotations

import warnings

import numpy as np

from fastml._sklearn import StrOptions
from fastml.metrics._checks import OPTIONAL_ARRAY, checked
from fastml.metrics._classification._targets import (
    LABELS,
    LABELS_OR_SPARSE,
    IndicatorPairs,
    LabelPairs,
    LabelSums,
    check_labels,
    refuse_indicators,
)


def warn_of_single_label(n_labels: int) -> None:
    if n_labels == 1:
        warnings.warn(
            "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have "
            "the correct shape, use the 'labels' parameter to pass all known labels.",
            UserWarning,
            stacklevel=5,
        )


def counted_labels(y_true, y_pred, labels, sample_weight) -> tuple[LabelPairs, np.ndarray]:
    """The checked labels and their confusion matrix, with a warning of a single label."""
    targets = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    if labels is not None:
        labels = np.asarray(labels)
        if labels.size == 0:
            raise ValueError("'labels' should contain at least one label.")
        if not np.isin(targets.labels[targets.in_true], labels).any():
            raise ValueError("At least one label specified must be in y_true")
    found = targets.matrix(labels)
    warn_of_single_label(found.shape[0])
    return targets, found


@checked(**LABELS, labels=OPTIONAL_ARRAY, normalize=[StrOptions({"true", "pred", "all"}), None])
def confusion_matrix(y_true, y_pred, *, labels=None, sample_weight=None, normalize=None):
    """C[i, j] = rows of label i that were predicted as label j.

    [[TN, FP], [FN, TP]] for two labels.

    Parameters
    ----------
    {one_label}
    labels : array-like of shape (n_classes,), default=None
        Rows and columns, in this order; other labels are left out. By default all that occur,
        sorted.
    {sample_weight}
    normalize : {'true', 'pred', 'all'}, default=None
        What sums to 1: rows, columns, or all.

    Returns
    -------
    C : ndarray of shape (n_classes, n_classes)

    Examples
    --------
    >>> from fastml.metrics import confusion_matrix
    >>> confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    array([[2, 0, 0],
           [0, 0, 1],
           [1, 0, 2]])
    """
    found = counted_labels(y_true, y_pred, labels, sample_weight)[1]
    if normalize is not None:
        axis = {"true": 1, "pred": 0, "all": None}[normalize]
        with np.errstate(all="ignore"):
            found = np.nan_to_num(found / found.sum(axis=axis, keepdims=True))
    return found


def label_sums(targets, labels, samplewise: bool = False) -> LabelSums:
    """Sums per label, or per row."""
    if isinstance(targets, IndicatorPairs):
        return targets.sums_of(labels, by_rows=samplewise)
    if samplewise:
        raise ValueError(
            "Samplewise metrics are not available outside of multilabel classification."
        )
    return targets.sums_of(labels)


@checked(**LABELS_OR_SPARSE, labels=OPTIONAL_ARRAY, samplewise=["boolean"])
def multilabel_confusion_matrix(
    y_true, y_pred, *, sample_weight=None, labels=None, samplewise=False
):
    """[[TN, FP], [FN, TP]] of every label against the rest.

    Parameters
    ----------
    {labels_or_indicators}
    {sample_weight}
    labels : array-like of shape (n_classes,), default=None
        Labels, or columns of the indicator matrix, in this order; by default all.
    samplewise : bool, default=False
        Whether to count per row of an indicator matrix, not per label.

    Returns
    -------
    matrices : ndarray of shape (n_outputs, 2, 2), or (n_samples, 2, 2) if samplewise

    Examples
    --------
    >>> from fastml.metrics import multilabel_confusion_matrix
    >>> multilabel_confusion_matrix([0, 1, 1], [0, 0, 1])
    array([[[1, 1],
            [0, 1]],
    <BLANKLINE>
           [[1, 0],
            [1, 1]]])
    """
    sums = label_sums(check_labels(y_true, y_pred, sample_weight), labels, samplewise)
    false_positives = sums.predicted - sums.hits
    false_negatives = sums.true - sums.hits
    negatives = sums.all - sums.hits - false_positives - false_negatives
    stacked = np.stack([negatives, false_positives, false_negatives, sums.hits])
    return stacked.T.reshape(-1, 2, 2)
