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
from fastml.kernels.numeric.rng import child_seed
from fastml.kernels.tree.categorical_split import write_bitset
from fastml.kernels.tree.exact_split import ROW, Search
from fastml.kernels.tree.node_split import (
    EPSILON,
    OpenNode,
    count_present,
    is_final,
    judge,
    node_statistics,
    search_column,
    split_node,
)
from fastml.kernels.tree.nodes import CATEGORIES, ERROR, FEATURE, LEAF, MISSING_LEFT
from fastml.kernels.tree.presort import sort_column

SEARCH = 0
PARTITION = 1
SUBTREES = 2


class Subtrees(NamedTuple):
    """Nodes to grow subtrees from, an entry of every array each."""

    starts: np.ndarray  # their rows are the ranges [start, end)
    ends: np.ndarray
    depths: np.ndarray
    seeds: np.ndarray  # uint64
    bounds: np.ndarray  # (k, 2) of their values, by monotonic constraints
    lots: np.ndarray  # the task that grows them
    n_nodes: np.ndarray  # written: the size of the subtree


class Grown(NamedTuple):
    """Where nodes are written to."""

    nodes: np.ndarray  # depth first: 2 slots per row
    ends: np.ndarray  # leaves: end of their range of rows; its start is in nodes["right"]
    impurities: np.ndarray
    values: np.ndarray  # (slots, columns of values), 1 slot where values are not kept
    words: np.ndarray  # (n, words per set): sets of categories


@kernel
def partition_column(orders, c, start, end, sides, spare):
    """Put the entries of rows that go left (``sides``) first in the range [start, end) of column c
    of ``orders``, both parts in order; ``spare`` is scratch. A constant column is left alone."""
    if (orders[c, start] >> np.uint64(32)) == (orders[c, end - 1] >> np.uint64(32)):
        return
    at, n_right = np.uint64(start), np.uint64(0)
    for i in range(start, end):
        entry = orders[c, np.uint64(i)]
        side = np.uint64(sides[np.uint64(entry & ROW)])
        orders[c, at] = entry
        spare[n_right] = entry
        at += side
        n_right += np.uint64(1) - side
    for i in range(n_right):
        orders[c, at + np.uint64(i)] = spare[np.uint64(i)]


@kernel
def partition_rows(rows, sides, spare):
    """Put the rows that go left first, both parts in order; ``spare`` is scratch."""
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
def write_split(slot, j, node, free, n_left, data, search, grown):
    """Write the split ``search.found[j]`` of a node to a slot; the right child's index is set when
    that child is written. ``free`` is a row of ``grown.words`` that no other split takes."""
    feature, found = search.columns[j], search.found[j]
    categorical = data.n_categories[feature] > 0
    entries, missing_left = data.orders[feature, node.start : node.end], found[2] > 0.0
    n, m = entries.shape[0], count_present(entries)
    if m == n:
        missing_left = n_left > n - n_left
    if missing_left:
        feature |= MISSING_LEFT
    threshold = found[3]
    if categorical:
        feature |= CATEGORIES
        write_bitset(entries, m, data.sides, n_left > n - n_left, grown.words[free])
        threshold = np.float64(free)
    grown.nodes[slot]["feature"] = np.int32(feature)
    grown.nodes[slot]["threshold"] = threshold


@kernel
def write_leaf(slot, start, end, grown):
    """Write a leaf with the rows [start, end) to a slot of ``grown``."""
    grown.nodes[slot]["feature"] = np.int32(LEAF)
    grown.nodes[slot]["right"] = np.int32(start)
    grown.nodes[slot]["threshold"] = 0.0
    grown.ends[slot] = end


@kernel
def note_values(slot, total, weight, bounds, data, rules, lists, values):
    """Write a node's values to a slot of ``values`` where they do not follow from those of the
    leaves: medians, and values that monotonic constraints clip."""
    if not (data.monotonic or lists is not None):
        return
    for j in range(total.shape[0]):
        value = total[j] if lists is not None else total[j] / weight
        if data.monotonic and j == 0:
            value = min(max(value, bounds[0]), bounds[1])
        if data.monotonic and rules.criterion <= ERROR and j == 1:
            value = 1.0 - values[slot, 0]
        values[slot, j] = value


@kernel
def _partition_node(start, end, data, spare):
    """Partition a node's range of all columns and of the rows by ``data.sides``; ``spare`` is
    scratch."""
    for c in range(data.orders.shape[0]):
        partition_column(data.orders, c, start, end, data.sides, spare)
    partition_rows(data.rows[start:end], data.sides, spare)


@kernel
def _new_search(n_features, n_total):
    """Room for the search of one node at a time, with ``n_total`` sums of every kind."""
    return Search(
        np.empty(2), np.empty(n_total), np.empty(n_features, np.intp), np.zeros((n_features, 5)),
        np.empty(n_total + 1), np.empty(n_total), np.empty(n_total),
    )  # fmt: skip


@kernel
def grow_subtree(i, subtrees, data, rules, classes, values, lists, several, grown):
    """Grow subtree i depth first: write its nodes to ``grown``, and their number to
    ``subtrees.n_nodes[i]``.

    Partitions the ranges of ``data``; ``lists`` is scratch.
    """
    start, end = subtrees.starts[i], subtrees.ends[i]
    n, base = end - start, 2 * start
    spare = np.empty(n, np.uint64)
    search = _new_search(data.signs.shape[0], grown.values.shape[1])
    bounds, columns, total = search.bounds, search.columns, search.total
    stack = np.empty((n + 2, 4), np.intp)  # start, end, depth, parent's slot if a right child
    seeds = np.empty(n + 2, np.uint64)
    limits = np.empty((n + 2 if data.monotonic else 1, 2))
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = start, end, subtrees.depths[i], -1
    seeds[0] = subtrees.seeds[i]
    limits[0, 0], limits[0, 1] = subtrees.bounds[i, 0], subtrees.bounds[i, 1]
    bounds[0], bounds[1] = limits[0, 0], limits[0, 1]
    size, slot = 1, base
    while size > 0:
        size -= 1
        a, b, level, parent = stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3]
        own = seeds[size]
        if parent >= 0:
            grown.nodes[parent]["right"] = np.int32(slot - base)
        if data.monotonic:
            bounds[0], bounds[1] = limits[size, 0], limits[size, 1]
        weight, impurity = node_statistics(a, b, data, rules, classes, values, lists, total)
        grown.impurities[slot] = impurity
        note_values(slot, total, weight, bounds, data, rules, lists, grown.values)
        node = OpenNode(a, b, own, weight)
        best, n_left = -1, 0
        if not is_final(b - a, level, weight, impurity, rules):
            best, n_left = split_node(node, data, rules, classes, values, lists, several, search)
        middle_value = 0.0
        if best >= 0:
            write_split(slot, best, node, a + n_left, n_left, data, search, grown)
            _partition_node(a, b, data, spare)
            if data.monotonic or rules.min_decrease > 0.0:
                gain, middle_value = judge(
                    node, a + n_left, impurity, data, rules, classes, values, lists, total
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
            if data.monotonic:
                sign = data.signs[columns[best]]
                set_bounds(sign, middle_value, bounds, limits[size + 1], limits[size])
            size += 2
        slot += 1
    subtrees.n_nodes[i] = slot - base


@kernel
def set_bounds(sign, middle, bounds, left, right):
    """Write the bounds of the children's values to ``left`` and ``right``: those of the node, and
    the middle of the two values in between where the column has a sign."""
    left[0], left[1], right[0], right[1] = bounds[0], bounds[1], bounds[0], bounds[1]
    if sign > 0:
        left[1], right[0] = middle, middle
    elif sign < 0:
        left[0], right[1] = middle, middle


@kernel
def _task(
    mode, c, node, data, rules, classes, values, lists, several, grown, subtrees, search
):  # fmt: skip
    """`tree_tasks` for task c: a column of a large node, or one lot of subtrees."""
    start, end = node.start, node.end
    if mode == SEARCH:
        n = search.total.shape[0]
        own = Search(
            search.bounds, search.total, search.columns, search.found, np.empty(n + 1),
            np.empty(n), np.empty(n),
        )  # fmt: skip
        search_column(c, node, data, rules, classes, values, lists, several, own)
    elif mode == PARTITION:
        spare = np.empty(end - start, np.uint64)
        if c < data.orders.shape[0]:
            partition_column(data.orders, c, start, end, data.sides, spare)
        else:
            partition_rows(data.rows[start:end], data.sides, spare)
    else:
        for i in range(subtrees.lots.shape[0]):
            if subtrees.lots[i] == c:
                grow_subtree(i, subtrees, data, rules, classes, values, lists, several, grown)


@parallel_kernel
def tree_tasks(
    mode, n_tasks, node, data, rules, classes, values, lists, several, grown, subtrees, search
):  # fmt: skip
    """Independent pieces of work of one kind, by ``mode``.

    SEARCH: task j is `search_column` of ``search.columns[j]`` at the large ``node``; PARTITION: a
    column of that node, or its rows, in ``data``; SUBTREES: `grow_subtree` of the subtrees whose
    ``lots`` is the task, written to ``grown``.
    """
    for c in prange(n_tasks):
        _task(
            mode, np.intp(c), node, data, rules, classes, values, lists, several, grown, subtrees,
            search,
        )  # fmt: skip


@parallel_kernel
def sort_columns(X, orders):
    """Write to orders[f] the entries of column f of X, ascending."""
    for f in prange(orders.shape[0]):
        sort_column(X, np.intp(f), orders[f])


@kernel
def grow_best_first(
    seed, data, rules, classes, values, lists, several, grown, lefts, rights
):  # fmt: skip
    """Split the node with the largest decrease of impurity until there are ``rules.max_leaves``;
    write the nodes to ``grown``, their children's slots, anywhere, to ``lefts`` and ``rights``.

    Returns the number of nodes. Partitions the ranges of ``data``; ``lists`` is scratch.
    """
    n = data.orders.shape[1]
    max_leaves = min(rules.max_leaves, n)
    most = 2 * max_leaves + 1
    spare = np.empty(n, np.uint64)
    search = _new_search(data.signs.shape[0], grown.values.shape[1])
    total = search.total
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
            search.bounds[0], search.bounds[1] = bounds[slot, 0], bounds[slot, 1]
            weight, impurity = node_statistics(a, b, data, rules, classes, values, lists, total)
            grown.impurities[slot] = impurity
            note_values(slot, total, weight, bounds[slot], data, rules, lists, grown.values)
            write_leaf(slot, a, b, grown)
            if is_final(b - a, level, weight, impurity, rules):
                continue
            node = OpenNode(a, b, seeds[slot], weight)
            best, n_left = split_node(node, data, rules, classes, values, lists, several, search)
            if best < 0:
                continue
            write_split(slot, best, node, a + n_left, n_left, data, search, grown)
            _partition_node(a, b, data, spare)
            where[slot, 3] = a + n_left
            gain, middles[slot] = judge(
                node, a + n_left, impurity, data, rules, classes, values, lists, total
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
        sign = data.signs[f] if data.monotonic else 0
        set_bounds(sign, middles[best_slot], bounds[best_slot], bounds[size - 2], bounds[size - 1])
        n_leaves += 1
    for slot in range(size):  # searched but never opened: leaves again
        if grown.ends[slot] >= 0:
            write_leaf(slot, where[slot, 0], where[slot, 1], grown)
    return size
