"""Growing trees on binned rows: buffers that live for a whole fit, and one call per tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.ensemble._boosting_trees import Tree
from fastml.kernels import hist_split
from fastml.kernels.boost_grow import (
    BEST_FIRST,
    DEPTH_FIRST,
    GAIN,
    LEFT,
    LEVEL_FIRST,
    LOWER,
    N_LIMITS,
    NODE_FLOATS,
    NODE_WORDS,
    PARTITION_ROWS,
    START,
    STOP,
    UPPER,
    VALUE,
    add_leaf_values,
    grow_tree,
)
from fastml.kernels.boost_loss import ALL_GRADIENT, ALL_HESSIAN, MOST_GRADIENT, MOST_HESSIAN

ROWS_PER_TILE = 1 << 15
MOST_ROWS = 1 << 28


class Rules(NamedTuple):
    """What a split must obey."""

    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    l2: float = 0.0
    l1: float = 0.0
    gamma: float = 0.0
    max_features: float = 1.0
    level_first: bool = False


class Grower:
    """Trees on one matrix of bins."""

    def __init__(
        self, bins, mapper, rules: Rules, *, trends=None, groups=None, constant_hessian, n_jobs
    ):
        n_rows, n_features = bins.shape
        if n_rows >= MOST_ROWS:
            raise ValueError(f"at most {MOST_ROWS - 1:,} rows can be boosted, got {n_rows:,}")
        self.bins, self.rules, self.n_jobs = bins, rules, n_jobs
        self.columns = np.ascontiguousarray(bins.T)
        self.n_bins = mapper.n_bins_non_missing_.astype(np.intp)
        self.missing_bin = int(mapper.missing_values_bin_idx_)
        self.categorical = mapper.is_categorical_
        self.trends = np.zeros(n_features, np.int8) if trends is None else trends
        self.groups = np.zeros((0, n_features), np.uint8) if groups is None else groups
        self.constant_hessian = constant_hessian
        self.rows = np.arange(n_rows, dtype=np.uint32)
        self.lefts, self.rights = np.empty((2, n_rows), dtype=np.uint32)
        self.packed = np.empty(n_rows, dtype=np.int64)
        most_leaves = max(1, n_rows // max(1, rules.min_samples_leaf))
        self.order = LEVEL_FIRST if rules.level_first else BEST_FIRST
        n_slots = 2 + int(np.log2(max(n_rows, 1)))
        if rules.max_leaf_nodes is None:
            self.order = DEPTH_FIRST  # all will be split: then the fewest histograms at a time
        else:
            most_leaves = min(most_leaves, rules.max_leaf_nodes)
            n_slots = most_leaves + 1
        if rules.max_depth is not None and rules.max_depth < 30:
            most_leaves = min(most_leaves, 1 << rules.max_depth)
            n_slots = min(n_slots, most_leaves + 1)
        self.most_leaves = most_leaves
        most_nodes = 2 * most_leaves + 1
        self.histograms = np.empty((n_slots, n_features, 256, 2), dtype=np.int64)
        # Sums of integers: the shares of the features change nothing. Every share reads all rows,
        # which costs more than a tile beyond the nearest cache: as few of them as threads.
        self.n_threads = effective_n_threads(n_jobs, 1.0 * bins.size)
        n_tasks = max(1, min(self.n_threads, n_features // 2))
        self.tiles = np.zeros((n_tasks, -(-n_features // n_tasks) + 1, 256), dtype=np.int64)
        self.nodes = np.zeros((most_nodes, NODE_WORDS), dtype=np.int64)
        self.reals = np.zeros((most_nodes, NODE_FLOATS))
        self.active = np.zeros((most_nodes if len(self.groups) else 0, len(self.groups)), np.uint8)
        self.opened = np.empty(most_leaves + 1, dtype=np.intp)
        self.free = np.empty(n_slots, dtype=np.intp)
        self.leaf_sums = np.empty((most_nodes, 2))
        n_chunks = -(-n_rows // PARTITION_ROWS)
        categories: tuple = None, None  # orders, keys
        if self.categorical.any():
            categories = np.empty((n_tasks, 257), dtype=np.intp), np.empty((n_tasks, 257))
        self.scratch = (
            np.empty((n_chunks, 2), dtype=np.int64),  # sums
            np.empty((2, n_features), dtype=np.uint8),  # allowed
            np.empty(2, dtype=np.uint8),  # wanted
            np.empty((2, n_features)),  # gains
            np.empty((2, n_features, hist_split.SPLIT_WORDS), dtype=np.int64),  # splits
            *categories,
            np.empty(n_features, dtype=np.intp),  # pool
            np.empty(1, dtype=np.uint64),  # state
            np.empty(256, dtype=np.uint8),  # table
            np.empty(n_chunks, dtype=np.intp),  # counts
            np.empty(n_chunks, dtype=np.intp),  # places
        )

    def grow(self, gradients, hessians, statistics, seed: int, rows: NDArray | None = None) -> Tree:
        """A tree on ``rows`` (None: all of them); its values already bear the learning rate."""
        if rows is None:
            rows = self.rows
            rows[:] = np.arange(len(rows), dtype=np.uint32)
        self.used = rows
        packing, scales = self._packing(len(rows), statistics)
        rules = self.rules
        settings = np.zeros(hist_split.N_RULES)
        settings[hist_split.L2], settings[hist_split.L1] = rules.l2, rules.l1
        settings[hist_split.MIN_ROWS] = rules.min_samples_leaf
        settings[hist_split.MIN_HESSIAN] = rules.min_hessian
        settings[hist_split.GRADIENT_UNIT] = 1.0 / scales[0]
        settings[hist_split.HESSIAN_UNIT] = 1.0 / scales[1]
        settings[hist_split.MIN_GAIN] = 2.0 * rules.gamma
        limits = np.empty(N_LIMITS, dtype=np.int64)
        depth = -1 if rules.max_depth is None else rules.max_depth
        per_mille = int(np.ceil(1000 * rules.max_features - 1e-9))
        limits[:] = self.most_leaves, depth, self.order, per_mille, seed
        n_nodes = grow_tree(
            self.bins, self.columns, rows, self.lefts, self.rights, gradients, hessians, scales,
            packing, self.packed, self.n_bins, self.missing_bin, self.categorical, self.trends,
            self.groups, self.active, settings, limits, self.nodes, self.reals, self.histograms,
            self.tiles, self.opened, self.free, self.leaf_sums, *self.scratch,
            n_threads=self.n_threads,
        )  # fmt: skip
        self.n_nodes = n_nodes
        nodes, reals = self.nodes[:n_nodes], self.reals[:n_nodes]
        values = reals[:, VALUE].copy()
        leaves = nodes[:, LEFT] < 0
        g, h = self.leaf_sums[:n_nodes][leaves].T
        pull = np.sign(g) * np.maximum(np.abs(g) - rules.l1, 0.0) if rules.l1 else g
        exact = -pull / (h + rules.l2 + 1e-15)
        values[leaves] = np.clip(exact, reals[leaves, LOWER], reals[leaves, UPPER])
        values *= rules.learning_rate
        if n_nodes == 1:
            values[0] = 0.0  # no split is worth it, so the tree shall not speak
        return Tree.from_growth(nodes, reals[:, GAIN] + 2.0 * rules.gamma, values)

    def leaves(self):
        """(node, rows) of every leaf of the tree grown last."""
        for node in range(self.n_nodes):
            if self.nodes[node, LEFT] < 0:
                yield node, self.used[self.nodes[node, START] : self.nodes[node, STOP]]

    def add_values(self, tree: Tree, raw: NDArray) -> None:
        """Add the tree grown last to the raw predictions of the rows that it was grown on."""
        add_leaf_values(
            self.n_nodes,
            self.nodes,
            self.used,
            np.ascontiguousarray(tree.nodes["value"]),
            raw,
            n_threads=effective_n_threads(self.n_jobs, 4.0 * len(self.used)),
        )

    def _packing(self, n_rows: int, statistics: NDArray) -> tuple[NDArray, NDArray]:
        """Widths of the three fields, and the scales at which no sum of a tile can overflow.

        A tile's sum is at most the number of its rows times the largest, and at most the sum of
        all; rounding adds half a unit per row.
        """
        tile = min(n_rows, ROWS_PER_TILE)
        count_bits = tile.bit_length()
        hessian_bits = count_bits if self.constant_hessian else (64 - count_bits) // 2 - 3
        gradient_bits = 64 - count_bits - hessian_bits
        most_g = min(tile * statistics[MOST_GRADIENT], statistics[ALL_GRADIENT])
        most_h = min(tile * statistics[MOST_HESSIAN], statistics[ALL_HESSIAN])
        room_g = float((1 << (gradient_bits - 1)) - 1 - tile)
        room_h = float((1 << hessian_bits) - 1 - tile)
        scale_g = room_g / most_g if most_g > 0 and np.isfinite(room_g / most_g) else 1.0
        scale_h = room_h / most_h if most_h > 0 and np.isfinite(room_h / most_h) else 1.0
        if self.constant_hessian:
            scale_h = 1.0
        packing = np.array([count_bits, hessian_bits, tile], dtype=np.int64)
        return packing, np.array([scale_g, scale_h])
