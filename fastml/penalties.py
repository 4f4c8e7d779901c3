"""Penalties and constraints: value, proximal map, and how far a point is from stationary.

A penalty g is added to a smooth function f. ``value(w)`` is g(w), infinite outside a constraint;
``prox(z, step)`` the minimiser of \\|v − z\\|² / (2 step) + g(v), of a constraint the nearest
point; ``distance(w, gradient)`` tells, one number per entry of w (per group), how far −∇f(w) is
from the subdifferential of g at w: all are 0 where w minimises f + g (for `L0Penalty`: where no
small change of w helps). They are what `fastml.optimize.proximal_gradient` and
`fastml.linear_model.penalty_path` take; coordinate descent uses the same maps.

>>> from fastml import penalties
>>> penalties.L1Penalty(1.0).prox([-3.0, 0.5, 3.0], 1.0)
array([-2.,  0.,  2.])
>>> penalties.Ball(1.0).prox([3.0, 4.0], 1.0)
array([0.6, 0.8])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastml._validation import kernel_view
from fastml.kernels.losses.penalties import Net, group_prox, net_prox

__all__ = [
    "Ball",
    "Box",
    "ElasticNetPenalty",
    "GroupPenalty",
    "L0Penalty",
    "L1Penalty",
    "L2Penalty",
    "NoPenalty",
    "NonNegative",
]

ON_THE_EDGE = 1e-9
"""Relative distance from the edge of a constraint that counts as on it."""


class Penalty:
    """What a penalty offers; see the module's docstring."""

    separable: ClassVar[bool] = True
    """Whether it is a sum over entries, so that coordinate descent may use it."""

    convex: ClassVar[bool] = True

    def value(self, w: ArrayLike) -> float:
        """The penalty g(w)."""
        raise NotImplementedError

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """The minimiser of \\|v − z\\|² / (2 step) + g(v)."""
        raise NotImplementedError

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """From −gradient to the subdifferential at w, per entry."""
        raise NotImplementedError

    def __call__(self, w: ArrayLike) -> float:
        return self.value(w)


def _numbers(*values: ArrayLike) -> list[NDArray]:
    return [np.asarray(value, dtype=np.float64) for value in values]


def _check(what: str, value: float) -> None:
    if not value >= 0.0:
        raise ValueError(f"{what} must not be negative, got {value!r}")


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """0."""

    def value(self, w: ArrayLike) -> float:
        """0."""
        return 0.0

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """z itself."""
        return _numbers(z)[0].copy()

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """Absolute values of the gradient."""
        return np.abs(_numbers(gradient)[0])


class _NetPenalty(Penalty):
    """l1 \\|w\\|₁ + l2/2 \\|w\\|², with w ≥ 0 if positive."""

    positive: bool

    def _parts(self) -> tuple[float, float]:
        raise NotImplementedError

    def value(self, w: ArrayLike) -> float:
        """The penalty, infinite for a negative weight if ``positive``."""
        w, (l1, l2) = _numbers(w)[0], self._parts()
        if self.positive and (w < 0.0).any():
            return np.inf
        return float(l1 * np.abs(w).sum() + 0.5 * l2 * (w * w).sum())

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """sign(z) max(\\|z\\| − l1 step, 0) / (1 + l2 step)."""
        z, (l1, l2) = _numbers(z)[0], self._parts()
        out = np.empty(z.size)
        net_prox(kernel_view(z.ravel()), Net(l1 * step, l2 * step, self.positive), out)
        return out.reshape(z.shape)

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """\\|∇f + l1 sign w + l2 w\\| where w is not 0, max(\\|∇f\\| − l1, 0) where it is."""
        (w, gradient), (l1, l2) = _numbers(w, gradient), self._parts()
        at_zero = np.maximum((-gradient if self.positive else np.abs(gradient)) - l1, 0.0)
        found = np.where(w == 0.0, at_zero, np.abs(gradient + l1 * np.sign(w) + l2 * w))
        return np.where(w < 0.0, np.inf, found) if self.positive else found


@dataclass(frozen=True)
class L2Penalty(_NetPenalty):
    """alpha/2 \\|w\\|²."""

    alpha: float = 1.0
    positive: bool = False

    def __post_init__(self):
        _check("alpha", self.alpha)

    def _parts(self):
        return 0.0, float(self.alpha)


@dataclass(frozen=True)
class L1Penalty(_NetPenalty):
    """alpha \\|w\\|₁."""

    alpha: float = 1.0
    positive: bool = False

    def __post_init__(self):
        _check("alpha", self.alpha)

    def _parts(self):
        return float(self.alpha), 0.0


@dataclass(frozen=True)
class ElasticNetPenalty(_NetPenalty):
    """alpha l1_ratio \\|w\\|₁ + alpha (1 − l1_ratio)/2 \\|w\\|²."""

    alpha: float = 1.0
    l1_ratio: float = 0.5
    positive: bool = False

    def __post_init__(self):
        _check("alpha", self.alpha)
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio must be between 0 and 1, got {self.l1_ratio!r}")

    def _parts(self):
        return float(self.alpha * self.l1_ratio), float(self.alpha * (1.0 - self.l1_ratio))


@dataclass(frozen=True)
class GroupPenalty(Penalty):
    """alpha l1_ratio Σ_k \\|w_k\\| + alpha (1 − l1_ratio)/2 \\|w\\|²: groups are 0 together.

    Groups are the rows of a matrix w (a feature's weights for all targets) or, with ``groups``,
    the entries of a vector w that have the same label.
    """

    alpha: float = 1.0
    l1_ratio: float = 1.0
    groups: ArrayLike | None = field(default=None, compare=False)
    separable: ClassVar[bool] = False

    def __post_init__(self):
        _check("alpha", self.alpha)
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio must be between 0 and 1, got {self.l1_ratio!r}")

    def _parts(self):
        return float(self.alpha * self.l1_ratio), float(self.alpha * (1.0 - self.l1_ratio))

    def _rows(self, *values: ArrayLike) -> tuple[list[NDArray], NDArray | None]:
        """Values with one row a group (zeros fill it), and which entries are not filling."""
        arrays = _numbers(*values)
        if self.groups is None:
            if arrays[0].ndim != 2:
                raise ValueError("groups are the rows of a matrix; a vector needs groups=")
            return arrays, None
        labels = np.unique(np.asarray(self.groups), return_inverse=True)[1].ravel()
        if arrays[0].shape != labels.shape:
            raise ValueError(f"w must have shape {labels.shape}, got {arrays[0].shape}")
        sizes = np.bincount(labels)
        own = np.zeros((len(sizes), sizes.max()), dtype=bool)
        own[:] = np.arange(sizes.max()) < sizes[:, None]
        order = np.argsort(labels, kind="stable")
        spread = []
        for array in arrays:
            rows = np.zeros(own.shape)
            rows[own] = array[order]
            spread.append(rows)
        return spread, own

    def value(self, w: ArrayLike) -> float:
        """The penalty."""
        (rows,), _ = self._rows(w)
        l1, l2 = self._parts()
        return float(l1 * np.linalg.norm(rows, axis=1).sum() + 0.5 * l2 * (rows * rows).sum())

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """z_k max(1 − l1 step / \\|z_k\\|, 0) / (1 + l2 step)."""
        (rows,), own = self._rows(z)
        l1, l2 = self._parts()
        out = np.empty(rows.shape)
        group_prox(kernel_view(rows), l1 * step, l2 * step, out)
        if own is None:
            return out
        labels = np.unique(np.asarray(self.groups), return_inverse=True)[1].ravel()
        found = np.empty(len(labels))
        found[np.argsort(labels, kind="stable")] = out[own]
        return found

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """Per group: \\|∇f + l1 w/\\|w\\| + l2 w\\|, or max(\\|∇f\\| − l1, 0) where w is 0."""
        (w, gradient), _ = self._rows(w, gradient)
        l1, l2 = self._parts()
        lengths = np.linalg.norm(w, axis=1)
        unit = w / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        moved = np.linalg.norm(gradient + l1 * unit + l2 * w, axis=1)
        return np.where(
            lengths > 0.0, moved, np.maximum(np.linalg.norm(gradient, axis=1) - l1, 0.0)
        )


@dataclass(frozen=True)
class L0Penalty(Penalty):
    """alpha times the number of weights that are not 0; or at most ``budget`` of them.

    Not convex: descent finds a point that no small change improves.
    """

    alpha: float = 1.0
    budget: int | None = None
    convex: ClassVar[bool] = False

    def __post_init__(self):
        _check("alpha", self.alpha)
        if self.budget is not None:
            _check("budget", self.budget)

    @property
    def separable(self) -> bool:  # type: ignore[override]
        """A budget is not."""
        return self.budget is None

    def value(self, w: ArrayLike) -> float:
        """alpha times their number; with a budget 0 or infinite."""
        used = int(np.count_nonzero(_numbers(w)[0]))
        if self.budget is not None:
            return 0.0 if used <= self.budget else np.inf
        return self.alpha * used

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """z where z² > 2 alpha step, or its ``budget`` largest entries (the first of equals)."""
        z = _numbers(z)[0]
        if self.budget is None:
            return np.where(z * z > 2.0 * self.alpha * step, z, 0.0)
        found = np.zeros(z.size)
        kept = np.argsort(-np.abs(z.ravel()), kind="stable")[: self.budget]
        found[kept] = z.ravel()[kept]
        return found.reshape(z.shape)

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """\\|∇f\\| where w is not 0; 0 elsewhere, unless the budget is not used up."""
        w, gradient = _numbers(w, gradient)
        used = np.count_nonzero(w)
        if self.budget is not None and used > self.budget:
            return np.full(w.shape, np.inf)
        free = self.budget is not None and used < self.budget
        return np.where((w != 0.0) | free, np.abs(gradient), 0.0)


@dataclass(frozen=True)
class Box(Penalty):
    """low ≤ w ≤ high."""

    low: ArrayLike = -np.inf
    high: ArrayLike = np.inf

    def __post_init__(self):
        low, high = _numbers(self.low, self.high)
        if not np.all(low <= high):
            raise ValueError("low must not be above high")

    def value(self, w: ArrayLike) -> float:
        """0 inside, infinite outside."""
        w, low, high = _numbers(w, self.low, self.high)
        return 0.0 if ((low <= w) & (w <= high)).all() else np.inf

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """The nearest point inside."""
        return np.clip(*_numbers(z, self.low, self.high))

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """What of the gradient does not push against an edge."""
        w, gradient, low, high = _numbers(w, gradient, self.low, self.high)
        found = np.abs(gradient)
        found = np.where(w == low, np.maximum(-gradient, 0.0), found)
        found = np.where(w == high, np.where(w == low, 0.0, np.maximum(gradient, 0.0)), found)
        return np.where((w < low) | (w > high), np.inf, found)


@dataclass(frozen=True)
class NonNegative(Box):
    """w ≥ 0."""

    low: ArrayLike = field(default=0.0, init=False)
    high: ArrayLike = field(default=np.inf, init=False)


@dataclass(frozen=True)
class Ball(Penalty):
    """\\|w\\| ≤ radius, in the norm 2, 1 or infinity."""

    radius: float = 1.0
    norm: float = 2
    separable: ClassVar[bool] = False

    def __post_init__(self):
        _check("radius", self.radius)
        if self.norm not in (1, 2, np.inf):
            raise ValueError(f"norm must be 1, 2 or infinity, got {self.norm!r}")

    def _length(self, w: NDArray) -> float:
        return float(np.linalg.norm(w.ravel(), self.norm))

    def value(self, w: ArrayLike) -> float:
        """0 inside, infinite outside (rounding at the edge is forgiven)."""
        length = self._length(_numbers(w)[0])
        return 0.0 if length <= self.radius * (1.0 + ON_THE_EDGE) else np.inf

    def prox(self, z: ArrayLike, step: float = 1.0) -> NDArray:
        """The nearest point inside."""
        z = _numbers(z)[0]
        length = self._length(z)
        if length <= self.radius:
            return z.copy()
        if self.norm == 2:
            return z * (self.radius / length)
        if self.norm != 1:
            return np.clip(z, -self.radius, self.radius)
        sizes = np.sort(np.abs(z).ravel())[::-1]
        excess = (np.cumsum(sizes) - self.radius) / np.arange(1, z.size + 1)
        amount = excess[np.flatnonzero(sizes > excess)[-1]] if self.radius > 0.0 else sizes[0]
        return np.sign(z) * np.maximum(np.abs(z) - amount, 0.0)

    def distance(self, w: ArrayLike, gradient: ArrayLike) -> NDArray:
        """What of −∇f does not point out of the ball."""
        w, gradient = _numbers(w, gradient)
        length = self._length(w)
        if length > self.radius * (1.0 + ON_THE_EDGE):
            return np.full(w.shape, np.inf)
        if self.radius == 0.0:
            return np.zeros(w.shape)
        if length < self.radius * (1.0 - ON_THE_EDGE):
            return np.abs(gradient)
        if self.norm == 2:
            outward = max(-float((gradient * w).sum()) / float((w * w).sum()), 0.0)
            return np.abs(gradient + outward * w)
        if self.norm == 1:
            return L1Penalty(self._multiplier(w, gradient)).distance(w, gradient)
        return Box(-length, length).distance(w, gradient)

    @staticmethod
    def _multiplier(w: NDArray, gradient: NDArray) -> float:
        """The factor of the l1 norm whose subdifferential is nearest to −∇f."""
        on = w != 0.0
        pulls = -(gradient * np.sign(w))[on]
        rest = np.sort(np.abs(gradient[~on]))[::-1]
        # Least squares over the support and those entries beside it that the factor is below.
        for k in range(len(rest) + 1):
            factor = float((pulls.sum() + rest[:k].sum()) / (len(pulls) + k))
            if k == len(rest) or rest[k] <= factor:
                return max(factor, 0.0)
        return 0.0
