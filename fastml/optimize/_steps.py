"""How far to go along a direction, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ConstantStep:
    """η."""

    size: float

    def length(self, t: int, direction: NDArray) -> float:
        return self.size


@dataclass(frozen=True)
class DecreasingStep:
    """η / t^power in step t = 1, 2, ..."""

    size: float
    power: float = 0.5

    def length(self, t: int, direction: NDArray) -> float:
        return self.size / t**self.power


@dataclass(frozen=True)
class NormalisedStep:
    """A step of length η / t^power whatever the length of the gradient."""

    size: float
    power: float = 0.0

    def length(self, t: int, direction: NDArray) -> float:
        norm = float(np.linalg.norm(direction))
        return self.size / t**self.power / norm if norm > 0.0 else 0.0


@dataclass(frozen=True)
class Backtracking:
    """The first of t, βt, β²t, ... with f(x + t d) ≤ f(x) + α t g'd (Armijo, 1966).

    Each search begins at ``first``.
    """

    sufficient: float = 0.25  # α
    shrink: float = 0.5  # β
    first: float = 1.0
    most_trials: int = 60

    def __post_init__(self):
        if not (0.0 < self.sufficient < 1.0 and 0.0 < self.shrink < 1.0 and self.first > 0.0):
            raise ValueError("sufficient and shrink must be between 0 and 1, and first positive")

    def search(
        self, loss: Callable, point: NDArray, value: float, direction: NDArray, slope: float
    ) -> float:
        """The step; 0 if none of the trials goes down enough."""
        step = self.first
        for _ in range(self.most_trials):
            if loss(point + step * direction) <= value + self.sufficient * step * slope:
                return step
            step *= self.shrink
        return 0.0


@dataclass(frozen=True)
class StepOf:
    """A function of the number of the step."""

    function: Callable[[int], float]

    def length(self, t: int, direction: NDArray) -> float:
        return float(self.function(t))


def as_step(step, *, searches: bool = True):
    """A number means a constant step, a function η(t)."""
    if isinstance(step, Backtracking):
        if not searches:
            raise ValueError("backtracking needs a plain gradient step: no momentum, no samples")
        return step
    if hasattr(step, "length"):
        return step
    if callable(step):
        return StepOf(step)
    if not isinstance(step, Real) or not np.isfinite(float(step)) or float(step) <= 0.0:
        raise ValueError(f"step must be a positive number, a function or a step, got {step!r}")
    return ConstantStep(float(step))


def as_momentum(momentum, nesterov: bool):
    """A share β, or a function of the number of the step."""
    if momentum is None:
        if not nesterov:
            raise ValueError("momentum=None goes with nesterov=True")
        return lambda t: (t - 1.0) / (t + 2.0)
    if not 0.0 <= momentum < 1.0:
        raise ValueError(f"momentum must be in [0, 1), got {momentum}")
    return float(momentum)
