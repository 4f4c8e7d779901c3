"""A smooth objective whose raw predictions have a known part."""

from __future__ import annotations

from numpy.typing import NDArray

from fastml._engines.smooth_linear.objective import SmoothObjective


class OffsetObjective(SmoothObjective):
    """As `SmoothObjective`, with offset_i added to the raw prediction of row i."""

    def __init__(self, design, code, parameter, y, weights, alpha, fit_intercept, offset: NDArray):
        super().__init__(design, code, parameter, y, weights, alpha, fit_intercept)
        self.offset = offset

    def sample(self, n_wanted: int) -> SmoothObjective | None:
        """The same of some rows; None if these have no weight."""
        part = super().sample(n_wanted)
        if part is None:
            return None
        chosen = self.design.sample(n_wanted)[1]
        weights = part.weights if len(part.weights) else None
        return OffsetObjective(
            part.design, self.code, self.parameter, part.y, weights, self.alpha,
            self.fit_intercept, self.offset[chosen],
        )  # fmt: skip

    def value(self, w: NDArray, z: NDArray, direction: NDArray | None = None, step=0.0) -> float:
        """The objective at ``w``, whose raw predictions without offsets are z + step · direction;
        keeps the slopes and curvatures there."""
        return super().value(w, z + self.offset, direction, step)
