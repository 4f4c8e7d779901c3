"""Proximal gradient for a smooth loss and any penalty with a proximal map, along a path.

Accelerated (Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm", 2009), begun
anew where the momentum points uphill, with a step that is found by backtracking. Columns are taken
about their means, without a copy, so that the intercept does not slow the weights down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign

SHRINK, GROW, MOST_HALVINGS = 0.5, 1.3, 60
ROUNDING = 1e-14


class ProximalPoint(NamedTuple):
    """Weights, intercept about the means, objective, distance from stationary, steps taken."""

    w: NDArray
    level: Any  # a number, or one per class
    value: float
    distance: float
    n_iter: int


class ProximalProblem:
    """Mean loss of w · (x − means) + level; ``loss_at(raw)`` gives the rows' losses and slopes."""

    def __init__(self, design: SmoothDesign, loss_at, weights: NDArray | None, centre: bool):
        self.design, self.loss_at, self.centre = design, loss_at, centre
        n = design.n_rows
        self.shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        means = design.slopes(self.shares)[:-1]
        self.means = means if centre else np.zeros(design.n_features)
        self.step = 1.0
        self.scale = self.gradient_size(*self._first())

    def _first(self) -> tuple[NDArray, Any]:
        """The point to start from: no weights."""
        return np.zeros(self.design.n_features), self._first_level()

    def _first_level(self) -> float:
        """The best intercept without weights, by a few Newton steps of differences."""
        level = 0.0
        if not self.centre:
            return level
        for _ in range(50):
            h = 1e-4 * max(1.0, abs(level))
            slope, above, below = (self._level_slope(at) for at in (level, level + h, level - h))
            curved = (above - below) / (2.0 * h)
            if not np.isfinite(curved) or curved <= 0.0:
                break
            step = -slope / curved
            level += float(np.clip(step, -10.0, 10.0)) if abs(level) < 10.0 else float(step)
            if abs(step) <= 1e-9 * max(1.0, abs(level)):
                break
        return level if np.isfinite(level) else 0.0

    def _level_slope(self, level: float) -> float:
        return float(self.shares @ self.loss_at(np.full(self.design.n_rows, level))[1])

    def gradient_size(self, w, level) -> float:
        """Largest entry of the gradient at a point; 1 where it is 0."""
        self.start = w, level
        _, gradient, by_level = self.smooth(w, level)
        size = float(max(np.abs(gradient).max(initial=0.0), np.abs(by_level).max()))
        return size if size > 0.0 and np.isfinite(size) else 1.0

    def value(self, w: NDArray, level) -> float:
        values, _ = self.loss_at(self.raw(w, level))
        total = float(self.shares @ values)
        return total if np.isfinite(total) else np.inf

    def smooth(self, w: NDArray, level) -> tuple[float, NDArray, Any]:
        """(mean loss, its gradient by w, by the level)."""
        values, slopes = self.loss_at(self.raw(w, level))
        sums = self.design.slopes(np.ascontiguousarray(self.shares * slopes))
        by_level = float(sums[-1])
        return (
            float(self.shares @ values),
            sums[:-1] - self.means * by_level,
            by_level if self.centre else 0.0,
        )

    def raw(self, w: NDArray, level) -> NDArray:
        """Predictions of the rows."""
        return self.design.products(np.append(w, level - self.means @ w))

    def solve(self, penalty, w, level, tol: float, most: int) -> ProximalPoint:
        """From (w, level) until no entry is ``tol`` · scale from stationary, or ``most`` steps."""
        enough = tol * self.scale
        w = penalty.prox(w, self.step)
        base, base_level, age = w, level, 1.0
        distance = np.inf
        for n_iter in range(1, most + 1):
            value, slope, by_level = self.smooth(base, base_level)
            new, new_level = self._advance(penalty, base, base_level, value, slope, by_level)
            move = np.append(base - new, base_level - new_level)
            onward = np.append(new - w, new_level - level)
            if not penalty.convex or move @ onward > 0.0:
                base, base_level, age = new, new_level, 1.0
            else:
                older, age = age, (1.0 + np.sqrt(1.0 + 4.0 * age * age)) / 2.0
                push = (older - 1.0) / age
                base, base_level = new + push * (new - w), new_level + push * (new_level - level)
            w, level = new, new_level
            still = float(np.abs(move).max(initial=0.0)) / self.step
            if still <= enough or n_iter % 50 == 0 or n_iter == most:
                _, slope, by_level = self.smooth(w, level)
                found = penalty.distance(w, slope)
                distance = float(max(found.max(initial=0.0), np.abs(by_level).max()))
                if distance <= enough:
                    break
            self.step *= GROW if n_iter % 10 == 0 else 1.0
        return ProximalPoint(w, level, self.value(w, level) + penalty.value(w), distance, n_iter)

    def _advance(self, penalty, w, level, value, slope, by_level):
        """A step that lies below the quadratic bound; shortens ``step`` until it does."""
        for _ in range(MOST_HALVINGS):
            new = penalty.prox(w - self.step * slope, self.step)
            new_level = level - self.step * by_level
            move, lift = new - w, new_level - level
            fall = np.vdot(slope, move) + np.vdot(by_level, lift)
            length = np.vdot(move, move) + np.vdot(lift, lift)
            bound = value + fall + length / (2.0 * self.step)
            if self.value(new, new_level) <= bound + ROUNDING * max(1.0, abs(value)):
                break
            self.step *= SHRINK
        return new, new_level


class ClassesProblem(ProximalProblem):
    """The same for a softmax: ``w`` is (features, classes), the level one number per class."""

    def __init__(self, design: SmoothDesign, loss_at, weights, centre: bool, codes: NDArray):
        self.codes = codes
        super().__init__(design, loss_at, weights, centre)

    def _first(self):
        shares = np.bincount(self.codes, self.shares)
        w = np.zeros((self.design.n_features, len(shares)))
        if not self.centre:
            return w, np.zeros(len(shares))
        level = np.log(np.maximum(shares, np.finfo(float).tiny))
        return w, level - level.mean()

    def smooth(self, w: NDArray, level) -> tuple[float, NDArray, Any]:
        values, slopes = self.loss_at(self.raw(w, level))
        columns = (self.shares[:, None] * slopes).T
        sums = np.stack([self.design.slopes(np.ascontiguousarray(c)) for c in columns], axis=1)
        return (
            float(self.shares @ values),
            sums[:-1] - np.multiply.outer(self.means, sums[-1]),
            sums[-1] if self.centre else 0.0 * sums[-1],
        )

    def raw(self, w: NDArray, level) -> NDArray:
        ends = np.vstack([w, level - self.means @ w]).T
        return np.stack([self.design.products(np.ascontiguousarray(e)) for e in ends], axis=1)
