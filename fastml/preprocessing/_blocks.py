"""What scalers learn from a block of rows."""

from __future__ import annotations

import numpy as np

from fastml._engines.columns import ColumnMoments, extremes, moments
from fastml._engines.passes import RowBlock


def block_moments(block: RowBlock) -> ColumnMoments:
    """NaN counts as absent; infinity is refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = moments(block.X, block.weights)
    if not np.isfinite(found.means).all():
        _refuse_infinity(block)
    return found


def merged_moments(a: ColumnMoments, b: ColumnMoments) -> ColumnMoments:
    """Of both; a column that is empty in one is that of the other."""
    there = (ColumnMoments(*(np.where(m.counts == 0.0, 0.0, part) for part in m)) for m in (a, b))
    return next(there).merged(next(there))


def block_extremes(block: RowBlock):
    """(least, greatest) of every column."""
    low, high = extremes(block.X)
    if np.isinf(low).any() or np.isinf(high).any():
        _refuse_infinity(block)
    return low, high


def wider(a, b):
    """The extremes of both."""
    return np.fmin(a[0], b[0]), np.fmax(a[1], b[1])


def _refuse_infinity(block: RowBlock) -> None:
    places = np.argwhere(np.isinf(block.X))
    if len(places):
        row, column = places[0]
        raise ValueError(
            "Input X contains infinity or a value too large: "
            f"block {block.number}, row {block.first + row}, column {column}"
        )
