"""Descent by second derivatives."""

from __future__ import annotations

import numpy as np

from fastml.optimize._numeric import numeric_hessian
from fastml.optimize._run import Run, gradient_of, start_of
from fastml.optimize._steps import Backtracking, as_step

FLATTEST = 1e-10
"""Curvatures below this share of the largest are raised to it."""


def newton(loss, start, gradient=None, hessian=None, *, step=None, stop=None, keep_points=False):
    """Newton's method, w ← w − η H(w)⁻¹ ∇f(w).

    Where the function curves downwards, the curvature counts with a positive sign, so that every
    direction goes down.

    Parameters
    ----------
    loss : callable
        f, of a vector.
    start : array-like of shape (n,)
    gradient : callable, default=None
        ∇f; None: by differences.
    hessian : callable, default=None
        H, of a vector, returns an (n, n) array; None: by differences.
    step : float, callable or step, default=None
        None: `Backtracking` from 1; ``1.0`` is the pure method.
    stop : stopping rule, default=None
        None: ``GradientBelow(1e-6) | Steps(1000)``.
    keep_points : bool, default=False

    Returns
    -------
    optimum : Optimum

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.optimize import newton
    >>> found = newton(lambda w: np.exp(w[0]) - 2 * w[0], [0.0], lambda w: np.exp(w) - 2)
    >>> bool(np.isclose(found.point[0], np.log(2)))
    True
    """
    point, slope_at = start_of(start), gradient_of(gradient, loss)
    step = Backtracking() if step is None else as_step(step)
    run = Run(stop, keep_points)
    run.keep(point)
    value, slope = loss(point), slope_at(point)
    goes_on, t = run.goes_on(point, value, np.linalg.norm(slope)), 0
    while goes_on:
        t += 1
        H = numeric_hessian(loss, point, gradient) if hessian is None else hessian(point)
        curvature, axes = np.linalg.eigh(np.asarray(H, dtype=np.float64))
        curvature = np.abs(curvature)
        curvature = np.maximum(curvature, FLATTEST * max(curvature.max(), FLATTEST))
        direction = -axes @ (axes.T @ slope / curvature)
        if isinstance(step, Backtracking):
            length = step.search(loss, point, value, direction, float(slope @ direction))
        else:
            length = step.length(t, direction)
        point = point + length * direction
        run.keep(point)
        value, slope = loss(point), slope_at(point)
        goes_on = run.goes_on(point, value, np.linalg.norm(slope), length)
    return run.ended(loss)
