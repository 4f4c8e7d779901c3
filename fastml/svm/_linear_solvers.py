"""Solvers of linear support vector machines: several problems over the same rows.

Each takes `Rows` and `Problems` and returns the weights (one line a problem, the constant's last)
and the iterations of each problem. They come back to Python several times a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels import coordinate_descent, coordinate_descent_l1, crammer_singer
from fastml.kernels.coordinate_descent import CLASSIFY, DONE, EPOCHS, REGRESS
from fastml.kernels.rng import seed_stream

WORK_PER_CALL = 2e8  # multiply-adds: about a quarter of a second, after which Ctrl-C is heard
PROBLEMS_AT_ONCE = 16

__all__ = ["CLASSIFY", "REGRESS", "Problems", "Rows", "dual", "joint", "lasso"]


class Rows:
    """Dense or CSR rows in the kernels' layout, with the constant ``bias`` behind each."""

    def __init__(self, X, bias: float, n_jobs=None):
        self.n_rows, self.n_features = X.shape
        self.matrix, self.bias, self.n_jobs = X, float(bias), n_jobs
        self.sparse = sp.issparse(X)
        self.size = X.nnz if self.sparse else X.size
        self.arrays = _arrays(X) if self.sparse else _dense(X)

    def squares(self) -> NDArray:
        squares = np.empty(self.n_rows)
        coordinate_descent.row_squares(*self.arrays, self.bias, squares)
        return squares

    def columns(self) -> tuple:
        """The same by column, the constant as the last one."""
        constant = np.full((self.n_rows, 1), self.bias)
        if self.sparse:
            return _arrays(sp.hstack([self.matrix, sp.csr_array(constant)]).tocsc())
        return _dense(np.hstack([self.matrix, constant]).T)

    def chunks(self) -> tuple[int, int]:
        """(chunks, rows of each): sums of chunks must stay small beside the rows themselves."""
        rows = chunk_rows(self.n_rows, 2.0 * self.size / self.n_rows)
        most = max(1, min(64, self.size // (16 * (self.n_features + 1))))
        rows = max(rows, -(-self.n_rows // most))
        return -(-self.n_rows // rows), rows


def _arrays(X) -> tuple:
    return (
        kernel_view(np.empty((0, 0))),
        kernel_view(X.data, dtype=np.float64),
        kernel_view(X.indices, dtype=np.uint32),
        kernel_view(X.indptr, dtype=np.int64),
    )


def _dense(X) -> tuple:
    nothing = np.empty(0)
    return (
        kernel_view(X, dtype=np.float64),
        kernel_view(nothing),
        kernel_view(nothing, dtype=np.uint32),
        kernel_view(nothing, dtype=np.int64),
    )


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


class State:
    """Weights, order of visit, bounds of shrinking, counts and random streams of descents."""

    def __init__(self, n_problems: int, n_weights: int, n_visited: int, seed: int):
        self.w = np.zeros((n_problems, n_weights))
        self.order = np.repeat(np.arange(n_visited)[None], n_problems, axis=0)
        self.bounds = np.full((n_problems, 2), np.inf)
        self.counts = np.zeros((n_problems, 3), dtype=np.intp)
        self.counts[:, coordinate_descent.ACTIVE] = n_visited
        self.streams = np.empty((n_problems, 1), dtype=np.uint64)
        for k in range(n_problems):
            seed_stream(self.streams[k], np.uint64(seed), np.uint64(k))

    def run(self, step, max_iter: int, size: int, watch) -> None:
        """Call ``step(epochs)`` until all are done."""
        epochs = int(max(1, min(max_iter, WORK_PER_CALL // max(1, size))))
        done, passed = self.counts[:, DONE], self.counts[:, EPOCHS]
        while not ((done == 1) | (passed >= max_iter)).all():
            step(epochs)
            watch(self.counts)


def dual(rows: Rows, problems: Problems, seed: int, squared: bool, watch):
    """Dual coordinate descent, some problems at a time."""
    squares = rows.squares()
    found = [
        _dual(rows, squares, problems.part(k, k + PROBLEMS_AT_ONCE), seed + k, squared, watch)
        for k in range(0, len(problems.targets), PROBLEMS_AT_ONCE)
    ]
    return np.vstack([w for w, _ in found]), np.concatenate([n for _, n in found])


def _dual(rows, squares, problems, seed, squared, watch):
    n_problems = len(problems.targets)
    state = State(n_problems, rows.n_features + 1, rows.n_rows, seed)
    if squared:
        upper, damping = np.full_like(problems.costs, np.inf), 0.5 / problems.costs
    else:
        upper, damping = problems.costs, np.zeros_like(problems.costs)
    if problems.task == CLASSIFY:
        state.bounds[:, 1] = -np.inf
    alpha = np.zeros(problems.costs.shape)
    n_threads = effective_n_threads(rows.n_jobs, work=n_problems * rows.size * 4.0)

    def step(epochs):
        coordinate_descent.descend(
            problems.task, epochs, problems.max_iter, problems.tol, *rows.arrays, rows.bias,
            problems.targets, problems.epsilon, upper, damping, squares,
            state.w, alpha, state.order, state.bounds, state.counts, state.streams,
            n_threads=n_threads,
        )  # fmt: skip

    state.run(step, problems.max_iter, rows.size * n_problems, watch)
    return state.w, state.counts[:, EPOCHS]


def lasso(rows: Rows, problems: Problems, seed: int, watch):
    """Coordinate descent on the weights under an l1 penalty."""
    columns = rows.columns()
    tol = scaled_tolerances(problems)
    found = [
        _lasso(rows, columns, problems.part(k, k + PROBLEMS_AT_ONCE), tol[k:], seed + k, watch)
        for k in range(0, len(problems.targets), PROBLEMS_AT_ONCE)
    ]
    return np.vstack([w for w, _ in found]), np.concatenate([n for _, n in found])


def _lasso(rows, columns, problems, tol, seed, watch):
    n_problems = len(problems.targets)
    n_weights = rows.n_features + (rows.bias != 0.0)
    state = State(n_problems, rows.n_features + 1, n_weights, seed)
    slack = np.ones(problems.targets.shape)
    n_threads = effective_n_threads(rows.n_jobs, work=n_problems * rows.size * 4.0)

    def step(epochs):
        coordinate_descent_l1.descend_l1(
            epochs, problems.max_iter, tol, *columns, problems.targets, problems.costs,
            slack, state.w, state.order, state.bounds, state.counts, state.streams,
            n_threads=n_threads,
        )  # fmt: skip

    state.run(step, problems.max_iter, rows.size * n_problems, watch)
    return state.w, state.counts[:, EPOCHS]


def scaled_tolerances(problems: Problems) -> NDArray:
    """The tolerance of primal classification, times the share of the rarer of two classes."""
    positive = (problems.targets > 0).sum(axis=1)
    rarer = np.minimum(positive, problems.targets.shape[1] - positive)
    return problems.tol * np.maximum(rarer, 1) / problems.targets.shape[1]


def joint(rows: Rows, labels, costs, n_classes: int, tol: float, max_iter: int, seed: int, watch):
    """All classes at once, after Crammer and Singer."""
    state = State(1, 1, rows.n_rows, seed)
    state.bounds[0] = max(1.0, 10.0 * tol), 1.0
    w = np.zeros((n_classes, rows.n_features + 1))
    alpha = np.zeros((rows.n_rows, n_classes))
    squares = rows.squares()

    def step(epochs):
        crammer_singer.crammer_singer_epochs(
            epochs, max_iter, tol, *rows.arrays, rows.bias, labels, costs, squares,
            w, alpha, state.order[0], state.bounds[0], state.counts[0], state.streams[0],
        )  # fmt: skip

    state.run(step, max_iter, rows.size * n_classes, watch)
    return w, state.counts[:, EPOCHS]
