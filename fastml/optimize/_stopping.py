"""When to stop, as values that combine with ``&`` and ``|``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Standing:
    """Where a run is; rules read it."""

    point: NDArray
    before: NDArray | None
    loss: float
    loss_before: float
    gradient_norm: float
    n_steps: int
    seconds: float
    validation: float = np.nan  # set by a rule that has one
    best: NDArray | None = None  # the point of the lowest validation loss


Check = Callable[[Standing], "str | None"]
"""Says why to stop, or None."""


class StoppingRule:
    """What combines: ``a | b`` stops at either, ``a & b`` when both hold at once."""

    def begin(self) -> Check:
        """A check for one run; a rule itself has no memory and may be used again."""
        raise NotImplementedError

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return Either(self, other)

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return Both(self, other)


@dataclass(frozen=True)
class Either(StoppingRule):
    first: StoppingRule
    second: StoppingRule

    def begin(self) -> Check:
        checks = self.first.begin(), self.second.begin()

        def check(progress):
            found = [reason for each in checks if (reason := each(progress))]
            return found[0] if found else None

        return check


@dataclass(frozen=True)
class Both(StoppingRule):
    first: StoppingRule
    second: StoppingRule

    def begin(self) -> Check:
        checks = self.first.begin(), self.second.begin()

        def check(progress):
            found = [reason for each in checks if (reason := each(progress))]
            return " and ".join(found) if len(found) == 2 else None

        return check


@dataclass(frozen=True)
class GradientBelow(StoppingRule):
    """The norm of the gradient is at most ``size``: also at saddles and on plateaus."""

    size: float

    def begin(self) -> Check:
        return lambda p: f"gradient below {self.size:g}" if p.gradient_norm <= self.size else None


@dataclass(frozen=True)
class DifferenceBelow(StoppingRule):
    """Two iterations differ by at most ``size``: also where the steps themselves are small.

    ``of`` says in what: the 'point' (its norm) or the 'loss'.
    """

    size: float
    of: str = "point"

    def __post_init__(self):
        if self.of not in ("point", "loss"):
            raise ValueError(f"of must be 'point' or 'loss', got {self.of!r}")

    def begin(self) -> Check:
        def check(p):
            if p.before is None:
                return None
            far = p.point - p.before if self.of == "point" else p.loss - p.loss_before
            small = np.linalg.norm(far) <= self.size
            return f"difference below {self.size:g}" if small else None

        return check


@dataclass(frozen=True)
class LossBelow(StoppingRule):
    """The loss has reached a target; it may never."""

    target: float

    def begin(self) -> Check:
        return lambda p: f"loss below {self.target:g}" if p.loss <= self.target else None


@dataclass(frozen=True)
class Steps(StoppingRule):
    """So many steps (epochs, of stochastic gradients) were made: anywhere."""

    most: int

    def begin(self) -> Check:
        return lambda p: f"{self.most} steps" if p.n_steps >= self.most else None


@dataclass(frozen=True)
class Seconds(StoppingRule):
    """So much time has passed."""

    most: float

    def begin(self) -> Check:
        return lambda p: f"{self.most:g} seconds" if p.seconds >= self.most else None


@dataclass(frozen=True)
class ValidationRises(StoppingRule):
    """The loss on other data has not fallen for ``patience`` steps; the best point is returned."""

    loss: Callable[[NDArray], float]
    patience: int = 1

    def begin(self) -> Check:
        memory: dict[str, Any] = {"lowest": np.inf, "since": 0, "best": None}

        def check(p):
            p.validation = float(self.loss(p.point))
            if p.validation < memory["lowest"]:
                memory.update(lowest=p.validation, since=0, best=p.point.copy())
            else:
                memory["since"] += 1
            p.best = memory["best"]
            return "validation loss rises" if memory["since"] >= self.patience else None

        return check
