"""Steps of descent methods: line search, conjugate gradients, positive definite systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._progress import told


def line_search(
    value_at: Callable[[float], float],
    value: float,
    slope: float,
    *,
    sufficient: float,
    most_trials: int,
    strictly: bool = False,
) -> tuple[float, float] | None:
    """The first of the steps 1, ½, ¼, … at which a function falls enough, and its value there.

    Enough is the share ``sufficient`` of what the ``slope`` at step 0, where the function has the
    given ``value``, promises: value_at(step) ≤ value + sufficient · step · slope (Armijo, 1966), or
    < with ``strictly``. None if no trial succeeds.
    """
    step = 1.0
    for _ in range(most_trials):
        new, enough = value_at(step), value + sufficient * step * slope
        if new < enough or (new == enough and not strictly):
            return step, new
        step *= 0.5
    return None


def moved(point: tuple, direction: tuple, step: float) -> tuple:
    """The point + step · direction, part by part."""
    return tuple(part + step * change for part, change in zip(point, direction))


def conjugate_gradients(
    product: Callable[[NDArray], NDArray], target: NDArray, scale: NDArray, accuracy: float
) -> NDArray:
    """x with A x = ``target`` for a positive definite A given by ``product(v)`` = A v.

    ``scale`` is the inverse of A's diagonal (Jacobi's preconditioner). Ends when the residual, in
    the norm that this scale defines, is ``accuracy`` times that at x = 0, or after as many products
    as there are unknowns.
    """
    x = np.zeros_like(target)
    residual = target.copy()
    scaled = scale * residual
    search = scaled.copy()
    energy = residual @ scaled
    enough = accuracy**2 * energy
    for _ in range(len(target)):
        if energy <= enough:
            break
        image = product(search)
        length = energy / (search @ image)
        x += length * search
        residual -= length * image
        scaled = scale * residual
        previous, energy = energy, residual @ scaled
        search *= energy / previous
        search += scaled
    return x


def solve_positive(A: NDArray, B: NDArray) -> NDArray | None:
    """X with A X = B by the lower triangle of A alone; None if A is not positive definite."""
    from scipy.linalg.lapack import dposv

    if len(A) > AT_ONCE:
        _, solution, failure = cholesky_solve(np.array(A, dtype=np.float64, order="C"), B)
    else:
        _, solution, failure = dposv(A, B, lower=1)
    return None if failure else solution


AT_ONCE = 2000
"""Rows up to which LAPACK solves at once, below a second."""

STEP_WORK = 4e10
"""n² times the columns of a step of `cholesky_solve`: below half a second."""


def cholesky_solve(A: NDArray, targets: NDArray) -> tuple[NDArray, NDArray, int]:
    """(A, A⁻¹ targets, 0), by steps between which Python sees Ctrl-C, as LAPACK's does not.

    A is symmetric and in C order; its lower triangle becomes the factor L of A = L L', the rest is
    not read. A last value other than 0 says that A is not positive definite.
    """
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpotrf

    n = len(A)
    width = int(np.clip(STEP_WORK // n**2, 64, 512))
    for start in told("columns of the factor", range(0, n, width)):
        stop = min(start + width, n)
        A[start:, start:stop] -= A[start:, :start] @ A[start:stop, :start].T
        corner, failure = dpotrf(A[start:stop, start:stop], lower=1)
        if failure:
            return A, targets, start + failure
        below = A[stop:, start:stop]
        below[:] = solve_triangular(corner, below.T, lower=True, check_finite=False).T
        lower = np.tril_indices(stop - start)
        A[start:stop, start:stop][lower] = corner[lower]
    half = solve_triangular(A, targets, lower=True, check_finite=False)
    return A, solve_triangular(A, half, lower=True, trans=1, check_finite=False), 0


MEMORY = 12
"""Pairs of steps and changes of the gradient that L-BFGS keeps."""


class Descent(NamedTuple):
    """Where a descent ended, after how many steps, whether as asked, and the largest slope."""

    w: NDArray
    n_iter: int
    converged: bool
    gradient: float


def lbfgs_with(function, w: NDArray, tol: float, max_iter: int, report=None) -> Descent:
    """L-BFGS from ``w`` with a first Hessian of the caller's, until no slope is above ``tol``.

    ``function.at(w)`` is (value, gradient), ``function.scale()`` has a method ``solve`` that is
    near to the inverse Hessian at the w that ``at`` was called for first.
    """
    value, gradient = function.at(w)
    near = None
    pairs: list = []
    size = float(np.abs(gradient).max(initial=0.0))
    for n_iter in range(max_iter):
        if report is not None and report(n_iter, value, size, w):
            return Descent(w, n_iter, True, size)
        if size <= tol or not np.isfinite(value):
            return Descent(w, n_iter, size <= tol, size)
        if near is None:
            near = function.scale()
        direction = -_two_loops(gradient, near, pairs)
        slope = float(gradient @ direction)
        if not slope < 0.0:
            pairs.clear()
            direction = -near.solve(gradient)
            slope = float(gradient @ direction)
        found: dict = {}

        def value_at(step, w=w, direction=direction, found=found):
            found["at"] = function.at(w + step * direction)
            new = found["at"][0]
            return new if np.isfinite(new) else np.inf

        # Near the minimum the fall is below rounding; a gradient that falls is enough there.
        slack = 64.0 * np.finfo(np.float64).eps * max(1.0, abs(value))
        taken = line_search(value_at, value + slack, slope, sufficient=1e-4, most_trials=30)
        if taken is None:  # nothing left to gain but rounding
            rounding = 1e-10 * max(1.0, abs(value))
            return Descent(w, n_iter, size <= max(tol, rounding), size)
        step, value = taken
        new_gradient = found["at"][1]
        change, moved_by = new_gradient - gradient, step * direction
        curvature = float(change @ moved_by)
        if curvature > 1e-12 * float(moved_by @ moved_by):
            pairs.append((moved_by, change, 1.0 / curvature))
            del pairs[:-MEMORY]
        w, gradient = w + moved_by, new_gradient
        size = float(np.abs(gradient).max(initial=0.0))
    return Descent(w, max_iter, size <= tol, size)


def _two_loops(gradient: NDArray, near, pairs) -> NDArray:
    """The inverse Hessian of the pairs times the gradient (Nocedal, 1980)."""
    q, shares = gradient.copy(), []
    for moved_by, change, inverse in reversed(pairs):
        share = inverse * float(moved_by @ q)
        shares.append(share)
        q -= share * change
    q = near.solve(q)
    for (moved_by, change, inverse), share in zip(pairs, reversed(shares)):
        q += (share - inverse * float(change @ q)) * moved_by
    return q
