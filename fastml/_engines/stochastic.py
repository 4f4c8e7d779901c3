"""Stochastic gradient descent: epochs until the objective or a score no longer improves.

Beside it the perceptron in batches, whose epoch is one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.rows import csr_rows
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._progress import current_steps
from fastml._validation import kernel_view
from fastml.kernels.linear import stochastic as kernels
from fastml.kernels.linear.stochastic import SgdRows, SgdRules, SgdState, rescale, sgd_epoch
from fastml.kernels.losses.definitions import loss_of_each
from fastml.kernels.numeric.csr import COLUMN, POSITION

LEAST_ETA = 1e-6
ETA_DIVISOR = 5.0


class Stopping(NamedTuple):
    """Epochs at most, the improvement asked for, and how many epochs may pass without it."""

    max_iter: int
    tol: float | None
    patience: int


class Descended(NamedTuple):
    """Weights and intercept, their averages, epochs, rows that changed the weights in all epochs,
    whether all numbers are finite, and the objective summed over the rows of the last epoch."""

    w: NDArray
    intercept: float
    average: NDArray
    average_intercept: float
    n_iter: int
    n_updates: int
    finite: bool
    objective: float = 0.0


def sgd_rows(X, y, weights) -> SgdRows:
    """Rows as the kernel takes them."""
    targets = np.empty((len(y), 2))
    targets[:, 0], targets[:, 1] = y, weights
    targets = kernel_view(targets)
    if sp.issparse(X):
        csr = csr_rows(X, canonical=False)
        return SgdRows(kernel_view(np.empty((0, 0), dtype=csr.data.dtype)), *csr, targets)
    nothing = kernel_view(np.empty(0, dtype=X.dtype))
    no_columns = kernel_view(np.empty(0, dtype=COLUMN))
    no_positions = kernel_view(np.empty(0, dtype=POSITION))
    return SgdRows(kernel_view(X), nothing, no_columns, no_positions, targets)


def optimal_start(code: int, parameter: float, alpha: float) -> float:
    """The step number at which Bottou's schedule 1 / (alpha t) begins."""
    typical = np.sqrt(1.0 / np.sqrt(alpha))
    slope = np.empty((3, 1))
    row = kernel_view(np.ones(1)), kernel_view(np.array([-typical]))
    loss_of_each(code, parameter, *row, *slope)
    first = typical / max(1.0, float(slope[1, 0]))
    return float(1.0 / (first * alpha))


def descend(
    rules: SgdRules,
    rows: SgdRows,
    start: tuple[NDArray, float, NDArray, float, float],
    seed: int | None,
    left_out: NDArray,
    stopping: Stopping,
    score: Callable[[NDArray, float], float] | None,
    verbose: bool,
) -> Descended:
    """Epochs from ``start``: weights, intercept, their averages and the number of the first step.

    With a ``seed`` the rows are shuffled before each epoch, as scikit-learn does it.
    """
    w, intercept, average, average_intercept, t = start
    numbers = np.zeros(kernels.N_NUMBERS)
    numbers[kernels.INTERCEPT], numbers[kernels.AVERAGE_INTERCEPT] = intercept, average_intercept
    numbers[kernels.ETA], numbers[kernels.TIME] = rules.eta0, t
    numbers[kernels.SCALE] = numbers[kernels.AVERAGE_B] = 1.0
    numbers[kernels.SQUARED_NORM], numbers[kernels.L1_NORM] = w @ w, np.abs(w).sum()
    paid = np.zeros_like(w) if rules.l1_ratio > 0.0 else np.empty(0)
    state = SgdState(w.copy(), average.copy(), paid, numbers)
    order = np.arange(len(rows.targets))
    n_train = len(order) - int(left_out.sum())
    watch, finite = Watch(stopping), True
    for epoch in range(1, stopping.max_iter + 1):
        if seed is not None:
            kernels.shuffle_as_sklearn(order, seed)
        step = current_steps().begin("epoch")
        numbers[kernels.LOSS_SUM] = numbers[kernels.OBJECTIVE_SUM] = 0.0
        sgd_epoch(rules, rows, order, left_out, state)
        finite = bool(np.isfinite(numbers[kernels.INTERCEPT]) and np.isfinite(state.w).all())
        if step.end() or not finite:
            break
        if score is not None:
            # The weights without their scale, as in scikit-learn.
            reached = -score(state.w, float(numbers[kernels.INTERCEPT]))
        else:
            reached = float(numbers[kernels.OBJECTIVE_SUM]) / n_train
        if verbose:
            line = _epoch_in_words(epoch, state, n_train, None if score is None else -reached)
            print(line)  # noqa: T201
        if watch.ends(reached):
            if rules.rate == kernels.ADAPTIVE and numbers[kernels.ETA] > LEAST_ETA:
                numbers[kernels.ETA] /= ETA_DIVISOR
                watch.waited = 0
            else:
                break
    rescale(state)
    return Descended(
        state.w, float(numbers[kernels.INTERCEPT]), state.average,
        float(numbers[kernels.AVERAGE_INTERCEPT]), epoch, int(numbers[kernels.N_UPDATES]), finite,
        float(numbers[kernels.OBJECTIVE_SUM]),
    )  # fmt: skip


class Watch:
    """Whether epochs no longer improve what is to become small."""

    def __init__(self, stopping: Stopping):
        self.stopping, self.best, self.waited = stopping, np.inf, 0

    def ends(self, reached: float) -> bool:
        tol = self.stopping.tol
        worse = tol is not None and reached > self.best - tol
        self.waited = self.waited + 1 if worse else 0
        self.best = min(self.best, reached)
        return self.waited >= self.stopping.patience


def perceptron_batches(
    rows, start, eta: float, fit_intercept: bool, held, stopping: Stopping, n_jobs
) -> Descended:
    """Steps along Σ weight sign (x, 1) over the rows (X, signs, weights) on the wrong side.

    It ends when there are none, or after ``stopping.max_iter`` steps with the weights that had the
    fewest. ``held`` is which rows are left out, and their score as a function of weights and
    intercept, which ends it as `descend`, or None.
    """
    X, signs, weights = rows
    left_out, score = held
    design = SmoothDesign(X, n_jobs)
    point = np.append(start[0], start[1])
    best, fewest = point, len(signs) + 1
    watch, n_updates, epoch = Watch(stopping), 0, 0
    while True:
        wrong = (signs * design.products(point) <= 0.0) & ~left_out & (weights > 0.0)
        n_wrong = int(wrong.sum())
        if n_wrong < fewest:
            best, fewest = point, n_wrong
        if n_wrong == 0 or epoch == stopping.max_iter:
            break
        epoch += 1
        n_updates += n_wrong
        told = current_steps().begin("epoch")
        step = design.slopes(np.where(wrong, signs * weights, 0.0))
        if not fit_intercept:
            step[-1] = 0.0
        point = point + eta * step
        if told.end():
            break
        if score is not None and watch.ends(-score(point[:-1], float(point[-1]))):
            break
    finite = bool(np.isfinite(best).all())
    return Descended(best[:-1], float(best[-1]), np.empty(0), 0.0, epoch, n_updates, finite)


def _epoch_in_words(epoch: int, state: SgdState, n_train: int, score: float | None) -> str:
    numbers = state.numbers
    loss, objective = (
        numbers[place] / n_train for place in (kernels.LOSS_SUM, kernels.OBJECTIVE_SUM)
    )
    line = (
        f"-- Epoch {epoch}\nNorm: {np.sqrt(numbers[kernels.SQUARED_NORM]):.2f}, NNZs: "
        f"{np.count_nonzero(state.w)}, Bias: {numbers[kernels.INTERCEPT]:.6f}, T: "
        f"{int(numbers[kernels.TIME]) - 1}, Avg. loss: {loss:f}, Objective: {objective:f}"
    )
    return line if score is None else f"{line}, Validation score: {score:f}"
