"""Least angle regression: the path along which the chosen columns pull equally.

Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", 2004. A step goes along the
direction that lowers the pulls of all chosen columns alike, until another column pulls as hard and
is chosen. The path of the lasso comes out if a column whose weight would change its sign is let go
first. Pulls are made anew from the weights after each step, so that rounding does not add up.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign

PARALLEL = 16.0 * np.finfo(float).eps
"""Pulls of columns that fall as fast as the chosen ones', but for rounding, never meet them."""

DEPENDENT = 1e-7
"""Pivot of Cholesky's factor below which a column depends on the chosen ones."""


class Angles(NamedTuple):
    """Penalties (steps + 1), weights (features, steps + 1), chosen columns and number of steps."""

    alphas: NDArray
    coefs: NDArray
    active: list[int]
    steps: int


class KnownGram(NamedTuple):
    """A design of which only the sums of products are known, which are handed over beside it."""

    n_rows: int
    n_features: int


class ChosenColumns:
    """Rows of the Gram matrix for columns as they are chosen, and Cholesky's factor of these."""

    def __init__(self, design, gram: NDArray | None = None):
        self.design, self.gram = design, gram
        self.slot: dict[int, int] = {}
        self.lines = np.empty((16, design.n_features))
        self.active: list[int] = []
        self.places: list[int] = []  # of the active ones among the lines
        self.factor = np.zeros((0, 0))

    def line(self, j: int) -> NDArray:
        if j not in self.slot:
            k = self.slot[j] = len(self.slot)
            if k == len(self.lines):
                self.lines = np.concatenate([self.lines, np.empty_like(self.lines)])
            if self.gram is not None:
                self.lines[k] = self.gram[j]
            else:
                column = self.design.columns(np.array([j]))[:, 0]
                self.lines[k] = self.design.transposed(column)
        return self.lines[self.slot[j]]

    def add(self, j: int, eps: float) -> float:
        """Choose column j; returns its pivot, and does not choose it if that is too small."""
        from scipy.linalg.lapack import dtrtrs

        line, k = self.line(j), len(self.active)
        below = np.zeros(k)
        if k:
            # The transpose is in Fortran order, and LAPACK need not copy it.
            below, _ = dtrtrs(self.factor.T, line[self.active], lower=0, trans=1)
        pivot = max(np.sqrt(abs(line[j] - below @ below)), eps)
        if pivot < DEPENDENT:
            return pivot
        factor = np.zeros((k + 1, k + 1))
        factor[:k, :k], factor[k, :k], factor[k, k] = self.factor, below, pivot
        self.factor = factor
        self.active.append(j)
        self.places.append(self.slot[j])
        return pivot

    def drop(self, position: int) -> int:
        """Let the column at the position go."""
        gone = self.active.pop(position)
        self.places.pop(position)
        kept = np.array([self.line(j)[self.active] for j in self.active])
        self.factor = np.linalg.cholesky(kept) if len(kept) else np.zeros((0, 0))
        return gone

    def solve(self, right: NDArray) -> NDArray:
        from scipy.linalg.lapack import dpotrs

        return dpotrs(self.factor.T, right, lower=0)[0]

    def fitted_pull(self, weights: NDArray) -> NDArray:
        """A'A w for weights of the chosen columns."""
        every = np.zeros(len(self.slot))
        every[self.places] = weights
        return every @ self.lines[: len(every)]


def least_angles(
    design: CentredDesign | KnownGram, b: NDArray, *, max_iter: int, alpha_min: float = 0.0,
    lasso: bool, positive: bool = False, eps: float = np.finfo(float).eps,
    gram: NDArray | None = None, cross: NDArray | None = None,
) -> Angles:  # fmt: skip
    """The path from no weights to alpha_min, max_iter steps or all columns."""
    n, d = design.n_rows, design.n_features
    if cross is None:
        assert isinstance(design, CentredDesign)
        cross = design.transposed(b)
    cross = np.asarray(cross, dtype=np.float64)
    columns = ChosenColumns(design, gram)
    free = np.ones(d, dtype=bool)  # neither chosen nor found dependent
    coef, pull = np.zeros(d), cross.copy()
    alphas, path = [], [coef.copy()]
    signs: list[float] = []
    resolution = np.finfo(np.float32).eps
    dropped, at_end = False, False
    let_go: list[
        int
    ] = []  # by the last step: their pulls are equal to the largest, and fall faster
    while True:
        scores = pull if positive else np.abs(pull)
        open_ = np.flatnonzero(free)
        best = int(open_[scores[open_].argmax()]) if len(open_) else -1
        largest = float(scores[best]) if best >= 0 else 0.0
        if columns.active:
            largest = max(largest if dropped else 0.0, float(scores[columns.active].max()))
        elif best < 0:
            break
        largest = 0.0 if at_end else max(largest, 0.0)
        alphas.append(largest / n)
        if alphas[-1] <= alpha_min + resolution:
            if len(alphas) > 1 and alphas[-2] > alphas[-1] and alphas[-1] < alpha_min:
                share = (alphas[-2] - alpha_min) / (alphas[-2] - alphas[-1])
                coef = path[-2] + share * (coef - path[-2])
                path[-1] = coef.copy()
            if len(alphas) > 1:
                alphas[-1] = max(alphas[-1], alpha_min)
            break
        if len(path) - 1 >= max_iter or len(columns.active) >= d or (best < 0 and not dropped):
            break
        if not dropped:
            pivot = columns.add(best, eps)
            free[best] = False
            if pivot < DEPENDENT:
                _warn_dependent(len(path) - 1, alphas[-1], len(columns.active), pivot)
                alphas.pop()
                if not columns.active:
                    break
                dropped = not free.any()  # the chosen go on alone
                continue
            signs.append(1.0 if positive else float(np.sign(pull[best]) or 1.0))
        elif not columns.active:
            dropped = False
            alphas.pop()
            continue
        sign = np.array(signs)
        direction = columns.solve(sign)
        scale = 1.0 / np.sqrt(max(direction @ sign, np.finfo(float).tiny))
        direction *= scale
        fall = columns.fitted_pull(direction)  # how fast pulls fall; scale for the chosen
        step = largest / scale
        rest = np.flatnonzero(free)
        above = below = rest
        if let_go:
            gone = np.isin(rest, let_go)
            above, below = rest[~gone | (pull[rest] < 0.0)], rest[~gone | (pull[rest] > 0.0)]
        step = min(step, _caught_up(largest - pull[above], scale - fall[above], scale))
        if not positive:
            step = min(step, _caught_up(largest + pull[below], scale + fall[below], scale))
        active = np.array(columns.active)
        dropped, leaving = False, np.empty(0, dtype=np.intp)
        if lasso:
            with np.errstate(divide="ignore", invalid="ignore"):
                zero_at = -coef[active] / direction
            zero = _first_positive(zero_at)
            if zero < step:
                step, dropped = zero, True
                leaving = np.flatnonzero(zero_at == zero)[::-1]
        at_end = not dropped and not len(rest)  # least squares on all columns
        coef = coef.copy()
        coef[active] += step * direction
        let_go = [columns.active[position] for position in leaving]
        for position in leaving:
            j = columns.drop(int(position))
            signs.pop(int(position))
            coef[j] = 0.0
            free[j] = True
        pull = cross - columns.fitted_pull(coef[columns.active])
        path.append(coef.copy())
    del alphas[len(path) :]
    return Angles(np.array(alphas), np.array(path).T, list(columns.active), len(path) - 1)


def _caught_up(distance: NDArray, approach: NDArray, scale: float) -> float:
    """The first step at which a column pulls as hard as the chosen ones; 0 for one that does."""
    nearing = approach > PARALLEL * scale
    if not nearing.any():
        return np.inf
    return float((np.maximum(distance[nearing], 0.0) / approach[nearing]).min())


def _first_positive(values: NDArray) -> float:
    """The smallest positive value; infinite if there is none."""
    found = values[values > 0.0]
    return float(found.min()) if len(found) else np.inf


def _warn_dependent(steps, alpha, n_active, pivot):
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"Regressors in active set degenerate. Dropping a regressor, after {steps} iterations, "
        f"i.e. alpha={alpha:.3e}, with an active set of {n_active} regressors, and the smallest "
        f"cholesky pivot element being {pivot:.3e}. Reduce max_iter or increase eps parameters.",
        ConvergenceWarning,
        stacklevel=5,
    )
