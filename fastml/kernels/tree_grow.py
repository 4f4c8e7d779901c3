"""Exact trees on columns sorted once: partition, depth first or best first.

Every column's entries of a node lie in the same range [start, end) of ``orders``; a split
partitions the range of every column, stably, so that the children's ranges are in order again.
``rows`` is the same without order. A column that is constant in a node is left alone: it stays so
below. Subtrees touch disjoint ranges, so they grow side by side; nodes of the range [start, end)
are written to [2 start, 2 end) of the output. Ties between columns go by a hash of the node's seed,
which depends on the path from the root only.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.categorical_split import write_bitset
from fastml.kernels.exact_split import ROW
from fastml.kernels.node_split import (
    EPSILON,
    count_present,
    is_final,
    judge,
    node_statistics,
    search_column,
    split_node,
)  # fmt: skip
from fastml.kernels.presort import sort_column
from fastml.kernels.rng import child_seed, column_seed
from fastml.kernels.tree_nodes import CATEGORIES, ERROR, FEATURE, LEAF, MISSING_LEFT

SEARCH = 0
PARTITION = 1
SUBTREES = 2


class Grown(NamedTuple):
    """Where nodes go: 2 slots per row."""

    nodes: np.ndarray
    ends: np.ndarray  # leaves: end of their range of rows; its start is in nodes["right"]
    impurities: np.ndarray
    values: np.ndarray  # (slots, columns) where values are kept
    words: np.ndarray  # (n, words per set): sets of categories


@kernel
def partition_column(entries, sides, spare):
    """Stable: rows that go left first. A constant column is left alone."""
    n = entries.shape[0]
    if (entries[0] >> np.uint64(32)) == (entries[n - 1] >> np.uint64(32)):
        return
    at, n_right = np.uint64(0), np.uint64(0)
    for i in range(n):
        entry = entries[np.uint64(i)]
        side = np.uint64(sides[np.uint64(entry & ROW)])
        entries[at] = entry
        spare[n_right] = entry
        at += side
        n_right += np.uint64(1) - side
    for i in range(n_right):
        entries[at + np.uint64(i)] = spare[np.uint64(i)]


@kernel
def partition_rows(rows, sides, spare):
    at, n_right = 0, 0
    for i in range(rows.shape[0]):
        row = rows[i]
        if sides[row]:
            rows[at] = row
            at += 1
        else:
            spare[n_right] = row
            n_right += 1
    for i in range(n_right):
        rows[at + i] = np.int32(spare[i])


@kernel
def write_split(slot, f, entries, categorical, result, n_left, sides, grown):
    """Write the split of a node; the right child's index is set when that child is written."""
    feature = f
    missing_left = result[2] > 0.0
    n, m = entries.shape[0], count_present(entries)
    if m == n:
        missing_left = n_left > n - n_left
    if missing_left:
        feature |= MISSING_LEFT
    threshold = result[3]
    if categorical >= 0:  # a row of words that no other split of the tree takes
        feature |= CATEGORIES
        write_bitset(entries, m, sides, n_left > n - n_left, grown.words[categorical])
        threshold = np.float64(categorical)
    grown.nodes[slot]["feature"] = np.int32(feature)
    grown.nodes[slot]["threshold"] = threshold


@kernel
def write_leaf(slot, start, end, grown):
    grown.nodes[slot]["feature"] = np.int32(LEAF)
    grown.nodes[slot]["right"] = np.int32(start)
    grown.nodes[slot]["threshold"] = 0.0
    grown.ends[slot] = end


@kernel
def note_values(slot, total, weight, bounds, rules, medians, values):
    """Keep a node's values where they do not follow from those of the leaves."""
    if not rules.keep_values:
        return
    for j in range(total.shape[0]):
        value = total[j] if medians else total[j] / weight
        if rules.monotonic and j == 0:
            value = min(max(value, bounds[0]), bounds[1])
        if rules.monotonic and rules.criterion <= ERROR and j == 1:
            value = 1.0 - values[slot, 0]
        values[slot, j] = value


@kernel
def partition_node(start, end, data, spare):
    for c in range(data.orders.shape[0]):
        partition_column(data.orders[c, start:end], data.sides, spare)
    partition_rows(data.rows[start:end], data.sides, spare)


@kernel
def grow_subtree(
    start, end, depth, seed, lower, upper, n_total, data, rules, classes, values, places, several,
    grown,
):  # fmt: skip
    """Depth first, from the rows of one range; returns the number of nodes."""
    n, n_features = end - start, data.signs.shape[0]
    base = 2 * start
    total = np.empty(n_total)
    spare = np.empty(n, np.uint64)
    columns = np.empty(n_features, np.intp)
    found = np.zeros((n_features, 5))
    limits_of_search, scratch = np.empty(3), np.empty((3, n_total + 1))
    bounds = np.empty(2)
    stack = np.empty((n + 2, 4), np.intp)  # start, end, depth, parent's slot if a right child
    seeds = np.empty(n + 2, np.uint64)
    limits = np.empty((n + 2 if rules.monotonic else 1, 2))
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = start, end, depth, -1
    seeds[0] = seed
    limits[0, 0], limits[0, 1] = lower, upper
    bounds[0], bounds[1] = lower, upper
    size, slot = 1, base
    while size > 0:
        size -= 1
        a, b, level, parent = stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3]
        own = seeds[size]
        if parent >= 0:
            grown.nodes[parent]["right"] = np.int32(slot - base)
        if rules.monotonic:
            bounds[0], bounds[1] = limits[size, 0], limits[size, 1]
        weight, impurity = node_statistics(a, b, data, rules, classes, values, places, total)
        grown.impurities[slot] = impurity
        note_values(slot, total, weight, bounds, rules, places is not None, grown.values)
        best, n_left = -1, 0
        if not is_final(b - a, level, weight, impurity, rules):
            best, n_left = split_node(
                a, b, own, weight, total, bounds, data, rules, classes, values, places, several,
                columns, found, limits_of_search, scratch,
            )  # fmt: skip
        middle_value = 0.0
        if best >= 0:
            f = columns[best]
            free = a + n_left if data.n_categories[f] > 0 else -1
            write_split(slot, f, data.orders[f, a:b], free, found[best], n_left, data.sides, grown)
            partition_node(a, b, data, spare)
            if rules.monotonic or rules.min_decrease > 0.0:
                gain, middle_value = judge(
                    a, a + n_left, b, weight, impurity, data, rules, classes, values, places, total
                )
                if gain + EPSILON < rules.min_decrease:
                    best = -1
        if best < 0:
            write_leaf(slot, a, b, grown)
        else:
            stack[size, 0], stack[size, 1], stack[size, 2] = a + n_left, b, level + 1
            stack[size, 3], seeds[size] = slot, child_seed(own, False)
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = a, a + n_left, level + 1
            stack[size + 1, 3], seeds[size + 1] = -1, child_seed(own, True)
            if rules.monotonic:
                set_bounds(data.signs[f], middle_value, bounds, limits[size + 1], limits[size])
            size += 2
        slot += 1
    return slot - base


@kernel
def set_bounds(sign, middle, bounds, left, right):
    """Bounds of the children's values."""
    left[0], left[1], right[0], right[1] = bounds[0], bounds[1], bounds[0], bounds[1]
    if sign > 0:
        left[1], right[0] = middle, middle
    elif sign < 0:
        left[0], right[1] = middle, middle


@kernel
def _task(
    mode, c, data, rules, classes, values, places, several, grown, where, seeds, bounds, total,
    columns, found, ys, ws,
):  # fmt: skip
    """One independent piece of work: a column of a large node, or a thread's lot of subtrees."""
    start, end = where[0, 0], where[0, 1]
    if mode == SEARCH:
        limits = np.empty(3)
        limits[0], limits[1], limits[2] = rules.min_leaf, rules.min_weight, bounds[1, 0]
        f = columns[c]
        search_column(
            data.orders[f, start:end], column_seed(seeds[0], f), data.signs[f],
            data.n_categories[f] > 0, rules, data.weights, total, limits, bounds[0], classes,
            values, places, several, ys, ws, found[c], np.empty((3, total.shape[0] + 1)),
        )  # fmt: skip
    elif mode == PARTITION:
        spare = np.empty(end - start, np.uint64)
        if c < data.orders.shape[0]:
            partition_column(data.orders[c, start:end], data.sides, spare)
        else:
            partition_rows(data.rows[start:end], data.sides, spare)
    else:  # where: start, end, depth, number of nodes (out), lot
        for i in range(where.shape[0]):
            if where[i, 4] == c:
                where[i, 3] = grow_subtree(
                    where[i, 0], where[i, 1], where[i, 2], seeds[i], bounds[i, 0], bounds[i, 1],
                    total.shape[0], data, rules, classes, values, places, several, grown,
                )  # fmt: skip


@parallel_kernel
def tree_tasks(
    mode, n_tasks, data, rules, classes, values, places, several, grown, where, seeds, bounds,
    total, columns, found, ys, ws,
):  # fmt: skip
    """Independent pieces of work of one kind: search or partition columns, grow subtrees."""
    for c in prange(n_tasks):
        _task(
            mode, np.intp(c), data, rules, classes, values, places, several, grown, where, seeds,
            bounds, total, columns, found, ys, ws,
        )  # fmt: skip


@parallel_kernel
def sort_columns(X, orders):
    """orders[f] = entries of column f of X, ascending."""
    for f in prange(orders.shape[0]):
        sort_column(X, np.intp(f), orders[f])


@kernel
def grow_best_first(
    n, seed, max_leaves, n_total, data, rules, classes, values, places, several, grown, lefts,
    rights,
):  # fmt: skip
    """Split the node with the largest decrease until there are ``max_leaves``; number of nodes.

    Children may lie anywhere: ``lefts`` and ``rights`` hold them.
    """
    n_features = data.signs.shape[0]
    most = 2 * max_leaves + 1
    total = np.empty(n_total)
    spare = np.empty(n, np.uint64)
    columns = np.empty(n_features, np.intp)
    found = np.zeros((n_features, 5))
    limits_of_search, scratch = np.empty(3), np.empty((3, n_total + 1))
    where = np.empty((most, 4), np.intp)  # start, end, depth, middle
    seeds = np.empty(most, np.uint64)
    gains = np.full(most, -np.inf)
    middles = np.zeros(most)
    where[0, 0], where[0, 1], where[0, 2] = 0, n, 0
    seeds[0] = seed
    bounds = np.empty((most, 2))
    bounds[0, 0], bounds[0, 1] = -np.inf, np.inf
    size, n_leaves, to_open = 1, 1, 0
    while True:
        for slot in range(to_open, size):  # new nodes: search and partition at once
            a, b, level = where[slot, 0], where[slot, 1], where[slot, 2]
            weight, impurity = node_statistics(a, b, data, rules, classes, values, places, total)
            grown.impurities[slot] = impurity
            note_values(slot, total, weight, bounds[slot], rules, places is not None, grown.values)
            write_leaf(slot, a, b, grown)
            if is_final(b - a, level, weight, impurity, rules):
                continue
            best, n_left = split_node(
                a, b, seeds[slot], weight, total, bounds[slot], data, rules, classes, values,
                places, several, columns, found, limits_of_search, scratch,
            )  # fmt: skip
            if best < 0:
                continue
            f = columns[best]
            free = a + n_left if data.n_categories[f] > 0 else -1
            write_split(slot, f, data.orders[f, a:b], free, found[best], n_left, data.sides, grown)
            partition_node(a, b, data, spare)
            where[slot, 3] = a + n_left
            gain, middles[slot] = judge(
                a, a + n_left, b, weight, impurity, data, rules, classes, values, places, total
            )
            if gain + EPSILON >= rules.min_decrease:
                gains[slot] = gain
        to_open = size
        best_slot = -1
        if n_leaves < max_leaves:
            for slot in range(size):
                if gains[slot] > -np.inf and (best_slot < 0 or gains[slot] > gains[best_slot]):
                    best_slot = slot
        if best_slot < 0:
            break
        gains[best_slot] = -np.inf
        grown.ends[best_slot] = -1  # no longer a leaf
        for is_left in (True, False):
            slot = size
            if is_left:
                where[slot, 0], where[slot, 1] = where[best_slot, 0], where[best_slot, 3]
                lefts[best_slot] = slot
            else:
                where[slot, 0], where[slot, 1] = where[best_slot, 3], where[best_slot, 1]
                rights[best_slot] = slot
            where[slot, 2] = where[best_slot, 2] + 1
            seeds[slot] = child_seed(seeds[best_slot], is_left)
            size += 1
        f = grown.nodes[best_slot]["feature"] & FEATURE
        sign = data.signs[f] if rules.monotonic else 0
        set_bounds(sign, middles[best_slot], bounds[best_slot], bounds[size - 2], bounds[size - 1])
        n_leaves += 1
    for slot in range(size):  # searched but never opened: leaves again
        if grown.ends[slot] >= 0:
            write_leaf(slot, where[slot, 0], where[slot, 1], grown)
    return size
