"""Boosting of rows in blocks: one pass over the blocks per level of the trees of an iteration.

Every block keeps its bins, raw predictions and the order of its rows in the process that has seen
it last (`fastml._engines.kept`). Another process makes them again, to the bit, from what a pass
sends along: bins, trees so far and the splits of those that grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines import kept
from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import BoostedTree, Packed
from fastml._engines.passes import RowBlock, codes_of, reads_if_needed
from fastml._threads import effective_n_threads
from fastml.ensemble._hist_gradient_boosting._kept_bins import bins_of_block
from fastml.ensemble._hist_gradient_boosting._levels import NOTHING, LevelWork
from fastml.ensemble._hist_gradient_boosting._loss import Loss
from fastml.kernels.hist.grow import (
    NODE_LEFT,
    NODE_START,
    NODE_STOP,
    NODE_WORDS,
    BinnedRows,
    add_leaf_values,
    pack_chunk,
)
from fastml.kernels.hist.histogram import Packing
from fastml.kernels.hist.levels import MADE_LEFT, LevelCounts, level_of_block, sum_leaves
from fastml.kernels.losses.pointwise import MOST_GRADIENT, MOST_HESSIAN

NO_WEIGHTS = np.empty(0)
NO_PACKING = Packing(1, 1, 1)


class BoostingSetup(NamedTuple):
    """What does not change from pass to pass."""

    fit: str  # a name of this fit, unlike all others
    mapper: BinMapper
    loss: Loss
    classes: NDArray | None  # None: a regression
    class_weights: NDArray | None
    held_out: float  # share of rows that judge early stopping
    subsample: float
    seeds: tuple[int, int]  # of the rows held out, of those drawn
    in_file: bool  # where blocks are kept
    bins: str | None = None  # folder of their bins


class BoostingState(NamedTuple):
    """How far the fit is; a block that knows less is brought here."""

    baseline: NDArray | None  # (1, n_trees)
    iterations: list[list[BoostedTree]]  # whose values are in the raw predictions
    packings: list[Packing] | None  # of the trees that grow, None: there are none
    splits: list[list[NDArray]]  # of each pass, of each tree that grows

    @property
    def version(self) -> tuple:
        return self.baseline is not None, len(self.iterations), self.growing, len(self.splits)

    @property
    def growing(self) -> bool:
        return self.packings is not None


class Held(NamedTuple):
    """Rows that judge early stopping."""

    bins: NDArray
    y: NDArray
    weights: NDArray | None
    raw: NDArray


class BoostedBlock:
    """One block's rows, as far as the fit is."""

    version: tuple

    def __init__(self, block: RowBlock, setup: BoostingSetup):
        self.setup, self.number = setup, block.number
        y, weights = encoded(block, setup)
        out = held_out(block.number, block.first, len(block.X), setup)
        if setup.bins is None:
            bins = setup.mapper.transform(block.X)
        else:
            bins = bins_of_block(setup.bins, block, setup.mapper)
        here = np.ones(len(bins), bool)
        here[out] = False
        n_trees = setup.loss.n_trees
        self.held = Held(
            bins[out], y[out], None if weights is None else weights[out],
            np.zeros((len(out), n_trees)),
        )  # fmt: skip
        if len(out):
            bins, y = bins[here], y[here]
            weights = None if weights is None else weights[here]
        n_rows, n_features = bins.shape

        def space(shape, dtype):
            return kept.space(shape, dtype, setup.in_file)

        if setup.in_file and (setup.bins is None or len(out)):
            own = space(bins.shape, np.uint8)
            own[:] = bins
            bins = own
        columns = space((n_features, n_rows), np.uint8)
        columns[:] = bins.T
        mapper = setup.mapper
        self.data = BinnedRows(
            bins, columns, mapper.n_bins_non_missing_.astype(np.intp),
            int(mapper.missing_values_bin_idx_), mapper.is_categorical_,
            np.zeros(n_features, np.int8), np.zeros((0, n_features), np.uint8), NO_WEIGHTS,
        )  # fmt: skip
        self.y, self.weights = y, weights
        self.raw = space((n_rows, n_trees), np.float64)
        self.gradients = space((n_trees, n_rows), np.float32)
        self.hessians = space((n_trees, n_rows), np.float32)
        self.packed = space((n_trees, n_rows), np.int64)
        self.rows = space((n_trees, n_rows), np.uint32)
        self.n_drawn = n_rows
        self.ranges: list[NDArray] = []
        self.leaves: NDArray | None = None  # nodes of the one tree grown last, if all rows grew it
        self.version = False, 0, False, 0

    @classmethod
    def at(cls, block: RowBlock, setup: BoostingSetup, state: BoostingState) -> BoostedBlock:
        """What this process has kept of the block, or the same made again."""
        found = kept.taken(setup.fit, block.number)
        if found is not None and found.version == state.version:
            return found
        made = cls(block, setup)
        if state.baseline is not None:
            made.start(state.baseline)
            made.add(state.iterations)
            made.slopes()
        if state.packings is not None:
            made.begin(len(state.iterations), state.packings)
            for splits in state.splits:
                made.split(splits)
        return made

    def keep(self, version: tuple) -> None:
        self.version = version
        kept.keep(self.setup.fit, self.number, self)

    # ------------------------------------------------------------------------ an iteration

    def start(self, baseline: NDArray) -> None:
        self.raw[:] = baseline
        self.held.raw[:] = baseline

    def add(self, iterations: list[list[BoostedTree]]) -> None:
        """Add the trees' values to the raw predictions."""
        trees = [tree for trees in iterations for tree in trees]
        if trees:
            if self.leaves is None:
                Packed(trees, self.data.missing_bin).add_to(self.data.bins, self.raw, None)
            else:  # the tree's leaves own ranges of the rows: nothing to look up
                add_leaf_values(
                    len(self.leaves), self.leaves, self.rows[0],
                    np.ascontiguousarray(trees[0].nodes["value"]), self.raw.reshape(-1),
                    n_threads=effective_n_threads(None, 4.0 * self.n_drawn),
                )  # fmt: skip
            if len(self.held.bins):
                packed = Packed(trees, self.data.missing_bin)
                packed.add_to(self.held.bins, self.held.raw, None)
        self.leaves = None

    def slopes(self) -> NDArray:
        """Gradients and hessians of the raw predictions, and their statistics."""
        raw = np.ascontiguousarray(self.raw.T)
        return self.setup.loss.gradients(self.y, raw, self.weights, self.gradients, self.hessians)

    def losses(self) -> NDArray:
        """(sum of the losses, weight) of the rows that teach, and of those held out."""
        found = np.zeros((2, 2))
        parts = ((self.y, self.weights, self.raw), (self.held.y, self.held.weights, self.held.raw))
        for place, (y, weights, raw) in enumerate(parts):
            total = float(len(y) if weights is None else weights.sum())
            if total > 0.0:
                mean = self.setup.loss.mean(y, np.ascontiguousarray(raw.T), weights)
                found[place] = mean * total, total
        return found

    def begin(self, iteration: int, packings: list[Packing]) -> None:
        """All rows, or those drawn, belong to the roots; their gradients are packed."""
        drawn = drawn_rows(self.number, iteration, len(self.y), self.setup)
        self.n_drawn = len(drawn)
        self.ranges = [np.array([[0, self.n_drawn]], np.intp) for _ in packings]
        sums = np.empty((1, 2), np.int64)
        for k, packing in enumerate(packings):
            self.rows[k, : self.n_drawn] = drawn
            pack_chunk(
                0, 1, self.rows[k, : self.n_drawn], self.gradients[k], self.hessians[k],
                NO_WEIGHTS, packing, self.packed[k], sums,
            )  # fmt: skip

    def split(self, splits: list[NDArray]) -> None:
        """Make splits of nodes of every tree that grows, and count nothing."""
        nothing = NOTHING.counts(self.data.bins.shape[1])
        for k, made in enumerate(splits):
            if len(made):
                self.level(k, NO_PACKING, made, nothing)

    def level(self, k: int, packing: Packing, made: NDArray, counts: LevelCounts) -> None:
        """Make splits of tree k, and add the rows of some of its nodes to ``counts``."""
        n_features = self.data.bins.shape[1]
        most = int(made[:, MADE_LEFT].max(initial=-1)) + 2
        if most > len(self.ranges[k]):
            larger = np.zeros((2 * most, 2), np.intp)
            larger[: len(self.ranges[k])] = self.ranges[k]
            self.ranges[k] = larger
        n_threads = effective_n_threads(None, 3.0 * self.data.bins.size)
        n_tasks = max(1, min(n_threads, n_features // 2)) if len(counts.nodes) else 1
        level_of_block(
            self.data, self.rows[k, : self.n_drawn], self.packed[k], packing, self.ranges[k], made,
            np.empty((len(made), 256), np.uint8), np.empty(self.n_drawn + 1, np.uint32), counts,
            n_tasks, n_threads=n_threads,
        )  # fmt: skip

    def leaf_sums(self, k: int, ids: NDArray, lefts: NDArray) -> NDArray:
        """Exact sums of gradients and hessians of the leaves among some nodes of tree k."""
        nodes = np.zeros((len(ids), NODE_WORDS), np.int64)
        nodes[:, [NODE_START, NODE_STOP]] = self.ranges[k][ids]
        nodes[:, NODE_LEFT] = lefts
        sums = np.empty((len(ids), 2))
        sum_leaves(
            nodes, self.rows[k, : self.n_drawn], self.gradients[k], self.hessians[k], NO_WEIGHTS,
            sums, n_threads=effective_n_threads(None, 4.0 * self.n_drawn),
        )  # fmt: skip
        self.leaves = nodes if self.n_drawn == len(self.y) and len(self.rows) == 1 else None
        return sums


# ---------------------------------------------------------------------------- rows of a block


def encoded(block: RowBlock, setup: BoostingSetup) -> tuple[NDArray, NDArray | None]:
    """(targets as the loss has them, weights)."""
    assert block.y is not None
    weights = None if block.weights is None else np.array(block.weights)
    if setup.classes is None:
        return np.array(block.y, np.float64), weights
    codes = codes_of(block, setup.classes)
    if setup.class_weights is not None:
        of_rows = setup.class_weights[codes]
        weights = of_rows if weights is None else of_rows * weights
    return codes.astype(np.float64), weights


def held_out(number: int, first: int, n_rows: int, setup: BoostingSetup) -> NDArray:
    """Rows that judge early stopping, ascending: of the first m rows always share · m."""
    n_before, n_until = int(setup.held_out * first), int(setup.held_out * (first + n_rows))
    rng = np.random.default_rng([setup.seeds[0], number])
    return np.sort(rng.choice(n_rows, n_until - n_before, replace=False))


def drawn_rows(number: int, iteration: int, n_rows: int, setup: BoostingSetup) -> NDArray:
    if setup.subsample >= 1.0 or not n_rows:
        return np.arange(n_rows, dtype=np.uint32)
    rng = np.random.default_rng([setup.seeds[1], iteration, number])
    n_drawn = max(1, round(setup.subsample * n_rows))
    return np.sort(rng.choice(n_rows, n_drawn, replace=False)).astype(np.uint32)


# ---------------------------------------------------------------------------- passes


def block_class_weights(block: RowBlock, classes: NDArray) -> NDArray:
    """How many rows every class has."""
    assert block.y is not None
    return np.bincount(codes_of(block, classes), minlength=len(classes)).astype(float)


def begin_block(block: RowBlock, setup: BoostingSetup) -> NDArray:
    """Make the block's bins; its sums of targets and weights (least target, sum, weight), or the
    weights of its classes."""
    made = BoostedBlock(block, setup)
    made.keep(made.version)
    y, weights = made.y, made.weights
    if setup.classes is not None:
        return np.bincount(y.astype(np.intp), weights, len(setup.classes)).astype(float)
    if not np.isfinite(y).all():
        raise ValueError(f"Input y contains NaN or infinity: block {block.number}")
    total = float(len(y) if weights is None else weights.sum())
    return np.array([
        min(y.min(initial=np.inf), made.held.y.min(initial=np.inf)),
        y.sum() if weights is None else weights @ y,
        total,
    ])  # fmt: skip


def merged_targets(a: NDArray, b: NDArray) -> NDArray:
    return np.array([min(a[0], b[0]), a[1] + b[1], a[2] + b[2]])


@reads_if_needed
def raise_block(
    block: RowBlock, setup: BoostingSetup, state: BoostingState, trees: list[list[BoostedTree]],
    scored: bool,
) -> tuple[NDArray, NDArray | None]:  # fmt: skip
    """Add the trees of the last iteration; (statistics of the new gradients, losses)."""
    if state.baseline is not None and not state.iterations and not trees:
        made = BoostedBlock.at(block, setup, state._replace(baseline=None))
        made.start(state.baseline)
    else:
        made = BoostedBlock.at(block, setup, state)
        made.add(trees)
    statistics = made.slopes()
    losses = made.losses() if scored else None
    made.keep((True, len(state.iterations) + len(trees), False, 0))
    return statistics, losses


def merged_slopes(a, b):
    total = a[0] + b[0]
    for column in (MOST_GRADIENT, MOST_HESSIAN):
        total[:, column] = np.maximum(a[0][:, column], b[0][:, column])
    return total, None if a[1] is None else a[1] + b[1]


@reads_if_needed
def count_block(
    block: RowBlock, setup: BoostingSetup, state: BoostingState, work: list[LevelWork | None],
    into: list[LevelCounts | None] | None,
) -> list[LevelCounts | None]:  # fmt: skip
    """One level of every tree that grows: the block's rows counted as ``work`` asks."""
    assert state.packings is not None
    first = not state.splits and work[0] is not None and work[0].n_nodes == 1
    if first:  # roots
        made = BoostedBlock.at(block, setup, state._replace(packings=None))
        made.begin(len(state.iterations), state.packings)
    else:
        made = BoostedBlock.at(block, setup, state)
    if into is None:
        n_features = made.data.bins.shape[1]
        into = [None if asked is None else asked.counts(n_features) for asked in work]
    for k, (asked, counts) in enumerate(zip(work, into)):
        if asked is not None and counts is not None:
            made.level(k, state.packings[k], asked.made, counts)
    made.keep((True, len(state.iterations), True, len(state.splits) + (not first)))
    return into


@reads_if_needed
def sum_block(
    block: RowBlock, setup: BoostingSetup, state: BoostingState, rest: list[NDArray],
    leaves: list[tuple[NDArray, NDArray]],
) -> list[NDArray]:  # fmt: skip
    """Make the last splits; the exact sums of the trees' leaves."""
    made = BoostedBlock.at(block, setup, state)
    made.split(rest)
    found = [made.leaf_sums(k, *of_tree) for k, of_tree in enumerate(leaves)]
    made.keep((True, len(state.iterations), False, 0))
    return found


def merged_sums(a, b):
    return [own + other for own, other in zip(a, b)]
