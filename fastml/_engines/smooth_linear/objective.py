"""Mean loss plus ½ Σ penalty_j w_j²: its value, gradient and Hessian."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.losses.pointwise import ROWS
from fastml.kernels.losses.smooth import losses_along

OPERATIONS = 32.0
"""Of one row's loss, for the number of threads."""


class SmoothObjective:
    """Σ weight_i ℓ(y_i, w · (x_i, 1)) / Σ weight_i + ½ alpha \\|w\\|²; the intercept is free.

    A state is what is known at w: raw predictions, and slopes and curvatures of the rows' losses.
    """

    def __init__(
        self,
        design: SmoothDesign,
        code: int,
        parameter: float,
        y: NDArray,
        weights: NDArray | None,
        alpha: float,
        fit_intercept: bool,
    ):
        self.design, self.code, self.parameter = design, code, float(parameter)
        self.y = kernel_view(y, dtype=np.float64)
        self.weights = kernel_view(np.empty(0) if weights is None else weights, dtype=np.float64)
        self.total = float(design.n_rows if weights is None else self.weights.sum())
        self.fit_intercept = fit_intercept
        self.n_free = design.n_weights if fit_intercept else design.n_features
        self.set_penalty(alpha)
        self.slopes, self.curvatures = np.empty(design.n_rows), np.empty(design.n_rows)
        self.sums = np.empty(max(1, -(-design.n_rows // ROWS)))
        self.still = np.zeros(design.n_rows)
        self.last_gram: NDArray | None = None

    def set_penalty(self, alpha: float) -> None:
        """Another factor of the penalty."""
        self.alpha = float(alpha)
        self.penalty = np.full(self.n_free, self.alpha)
        if self.fit_intercept:
            self.penalty[-1] = 0.0

    @property
    def n_classes(self) -> int:
        """Weights of each column."""
        return 1

    @property
    def n_lines(self) -> int:
        """Columns, the intercept's among them."""
        return self.n_free

    @property
    def shift_is_free(self) -> bool:
        """There is one intercept: none can be moved for another."""
        return False

    def probabilities(self) -> NDArray:
        """(rows, 1), of the second class at the w that `value` was last called for."""
        slopes = self.slopes
        if len(self.weights):
            slopes = np.divide(
                slopes, self.weights, out=np.zeros_like(slopes), where=self.weights > 0
            )
        return (slopes + self.y)[:, None]

    def row_slopes(self) -> NDArray:
        """(rows, 1), the derivatives of the losses there, a copy."""
        return self.slopes[:, None].copy()

    def sample(self, n_wanted: int) -> SmoothObjective | None:
        """The same of some rows; None if these have no weight."""
        design, chosen = self.design.sample(n_wanted)
        weights = self.weights[chosen] if len(self.weights) else None
        if weights is not None and not weights.any():
            return None
        return SmoothObjective(
            design, self.code, self.parameter, self.y[chosen], weights, self.alpha,
            self.fit_intercept,
        )  # fmt: skip

    def raw(self, w: NDArray) -> NDArray:
        """Raw predictions of all rows."""
        return self.design.products(w if self.fit_intercept else np.append(w, 0.0))

    def value(self, w: NDArray, z: NDArray, direction: NDArray | None = None, step=0.0) -> float:
        """The objective at ``w``, whose raw predictions are z + step · direction; keeps the slopes
        and curvatures there."""
        losses_along(
            self.code, self.parameter, self.y, self.weights, z,
            self.still if direction is None else direction, float(step),
            self.slopes, self.curvatures, self.sums,
            n_threads=effective_n_threads(self.design.n_jobs, OPERATIONS * len(z)),
        )  # fmt: skip
        return float(self.sums.sum()) / self.total + 0.5 * float((self.penalty * w) @ w)

    def gradient(self, w: NDArray) -> NDArray:
        """At the ``w`` that `value` was last called for."""
        slopes = self.design.slopes(self.slopes)[: self.n_free]
        return slopes / self.total + self.penalty * w

    def hessian(self, *, determined: bool = False) -> NDArray:
        """At the w that `value` was last called for; ``determined`` matters for several classes."""
        gram = self.design.gram(self.curvatures)[: self.n_free, : self.n_free] / self.total
        self.last_gram = gram
        return self.with_penalty(gram)

    def summed_hessian(self) -> NDArray:
        """Without the penalty, summed over the rows."""
        return self.design.gram(self.curvatures)[: self.n_free, : self.n_free]

    def with_penalty(self, gram: NDArray) -> NDArray:
        """A Hessian of the mean loss plus that of the penalty as it is now."""
        hessian = gram.copy()
        hessian.flat[:: self.n_free + 1] += self.penalty
        return hessian

    def hessian_product(self, vector: NDArray) -> NDArray:
        """Of the Hessian at the w that `value` was last called for."""
        products = self.curvatures * self.raw(vector)
        slopes = self.design.slopes(products)[: self.n_free]
        return slopes / self.total + self.penalty * vector

    def hessian_diagonal(self) -> NDArray:
        """Its diagonal, with the mean curvature for that of each row."""
        mean = float(self.curvatures.mean())
        squares = self.design.column_squares()[: self.n_free]
        return squares * (mean / self.total) + self.penalty
