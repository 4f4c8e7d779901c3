"""Descent along one coordinate after the other."""

from __future__ import annotations

import numpy as np

from fastml._validation import check_choice
from fastml.optimize._numeric import FIRST, SECOND
from fastml.optimize._proximal import maps_of
from fastml.optimize._run import Run, start_of
from fastml.penalties import Penalty


def coordinate_descent(
    loss, start, partial=None, *, curvature=None, prox=None, penalty=None, order="cyclic",
    stop=None, random_state=None, keep_points=False,
):  # fmt: skip
    """Coordinate descent, w_j ← prox(w_j − ∂_j f(w) / L_j, 1 / L_j) for one j after the other.

    Parameters
    ----------
    loss : callable
        f, smooth, of a vector.
    start : array-like of shape (n,)
    partial : callable, default=None
        ``partial(w, j)``, the derivative by w_j; None: by differences.
    curvature : array-like of shape (n,) or callable, default=None
        L_j, at least the second derivatives, or ``curvature(w, j)``; None: by differences, and the
        step is halved until it goes down.
    prox : Penalty or callable, default=None
        A separable one of `fastml.penalties`, or ``prox(z, eta)`` of a number; see
        `proximal_gradient`.
    penalty : callable, default=None
        That penalty, of a vector, for the value and the trace.
    order : {'cyclic', 'random'}, default='cyclic'
        'random' passes over a new permutation each time.
    stop : stopping rule, default=None
        Asked after every pass; None: ``GradientBelow(1e-6) | Steps(1000)``. The gradient is that
        of `proximal_gradient`, each part as it was when its coordinate moved.
    random_state : int, RandomState instance or None, default=None
    keep_points : bool, default=False
        Whether the trace holds w after every coordinate.

    Returns
    -------
    optimum : Optimum

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.optimize import coordinate_descent
    >>> A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    >>> found = coordinate_descent(
    ...     lambda w: w @ A @ w / 2 - b @ w, [0.0, 0.0], lambda w, j: A[j] @ w - b[j],
    ...     curvature=[2.0, 3.0],
    ... )
    >>> found.point.round(4)
    array([0.2, 0.6])
    """
    from sklearn.utils import check_random_state

    check_choice("order", order, ("cyclic", "random"))
    if isinstance(prox, Penalty) and not prox.separable:
        raise ValueError(f"{prox!r} is not a sum over coordinates: take proximal_gradient")
    prox, penalty = maps_of(prox, penalty)
    point = start_of(start)
    draws = check_random_state(random_state)
    bounds = None if curvature is None or callable(curvature) else np.asarray(curvature, float)
    if bounds is not None and (bounds.shape != point.shape or not (bounds > 0.0).all()):
        raise ValueError("curvature must be positive, one for each coordinate")

    def total(w):
        return loss(w) + (0.0 if penalty is None else penalty(w))

    def moved(w, j, by):
        other = w.copy()
        other[j] += by
        return other

    def derivative(w, j):
        if partial is not None:
            return float(partial(w, j))
        h = FIRST * max(1.0, abs(w[j]))
        return float(loss(moved(w, j, h)) - loss(moved(w, j, -h))) / (2.0 * h)

    def bound(w, j):
        if bounds is not None:
            return bounds[j]
        if callable(curvature):
            return float(curvature(w, j))
        h = SECOND * max(1.0, abs(w[j]))
        second = (loss(moved(w, j, h)) - 2.0 * loss(w) + loss(moved(w, j, -h))) / h**2
        return max(abs(float(second)), 1e-8)

    def target(w, j, slope, L):
        z = w[j] - slope / L
        return z if prox is None else float(np.asarray(prox(z, 1.0 / L)))

    def pass_over(w):
        """The point after all coordinates have moved, and the norm of what moved them."""
        squares = 0.0
        for j in draws.permutation(len(w)) if order == "random" else range(len(w)):
            slope, L = derivative(w, j), bound(w, j)
            new = target(w, j, slope, L)
            squares += (L * (new - w[j])) ** 2
            if curvature is None:
                for _ in range(60):
                    if total(moved(w, j, new - w[j])) <= total(w):
                        break
                    L *= 2.0
                    new = target(w, j, slope, L)
                else:
                    new = w[j]
            w = moved(w, j, new - w[j])
            run.keep(w)
        return w, np.sqrt(squares)

    run = Run(stop, keep_points)
    run.keep(point)
    goes_on = run.goes_on(point, total(point), np.inf)
    while goes_on:
        before = point
        point, norm = pass_over(point)
        goes_on = run.goes_on(point, total(point), norm, np.linalg.norm(point - before) or np.nan)
    return run.ended(total)
