"""What PCA and the singular value decomposition read of rows in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.passes import Passes, RowBlock, refuse_nan
from fastml._engines.spectral.scatter import Scatter, merge, scatter_of


class BlockedRows:
    """All rows of the passes: their shape, scatter and triangle."""

    def __init__(self, passes: Passes):
        self.passes = passes
        self.shape, self.dtype = (passes.n_rows, passes.n_features), passes.dtype

    def scatter(self) -> Scatter:
        return self.passes.reduced(block_scatter, merge, name="scatter")

    def triangle(self, mean: NDArray) -> NDArray:
        """R of A = Q R, where A are the weighted rows less the mean."""
        return self.passes.reduced(block_triangle, stacked_triangle, mean, name="triangle")


def block_scatter(block: RowBlock) -> Scatter:
    with np.errstate(invalid="ignore", over="ignore"):
        if block.weights is not None and not block.weights.any():
            d = block.X.shape[1]
            return Scatter(0.0, np.zeros(d), np.zeros((d, d)))
        found = scatter_of(block.X, block.weights)
    if not np.isfinite(found.products).all():
        refuse_nan(block)
    return found


def block_triangle(block: RowBlock, mean: NDArray) -> NDArray:
    rows = block.X - mean
    if block.weights is not None:
        rows *= np.sqrt(block.weights)[:, None]
    return np.asarray(np.linalg.qr(rows, mode="r"))


def stacked_triangle(a: NDArray, b: NDArray) -> NDArray:
    return np.asarray(np.linalg.qr(np.vstack([a, b]), mode="r"))
