"""The multinomial loss of a linear model with an l2 penalty, and its minimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import lbfgs_with
from fastml._engines.smooth_linear.design import MOST_CHUNKS, SmoothDesign
from fastml._engines.smooth_linear.minimum import Factor, Minimum
from fastml._engines.smooth_linear.solvers import newton
from fastml._threads import chunk_rows, effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.linear.softmax import column_slopes, softmax_pass

EXPONENTIAL = 32.0
"""Operations of one probability, for the number of threads."""

NEWTON_WORK = 2e8
"""Multiply-adds of a Hessian up to which Newton's method is faster than L-BFGS."""

NEWTON_WEIGHTS = 300
KRONECKER_COLUMNS = 1000
SAMPLE_ROWS, ROWS_PER_COLUMN, LEAST_SHARE = 8_000, 40, 4
SAMPLE_TOL = 1e-3


class SoftmaxObjective:
    """Σ weight_i ℓ(y_i, W' (x_i, 1)) / Σ weight_i + ½ alpha \\|W\\|²; intercepts are free.

    Weights are a vector: those of all classes for the first column, the second, …, the intercepts.
    With a ``reference`` the weights of that class are 0, and there are only those of the others.
    It has the methods that `newton` asks for; raw predictions are not kept, since one pass over the
    rows gives value and gradient: in their place stand the weights.
    """

    def __init__(
        self, design: SmoothDesign, labels, n_all, weights, alpha, fit_intercept, reference=None
    ):
        self.design, self.n_all, self.reference = design, int(n_all), reference
        self.free = np.flatnonzero(np.arange(n_all) != (-1 if reference is None else reference))
        self.n_classes = len(self.free)
        self.labels = kernel_view(labels, dtype=np.intp)
        self.weights = kernel_view(np.empty(0) if weights is None else weights, dtype=np.float64)
        self.total = float(design.n_rows if weights is None else self.weights.sum())
        self.fit_intercept = fit_intercept
        self.n_lines = design.n_weights if fit_intercept else design.n_features
        self.n_free = self.n_lines * self.n_classes
        self.set_penalty(alpha)
        self.P = np.empty((design.n_rows, self.n_all))
        self._slopes = np.empty(self.n_free)
        n_weights = design.n_weights * self.n_all
        self.work = (2.0 * design.size + EXPONENTIAL * design.n_rows) * self.n_all
        rows = chunk_rows(design.n_rows, self.work / max(design.n_rows, 1), at_least=64)
        most = max(1, min(MOST_CHUNKS, design.size * self.n_all // (16 * n_weights)))
        self.by_columns = design.is_wide
        self.rows_per_chunk = rows if design.is_wide else max(rows, -(-design.n_rows // most))

    def set_penalty(self, alpha: float) -> None:
        """Another factor of the penalty."""
        self.alpha = float(alpha)
        penalty = np.full((self.n_lines, self.n_classes), self.alpha)
        if self.fit_intercept:
            penalty[-1] = 0.0
        self.penalty = penalty.ravel()

    def sample(self, n_wanted: int) -> SoftmaxObjective | None:
        """The same of some rows; None if these have no weight."""
        design, chosen = self.design.sample(n_wanted)
        weights = self.weights[chosen] if len(self.weights) else None
        if weights is not None and not weights.any():
            return None
        return SoftmaxObjective(
            design, self.labels[chosen], self.n_all, weights, self.alpha, self.fit_intercept,
            self.reference,
        )  # fmt: skip

    @property
    def shift_is_free(self) -> bool:
        """Whether the same more for the intercepts of all classes changes no probability."""
        return self.fit_intercept and self.reference is None

    def raw(self, w: NDArray) -> NDArray:
        return w

    def value(self, w: NDArray, z=None, direction=None, step=0.0) -> float:
        """The objective at ``w``; keeps the gradient and the probabilities there."""
        shape = self.design.n_weights, self.n_all
        W = np.zeros(shape)
        W[: self.n_lines, self.free] = w.reshape(self.n_lines, -1)
        n_chunks = -(-self.design.n_rows // self.rows_per_chunk)
        losses = np.empty(n_chunks)
        slopes = np.empty((n_chunks, 0, 0) if self.by_columns else (n_chunks, *shape))
        n_threads = effective_n_threads(self.design.n_jobs, work=self.work)
        softmax_pass(
            self.rows_per_chunk, self.design.rows, self.labels, self.weights, W, self.P, slopes,
            losses, n_threads=n_threads,
        )  # fmt: skip
        if self.by_columns:
            found = np.empty(shape)
            columns = max(1, -(-self.design.n_features // MOST_CHUNKS))
            column_slopes(
                -(-self.design.n_features // columns), columns, self.design.columns(), self.labels,
                self.weights, self.P, found, n_threads=n_threads,
            )  # fmt: skip
            u = self.weights if len(self.weights) else 1.0
            found[-1] = (self.P * np.reshape(u, (-1, 1))).sum(axis=0)
            found[-1] -= np.bincount(self.labels, self.weights_or_none(), self.n_all)
        else:
            found = slopes.sum(axis=0)
        self._slopes = self._of_free(found[: self.n_lines]).ravel()
        return float(losses.sum()) / self.total + 0.5 * float((self.penalty * w) @ w)

    def weights_or_none(self):
        return self.weights if len(self.weights) else None

    def gradient(self, w: NDArray) -> NDArray:
        """At the ``w`` that `value` was last called for."""
        return self._slopes / self.total + self.penalty * w

    def at(self, w: NDArray) -> tuple[float, NDArray]:
        value = self.value(w)
        return value, self.gradient(w)

    def _of_free(self, by_class: NDArray) -> NDArray:
        """The columns of the classes that have weights."""
        return by_class if self.reference is None else by_class[:, self.free]

    def probabilities(self) -> NDArray:
        """(rows, classes with weights) at the w that `value` was last called for."""
        return self._of_free(self.P)

    def row_slopes(self) -> NDArray:
        """(rows, classes with weights), the derivatives of the losses there."""
        V = self.P.copy()
        V[np.arange(len(V)), self.labels] -= 1.0
        return self._of_free(V * self.weights[:, None] if len(self.weights) else V)

    def hessian(self, *, determined: bool = False) -> NDArray:
        """At the w that `value` was last called for.

        Where the objective does not change if all classes get the same weight more, which holds for
        the intercept and without a penalty, it is given a curvature: steps have no part there. With
        ``determined`` that is the intercept only.
        """
        K, m = self.n_classes, self.n_lines
        H = self.summed_hessian() / self.total
        H.flat[:: self.n_free + 1] += self.penalty
        if self.reference is not None:
            return H
        for j in range(m - 1 if determined and self.fit_intercept else 0, m):
            if self.penalty[j * K] == 0.0 and (self.fit_intercept or not determined):
                H[j * K : j * K + K, j * K : j * K + K] += max(H[j * K, j * K], 1e-12) / K
        return H

    def summed_hessian(self) -> NDArray:
        """Without the penalty, summed over the rows."""
        K, m, P = self.n_classes, self.n_lines, self.probabilities()
        H = np.empty((self.n_free, self.n_free))
        for a in range(K):
            for b in range(a + 1):
                p = P[:, a] * ((1.0 - P[:, a]) if a == b else P[:, b])
                if len(self.weights):
                    p *= self.weights
                G = self.design.gram(p)[:m, :m]
                H[a::K, b::K] = G if a == b else -G
                H[b::K, a::K] = H[a::K, b::K]
        return H


class Kronecker:
    """The Hessian as if probabilities did not depend on the row: C ⊗ X'X / n + penalty."""

    def __init__(self, objective: SoftmaxObjective):
        u = objective.weights_or_none()
        P = objective.probabilities()
        mean = np.average(P, axis=0, weights=u)
        weighted = P if u is None else P * u[:, None]
        C = np.diag(mean) - P.T @ weighted / objective.total
        G = objective.design.gram(np.ones(objective.design.n_rows) if u is None else u)
        m = objective.n_lines
        G = G[:m, :m] / objective.total
        values, self.U = np.linalg.eigh(C)
        self.shape = m, objective.n_classes
        penalty = np.diag(objective.penalty.reshape(self.shape)[:, 0])
        least = 1e-10 * max(float(values[-1]), 1e-300)
        # Without a reference the first value belongs to equal changes of all classes.
        alike = objective.reference is None
        self.factors = [None] * alike + [
            Factor(max(v, least) * G + penalty) for v in values[int(alike) :]
        ]
        first = objective.penalty.reshape(self.shape)[:, 0]
        self.first = np.divide(1.0, first, out=np.zeros(m), where=first > 0.0)

    def solve(self, b: NDArray) -> NDArray:
        B = b.reshape(self.shape) @ self.U
        for k, factor in enumerate(self.factors):
            B[:, k] = self.first * B[:, k] if factor is None else factor.solve(B[:, k])
        return (B @ self.U.T).ravel()


class ClassDiagonal:
    """The diagonal of the same."""

    def __init__(self, objective: SoftmaxObjective):
        P = objective.probabilities()
        curved = (P * (1.0 - P)).mean(axis=0)
        squares = objective.design.column_squares()[: objective.n_lines] / objective.total
        self.inverse = 1.0 / np.maximum(np.outer(squares, curved).ravel() + objective.penalty, 1e-6)

    def solve(self, b: NDArray) -> NDArray:
        return self.inverse * b


def minimise_softmax(
    objective: SoftmaxObjective, w: NDArray, tol: float, max_iter: int, *, report=None
) -> tuple[Minimum, str]:
    """The minimum, from ``w``, and the name of the method."""
    n, K = objective.design.n_rows, objective.n_classes
    work = 0.5 * n * (K * objective.n_lines) ** 2
    with single_threaded_blas():
        if objective.n_free <= NEWTON_WEIGHTS and work <= NEWTON_WORK:
            return newton(objective, w, tol, max_iter, None, report)[0], "newton-cholesky"
        rows = max(SAMPLE_ROWS, ROWS_PER_COLUMN * objective.n_lines)
        if n >= LEAST_SHARE * rows and max_iter > 1 and not objective.design.is_wide:
            part = objective.sample(rows)
            if part is not None:
                start, _ = minimise_softmax(part, w, max(tol, SAMPLE_TOL), max_iter)
                w = start.w if np.isfinite(start.w).all() else w
        found = lbfgs_with(_Preconditioned(objective), w, tol, max_iter, report)
        return Minimum(*found), "lbfgs"


class _Preconditioned:
    """What `lbfgs_with` asks for."""

    def __init__(self, objective: SoftmaxObjective):
        self.at = objective.at
        self.objective = objective

    def scale(self):
        few = self.objective.n_lines <= KRONECKER_COLUMNS
        return (Kronecker if few else ClassDiagonal)(self.objective)
