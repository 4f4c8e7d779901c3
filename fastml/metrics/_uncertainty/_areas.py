"""Areas under curves: rows are sorted once, a resample is one pass over them by falling score."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.scores.resample import Draws, Ranking, area_of_ranking, areas_of_resamples
from fastml.metrics._uncertainty._gather import Cells, Truth, gather, refuse_infinite


class Areas:
    """The area under the ROC curve, or the average precision, of all rows or of some."""

    def __init__(self, positive, scores, weights, *, precision: bool, rows=None):
        self.n_rows = len(scores)
        rows = np.arange(self.n_rows) if rows is None else rows
        order = rows[np.argsort(-scores[rows], kind="stable")]
        sorted_scores = scores[order]
        weights, positive = weights[order], positive[order]
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
        rows = np.arange(self.n_rows, dtype=np.int32)
        counts = np.ones(self.n_rows, np.int32)
        return float(area_of_ranking(self._ranking(rows), counts, self.precision))

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        out = np.empty(n_resamples)
        arguments = (self._ranking(draws.unit), self.precision)
        return gather(areas_of_resamples, draws, arguments, out, n_jobs)

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        alone = n_units == self.n_rows
        if alone and (self.even or not self.precision):
            found = np.full(n_units, self.estimate())
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


class MeanOfAreas:
    """Areas of several classes, each against the rest or against each other, averaged.

    A resample in which a class is missing has no value.
    """

    def __init__(self, areas: list[Areas], classes: Cells, shares: NDArray | None):
        self.areas, self.classes, self.shares = areas, classes, shares

    def estimate(self) -> float:
        found = np.array([[each.estimate()] for each in self.areas])
        return float(self._average(found, self.classes.whole()[None])[0])

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> NDArray:
        found = np.array([each.resampled(draws, n_resamples, n_jobs) for each in self.areas])
        return self._average(found, self.classes.resampled(draws, n_resamples, n_jobs))

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        found = np.array([each.without_units(unit, n_units) for each in self.areas])
        return self._average(found, self.classes.without_units(unit, n_units))

    def _average(self, areas: NDArray, counts: NDArray) -> NDArray:
        """Of ``areas[j, b]``, by the ``counts[b, k]`` of the classes that area j is about."""
        if self.shares is None:
            return areas.mean(axis=0)
        return np.average(areas, axis=0, weights=(counts @ self.shares.T).T)


# ---------------------------------------------------------------------------- from input


def two_classes(truth: Truth) -> tuple[NDArray, NDArray]:
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


def scores_of_positive(truth: Truth) -> NDArray:
    scores = np.asarray(truth.y_pred, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] in (1, 2):
        scores = scores[:, -1]
    if scores.ndim != 1:
        raise ValueError(f"y_pred must be scores of the positive class, got shape {scores.shape}")
    return refuse_infinite(scores, "y_pred")


def one_or_several_areas(truth: Truth, *, precision: bool) -> Areas | MeanOfAreas:
    """Of two classes; with a column of scores for each class, of several against the rest."""
    if np.ndim(truth.y_pred) == 2 and np.shape(truth.y_pred)[1] > 2:
        return areas_of_classes(truth, precision=precision)
    codes, _ = two_classes(truth)
    scores = scores_of_positive(truth)
    return Areas(codes == 1, scores, truth.weights, precision=precision)


def areas_of_classes(
    truth: Truth, *, precision: bool = False, pairs: bool = False, weighted: bool = False
) -> MeanOfAreas:
    """Each class against the rest, or ``pairs`` of classes (Hand and Till, 2001)."""
    if truth.y_true.ndim != 1:
        raise ValueError(f"y_true must have one dimension, got shape {truth.y_true.shape}")
    labels, codes = np.unique(truth.y_true, return_inverse=True)
    scores = np.asarray(truth.y_pred, dtype=np.float64)
    k = len(labels)
    if scores.ndim != 2 or scores.shape[1] != k or k < 2:
        raise ValueError(
            f"y_pred must have a column for each of the {k} classes of y_true, got shape "
            f"{scores.shape}"
        )
    refuse_infinite(scores, "y_pred")
    if not precision and not np.allclose(1, scores.sum(axis=1)):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should "
            "sum up to 1.0 over classes"
        )
    if pairs and (truth.weights != 1.0).any():
        raise ValueError("sample_weight is not supported for multiclass one-vs-one ROC AUC")
    columns = [np.ascontiguousarray(column) for column in scores.T]
    counted = Cells(codes, truth.weights, k, _as_it_is)
    if pairs:
        rows_of = [np.flatnonzero(codes == c) for c in range(k)]
        two = list(permutations(range(k), 2))
        areas = [
            Areas(codes == a, columns[a], truth.weights, precision=False,
                  rows=np.sort(np.concatenate([rows_of[a], rows_of[b]])))
            for a, b in two
        ]  # fmt: skip
        shares = np.array([np.eye(k)[a] + np.eye(k)[b] for a, b in two])
    else:
        areas = [
            Areas(codes == c, columns[c], truth.weights, precision=precision) for c in range(k)
        ]
        shares = np.eye(k)
    return MeanOfAreas(areas, counted, shares if weighted else None)


def _as_it_is(counts: NDArray) -> NDArray:
    return counts
