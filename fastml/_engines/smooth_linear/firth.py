"""Logistic regression with Firth's penalty, the logarithm of Jeffreys' prior.

Minimised is −ℓ(w) − ½ log det I(w), with the information matrix I = Σ u (diag(p) − p p') ⊗ x x' of
all classes but one. Its minimum is finite also where classes are separable, and its bias is of a
higher order in 1 / n (Firth, "Bias reduction of maximum likelihood estimates", 1993). Steps are
those of Fisher's scoring, halved until the objective falls.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastml._engines.optimise import line_search
from fastml._engines.smooth_linear.minimum import Factor, Minimum
from fastml._threads import single_threaded_blas

ROWS_AT_ONCE = 4096
SUFFICIENT, MOST_TRIALS = 1e-4, 40
DEPENDENT = (
    "Firth's penalty is not defined where columns are constant, collinear or more than the rows: "
    "take some away, or set firth=False and a finite C"
)


class SingularInformation(ValueError):
    """The information matrix has no logarithm of its determinant."""


class FirthObjective:
    """A smooth objective without a penalty (two classes, or several with a reference) and ours."""

    def __init__(self, smooth):
        self.smooth = smooth
        self.factor: Factor | None = None

    def value(self, w: NDArray) -> float:
        """The objective at ``w`` over Σ u; keeps the information matrix there."""
        value = self.smooth.value(w, self.smooth.raw(w))
        self.factor = None
        if not np.isfinite(value):
            return np.inf
        H = self.smooth.hessian()
        factor = Factor(H)
        if factor.singular:
            return np.inf
        self.factor = factor
        half = np.log(np.diag(factor.factor)).sum() - np.log(factor.scale).sum()
        return value - float(half) / self.smooth.total

    def gradient(self, w: NDArray) -> NDArray:
        """At the ``w`` that `value` was last called for."""
        assert self.factor is not None
        smooth = self.smooth
        K, m = smooth.n_classes, smooth.n_lines
        eye = np.eye(smooth.n_free)
        inverse = np.column_stack([self.factor.solve(e) for e in eye]) / smooth.total
        parts = [[np.ascontiguousarray(inverse[a::K, b::K]) for b in range(K)] for a in range(K)]
        P = smooth.probabilities()
        added = np.zeros((m, K))
        for rows, U in self._blocks():
            p = P[rows]
            Q = np.empty((len(U), K, K))
            for a in range(K):
                for b in range(a + 1):
                    Q[:, a, b] = Q[:, b, a] = np.einsum("ij,ij->i", U @ parts[a][b], U)
            # ½ Σ_ab q_ab ∂(p_a [a = b] − p_a p_b) / ∂(score of c)
            own = np.einsum("icc->ic", Q)
            mixed = np.einsum("icb,ib->ic", Q, p)
            pull = own - (p * own).sum(axis=1, keepdims=True) - 2.0 * mixed
            pull += 2.0 * (p * mixed).sum(axis=1, keepdims=True)
            pull *= 0.5 * p
            if len(smooth.weights):
                pull *= smooth.weights[rows, None]
            added += U.T @ pull
        return smooth.gradient(w) - added.ravel() / smooth.total

    def _blocks(self) -> Iterator[tuple[slice, NDArray]]:
        """Slices of rows, and those rows dense with a one behind them if there is an intercept."""
        design = self.smooth.design
        for start in range(0, design.n_rows, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, design.n_rows))
            block = design.matrix[rows]
            U = np.ones((rows.stop - rows.start, self.smooth.n_lines))
            U[:, : design.n_features] = block.toarray() if design.sparse else block
            yield rows, U


def minimise_firth(smooth, w: NDArray, tol: float, max_iter: int, *, report=None) -> Minimum:
    """The minimum, from ``w``; raises `SingularInformation` where there is none."""
    objective = FirthObjective(smooth)
    with single_threaded_blas():
        return _score(objective, w.copy(), tol, max_iter, report)


def _score(objective: FirthObjective, w: NDArray, tol: float, max_iter: int, report) -> Minimum:
    value = objective.value(w)
    if objective.factor is None and w.any():
        w = np.zeros_like(w)
        value = objective.value(w)
    if objective.factor is None:
        raise SingularInformation(DEPENDENT)
    size = np.inf
    for n_iter in range(max_iter + 1):
        gradient = objective.gradient(w)
        size = float(np.abs(gradient).max(initial=0.0))
        done = size <= tol or (report is not None and report(n_iter, value, size, w))
        if done or n_iter == max_iter:
            return Minimum(w, n_iter, done, size)
        direction = objective.factor.solve(-gradient)
        slack = 64.0 * np.finfo(np.float64).eps * max(1.0, abs(value))

        def value_at(step, w=w, direction=direction):
            return objective.value(w + step * direction)

        found = line_search(
            value_at, value + slack, float(gradient @ direction),
            sufficient=SUFFICIENT, most_trials=MOST_TRIALS,
        )  # fmt: skip
        if found is None:  # nothing left to gain but rounding
            break
        w, value = w + found[0] * direction, found[1]
    return Minimum(w, n_iter, size <= 1e-10 * max(1.0, abs(value)), size)
