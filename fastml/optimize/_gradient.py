"""Descent along the gradient, and along subgradients of functions with corners."""

from __future__ import annotations

import numpy as np

from fastml.optimize._run import Run, gradient_of, start_of
from fastml.optimize._steps import Backtracking, DecreasingStep, as_momentum, as_step


def gradient_descent(
    loss, start, gradient=None, *, step=0.1, momentum=0.0, nesterov=False, stop=None,
    keep_points=False,
):  # fmt: skip
    """Full-batch gradient descent, w ← w − η ∇f(w).

    With momentum β: v ← βv − η∇f(w), w ← w + v; Nesterov's form takes the gradient at w + βv.

    Parameters
    ----------
    loss : callable
        f, of a vector; Python or compiled.
    start : array-like of shape (n,)
        The first w: zeros, small or random values.
    gradient : callable, default=None
        ∇f, of a vector; None: by differences of the loss.
    step : float, callable or step, default=0.1
        A number is a constant η, a function η(t) of t = 1, 2, ...; or `ConstantStep`,
        `DecreasingStep`, `NormalisedStep` (along the unit vector), `Backtracking`.
    momentum : float, default=0.0
        β in [0, 1). None, with ``nesterov``, means (t − 1) / (t + 2).
    nesterov : bool, default=False
    stop : stopping rule, default=None
        None: ``GradientBelow(1e-6) | Steps(1000)``.
    keep_points : bool, default=False
        Whether the trace holds every w.

    Returns
    -------
    optimum : Optimum
        ``point``, ``value``, ``reason``, ``n_steps`` and ``trace``.

    Examples
    --------
    >>> from fastml.optimize import Backtracking, gradient_descent
    >>> found = gradient_descent(lambda w: w @ w, [2.0], lambda w: 2 * w, step=Backtracking())
    >>> found.point, found.n_steps, found.reason
    (array([0.]), 1, 'gradient below 1e-06')
    """
    point, slope_at = start_of(start), gradient_of(gradient, loss)
    momentum = as_momentum(momentum, nesterov)
    step = as_step(step, searches=not callable(momentum) and momentum == 0.0)
    run = Run(stop, keep_points)
    run.keep(point)
    velocity = np.zeros_like(point)
    value, slope = loss(point), slope_at(point)
    goes_on, t = run.goes_on(point, value, np.linalg.norm(slope)), 0
    while goes_on:
        t += 1
        share = momentum(t) if callable(momentum) else momentum
        used = slope_at(point + share * velocity) if nesterov else slope
        if isinstance(step, Backtracking):
            length = step.search(loss, point, value, -used, -float(used @ used))
        else:
            length = step.length(t, used)
        velocity = share * velocity - length * used
        point = point + velocity
        run.keep(point)
        value, slope = loss(point), slope_at(point)
        goes_on = run.goes_on(point, value, np.linalg.norm(slope), length)
    return run.ended(loss)


def subgradient(loss, start, subgradient=None, *, step=None, stop=None, keep_points=False):
    """Descent for convex functions with corners, w ← w − η_t g with g in the subdifferential.

    Single steps may go up: the best point of all is returned.

    Parameters
    ----------
    loss : callable
        f, of a vector.
    start : array-like of shape (n,)
    subgradient : callable, default=None
        Any g with f(v) ≥ f(w) + g'(v − w) for all v; None: by differences.
    step : float, callable or step, default=None
        None: ``DecreasingStep(1.0)``, which is 1/√t. A constant one does not converge.
    stop : stopping rule, default=None
        None: ``GradientBelow(1e-6) | Steps(1000)``.
    keep_points : bool, default=False

    Returns
    -------
    optimum : Optimum

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.optimize import Steps, subgradient
    >>> found = subgradient(
    ...     lambda w: np.abs(w - 3).sum(), [0.0], lambda w: np.sign(w - 3), stop=Steps(400)
    ... )
    >>> found.point.round(1)
    array([3.])
    """
    point, slope_at = start_of(start), gradient_of(subgradient, loss)
    step = as_step(DecreasingStep(1.0) if step is None else step, searches=False)
    run = Run(stop, keep_points)
    run.keep(point)
    value, slope = loss(point), slope_at(point)
    best, lowest = point, value
    goes_on, t = run.goes_on(point, value, np.linalg.norm(slope)), 0
    while goes_on:
        t += 1
        length = step.length(t, slope)
        point = point - length * slope
        run.keep(point)
        value, slope = loss(point), slope_at(point)
        if value < lowest:
            best, lowest = point, value
        goes_on = run.goes_on(point, value, np.linalg.norm(slope), length)
    return run.ended(loss, best)
