"""Kernels made of kernels: sums, products, powers, exponentials and normalised kernels.

Each of these operations leads from positive semidefinite kernels to another (the closure rules), so
every kernel machine may use the result. An expression holds no data; machines that know the class
evaluate it block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fastml._engines.distances.checks import check_pairwise_arrays
from fastml._engines.distances.named import callable_matrix
from fastml._engines.gram.similarities import (
    KERNEL_PARAMS,
    SIMILARITIES,
    kernel_matrix,
    normalised,
    self_similarities,
)


class KernelExpression:
    """K(x, y). Called with one or two sets of rows it gives their matrix.

    ``a + b``, ``a * b``, ``2.0 * a``, ``a + 1.0`` and ``a**2`` make new ones, as do the methods.
    """

    def __call__(self, X, Y=None) -> np.ndarray:
        return self.matrix_of(X, Y, None)

    def matrix_of(self, X, Y, n_jobs) -> np.ndarray:
        """K of all rows of X with all of Y, or of X if that is None, as a new array."""
        raise NotImplementedError

    def diagonal(self, X) -> np.ndarray:
        """K(x, x) of every row."""
        raise NotImplementedError

    def normalized(self) -> KernelExpression:
        """K(x, y) / √(K(x, x) K(y, y)), and 0 where K(x, x) or K(y, y) is 0."""
        return Normalized(self)

    def exp(self) -> KernelExpression:
        """exp K(x, y)."""
        return ExponentialOfKernel(self)

    def on(self, columns) -> KernelExpression:
        """K of some columns only; the product of kernels on different columns is their tensor
        product."""
        return OnColumns(self, tuple(int(column) for column in columns))

    def __add__(self, other):
        return Sum(self, expression_of(other))

    def __radd__(self, other):
        return Sum(expression_of(other), self)

    def __mul__(self, other):
        return Product(self, expression_of(other))

    def __rmul__(self, other):
        return Product(expression_of(other), self)

    def __pow__(self, exponent):
        if not isinstance(exponent, Integral) or exponent < 1:
            raise ValueError(f"a kernel has powers 1, 2, ..., got {exponent!r}")
        return Power(self, int(exponent))


def expression_of(value: Any, **parameters: Any) -> KernelExpression:
    """A kernel from a name, a number, a function of two rows, or itself."""
    if isinstance(value, KernelExpression):
        return value
    if isinstance(value, str):
        if value not in SIMILARITIES:
            known = ", ".join(repr(name) for name in sorted(SIMILARITIES))
            raise ValueError(f"unknown kernel {value!r}; it must be one of {known}")
        if unknown := sorted(set(parameters) - KERNEL_PARAMS[value]):
            allowed = ", ".join(sorted(KERNEL_PARAMS[value])) or "no parameters"
            raise TypeError(
                f"unexpected parameter {unknown[0]!r}: kernel {value!r} takes {allowed}"
            )
        return Named(value, tuple(sorted(parameters.items())))
    if isinstance(value, Real) and not isinstance(value, bool):
        if not 0.0 <= float(value) < np.inf:
            raise ValueError(f"a constant in a kernel must be finite and not negative, got {value}")
        return Constant(float(value))
    if callable(value):
        return OfRows(value, tuple(sorted(parameters.items())))
    raise TypeError(f"a kernel is made of kernels, their names and numbers, got {value!r}")


@dataclass(frozen=True)
class Named(KernelExpression):
    """A kernel by its name."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def matrix_of(self, X, Y, n_jobs):
        return np.array(kernel_matrix(self.name, X, Y, n_jobs=n_jobs, **dict(self.parameters)))

    def diagonal(self, X):
        return self_similarities(self.name, X, dict(self.parameters))


@dataclass(frozen=True)
class OfRows(KernelExpression):
    """A function of two rows; under ``njit`` it runs compiled and in parallel."""

    function: Callable
    parameters: tuple[tuple[str, Any], ...] = ()

    def matrix_of(self, X, Y, n_jobs):
        given = dict(self.parameters)
        return np.array(callable_matrix(self.function, X, Y, n_jobs=n_jobs, **given), np.float64)

    def diagonal(self, X):
        return self_similarities(self.function, X, dict(self.parameters))


@dataclass(frozen=True)
class Constant(KernelExpression):
    """The same for all pairs of rows."""

    value: float

    def matrix_of(self, X, Y, n_jobs):
        X, Y = check_pairwise_arrays(X, Y)
        return np.full((X.shape[0], Y.shape[0]), self.value)

    def diagonal(self, X):
        return np.full(X.shape[0], self.value)


@dataclass(frozen=True)
class Sum(KernelExpression):
    """The sum of two kernels."""

    first: KernelExpression
    second: KernelExpression

    def matrix_of(self, X, Y, n_jobs):
        return self.first.matrix_of(X, Y, n_jobs) + self.second.matrix_of(X, Y, n_jobs)

    def diagonal(self, X):
        return self.first.diagonal(X) + self.second.diagonal(X)


@dataclass(frozen=True)
class Product(KernelExpression):
    """The product of two kernels."""

    first: KernelExpression
    second: KernelExpression

    def matrix_of(self, X, Y, n_jobs):
        return self.first.matrix_of(X, Y, n_jobs) * self.second.matrix_of(X, Y, n_jobs)

    def diagonal(self, X):
        return self.first.diagonal(X) * self.second.diagonal(X)


@dataclass(frozen=True)
class Power(KernelExpression):
    """A whole power of a kernel."""

    base: KernelExpression
    exponent: int

    def matrix_of(self, X, Y, n_jobs):
        return self.base.matrix_of(X, Y, n_jobs) ** self.exponent

    def diagonal(self, X):
        return self.base.diagonal(X) ** self.exponent


@dataclass(frozen=True)
class ExponentialOfKernel(KernelExpression):
    """The exponential of a kernel."""

    base: KernelExpression

    def matrix_of(self, X, Y, n_jobs):
        return np.exp(self.base.matrix_of(X, Y, n_jobs))

    def diagonal(self, X):
        return np.exp(self.base.diagonal(X))


@dataclass(frozen=True)
class Normalized(KernelExpression):
    """A kernel divided by the roots of its diagonal."""

    base: KernelExpression

    def matrix_of(self, X, Y, n_jobs):
        own = self.base.diagonal(X)
        other = own if Y is None else self.base.diagonal(Y)
        return normalised(self.base.matrix_of(X, Y, n_jobs), own, other)

    def diagonal(self, X):
        return (self.base.diagonal(X) > 0).astype(np.float64)

    def normalized(self):
        return self


@dataclass(frozen=True)
class OnColumns(KernelExpression):
    """A kernel that sees some columns only."""

    base: KernelExpression
    columns: tuple[int, ...]

    def _part(self, X):
        if X is None:
            return None
        X = X.tocsr() if issparse(X) else np.asarray(X)
        if X.ndim != 2 or (self.columns and max(self.columns) >= X.shape[1]):
            raise ValueError(f"a kernel on columns {self.columns} got rows of shape {X.shape}")
        return X[:, list(self.columns)]

    def matrix_of(self, X, Y, n_jobs):
        return self.base.matrix_of(self._part(X), self._part(Y), n_jobs)

    def diagonal(self, X):
        return self.base.diagonal(self._part(X))
