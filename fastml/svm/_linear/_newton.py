"""Newton's method on the weights: squared hinge and squared epsilon-insensitive losses.

With few dense features the Hessian is kept and factored; else its products are used in conjugate
gradients. A step is halved until the objective falls enough. The end: the gradient's norm is at
most the tolerance times that at w = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import conjugate_gradients, line_search, solve_positive
from fastml._engines.rows import DesignMatrix
from fastml._threads import effective_n_threads
from fastml.kernels.linear.dual_descent import CLASSIFY
from fastml.kernels.linear.newton import (
    ACCEPT,
    CURVATURE,
    HESSIAN_DIAGONAL,
    LOSS,
    PRODUCT,
    NewtonRows,
    NewtonSums,
    SquaredLoss,
    newton_chunks,
)
from fastml.svm._linear._solvers import Problems, scaled_tolerances

MOST_FEATURES = 160  # beyond, products with the Hessian are cheaper than the Hessian
SUFFICIENT = 0.01
MOST_TRIALS = 40
CG_ACCURACY = 0.1


def newton(design: DesignMatrix, problems: Problems, watch):
    """One problem after another, each on all threads."""
    if problems.task == CLASSIFY:
        tol = scaled_tolerances(problems)
    else:
        tol = np.full(len(problems.targets), problems.tol)
    found = [
        NewtonDescent(design, problems, k).run(tol[k], problems.max_iter, watch)
        for k in range(len(problems.targets))
    ]
    return np.vstack([w for w, _ in found]), np.array([n for _, n in found])


class NewtonDescent:
    """The weights, and what is known of the rows there."""

    def __init__(self, design: DesignMatrix, problems: Problems, k: int):
        n_chunks, self.rows_per_chunk = design.chunks()
        n_weights = design.n_features + 1
        keeps_hessian = not design.sparse and n_weights <= MOST_FEATURES
        size = n_weights if keeps_hessian else 0
        self.w = np.zeros(n_weights)
        self.rows = design.rows
        self.loss = SquaredLoss(
            problems.task, problems.epsilon, problems.targets[k], problems.costs[k]
        )
        self.known = NewtonRows(*(np.zeros(design.n_rows) for _ in range(3)))
        self.sums = NewtonSums(
            np.zeros(n_chunks), np.zeros((n_chunks, n_weights)), np.zeros((n_chunks, size, size))
        )
        self.n_threads = effective_n_threads(design.n_jobs, work=design.size * 4.0)

    def visit(self, what: int, vector: NDArray, step: float) -> None:
        newton_chunks(
            self.rows_per_chunk, what, self.rows, self.loss, vector, step, self.known, self.sums,
            n_threads=self.n_threads,
        )  # fmt: skip

    def accept(self, direction: NDArray, step: float) -> NDArray:
        """Take the step; the gradient there."""
        self.visit(ACCEPT, direction, step)
        self.w += step * direction
        return self.w + self.sums.vectors.sum(axis=0)

    def run(self, tol: float, max_iter: int, watch) -> tuple[NDArray, int]:
        gradient = self.accept(np.zeros_like(self.w), 0.0)
        self.visit(LOSS, self.w, 0.0)
        objective = self.sums.losses.sum()
        enough = tol * np.sqrt(gradient @ gradient)
        for n_iter in range(max_iter):
            if np.sqrt(gradient @ gradient) <= enough:
                return self.w, n_iter
            direction = self.direction(gradient)
            found = self.step_along(direction, objective, float(gradient @ direction))
            if found is None:
                return self.w, n_iter  # nothing left to gain but rounding
            step, new = found
            gradient = self.accept(direction, step)
            if watch(n_iter + 1, new) or objective - new <= 1e-15 * abs(objective):
                return self.w, n_iter + 1
            objective = new
        return self.w, max_iter

    def step_along(self, direction: NDArray, objective: float, slope: float):
        """A step that makes the objective fall enough, and the objective there; None if none."""

        def objective_at(step: float) -> float:
            # The first pass multiplies the rows by the direction; the others take its products.
            self.visit(PRODUCT if step == 1.0 else LOSS, direction, step)
            w = self.w + step * direction
            return 0.5 * float(w @ w) + float(self.sums.losses.sum())

        return line_search(
            objective_at, objective, slope, sufficient=SUFFICIENT, most_trials=MOST_TRIALS
        )

    def direction(self, gradient: NDArray) -> NDArray:
        """Minus the inverse Hessian times the gradient, exactly or to a tenth."""
        if self.sums.hessians.size:
            hessian = self.sums.hessians.sum(axis=0)
            hessian.flat[:: len(gradient) + 1] += 1.0
            direction = solve_positive(hessian, -gradient)
            if direction is not None:
                return direction
        self.visit(HESSIAN_DIAGONAL, gradient, 0.0)
        scale = 1.0 / (1.0 + self.sums.vectors.sum(axis=0))
        return conjugate_gradients(self.hessian_product, -gradient, scale, CG_ACCURACY)

    def hessian_product(self, vector: NDArray) -> NDArray:
        self.visit(CURVATURE, vector, 0.0)
        return vector + self.sums.vectors.sum(axis=0)
