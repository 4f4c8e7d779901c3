"""What a block of rows does while trees of a forest grow: one pass over the blocks per level.

Every block keeps its codes, draws and the order of its rows in the process that has seen it last
(`fastml._engines.kept`); another process makes them again, to the bit, from the codes' meaning,
the trees' keys and the splits so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines import kept
from fastml._engines.passes import RowBlock, codes_of
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.forest.block_levels import (
    CUT_LEFT,
    PAIR_COLUMNS,
    BlockRows,
    count_nodes,
    divide_nodes,
    draw_rows,
    list_rows,
    sum_nodes,
)
from fastml.kernels.forest.codes import assign_codes
from fastml.kernels.forest.frame import Codes
from fastml.kernels.tree.nodes import POISSON


class ForestSetup(NamedTuple):
    """What does not change from pass to pass."""

    fit: str  # a name of this fit, unlike all others
    codes: Codes
    classes: NDArray | None  # None: a regression
    class_weights: NDArray | None
    criterion: int
    keys: NDArray  # (trees,) uint64, of their draws
    rate: float | None  # times that a row of weight one is drawn; None: no draws
    replace: bool
    in_file: bool  # where blocks are kept

    @property
    def n_columns(self) -> int:
        """Columns of a histogram: see `kernels.forest.block_levels`."""
        n_classes = 0 if self.classes is None else len(self.classes)
        return PAIR_COLUMNS if n_classes <= 2 else n_classes + 1


class ForestBlock:
    """One block's rows, as far as the trees have grown."""

    def __init__(self, block: RowBlock, setup: ForestSetup):
        self.setup, self.number = setup, block.number
        y, weights = targets_and_weights(block, setup)
        X = as_float32(block)
        n, d = X.shape
        n_trees = len(setup.keys)
        columns = kept.space((d, n), np.uint8, setup.in_file)
        assign_codes(
            kernel_view(X), setup.codes.high, setup.codes.n_codes, columns,
            n_threads=effective_n_threads(None, 10.0 * X.size),
        )  # fmt: skip
        drawn = setup.rate is not None
        times = kept.space((n_trees if drawn else 1, n), np.uint16, setup.in_file)
        self.n_threads = effective_n_threads(None, 20.0 * n * n_trees)
        if setup.rate is None:
            times[:] = 1
        else:
            rates = np.full(1, setup.rate) if weights is None else setup.rate * weights
            draw_rows(
                kernel_view(setup.keys), block.first, kernel_view(rates), setup.replace, times,
                n_threads=self.n_threads,
            )  # fmt: skip
        unit = drawn or weights is None
        self.data = BlockRows(columns, y, np.ones(n) if unit else weights, times)
        self.rows = kept.space((n_trees, n + 1), np.uint32, setup.in_file)
        self.ranges = np.zeros((n_trees, 1, 2), np.intp)
        list_rows(self.data, self.rows, self.ranges, n_threads=self.n_threads)
        self.n_levels = 0

    @classmethod
    def at(cls, block: RowBlock, setup: ForestSetup, levels: list[NDArray]) -> ForestBlock:
        """What this process has kept of the block, or the same made again, with all splits."""
        made = kept.taken(setup.fit, block.number)
        if made is None or made.n_levels > len(levels):
            made = cls(block, setup)
        for cuts in levels[made.n_levels :]:
            made.divide(cuts)
        return made

    def keep(self) -> None:
        kept.keep(self.setup.fit, self.number, self)

    def divide(self, cuts: NDArray) -> None:
        most = int(cuts[:, CUT_LEFT].max(initial=-1)) + 2
        if most > self.ranges.shape[1]:
            larger = np.zeros((len(self.ranges), 2 * most, 2), np.intp)
            larger[:, : self.ranges.shape[1]] = self.ranges
            self.ranges = larger
        n_codes = self.setup.codes.n_codes
        divide_nodes(self.data, n_codes, cuts, self.rows, self.ranges, n_threads=self.n_threads)
        self.n_levels += 1


def as_float32(block: RowBlock) -> NDArray:
    """The rows as trees compare them; NaN is missing, infinity an error."""
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(block.X, np.float32)
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0]
        raise ValueError(
            "Input X contains infinity or a value too large for float32: "
            f"block {block.number}, row {block.first + row}, column {column}"
        )
    return X


def targets_and_weights(block: RowBlock, setup: ForestSetup) -> tuple[NDArray, NDArray | None]:
    """(targets or class codes, weights)."""
    assert block.y is not None
    weights = None if block.weights is None else np.array(block.weights, np.float64)
    if setup.classes is None:
        y = np.array(block.y, np.float64)
        if y.ndim != 1:
            raise ValueError(f"on blocks trees have one output, y has shape {y.shape}")
        if not np.isfinite(y).all():
            raise ValueError(f"Input y contains NaN or infinity: block {block.number}")
        if setup.criterion == POISSON and np.any(y < 0.0):
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression."
            )
        return y, weights
    codes = codes_of(block, setup.classes)
    if setup.class_weights is not None:
        own = setup.class_weights[codes]
        weights = own if weights is None else own * weights
    return codes.astype(np.float64), weights


# ---------------------------------------------------------------------------- passes


def sample_block(block: RowBlock, step: int) -> NDArray:
    """Every so manieth of all rows, as trees compare them."""
    with np.errstate(over="ignore"):
        return block.X[-block.first % step :: step].astype(np.float32)


def block_class_totals(block: RowBlock, classes: NDArray) -> NDArray:
    """(2, classes): rows and weight of every class."""
    codes = codes_of(block, classes)
    weights = block.weights
    return np.array([
        np.bincount(codes, minlength=len(classes)),
        np.bincount(codes, weights, minlength=len(classes)),
    ], float)  # fmt: skip


def count_block(
    block: RowBlock, setup: ForestSetup, levels: list[NDArray], asked: NDArray, features: NDArray
) -> tuple[NDArray, NDArray]:
    """(histograms, least and greatest target) of the nodes asked for, each by its features."""
    made = ForestBlock.at(block, setup, levels)
    width = setup.codes.high.shape[1] + 1
    histograms = np.zeros((*features.shape, width, setup.n_columns))
    spans = np.tile([np.inf, -np.inf], (len(asked), 1))
    count_nodes(
        made.data, asked, features, made.rows, made.ranges, histograms, spans,
        n_threads=made.n_threads,
    )  # fmt: skip
    made.keep()
    return histograms, spans


def merged_counts(a, b):
    histograms, spans = a
    histograms += b[0]
    spans[:, 0] = np.minimum(spans[:, 0], b[1][:, 0])
    spans[:, 1] = np.maximum(spans[:, 1], b[1][:, 1])
    return histograms, spans


def sum_block(
    block: RowBlock, setup: ForestSetup, levels: list[NDArray], asked: NDArray
) -> NDArray:
    """(weight, sum of targets, what their impurity is made of) of leaves."""
    made = ForestBlock.at(block, setup, levels)
    sums = np.empty((len(asked), 3))
    sum_nodes(
        made.data, asked, setup.criterion, made.rows, made.ranges, sums, n_threads=made.n_threads
    )
    made.keep()
    return sums


class GatheredRows(NamedTuple):
    """Rows of a node."""

    columns: NDArray  # (features, rows) codes
    y: NDArray
    weights: NDArray


def gather_block(
    block: RowBlock, setup: ForestSetup, levels: list[NDArray],
    asked: list[tuple[int, int, NDArray | None]],
) -> list[list[GatheredRows]]:  # fmt: skip
    """The rows of nodes (tree, node, columns that are wanted or None)."""
    made = ForestBlock.at(block, setup, levels)
    data, found = made.data, []
    for tree, node, wanted in asked:
        start, stop = made.ranges[tree, node]
        rows = made.rows[tree, start:stop]
        columns = data.columns if wanted is None else data.columns[wanted]
        weights = data.weights[rows] * data.times[tree % len(data.times)][rows]
        found.append([GatheredRows(columns[:, rows], data.y[rows], weights)])
    made.keep()
    return found


def merged_rows(a, b):
    for own, other in zip(a, b):
        own += other
    return a
