"""Named metrics as what is gathered from a resample, and a formula of that.

Means and R² need weighted sums of columns, everything that a confusion matrix says its cells, areas
under curves one pass over the rows by falling score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fastml.metrics._uncertainty._areas import (
    Areas,
    MeanOfAreas,
    areas_of_classes,
    one_or_several_areas,
    scores_of_positive,
    two_classes,
)
from fastml.metrics._uncertainty._gather import Cells, Sums, Truth, refuse_infinite


def _numbers(truth: Truth) -> tuple[NDArray, NDArray, NDArray]:
    found = []
    for name in ("y_true", "y_pred"):
        values = np.asarray(getattr(truth, name), dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got shape {values.shape}")
        found.append(refuse_infinite(values, name))
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


def _probabilities(truth: Truth) -> tuple[NDArray, NDArray]:
    """Codes of the labels, and probabilities of code 1 or of all codes."""
    classes, codes = np.unique(truth.y_true, return_inverse=True)
    p = np.asarray(truth.y_pred)
    p = p if p.dtype in (np.float32, np.float64) else p.astype(np.float64)
    if p.ndim not in (1, 2) or (2 if p.ndim == 1 else p.shape[1]) != len(classes):
        raise ValueError(
            f"y_pred must have a probability for each of the {len(classes)} classes of y_true, "
            f"got shape {np.shape(truth.y_pred)}"
        )
    return codes, _shares_only(p)


def _shares_only(p: NDArray) -> NDArray:
    refuse_infinite(p, "y_pred")
    if (p < 0).any() or (p > 1).any():
        raise ValueError("y_pred must hold probabilities from 0 to 1")
    return p


def log_losses(codes: NDArray, p: NDArray) -> NDArray:
    """Of each row; ``p`` has the probability of code 1, or of all codes."""
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    eps = np.finfo(p.dtype).eps
    return -np.log(np.clip(p[np.arange(len(p)), codes], eps, 1 - eps).astype(np.float64))


def squared_losses(codes: NDArray, p: NDArray) -> NDArray:
    """Of each row: of the probability of code 1, or summed over all codes."""
    if p.ndim == 1:
        return (codes - p.astype(np.float64)) ** 2
    return ((p - (codes[:, None] == np.arange(p.shape[1]))) ** 2).sum(axis=1)


def _log_loss(truth: Truth) -> NDArray:
    return log_losses(*_probabilities(truth))


def _brier(truth: Truth) -> NDArray:
    if np.ndim(truth.y_pred) == 2 and np.shape(truth.y_pred)[1] > 2:
        return squared_losses(*_probabilities(truth))
    codes, _ = two_classes(truth)
    return squared_losses(codes, _shares_only(scores_of_positive(truth)))


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

MEASURES: dict[str, Callable[[Truth], Sums | Cells | Areas | MeanOfAreas]] = {
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
    "roc_auc": partial(one_or_several_areas, precision=False),
    "average_precision": partial(one_or_several_areas, precision=True),
    **{
        f"roc_auc_{way}{ending}": partial(areas_of_classes, pairs=pairs, weighted=bool(ending))
        for way, pairs in (("ovr", False), ("ovo", True))
        for ending in ("", "_weighted")
    },
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
