"""A smooth objective of rows in blocks: value, gradient and Hessian from one pass.

It has the methods that `newton`, `lbfgs_minimum` and `minimise_net` ask of an objective in memory;
raw predictions are not kept, and in their place stand the weights.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.passes import Passes, RowBlock, codes_among, codes_of, refuse_nan
from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.minimum import Minimum
from fastml._engines.smooth_linear.net import MATRIX_WEIGHTS, minimise_net
from fastml._engines.smooth_linear.objective import SmoothObjective
from fastml._engines.smooth_linear.softmax import NEWTON_WEIGHTS, SoftmaxObjective
from fastml._engines.smooth_linear.solvers import (
    MOST_COLUMNS,
    SAMPLE_TOL,
    lbfgs_minimum,
    newton,
    sample_size,
)


class LossOfRows(NamedTuple):
    """Which loss: its code and parameter, or the classes of labels and their weights."""

    code: int
    parameter: float
    fit_intercept: bool
    classes: NDArray | None = None
    class_weights: NDArray | None = None
    reference: int | None = None


class PointTotals(NamedTuple):
    """Sums over rows at one point: losses, slopes and, if asked for, second derivatives."""

    loss: float
    slopes: NDArray
    hessian: NDArray | None


def objective_of(X, y, weights, loss: LossOfRows) -> SmoothObjective | SoftmaxObjective | None:
    """In memory, without a penalty; None if no row has a weight."""
    if loss.classes is not None:
        codes = codes_among(loss.classes, y)
        if loss.class_weights is not None:
            own = loss.class_weights[codes]
            weights = own if weights is None else weights * own
    if weights is not None and not weights.any():
        return None
    design = SmoothDesign(X)
    if loss.classes is None or len(loss.classes) == 2:
        y = (y if loss.classes is None else codes).astype(X.dtype).astype(np.float64)
        return SmoothObjective(
            design, loss.code, loss.parameter, y, weights, 0.0, loss.fit_intercept
        )
    n_classes = len(loss.classes)
    return SoftmaxObjective(
        design, codes, n_classes, weights, 0.0, loss.fit_intercept, loss.reference
    )


def block_at(block: RowBlock, loss: LossOfRows, w: NDArray, second: bool) -> PointTotals:
    """Sums of one block at ``w``."""
    objective = objective_of(block.X, block.y, block.weights, loss)
    if objective is None:
        return PointTotals(0.0, np.zeros(len(w)), np.zeros((len(w), len(w))) if second else None)
    with np.errstate(invalid="ignore", over="ignore"):
        value = objective.value(w, objective.raw(w)) * objective.total
        slopes = objective.gradient(w) * objective.total
        hessian = objective.summed_hessian() if second else None
    if not (np.isfinite(value) and np.isfinite(slopes).all()):
        refuse_nan(block)
    return PointTotals(value, slopes, hessian)


def merge(a: PointTotals, b: PointTotals) -> PointTotals:
    both = None
    if a.hessian is not None and b.hessian is not None:
        both = a.hessian + b.hessian
    return PointTotals(a.loss + b.loss, a.slopes + b.slopes, both)


def block_class_totals(block: RowBlock, classes: NDArray) -> NDArray:
    """Weights of the rows of every class."""
    codes = codes_of(block, classes)
    return np.bincount(codes, weights=block.weights, minlength=len(classes)).astype(np.float64)


def block_separated(block: RowBlock, loss: LossOfRows, weights: NDArray) -> bool:
    """Whether every row that has a weight is on the right side."""
    assert loss.classes is not None
    codes = codes_of(block, loss.classes)
    scores = block.X @ weights[:, :-1].T + weights[:, -1]
    if len(loss.classes) == 2:
        margins = scores[:, 0] * (2.0 * codes - 1.0)
    else:
        rows = np.arange(len(codes))
        right = scores[rows, codes]
        scores[rows, codes] = -np.inf
        margins = right - scores.max(axis=1)
    counts = slice(None) if block.weights is None else block.weights > 0.0
    return bool((margins[counts] > 0.0).all())


class BlocksObjective:
    """Σ weight_i ℓ_i / total + ½ alpha \\|w\\|²; the intercept is free."""

    def __init__(self, passes: Passes, loss: LossOfRows, total: float, alpha: float):
        self.passes, self.loss, self.total = passes, loss, total
        self.fit_intercept = loss.fit_intercept
        n_all = 1 if loss.classes is None or len(loss.classes) == 2 else len(loss.classes)
        self.n_classes = n_all - (1 if loss.reference is not None and n_all > 1 else 0)
        self.n_lines = passes.n_features + (1 if loss.fit_intercept else 0)
        self.n_free = self.n_lines * self.n_classes
        size = passes.n_rows * passes.n_features
        self.design = SimpleNamespace(n_rows=passes.n_rows, is_wide=False, size=size)
        penalty = np.full((self.n_lines, self.n_classes), float(alpha))
        if loss.fit_intercept:
            penalty[-1] = 0.0
        self.alpha, self.penalty = float(alpha), penalty.ravel()
        self.second = self.n_free <= max(MOST_COLUMNS, MATRIX_WEIGHTS)
        self.now: PointTotals | None = None

    @property
    def shift_is_free(self) -> bool:
        return self.fit_intercept and self.n_classes > 1 and self.loss.reference is None

    def sample(self, n_wanted: int) -> SmoothObjective | SoftmaxObjective | None:
        """The same of some rows, in memory; None if these have no weight."""
        found = objective_of(*self.passes.some_rows(n_wanted), self.loss)
        if found is not None:
            found.set_penalty(self.alpha)
        return found

    def raw(self, w: NDArray) -> NDArray:
        return w

    def value(self, w: NDArray, z=None, direction=None, step=0.0) -> float:
        """The objective at ``w``: one pass, which keeps the derivatives there."""
        self.now = self.passes.reduced(block_at, merge, self.loss, w, self.second, name="gradient")
        return self.now.loss / self.total + 0.5 * float((self.penalty * w) @ w)

    def gradient(self, w: NDArray) -> NDArray:
        assert self.now is not None
        return self.now.slopes / self.total + self.penalty * w

    def hessian(self, *, determined: bool = False) -> NDArray:
        assert self.now is not None
        assert self.now.hessian is not None
        H = self.now.hessian / self.total
        H.flat[:: self.n_free + 1] += self.penalty
        if self.n_classes > 1 and self.loss.reference is None:
            _hold_shifts(H, self, determined)
        return H


def _hold_shifts(H: NDArray, objective: Any, determined: bool) -> None:
    """As `SoftmaxObjective.hessian`: a curvature where the objective has none."""
    K, m = objective.n_classes, objective.n_lines
    for j in range(m - 1 if determined and objective.fit_intercept else 0, m):
        if objective.penalty[j * K] == 0.0 and (objective.fit_intercept or not determined):
            H[j * K : j * K + K, j * K : j * K + K] += max(H[j * K, j * K], 1e-12) / K


def minimise_in_blocks(
    objective: BlocksObjective, w: NDArray, l1: float, tol: float, max_iter: int
) -> tuple[Minimum, str]:
    """The minimum from ``w``, or from the solution for some rows, and the name of the method."""
    if l1 > 0.0:
        if objective.n_free > MATRIX_WEIGHTS:
            raise ValueError(
                f"on blocks an l1 penalty is for up to {MATRIX_WEIGHTS} weights, got "
                f"{objective.n_free}"
            )
        return minimise_net(objective, l1, w, tol, max_iter)
    most = MOST_COLUMNS if objective.n_classes == 1 else NEWTON_WEIGHTS
    factor = None
    if (rows := sample_size(objective)) is not None and max_iter > 1:
        part = objective.sample(rows)
        if part is not None:
            if objective.n_free <= most:
                start, factor = newton(part, w, max(tol, SAMPLE_TOL), max_iter, None, None)
            else:
                start = lbfgs_minimum(_pair(part), w, max(tol, SAMPLE_TOL), max_iter)
            if np.isfinite(start.w).all():
                w = start.w
    if objective.n_free <= most:
        return newton(objective, w, tol, max_iter, factor, None)[0], "newton-cholesky"
    objective.second = False
    return lbfgs_minimum(_pair(objective), w, tol, max_iter), "lbfgs"


def _pair(objective):
    def value_and_gradient(w):
        value = objective.value(w, objective.raw(w))
        return value, objective.gradient(w)

    return value_and_gradient
