"""All measures of a task at once, as a table and as a dict with the same keys whatever the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions
from fastml.metrics._checks import ARRAYS, OPTIONAL_ARRAY, check_lengths, checked
from fastml.metrics._classification._labels import encode_labels
from fastml.metrics._classification._probabilities import brier_score_loss, log_loss
from fastml.metrics._classification._targets import check_labels, refuse_indicators
from fastml.metrics._ranking._areas import average_precision_score, roc_auc_score
from fastml.metrics._report._intervals import (
    label_plan,
    regression_plans,
    resampled_bounds,
    score_plans,
)
from fastml.metrics._report._measures import (
    CLASS_KEYS,
    CLASSIFICATION_KEYS,
    Counted,
    Residuals,
    measures_of_classes,
    measures_of_residuals,
    measures_of_tables,
    residuals_of,
)
from fastml.metrics._uncertainty._gather import draws_of
from fastml.metrics._uncertainty._measures import log_losses, squared_losses


@dataclass(frozen=True)
class MetricReport:
    """What `report` found; ``print`` shows the table.

    Attributes
    ----------
    task : "regression" or "classification"
    values : measure → number, NaN where it has no value; the keys depend on the task alone
    classes : of a classification, label → measure → number
    confusion : of a classification, rows of true and columns of predicted labels
    undefined : measures of classes that are quotients over zero, left out of averages
    intervals : if they were asked for, measure → low and high, NaN where there is no interval
    """

    task: str
    values: dict[str, float]
    classes: dict = field(default_factory=dict)
    confusion: NDArray | None = None
    undefined: tuple[str, ...] = ()
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def to_dict(self) -> dict:
        """Everything as dicts, lists and numbers."""
        return {
            "task": self.task,
            "values": dict(self.values),
            "classes": {label: dict(row) for label, row in self.classes.items()},
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "undefined": list(self.undefined),
            "intervals": {name: list(bounds) for name, bounds in self.intervals.items()},
        }

    def __str__(self) -> str:
        width = max(map(len, self.values))
        lines = [
            self.task,
            *(f"{name:<{width}}  {_shown(v)}{self._told(name)}" for name, v in self.values.items()),
        ]
        if self.classes:
            first = max(len("class"), *(len(str(label)) for label in self.classes))
            lines += ["", f"{'class':<{first}}" + "".join(f"{key:>12}" for key in CLASS_KEYS)]
            for label, row in self.classes.items():
                numbers = "".join(f"{_shown(row[key]):>12}" for key in CLASS_KEYS)
                lines.append(f"{label!s:<{first}}{numbers}")
        if self.undefined:
            lines += ["", f"undefined, left out of averages: {', '.join(self.undefined)}"]
        return "\n".join(lines)

    def _told(self, name: str) -> str:
        low, high = self.intervals.get(name, (float("nan"), float("nan")))
        return "" if np.isnan(low) else f"  [{_shown(low)}, {_shown(high)}]"


def _shown(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


@checked(
    y_true=ARRAYS,
    y_pred=OPTIONAL_ARRAY,
    y_score=OPTIONAL_ARRAY,
    task=[StrOptions({"auto", "regression", "classification"})],
    pos_label=[Real, str, "boolean", None],
    sample_weight=OPTIONAL_ARRAY,
    n_features=[Interval(Integral, 0, None, closed="left"), None],
    confidence_level=[Interval(Real, 0, 1, closed="neither"), None],
    n_resamples=[Interval(Integral, 1, None, closed="left")],
    stratify=["boolean", "array-like"],
    groups=OPTIONAL_ARRAY,
    random_state=["random_state"],
    n_jobs=[Integral, None],
)
def report(
    y_true,
    y_pred=None,
    *,
    y_score=None,
    task="auto",
    pos_label=None,
    sample_weight=None,
    n_features=None,
    confidence_level=None,
    n_resamples=1000,
    stratify=False,
    groups=None,
    random_state=None,
    n_jobs=None,
):
    """All measures of a regression or classification, with confidence intervals on request.

    One pass over the rows counts the pairs of labels, or sums over the residuals; scores are sorted
    once more for each area, residuals once for their median.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets or labels.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
        Predictions. Beside labels, numbers that are not whole, or a matrix, are scores.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
        Scores of the positive label, or probabilities of all labels, sorted. Without ``y_pred``
        labels follow from them: at 0.5 of probabilities, at 0 of other scores.
    task : {'auto', 'regression', 'classification'}, default='auto'
        'auto' is a regression for targets that are not whole numbers.
    pos_label : int, float, bool or str, default=None
        The positive one of two labels; by default the larger.
    {sample_weight}
    n_features : int, default=None
        Features of a regression, for adjusted R² and the residual standard error; else NaN.
    confidence_level : float, default=None
        Level of the intervals, such as 0.95; None means none. They are percentiles of the measures
        of resamples, the same for all measures, as of `bootstrap_metric`. The largest error has
        none: resamples say nothing of it.
    n_resamples : int, default=1000
        Number of resamples.
    stratify : bool or array-like of shape (n_samples,), default=False
        Whether each class keeps its number of rows in resamples; or strata of the rows.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, which are drawn together.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples.
    n_jobs : int, default=None
        Threads of the resamples; None means all cores. The result does not depend on it.

    Returns
    -------
    report : MetricReport
        ``print`` shows the table; ``values`` and ``to_dict()`` have the numbers.

    Examples
    --------
    >>> from fastml.metrics import report
    >>> found = report([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.values["roc_auc"], found.values["accuracy"]
    (0.75, 0.75)
    >>> print(report([3, -0.5, 2, 7], [2.5, 0.0, 2, 8]))
    regression
    n_samples                       4
    mean_error                      0.25
    mean_absolute_error             0.5
    ...
    >>> found = report([0, 1] * 50, [0, 1, 1, 1] * 25, confidence_level=0.9, random_state=0)
    >>> found.values["accuracy"], found.intervals["accuracy"]
    (0.75, (0.68, 0.82))
    """
    if y_pred is None and y_score is None:
        raise ValueError("report needs y_pred or y_score")
    if task == "auto":
        from sklearn.utils.multiclass import type_of_target

        kind = type_of_target(y_true, input_name="y_true")
        task = "regression" if kind.startswith("continuous") else "classification"
    if task == "regression":
        if y_score is not None:
            raise ValueError("y_score has no meaning for a regression")
        found = _of_regression(y_true, y_pred, sample_weight, n_features)
        plans = partial(regression_plans, y_true, y_pred, sample_weight, n_features)
    else:
        if y_score is None and _are_scores(y_pred):
            y_pred, y_score = None, y_pred
        found, plans = _of_classification(y_true, y_pred, y_score, pos_label, sample_weight)
    if confidence_level is None:
        return found
    draws, _ = draws_of(np.asarray(y_true).reshape(-1), stratify, groups, random_state)
    bounds = resampled_bounds(plans(), draws, n_resamples, confidence_level, n_jobs)
    nothing = float("nan"), float("nan")
    intervals = {key: bounds.get(key, nothing) for key in found.values}
    return replace(found, intervals=intervals)


def _are_scores(y_pred) -> bool:
    values = np.asarray(y_pred)
    if values.ndim == 2:
        return True
    return values.dtype.kind == "f" and bool((values != np.rint(values)).any())


# ---------------------------------------------------------------------------- regression


def _of_regression(y_true, y_pred, sample_weight, n_features) -> MetricReport:
    found = residuals_of(y_true, y_pred, sample_weight, whole=True)
    return regression_report(found, n_features)


def regression_report(residuals: Residuals, n_features) -> MetricReport:
    found = measures_of_residuals(residuals, n_features)
    return MetricReport("regression", {key: float(number) for key, number in found.items()})


# ---------------------------------------------------------------------------- classification


def _of_classification(
    y_true, y_pred, y_score, pos_label, sample_weight
) -> tuple[MetricReport, Callable[[], list]]:
    """The report, and what makes the plans of its resamples."""
    if y_score is not None:
        y_score = np.asarray(y_score)
        check_lengths(y_true, y_score)
        if y_pred is None:
            y_pred = _labels_of_scores(y_true, y_score, pos_label)
    pairs = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    counted = Counted(pairs.labels, pairs.table, pairs.y_true.shape[0])
    found = label_report(counted, pos_label)
    scored = None
    if y_score is not None:
        scored = _checked_scores(pairs.y_true, y_score, counted.labels, pos_label)
        found.values.update(_of_scores(scored, sample_weight))

    def plans() -> list:
        true = np.searchsorted(counted.labels, pairs.y_true)
        predicted = np.searchsorted(counted.labels, pairs.y_pred)
        place = _place(counted.labels, pos_label)
        of_labels = label_plan(true, predicted, counted, sample_weight, place)
        return [of_labels, *([] if scored is None else _plans_of_scores(scored, sample_weight))]

    return found, plans


def label_report(counted: Counted, pos_label) -> MetricReport:
    """All measures of labels, from the counts of their pairs."""
    values = dict.fromkeys(CLASSIFICATION_KEYS, float("nan"))
    values["n_samples"], values["n_classes"] = float(counted.n_samples), float(len(counted.labels))
    found = measures_of_tables(counted.table, _place(counted.labels, pos_label))
    values |= {key: float(value) for key, value in found.items()}
    columns = measures_of_classes(counted.table)
    rows = {
        label: {key: float(column[i]) for key, column in columns.items()}
        for i, label in enumerate(counted.labels.tolist())
    }
    undefined = tuple(
        f"{key} of {label}" for label, row in rows.items() for key in row if np.isnan(row[key])
    )
    return MetricReport("classification", values, rows, counted.table, undefined)


def _place(labels: NDArray, pos_label) -> int | None:
    """Where the positive one of two labels is; None for more or fewer."""
    if labels.shape[0] != 2:
        return None
    return int(np.flatnonzero(labels == _positive(labels, pos_label))[0])


def _positive(labels: NDArray, pos_label):
    if pos_label is None:
        return labels[-1]
    if pos_label not in labels:
        raise ValueError(
            f"pos_label={pos_label} is not a valid label. It should be one of {labels}"
        )
    return pos_label


def _labels_of_scores(y_true, y_score: NDArray, pos_label) -> NDArray:
    labels = encode_labels(np.asarray(y_true).reshape(-1)).labels
    if y_score.ndim == 2:
        if labels.shape[0] != y_score.shape[1]:
            raise ValueError(
                f"y_score has {y_score.shape[1]} columns, but y_true has {labels.shape[0]} labels"
            )
        return labels[y_score.argmax(axis=1)]
    if labels.shape[0] > 2:
        raise ValueError("scores of more than two labels must have a column for each")
    threshold = 0.5 if y_score.min() >= 0 and y_score.max() <= 1 else 0.0
    positive = _positive(labels, pos_label)
    negative = labels[labels != positive]
    other = negative[0] if negative.size else positive
    return np.where(y_score >= threshold, positive, other)


# ---------------------------------------------------------------------------- scores


class Scores(NamedTuple):
    """Codes of the true labels with the scores of code 1, or a column for each code."""

    codes: NDArray
    scores: NDArray
    are_probabilities: bool


def _checked_scores(y_true: NDArray, y_score: NDArray, labels: NDArray, pos_label) -> Scores | None:
    """None for a matrix of scores that are no probabilities: its columns have no common scale."""
    probabilities = bool(y_score.min() >= 0 and y_score.max() <= 1)
    if y_score.ndim == 2:
        if not (probabilities and np.allclose(y_score.sum(axis=1), 1)):
            return None
        if y_score.shape[1] > 2:
            return Scores(encode_labels(y_true).codes, y_score, True)
        place = _place(labels, pos_label)
        y_score = y_score[:, 1 if place is None else place]
    truth = np.asarray(y_true == _positive(labels, pos_label)).astype(int)
    return Scores(truth, y_score, probabilities)


def _of_scores(given: Scores | None, sample_weight) -> dict[str, float]:
    """Areas, and losses where the scores are probabilities."""
    found: dict[str, float] = {}
    if given is None:
        return found
    truth, scores, probabilities = given
    weights = {"sample_weight": sample_weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if scores.ndim == 2:
            found["roc_auc"] = roc_auc_score(truth, scores, multi_class="ovr", **weights)
            found["average_precision"] = average_precision_score(truth, scores, **weights)
            found["log_loss"] = log_loss(truth, scores, **weights)
            found["brier_score"] = brier_score_loss(truth, scores, **weights)
            return {key: float(value) for key, value in found.items()}
        if 0 < truth.sum() < truth.shape[0]:
            found["roc_auc"] = roc_auc_score(truth, scores, **weights)
            found["average_precision"] = average_precision_score(truth, scores, **weights)
        if probabilities:
            found["log_loss"] = log_loss(truth, scores, labels=[0, 1], **weights)
            found["brier_score"] = brier_score_loss(truth, scores, pos_label=1, **weights)
    return {key: float(value) for key, value in found.items()}


def _plans_of_scores(given: Scores, sample_weight) -> list:
    codes, p = given.codes, given.scores
    losses = {}
    if given.are_probabilities:
        p = p if p.dtype.char in "fd" else p.astype(np.float64)
        losses = {"log_loss": log_losses(codes, p), "brier_score": squared_losses(codes, p)}
    return score_plans(codes, p, sample_weight, losses)
