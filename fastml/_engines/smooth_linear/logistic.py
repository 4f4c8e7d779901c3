"""Logistic regression on one data set: its minima for any penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.firth import minimise_firth
from fastml._engines.smooth_linear.minimum import Factor, Minimum
from fastml._engines.smooth_linear.net import minimise_net
from fastml._engines.smooth_linear.objective import SmoothObjective
from fastml._engines.smooth_linear.softmax import SoftmaxObjective, minimise_softmax
from fastml._engines.smooth_linear.solvers import (
    MOST_COLUMNS,
    newton,
    sampled_newton,
    truncated_newton,
)
from fastml._threads import single_threaded_blas
from fastml.kernels.losses.definitions import BINOMIAL

FEW_VALUES, CLOSER = 1_000_000, 0.01
"""Up to so many values a step costs little: the tolerance is made this much smaller."""


class LogisticFit(NamedTuple):
    """Weights (1 or classes, features + 1), the intercepts last, and how they were found."""

    weights: NDArray
    found: Minimum
    solver: str


class LogisticProblem:
    """Σ weight_i ℓ_i + l1 \\|W\\|₁ + ½ l2 \\|W\\|²; intercepts are free.

    ℓ is the logistic loss of two classes or the multinomial one of several; ``codes`` are the
    classes of the rows, and ``reference`` is one of several whose weights are 0.
    """

    def __init__(
        self, X, codes, n_classes: int, weights, fit_intercept: bool, n_jobs=None, reference=None
    ):
        design = SmoothDesign(X, n_jobs)
        self.n_features = X.shape[1]
        self.objective: SmoothObjective | SoftmaxObjective
        if n_classes == 2:
            y = codes.astype(np.float64)
            self.objective = SmoothObjective(design, BINOMIAL, 0.0, y, weights, 0.0, fit_intercept)
        else:
            self.objective = SoftmaxObjective(
                design, codes, n_classes, weights, 0.0, fit_intercept, reference
            )

    def solve(self, l1: float, l2: float, start, tol, max_iter, report=None) -> LogisticFit:
        """The minimum, from ``start`` (as `LogisticFit` has it) or from 0."""
        objective = self.objective
        objective.set_penalty(l2 / objective.total)
        w = np.zeros(objective.n_free) if start is None else self._point(start)
        wanted = tol if objective.design.size > FEW_VALUES else tol * CLOSER
        if l1 > 0.0:
            share = l1 / objective.total
            found, solver = minimise_net(objective, share, w, wanted, max_iter, report=report)
        else:
            found, solver = self._smooth_minimum(w, wanted, max_iter, report)
        found = found._replace(converged=found.converged or found.gradient <= tol)
        return LogisticFit(self.weights_of(found.w), found, solver)

    def solve_firth(self, start, tol, max_iter, report=None) -> LogisticFit:
        """The minimum with Firth's penalty and no other; several classes need a ``reference``."""
        objective = self.objective
        objective.set_penalty(0.0)
        w = np.zeros(objective.n_free) if start is None else self._point(start)
        found = minimise_firth(objective, w, tol * CLOSER, max_iter, report=report)
        found = found._replace(converged=found.converged or found.gradient <= tol)
        return LogisticFit(self.weights_of(found.w), found, "fisher-scoring")

    def weights_of(self, w: NDArray) -> NDArray:
        """A point of the solvers as `LogisticFit` has it."""
        objective = self.objective
        lines = w.reshape(objective.n_lines, objective.n_classes).T
        if not isinstance(objective, SoftmaxObjective):
            weights = np.zeros((1, self.n_features + 1))
            weights[:, : objective.n_lines] = lines
            return weights
        weights = np.zeros((objective.n_all, self.n_features + 1))
        weights[objective.free, : objective.n_lines] = lines
        return weights

    def _point(self, weights: NDArray) -> NDArray:
        """The other way."""
        objective = self.objective
        if isinstance(objective, SoftmaxObjective) and objective.reference is not None:
            weights = (weights - weights[objective.reference])[objective.free]
        return weights.T[: objective.n_lines].ravel()

    def _smooth_minimum(self, w, tol, max_iter, report) -> tuple[Minimum, str]:
        objective = self.objective
        if isinstance(objective, SoftmaxObjective):
            return minimise_softmax(objective, w, tol, max_iter, report=report)
        if objective.n_free > MOST_COLUMNS:
            return truncated_newton(objective, w, tol, max_iter, report), "newton-cg"
        with single_threaded_blas():
            if objective.last_gram is not None:  # of another penalty, whose minimum is the start
                factor = Factor(objective.with_penalty(objective.last_gram))
                found = newton(objective, w, tol, max_iter, factor, report)[0]
            else:
                found = sampled_newton(objective, w, tol, max_iter, report)
            return found, "newton-cholesky"

    def separates(self, weights: NDArray) -> bool:
        """Whether these weights put every row that has a weight on the right side."""
        objective = self.objective
        W = np.ascontiguousarray(weights.T)
        scores = np.column_stack([objective.design.products(W[:, k]) for k in range(len(weights))])
        counts = objective.weights > 0.0 if len(objective.weights) else slice(None)
        if isinstance(objective, SoftmaxObjective):
            rows = np.arange(len(scores))
            right = scores[rows, objective.labels]
            scores[rows, objective.labels] = -np.inf
            margins = right - scores.max(axis=1)
        else:
            margins = scores[:, 0] * (2.0 * objective.y - 1.0)
        return bool((margins[counts] > 0.0).all())
