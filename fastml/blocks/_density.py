"""The histogram density of a column of blocks: counts of blocks, added."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.passes import RowBlock
from fastml.blocks._blocks import Blocks
from fastml.blocks._run import Runner

CELLS = 1 << 16
"""Of the fine histogram that quartiles are read from: they are off by one cell at most."""


def _column(block: RowBlock, column: int, ends) -> tuple[NDArray, NDArray]:
    """(values, weights) of the rows between the ends."""
    values = np.asarray(block.X[:, column], dtype=np.float64)
    if not np.isfinite(values).all():
        row = block.first + int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"column {column} has NaN or infinity: block {block.number}, row {row}")
    weights = np.ones(len(values)) if block.weights is None else np.asarray(block.weights, float)
    if ends is None:
        return values, weights
    inside = (values >= ends[0]) & (values <= ends[1])
    return values[inside], weights[inside]


def block_moments(block: RowBlock, column: int, ends) -> NDArray:
    """Least and greatest value; weight, squared weights; mean, sum of squares about it."""
    values, weights = _column(block, column, ends)
    total = weights.sum()
    if not total > 0.0:
        return np.array([np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0])
    mean = weights @ values / total
    return np.array([
        values.min(), values.max(), total, weights @ weights, mean, weights @ (values - mean) ** 2,
    ])  # fmt: skip


def merged_moments(a: NDArray, b: NDArray) -> NDArray:
    if not b[2] > 0.0:
        return a
    if not a[2] > 0.0:
        return b
    total, gap = a[2] + b[2], b[4] - a[4]
    return np.array([
        min(a[0], b[0]), max(a[1], b[1]), total, a[3] + b[3], a[4] + gap * b[2] / total,
        a[5] + b[5] + gap * gap * a[2] * b[2] / total,
    ])  # fmt: skip


def block_counts(block: RowBlock, column: int, ends, edges: NDArray) -> NDArray:
    values, weights = _column(block, column, ends)
    return np.histogram(values, bins=edges, weights=weights)[0]


def histogram_density(
    blocks: Blocks, column=0, bins="fd", executor=None, *, range=None, progress=False
):
    """The histogram density of one column: the weight in a bin over the whole and its width.

    :math:`f(x) = \\frac{1}{W h_b} \\sum_{i: x_i \\in b} w_i`. Two passes, three for the rule
    'fd', which reads the quartiles off a histogram of 65,536 cells.

    Parameters
    ----------
    blocks : Blocks
    column : int or str, default=0
        Its number, or its name.
    bins : int, {'fd', 'scott'} or array-like of edges, default='fd'
        As of `fastml.density.histogram_density`.
    executor : ThreadsExecutor or SparkExecutor, default=None
    range : (float, float), default=None
        Ends of the histogram, by default those of the data.
    progress : bool, default=False

    Returns
    -------
    histogram : fastml.density.HistogramDensity
        ``(density, edges)``; calling it evaluates the density.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, histogram_density
    >>> blocks = Blocks.from_npy(np.array([[0.0], [1.0], [1.0], [4.0]]), block_rows=3)
    >>> histogram_density(blocks, bins=2).density
    array([0.375, 0.125])
    """
    from fastml.density import HistogramDensity

    place = _place(blocks, column)
    ends = None if range is None else tuple(map(float, range))
    if ends is not None and not (np.isfinite(ends).all() and ends[0] <= ends[1]):
        raise ValueError(f"range must be two finite numbers, the smaller first, got {range}")
    runner = Runner(blocks, executor, progress)

    def counted(edges):
        return sum(runner.results(block_counts, (place, ends, edges), "counts"))

    moments = np.array([np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0])
    for here in runner.results(block_moments, (place, ends), "ends"):
        moments = merged_moments(moments, here)
    low, high, weight, squares, _, scatter = moments
    if not weight > 0.0:
        raise ValueError(f"no value of column {column} lies in range {ends}")
    low, high = (low, high) if ends is None else ends
    if high == low:
        low, high = low - 0.5, high + 0.5
    if isinstance(bins, str):
        size = weight**2 / squares
        if bins == "fd":
            fine = np.linspace(low, high, CELLS + 1)
            share = np.concatenate([[0.0], np.cumsum(counted(fine))]) / weight
            between = np.diff(np.interp([0.25, 0.75], share, fine))[0]
            if between <= (high - low) / CELLS:  # no spread to measure
                between = 0.0
            width = 2.0 * between * size ** (-1 / 3)
        elif bins == "scott":
            deviation = np.sqrt(scatter / weight * size / max(size - 1.0, 1.0))
            width = (24.0 * np.sqrt(np.pi) / size) ** (1 / 3) * deviation
        else:
            raise ValueError(f"bins must be 'fd', 'scott', a number or edges, got {bins!r}")
        n_bins = 1 if width <= 0.0 else int(min(max(np.ceil((high - low) / width), 1), 2**20))
        edges = np.linspace(low, high, n_bins + 1)
    elif np.ndim(bins) == 0:
        if isinstance(bins, bool) or int(bins) != bins or bins < 1:
            raise ValueError(f"bins must be at least 1, got {bins}")
        edges = np.linspace(low, high, int(bins) + 1)
    else:
        edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or edges.shape[0] < 2 or not np.all(np.diff(edges) > 0.0):
            raise ValueError("bins given as edges must be at least two rising numbers")
    counts = counted(edges)
    if counts.sum() == 0.0:
        raise ValueError("no value lies between the edges given as bins")
    return HistogramDensity(counts / (counts.sum() * np.diff(edges)), edges)


def _place(blocks: Blocks, column) -> int:
    """The number of a column."""
    if isinstance(column, str):
        names = blocks.feature_names
        if names is None or column not in list(names):
            raise ValueError(f"there is no column {column!r}")
        return list(names).index(column)
    if not 0 <= int(column) < blocks.n_features:
        raise ValueError(f"column must be from 0 to {blocks.n_features - 1}, got {column}")
    return int(column)
