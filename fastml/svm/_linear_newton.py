"""Newton's method on the weights: squared hinge and squared epsilon-insensitive losses.

With few dense features the Hessian is kept and factored; else its products are used in conjugate
gradients. A step is halved until the objective falls enough. The end: the gradient's norm is at
most the tolerance times that at w = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.kernels.newton_linear import (
    ACCEPT,
    CURVATURE,
    DIAGONAL,
    LOSS,
    PRODUCT,
    newton_chunks,
)
from fastml.svm._linear_solvers import CLASSIFY, Problems, Rows, scaled_tolerances

MOST_FEATURES = 160  # beyond, products with the Hessian are cheaper than the Hessian
SUFFICIENT = 0.01
MOST_HALVINGS = 40
CG_ACCURACY = 0.1


def newton(rows: Rows, problems: Problems, watch):
    """One problem after another, each on all threads."""
    if problems.task == CLASSIFY:
        tol = scaled_tolerances(problems)
    else:
        tol = np.full(len(problems.targets), problems.tol)
    found = [
        Descent(rows, problems, k).run(tol[k], problems.max_iter, watch)
        for k in range(len(problems.targets))
    ]
    return np.vstack([w for w, _ in found]), np.array([n for _, n in found])


class Descent:
    """The weights, and what is known of the rows there."""

    def __init__(self, rows: Rows, problems: Problems, k: int):
        n_chunks, rows_per_chunk = rows.chunks()
        n_weights = rows.n_features + 1
        keeps_hessian = not rows.sparse and n_weights <= MOST_FEATURES
        size = n_weights if keeps_hessian else 0
        self.w = np.zeros(n_weights)
        self.losses = np.zeros(n_chunks)
        self.sums = np.zeros((n_chunks, n_weights))
        self.hessians = np.zeros((n_chunks, size, size))
        self.head = (rows_per_chunk,)
        self.problem = (
            problems.task, problems.epsilon, *rows.arrays, rows.bias,
            problems.targets[k], problems.costs[k],
        )  # fmt: skip
        self.state = tuple(np.zeros(rows.n_rows) for _ in range(3))  # z, products, curvature
        self.n_threads = effective_n_threads(rows.n_jobs, work=rows.size * 4.0)

    def visit(self, what: int, vector: NDArray, step: float) -> None:
        newton_chunks(
            *self.head, what, *self.problem, vector, step, *self.state,
            self.losses, self.sums, self.hessians, n_threads=self.n_threads,
        )  # fmt: skip

    def accept(self, direction: NDArray, step: float) -> NDArray:
        """Take the step; the gradient there."""
        self.visit(ACCEPT, direction, step)
        self.w += step * direction
        return self.w + self.sums.sum(axis=0)

    def run(self, tol: float, max_iter: int, watch) -> tuple[NDArray, int]:
        gradient = self.accept(np.zeros_like(self.w), 0.0)
        self.visit(LOSS, self.w, 0.0)
        objective = self.losses.sum()
        enough = tol * np.sqrt(gradient @ gradient)
        for n_iter in range(max_iter):
            if np.sqrt(gradient @ gradient) <= enough:
                return self.w, n_iter
            direction = self.direction(gradient)
            slope = float(gradient @ direction)
            self.visit(PRODUCT, direction, 1.0)
            step, new = 1.0, self._objective(direction, 1.0)
            for _ in range(MOST_HALVINGS):
                if new <= objective + SUFFICIENT * step * slope:
                    break
                step *= 0.5
                self.visit(LOSS, direction, step)
                new = self._objective(direction, step)
            else:
                return self.w, n_iter  # nothing left to gain but rounding
            gradient = self.accept(direction, step)
            watch(n_iter + 1, new)
            if objective - new <= 1e-15 * abs(objective):
                return self.w, n_iter + 1
            objective = new
        return self.w, max_iter

    def _objective(self, direction: NDArray, step: float) -> float:
        w = self.w + step * direction
        return 0.5 * float(w @ w) + float(self.losses.sum())

    def direction(self, gradient: NDArray) -> NDArray:
        if self.hessians.size:
            from scipy.linalg.lapack import dposv

            hessian = self.hessians.sum(axis=0)
            hessian.flat[:: len(gradient) + 1] += 1.0
            _, direction, failure = dposv(hessian, -gradient, lower=1)
            if failure == 0:
                return direction
        return self.conjugate_gradients(gradient)

    def conjugate_gradients(self, gradient: NDArray) -> NDArray:
        """Hessian · direction = −gradient, to a tenth, scaled by the Hessian's diagonal."""
        self.visit(DIAGONAL, gradient, 0.0)
        scale = 1.0 / (1.0 + self.sums.sum(axis=0))
        direction = np.zeros_like(gradient)
        residual = -gradient
        scaled = scale * residual
        search = scaled.copy()
        energy = residual @ scaled
        enough = CG_ACCURACY**2 * energy
        for _ in range(len(gradient)):
            if energy <= enough:
                break
            self.visit(CURVATURE, search, 0.0)
            product = search + self.sums.sum(axis=0)
            length = energy / (search @ product)
            direction += length * search
            residual -= length * product
            scaled = scale * residual
            previous, energy = energy, residual @ scaled
            search *= energy / previous
            search += scaled
        return direction
