"""The report of rows that come in blocks, from one pass or from several machines."""

from __future__ import annotations

import numpy as np

from fastml._validation import check_choice
from fastml.metrics._regression._targets import PairMoments
from fastml.metrics._report._measures import Counted, Residuals, counted_pairs, residuals_of
from fastml.metrics._report._report import MetricReport, label_report, regression_report


class RunningReport:
    """All measures of predictions that come in blocks: update, merge, compute.

    Blocks may come in any number and sizes; states of several machines merge into one. Measures
    that need all rows at once (medians, areas, relative absolute error) are NaN.

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

    def update(self, y_true, y_pred, *, sample_weight=None) -> RunningReport:
        """Add a block of rows; returns itself."""
        if self.task == "classification":
            return self._add(counted_pairs(y_true, y_pred, sample_weight))
        return self._add(residuals_of(y_true, y_pred, sample_weight, whole=False))

    def merge(self, other: RunningReport) -> RunningReport:
        """Add what another has seen; returns itself."""
        if not isinstance(other, RunningReport) or other.task != self.task:
            raise ValueError(f"only a RunningReport of the same task merges, got {other!r}")
        return self if other._state is None else self._add(other._state)

    def compute(self, *, pos_label=None, n_features=None) -> MetricReport:
        """The `report` of all rows so far."""
        if isinstance(self._state, Counted):
            return label_report(self._state, pos_label)
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
    return Counted(labels, table, a.n_samples + b.n_samples)


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
