"""Losses of straight pieces under any penalty: smooth problems in turn, by the multipliers' method.

The loss ℓ of a row with kinks at low ≤ high is a line of one slope below, between and above. With
a slope v of the row and a width t, its rounded form

    e(r) = min_z ℓ(z) + (r + t v − z)² / (2 t) − t v² / 2

is smooth: e'(r) = (r + t v − z) / t is a slope of ℓ at z. Minimising the mean of e plus the penalty
by proximal gradients, and taking e' for the next v, leads to the minimum of ℓ itself, for any t
(Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm", 1976). The
slopes found at the end bound what can still be gained:

    mean of ℓ(r) − ℓ(z) − v (r − z)  ≥ 0

is 0 where v is a slope of ℓ at r itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.proximal import ProximalPoint, ProximalProblem

FIRST_WIDTH, NARROWER = 0.3, 0.5
"""Of the mean loss without weights; and its factor where a round gains too little."""

ENOUGH_GAINED, ROUGHLY, MOST_ROUNDS = 0.3, 0.1, 200


class Pieces(NamedTuple):
    """Kinks of every row (equal ones are one), and the slopes below, between and above."""

    low: NDArray
    high: NDArray
    below: NDArray
    between: NDArray
    above: NDArray

    def nearest(self, goal: NDArray, width: float) -> NDArray:
        """The minimisers z of ℓ(z) + (goal − z)² / (2 width)."""
        left, middle, right = (goal - width * s for s in (self.below, self.between, self.above))
        inside = np.clip(middle, self.low, self.high)
        return np.where(left < self.low, left, np.where(right > self.high, right, inside))

    def slope_of_level(self, level: float, shares: NDArray) -> float:
        """Of the mean loss of one prediction for all rows, to its right."""
        slopes = np.where(level < self.low, self.below, self.between)
        return float(shares @ np.where(level >= self.high, self.above, slopes))


class KinkedProblem:
    """Mean loss of straight pieces and penalties, along a path; ``loss_of(raw)`` by row."""

    def __init__(self, design: SmoothDesign, loss_of, pieces: Pieces, weights, centre: bool):
        n = design.n_rows
        self.loss_of, self.pieces = loss_of, pieces
        self.shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        level = self._first_level() if centre else 0.0
        self.first_loss = float(self.shares @ loss_of(np.full(n, level)))
        self.width = FIRST_WIDTH * self.first_loss if self.first_loss > 0.0 else 1.0
        self.slopes = np.zeros(n)
        self.smooth = ProximalProblem(design, self._rounded, weights, centre)
        self.smooth.scale = self.smooth.gradient_size(np.zeros(design.n_features), level)
        self.start, self.scale, self.means = self.smooth.start, self.smooth.scale, self.smooth.means
        self.gap = np.inf

    def _first_level(self) -> float:
        """The best intercept without weights: a kink where the slope's sign changes."""
        kinks = np.unique(np.concatenate([self.pieces.low, self.pieces.high]))
        first, last = 0, len(kinks) - 1
        while first < last:
            middle = (first + last) // 2
            if self.pieces.slope_of_level(float(kinks[middle]), self.shares) >= 0.0:
                last = middle
            else:
                first = middle + 1
        return float(kinks[first])

    def _rounded(self, raw: NDArray) -> tuple[NDArray, NDArray]:
        goal = raw + self.width * self.slopes
        near = self.pieces.nearest(goal, self.width)
        off = goal - near
        values = self.loss_of(near) + off * off / (2.0 * self.width)
        return values - 0.5 * self.width * self.slopes**2, off / self.width

    def solve(self, penalty, w, level, tol: float, most: int) -> ProximalPoint:
        """As `ProximalProblem.solve`; sets ``gap``, which ends below ``tol`` · first loss."""
        taken, inner, self.gap = 0, max(tol, ROUGHLY), np.inf
        for _ in range(MOST_ROUNDS):
            point = self.smooth.solve(penalty, w, level, inner, most - taken)
            w, level, taken = point.w, point.level, taken + point.n_iter
            raw = self.smooth.raw(w, level)
            near = self.pieces.nearest(raw + self.width * self.slopes, self.width)
            self.slopes = self.slopes + (raw - near) / self.width
            losses = self.loss_of(raw)
            missed = losses - self.loss_of(near) - self.slopes * (raw - near)
            before, self.gap = self.gap, float(self.shares @ missed)
            if (self.gap <= tol * self.first_loss and inner <= tol) or taken >= most:
                break
            if self.gap > ENOUGH_GAINED * before:
                self.width *= NARROWER
                self.smooth.step *= NARROWER
            inner = max(tol, ROUGHLY * inner)
        value = float(self.shares @ losses) + penalty.value(w)
        return ProximalPoint(w, level, value, point.distance, taken)
