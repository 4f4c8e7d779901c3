"""Newton's method for few columns, L-BFGS or conjugate gradients for many.

With few columns the start is the solution for some rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import conjugate_gradients, line_search
from fastml._engines.smooth_linear.minimum import Factor, Minimum
from fastml._engines.smooth_linear.objective import SmoothObjective
from fastml._threads import single_threaded_blas

MOST_COLUMNS = 300
"""Beyond, a Gram matrix costs more than the passes that L-BFGS needs."""

SAMPLE_ROWS, ROWS_PER_WEIGHT, LEAST_SHARE = 16_000, 100, 4
SAMPLE_TOL = 1e-3
SUFFICIENT = 1e-4
MOST_TRIALS = 40
SMALL = 1e-2
"""Share of the largest weight that a step without a check may move."""

CG_ACCURACY = 0.1
LAST_FALL = 1e-4
"""A further step of conjugate gradients gains about a hundredth of the last."""

FRESH = 0.1
"""The Hessian of some rows is used while each step brings the gradient below this share."""


def minimise(
    objective: SmoothObjective, w: NDArray, tol: float, max_iter: int, *, report=None
) -> Minimum:
    """The minimum, from ``w``.

    ``report(step, value, gradient, w)`` is called at each step; where it is true, that is the last.
    """
    if objective.n_free > MOST_COLUMNS:
        return lbfgs(objective, w, tol, max_iter, report)
    return sampled_newton(objective, w, tol, max_iter, report)


def sampled_newton(objective, w: NDArray, tol: float, max_iter: int, report) -> Minimum:
    """Newton's method from the solution for some rows, if there are many."""
    factor = None
    if (rows := sample_size(objective)) is not None and max_iter > 1:
        part = objective.sample(rows)
        if part is not None:
            start, factor = newton(part, w, max(tol, SAMPLE_TOL), max_iter, None, None)
            if np.isfinite(start.w).all():
                w = start.w
    return newton(objective, w, tol, max_iter, factor, report)[0]


def sample_size(objective: Any) -> int | None:
    """Rows to start with; None if there are too few for that to pay."""
    rows = max(SAMPLE_ROWS, ROWS_PER_WEIGHT * objective.n_free)
    return rows if objective.design.n_rows >= LEAST_SHARE * rows else None


class Conjugate:
    """The Hessian at the w that `value` was last called for, solved with by conjugate gradients."""

    def __init__(self, objective: SmoothObjective, accuracy: float):
        self.objective, self.accuracy = objective, accuracy

    def solve(self, b: NDArray) -> NDArray:
        scale = 1.0 / np.maximum(self.objective.hessian_diagonal(), 1e-300)
        return conjugate_gradients(self.objective.hessian_product, b, scale, self.accuracy)


def truncated_newton(objective, w: NDArray, tol: float, max_iter: int, report) -> Minimum:
    """Newton's method for many columns: steps by conjugate gradients."""

    def factor_of(objective):
        return Conjugate(objective, CG_ACCURACY)

    # Threads of BLAS wait by spinning, after products of long vectors too.
    with single_threaded_blas():
        return newton(objective, w, tol, max_iter, None, report, factor_of, LAST_FALL)[0]


def dense_factor(objective) -> Factor:
    return Factor(objective.hessian())


def newton(
    objective: Any, w: NDArray, tol: float, max_iter: int, factor, report,
    factor_of=dense_factor, last_fall=np.inf,
) -> tuple[Minimum, Factor | None]:  # fmt: skip
    """Steps −H⁻¹ g with a line search, until no entry of g is above ``tol``.

    ``factor`` is a Hessian to begin with; ``factor_of(objective)`` makes it anew where it no longer
    helps. At the end the objective must also have fallen by at most the share ``last_fall``.
    """
    w = w.copy()
    z = objective.raw(w)
    value = objective.value(w, z)
    last = np.inf
    own = False  # whether the factor is of all rows and of this w
    fresh = 0.0 if factor is None else FRESH
    size, fall = np.inf, 0.0
    for n_iter in range(max_iter + 1):
        gradient = objective.gradient(w)
        size = float(np.abs(gradient).max(initial=0.0))
        if report is not None and report(n_iter, value, size, w):
            return Minimum(w, n_iter, True, size), factor
        if size <= tol and (fall <= last_fall * abs(value) or n_iter == max_iter):
            return Minimum(_polished(w, gradient, factor), n_iter, True, size), factor
        if n_iter == max_iter or not np.isfinite(value):
            break
        if factor is None or (not np.isinf(last) and size > fresh * last):
            factor, own = factor_of(objective), True
        last = size
        found = _step(objective, w, z, value, gradient, factor)
        if found is None and not own:
            objective.value(w, z)
            factor, own = factor_of(objective), True
            found = _step(objective, w, z, value, gradient, factor)
        if found is None:  # nothing left to gain but rounding
            rounding = 1e-10 * max(1.0, abs(value))
            return Minimum(w, n_iter, size <= max(tol, rounding), size), factor
        fall = value - found[2]
        w, z, value = found
        own = False
    return Minimum(w, max_iter, False, size), factor


def _polished(w: NDArray, gradient: NDArray, factor) -> NDArray:
    """One step more with the last Hessian, which needs no pass over the rows, if it is small."""
    if not isinstance(factor, Factor) or factor.singular:
        return w
    direction = factor.solve(-gradient)
    small = np.abs(direction).max(initial=0.0) <= SMALL * np.abs(w).max(initial=0.0)
    return w + direction if small else w


def _step(objective: SmoothObjective, w, z, value, gradient, factor):
    """Where the line search along a Newton step ends: (w, z, value); None if nowhere."""
    direction = factor.solve(-gradient)
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    change = objective.raw(direction)

    def value_at(step: float) -> float:
        new = objective.value(w + step * direction, z, change, step)
        return new if np.isfinite(new) else np.inf

    # Near the minimum the fall is below rounding; a gradient that falls is enough there.
    slack = 64.0 * np.finfo(np.float64).eps * max(1.0, abs(value))
    found = line_search(
        value_at, value + slack, slope, sufficient=SUFFICIENT, most_trials=MOST_TRIALS
    )
    if found is None:
        return None
    step, new = found
    return w + step * direction, z + step * change, new


def lbfgs(objective: SmoothObjective, w: NDArray, tol: float, max_iter: int, report) -> Minimum:
    """SciPy's L-BFGS-B on the value and gradient of the objective."""

    def value_and_gradient(point):
        value = objective.value(point, objective.raw(point))
        return value, objective.gradient(point)

    return lbfgs_minimum(value_and_gradient, w, tol, max_iter, report=report)


def lbfgs_minimum(
    value_and_gradient, w, tol, max_iter, *, bounds=None, report=None, relative=64.0
) -> Minimum:
    """The minimum of a function of ``w`` that returns its value and gradient."""
    from scipy.optimize import minimize

    steps = []

    def note(result):
        steps.append(result.fun)
        if report is not None and report(len(steps), float(result.fun), np.nan, result.x):
            raise StopIteration

    def note_step(intermediate_result):
        note(intermediate_result)

    found = minimize(
        value_and_gradient, w, method="L-BFGS-B", jac=True, bounds=bounds,
        callback=note_step if report is not None else None,
        options={
            "maxiter": max_iter, "maxls": 50, "gtol": tol, "maxfun": 15_000 + 15 * len(w),
            "ftol": relative * np.finfo(np.float64).eps,
        },
    )  # fmt: skip
    size = float(np.abs(found.jac).max(initial=0.0))
    return Minimum(found.x, min(int(found.nit), max_iter), found.status == 0, size)
