"""Measures of a report for resamples of the rows: what is gathered for several measures at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml.kernels.scores.resample import Draws, draw_counts
from fastml.metrics._regression._targets import PairMoments, check_targets
from fastml.metrics._report._measures import (
    Counted,
    Residuals,
    measures_of_residuals,
    measures_of_tables,
)
from fastml.metrics._uncertainty._areas import Areas, areas_of_classes
from fastml.metrics._uncertainty._gather import Cells, Sums, Truth

Plan = Any
"""Has ``resampled(draws, n_resamples, n_jobs)``: measure → array of its value for each resample."""


def resampled_bounds(
    plans: Iterable[Plan], draws: Draws, n_resamples: int, level: float, n_jobs
) -> dict[str, tuple[float, float]]:
    """Measure → percentiles of its values for the resamples in which it has one."""
    shares = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    found = {}
    for plan in plans:
        for name, values in plan.resampled(draws, n_resamples, n_jobs).items():
            values = values[~np.isnan(values)]
            if len(values):
                low, high = np.quantile(values, shares)
                found[name] = float(low), float(high)
    return found


class _Named:
    """A plan of one number, with its name."""

    def __init__(self, name: str, plan: Plan):
        self.name, self.plan = name, plan

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> dict[str, NDArray]:
        return {self.name: self.plan.resampled(draws, n_resamples, n_jobs)}


# ---------------------------------------------------------------------------- regression


def regression_plans(y_true, y_pred, sample_weight, n_features) -> list[Plan]:
    targets = check_targets(y_true, y_pred, sample_weight)
    y, p = targets.y_true.astype(np.float64), targets.y_pred.astype(np.float64)
    w = np.ones(len(y)) if targets.weights is None else targets.weights.astype(np.float64)
    e = y - p
    middle = float(np.average(e, weights=w)), float(np.average(y, weights=w))
    # Squares about the means of the data: of those about the means of a resample few digits go.
    e0, y0 = e - middle[0], y - middle[1]
    percentage = np.abs(e) / np.maximum(np.abs(y), np.finfo(np.float64).eps)
    columns = np.column_stack([np.abs(e), e**2, e0, e0**2, y0, y0**2, percentage, np.ones(len(y))])
    values = np.column_stack([w[:, None] * columns, np.ones(len(y))])
    finish = partial(_of_sums, middle=middle, n_features=n_features)
    return [Sums(values, finish), _OrderStatistics(y, np.abs(e), w)]


def _of_sums(sums: NDArray, middle, n_features) -> dict[str, NDArray]:
    weight, n = sums[:, 7], sums[:, 8]
    with np.errstate(divide="ignore", invalid="ignore"):
        absolute, square, e0, e0e0, y0, y0y0, percentage = sums[:, :7].T / weight
        moments = PairMoments(
            absolute,
            square,
            middle[0] + e0,
            _spread(e0, e0e0),
            middle[1] + y0,
            _spread(y0, y0y0),
        )
    nothing = np.full(len(sums), np.nan)
    residuals = Residuals(n, weight, moments, nothing, percentage, nothing, nothing)
    found = measures_of_residuals(residuals, n_features)
    del found["n_samples"], found["median_absolute_error"], found["relative_absolute_error"]
    return found


def _spread(mean: NDArray, square: NDArray) -> NDArray:
    """The variance, 0 where only rounding is left of it."""
    found = square - mean * mean
    return np.where(found <= 1e-13 * square, 0.0, found)


class _OrderStatistics:
    """Median of the errors and their size relative to deviations from the mean: no sums of rows."""

    def __init__(self, y: NDArray, size: NDArray, weights: NDArray):
        self.y, self.size, self.weights = y, size, weights

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> dict[str, NDArray]:
        counts = np.empty(int(draws.starts[-1]), np.int32)
        order = np.argsort(self.size, kind="stable")
        size = self.size[order]
        medians, relative = np.empty(n_resamples), np.empty(n_resamples)
        for b in range(n_resamples):
            draw_counts(draws.seed, draws.starts, b, counts)
            times = counts[draws.unit] * self.weights
            medians[b] = _weighted_median(size, times[order])
            total = times.sum()
            apart = times @ np.abs(self.y - times @ self.y / total) if total > 0 else 0.0
            relative[b] = times @ self.size / apart if apart > 0 else np.nan
        return {"median_absolute_error": medians, "relative_absolute_error": relative}


def _weighted_median(ascending: NDArray, weights: NDArray) -> float:
    """Where half of the weight is reached; half way to the next value if it is reached exactly."""
    used = weights > 0
    values, below = ascending[used], np.cumsum(weights[used])
    if not len(values):
        return float("nan")
    half = below[-1] / 2.0
    at = min(int(np.searchsorted(below, half)), len(values) - 1)
    after = min(at + (below[at] == half), len(values) - 1)
    return float((values[at] + values[after]) / 2.0)


# ---------------------------------------------------------------------------- classification


def label_plan(true: NDArray, predicted: NDArray, counted: Counted, weights, positive) -> Plan:
    """Of the confusion table of each resample, from the codes of true and predicted labels."""
    k = counted.labels.shape[0]
    given = np.ones(len(true)) if weights is None else np.asarray(weights, np.float64)
    finish = partial(_of_cells, k=k, positive=positive)
    return Cells(true * k + predicted, given, k * k, finish)


def _of_cells(sums: NDArray, k: int, positive) -> dict[str, NDArray]:
    return measures_of_tables(sums.reshape(-1, k, k), positive)


def score_plans(codes: NDArray, scores: NDArray, weights, losses: dict[str, NDArray]) -> list[Plan]:
    """Areas of scores of code 1, or of a column for each code, and means of ``losses`` of rows."""
    given = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    plans: list[Plan] = []
    if scores.ndim == 2:
        truth = Truth(codes, scores, given, None)
        plans += [_Named("roc_auc", areas_of_classes(truth))]
        plans += [_Named("average_precision", areas_of_classes(truth, precision=True))]
    elif 0 < codes.sum() < len(codes):
        numbers = scores.astype(np.float64)
        plans += [
            _Named(name, Areas(codes == 1, numbers, given, precision=precision))
            for name, precision in (("roc_auc", False), ("average_precision", True))
        ]
    columns = [given * loss for loss in losses.values()]
    if columns:
        plans.append(Sums(np.column_stack([*columns, given]), partial(_means, names=tuple(losses))))
    return plans


def _means(sums: NDArray, names: tuple[str, ...]) -> dict[str, NDArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return {name: sums[:, j] / sums[:, -1] for j, name in enumerate(names)}
