"""Huber's regression with its scale: weights, intercept and σ minimised together.

Σ weight_i (σ + 2 σ huber((w · (x_i, 1) − y_i) / σ)) + alpha \\|w\\|², jointly convex in (w, σ).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.minimum import Factor, Minimum
from fastml._engines.smooth_linear.objective import OPERATIONS
from fastml._engines.smooth_linear.solvers import (
    FRESH,
    LEAST_SHARE,
    MOST_COLUMNS,
    MOST_TRIALS,
    ROWS_PER_WEIGHT,
    SAMPLE_ROWS,
    SAMPLE_TOL,
    SUFFICIENT,
    lbfgs_minimum,
)
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.losses.pointwise import ROWS
from fastml.kernels.losses.smooth import HUBER_LOSS, HUBER_SLOPE, N_HUBER_SUMS, scaled_huber

LEAST_SCALE = 10.0 * float(np.finfo(np.float64).eps)
FEW_TRIALS = 4
"""Of a Newton step; a shorter one is not worth its while."""

ROUNDING = 1e-8

SMALLEST, STILL = 1e-8, 2e-9
"""Least scale as a share of the largest target; a fall of the objective that ends the search."""

VANISHING = 1e-5
"""A scale of this share of the largest target is on its way to zero."""

LEAST_SHRINK = 0.05
"""A step leaves at least this share of the scale."""


class HuberObjective:
    """The objective above; points are (w, intercept if there is one, σ)."""

    def __init__(self, design: SmoothDesign, epsilon, alpha, y, weights, fit_intercept: bool):
        self.design, self.epsilon, self.alpha = design, float(epsilon), float(alpha)
        self.y = kernel_view(y, dtype=np.float64)
        self.weights = kernel_view(np.empty(0) if weights is None else weights, dtype=np.float64)
        self.fit_intercept = fit_intercept
        self.most = float(np.abs(self.y).max(initial=0.0))
        n, d = design.n_rows, design.n_features
        self.total = float(n if weights is None else self.weights.sum())
        self.penalty = np.zeros(d + 1 + fit_intercept)
        self.penalty[:d] = 2.0 * self.alpha
        self.slopes, self.curvatures, self.extra = np.empty((3, n))
        self.sums = np.empty((max(1, -(-n // ROWS)), N_HUBER_SUMS))

    def sample(self, n_wanted: int) -> HuberObjective | None:
        """The same of some rows, with as much less penalty; None if these have no weight."""
        design, chosen = self.design.sample(n_wanted)
        weights = self.weights[chosen] if len(self.weights) else None
        if weights is not None and not weights.any():
            return None
        alpha = self.alpha * len(chosen) / self.design.n_rows
        return HuberObjective(
            design, self.epsilon, alpha, self.y[chosen], weights, self.fit_intercept
        )

    def raw(self, point: NDArray) -> NDArray:
        w = point[:-1] if self.fit_intercept else np.append(point[:-1], 0.0)
        return self.design.products(w)

    def value(self, point: NDArray, z: NDArray, *, above: bool = False) -> float:
        """At a point whose raw predictions are z; keeps what `gradient` and `hessian` need.

        With ``above`` the Hessian will be that of a parabola above the objective.
        """
        scaled_huber(
            self.epsilon, float(point[-1]), above, self.y, self.weights, z,
            self.slopes, self.curvatures, self.extra, self.sums,
            n_threads=effective_n_threads(self.design.n_jobs, OPERATIONS * len(z)),
        )  # fmt: skip
        return float(self.sums[:, HUBER_LOSS].sum() + 0.5 * (self.penalty * point) @ point)

    def gradient(self, point: NDArray) -> NDArray:
        slopes = self.design.slopes(self.slopes)
        own = slopes if self.fit_intercept else slopes[:-1]
        return np.append(own, self.sums[:, HUBER_SLOPE].sum()) + self.penalty * point

    def hessian(self) -> NDArray:
        hessian = self.design.gram(self.curvatures, self.extra)
        if not self.fit_intercept:
            keep = np.delete(np.arange(len(hessian)), -2)
            hessian = hessian[np.ix_(keep, keep)]
        hessian.flat[:: len(hessian) + 1] += self.penalty
        return hessian


class _Told:
    """Tells of the points on the way; ``ended`` once one was to be the last."""

    def __init__(self, report: Callable[[NDArray], bool] | None):
        self.report, self.ended = report, False

    def __call__(self, point: NDArray) -> bool:
        self.ended = self.ended or (self.report is not None and self.report(point))
        return self.ended


def minimise_huber(
    objective: HuberObjective,
    point: NDArray,
    tol: float,
    max_iter: int,
    report: Callable[[NDArray], bool] | None = None,
) -> Minimum:
    """The minimum, from ``point``, by Newton's method; with many columns, or huge ones, by L-BFGS.

    ``report`` is told of every step on all rows, and ends the search where it returns True.
    """
    told = _Told(report)
    if len(point) <= MOST_COLUMNS:
        try:
            return _by_newton(objective, point, tol, max_iter, told)
        except np.linalg.LinAlgError:  # squares that overflow
            pass
    return _lbfgs(objective, point, tol, max_iter, told)


def _by_newton(objective: HuberObjective, point: NDArray, tol, max_iter, told: _Told) -> Minimum:
    """From some of the rows, if there are many; where the scale vanishes, in turns with it."""
    origin = point
    rows = max(SAMPLE_ROWS, ROWS_PER_WEIGHT * len(point))
    if objective.design.n_rows >= LEAST_SHARE * rows and max_iter > 1:
        part = objective.sample(rows)
        if part is not None:
            start = _newton(part, point, SAMPLE_TOL * part.total, max_iter)
            if np.isfinite(start.w).all():
                point = start.w
    found = _newton(objective, point, tol, max_iter, near=point is not origin, told=told)
    done = found.converged and found.w[-1] > VANISHING * objective.most
    if done or told.ended or max_iter <= 1:
        return found
    # Where the scale vanishes (nearly all rows are fitted exactly), no curvature is left.
    other = _alternate(objective, origin, tol, max_iter, told)
    at_end = [objective.value(each.w, objective.raw(each.w)) for each in (found, other)]
    return other if at_end[1] <= at_end[0] else found._replace(converged=other.converged)


def _lbfgs(objective: HuberObjective, point: NDArray, tol, max_iter, told: _Told) -> Minimum:
    def value_and_gradient(at):
        value = objective.value(at, objective.raw(at))
        return value, objective.gradient(at)

    bounds = [(-np.inf, np.inf)] * (len(point) - 1) + [(LEAST_SCALE, np.inf)]
    return lbfgs_minimum(
        value_and_gradient, point, tol, max_iter, bounds=bounds, relative=1e7,
        report=None if told.report is None else lambda step, value, slope, at: told(at),
    )  # fmt: skip


def _newton(
    objective: HuberObjective,
    point: NDArray,
    tol: float,
    max_iter: int,
    *,
    near: bool = False,
    told: _Told | None = None,
) -> Minimum:
    """Newton steps; where one fails, and at first, steps to the minimum of a parabola above.

    ``near`` a minimum the first step is Newton's too, and a Hessian is used again as long as the
    gradient falls fast.
    """
    point = point.copy()
    point[-1] = max(point[-1], LEAST_SCALE)
    z = objective.raw(point)
    value = objective.value(point, z)
    size, last, factor = np.inf, np.inf, None
    for n_iter in range(max_iter + 1):
        gradient = objective.gradient(point)
        bound = bool(point[-1] <= LEAST_SCALE and gradient[-1] >= 0.0)
        if bound:
            gradient[-1] = 0.0
        size = float(np.abs(gradient).max())
        if size <= tol:
            return Minimum(point, n_iter, True, size)
        if n_iter == max_iter:
            break
        found = None
        falls = size <= FRESH * last or (size < last and size <= ROUNDING * objective.total)
        if near and factor is not None and falls:
            found = _line(objective, point, z, value, gradient, factor.solve(-gradient), FEW_TRIALS)
        last = size
        for above in (False, True) if near or n_iter > 0 else (True,):
            if found is not None:
                break
            objective.value(point, z, above=above)
            factor = _factor(objective.hessian(), bound)
            most_trials = MOST_TRIALS if above else FEW_TRIALS
            direction = factor.solve(-gradient)
            found = _line(objective, point, z, value, gradient, direction, most_trials)
        if found is None:  # nothing left to gain but rounding
            return Minimum(point, n_iter, size <= ROUNDING * max(1.0, objective.total), size)
        point, z, value = found
        if told is not None and told(point):
            return Minimum(point, n_iter + 1, False, size)
    return Minimum(point, max_iter, False, size)


def _line(objective: HuberObjective, point, z, value, gradient, direction, most_trials):
    """(point, z, value) where the objective falls enough; None if it does nowhere.

    The scale stays above a share of what it was.
    """
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    change = objective.raw(direction)
    slack = 64.0 * np.finfo(np.float64).eps * max(1.0, abs(value))
    floor = max(LEAST_SHRINK * point[-1], LEAST_SCALE)
    step = 1.0
    for _ in range(most_trials):
        new_point = point + step * direction
        new_point[-1] = max(new_point[-1], floor)
        new_z = z + step * change
        new = objective.value(new_point, new_z)
        if new <= value + slack + SUFFICIENT * step * slope:
            return None if np.array_equal(new_point, point) else (new_point, new_z, new)
        step *= 0.5
    return None


def _alternate(objective: HuberObjective, point: NDArray, tol, max_iter, told: _Told) -> Minimum:
    """The best scale for the weights, then a step of the weights at that scale, and so on.

    Slower than Newton's method near a minimum, but the scale may vanish on the way.
    """
    point = point.copy()
    floor = max(LEAST_SCALE, SMALLEST * objective.most)
    z = objective.raw(point)
    before, size = np.inf, np.inf
    for n_iter in range(max_iter + 1):
        point[-1] = _best_scale(objective, z, max(float(point[-1]), floor), floor)
        value = objective.value(point, z, above=True)
        gradient = objective.gradient(point)
        gradient[-1] = 0.0
        size = float(np.abs(gradient).max())
        if size <= tol or before - value <= STILL * max(abs(value), 1.0e-3 * objective.most):
            return Minimum(point, n_iter, True, size)
        if n_iter == max_iter:
            break
        before = value
        hessian = objective.hessian()
        hessian[-1, :] = hessian[:, -1] = 0.0
        direction = _factor(hessian, True).solve(-gradient)
        found = _line(objective, point, z, value, gradient, direction, MOST_TRIALS)
        if found is None:
            return Minimum(point, n_iter, True, size)
        point, z, _ = found
        if told(point):
            return Minimum(point, n_iter + 1, False, size)
    return Minimum(point, max_iter, False, size)


def _best_scale(objective: HuberObjective, z: NDArray, scale: float, floor: float) -> float:
    """σ² = Σ of inside weight · r² / (all weight − epsilon² · outside weight), by repetition."""
    squares = (z - objective.y) ** 2
    weights = objective.weights if len(objective.weights) else np.ones(len(z))
    for _ in range(MOST_TRIALS):
        reach = objective.epsilon * scale
        inside = squares <= reach * reach  # where this is infinite, ** would be an error
        room = objective.total - objective.epsilon**2 * float(weights[~inside].sum())
        if room > 0.0:
            new = max(np.sqrt(float((weights * squares)[inside].sum()) / room), floor)
        else:  # too many outside: a greater scale is better
            new = 2.0 * scale
        if abs(new - scale) <= 1e-12 * scale:
            break
        scale = new
    return scale


def _factor(hessian: NDArray, bound: bool) -> Factor:
    """Of a Hessian in which directions without curvature (all rows outliers, say) get some.

    At its ``bound`` the scale stays.
    """
    if bound:
        hessian[-1, :] = hessian[:, -1] = 0.0
    flat = hessian.diagonal() <= 0.0
    if flat.any():
        hessian[flat, flat] = max(float(hessian.diagonal().max()), 1.0)
    return Factor(hessian)
