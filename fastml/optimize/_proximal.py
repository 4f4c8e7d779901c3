"""Descent for a smooth loss plus a penalty that has corners but a simple proximal map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml.optimize._run import Run, gradient_of, start_of
from fastml.optimize._steps import Backtracking, as_step
from fastml.penalties import Penalty


def soft_threshold(z, amount) -> NDArray:
    """Proximal map of the l1 norm, sign(z) max(∣z∣ − amount, 0).

    Parameters
    ----------
    z : array-like
    amount : float or array-like
        Penalty times step.

    Returns
    -------
    nearer : ndarray

    Examples
    --------
    >>> from fastml.optimize import soft_threshold
    >>> soft_threshold([-3.0, 0.5, 3.0], 1.0)
    array([-2.,  0.,  2.])
    """
    z = np.asarray(z, dtype=np.float64)
    return np.sign(z) * np.maximum(np.abs(z) - amount, 0.0)


def maps_of(prox, penalty):
    """(proximal map, penalty to add to the loss) of a penalty object, or as they are."""
    if isinstance(prox, Penalty):
        return prox.prox, prox.value
    return prox, penalty


def proximal_gradient(
    loss, start, prox, gradient=None, *, penalty=None, step=None, accelerated=False, stop=None,
    keep_points=False,
):  # fmt: skip
    """Minimise f + g by w ← prox_g(w − η ∇f(w), η) (ISTA; accelerated: FISTA).

    prox_g(z, η) = argmin_v ‖v − z‖² / (2η) + g(v); for g = α‖w‖₁ it is
    ``soft_threshold(z, α * η)``. The trace's gradient is (w − w⁺) / η, zero at the minimum.

    Parameters
    ----------
    loss : callable
        f, smooth, of a vector.
    start : array-like of shape (n,)
    prox : Penalty or callable
        One of `fastml.penalties`, or ``prox(z, eta)``.
    gradient : callable, default=None
        ∇f; None: by differences.
    penalty : callable, default=None
        g, of a vector, for the value and the trace; None counts as zero there. Not used if
        ``prox`` is a `Penalty`.
    step : float, callable or step, default=None
        At most 1/L for a gradient with Lipschitz constant L. None: `Backtracking` until f lies
        below its quadratic bound; a step that was too long is not tried again.
    accelerated : bool, default=False
        Momentum of Nesterov and of Beck & Teboulle (2009), begun anew where it points uphill
        (O'Donoghue & Candès, 2015).
    stop : stopping rule, default=None
        None: ``GradientBelow(1e-6) | Steps(1000)``.
    keep_points : bool, default=False

    Returns
    -------
    optimum : Optimum

    Examples
    --------
    >>> from fastml.optimize import proximal_gradient
    >>> from fastml.penalties import L1Penalty
    >>> found = proximal_gradient(
    ...     lambda w: (w - 3) @ (w - 3) / 2, [0.0], L1Penalty(2.0), lambda w: w - 3
    ... )
    >>> found.point
    array([1.])
    """
    point, slope_at = start_of(start), gradient_of(gradient, loss)
    prox, penalty = maps_of(prox, penalty)
    step = Backtracking() if step is None else as_step(step)
    searched = step.first if isinstance(step, Backtracking) else np.nan

    def total(w):
        return loss(w) + (0.0 if penalty is None else penalty(w))

    def advance(base, t):
        """A step from ``base``, and its length."""
        nonlocal searched
        slope, value = slope_at(base), loss(base)
        if not isinstance(step, Backtracking):
            length = step.length(t, slope)
            return np.asarray(prox(base - length * slope, length)), length
        for _ in range(step.most_trials):
            new = np.asarray(prox(base - searched * slope, searched))
            move = new - base
            bound = value + slope @ move + move @ move / (2.0 * searched)
            if loss(new) <= bound + 1e-15 * abs(value):
                break
            searched *= step.shrink
        return new, searched

    run = Run(stop, keep_points)
    run.keep(point)
    base, age, t = point, 1.0, 0
    value = total(point)
    trial, length = advance(point, 1)
    goes_on = run.goes_on(point, value, np.linalg.norm(point - trial) / (length or 1.0))
    while goes_on:
        t += 1
        new, length = (trial, length) if t == 1 else advance(base, t)
        norm = np.linalg.norm(base - new) / (length or 1.0)
        if not accelerated or (base - new) @ (new - point) > 0.0:
            base, age = new, 1.0
        else:
            older, age = age, (1.0 + np.sqrt(1.0 + 4.0 * age * age)) / 2.0
            base = new + (older - 1.0) / age * (new - point)
        point, value = new, total(new)
        run.keep(point)
        goes_on = run.goes_on(point, value, norm, length)
    return run.ended(total)
