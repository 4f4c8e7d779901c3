"""Measures of a task from what a pass over the rows gathers: of the data, or of many resamples.

Everything takes numbers or arrays of them, one for each resample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml.metrics._checks import mean
from fastml.metrics._classification._targets import check_labels, refuse_indicators
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


# ---------------------------------------------------------------------------- regression


class Residuals(NamedTuple):
    """What the measures of a regression are made of; NaN for what is not known."""

    n_samples: int | NDArray
    weight: float | NDArray
    moments: PairMoments
    largest: float | NDArray  # |d|
    percentage: float | NDArray  # mean |d| / |y|
    median: float | NDArray  # of |d|
    apart: float | NDArray  # mean |y - mean y|


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


def _median(size: NDArray, weights) -> float:
    if weights is None:
        return float(np.median(size))
    from fastml._sklearn import weighted_percentile

    return float(weighted_percentile(size, sample_weight=weights, average=True))


def measures_of_residuals(residuals: Residuals, n_features) -> dict[str, NDArray]:
    """All measures of a regression, NaN where they have no value."""
    n, total, found, largest, percentage, median, apart = residuals
    left = np.asarray(n) - (np.nan if n_features is None else n_features + 1.0)
    left = np.where(left > 0, left, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.float64(found.square) / found.true_variance
        numbers = (
            n,
            -np.asarray(found.residual),
            found.absolute,
            median,
            largest,
            found.square,
            np.sqrt(found.square),
            percentage,
            np.float64(found.absolute) / apart,
            relative,
            1 - relative,
            1 - relative * (np.asarray(n) - 1) / left,
            1 - np.float64(found.residual_variance) / found.true_variance,
            found.square * total,
            found.true_variance * total,
            np.sqrt(found.square * total / left),
        )
    return {
        key: np.where(np.isfinite(number), number, np.nan)
        for key, number in zip(REGRESSION_KEYS, numbers)
    }


# ---------------------------------------------------------------------------- classification


class Losses(NamedTuple):
    """Means of the losses of probabilities, and the weight of their rows."""

    weight: float
    log_loss: float
    brier_score: float


class Counted(NamedTuple):
    """What the measures of labels are made of."""

    labels: NDArray
    table: NDArray  # weight of each pair (true, predicted)
    n_samples: int
    losses: Losses | None = None


def counted_pairs(y_true, y_pred, sample_weight) -> Counted:
    pairs = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    return Counted(pairs.labels, pairs.table, pairs.y_true.shape[0])


def _sums(tables: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Weights predicted right, predicted, true, and of all, of tables (..., true, predicted)."""
    hits = np.diagonal(tables, axis1=-2, axis2=-1)
    return hits, tables.sum(axis=-2), tables.sum(axis=-1), tables.sum(axis=(-2, -1))


def measures_of_classes(tables: NDArray) -> dict[str, NDArray]:
    """Measures of every label, NaN where they are quotients over zero."""
    hits, predicted, true, total = _sums(tables)
    total = total[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "precision": hits / predicted,
            "recall": hits / true,
            "f1": 2 * hits / (true + predicted),
            "specificity": (total - true - predicted + hits) / (total - true),
            "support": true,
            "predicted": predicted,
        }


def measures_of_tables(tables: NDArray, positive: int | None) -> dict[str, NDArray]:
    """Measures of all labels together; of two labels also those of the ``positive`` one."""
    hits, predicted, true, total = _sums(tables)
    of_classes = measures_of_classes(tables)
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = hits.sum(axis=-1) / total
        p, q = true / total[..., None], predicted / total[..., None]
        by_chance = (p * q).sum(axis=-1)
        spreads = (1 - (p**2).sum(axis=-1)) * (1 - (q**2).sum(axis=-1))
        together = (accuracy - by_chance) / np.sqrt(np.maximum(spreads, 0.0))
        found = {
            "accuracy": accuracy,
            "error_rate": 1 - accuracy,
            "matthews_corrcoef": np.where(spreads > 0, together, 0.0),
            "cohen_kappa": np.where(
                by_chance < 1, (accuracy - by_chance) / (1 - by_chance), np.nan
            ),
        }
        for key in ("precision", "recall", "f1"):
            column = of_classes[key]
            there = ~np.isnan(column)
            filled = np.where(there, column, 0.0)
            plain = filled.sum(axis=-1) / there.sum(axis=-1)
            weight = np.where(there, true, 0.0).sum(axis=-1)
            found[f"{key}_macro"] = plain
            found[f"{key}_weighted"] = np.where(
                weight > 0, (filled * true).sum(axis=-1) / weight, plain
            )
    found["balanced_accuracy"] = found["recall_macro"]
    if positive is not None:
        for key in ("precision", "recall", "specificity", "f1"):
            found[key] = of_classes[key][..., positive]
        found["false_positive_rate"] = 1 - found["specificity"]
    return found
