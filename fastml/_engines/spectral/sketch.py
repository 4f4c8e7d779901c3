"""Rows of many columns summed up by a few: `sketch_of` a block · `merge_sketches` · `factors`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.spectral.signs import flipped


class Sketch(NamedTuple):
    """Rows seen: their number, mean, rows R with R'R about their scatter, squares by column."""

    total: float
    mean: NDArray
    rows: NDArray
    squares: NDArray

    def factors(self) -> tuple[NDArray, NDArray]:
        """Singular values and right vectors of the rows that stand for all."""
        from scipy.linalg import svd

        _, singular, right = svd(self.rows, full_matrices=False, check_finite=False)
        return singular, flipped(right)

    def cut(self, k: int) -> Sketch:
        """With the k rows that say most."""
        singular, right = self.factors()
        return self._replace(rows=singular[:k, None] * right[:k])


def sketch_of(X) -> Sketch:
    """Of a block of rows: themselves, centred."""
    X = X.toarray() if sp.issparse(X) else X
    X = np.ascontiguousarray(X, dtype=np.float64)
    mean = X.mean(axis=0)
    centred = X - mean
    return Sketch(float(len(X)), mean, centred, np.einsum("ij,ij->j", centred, centred))


def merge_sketches(a: Sketch, b: Sketch) -> Sketch:
    """Of the rows of both."""
    total = a.total + b.total
    step = b.mean - a.mean
    share = a.total * (b.total / total)
    rows = np.vstack([a.rows, b.rows, np.sqrt(share) * step])
    return Sketch(
        total, a.mean + (b.total / total) * step, rows, a.squares + b.squares + share * step * step
    )
