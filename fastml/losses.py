"""Losses with their values, gradients and curvatures: those that boosting and linear models use.

A loss compares a target y with a raw prediction r. ``value``, ``gradient`` and ``curvature`` (the
derivatives by r) take arrays and return one number per row; ``lipschitz`` is the least L with
|gradient(r) − gradient(s)| ≤ L |r − s|, infinite if there is none. Losses of two classes take any
y > 0 as the positive class; their margin is r for that class and −r for the other.

>>> from fastml import losses
>>> losses.Huber(1.0).value([0.0, 0.0], [0.5, 3.0])
array([0.125, 2.5  ])
>>> losses.Hinge().gradient([1, 0], [0.5, 0.5])
array([-1.,  1.])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastml._validation import kernel_view
from fastml.kernels.losses import definitions

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Lp",
    "ModifiedHuber",
    "Multinomial",
    "PerceptronLoss",
    "Pinball",
    "Poisson",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "SquaredLog",
    "Tweedie",
]


class RowLoss:
    """A loss of one raw prediction per row, by its code among the kernels."""

    code: ClassVar[int]
    of_margin: ClassVar[bool] = False
    """Whether it is a function of the margin, for two classes."""

    has_kinks: ClassVar[bool] = False
    """Whether the gradient jumps."""

    lipschitz: ClassVar[float] = np.inf

    def _parameter(self) -> float:
        return 0.0

    def _code(self) -> int:
        return self.code

    def _all(self, y: ArrayLike, raw: ArrayLike) -> tuple[NDArray, tuple[int, ...]]:
        y, raw = np.broadcast_arrays(
            np.asarray(y, dtype=np.float64), np.asarray(raw, dtype=np.float64)
        )
        found = np.empty((3, y.size))
        rows = kernel_view(y.ravel()), kernel_view(raw.ravel())
        definitions.loss_of_each(self._code(), float(self._parameter()), *rows, *found)
        return found, y.shape

    def value(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """The loss of each row."""
        found, shape = self._all(y, raw)
        return found[0].reshape(shape)

    def gradient(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """Its derivative by the raw prediction; at a kink one of the two sides."""
        found, shape = self._all(y, raw)
        return found[1].reshape(shape)

    def curvature(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """Its second derivative; 0 at kinks and where it is linear."""
        found, shape = self._all(y, raw)
        return found[2].reshape(shape)

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """The raw predictions where the slope jumps, the lower and the higher (or twice one)."""
        raise ValueError(f"{self!r} has no kinks")


# ---------------------------------------------------------------------------- of distances


@dataclass(frozen=True)
class Squared(RowLoss):
    """(y − r)² / 2."""

    code = definitions.SQUARED
    lipschitz = 1.0


@dataclass(frozen=True)
class Absolute(RowLoss):
    """\\|y − r\\|."""

    code = definitions.ABSOLUTE
    has_kinks = True

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """At y."""
        y = np.asarray(y, dtype=np.float64)
        return y, y


@dataclass(frozen=True)
class Lp(RowLoss):
    """\\|y − r\\|^p for a power p of at least 1."""

    power: float = 1.5
    code = definitions.LP

    def __post_init__(self):
        if not self.power >= 1.0:
            raise ValueError(f"power must be at least 1, got {self.power!r}")

    def _parameter(self) -> float:
        return self.power

    @property
    def has_kinks(self) -> bool:  # type: ignore[override]
        return self.power == 1.0

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return 2.0 if self.power == 2.0 else np.inf

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """At y, if the power is 1."""
        if self.power != 1.0:
            return super().kinks(y)
        y = np.asarray(y, dtype=np.float64)
        return y, y


@dataclass(frozen=True)
class Huber(RowLoss):
    """(y − r)² / 2 up to a distance of ``width``, width (\\|y − r\\| − width / 2) beyond."""

    width: float = 1.35
    code = definitions.HUBER
    lipschitz = 1.0

    def __post_init__(self):
        if not self.width > 0.0:
            raise ValueError(f"width must be positive, got {self.width!r}")

    def _parameter(self) -> float:
        return self.width


@dataclass(frozen=True)
class Pinball(RowLoss):
    """quantile · (y − r) where y ≥ r, (1 − quantile) (r − y) elsewhere."""

    quantile: float = 0.5
    code = definitions.PINBALL
    has_kinks = True

    def __post_init__(self):
        if not 0.0 < self.quantile < 1.0:
            raise ValueError(f"quantile must be between 0 and 1, got {self.quantile!r}")

    def _parameter(self) -> float:
        return self.quantile

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """At y."""
        y = np.asarray(y, dtype=np.float64)
        return y, y


@dataclass(frozen=True)
class EpsilonInsensitive(RowLoss):
    """max(0, \\|y − r\\| − epsilon)."""

    epsilon: float = 0.1
    code = definitions.EPSILON_INSENSITIVE
    has_kinks = True

    def __post_init__(self):
        if not self.epsilon >= 0.0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon!r}")

    def _parameter(self) -> float:
        return self.epsilon

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """At y − epsilon and y + epsilon."""
        if not self.has_kinks:
            return super().kinks(y)
        y = np.asarray(y, dtype=np.float64)
        return y - self.epsilon, y + self.epsilon


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """max(0, \\|y − r\\| − epsilon)²."""

    code = definitions.SQUARED_EPSILON_INSENSITIVE
    has_kinks = False
    lipschitz = 2.0


@dataclass(frozen=True)
class SquaredLog(RowLoss):
    """(log(1 + r) − log(1 + y))²; infinite for r ≤ −1."""

    code = definitions.SQUARED_LOG


# ---------------------------------------------------------------------------- of two classes


@dataclass(frozen=True)
class Logistic(RowLoss):
    """log(1 + exp(−margin)), that is log(1 + exp(r)) − y r for y of 0 or 1."""

    code = definitions.BINOMIAL
    of_margin = True
    lipschitz = 0.25

    def _all(self, y, raw):
        return super()._all(np.asarray(y) > 0, raw)


@dataclass(frozen=True)
class Exponential(RowLoss):
    """exp(−margin)."""

    code = definitions.EXPONENTIAL
    of_margin = True


@dataclass(frozen=True)
class Hinge(RowLoss):
    """max(0, 1 − margin)."""

    code = definitions.HINGE
    has_kinks = True
    of_margin = True

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """Where the margin is 1."""
        at = np.where(np.asarray(y) > 0, 1.0, -1.0)
        return at, at


@dataclass(frozen=True)
class SquaredHinge(RowLoss):
    """max(0, 1 − margin)²."""

    code = definitions.SQUARED_HINGE
    of_margin = True
    lipschitz = 2.0


@dataclass(frozen=True)
class ModifiedHuber(RowLoss):
    """max(0, 1 − margin)² where the margin is at least −1, −4 margin below (Zhang, 2004)."""

    code = definitions.MODIFIED_HUBER
    of_margin = True
    lipschitz = 2.0


@dataclass(frozen=True)
class PerceptronLoss(RowLoss):
    """max(0, −margin)."""

    code = definitions.PERCEPTRON
    has_kinks = True
    of_margin = True

    def kinks(self, y: ArrayLike) -> tuple[NDArray, NDArray]:
        """At 0."""
        at = np.zeros(np.shape(y))
        return at, at


# ---------------------------------------------------------------------------- of counts and amounts


@dataclass(frozen=True)
class Poisson(RowLoss):
    """exp(r) − y r: half the Poisson deviance up to a constant, with mean exp(r)."""

    code = definitions.POISSON


@dataclass(frozen=True)
class Gamma(RowLoss):
    """r + y exp(−r): half the gamma deviance up to a constant, with mean exp(r)."""

    code = definitions.GAMMA


@dataclass(frozen=True)
class Tweedie(RowLoss):
    """μ^(2−p) / (2−p) − y μ^(1−p) / (1−p) with μ = exp(r), or μ = r (``link='identity'``)."""

    power: float = 1.5
    link: str = "log"
    code = definitions.TWEEDIE_LOG

    def __post_init__(self):
        if self.link not in ("log", "identity"):
            raise ValueError(f"link must be 'log' or 'identity', got {self.link!r}")

    def _parameter(self) -> float:
        return self.power

    def _code(self) -> int:
        return definitions.TWEEDIE_LOG if self.link == "log" else definitions.TWEEDIE_IDENTITY


# ---------------------------------------------------------------------------- of many classes


@dataclass(frozen=True)
class Multinomial:
    """log Σ exp(r_k) − r_y for class numbers y and one raw prediction per class (rows x classes).

    ``curvature`` is the diagonal of each row's second derivatives.
    """

    lipschitz: ClassVar[float] = 0.5

    def _all(self, y: ArrayLike, raw: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
        raw = np.asarray(raw, dtype=np.float64)
        y = np.asarray(y)
        if raw.ndim != 2 or y.shape != raw.shape[:1]:
            raise ValueError(f"raw must be rows x classes and y rows; got {raw.shape}, {y.shape}")
        if y.size and not ((y >= 0) & (y < raw.shape[1]) & (y == np.floor(y))).all():
            raise ValueError(f"y must hold class numbers below {raw.shape[1]}")
        values, gradients, curvatures = np.empty(len(y)), np.empty(raw.shape), np.empty(raw.shape)
        rows = kernel_view(y, dtype=np.float64), kernel_view(raw)
        definitions.softmax_of_each(*rows, values, gradients, curvatures)
        return values, gradients, curvatures

    def value(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """The loss of each row."""
        return self._all(y, raw)[0]

    def gradient(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """Its derivatives by the raw predictions: softmax minus the indicator of the class."""
        return self._all(y, raw)[1]

    def curvature(self, y: ArrayLike, raw: ArrayLike) -> NDArray:
        """Its second derivatives, each by one raw prediction."""
        return self._all(y, raw)[2]
