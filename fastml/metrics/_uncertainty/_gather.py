"""What is gathered from a resample: sums over its rows, weights of cells, any function of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.scores.resample import (
    Draws,
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


def gather(kernel, draws: Draws, arguments: tuple, out: NDArray, n_jobs) -> NDArray:
    """Every resample's numbers; chunks by the size of the data alone."""
    n_rows = len(draws.unit)
    per_chunk = chunk_rows(len(out), COST_OF_ROW * n_rows)
    work = COST_OF_ROW * n_rows * len(out)
    kernel(draws, *arguments, per_chunk, out, n_threads=effective_n_threads(n_jobs, work))
    return out


def draws_of(y_true: NDArray, stratify, groups, random_state) -> tuple[Draws, NDArray]:
    """What is drawn from, and the stratum of every unit in its place."""
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_consistent_length

    n = len(y_true)
    unit_codes, n_units = np.arange(n), n
    if groups is not None:
        groups = np.asarray(groups)
        check_consistent_length(y_true, groups)
        names, unit_codes = np.unique(groups, return_inverse=True)
        n_units = len(names)
    strata = np.zeros(n_units, np.intp)
    if stratify is not False:
        by = y_true if stratify is True else np.asarray(stratify)
        check_consistent_length(y_true, by)
        _, of_rows = np.unique(by, return_inverse=True)
        strata[unit_codes] = of_rows
        if (strata[unit_codes] != of_rows).any():
            raise ValueError("stratify: a group has rows of more than one stratum")
    order = np.argsort(strata, kind="stable")
    place = np.empty(n_units, np.int32)
    place[order] = np.arange(n_units)
    ends = np.cumsum(np.bincount(strata))
    generator = check_random_state(random_state)
    seed = np.uint64(generator.randint(0, 2**63 - 1, dtype=np.int64))
    starts = kernel_view(np.concatenate([[0], ends]), np.intp)
    return Draws(seed, starts, kernel_view(place[unit_codes], np.int32)), strata[order]


class Sums:
    """A function of sums over the rows."""

    def __init__(self, values: NDArray, finish: Callable[[NDArray], Any]):
        self.values, self.finish = kernel_view(values, np.float64), finish

    def estimate(self) -> float:
        return float(self.finish(self.values.sum(axis=0)[None])[0])

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> Any:
        out = np.empty((n_resamples, self.values.shape[1]))
        return self.finish(gather(sums_of_resamples, draws, (self.values,), out, n_jobs))

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        each = [np.bincount(unit, column, n_units) for column in self.values.T]
        return self.finish(self.values.sum(axis=0) - np.column_stack(each))


class Cells:
    """A function of the weights of cells."""

    def __init__(self, cells, weights, n_cells: int, finish: Callable[[NDArray], Any]):
        self.cells, self.weights = kernel_view(cells, np.intp), kernel_view(weights, np.float64)
        self.n_cells, self.finish = n_cells, finish

    def whole(self) -> NDArray:
        return np.bincount(self.cells, self.weights, self.n_cells)

    def estimate(self) -> float:
        return float(self.finish(self.whole()[None])[0])

    def resampled(self, draws: Draws, n_resamples: int, n_jobs) -> Any:
        out = np.empty((n_resamples, self.n_cells))
        return self.finish(
            gather(cells_of_resamples, draws, (self.cells, self.weights), out, n_jobs)
        )

    def without_units(self, unit: NDArray, n_units: int) -> NDArray:
        order = np.argsort(unit, kind="stable")
        ends = np.searchsorted(unit[order], np.arange(n_units + 1))
        whole, found = self.whole(), []
        for first in range(0, n_units, UNITS_AT_ONCE):
            last = min(first + UNITS_AT_ONCE, n_units)
            rows = order[ends[first] : ends[last]]
            places = (unit[rows] - first) * self.n_cells + self.cells[rows]
            each = np.bincount(places, self.weights[rows], (last - first) * self.n_cells)
            found.append(self.finish(whole - each.reshape(last - first, self.n_cells)))
        return np.concatenate(found)


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


def refuse_infinite(values: NDArray, name: str) -> NDArray:
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, it has NaN or infinity")
    return values
