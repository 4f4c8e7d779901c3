"""A run: what is measured after every step, when it ends, what it returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml.optimize._stopping import GradientBelow, Standing, Steps, StoppingRule

USUAL_STOP = GradientBelow(1e-6) | Steps(1000)


@dataclass(frozen=True)
class Trace:
    """One entry for the start and each step (epoch, of stochastic gradients)."""

    loss: NDArray
    gradient_norm: NDArray
    step: NDArray  # its length; NaN for the start
    seconds: NDArray  # since the start
    validation: NDArray  # NaN without a rule that has one
    points: NDArray | None = None  # (n_points, n), if they were kept


@dataclass(frozen=True)
class Optimum:
    """Where a run ended, and why."""

    point: NDArray
    value: float  # the loss there
    reason: str
    n_steps: int
    trace: Trace


class Run:
    """Collects a trace and asks the stopping rule."""

    def __init__(self, stop: StoppingRule | None, keep_points: bool):
        if stop is not None and not isinstance(stop, StoppingRule):
            raise TypeError(f"stop must be a stopping rule such as Steps(100), got {stop!r}")
        self._check = (USUAL_STOP if stop is None else stop).begin()
        self._rows: list[tuple] = []
        self._points: list[NDArray] | None = [] if keep_points else None
        self._progress: Standing | None = None
        self._began = time.perf_counter()
        self.reason: str | None = None

    def keep(self, point: NDArray) -> None:
        if self._points is not None:
            self._points.append(point.copy())

    def goes_on(self, point: NDArray, loss: float, gradient_norm: float, step=np.nan) -> bool:
        """Record where we are; whether to make another step."""
        last, seconds = self._progress, time.perf_counter() - self._began
        now = self._progress = Standing(
            point=point.copy(),
            before=None if last is None else last.point,
            loss=float(loss),
            loss_before=np.nan if last is None else last.loss,
            gradient_norm=float(gradient_norm),
            n_steps=len(self._rows),
            seconds=seconds,
        )
        self.reason = self._check(now)
        if self.reason is None and not (np.isfinite(now.loss) and np.isfinite(point).all()):
            self.reason = "diverged: the loss is not finite; take a smaller step"
        if self.reason is None and last is not None and step == 0.0:
            self.reason = "no step goes down"
        self._rows.append((now.loss, now.gradient_norm, step, seconds, now.validation))
        return self.reason is None

    @property
    def trace(self) -> Trace:
        loss, norm, step, seconds, validation = np.array(self._rows, dtype=np.float64).T
        points = None if self._points is None else np.array(self._points)
        return Trace(loss, norm, step, seconds, validation, points)

    def ended(self, loss: Callable, point: NDArray | None = None) -> Optimum:
        """The last point, the best by validation, or the ``point`` given."""
        last = self._progress
        assert last is not None
        assert self.reason is not None
        if point is None:
            point = last.point if last.best is None else last.best
        value = last.loss if point is last.point else float(loss(point))
        return Optimum(point, value, self.reason, len(self._rows) - 1, self.trace)


def start_of(start) -> NDArray:
    point = np.array(start, dtype=np.float64)
    if point.ndim != 1 or not len(point):
        raise ValueError(f"start must be a vector, got shape {point.shape}")
    if not np.isfinite(point).all():
        raise ValueError("start contains NaN or infinity")
    return point


def gradient_of(gradient, loss) -> Callable[[NDArray], NDArray]:
    """As float64 vectors; by differences if there is none."""
    from fastml.optimize._numeric import numeric_gradient

    if gradient is None:
        return lambda point: numeric_gradient(loss, point)
    return lambda point: np.asarray(gradient(point), dtype=np.float64)
