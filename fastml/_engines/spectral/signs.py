"""One rule for signs: of every vector, the entry that is largest in absolute value is positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def signs_of(rows: NDArray) -> NDArray:
    """1 or −1 for every row; the first of equal entries decides."""
    if rows.shape[1] == 0:
        return np.ones(len(rows), dtype=rows.dtype)
    largest = np.argmax(np.abs(rows), axis=1)
    return np.where(rows[np.arange(len(rows)), largest] < 0.0, -1.0, 1.0).astype(rows.dtype)


def flipped(rows: NDArray) -> NDArray:
    """Rows with their signs by the rule."""
    return rows * signs_of(rows)[:, None]
