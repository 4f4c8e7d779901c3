"""The loop of gradient boosting on blocks."""

from __future__ import annotations

import uuid

import numpy as np
from numpy.typing import NDArray

from fastml._engines import kept
from fastml._engines.boosted.bins import SUBSAMPLE, BinMapper
from fastml._engines.boosted.trees import BoostedTree
from fastml._engines.passes import Passes
from fastml.ensemble._hist_gradient_boosting import _blocks as work
from fastml.ensemble._hist_gradient_boosting._grower import (
    MOST_ROWS,
    MOST_ROWS_PER_TILE,
    finished_tree,
    packing_for,
)
from fastml.ensemble._hist_gradient_boosting._levels import NOTHING, TreeByLevels
from fastml.kernels.hist.grow import NODE_LEFT, BinnedRows
from fastml.kernels.hist.histogram import Packing
from fastml.kernels.hist.split import BoostingRules


def bins_of_blocks(
    passes: Passes, max_bins: int, seed: int, classes: NDArray | None, of_classes: NDArray | None
) -> BinMapper:
    """Bins of the rows that `BinMapper.fit` would draw of all rows."""
    rows = np.arange(passes.n_rows)
    if passes.n_rows > SUBSAMPLE:
        drawn = np.random.RandomState(seed).choice(passes.n_rows, SUBSAMPLE, replace=True)
        rows = np.sort(drawn)
    X, y, weights = passes.rows_at(rows)
    if of_classes is not None:
        assert classes is not None
        assert y is not None
        own = of_classes[np.searchsorted(classes, y)]
        weights = own if weights is None else own * weights
    return BinMapper(max_bins, random_state=seed, subsample=None).fit(X, weights)


class BlockBoosting:
    """Trees of one iteration after the other, by passes over the blocks."""

    def __init__(
        self, passes: Passes, setup: work.BoostingSetup, rules: BoostingRules, n_rows: int, *,
        learning_rate: float, constant_hessian: bool, root_counts: bool, trends, groups,
    ):  # fmt: skip
        if n_rows >= MOST_ROWS:
            raise ValueError(f"at most {MOST_ROWS - 1:,} rows can be boosted, got {n_rows:,}")
        self.passes, self.setup, self.rules, self.n_rows = passes, setup, rules, n_rows
        self.learning_rate, self.root_counts = learning_rate, root_counts
        self.constant_hessian = constant_hessian
        mapper, n_features = setup.mapper, passes.n_features
        self.data = BinnedRows(
            np.empty((0, n_features), np.uint8), np.empty((n_features, 0), np.uint8),
            mapper.n_bins_non_missing_.astype(np.intp), int(mapper.missing_values_bin_idx_),
            mapper.is_categorical_, trends,
            np.zeros((0, n_features), np.uint8) if groups is None else groups, np.empty(0),
        )  # fmt: skip
        self.iterations: list[list[BoostedTree]] = []
        self.baseline: NDArray | None = None
        self.statistics: NDArray | None = None
        self.usual: list[float] = []  # the least gains of the trees before

    def targets(self) -> NDArray:
        """Sums of the targets: see `begin_block`."""
        merge = work.merged_targets if self.setup.classes is None else np.add
        return self.passes.reduced(work.begin_block, merge, self.setup, name="bins")

    def raised(self, trees: list[list[BoostedTree]], scored: bool) -> NDArray | None:
        """Add trees to the model and find the next gradients; losses where they are wanted."""
        state = work.BoostingState(self.baseline, list(self.iterations), None, [])
        self.statistics, losses = self.passes.reduced(
            work.raise_block, work.merged_slopes, self.setup, state, trees, scored,
            name="gradients",
        )  # fmt: skip
        self.iterations += trees
        return losses

    def grown(self, seeds: list[int]) -> list[BoostedTree]:
        """The trees of an iteration, one per output, which grow side by side."""
        assert self.statistics is not None
        if not np.isfinite(self.statistics).all():
            raise ValueError("gradients are beyond float32: targets or weights are too large")
        packings = [self._packing(found) for found in self.statistics]
        usual = self.usual or [0.0] * len(packings)
        trees = [
            TreeByLevels(self.data, self.rules._replace(seed=seed), packing, self.n_rows, least)
            for seed, packing, least in zip(seeds, packings, usual)
        ]
        state = work.BoostingState(self.baseline, self.iterations, packings, [])
        while any(wanted := [tree.work() for tree in trees]):
            growing = [tree for tree, asked in zip(trees, wanted) if asked is not None]
            for found in self.passes.sums(
                work.count_block, self.setup, state, wanted, name="level"
            ):
                for tree, counts in zip(growing, filter(None, found)):
                    tree.add(counts)
            for tree in growing:
                tree.learn()
            if any(asked is not None and asked.n_nodes > 1 for asked in wanted):
                made = [NOTHING.made if asked is None else asked.made for asked in wanted]
                state = state._replace(splits=[*state.splits, made])
        grown = [tree.grown() for tree in trees]
        self.usual = [tree.least_gain for tree in trees]
        leaves = [(ids, nodes[:, NODE_LEFT]) for ids, nodes, _ in grown]
        sums = self.passes.reduced(
            work.sum_block, work.merged_sums, self.setup, state, [tree.rest() for tree in trees],
            leaves, name="leaves",
        )  # fmt: skip
        return [
            finished_tree(nodes, reals, own, tree.rules, self.learning_rate, self.root_counts)
            for tree, (_, nodes, reals), own in zip(trees, grown, sums)
        ]

    def _packing(self, statistics: NDArray) -> Packing:
        room = min(self.n_rows, MOST_ROWS_PER_TILE)
        return packing_for(room, room, statistics, self.constant_hessian)

    def end(self) -> None:
        kept.forget(self.setup.fit)


def new_name() -> str:
    """Of a fit; it has no part in what is learnt."""
    return uuid.uuid4().hex
