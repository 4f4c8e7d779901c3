"""Logistic losses with an l1 penalty: Newton steps whose quadratic model keeps the absolute values.

With few weights the model's matrix is made, the intercept eliminated from it, and coordinate
descent runs on numbers (features, features). With many, descent runs on columns of X: those of
weights that are not 0, and those that should not be. A step is halved until the objective falls
enough (Lee, Sun and Saunders, "Proximal Newton-type methods for minimizing composite functions",
2014). The end: no subgradient is above the tolerance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import line_search
from fastml._engines.smooth_linear.minimum import Minimum
from fastml._engines.smooth_linear.solvers import sample_size
from fastml._threads import single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.linear.net_descent import NetTerms, column_descent, matrix_descent

MATRIX_WEIGHTS = 400
"""Weights up to which the model's matrix is made."""

MATRIX_PASSES, COLUMN_PASSES = 2000, 30
SHARE, LAST_SHARE = 0.1, 1e-6
SUFFICIENT = 1e-3
MOST_TRIALS = 40
SAMPLE_TOL = 1e-3


class NetObjective:
    """A smooth objective, with its l2 penalty, and l1 Σ |w_j| over all weights but intercepts."""

    def __init__(self, smooth, l1: float):
        self.smooth, self.l1 = smooth, float(l1)
        self.shape = smooth.n_lines, smooth.n_classes
        self.n_penalised = smooth.n_lines - int(smooth.fit_intercept)
        self.factors = np.full(self.shape, self.l1)
        self.factors[self.n_penalised :] = 0.0
        self.factors = self.factors.ravel()

    def norm(self, w: NDArray) -> float:
        return float(self.factors @ np.abs(w))

    def violations(self, w: NDArray, gradient: NDArray) -> NDArray:
        """Distance of 0 from the subgradients."""
        at_zero = np.maximum(np.abs(gradient) - self.factors, 0.0)
        return np.where(w == 0.0, at_zero, np.abs(gradient + self.factors * np.sign(w)))


def minimise_net(
    smooth, l1: float, w: NDArray, tol: float, max_iter: int, *, report=None
) -> tuple[Minimum, str]:
    """The minimum of a smooth objective plus the l1 penalty, from ``w``; the method's name."""
    net = NetObjective(smooth, l1)
    first = w
    few = smooth.n_free <= MATRIX_WEIGHTS and not smooth.design.is_wide
    with single_threaded_blas():
        if few and (rows := sample_size(smooth)) is not None and max_iter > 1:
            part = smooth.sample(rows)
            if part is not None:
                start = _descend(
                    NetObjective(part, l1), w, max(tol, SAMPLE_TOL), max_iter, _matrix_model, None
                )
                w = start.w if np.isfinite(start.w).all() else w
        model = _matrix_model if few else _column_model
        found = _descend(net, w, tol, max_iter, model, report)
    if smooth.shift_is_free:
        intercepts = slice(-smooth.n_classes, None)
        found.w[intercepts] += first[intercepts].mean() - found.w[intercepts].mean()
    return found, "newton-descent"


def _descend(net: NetObjective, w, tol, max_iter, model, report) -> Minimum:
    smooth = net.smooth
    at_zero = np.zeros_like(w)
    smooth.value(at_zero, smooth.raw(at_zero))
    enough = tol * min(1.0, float(np.abs(smooth.gradient(at_zero)).max(initial=0.0)))
    w = w.copy()
    z = smooth.raw(w)
    value = smooth.value(w, z) + net.norm(w)
    worst = np.inf
    for n_iter in range(max_iter + 1):
        gradient = smooth.gradient(w)
        violations = net.violations(w, gradient)
        worst = float(violations.max(initial=0.0))
        if report is not None and report(n_iter, value, worst, w):
            return Minimum(w, n_iter, True, worst)
        if worst <= enough:
            return Minimum(w, n_iter, True, worst)
        if n_iter == max_iter or not np.isfinite(value):
            break
        target = model(net, w, gradient, violations, max(SHARE * worst, 0.1 * enough))
        direction = target - w
        fall = float(gradient @ direction) + net.norm(target) - net.norm(w)
        slack = 64.0 * np.finfo(np.float64).eps * max(1.0, abs(value))
        if not fall < -slack / 64.0:
            # The value has nothing left to gain but rounding; the weights have half of its digits.
            last = model(net, w, gradient, violations, LAST_SHARE * worst)
            return Minimum(last if np.isfinite(last).all() else w, n_iter, True, worst)
        change = smooth.raw(direction)

        def value_at(step, w=w, z=z, direction=direction, change=change):
            point = w + step * direction
            new = smooth.value(point, z, change, step) + net.norm(point)
            return new if np.isfinite(new) else np.inf

        found = line_search(
            value_at, value + slack, fall, sufficient=SUFFICIENT, most_trials=MOST_TRIALS
        )
        if found is None:
            return Minimum(w, n_iter, False, worst)
        step, value = found
        # A whole step keeps its zeros to the bit.
        w = target if step == 1.0 else w + step * direction
        z = z + step * change
    return Minimum(w, max_iter, False, worst)


def _matrix_model(net: NetObjective, w, gradient, violations, tol) -> NDArray:
    """Where the quadratic model with its matrix has its minimum."""
    H = net.smooth.hessian(determined=True)
    target = w.copy()
    m = net.n_penalised * net.shape[1]
    slopes, K = gradient[:m].copy(), H[:m, :m]
    if m < len(w):
        try:
            eliminated = np.linalg.solve(H[m:, m:], np.c_[H[m:, :m], gradient[m:]])
        except np.linalg.LinAlgError:  # curvature lost to rounding: no step
            return target
        K = K - H[:m, m:] @ eliminated[:, :-1]
        slopes -= H[:m, m:] @ eliminated[:, -1]
    inner = target[:m].copy()
    matrix_descent(np.ascontiguousarray(K), slopes, inner, net.factors[:m], tol, MATRIX_PASSES)
    if m < len(w):
        target[m:] -= eliminated[:, -1] + eliminated[:, :-1] @ (inner - w[:m])
    target[:m] = inner
    return target


def _column_model(net: NetObjective, w, gradient, violations, tol) -> NDArray:
    """The same by descent on the columns whose weights are or should be other than 0."""
    smooth = net.smooth
    K = net.shape[1]
    W = np.zeros((smooth.design.n_weights, K))
    W[: net.shape[0]] = w.reshape(net.shape)
    moves = (w != 0.0) | (violations > 0.0)
    working = np.flatnonzero(moves.reshape(net.shape)[: net.n_penalised].any(axis=1))
    terms = NetTerms(smooth.weights, smooth.total, net.l1, smooth.alpha, smooth.fit_intercept)
    column_descent(
        smooth.design.columns(), working, terms, kernel_view(smooth.probabilities().T),
        np.ascontiguousarray(smooth.row_slopes().T), W, tol, COLUMN_PASSES,
    )  # fmt: skip
    return W[: net.shape[0]].ravel()
