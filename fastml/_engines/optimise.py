"""Steps of descent methods: line search, conjugate gradients, positive definite systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


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
    for start in range(0, n, width):
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
