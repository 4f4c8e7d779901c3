"""Growing trees on binned rows: buffers that live for a whole fit, and one call per tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.trees import BoostedTree
from fastml._threads import effective_n_threads
from fastml.kernels.hist.grow import (
    NODE_FLOATS,
    NODE_GAIN,
    NODE_LEFT,
    NODE_LOWER,
    NODE_START,
    NODE_STOP,
    NODE_UPPER,
    NODE_VALUE,
    NODE_WORDS,
    PARTITION_ROWS,
    BinnedRows,
    GrowingTree,
    GrowthScratch,
    SplitSearch,
    add_leaf_values,
    grow_tree,
)
from fastml.kernels.hist.histogram import Packing
from fastml.kernels.hist.split import DEPTH_FIRST, SPLIT_WORDS, BoostingRules
from fastml.kernels.losses.pointwise import ALL_GRADIENT, ALL_HESSIAN, MOST_GRADIENT, MOST_HESSIAN

MOST_ROWS_PER_TILE = 1 << 15
MOST_ROWS = 1 << 28
MOST_WEIGHT = 64
"""Larger ones would leave tiles of too few rows."""


class BoostedTreeGrower:
    """Grows trees on one matrix of bins.

    Parameters
    ----------
    bins : ndarray of uint8, shape (n_rows, n_features)
    mapper : BinMapper
        Where the bins are from.
    rules : BoostingRules
        ``max_leaves`` = 0 means any number; seed and units are set here.
    learning_rate : float
        Factor of the leaf values.
    trends, groups : ndarray, default=None
        Monotonic constraints and groups of interactions, as in `BinnedRows`.
    root_counts : bool, default=False
        Whether a tree without a split adds its root's value, not 0.
    constant_hessian : bool
        Whether all hessians are 1.
    weights : ndarray of shape (n_rows,), default=None
        Whole numbers (see `counts_of`) that gradients and hessians have yet to be multiplied by: a
        row of weight w is w rows to the bit, but in the number of rows of a leaf.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        bins,
        mapper,
        rules: BoostingRules,
        *,
        learning_rate=1.0,
        trends=None,
        groups=None,
        root_counts=False,
        constant_hessian,
        weights=None,
        n_jobs,
    ):
        n_rows, n_features = bins.shape
        if n_rows >= MOST_ROWS:
            raise ValueError(f"at most {MOST_ROWS - 1:,} rows can be boosted, got {n_rows:,}")
        self.n_jobs, self.learning_rate, self.root_counts = n_jobs, learning_rate, root_counts
        self.data = BinnedRows(
            bins,
            np.ascontiguousarray(bins.T),
            mapper.n_bins_non_missing_.astype(np.intp),
            int(mapper.missing_values_bin_idx_),
            mapper.is_categorical_,
            np.zeros(n_features, np.int8) if trends is None else trends,
            np.zeros((0, n_features), np.uint8) if groups is None else groups,
            np.empty(0) if weights is None else weights,
        )
        self.constant_hessian = constant_hessian
        self.rows = np.arange(n_rows, dtype=np.uint32)
        most_leaves = max(1, n_rows // max(1, rules.min_leaf))
        n_slots = 2 + int(np.log2(max(n_rows, 1)))
        if rules.max_leaves == 0:
            # All nodes will be split: this order needs the fewest histograms at a time.
            rules = rules._replace(order=DEPTH_FIRST)
        else:
            most_leaves = min(most_leaves, rules.max_leaves)
            n_slots = most_leaves + 1
        if rules.max_depth < 30:
            most_leaves = min(most_leaves, 1 << rules.max_depth)
            n_slots = min(n_slots, most_leaves + 1)
        self.rules = rules._replace(max_leaves=most_leaves)
        most_nodes = 2 * most_leaves + 1
        # Sums of integers: the shares of the features change nothing. Every share reads all rows,
        # which costs more than a tile beyond the nearest cache: as few of them as threads.
        # On few rows, trees are mostly searches through the bins of both children of every split.
        searched = 2.0 * most_leaves * float(self.data.n_bins.sum())
        self.n_threads = effective_n_threads(n_jobs, 3.0 * bins.size + 4.0 * searched)
        n_tasks = max(1, min(self.n_threads, n_features // 2))
        n_parts = -(-n_rows // PARTITION_ROWS)
        n_groups = len(self.data.groups)
        self.tree = GrowingTree(
            nodes=np.zeros((most_nodes, NODE_WORDS), dtype=np.int64),
            reals=np.zeros((most_nodes, NODE_FLOATS)),
            active=np.zeros((most_nodes if n_groups else 0, n_groups), np.uint8),
            leaf_sums=np.empty((most_nodes, 2)),
        )
        self.search = SplitSearch(
            packed=np.empty(n_rows, dtype=np.int64),
            histograms=np.empty((n_slots, n_features, 256, 2), dtype=np.int64),
            tiles=np.zeros((n_tasks, -(-n_features // n_tasks) + 1, 256), dtype=np.int64),
            wanted=np.empty(2, dtype=np.uint8),
            allowed=np.empty((2, n_features), dtype=np.uint8),
            gains=np.empty((2, n_features)),
            splits=np.empty((2, n_features, SPLIT_WORDS), dtype=np.int64),
        )
        lefts, rights = np.empty((2, n_rows), dtype=np.uint32)
        self.scratch = GrowthScratch(
            sums=np.empty((n_parts, 2), dtype=np.int64),
            lefts=lefts,
            rights=rights,
            counts=np.empty(n_parts, dtype=np.intp),
            places=np.empty(n_parts, dtype=np.intp),
            table=np.empty(256, dtype=np.uint8),
            opened=np.empty(most_leaves + 1, dtype=np.intp),
            free=np.empty(n_slots, dtype=np.intp),
            pool=np.empty(n_features, dtype=np.intp),
            state=np.empty(1, dtype=np.uint64),
        )
        self.orders_and_keys: tuple = None, None
        if mapper.is_categorical_.any():
            self.orders_and_keys = (
                np.empty((n_tasks, 257), dtype=np.intp),
                np.empty((n_tasks, 257)),
            )

    def grow(
        self, gradients, hessians, statistics, seed: int, rows: NDArray | None = None
    ) -> BoostedTree:
        """A tree on ``rows`` (None: all of them); its values include the learning rate."""
        if rows is None:
            rows = self.rows
            rows[:] = np.arange(len(rows), dtype=np.uint32)
        self.used = rows
        if not np.isfinite(statistics).all():
            raise ValueError("gradients are beyond float32: targets or weights are too large")
        packing = self._packing(rows, gradients, hessians, statistics)
        rules = self.rules._replace(
            seed=seed,
            gradient_unit=1.0 / packing.gradient_scale,
            hessian_unit=1.0 / packing.hessian_scale,
        )
        n_nodes = grow_tree(
            self.data,
            rows,
            gradients,
            hessians,
            packing,
            rules,
            self.tree,
            self.search,
            self.scratch,
            *self.orders_and_keys,
            n_threads=self.n_threads,
        )
        self.n_nodes = n_nodes
        nodes, reals = self.tree.nodes[:n_nodes], self.tree.reals[:n_nodes]
        return finished_tree(
            nodes, reals, self.tree.leaf_sums[:n_nodes], rules, self.learning_rate,
            self.root_counts,
        )  # fmt: skip

    def leaves(self):
        """(node, rows) of every leaf of the tree grown last."""
        nodes = self.tree.nodes
        for node in range(self.n_nodes):
            if nodes[node, NODE_LEFT] < 0:
                yield node, self.used[nodes[node, NODE_START] : nodes[node, NODE_STOP]]

    def add_values(self, tree: BoostedTree, raw: NDArray) -> None:
        """Add the tree grown last to the raw predictions of the rows that it was grown on."""
        add_leaf_values(
            self.n_nodes,
            self.tree.nodes,
            self.used,
            np.ascontiguousarray(tree.nodes["value"]),
            raw,
            n_threads=effective_n_threads(self.n_jobs, 4.0 * len(self.used)),
        )

    def _packing(self, rows: NDArray, gradients, hessians, statistics: NDArray) -> Packing:
        """Widths of the three fields, and the scales at which no sum of a tile can overflow.

        A tile's sum is at most its weight times the largest, and at most the sum of all; rounding
        adds half a unit per unit of weight. Widths and scales depend on weights as on rows: those
        of a row of weight 3 are those of three rows. Scales are powers of two, so that they do not
        change with the last bits of a sum.
        """
        weights, n_rows = self.data.weights, len(rows)
        mass, most_weight = float(n_rows), 1.0
        most_g, all_g = statistics[MOST_GRADIENT], statistics[ALL_GRADIENT]
        most_h, all_h = statistics[MOST_HESSIAN], statistics[ALL_HESSIAN]
        if len(weights):
            mass, most_weight = float(weights[rows].sum()), float(weights.max())
            all_g, all_h = weights @ np.abs(gradients), weights @ np.abs(hessians)
        room = int(min(mass, MOST_ROWS_PER_TILE))
        tile = min(n_rows, room if mass <= room else max(1, int(room // most_weight)))
        sizes = np.array([most_g, all_g, most_h, all_h])
        return packing_for(room, tile, sizes, self.constant_hessian)


def packing_for(room: int, tile: int, statistics: NDArray, constant_hessian: bool) -> Packing:
    """Fields for tiles of so many rows, whose weights sum to at most ``room``."""
    most_g, all_g = statistics[MOST_GRADIENT], statistics[ALL_GRADIENT]
    most_h, all_h = statistics[MOST_HESSIAN], statistics[ALL_HESSIAN]
    count_bits = max(tile, room).bit_length()
    hessian_bits = count_bits if constant_hessian else (64 - count_bits) // 2 - 3
    gradient_bits = 64 - count_bits - hessian_bits
    scale_g = _scale((1 << (gradient_bits - 1)) - 1 - room, min(room * most_g, all_g))
    scale_h = 1.0
    if not constant_hessian:
        scale_h = _scale((1 << hessian_bits) - 1 - room, min(room * most_h, all_h))
    return Packing(count_bits, hessian_bits, tile, scale_g, scale_h)


def finished_tree(
    nodes: NDArray, reals: NDArray, sums: NDArray, rules: BoostingRules, learning_rate: float,
    root_counts: bool,
) -> BoostedTree:  # fmt: skip
    """A grown tree as it is stored; ``sums`` are the exact ones of its leaves."""
    values = reals[:, NODE_VALUE].copy()
    leaves = nodes[:, NODE_LEFT] < 0
    g, h = sums[leaves].T
    pull = np.sign(g) * np.maximum(np.abs(g) - rules.l1, 0.0) if rules.l1 else g
    exact = -pull / (h + rules.l2 + 1e-15)
    values[leaves] = np.clip(exact, reals[leaves, NODE_LOWER], reals[leaves, NODE_UPPER])
    values *= learning_rate
    if len(nodes) == 1 and not root_counts:
        values[0] = 0.0  # no split is worth it: the tree changes nothing
    return BoostedTree.from_growth(nodes, reals[:, NODE_GAIN] + rules.min_gain, values)


def _scale(room: float, most: float) -> float:
    """The largest power of two that takes ``most`` to at most ``room``."""
    if not most > 0.0 or not np.isfinite(room / most):
        return 1.0
    return float(np.ldexp(1.0, int(np.floor(np.log2(room) - np.log2(most)))))


def counts_of(weights: NDArray | None) -> NDArray | None:
    """The weights, if they are whole numbers that tiles have room for; otherwise None."""
    if weights is None or not weights.size or not np.array_equal(weights, np.floor(weights)):
        return None
    largest, total = weights.max(), weights.sum()
    if largest > MOST_WEIGHT and total > MOST_ROWS_PER_TILE:
        return None
    return weights if 0.0 < total < MOST_ROWS else None
