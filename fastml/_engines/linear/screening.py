"""Gap-safe screening: columns of which it is proved that their weights are 0 at the minimum.

The dual of ½ \\|b − A w\\|² + l1 \\|w\\|₁ is to maximise b·v − ½ \\|v\\|² over all v that no column
pulls at harder than l1, |a_j·v| ≤ l1. It is strongly concave: a point v whose gap to the
objective is G lies within √(2 G) of the best one, which is the residual of the minimum. So

    |a_j·v| + \\|a_j\\| √(2 G) < l1   ⇒   w_j = 0

(Fercoq, Gramfort and Salmon, "Mind the duality gap: safer rules for the lasso", 2015; with
θ = v / l1 their radius is √(2 G) / l1). A ridge l2 is as many rows √l2 more below A and zeros below
b; several targets take lengths for absolute values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SafeBall(NamedTuple):
    """Pulls of a feasible v at each column, and how far from it the best one can be."""

    pulls: NDArray
    radius: float

    def excluded(self, squares: NDArray | float, l1: float, l2: float) -> NDArray:
        """Of which columns, of these squared lengths, the weights are 0 for certain."""
        return self.pulls + np.sqrt(squares + l2) * self.radius < l1


def safe_ball(
    b: NDArray, residual: NDArray, slopes: NDArray, w: NDArray, l1: float, l2: float, *,
    positive: bool, rounding: float,
) -> SafeBall:  # fmt: skip
    """Around the residual, scaled until it is feasible; ``slopes`` are A'residual − l2 w.

    ``rounding`` is that of the slopes: the gap may be off by so much of \\|b\\|².
    """
    sizes = lengths(slopes, positive)
    steepest = max(float(sizes.max(initial=0.0)), 0.0)
    square, ridge = float((residual * residual).sum()), l2 * float((w * w).sum())
    aligned, whole = float((b * residual).sum()), square + ridge
    scale = aligned / whole if whole > 0.0 else 1.0
    scale = max(scale, 0.0)
    if steepest * scale > l1:
        scale = l1 / steepest
    objective = 0.5 * whole + l1 * float(np.abs(lengths(w, False)).sum())
    gap = objective - scale * (aligned - 0.5 * scale * whole)
    gap = max(gap, 0.0) + rounding * float((b * b).sum())
    return SafeBall(scale * sizes, float(np.sqrt(2.0 * gap)))


def lengths(values: NDArray, positive: bool) -> NDArray:
    """Of the rows, or absolute values; values as they are where only those above 0 count."""
    if values.ndim == 2:
        return np.sqrt(np.einsum("jt,jt->j", values, values))
    return values if positive else np.abs(values)
