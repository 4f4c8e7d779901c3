"""Grow one exact tree: large nodes column by column in parallel, then subtrees side by side.

Which nodes are large depends on the number of threads, the tree does not: both ways run the same
functions on the same entries with the same seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.node_split import (
    EPSILON,
    Rows,
    Rules,
    choose,
    draw_columns,
    is_final,
    judge,
    mark_sides,
    node_statistics,
    target_lists,
)
from fastml.kernels.rng import child_seed
from fastml.kernels.tree_finish import depth_first, leaf_statistics
from fastml.kernels.tree_grow import (
    PARTITION,
    SEARCH,
    SUBTREES,
    Grown,
    grow_best_first,
    grow_subtree,
    note_values,
    set_bounds,
    sort_columns,
    tree_tasks,
    write_leaf,
    write_split,
)
from fastml.kernels.tree_nodes import ABSOLUTE_ERROR, CATEGORIES, ERROR, LEAF, NODE
from fastml.tree._packed import NO_BITSETS
from fastml.tree._tree import Tree, smallest

MAX_CATEGORIES = 1024
"""Codes of a categorical column must be below this."""

ENTRIES_PER_CALL = 1 << 22
"""Rows times columns that one kernel call may grow a subtree from: keeps Ctrl-C alive."""

WORTH_SHARING = 1 << 16
"""Rows times columns from which a tree is worth two threads."""


@dataclass(frozen=True)
class Options:
    """Rules of growth, in scikit-learn's units made absolute."""

    criterion: int
    random: bool = False
    max_depth: int = 2**31 - 1
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0
    min_decrease: float = 0.0
    max_features: int | None = None
    max_leaves: int | None = None
    signs: NDArray | None = None
    n_categories: NDArray | None = None


def presort(X, n_threads: int = 1) -> NDArray:
    """Entries (n_features, n) of the columns of a float32 array in order, for `grow`."""
    X = kernel_view(X, np.float32)
    orders = np.empty((X.shape[1], X.shape[0]), np.uint64)
    sort_columns(X, orders, n_threads=n_threads)
    return orders


def _rules(options: Options | None = None, **more) -> Rules:
    o = options or Options(0)
    values = {
        "max_features": 1,
        "monotonic": False,
        "unit": True,
        "keep_values": False,
        "n_classes": 1,
        "whole": 1.0,
        **more,
    }
    return Rules(
        criterion=int(o.criterion),
        random=bool(o.random),
        max_depth=int(o.max_depth),
        min_split=int(o.min_split),
        min_leaf=int(o.min_leaf),
        min_weight=float(o.min_weight),
        min_decrease=float(o.min_decrease),
        **values,
    )


def _grown(n_slots: int, n_columns: int, keep_values: bool, n_words: int, n_sets: int = 0) -> Grown:
    return Grown(
        np.empty(n_slots, NODE),
        np.empty(n_slots, np.int32),
        np.empty(n_slots),
        np.empty((n_slots if keep_values else 1, n_columns)),
        np.empty((n_sets, n_words), np.uint32),
    )


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


def grow(
    orders: NDArray,
    options: Options,
    *,
    classes: NDArray | None = None,
    n_classes=None,
    values: NDArray | None = None,
    weights: NDArray | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> tuple[Tree, NDArray]:
    """Grow a tree on presorted columns.

    Parameters
    ----------
    orders : ndarray of shape (n_features, n), uint64
        From `presort`; not changed.
    options : Options
        Rules of growth.
    classes : ndarray of shape (n_outputs, n), int32
        Class codes, for classification.
    n_classes : sequence of int
        Classes per output, for classification.
    values : ndarray of shape (n_outputs, n), float64
        Targets, for regression.
    weights : ndarray of shape (n,), float64, default=None
        Weights; rows of weight zero take no part.
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
    classify = options.criterion <= ERROR
    n_features, n_all = orders.shape
    targets = np.asarray(classes if classify else values)
    n_outputs = targets.shape[0]
    n_classes = np.asarray(n_classes if classify else [1] * n_outputs, np.intp)
    most = int(n_classes.max())
    n_columns = most * n_outputs
    work = orders
    if options.criterion == ABSOLUTE_ERROR:
        work = np.vstack([orders, target_orders(targets)])
    work = _filtered(work, weights)
    n = work.shape[1]
    monotonic = options.signs is not None and bool(np.any(options.signs))
    keep = monotonic or options.criterion == ABSOLUTE_ERROR
    most_categories = 0 if options.n_categories is None else int(np.max(options.n_categories))
    categorical = most_categories > 0
    n_words = 2 + (most_categories >> 5) if categorical else 1
    all_weights = np.ones(n_all) if weights is None else weights
    unit = weights is None or bool(np.all((weights == 1.0) | (weights == 0.0)))
    rules = _rules(
        options,
        max_features=int(options.max_features or n_features),
        monotonic=monotonic,
        unit=unit,
        keep_values=keep,
        n_classes=most,
        whole=float(all_weights.sum()),
    )
    kept_rows = np.arange(n_all) if n == n_all else np.flatnonzero(all_weights != 0.0)
    data = Rows(
        work,
        kept_rows.astype(np.int32),
        all_weights,
        np.zeros(n_features, np.int8) if options.signs is None else options.signs,
        np.zeros(n_features, np.intp) if options.n_categories is None else options.n_categories,
        np.empty(n_all, np.uint8),
    )
    medians = options.criterion == ABSOLUTE_ERROR
    target = (
        classes if classify else None,
        None if classify else values,
        np.empty((n_outputs, n_all), np.int32) if medians else None,
        np.zeros(1, np.intp) if n_outputs > 1 and not medians else None,
    )
    grower = _Grower(data, rules, target, n_columns, n_threads)
    root_seed = np.uint64(seed)
    if options.max_leaves is not None:
        grown = grower.best_first(root_seed, options.max_leaves, n_words if categorical else 1)
    else:
        grown = grower.depth_first(root_seed, n_words if categorical else 1, categorical)
    return _finish(grown, data, rules, target, n_classes, n_all)


class _Grower:
    """The growth of one tree."""

    def __init__(self, data: Rows, rules: Rules, target: tuple, n_columns: int, n_threads: int):
        self.data, self.rules = data, rules
        self.target = target  # classes, values, places, several: as the kernels take them
        self.n = data.orders.shape[1]
        self.n_columns = n_columns
        self.n_threads = n_threads

    def best_first(self, seed, max_leaves: int, n_words: int) -> Grown:
        max_leaves = min(max_leaves, self.n)
        n_slots = 2 * max_leaves + 1
        grown = _grown(n_slots, self.n_columns, self.rules.keep_values, n_words, self.n)
        lefts, rights = np.full(n_slots, -1, np.intp), np.full(n_slots, -1, np.intp)
        count = grow_best_first(
            self.n, seed, max_leaves, self.n_columns, self.data, self.rules, *self.target, grown,
            lefts, rights,
        )  # fmt: skip
        source = np.empty(count, np.intp)
        depth_first(lefts, rights, count, source)
        nodes = grown.nodes[source]
        inner = nodes["feature"] != LEAF
        nodes["right"][inner] = rights[:count][inner]
        return Grown(
            nodes,
            grown.ends[source],
            grown.impurities[source],
            grown.values[source] if self.rules.keep_values else grown.values,
            grown.words,
        )

    def depth_first(self, seed, n_words: int, categorical: bool) -> Grown:
        n_sets = self.n if categorical else 0
        grown = _grown(2 * self.n, self.n_columns, self.rules.keep_values, n_words, n_sets)
        width = self.data.orders.shape[0]
        largest = max(2, ENTRIES_PER_CALL // width)
        if self.n_threads > 1 and self.n * width >= WORTH_SHARING:
            largest = min(largest, max(512, self.n // (8 * self.n_threads)))
        if self.n <= largest:
            count = grow_subtree(
                0, self.n, 0, seed, -np.inf, np.inf, self.n_columns, self.data, self.rules,
                *self.target, grown,
            )  # fmt: skip
            return _cut(grown, [(0, count)], self.rules.keep_values)
        return self._shared(seed, grown, largest)

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
        data, rules = self.data, self.rules
        classes, values, places, _ = self.target
        piece = Grown(*(array[:1].copy() for array in grown[:4]), grown.words)
        total = np.empty(self.n_columns)
        bounds = np.array([[lower, upper], [0.0, 0.0]])
        weight, impurity = node_statistics(start, end, data, rules, classes, values, places, total)
        piece.impurities[0] = impurity
        note_values(0, total, weight, bounds[0], rules, places is not None, piece.values)
        write_leaf(0, start, end, piece)
        if is_final(end - start, depth, weight, impurity, rules):
            return piece, None, None, None
        n_features = data.signs.shape[0]
        columns, found = np.zeros(n_features, np.intp), np.zeros((n_features, 5))
        orders = data.orders
        n_found = draw_columns(start, end, orders, n_features, rules.max_features, seed, columns)
        n_lists = 0 if places is None else len(places)
        ys, ws = np.empty((n_lists, end - start)), np.empty((n_lists, end - start))
        if places is not None:
            target_lists(start, end, orders, n_features, values, data.weights, places, ys, ws)
        where, seeds = np.array([[start, end, 0, 0, 0]], np.intp), np.array([seed], np.uint64)
        bounds[1, 0] = weight
        state = (where, seeds, bounds, total, columns, found, ys, ws)
        self._tasks(SEARCH, n_found, grown, state)
        best = choose(n_found, columns, found, seed)
        if best < 0:
            return piece, None, None, None
        f = columns[best]
        entries, categorical = orders[f, start:end], bool(data.n_categories[f] > 0)
        n_left = mark_sides(
            entries, categorical, found[best], rules.n_classes, data.weights, classes, values,
            data.sides,
        )  # fmt: skip
        free = start + n_left if categorical else -1
        write_split(0, f, entries, free, found[best], n_left, data.sides, piece)
        self._tasks(PARTITION, orders.shape[0] + 1, grown, state)
        left, right = np.array([lower, upper]), np.array([lower, upper])
        if rules.monotonic or rules.min_decrease > 0.0:
            gain, value = judge(
                start, start + n_left, end, weight, impurity, data, rules, classes, values, places,
                total,
            )  # fmt: skip
            if gain + EPSILON < rules.min_decrease:
                write_leaf(0, start, end, piece)
                return piece, None, None, None
            set_bounds(data.signs[f], value, bounds[0], left, right)
        return piece, start + n_left, tuple(left), tuple(right)

    def _tasks(self, mode, n_tasks, grown, state):
        tree_tasks(
            mode, n_tasks, self.data, self.rules, *self.target, grown, *state,
            n_threads=self.n_threads,
        )  # fmt: skip

    def _run(self, tasks, grown) -> list[int]:
        """Grow the subtrees, the largest first to the thread with the least; node counts."""
        counts = [0] * len(tasks)
        order = sorted(range(len(tasks)), key=lambda i: tasks[i][0] - tasks[i][1])
        width = self.data.orders.shape[0]
        while order:
            batch, entries = [], 0
            while order and entries < 4 * ENTRIES_PER_CALL:
                i = order.pop(0)
                batch.append(i)
                entries += (tasks[i][1] - tasks[i][0]) * width
            loads = [0] * self.n_threads
            where = np.zeros((len(batch), 5), np.intp)
            seeds = np.zeros(len(batch), np.uint64)
            bounds = np.zeros((len(batch), 2))
            for row, i in enumerate(batch):
                start, end, depth, seed, lower, upper = tasks[i]
                lot = loads.index(min(loads))
                loads[lot] += end - start
                where[row], seeds[row] = (start, end, depth, 0, lot), seed
                bounds[row] = lower, upper
            state = (
                where, seeds, bounds, np.zeros(self.n_columns), np.zeros(1, np.intp),
                np.zeros((1, 5)), np.zeros((0, 0)), np.zeros((0, 0)),
            )  # fmt: skip
            self._tasks(SUBTREES, self.n_threads, grown, state)
            for row, i in enumerate(batch):
                counts[i] = int(where[row, 3])
        return counts

    def _assemble(self, top, tasks, counts, grown: Grown) -> Grown:
        sizes = [1 if piece is not None else counts[i] for i, piece, _ in top]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        nodes = np.empty(starts[-1], NODE)
        ends = np.empty(starts[-1], np.int32)
        impurities = np.empty(starts[-1])
        values = np.empty((starts[-1] if self.rules.keep_values else 1, self.n_columns))
        for (i, piece, right), at, size in zip(top, starts, sizes):
            source, here = (piece, slice(0, 1)) if piece is not None else (grown, None)
            if here is None:
                first = 2 * tasks[i][0]
                here = slice(first, first + size)
            into = slice(at, at + size)
            nodes[into], ends[into] = source.nodes[here], source.ends[here]
            impurities[into] = source.impurities[here]
            if self.rules.keep_values:
                values[into] = source.values[here]
            if piece is None:
                inner = nodes["feature"][into] != LEAF
                nodes["right"][into][inner] += at
            elif right >= 0:
                nodes["right"][at] = starts[right]
        return Grown(nodes, ends, impurities, values, grown.words)


def _cut(grown: Grown, ranges, keep_values: bool) -> Grown:
    (start, count) = ranges[0]
    here = slice(start, start + count)
    values = grown.values[here] if keep_values else grown.values
    return Grown(grown.nodes[here], grown.ends[here], grown.impurities[here], values, grown.words)


def _finish(
    grown: Grown, data: Rows, rules: Rules, target: tuple, n_classes, n_all: int
) -> tuple[Tree, NDArray]:
    """Values of the leaves, sets of categories, and the leaf of every row."""
    nodes, ends = grown.nodes.copy(), grown.ends
    is_leaf = nodes["feature"] == LEAF
    n_leaves = int(is_leaf.sum())
    classify = rules.criterion <= ERROR
    n_columns = len(n_classes) * rules.n_classes
    samples, weights = np.empty(n_leaves, np.int32), np.empty(n_leaves)
    values = np.empty((n_leaves, n_columns))
    leaf_statistics(
        nodes, ends, data.rows, target[0], target[1], data.weights, rules.n_classes,
        (samples, weights, values),
    )  # fmt: skip
    if rules.keep_values:
        values = np.ascontiguousarray(grown.values[is_leaf])
    where = np.flatnonzero(is_leaf)
    leaves = np.full(n_all, -1, np.intp)
    by_start = np.argsort(nodes["right"][where])
    leaves[data.rows] = np.repeat(where[by_start], samples[by_start])
    table = np.zeros((0, n_columns))
    if classify and len(n_classes) == 1:
        pure = values.max(axis=1) == 1.0
        nodes["right"][where[pure]] = ~values[pure].argmax(axis=1)
        nodes["right"][where[~pure]] = np.arange(n_leaves - pure.sum())
        table = np.ascontiguousarray(values[~pure])
    elif classify or len(n_classes) > 1:
        nodes["right"][where] = np.arange(n_leaves)
        table = values
    else:
        nodes["right"][where] = 0
        nodes["threshold"][where] = values[:, 0]
    leaf_impurity = None
    if not classify and not rules.keep_values and np.any(grown.impurities[is_leaf] != 0.0):
        leaf_impurity = grown.impurities[is_leaf]
    inner_values = None
    if rules.keep_values:
        inner_values = grown.values[~is_leaf, : 1 if classify else n_columns]
    tree = Tree(
        nodes,
        smallest(samples),
        None if rules.unit else weights,
        table,
        n_features=data.signs.shape[0],
        n_classes=n_classes,
        criterion=rules.criterion,
        leaf_impurity=leaf_impurity,
        bitsets=_pack_sets(nodes, grown.words),
        inner_values=inner_values,
        stored_impurity=grown.impurities.copy() if rules.keep_values else None,
    )
    return tree, leaves


def _pack_sets(nodes, words) -> NDArray:
    """One array of all sets of categories; nodes then hold their offsets."""
    if not len(words):
        return NO_BITSETS
    where = np.flatnonzero((nodes["feature"] != LEAF) & ((nodes["feature"] & CATEGORIES) != 0))
    if not len(where):
        return NO_BITSETS
    parts, offset = [], 0
    for i in where:
        row = words[int(nodes["threshold"][i])]
        part = row[: 1 + int(row[0] & 0x7FFFFFFF)]
        nodes["threshold"][i] = offset
        parts.append(part)
        offset += len(part)
    return np.concatenate(parts)
