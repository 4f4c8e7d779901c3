"""Named metrics as what a kernel gathers from a resample, and a formula of that.

Means and R² need weighted sums of columns, everything that a confusion matrix says its cells, areas
under curves one pass over the rows by falling score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.scores.resample import (
    Draws,
    Ranking,
    area_of_ranking,
    areas_of_resamples,
    cells_of_resamples,
    draw_counts,
    sums_of_resamples,
)

COST_OF_ROW = 8.0
"""Multiply-adds that a row of a resample is worth."""

UNITS_AT_ONCE = 4096


class Truth(NamedTuple):
    """Targets and predictions as they were given, checked for their lengths."""

    y_true: NDArray
    y_pred: NDArray
    weights: NDArray
    pos_label: object


def _run(kernel, draws: Draws, arguments: tuple, out: NDArray, n_jobs) -> NDArray:
    """Every resample's numbers; chunks by the size of the data alone."""
    n_rows = len(draws.unit)
    per_chunk = chunk_rows(len(out), COST_OF_ROW * n_rows)
    work = COST_OF_ROW * n_rows * len(out)
    kernel(draws, *arguments, per_chunk, out, n_threads=effective_n_threads(n_jobs, work))
    return out


class Sums:
    """A function of sums over the rows."""

    def __init__(self, values: NDArray, finish: Callable[[NDArray], NDArray]):
        self.values, self.finish = kernel_view(values, np.float64), finish

    def estimate(self) -> float:
        return float(self.finish(self.values.sum(axis=0)[None])[0])

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        out = np.empty((n_resamples, self.values.shape[1]))
        return self.finish(_run(sums_of_resamples, draws, (self.values,), out, n_jobs))

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        each = [np.bincount(unit, column, n_units) for column in self.values.T]
        return self.finish(self.values.sum(axis=0) - np.column_stack(each))


class Cells:
    """A function of the weights of cells."""

    def __init__(self, cells, weights, n_cells: int, finish: Callable[[NDArray], NDArray]):
        self.cells, self.weights = kernel_view(cells, np.intp), kernel_view(weights, np.float64)
        self.n_cells, self.finish = n_cells, finish

    def _whole(self) -> NDArray:
        return np.bincount(self.cells, self.weights, self.n_cells)

    def estimate(self) -> float:
        return float(self.finish(self._whole()[None])[0])

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        out = np.empty((n_resamples, self.n_cells))
        return self.finish(_run(cells_of_resamples, draws, (self.cells, self.weights), out, n_jobs))

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        order = np.argsort(unit, kind="stable")
        ends = np.searchsorted(unit[order], np.arange(n_units + 1))
        whole, found = self._whole(), []
        for first in range(0, n_units, UNITS_AT_ONCE):
            last = min(first + UNITS_AT_ONCE, n_units)
            rows = order[ends[first] : ends[last]]
            places = (unit[rows] - first) * self.n_cells + self.cells[rows]
            each = np.bincount(places, self.weights[rows], (last - first) * self.n_cells)
            found.append(self.finish(whole - each.reshape(last - first, self.n_cells)))
        return np.concatenate(found)


class Areas:
    """The area under the ROC curve, or the average precision."""

    def __init__(self, truth: Truth, *, precision: bool):
        codes, _ = _two_classes(truth)
        scores = _scores_of_positive(truth)
        order = np.argsort(-scores, kind="stable")
        sorted_scores = scores[order]
        weights, positive = truth.weights[order], codes[order] == 1
        last = np.ones(len(order), bool)
        last[:-1] = sorted_scores[1:] != sorted_scores[:-1]
        self.order, self.precision, self.last = order, precision, last
        self.positive = np.where(positive, weights, 0.0)
        self.negative = np.where(positive, 0.0, weights)
        self.even = bool((weights == weights[:1]).all())

    def _ranking(self, unit: NDArray) -> Ranking:
        arrays = (unit[self.order].astype(np.int32), self.positive, self.negative, self.last)
        return Ranking(*map(kernel_view, arrays))

    def estimate(self) -> float:
        rows = np.arange(len(self.order), dtype=np.int32)
        counts = np.ones(len(rows), np.int32)
        return float(area_of_ranking(self._ranking(rows), counts, self.precision))

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        out = np.empty(n_resamples)
        arguments = (self._ranking(draws.unit), self.precision)
        return _run(areas_of_resamples, draws, arguments, out, n_jobs)

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        alone = n_units == len(self.order)
        if alone and (self.even or not self.precision):
            found = np.empty(n_units)
            found[unit[self.order]] = self._without_precision() if self.precision else self._area()
            return found
        ranking, counts = self._ranking(unit), np.ones(n_units, np.int32)
        found = np.empty(n_units)
        for u in range(n_units):
            counts[u] = 0
            found[u] = area_of_ranking(ranking, counts, self.precision)
            counts[u] = 1
        return found

    def _groups(self):
        """Weights of the classes in every group of ties, and the group of every row."""
        starts = np.concatenate([[0], np.flatnonzero(self.last)[:-1] + 1])
        group = np.concatenate([[0], np.cumsum(self.last)[:-1]])
        return np.add.reduceat(self.positive, starts), np.add.reduceat(self.negative, starts), group

    def _area(self) -> NDArray:
        """The area without each row in turn: it takes its pairs away."""
        positive, negative, group = self._groups()
        above = np.cumsum(positive) - 0.5 * positive
        below = negative.sum() - np.cumsum(negative) + 0.5 * negative
        pairs = float(negative @ above)
        lost = self.positive * below[group] + self.negative * above[group]
        left = (positive.sum() - self.positive) * (negative.sum() - self.negative)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left > 0.0, (pairs - lost) / left, np.nan)

    def _without_precision(self) -> NDArray:
        """Average precision without each row of equal weight: only precisions below it change."""
        positive, negative, group = self._groups()
        above, whole = np.cumsum(positive), np.cumsum(positive + negative)
        w = float(self.positive[0] + self.negative[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            before = positive * above / whole
            hit = np.where(whole > w, (above - w) / (whole - w), 0.0)
            miss = np.where(whole > w, above / (whole - w), 0.0)
        earlier = np.cumsum(before) - before

        def later(terms):
            return terms[::-1].cumsum()[::-1] - terms

        total = above[-1]
        of_hit = earlier + (positive - w) * hit + later(positive * hit)
        of_miss = earlier + positive * miss + later(positive * miss)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_hit = np.where(total > w, of_hit / (total - w), np.nan)
        return np.where(self.positive > 0.0, of_hit[group], of_miss[group] / total)


class Loop:
    """Any function of targets and predictions, called for each resample."""

    def __init__(self, truth: Truth, metric: Callable, *, weighted: bool):
        self.truth, self.metric, self.weighted = truth, metric, weighted

    def _call(self, rows) -> float:
        given = {"sample_weight": self.truth.weights[rows]} if self.weighted else {}
        return float(self.metric(self.truth.y_true[rows], self.truth.y_pred[rows], **given))

    def estimate(self) -> float:
        return self._call(slice(None))

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        counts = np.empty(int(draws.starts[-1]), np.int32)
        found, rows = np.empty(n_resamples), np.arange(len(draws.unit))
        for b in range(n_resamples):
            draw_counts(draws.seed, draws.starts, b, counts)
            found[b] = self._call(np.repeat(rows, counts[draws.unit]))
        return found

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        return np.array([self._call(np.flatnonzero(unit != u)) for u in range(n_units)])


# ---------------------------------------------------------------------------- input of metrics


def _two_classes(truth: Truth) -> tuple[NDArray, NDArray]:
    """0 or 1 for every row, and the two classes, the positive one last."""
    classes, codes = np.unique(truth.y_true, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            f"this metric is of two classes, y_true has {len(classes)}; hand over a function of "
            "y_true and y_pred instead of a name"
        )
    if truth.pos_label is None:
        ours = classes[-1] if len(classes) == 2 or classes[-1] == 1 else None
    else:
        ours = truth.pos_label
        if len(classes) == 2 and ours not in classes:
            raise ValueError(f"pos_label={ours!r} is not a class of y_true: {list(classes)}")
    codes = np.zeros(len(codes), np.intp) if ours is None else (truth.y_true == ours).astype(int)
    return codes, classes


def _scores_of_positive(truth: Truth) -> NDArray:
    scores = np.asarray(truth.y_pred, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] in (1, 2):
        scores = scores[:, -1]
    if scores.ndim != 1:
        raise ValueError(f"y_pred must be scores of the positive class, got shape {scores.shape}")
    return _finite(scores, "y_pred")


def _finite(values: NDArray, name: str) -> NDArray:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, it has NaN or infinity")
    return values


def _numbers(truth: Truth) -> tuple[NDArray, NDArray, NDArray]:
    found = []
    for name in ("y_true", "y_pred"):
        values = np.asarray(getattr(truth, name), dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {values.shape}")
        found.append(_finite(values, name))
    return found[0], found[1], truth.weights


# ---------------------------------------------------------------------------- means of losses


def _mean_of(loss: Callable[[Truth], NDArray], root: bool = False):
    def plan(truth: Truth) -> Sums:
        columns = [truth.weights * loss(truth), truth.weights]
        return Sums(np.column_stack(columns), partial(_quotient, root=root))

    return plan


def _quotient(sums: NDArray, root: bool) -> NDArray:
    mean = _divided(sums[:, 0], sums[:, 1])
    return np.sqrt(mean) if root else mean


def _divided(a, b, otherwise=np.nan) -> NDArray:
    """a / b, or ``otherwise`` where b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b != 0.0, a / b, otherwise)


def _squared(truth: Truth) -> NDArray:
    y, f, _ = _numbers(truth)
    return (y - f) ** 2


def _absolute(truth: Truth) -> NDArray:
    y, f, _ = _numbers(truth)
    return np.abs(y - f)


def _percentage(truth: Truth) -> NDArray:
    y, f, _ = _numbers(truth)
    return np.abs(y - f) / np.maximum(np.abs(y), np.finfo(np.float64).eps)


def _log_loss(truth: Truth) -> NDArray:
    classes, codes = np.unique(truth.y_true, return_inverse=True)
    p = np.asarray(truth.y_pred)
    p = p if p.dtype in (np.float32, np.float64) else p.astype(np.float64)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if p.ndim != 2 or p.shape[1] != len(classes):
        raise ValueError(
            f"y_pred must have a probability for each of the {len(classes)} classes of y_true, "
            f"got shape {np.shape(truth.y_pred)}"
        )
    _finite(p, "y_pred")
    if (p < 0).any() or (p > 1).any():
        raise ValueError("y_pred must hold probabilities from 0 to 1")
    eps = np.finfo(p.dtype).eps
    chosen = np.clip(p[np.arange(len(p)), codes], eps, 1 - eps)
    return -np.log(chosen.astype(np.float64))


def _brier(truth: Truth) -> NDArray:
    codes, _ = _two_classes(truth)
    p = _scores_of_positive(truth)
    if (p < 0).any() or (p > 1).any():
        raise ValueError("y_pred must hold probabilities from 0 to 1")
    return (codes - p) ** 2


def _wrong(truth: Truth) -> NDArray:
    return (np.asarray(truth.y_true) != np.asarray(truth.y_pred)).astype(np.float64)


def _right(truth: Truth) -> NDArray:
    return 1.0 - _wrong(truth)


def _variances(truth: Truth, *, centred: bool) -> Sums:
    y, f, w = _numbers(truth)
    y0 = y - y.mean()
    e = y - f
    values = np.column_stack([w, w * e * e, w * e, w * y0, w * y0 * y0])
    return Sums(values, partial(_explained, centred=centred))


def _explained(sums: NDArray, centred: bool) -> NDArray:
    """R², or the share of variance that is explained, which forgives a constant error."""
    n, left, error, first, second = sums.T
    total = second - _divided(first * first, n)
    total = np.where(total <= 1e-13 * second, 0.0, total)
    if centred:
        left = left - _divided(error * error, n)
    perfect = np.where(left <= 0.0, 1.0, 0.0)
    return np.where(
        n > 0.0, 1.0 - _divided(left, total, 0.0) - (total == 0) * (1 - perfect), np.nan
    )


# ---------------------------------------------------------------------------- confusion matrices


def _confusion(finish: Callable, **options):
    def plan(truth: Truth) -> Cells:
        y, f = np.asarray(truth.y_true), np.asarray(truth.y_pred)
        if y.ndim != 1 or f.ndim != 1:
            raise ValueError(f"labels must have one dimension, got shapes {y.shape}, {f.shape}")
        classes, codes = np.unique(np.concatenate([y, f]), return_inverse=True)
        k = len(classes)
        cells = codes[: len(y)] * k + codes[len(y) :]
        told = dict(options)
        if options.get("average") == "binary":
            if k > 2:
                raise ValueError(
                    f"this metric is of two classes, there are {k}: choose an average, such as "
                    "'f1_macro'"
                )
            told["positive"] = _place_of(truth.pos_label, classes)
        return Cells(cells, truth.weights, k * k, partial(_of_tables, finish, k, told))

    return plan


def _of_tables(finish: Callable, k: int, options: dict, sums: NDArray) -> NDArray:
    return finish(sums.reshape(-1, k, k), **options)


def _place_of(pos_label, classes) -> int | None:
    """Where the positive class is: the greater one unless it is named; None if it never occurs."""
    if pos_label is None:
        return len(classes) - 1 if len(classes) == 2 or classes[-1] == 1 else None
    at = np.flatnonzero(classes == pos_label)
    if len(at) == 0 and len(classes) == 2:
        raise ValueError(f"pos_label={pos_label!r} is not among the classes {list(classes)}")
    return int(at[0]) if len(at) else None


def _shares(tables: NDArray, kind: str, average: str, positive: int | None = None) -> NDArray:
    """Precision, recall, F1 or Jaccard of confusion tables [true, predicted]; 0 where 0 / 0."""
    hits = np.diagonal(tables, axis1=1, axis2=2)
    true, predicted = tables.sum(axis=2), tables.sum(axis=1)
    if average == "micro":
        hits, true, predicted = (a.sum(axis=1, keepdims=True) for a in (hits, true, predicted))
    numerator, denominator = {
        "precision": (hits, predicted),
        "recall": (hits, true),
        "f1": (2.0 * hits, true + predicted),
        "jaccard": (hits, true + predicted - hits),
    }[kind]
    each = _divided(numerator, denominator, 0.0)
    if average == "binary":
        return np.zeros(len(each)) if positive is None else each[:, positive]
    if average == "micro":
        return each[:, 0]
    weights = true if average == "weighted" else (true + predicted > 0).astype(np.float64)
    return _divided((each * weights).sum(axis=1), weights.sum(axis=1), 0.0)


def _balanced(tables: NDArray) -> NDArray:
    hits, true = np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=2)
    there = true > 0
    return _divided(_divided(hits, true, 0.0).sum(axis=1), there.sum(axis=1))


def _matthews(tables: NDArray) -> NDArray:
    hits = np.trace(tables, axis1=1, axis2=2)
    true, predicted, n = tables.sum(axis=2), tables.sum(axis=1), tables.sum(axis=(1, 2))
    both = hits * n - (true * predicted).sum(axis=1)
    spread = (n * n - (true * true).sum(axis=1)) * (n * n - (predicted * predicted).sum(axis=1))
    return _divided(both, np.sqrt(np.maximum(spread, 0.0)), 0.0)


def _kappa(tables: NDArray) -> NDArray:
    n = tables.sum(axis=(1, 2))
    agreed = _divided(np.trace(tables, axis1=1, axis2=2), n)
    chance = _divided((tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1), n * n)
    return _divided(agreed - chance, 1.0 - chance)


# ---------------------------------------------------------------------------- names

MEASURES: dict[str, Callable[[Truth], Sums | Cells | Areas]] = {
    "accuracy": _mean_of(_right),
    "zero_one_loss": _mean_of(_wrong),
    "log_loss": _mean_of(_log_loss),
    "brier_score": _mean_of(_brier),
    "mean_squared_error": _mean_of(_squared),
    "root_mean_squared_error": _mean_of(_squared, root=True),
    "mean_absolute_error": _mean_of(_absolute),
    "mean_absolute_percentage_error": _mean_of(_percentage),
    "r2": partial(_variances, centred=False),
    "explained_variance": partial(_variances, centred=True),
    "roc_auc": partial(Areas, precision=False),
    "average_precision": partial(Areas, precision=True),
    "balanced_accuracy": _confusion(_balanced),
    "matthews_corrcoef": _confusion(_matthews),
    "cohen_kappa": _confusion(_kappa),
    **{
        kind + ending: _confusion(_shares, kind=kind, average=average)
        for kind in ("precision", "recall", "f1", "jaccard")
        for ending, average in (
            ("", "binary"), ("_micro", "micro"), ("_macro", "macro"), ("_weighted", "weighted"),
        )
    },
}  # fmt: skip
"""Name → what to gather and how to finish it."""

SHORT = {
    "mse": "mean_squared_error",
    "rmse": "root_mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "brier": "brier_score",
    "auc": "roc_auc",
    "mcc": "matthews_corrcoef",
}

BY_FUNCTION = {
    "accuracy_score", "zero_one_loss", "log_loss", "brier_score_loss", "mean_squared_error",
    "root_mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "r2_score",
    "explained_variance_score", "roc_auc_score", "average_precision_score",
    "balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score", "precision_score",
    "recall_score", "f1_score", "jaccard_score",
}  # fmt: skip
"""Functions of scikit-learn and fastml that kernels stand for, as they are by default."""


def canonical(name: str) -> tuple[str, float]:
    """A key of `MEASURES` and the sign: scikit-learn's scorers negate losses."""
    sign = -1.0 if name.startswith("neg_") else 1.0
    found = name.removeprefix("neg_")
    for ending in ("", "_score", "_loss"):
        short = found.removesuffix(ending) if ending else found
        short = SHORT.get(short, short)
        if short in MEASURES:
            return short, sign
    known = ", ".join(sorted(MEASURES))
    raise ValueError(f"unknown metric {name!r}; it may be a function, or one of {known}")
