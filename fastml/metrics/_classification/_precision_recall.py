"""Precision, recall, F and Jaccard scores, specificity: shares of each label, averaged."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, Options, StrOptions
from fastml.metrics._checks import OPTIONAL_ARRAY, checked, warn_undefined
from fastml.metrics._classification._confusion import label_sums
from fastml.metrics._classification._targets import LABELS_OR_SPARSE, LabelSums, check_labels

OF_LABELS: dict = {
    **LABELS_OR_SPARSE,
    "labels": OPTIONAL_ARRAY,
    "pos_label": [Real, str, "boolean", None],
    "average": [StrOptions({"micro", "macro", "samples", "weighted", "binary"}), None],
    "zero_division": [Options(Real, {0.0, 1.0}), "nan", StrOptions({"warn"})],
}
BETA: dict = {"beta": [Interval(Real, 0.0, None, closed="both")]}
_AVERAGES = (None, "micro", "macro", "weighted", "samples")


def chosen_labels(targets, average, labels, pos_label):
    """The labels that count: ``pos_label`` for a binary average."""
    if average == "binary":
        present = targets.labels
        if targets.kind == "binary":
            if present.shape[0] >= 2 and pos_label not in present:
                raise ValueError(
                    f"pos_label={pos_label} is not a valid label. It should be one of {present}"
                )
            return [pos_label]
        options = list(_AVERAGES)
        if targets.kind == "multiclass":
            options.remove("samples")
        raise ValueError(
            f"Target is {targets.kind} but average='binary'. Please choose another average "
            f"setting, one of {options!r}."
        )
    if pos_label not in (None, 1):
        warnings.warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got "
            f"{average!r}). You may use labels=[pos_label] to specify a single positive class.",
            UserWarning,
            stacklevel=4,
        )
    return labels


def divide(numerator, denominator, what: tuple[str, str], average, warn_for, zero_division):
    """The quotient; ``zero_division`` over zero, with a warning if it says so.

    ``what`` is the metric's name and what there is none of.
    """
    denominator = np.asarray(denominator, dtype=np.float64)
    zero = denominator == 0
    if not zero.any():
        return numerator / denominator
    result = numerator / np.where(zero, 1.0, denominator)
    warn = isinstance(zero_division, str)
    result[zero] = 0.0 if warn else float(zero_division)
    name, missing = what
    if warn and name in warn_for:
        of, each = ("label", "sample") if average == "samples" else ("sample", "label")
        where = "due to" if result.shape[0] == 1 else f"in {each}s with"
        warn_undefined(
            f"{name.capitalize()} is ill-defined and being set to 0.0 {where} no {missing} {of}s. "
            "Use `zero_division` parameter to control this behavior.",
            stacklevel=5,
        )
    return result


def nan_average(values: NDArray, weights) -> float:
    """Mean of what is not NaN; NaN if nothing is, the plain mean if all weights are zero."""
    defined = ~np.isnan(values)
    if weights is None:
        if defined.all():
            return float(values.mean())
        return float(values[defined].mean()) if defined.any() else float("nan")
    if not defined.any():
        return float("nan")
    values, weights = values[defined], np.asarray(weights)[defined]
    if weights.sum() == 0:
        return float(values.mean())
    return float(np.average(values, weights=weights))


def summed(sums: LabelSums, average) -> LabelSums:
    """Sums over all labels for the micro average."""
    if average != "micro":
        return sums
    hits, predicted, true = (np.atleast_1d(each.sum()) for each in sums[:3])
    return LabelSums(hits, predicted, true, sums.all)


def precision_recall_f(sums: LabelSums, beta, average, warn_for, sample_weight, zero_division):
    """Precision, recall, F-beta and support from sums per label (or row), averaged."""
    sums = summed(sums, average)
    options = (average, warn_for, zero_division)
    precision = divide(sums.hits, sums.predicted, ("precision", "predicted"), *options)
    recall = divide(sums.hits, sums.true, ("recall", "true"), *options)
    if np.isposinf(beta):
        f_score = recall
    elif beta == 0:
        f_score = precision
    else:
        denominator = beta**2 * sums.true.astype(np.float64) + sums.predicted
        numerator = (1 + beta**2) * sums.hits.astype(np.float64)
        f_score = divide(numerator, denominator, ("f-score", "true nor predicted"), *options)
    if average is None:
        return precision, recall, f_score, sums.true
    weights = {"weighted": sums.true, "samples": sample_weight}.get(average)
    return (*(nan_average(each, weights) for each in (precision, recall, f_score)), None)


@checked(**OF_LABELS, **BETA, warn_for=[list, tuple, set])
def precision_recall_fscore_support(
    y_true,
    y_pred,
    *,
    beta=1.0,
    labels=None,
    pos_label=1,
    average=None,
    warn_for=("precision", "recall", "f-score"),
    sample_weight=None,
    zero_division="warn",
):
    """Precision, recall, F-beta and number of rows of every label, or their averages.

    Parameters
    ----------
    {labels_or_indicators}
    beta : float, default=1.0
        How much more recall counts than precision.
    {averaged_labels}
    average : {'micro', 'macro', 'samples', 'weighted', 'binary'} or None, default=None
        'binary': of the positive label. 'macro': mean over labels. 'weighted': mean weighted by
        their rows. 'micro': from sums over all labels. 'samples': mean over the rows of an
        indicator matrix. None: one per label.
    warn_for : list, tuple or set, default=("precision", "recall", "f-score")
        What to warn for.
    {sample_weight}
    {zero_division}

    Returns
    -------
    precision, recall, fbeta_score : float, or ndarray of shape (n_labels,) if average is None
    support : ndarray of shape (n_labels,), or None
        Rows of each label, or None for averages.

    Examples
    --------
    >>> from fastml.metrics import precision_recall_fscore_support
    >>> precision_recall_fscore_support([0, 1, 1, 0], [0, 1, 0, 0], average="macro")
    (0.83..., 0.75, 0.73..., None)
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    return precision_recall_f(sums, beta, average, warn_for, targets.weights, zero_division)


@checked(**OF_LABELS)
def precision_score(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """Share of the rows predicted as a label that have it: TP / (TP + FP).

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import precision_score
    >>> precision_score([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1], average="micro")
    0.33...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    warn_for = ("precision",)
    return precision_recall_f(sums, 1.0, average, warn_for, targets.weights, zero_division)[0]


@checked(**OF_LABELS)
def recall_score(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """Share of the rows of a label that are predicted as it: TP / (TP + FN).

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import recall_score
    >>> recall_score([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1], average="macro")
    0.33...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    warn_for = ("recall",)
    return precision_recall_f(sums, 1.0, average, warn_for, targets.weights, zero_division)[1]


@checked(**OF_LABELS, **BETA)
def fbeta_score(
    y_true,
    y_pred,
    *,
    beta,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """F-beta: (1 + b²) P R / (b² P + R) with precision P and recall R.

    Parameters
    ----------
    {labels_or_indicators}
    beta : float
        How much more recall counts than precision.
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import fbeta_score
    >>> fbeta_score([0, 1, 1, 0], [0, 1, 0, 0], beta=0.5)
    0.83...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    warn_for = ("f-score",)
    return precision_recall_f(sums, beta, average, warn_for, targets.weights, zero_division)[2]


@checked(**OF_LABELS)
def f1_score(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """F1: the harmonic mean of precision and recall.

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import f1_score
    >>> f1_score([0, 1, 1, 0], [0, 1, 0, 0])
    0.66...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    warn_for = ("f-score",)
    return precision_recall_f(sums, 1.0, average, warn_for, targets.weights, zero_division)[2]


def _averaged_share(targets, sums: LabelSums, shares: NDArray, average):
    """Shares of each label (or row) averaged, where no support means no weights."""
    if average is None:
        return shares
    if average == "weighted":
        return nan_average(shares, sums.true)
    return nan_average(shares, targets.weights if average == "samples" else None)


@checked(**{**OF_LABELS, "zero_division": [Options(Real, {0, 1}), StrOptions({"warn"})]})
def jaccard_score(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """Rows of a label that are predicted as it, among those of either: TP / (TP + FP + FN).

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    zero_division : {"warn", 0.0, 1.0}, default="warn"
        What stands for 0 / 0; "warn" is 0 with a warning.

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import jaccard_score
    >>> jaccard_score([0, 1, 1, 0], [0, 1, 0, 0])
    0.5
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = summed(label_sums(targets, labels, average == "samples"), average)
    either = sums.true + sums.predicted - sums.hits
    what = ("jaccard", "true or predicted")
    shares = divide(sums.hits, either, what, average, ("jaccard",), zero_division)
    return _averaged_share(targets, sums, shares, average)


# ---------------------------------------------------------------------------- beyond scikit-learn


def _negatives(targets, sums: LabelSums, average) -> tuple[NDArray, NDArray]:
    """Negatives that are predicted as such, and all negatives."""
    negatives = sums.all - sums.true
    right = negatives - (sums.predicted - sums.hits)
    if average == "micro":
        return np.atleast_1d(right.sum()), np.atleast_1d(negatives.sum())
    return right, negatives


@checked(**OF_LABELS)
def specificity_score(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """Share of the rows without a label that are not predicted as it: TN / (TN + FP).

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import specificity_score
    >>> specificity_score([0, 1, 0, 0], [0, 1, 1, 0])
    0.66...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    right, negatives = _negatives(targets, sums, average)
    what = ("specificity", "negative")
    shares = divide(right, negatives, what, average, what[:1], zero_division)
    return _averaged_share(targets, sums, shares, average)


@checked(**OF_LABELS)
def false_positive_rate(
    y_true,
    y_pred,
    *,
    labels=None,
    pos_label=1,
    average="binary",
    sample_weight=None,
    zero_division="warn",
):
    """Share of the rows without a label that are predicted as it: FP / (FP + TN).

    Parameters
    ----------
    {labels_or_indicators}
    {averaged_labels}
    {average}
    {sample_weight}
    {zero_division}

    Returns
    -------
    score : float, or ndarray of shape (n_labels,) if average is None

    Examples
    --------
    >>> from fastml.metrics import false_positive_rate
    >>> false_positive_rate([0, 1, 0, 0], [0, 1, 1, 0])
    0.33...
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    labels = chosen_labels(targets, average, labels, pos_label)
    sums = label_sums(targets, labels, average == "samples")
    right, negatives = _negatives(targets, sums, average)
    what = ("false positive rate", "negative")
    shares = divide(negatives - right, negatives, what, average, what[:1], zero_division)
    return _averaged_share(targets, sums, shares, average)
