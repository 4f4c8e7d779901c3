"""scikit-learn's classification report."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np

from fastml._sklearn import Interval, Options, StrOptions
from fastml.metrics._checks import OPTIONAL_ARRAY, checked
from fastml.metrics._classification._confusion import label_sums
from fastml.metrics._classification._precision_recall import precision_recall_f
from fastml.metrics._classification._targets import LABELS_OR_SPARSE, check_labels

HEADERS = ("precision", "recall", "f1-score", "support")
_ALL = ("precision", "recall", "f-score")


@checked(
    **LABELS_OR_SPARSE,
    labels=OPTIONAL_ARRAY,
    target_names=OPTIONAL_ARRAY,
    digits=[Interval(Integral, 0, None, closed="left")],
    output_dict=["boolean"],
    zero_division=[Options(Real, {0.0, 1.0}), "nan", StrOptions({"warn"})],
)
def classification_report(
    y_true,
    y_pred,
    *,
    labels=None,
    target_names=None,
    sample_weight=None,
    digits=2,
    output_dict=False,
    zero_division="warn",
):
    """Precision, recall, F1 and number of rows of every label, and their averages.

    All from one count of the rows. The row "accuracy" stands for the micro average where all labels
    are counted: the two are equal.

    Parameters
    ----------
    {labels_or_indicators}
    labels : array-like of shape (n_labels,), default=None
        Labels to report, in this order; by default all.
    target_names : array-like of shape (n_labels,), default=None
        What to call them.
    {sample_weight}
    digits : int, default=2
        Digits behind the point; not of the dict.
    output_dict : bool, default=False
        Whether to return a dict.
    zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
        What stands for 0 / 0; "warn" is 0 with a warning.

    Returns
    -------
    report : str or dict

    Examples
    --------
    >>> from fastml.metrics import classification_report
    >>> print(classification_report(["a", "b", "b"], ["a", "b", "a"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               a       0.50      1.00      0.67         1
               b       1.00      0.50      0.67         2
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    given = labels is not None
    labels = np.asarray(labels) if given else targets.labels
    several = targets.kind == "multilabel-indicator"
    complete = not several and (not given or set(labels) >= set(targets.labels))
    names = _check_names(target_names, labels, given)

    sums = label_sums(targets, labels)

    def scores(average):
        found = label_sums(targets, labels, True) if average == "samples" else sums
        return precision_recall_f(found, 1.0, average, _ALL, targets.weights, zero_division)

    per_label = scores(None)
    support = per_label[3]
    total = np.sum(support)
    averages = [
        ("accuracy" if average == "micro" and complete else f"{average} avg", scores(average)[:3])
        for average in ("micro", "macro", "weighted", *(("samples",) if several else ()))
    ]
    if output_dict:
        return _as_dict(names, per_label, averages, total)
    return _as_text(names, per_label, averages, total, digits)


def _check_names(target_names, labels, given: bool):
    if target_names is None:
        return [str(label) for label in labels]
    if len(labels) != len(target_names):
        if not given:
            raise ValueError(
                f"Number of classes, {len(labels)}, does not match size of target_names, "
                f"{len(target_names)}. Try specifying the labels parameter"
            )
        warnings.warn(
            f"labels size, {len(labels)}, does not match size of target_names, {len(target_names)}",
            stacklevel=4,
        )
    return target_names


def _as_dict(names, per_label, averages, total) -> dict:
    report: dict = {
        name: dict(zip(HEADERS, map(float, row))) for name, *row in zip(names, *per_label)
    }
    for name, scores in averages:
        report[name] = dict(zip(HEADERS, map(float, (*scores, total))))
    if "accuracy" in report and averages[0][0] == "accuracy":
        report["accuracy"] = averages[0][1][0]
    return report


def _as_text(names, per_label, averages, total, digits: int) -> str:
    width = max(*(len(name) for name in names), len("weighted avg"), digits)
    lines = [f"{'':>{width}s} " + "".join(f" {header:>9}" for header in HEADERS), ""]

    def line(name, scores, support):
        return f"{name:>{width}s} " + "".join(scores) + f" {support:>9}"

    def number(value):
        return f" {value:>9.{digits}f}"

    for name, *scores, support in zip(names, *per_label):
        lines.append(line(name, map(number, scores), support))
    lines.append("")
    for name, scores in averages:
        shown = [number(score) for score in scores]
        if name == "accuracy":
            shown[:2] = [" " * 10, " " * 10]
        lines.append(line(name, shown, total))
    return "\n".join(lines) + "\n"
