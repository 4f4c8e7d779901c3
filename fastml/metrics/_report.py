"""All measures of a task at once, as a table and as a dict with the same keys whatever the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions
from fastml.metrics._checks import ARRAYS, OPTIONAL_ARRAY, check_lengths, checked, mean
from fastml.metrics._classification._labels import encode_labels
from fastml.metrics._classification._precision_recall import nan_average
from fastml.metrics._classification._probabilities import brier_score_loss, log_loss
from fastml.metrics._classification._targets import check_labels, refuse_indicators
from fastml.metrics._ranking._areas import average_precision_score, roc_auc_score
from fastml.metrics._regression._targets import PairMoments, moments, refuse_several_outputs

REGRESSION_KEYS = (
    "n_samples",
    "mean_error",
    "mean_absolute_error",
    "median_absolute_error",
    "max_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_percentage_error",
    "relative_absolute_error",
    "relative_squared_error",
    "r2",
    "adjusted_r2",
    "explained_variance",
    "residual_sum_of_squares",
    "total_sum_of_squares",
    "residual_standard_error",
)
CLASSIFICATION_KEYS = (
    "n_samples",
    "n_classes",
    "accuracy",
    "error_rate",
    "balanced_accuracy",
    "precision",
    "recall",
    "specificity",
    "false_positive_rate",
    "f1",
    "precision_macro",
    "recall_macro",
    "f1_macro",
    "precision_weighted",
    "recall_weighted",
    "f1_weighted",
    "matthews_corrcoef",
    "cohen_kappa",
    "roc_auc",
    "average_precision",
    "log_loss",
    "brier_score",
)
CLASS_KEYS = ("precision", "recall", "f1", "specificity", "support", "predicted")


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
    """

    task: str
    values: dict[str, float]
    classes: dict = field(default_factory=dict)
    confusion: NDArray | None = None
    undefined: tuple[str, ...] = ()

    def to_dict(self) -> dict:
        """Everything as dicts, lists and numbers."""
        return {
            "task": self.task,
            "values": dict(self.values),
            "classes": {label: dict(row) for label, row in self.classes.items()},
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "undefined": list(self.undefined),
        }

    def __str__(self) -> str:
        width = max(map(len, self.values))
        lines = [self.task, *(f"{name:<{width}}  {_shown(v)}" for name, v in self.values.items())]
        if self.classes:
            first = max(len("class"), *(len(str(label)) for label in self.classes))
            lines += ["", f"{'class':<{first}}" + "".join(f"{key:>12}" for key in CLASS_KEYS)]
            for label, row in self.classes.items():
                numbers = "".join(f"{_shown(row[key]):>12}" for key in CLASS_KEYS)
                lines.append(f"{label!s:<{first}}{numbers}")
        if self.undefined:
            lines += ["", f"undefined, left out of averages: {', '.join(self.undefined)}"]
        return "\n".join(lines)


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
):
    """All measures of a regression or classification.

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
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    n_features : int, default=None
        Features of a regression, for adjusted R² and the residual standard error; else NaN.

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
        return _of_regression(y_true, y_pred, sample_weight, n_features)
    if y_score is None and _are_scores(y_pred):
        y_pred, y_score = None, y_pred
    return _of_classification(y_true, y_pred, y_score, pos_label, sample_weight)


def _are_scores(y_pred) -> bool:
    values = np.asarray(y_pred)
    if values.ndim == 2:
        return True
    return values.dtype.kind == "f" and bool((values != np.rint(values)).any())


# ---------------------------------------------------------------------------- regression


class Residuals(NamedTuple):
    """What the measures of a regression are made of; NaN for what is not known."""

    n_samples: int
    weight: float
    moments: PairMoments
    largest: float  # |d|
    percentage: float  # mean |d| / |y|
    median: float  # of |d|
    apart: float  # mean |y - mean y|


def _of_regression(y_true, y_pred, sample_weight, n_features) -> MetricReport:
    found = residuals_of(y_true, y_pred, sample_weight, whole=True)
    return regression_report(found, n_features)


def residuals_of(y_true, y_pred, sample_weight, *, whole: bool) -> Residuals:
    """Moments, and if these are the whole data also what cannot be merged."""
    targets, found = moments(y_true, y_pred, sample_weight)
    refuse_several_outputs(targets, "report")
    y, weights = targets.y_true, targets.weights
    size = np.abs(y - targets.y_pred)
    shares = size / np.maximum(np.abs(y), np.finfo(np.float64).eps)
    return Residuals(
        y.shape[0],
        float(y.shape[0] if weights is None else weights.sum()),
        found,
        float(size.max()),
        float(mean(shares, weights)),
        _median(size, weights) if whole else float("nan"),
        float(mean(np.abs(y - found.true), weights)) if whole else float("nan"),
    )


def regression_report(residuals: Residuals, n_features) -> MetricReport:
    n, total, found, largest, percentage, median, apart = residuals
    left = np.nan if n_features is None else n - n_features - 1
    left = left if left > 0 else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.float64(found.square) / found.true_variance
        numbers = (
            n,
            -np.float64(found.residual),
            found.absolute,
            median,
            largest,
            found.square,
            np.sqrt(found.square),
            percentage,
            np.float64(found.absolute) / apart,
            relative,
            1 - relative,
            1 - relative * (n - 1) / left,
            1 - np.float64(found.residual_variance) / found.true_variance,
            found.square * total,
            found.true_variance * total,
            np.sqrt(found.square * total / left),
        )
    values = {key: _defined(number) for key, number in zip(REGRESSION_KEYS, numbers)}
    return MetricReport("regression", values)


def _median(size: NDArray, weights) -> float:
    if weights is None:
        return float(np.median(size))
    from fastml._sklearn import weighted_percentile

    return float(weighted_percentile(size, sample_weight=weights, average=True))


def _defined(number) -> float:
    return float(number) if np.isfinite(number) else float("nan")


# ---------------------------------------------------------------------------- classification


class Counted(NamedTuple):
    """What the measures of labels are made of."""

    labels: NDArray
    table: NDArray  # weight of each pair (true, predicted)
    n_samples: int


def counted_pairs(y_true, y_pred, sample_weight) -> Counted:
    pairs = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    return Counted(pairs.labels, pairs.table, pairs.y_true.shape[0])


def _of_classification(y_true, y_pred, y_score, pos_label, sample_weight) -> MetricReport:
    if y_score is not None:
        y_score = np.asarray(y_score)
        check_lengths(y_true, y_score)
        if y_pred is None:
            y_pred = _labels_of_scores(y_true, y_score, pos_label)
    counted = counted_pairs(y_true, y_pred, sample_weight)
    found = label_report(counted, pos_label)
    if y_score is not None:
        found.values.update(_of_scores(y_true, y_score, counted.labels, pos_label, sample_weight))
    return found


def label_report(counted: Counted, pos_label) -> MetricReport:
    """All measures of labels, from the counts of their pairs."""
    values = dict.fromkeys(CLASSIFICATION_KEYS, float("nan"))
    rows, undefined = _per_class(counted)
    values |= _of_all_labels(counted, rows)
    if counted.labels.shape[0] == 2:
        of_one = rows[_plain(_positive(counted.labels, pos_label))]
        names = ("precision", "recall", "specificity", "f1")
        values |= {name: of_one[name] for name in names}
        values["false_positive_rate"] = 1 - of_one["specificity"]
    return MetricReport("classification", values, rows, counted.table, undefined)


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label


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


def _sums(counted: Counted) -> tuple[NDArray, NDArray, NDArray, float]:
    """Weights predicted right, predicted, true, and of all."""
    table = counted.table
    return np.diagonal(table), table.sum(axis=0), table.sum(axis=1), float(table.sum())


def _per_class(counted: Counted) -> tuple[dict, tuple[str, ...]]:
    """Measures of every label, and the names of those that are quotients over zero."""
    hits, predicted, true, total = _sums(counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "precision": hits / predicted,
            "recall": hits / true,
            "f1": 2 * hits / (true + predicted),
            "specificity": (total - true - predicted + hits) / (total - true),
            "support": true,
            "predicted": predicted,
        }
    labels = counted.labels.tolist()
    rows = {
        label: {key: float(column[i]) for key, column in columns.items()}
        for i, label in enumerate(labels)
    }
    undefined = [
        f"{key} of {label}" for label, row in rows.items() for key in row if np.isnan(row[key])
    ]
    return rows, tuple(undefined)


def _of_all_labels(counted: Counted, rows: dict) -> dict[str, float]:
    hits, predicted, true, total = _sums(counted)
    accuracy = float(hits.sum()) / total
    by_chance = float((true / total) @ (predicted / total))
    spreads = (1 - ((predicted / total) ** 2).sum()) * (1 - ((true / total) ** 2).sum())
    found: dict[str, float] = {
        "n_samples": counted.n_samples,
        "n_classes": counted.labels.shape[0],
        "accuracy": accuracy,
        "error_rate": 1 - accuracy,
        "matthews_corrcoef": (accuracy - by_chance) / np.sqrt(spreads) if spreads > 0 else 0.0,
        "cohen_kappa": (accuracy - by_chance) / (1 - by_chance) if by_chance < 1 else np.nan,
    }
    for key in ("precision", "recall", "f1"):
        column = np.array([row[key] for row in rows.values()])
        found[f"{key}_macro"] = nan_average(column, None)
        found[f"{key}_weighted"] = nan_average(column, true)
    found["balanced_accuracy"] = found["recall_macro"]
    return {key: float(value) for key, value in found.items()}


def _of_scores(y_true, y_score: NDArray, labels, pos_label, sample_weight) -> dict[str, float]:
    """Areas, and losses where the scores are probabilities."""
    found = {}
    probabilities = bool(y_score.min() >= 0 and y_score.max() <= 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if y_score.ndim == 1:
            truth = np.asarray(np.asarray(y_true) == _positive(labels, pos_label)).astype(int)
            if 0 < truth.sum() < truth.shape[0]:
                found["roc_auc"] = roc_auc_score(truth, y_score, sample_weight=sample_weight)
                found["average_precision"] = average_precision_score(
                    truth, y_score, sample_weight=sample_weight
                )
            if probabilities:
                found["log_loss"] = log_loss(
                    truth, y_score, labels=[0, 1], sample_weight=sample_weight
                )
                found["brier_score"] = brier_score_loss(
                    truth, y_score, pos_label=1, sample_weight=sample_weight
                )
        elif probabilities and np.allclose(y_score.sum(axis=1), 1):
            scores = y_score[:, 1] if y_score.shape[1] == 2 else y_score
            found["log_loss"] = log_loss(y_true, y_score, sample_weight=sample_weight)
            found["brier_score"] = brier_score_loss(y_true, y_score, sample_weight=sample_weight)
            found["roc_auc"] = roc_auc_score(
                y_true, scores, multi_class="ovr", sample_weight=sample_weight
            )
            if y_score.shape[1] > 2:
                found["average_precision"] = average_precision_score(
                    y_true, y_score, sample_weight=sample_weight
                )
    return {key: float(value) for key, value in found.items()}
