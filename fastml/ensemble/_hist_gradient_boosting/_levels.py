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
    NODE_SPLIT,
    NODE_START,
    NODE_STOP,
    NODE_UPPER,
    NODE_WORDS,
    BinnedRows,
    GrowingTree,
    GrowthScratch,
    make_children,
    may_split,
)
from fastml.kernels.hist.histogram import COUNT_MASK, subtract
from fastml.kernels.hist.levels import (
    MADE_FEATURE,
    MADE_LEFT,
    MADE_NODE,
    MADE_SPLIT,
    MADE_WORDS,
    search_node,
)
from fastml.kernels.hist.split import (
    BEST_FIRST,
    DEPTH_FIRST,
    SPLIT_REST,
    SPLIT_WORDS,
    BoostingRules,
)

ROOM = 1 << 28
"""Bytes of the histograms of one pass."""
FIRST_SPACE = 64


class LevelWork(NamedTuple):
    """What a pass does for a tree: splits of nodes, then histograms of nodes."""

    made: NDArray  # (n_splits, MADE_WORDS)
    counted: NDArray  # (n_nodes,)
    n_nodes: int  # numbers of nodes are below it


class TreeByLevels:
    """A tree that grows by ``work()`` and ``learn(histograms)`` until there is no more work."""

    def __init__(self, data: BinnedRows, rules: BoostingRules, n_rows: int):
        self.data, self.n_rows = data, n_rows
        if rules.max_leaves == 0:  # all nodes will be split
            rules = rules._replace(order=DEPTH_FIRST, max_leaves=max(2, n_rows))
        self.rules = rules
        n_features = len(data.n_bins)
        self.tree = self._space(FIRST_SPACE)
        self.n_nodes = 1
        self.open: set[int] = set()
        self.left: dict[int, int] = {}
        self.histograms: dict[int, NDArray] = {}
        self.pending: list[NDArray] = []
        self.sent: list[tuple[int, int]] | None = None
        self.most_at_once = max(1, ROOM // (n_features * 4096))
        self.scratch = GrowthScratch(
            sums=np.empty((0, 2), np.int64), lefts=np.empty(0, np.uint32),
            rights=np.empty(0, np.uint32), counts=np.empty(0, np.intp),
            places=np.empty(0, np.intp), table=np.empty(0, np.uint8),
            opened=np.empty(0, np.intp), free=np.empty(0, np.intp),
            pool=np.empty(n_features, np.intp), state=np.empty(1, np.uint64),
        )  # fmt: skip
        self.found = (
            np.empty(n_features, np.uint8),
            np.empty(n_features),
            np.empty((n_features, SPLIT_WORDS), np.int64),
        )
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

    def _more_space(self) -> None:
        larger = self._space(2 * len(self.tree.nodes))
        for new, old in zip(larger, self.tree):
            new[: len(old)] = old
        self.tree = larger

    # ------------------------------------------------------------------------ a level

    def work(self) -> LevelWork | None:
        """What the next pass is to count; None: the tree is grown."""
        if self.sent is None:
            self.sent = []
            return LevelWork(np.empty((0, MADE_WORDS), np.int64), np.zeros(1, np.intp), 1)
        while True:
            self.order, chosen, last = self._walk()
            if not chosen:
                return None
            self.sent = []
            for node in chosen[: self.most_at_once]:
                self._split(node, last)
            if self.sent:
                counted = np.array([small for small, _ in self.sent], np.intp)
                return LevelWork(self.rest(), counted, self.n_nodes)

    def rest(self) -> NDArray:
        """Splits that no pass has made yet."""
        made = np.array(self.pending, np.int64).reshape(-1, MADE_WORDS)
        self.pending = []
        return made

    def learn(self, histograms: NDArray) -> None:
        """The histograms that `work` asked for."""
        if self.n_nodes == 1:
            own = histograms[0]
            used = [*range(int(self.data.n_bins[0])), self.data.missing_bin]
            self.tree.nodes[0, NODE_GRADIENT : NODE_GRADIENT + 2] = own[0, used].sum(axis=0)
            self.tree.nodes[0, NODE_STOP] = self.tree.nodes[0, NODE_REST] & COUNT_MASK
            self._search(0, own)
            return
        assert self.sent is not None
        for (small, large), own in zip(self.sent, histograms):
            parent = self.histograms.pop(large)
            n_features = len(self.data.n_bins)
            subtract(parent, own, self.data.n_bins, self.data.missing_bin, 0, n_features)
            self._search(small, own)
            self._search(large, parent)

    def _search(self, node: int, histogram: NDArray) -> None:
        if not may_split(node, self.tree.nodes, self.rules):
            return
        n_features = len(self.data.n_bins)
        n_threads = effective_n_threads(None, 8.0 * float(self.data.n_bins.sum()))
        if search_node(
            node, self.data, self.rules, self.tree, histogram, self.scratch, *self.found,
            max(1, min(n_threads, n_features)), n_threads=n_threads,
        ):  # fmt: skip
            self.open.add(node)
            self.histograms[node] = histogram

    def _split(self, node: int, last: bool) -> None:
        """Make both children; ``last``: they will not be split."""
        if self.n_nodes + 2 > len(self.tree.nodes):
            self._more_space()
        nodes, left = self.tree.nodes, self.n_nodes
        self.n_nodes += 2
        n_left = int(nodes[node, NODE_SPLIT + SPLIT_REST] & COUNT_MASK)
        count = int(nodes[node, NODE_STOP] - nodes[node, NODE_START])
        make_children(node, left, n_left, self.tree, self.data, self.rules)
        self.left[node] = left
        self.open.discard(node)
        made = np.empty(MADE_WORDS, np.int64)
        made[MADE_NODE], made[MADE_LEFT] = node, left
        made[MADE_FEATURE] = nodes[node, NODE_FEATURE]
        made[MADE_SPLIT:] = nodes[node, NODE_SPLIT:]
        self.pending.append(made)
        histogram = self.histograms.pop(node)
        if last or not any(may_split(child, nodes, self.rules) for child in (left, left + 1)):
            return
        small, large = (left + 1, left) if 2 * n_left > count else (left, left + 1)
        self.histograms[large] = histogram
        assert self.sent is not None
        self.sent.append((small, large))

    def _walk(self) -> tuple[list[int], list[int], bool]:
        """(nodes in the order in which growth splits them as far as known, nodes to split next,
        whether their children stay leaves)."""
        heap: list[tuple] = []
        order: list[int] = []
        chosen: list[int] = []
        pushed, n_leaves = 0, 1

        def push(node):
            nonlocal pushed
            if node in self.open or node in self.left:
                first = -float(self.tree.reals[node, NODE_GAIN])
                if self.rules.order != BEST_FIRST:
                    first = 0.0
                turn = -pushed if self.rules.order == DEPTH_FIRST else pushed
                heappush(heap, (first, turn, node))
                pushed += 1

        push(0)
        left_over = 0
        while heap and n_leaves < self.rules.max_leaves:
            node = heappop(heap)[2]
            if node not in self.left:
                if not chosen:
                    left_over = self.rules.max_leaves - n_leaves
                chosen.append(node)
            else:
                if not chosen:
                    order.append(node)
                left = self.left[node]
                n_left = int(self.tree.nodes[left, NODE_REST] & COUNT_MASK)
                count = int(self.tree.nodes[node, NODE_REST] & COUNT_MASK)
                small, large = (left + 1, left) if 2 * n_left > count else (left, left + 1)
                push(large)
                push(small)
            n_leaves += 1
        return order, chosen, left_over == 1

    # ------------------------------------------------------------------------ the end

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
