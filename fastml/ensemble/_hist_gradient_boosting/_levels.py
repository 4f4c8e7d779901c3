"""A boosted tree from histograms that come level by level, the tree that would grow leaf by leaf.

Which leaf is split next depends on gains that are known only when a pass over the rows has counted
its children. So a pass splits every open node that would be taken if no child were better, and a
walk over what is known then finds the splits that growth by leaves makes, in their order.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.kernels.hist.grow import (
    NODE_FEATURE,
    NODE_FLOATS,
    NODE_GAIN,
    NODE_GRADIENT,
    NODE_LEFT,
    NODE_LOWER,
    NODE_REST,
    NODE_STOP,
    NODE_UPPER,
    NODE_WORDS,
    BinnedRows,
    GrowingTree,
    GrowthScratch,
)
from fastml.kernels.hist.histogram import COUNT_MASK, Packing
from fastml.kernels.hist.levels import (
    MADE_WORDS,
    PAIR_LARGE_SLOT,
    PAIR_SMALL,
    PAIR_SMALL_SLOT,
    PAIR_WORDS,
    LevelCounts,
    LevelSearch,
    add_counts,
    search_level,
    split_level,
)
from fastml.kernels.hist.split import (
    BEST_FIRST,
    DEPTH_FIRST,
    SPLIT_WORDS,
    BoostingRules,
)

ROOM = 1 << 28
"""Bytes of what one pass counts."""
FIRST_SPACE = 64
LIKELY = 0.75
"""Nodes that gain less than this share of the least gain in the tree before wait for a pass more:
most of them will not be split."""


class LevelWork(NamedTuple):
    """What a pass does for a tree: splits of nodes, then histograms of nodes."""

    made: NDArray  # (n_splits, MADE_WORDS)
    counted: NDArray  # (n_nodes,)
    slots: NDArray  # (n_nodes,) as in `LevelCounts`
    n_nodes: int  # numbers of nodes are below it

    def counts(self, n_features: int) -> LevelCounts:
        """Of no rows so far."""
        n, n_slots = len(self.counted), int(self.slots.max(initial=-1)) + 1
        return LevelCounts(
            self.counted, self.slots, np.zeros(n, np.intp),
            np.zeros((n, n_features, 256), np.int64),
            np.zeros((n_slots, n_features, 256, 2), np.int64),
        )  # fmt: skip


NOTHING = LevelWork(
    np.empty((0, MADE_WORDS), np.int64), np.empty(0, np.intp), np.empty(0, np.intp), 0
)


class TreeByLevels:
    """A tree that grows until there is no more ``work()``: after every pass for it, ``add`` what
    was counted, then ``learn``.

    ``usual`` is the least gain of a split in a tree like this one, 0 if none is known. It decides
    which splits are tried early, not which are made.
    """

    def __init__(
        self, data: BinnedRows, rules: BoostingRules, packing: Packing, n_rows: int,
        usual: float = 0.0,
    ):  # fmt: skip
        self.data, self.packing, self.n_rows = data, packing, n_rows
        self.bar = LIKELY * usual
        if rules.max_leaves == 0:  # all nodes will be split
            rules = rules._replace(order=DEPTH_FIRST, max_leaves=max(2, n_rows))
        self.rules = rules._replace(
            gradient_unit=1.0 / packing.gradient_scale, hessian_unit=1.0 / packing.hessian_scale
        )
        n_features = len(data.n_bins)
        self.tree = self._space(FIRST_SPACE)
        self.n_nodes = 1
        self.gain: dict[int, float] = {}  # of nodes that can be split, or are
        self.children: dict[int, tuple[int, int]] = {}  # (larger, smaller)
        self.left: dict[int, int] = {}
        self.slot: dict[int, int] = {}  # where the histograms of open nodes are
        self.free: list[int] = []
        self.pool = np.empty((0, n_features, 256, 2), np.int64)
        self.pending: list[NDArray] = []
        self.pairs = np.empty((0, PAIR_WORDS), np.intp)
        self.fresh = True
        self.begun = False
        self.most_at_once = max(1, ROOM // (n_features * 6144))
        self.scratch = GrowthScratch(
            sums=np.empty((0, 2), np.int64), lefts=np.empty(0, np.uint32),
            rights=np.empty(0, np.uint32), counts=np.empty(0, np.intp),
            places=np.empty(0, np.intp), table=np.empty(0, np.uint8),
            opened=np.empty(0, np.intp), free=np.empty(0, np.intp),
            pool=np.empty(n_features, np.intp), state=np.empty(1, np.uint64),
        )  # fmt: skip
        nodes, reals = self.tree.nodes, self.tree.reals
        nodes[0, NODE_LEFT] = nodes[0, NODE_FEATURE] = -1
        reals[0, NODE_LOWER], reals[0, NODE_UPPER] = -np.inf, np.inf
        self.tree.active[:1] = 1
        self.order: list[int] = []

    def _space(self, n: int) -> GrowingTree:
        n_groups = len(self.data.groups)
        return GrowingTree(
            np.zeros((n, NODE_WORDS), np.int64),
            np.zeros((n, NODE_FLOATS)),
            np.zeros((n if n_groups else 0, n_groups), np.uint8),
            np.zeros((n, 2)),
        )

    def _more_space(self, n: int) -> None:
        if n > len(self.tree.nodes):
            larger = self._space(max(n, 2 * len(self.tree.nodes)))
            for new, old in zip(larger, self.tree):
                new[: len(old)] = old
            self.tree = larger

    def _taken_slot(self) -> int:
        if not self.free:
            n = len(self.pool)
            larger = np.empty((max(8, 2 * n), *self.pool.shape[1:]), np.int64)
            larger[:n] = self.pool
            self.pool, self.free = larger, list(range(n, len(larger)))
        return self.free.pop()

    # ------------------------------------------------------------------------ a level

    def work(self) -> LevelWork | None:
        """What the next pass is to count; None: the tree is grown."""
        self.fresh = True
        if not self.begun:
            self.begun = True
            self.pairs = np.array([[0, -1, self._taken_slot(), -1]], np.intp)
            return NOTHING._replace(
                counted=np.zeros(1, np.intp), slots=np.zeros(1, np.intp), n_nodes=1
            )
        while True:
            self.order, chosen, last = self._walk()
            if not chosen:
                return None
            self._split(chosen[: self.most_at_once], last)
            if len(self.pairs):
                counted = np.ascontiguousarray(self.pairs[:, PAIR_SMALL])
                n_rows = self.tree.nodes[counted, NODE_REST] & COUNT_MASK
                slots = np.full(len(counted), -1, np.intp)
                many = np.flatnonzero(n_rows > self.packing.rows_per_tile)
                slots[many] = np.arange(len(many))
                return LevelWork(self.rest(), counted, slots, self.n_nodes)

    def rest(self) -> NDArray:
        """Splits that no pass has made yet."""
        made = self.pending
        self.pending = []
        if len(made) == 1:
            return made[0]
        return np.concatenate([NOTHING.made, *made])

    def _tasks(self) -> tuple[int, int]:
        """(shares of the features of a node, threads)."""
        searched = 8.0 * len(self.pairs) * float(self.data.n_bins.sum())
        n_threads = effective_n_threads(None, searched)
        n_features = len(self.data.n_bins)
        return (1 if len(self.pairs) >= 2 * n_threads else min(n_threads, n_features)), n_threads

    def add(self, counts: LevelCounts) -> None:
        """Rows that `work` asked for, counted; all others come by other calls."""
        n_tasks, n_threads = self._tasks()
        add_counts(
            self.fresh, counts, self.packing, self.data, self.pairs, self.pool, n_tasks,
            n_threads=n_threads,
        )  # fmt: skip
        self.fresh = False

    def learn(self) -> None:
        """All rows are counted: find the splits of the children."""
        if self.n_nodes == 1:
            own = self.pool[self.pairs[0, PAIR_SMALL_SLOT]]
            used = [*range(int(self.data.n_bins[0])), self.data.missing_bin]
            self.tree.nodes[0, NODE_GRADIENT : NODE_GRADIENT + 2] = own[0, used].sum(axis=0)
            self.tree.nodes[0, NODE_STOP] = self.tree.nodes[0, NODE_REST] & COUNT_MASK
        n, n_features = len(self.pairs), len(self.data.n_bins)
        search = LevelSearch(
            np.empty((n, 2), np.uint8), np.empty((n, 2), np.uint8),
            np.empty((n, 2, n_features), np.uint8), np.empty((n, 2, n_features)),
            np.empty((n, 2, n_features, SPLIT_WORDS), np.int64),
        )  # fmt: skip
        n_tasks, n_threads = self._tasks()
        search_level(
            self.data, self.rules, self.tree, self.pairs, self.pool, self.scratch, search, n_tasks,
            n_threads=n_threads,
        )  # fmt: skip
        for pair, worth in zip(self.pairs.tolist(), search.worth.tolist()):
            for which in range(2):
                node, slot = pair[which], pair[PAIR_SMALL_SLOT + which]
                if worth[which]:
                    self.gain[node] = float(self.tree.reals[node, NODE_GAIN])
                    self.slot[node] = slot
                elif slot >= 0:
                    self.free.append(slot)

    def _split(self, chosen: list[int], last: bool) -> None:
        """Make the children of nodes; ``last``: they will not be split."""
        n = len(chosen)
        self._more_space(self.n_nodes + 2 * n)
        made = np.empty((n, MADE_WORDS), np.int64)
        pairs = np.empty((n, PAIR_WORDS), np.intp)
        n_pairs = split_level(
            np.array(chosen, np.intp), self.n_nodes, last, self.tree, self.data, self.rules, made,
            pairs,
        )  # fmt: skip
        self.pending.append(made)
        self.pairs = pairs[:n_pairs]
        first = self.n_nodes
        sizes = (self.tree.nodes[first : first + 2 * n, NODE_REST] & COUNT_MASK).tolist()
        place = 0
        for i, node in enumerate(chosen):
            left = first + 2 * i
            right_is_small = sizes[2 * i] > sizes[2 * i + 1]
            large, small = (left, left + 1) if right_is_small else (left + 1, left)
            self.left[node], self.children[node] = left, (large, small)
            slot = self.slot.pop(node)
            if place < n_pairs and self.pairs[place, PAIR_SMALL] == small:
                self.pairs[place, PAIR_SMALL_SLOT] = self._taken_slot()
                self.pairs[place, PAIR_LARGE_SLOT] = slot
                place += 1
            else:
                self.free.append(slot)
        self.n_nodes += 2 * n

    def _walk(self) -> tuple[list[int], list[int], bool]:
        """(nodes in the order in which growth splits them as far as known, nodes to split next,
        whether their children stay leaves)."""
        gain, children = self.gain, self.children
        best_first, depth_first = self.rules.order == BEST_FIRST, self.rules.order == DEPTH_FIRST
        heap: list[tuple] = []
        order: list[int] = []
        chosen: list[int] = []
        if 0 in gain:
            heap.append((0.0, 0, 0))
        pushed, n_leaves, left_over = 1, 1, 0
        while heap and n_leaves < self.rules.max_leaves:
            node = heappop(heap)[2]
            if node not in children:
                if not chosen:
                    left_over = self.rules.max_leaves - n_leaves
                    chosen.append(node)
                elif not best_first or gain[node] >= self.bar:
                    chosen.append(node)
            else:
                if not chosen:
                    order.append(node)
                for child in children[node]:
                    if child in gain:
                        first = -gain[child] if best_first else 0.0
                        heappush(heap, (first, -pushed if depth_first else pushed, child))
                        pushed += 1
            n_leaves += 1
        return order, chosen, left_over == 1

    # ------------------------------------------------------------------------ the end

    @property
    def least_gain(self) -> float:
        """Of the splits that the tree has; 0 if it has none."""
        return min((self.gain[node] for node in self.order), default=0.0)

    def grown(self) -> tuple[NDArray, NDArray, NDArray]:
        """(numbers here of the tree's nodes, its nodes, their reals), nodes in the order in which
        growth by leaves makes them."""
        numbers, place = [0], {0: 0}
        lefts = {}
        for node in self.order:
            lefts[place[node]] = len(numbers)
            for child in (self.left[node], self.left[node] + 1):
                place[child] = len(numbers)
                numbers.append(child)
        ids = np.array(numbers, np.intp)
        nodes = self.tree.nodes[ids]
        nodes[:, NODE_LEFT] = -1
        for at, left in lefts.items():
            nodes[at, NODE_LEFT] = left
        return ids, nodes, self.tree.reals[ids]
