"""The report of rows that come in blocks, from one pass or from several machines."""

from __future__ import annotations

import numpy as np

from fastml._validation import check_choice
from fastml.metrics._classification._probabilities import brier_score_loss, log_loss
from fastml.metrics._regression._targets import PairMoments
from fastml.metrics._report._measures import (
    Counted,
    Losses,
    Residuals,
    counted_pairs,
    residuals_of,
)
from fastml.metrics._report._report import MetricReport, label_report, regression_report


class RunningReport:
    """All measures of predictions that come in blocks: update, merge, compute.

    Blocks may come in any number and sizes; states of several machines merge into one. Measures
    that need all rows at once (medians, areas, relative absolute error) are NaN, and so are losses
    of probabilities if these are not given.

    Parameters
    ----------
    task : {'classification', 'regression'}
        What is predicted.

    Examples
    --------
    >>> from fastml.metrics import RunningReport
    >>> first = RunningReport("classification").update([0, 1, 1], [0, 1, 0])
    >>> second = RunningReport("classification").update([0, 1], [0, 1])
    >>> first.merge(second).compute().values["accuracy"]
    0.8
    """

    def __init__(self, task):
        check_choice("task", task, ("classification", "regression"))
        self.task = task
        self._state: Counted | Residuals | None = None

    def update(
        self, y_true, y_pred, *, y_score=None, labels=None, sample_weight=None
    ) -> RunningReport:
        """Add a block of rows; returns itself.

        ``y_score`` has the probability of each of the ``labels`` (ascending, a model's
        ``classes_``), since a block need not have rows of all classes.
        """
        if self.task == "classification":
            counted = counted_pairs(y_true, y_pred, sample_weight)
            if y_score is not None:
                losses = _losses_of(y_true, y_score, labels, sample_weight)
                counted = counted._replace(losses=losses)
            return self._add(counted)
        if y_score is not None:
            raise ValueError("y_score has no meaning for a regression")
        return self._add(residuals_of(y_true, y_pred, sample_weight, whole=False))

    def merge(self, other: RunningReport) -> RunningReport:
        """Add what another has seen; returns itself."""
        if not isinstance(other, RunningReport) or other.task != self.task:
            raise ValueError(f"only a RunningReport of the same task merges, got {other!r}")
        return self if other._state is None else self._add(other._state)

    def compute(self, *, pos_label=None, n_features=None) -> MetricReport:
        """The `report` of all rows so far."""
        if isinstance(self._state, Counted):
            found = label_report(self._state, pos_label)
            if self._state.losses is not None:
                _, loss, score = self._state.losses
                found.values.update(log_loss=loss, brier_score=score)
            return found
        if isinstance(self._state, Residuals):
            return regression_report(self._state, n_features)
        raise ValueError("no rows yet: call update first")

    def __repr__(self) -> str:
        n_rows = 0 if self._state is None else self._state.n_samples
        return f"RunningReport({self.task!r}) of {n_rows} rows"

    def _add(self, block: Counted | Residuals) -> RunningReport:
        if self._state is None:
            self._state = block
        elif isinstance(self._state, Counted) and isinstance(block, Counted):
            self._state = _merged_counts(self._state, block)
        elif isinstance(self._state, Residuals) and isinstance(block, Residuals):
            self._state = _merged_residuals(self._state, block)
        return self


def _merged_counts(a: Counted, b: Counted) -> Counted:
    if (a.labels.dtype.kind == "U") != (b.labels.dtype.kind == "U"):
        raise ValueError("Mix of label input types (string and number) in blocks of one report")
    labels = np.unique(np.concatenate([a.labels, b.labels]))
    table = np.zeros((labels.shape[0], labels.shape[0]), np.result_type(a.table, b.table))
    for each in (a, b):
        places = np.searchsorted(labels, each.labels)
        table[np.ix_(places, places)] += each.table
    return Counted(labels, table, a.n_samples + b.n_samples, _merged_losses(a.losses, b.losses))


def _losses_of(y_true, y_score, labels, sample_weight) -> Losses:
    if labels is None:
        raise ValueError("y_score needs labels: those of its columns, in their order")
    labels, p, y = np.asarray(labels), np.asarray(y_score), np.asarray(y_true).reshape(-1)
    if p.shape != (y.shape[0], labels.shape[0]) or (p < 0).any() or (p > 1).any():
        raise ValueError(
            f"y_score must have a probability for each of {y.shape[0]} rows and "
            f"{labels.shape[0]} labels; other scores of blocks do not merge"
        )
    codes = np.minimum(np.searchsorted(labels, y), labels.shape[0] - 1)
    if (labels[codes] != y).any() or (labels[1:] <= labels[:-1]).any():
        raise ValueError(f"labels must be all that y_true has, ascending; got {labels}")
    weight = float(y.shape[0] if sample_weight is None else np.sum(sample_weight))
    if labels.shape[0] == 1 or weight == 0:
        return Losses(weight, 0.0, 0.0)
    given = {"sample_weight": sample_weight, "labels": np.arange(labels.shape[0])}
    scores = p if labels.shape[0] > 2 else p[:, 1]
    return Losses(weight, log_loss(codes, p, **given), brier_score_loss(codes, scores, **given))


def _merged_losses(a: Losses | None, b: Losses | None) -> Losses | None:
    if a is None and b is None:
        return None
    if a is None or b is None:
        raise ValueError("y_score must be given for all blocks of a report, or for none")
    total = a.weight + b.weight
    share = b.weight / total if total else 0.0
    return Losses(total, *(x + (y - x) * share for x, y in zip(a[1:], b[1:])))


def _merged_residuals(a: Residuals, b: Residuals) -> Residuals:
    """Chan, Golub and LeVeque (1983), with weights."""
    total = a.weight + b.weight
    if total == 0:
        return a._replace(n_samples=a.n_samples + b.n_samples)
    share = b.weight / total

    def mixed(x, y):
        return x + (y - x) * share

    def spread(x, y, gap):
        return mixed(x, y) + gap**2 * share * (1 - share)

    p, q = a.moments, b.moments
    found = PairMoments(
        mixed(p.absolute, q.absolute),
        mixed(p.square, q.square),
        mixed(p.residual, q.residual),
        spread(p.residual_variance, q.residual_variance, q.residual - p.residual),
        mixed(p.true, q.true),
        spread(p.true_variance, q.true_variance, q.true - p.true),
    )
    nothing = float("nan")
    largest, percentage = max(a.largest, b.largest), mixed(a.percentage, b.percentage)
    n_rows = a.n_samples + b.n_samples
    return Residuals(n_rows, total, found, largest, percentage, nothing, nothing)
