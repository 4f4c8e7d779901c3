"""Solvers of linear support vector machines: several problems over the same rows.

Each takes a `DesignMatrix` and `Problems` and returns the weights (one line a problem, the
constant's last) and the iterations of each problem. They come back to Python several times a
second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.rows import DesignMatrix
from fastml._threads import effective_n_threads
from fastml.kernels.linear.crammer_singer import crammer_singer_epochs
from fastml.kernels.linear.dual_descent import (
    ACTIVE,
    CLASSIFY,
    DONE,
    EPOCHS,
    DescentProblems,
    DescentState,
    descend,
)
from fastml.kernels.linear.l1_descent import descend_l1
from fastml.kernels.numeric.rng import seed_stream

WORK_PER_CALL = 2e8  # multiply-adds: about a quarter of a second, so that Ctrl-C works
PROBLEMS_AT_ONCE = 16


class Problems(NamedTuple):
    """Targets (±1, or numbers) and costs C_i, one line a problem, and what they share."""

    task: int
    targets: NDArray
    costs: NDArray
    epsilon: float
    tol: float
    max_iter: int

    def part(self, first: int, last: int) -> Problems:
        return self._replace(targets=self.targets[first:last], costs=self.costs[first:last])


class Descents:
    """The state of coordinate descents over several problems, and the rounds until all are done."""

    def __init__(self, n_problems: int, n_weights: int, n_visited: int, seed: int):
        self.state = DescentState(
            w=np.zeros((n_problems, n_weights)),
            order=np.repeat(np.arange(n_visited)[None], n_problems, axis=0),
            bounds=np.full((n_problems, 2), np.inf),
            counts=np.zeros((n_problems, 3), dtype=np.intp),
            stream=np.empty((n_problems, 1), dtype=np.uint64),
        )
        self.state.counts[:, ACTIVE] = n_visited
        for k in range(n_problems):
            seed_stream(self.state.stream[k], np.uint64(seed), np.uint64(k))

    @property
    def n_epochs(self) -> NDArray:
        return self.state.counts[:, EPOCHS]

    def run(self, step, max_iter: int, size: int, watch) -> None:
        """Call ``step(epochs)`` until all are done or ``watch`` says so."""
        epochs = int(max(1, min(max_iter, WORK_PER_CALL // max(1, size))))
        done, passed = self.state.counts[:, DONE], self.n_epochs
        while not ((done == 1) | (passed >= max_iter)).all():
            step(epochs)
            if watch(self.state.counts):
                return


def dual(design: DesignMatrix, problems: Problems, seed: int, squared: bool, watch):
    """Dual coordinate descent, some problems at a time."""
    squares = design.squares()
    found = [
        _dual(design, squares, problems.part(k, k + PROBLEMS_AT_ONCE), seed + k, squared, watch)
        for k in range(0, len(problems.targets), PROBLEMS_AT_ONCE)
    ]
    return np.vstack([w for w, _ in found]), np.concatenate([n for _, n in found])


def _dual(design, squares, problems, seed, squared, watch):
    n_problems = len(problems.targets)
    descents = Descents(n_problems, design.n_features + 1, design.n_rows, seed)
    if squared:
        upper, damping = np.full_like(problems.costs, np.inf), 0.5 / problems.costs
    else:
        upper, damping = problems.costs, np.zeros_like(problems.costs)
    if problems.task == CLASSIFY:
        descents.state.bounds[:, 1] = -np.inf
    given = DescentProblems(problems.targets, upper, damping, problems.epsilon, squares)
    alpha = np.zeros(problems.costs.shape)
    n_threads = effective_n_threads(design.n_jobs, work=n_problems * design.size * 4.0)

    def step(epochs):
        descend(
            problems.task, epochs, problems.max_iter, problems.tol, design.rows, given, alpha,
            descents.state, n_threads=n_threads,
        )  # fmt: skip

    descents.run(step, problems.max_iter, design.size * n_problems, watch)
    return descents.state.w, descents.n_epochs


def lasso(design: DesignMatrix, problems: Problems, seed: int, watch):
    """Coordinate descent on the weights under an l1 penalty."""
    columns = design.columns()
    tol = scaled_tolerances(problems)
    found = [
        _lasso(design, columns, problems.part(k, k + PROBLEMS_AT_ONCE), tol[k:], seed + k, watch)
        for k in range(0, len(problems.targets), PROBLEMS_AT_ONCE)
    ]
    return np.vstack([w for w, _ in found]), np.concatenate([n for _, n in found])


def _lasso(design, columns, problems, tol, seed, watch):
    n_problems = len(problems.targets)
    n_visited = design.n_features + (design.bias != 0.0)
    descents = Descents(n_problems, design.n_features + 1, n_visited, seed)
    slack = np.ones(problems.targets.shape)
    n_threads = effective_n_threads(design.n_jobs, work=n_problems * design.size * 4.0)

    def step(epochs):
        descend_l1(
            epochs, problems.max_iter, tol, columns, problems.targets, problems.costs, slack,
            descents.state, n_threads=n_threads,
        )  # fmt: skip

    descents.run(step, problems.max_iter, design.size * n_problems, watch)
    return descents.state.w, descents.n_epochs


def scaled_tolerances(problems: Problems) -> NDArray:
    """The tolerance of primal classification, times the share of the rarer of two classes."""
    positive = (problems.targets > 0).sum(axis=1)
    rarer = np.minimum(positive, problems.targets.shape[1] - positive)
    return problems.tol * np.maximum(rarer, 1) / problems.targets.shape[1]


def joint(
    design: DesignMatrix, labels, costs, n_classes: int, tol: float, max_iter: int, seed: int, watch
):
    """All classes at once, after Crammer and Singer."""
    descents = Descents(1, 0, design.n_rows, seed)
    descents.state.bounds[0] = max(1.0, 10.0 * tol), 1.0
    w = np.zeros((n_classes, design.n_features + 1))
    state = DescentState(w, *(lines[0] for lines in descents.state[1:]))
    alpha = np.zeros((design.n_rows, n_classes))
    squares = design.squares()

    def step(epochs):
        crammer_singer_epochs(
            epochs, max_iter, tol, design.rows, labels, costs, squares, alpha, state
        )

    descents.run(step, max_iter, design.size * n_classes, watch)
    return w, descents.n_epochs
