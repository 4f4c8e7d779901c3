"""Grow one exact tree: large nodes column by column in parallel, then subtrees side by side.

Which nodes are large depends on the number of threads, the tree does not: both ways run the same
functions on the same entries with the same seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.finish import finish
from fastml._engines.trees.tree import Tree
from fastml._threads import interruptible
from fastml._validation import kernel_view
from fastml.kernels.numeric.rng import child_seed
from fastml.kernels.tree.exact_split import GrowthRules, Search, SortedRows
from fastml.kernels.tree.finish import depth_first
from fastml.kernels.tree.grow import (
    PARTITION,
    SEARCH,
    SUBTREES,
    Grown,
    Subtrees,
    grow_best_first,
    grow_subtree,
    note_values,
    set_bounds,
    sort_columns,
    tree_tasks,
    write_leaf,
    write_split,
)
from fastml.kernels.tree.median_split import TargetLists
from fastml.kernels.tree.node_split import (
    EPSILON,
    OpenNode,
    choose,
    draw_columns,
    is_final,
    judge,
    mark_sides,
    node_statistics,
    target_lists,
)
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, ERROR, LEAF, NODE

MAX_CATEGORIES = 1024
"""Codes of a categorical column must be below this."""

ENTRIES_PER_CALL = 1 << 22
"""Rows times columns that one kernel call may grow a subtree from, so that Ctrl-C takes effect."""

WORTH_SHARING = 1 << 16
"""Rows times columns from which a tree is worth two threads."""


def presort(X, n_threads: int = 1) -> NDArray:
    """Entries (n_features, n) of the columns of a float32 array in order, for `grow`."""
    X = kernel_view(X, np.float32)
    orders = np.empty((X.shape[1], X.shape[0]), np.uint64)
    sort_columns(X, orders, n_threads=n_threads)
    return orders


def _filtered(orders, weights):
    """A copy of the orders for the grower to work in, without rows of weight zero."""
    if weights is None or np.all(weights != 0.0):
        return orders.copy()
    kept = weights != 0.0
    rows = (orders & np.uint64(0xFFFFFFFF)).astype(np.intp)
    return orders[kept[rows]].reshape(orders.shape[0], -1)


def target_orders(values) -> NDArray:
    """Entries of the targets in order, keyed by rank: what absolute error needs."""
    n_outputs, n = values.shape
    orders = np.empty((n_outputs, n), np.uint64)
    for o in range(n_outputs):
        ranks = np.unique(values[o], return_inverse=True)[1].astype(np.uint64)
        order = np.argsort(ranks, kind="stable")
        orders[o] = (ranks[order] << np.uint64(32)) | order.astype(np.uint64)
    return orders


def sorted_rows(
    orders: NDArray, n_features: int, weights=None, signs=None, n_categories=None, n_classes=1
) -> SortedRows:
    """What the growers take: a copy of the orders without rows of weight zero, and what else they
    must know of the columns and the weights."""
    work, n_all = _filtered(orders, weights), orders.shape[1]
    all_weights = np.ones(n_all) if weights is None else weights
    kept = np.arange(n_all) if work.shape[1] == n_all else np.flatnonzero(all_weights != 0.0)
    return SortedRows(
        work,
        kept.astype(np.int32),
        all_weights,
        np.zeros(n_features, np.int8) if signs is None else signs,
        np.zeros(n_features, np.intp) if n_categories is None else n_categories,
        np.empty(n_all, np.uint8),
        n_classes=n_classes,
        unit=weights is None or bool(np.all((weights == 1.0) | (weights == 0.0))),
        whole=float(all_weights.sum()),
        monotonic=signs is not None and bool(np.any(signs)),
    )


def grow(
    orders: NDArray,
    rules: GrowthRules,
    *,
    classes: NDArray | None = None,
    n_classes=None,
    values: NDArray | None = None,
    weights: NDArray | None = None,
    signs: NDArray | None = None,
    n_categories: NDArray | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> tuple[Tree, NDArray]:
    """Grow a tree on presorted columns.

    Parameters
    ----------
    orders : ndarray of shape (n_features, n), uint64
        From `presort`; not changed.
    rules : GrowthRules
        Rules of growth.
    classes : ndarray of shape (n_outputs, n), int32
        Class codes, for classification.
    n_classes : sequence of int
        Classes per output, for classification.
    values : ndarray of shape (n_outputs, n), float64
        Targets, for regression.
    weights : ndarray of shape (n,), float64, default=None
        Weights; rows of weight zero take no part.
    signs : ndarray of shape (n_features,), int8, default=None
        Monotonic constraints, -1, 0 or 1.
    n_categories : ndarray of shape (n_features,), intp, default=None
        Categories of a column, 0 for numbers.
    seed : int
        Of random choices and ties.
    n_threads : int
        Threads; the tree does not depend on it.

    Returns
    -------
    tree : Tree
    leaves : ndarray of shape (n,)
        Node index of every training row's leaf; -1 for rows of weight zero.
    """
    classify, medians = rules.criterion <= ERROR, rules.criterion == ABSOLUTE_ERROR
    targets = np.asarray(classes if classify else values)
    n_outputs, n_features = len(targets), len(orders)
    n_classes = np.asarray(n_classes if classify else [1] * n_outputs, np.intp)
    if medians:
        orders = np.vstack([orders, target_orders(targets)])
    data = sorted_rows(orders, n_features, weights, signs, n_categories, int(n_classes.max()))
    lists = None
    if medians:
        shape = n_outputs, data.orders.shape[1]
        places = np.empty(targets.shape, np.int32)
        lists = TargetLists(places, np.empty(shape), np.empty(shape))
    several = np.zeros(1, np.intp) if n_outputs > 1 and not medians else None
    target = (classes if classify else None, None if classify else values, lists, several)
    grower = _Grower(data, rules, target, n_outputs * data.n_classes, n_threads)
    if rules.max_leaves:
        grown = grower.best_first(np.uint64(seed))
    else:
        grown = grower.depth_first(np.uint64(seed))
    return finish(grown, data, target, rules.criterion, grower.keep_values, n_classes)


class _Grower:
    """The growth of one tree."""

    def __init__(
        self, data: SortedRows, rules: GrowthRules, target: tuple, n_columns: int, n_threads: int
    ):
        self.data, self.rules = data, rules
        self.target = target  # classes, values, lists, several: as the kernels take them
        self.n = data.orders.shape[1]
        self.n_columns = n_columns
        self.n_threads = n_threads
        self.keep_values = data.monotonic or rules.criterion == ABSOLUTE_ERROR
        most_categories = int(data.n_categories.max(initial=0))
        self.categorical = most_categories > 0
        self.n_words = 2 + (most_categories >> 5) if self.categorical else 1

    def _room(self, n_slots: int) -> Grown:
        """Where nodes are written to."""
        return Grown(
            np.empty(n_slots, NODE),
            np.empty(n_slots, np.int32),
            np.empty(n_slots),
            np.empty((n_slots if self.keep_values else 1, self.n_columns)),
            np.empty((self.n if self.categorical else 0, self.n_words), np.uint32),
        )

    def _search(self, lower: float, upper: float) -> Search:
        """What the search for one node's split works in."""
        n, n_features = self.n_columns, len(self.data.signs)
        return Search(
            np.array([lower, upper]), np.empty(n), np.zeros(n_features, np.intp),
            np.zeros((n_features, 5)), np.empty(n + 1), np.empty(n), np.empty(n),
        )  # fmt: skip

    def best_first(self, seed) -> Grown:
        n_slots = 2 * min(self.rules.max_leaves, self.n) + 1
        grown = self._room(n_slots)
        lefts, rights = np.full(n_slots, -1, np.intp), np.full(n_slots, -1, np.intp)
        arguments = seed, self.data, self.rules, *self.target, grown, lefts, rights
        if self.data.orders.size > ENTRIES_PER_CALL:
            count = interruptible(grow_best_first, *arguments)
        else:
            count = grow_best_first(*arguments)
        source = np.empty(count, np.intp)
        depth_first(lefts, rights, count, source)
        nodes = grown.nodes[source]
        inner = nodes["feature"] != LEAF
        nodes["right"][inner] = rights[:count][inner]
        return Grown(
            nodes,
            grown.ends[source],
            grown.impurities[source],
            grown.values[source] if self.keep_values else grown.values,
            grown.words,
        )

    def depth_first(self, seed) -> Grown:
        grown = self._room(2 * self.n)
        width = self.data.orders.shape[0]
        largest = max(2, ENTRIES_PER_CALL // width)
        if self.n_threads > 1 and self.n * width >= WORTH_SHARING:
            largest = min(largest, max(512, self.n // (8 * self.n_threads)))
        if self.n > largest:
            return self._shared(seed, grown, largest)
        whole = _subtrees([(0, self.n, 0, seed, -np.inf, np.inf)])
        grow_subtree(0, whole, self.data, self.rules, *self.target, grown)
        here = slice(0, int(whole.n_nodes[0]))
        values = grown.values[here] if self.keep_values else grown.values
        arrays = grown.nodes[here], grown.ends[here], grown.impurities[here]
        return Grown(*arrays, values, grown.words)

    def _shared(self, seed, grown: Grown, largest: int) -> Grown:
        """Large nodes here, the others as tasks; then everything in depth-first order."""
        top: list[list] = []  # index of a task, else its piece of Grown; index of the right child
        tasks: list[tuple] = []
        stack = [(0, self.n, 0, seed, -np.inf, np.inf, -1)]
        while stack:
            start, end, depth, own, lower, upper, parent = stack.pop()
            if parent >= 0:
                top[parent][2] = len(top)
            if end - start <= largest:
                top.append([len(tasks), None, -1])
                tasks.append((start, end, depth, own, lower, upper))
                continue
            large = self._large_node(start, end, depth, own, lower, upper, grown)
            piece, middle, left, right = large
            top.append([-1, piece, -1])
            if middle is not None:
                below = child_seed(own, False), child_seed(own, True)
                stack.append((middle, end, depth + 1, np.uint64(below[0]), *right, len(top) - 1))
                stack.append((start, middle, depth + 1, np.uint64(below[1]), *left, -1))
        counts = self._run(tasks, grown)
        return self._assemble(top, tasks, counts, grown)

    def _large_node(self, start, end, depth, seed, lower, upper, grown: Grown):
        """A node whose columns are searched in parallel: the node, where its rows are cut in two
        (None at a leaf), and the bounds of its children."""
        data, rules = self.data, self.rules
        classes, values, lists, _ = self.target
        piece = Grown(*(array[:1].copy() for array in grown[:4]), grown.words)
        search = self._search(lower, upper)
        total = search.total
        weight, impurity = node_statistics(start, end, data, rules, classes, values, lists, total)
        node = OpenNode(start, end, seed, weight)
        piece.impurities[0] = impurity
        note_values(0, total, weight, search.bounds, data, rules, lists, piece.values)
        write_leaf(0, start, end, piece)
        if is_final(end - start, depth, weight, impurity, rules):
            return piece, None, None, None
        n_found = draw_columns(node, data, rules.max_features, search.columns)
        if lists is not None:
            target_lists(start, end, data, values, lists)
        self._tasks(SEARCH, n_found, node, grown, _NO_SUBTREES, search)
        best = choose(n_found, search.columns, search.found, seed)
        if best < 0:
            return piece, None, None, None
        n_left = mark_sides(best, node, data, classes, values, search)
        write_split(0, best, node, start + n_left, n_left, data, search, piece)
        self._tasks(PARTITION, data.orders.shape[0] + 1, node, grown, _NO_SUBTREES, search)
        left, right = np.array([lower, upper]), np.array([lower, upper])
        if data.monotonic or rules.min_decrease > 0.0:
            gain, value = judge(
                node, start + n_left, impurity, data, rules, classes, values, lists, total
            )
            if gain + EPSILON < rules.min_decrease:
                write_leaf(0, start, end, piece)
                return piece, None, None, None
            set_bounds(data.signs[search.columns[best]], value, search.bounds, left, right)
        return piece, start + n_left, tuple(left), tuple(right)

    def _tasks(self, mode, n_tasks, node, grown, subtrees, search):
        tree_tasks(
            mode, n_tasks, node, self.data, self.rules, *self.target, grown, subtrees, search,
            n_threads=self.n_threads,
        )  # fmt: skip

    def _run(self, tasks, grown) -> list[int]:
        """Grow the subtrees, the largest first to the thread with the least; node counts."""
        counts = [0] * len(tasks)
        order = sorted(range(len(tasks)), key=lambda i: tasks[i][0] - tasks[i][1])
        width = self.data.orders.shape[0]
        nowhere = OpenNode(0, 0, np.uint64(0), 0.0)
        while order:
            batch, entries = [], 0
            while order and entries < 4 * ENTRIES_PER_CALL:
                i = order.pop(0)
                batch.append(i)
                entries += (tasks[i][1] - tasks[i][0]) * width
            subtrees = _subtrees([tasks[i] for i in batch])
            loads = [0] * self.n_threads
            for row, i in enumerate(batch):
                lot = loads.index(min(loads))
                loads[lot] += tasks[i][1] - tasks[i][0]
                subtrees.lots[row] = lot
            self._tasks(SUBTREES, self.n_threads, nowhere, grown, subtrees, self._search(0.0, 0.0))
            for row, i in enumerate(batch):
                counts[i] = int(subtrees.n_nodes[row])
        return counts

    def _assemble(self, top, tasks, counts, grown: Grown) -> Grown:
        sizes = [1 if piece is not None else counts[i] for i, piece, _ in top]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        nodes = np.empty(starts[-1], NODE)
        ends = np.empty(starts[-1], np.int32)
        impurities = np.empty(starts[-1])
        values = np.empty((starts[-1] if self.keep_values else 1, self.n_columns))
        for (i, piece, right), at, size in zip(top, starts, sizes):
            source, here = (piece, slice(0, 1)) if piece is not None else (grown, None)
            if here is None:
                first = 2 * tasks[i][0]
                here = slice(first, first + size)
            into = slice(at, at + size)
            nodes[into], ends[into] = source.nodes[here], source.ends[here]
            impurities[into] = source.impurities[here]
            if self.keep_values:
                values[into] = source.values[here]
            if piece is None:
                inner = nodes["feature"][into] != LEAF
                nodes["right"][into][inner] += at
            elif right >= 0:
                nodes["right"][at] = starts[right]
        return Grown(nodes, ends, impurities, values, grown.words)


def _subtrees(tasks) -> Subtrees:
    """Subtrees to grow, each given as start, end, depth, seed and the bounds of its values."""
    k = len(tasks)
    starts, ends, depths = (np.array([task[i] for task in tasks], np.intp) for i in range(3))
    seeds = np.array([task[3] for task in tasks], np.uint64)
    bounds = np.array([task[4:] for task in tasks], np.float64).reshape(k, 2)
    return Subtrees(starts, ends, depths, seeds, bounds, np.zeros(k, np.intp), np.zeros(k, np.intp))


_NO_SUBTREES = _subtrees([])
