"""One tree on binned rows: best leaf first, a histogram for the smaller child only.

A node owns a range of ``rows``; a split sorts the range stably into left and right. Open nodes hold
a histogram slot: the smaller child of a split gets a free one, the larger one its parent's.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.hist.histogram import (
    COUNT_BITS,
    COUNT_MASK,
    gradient_field,
    hessian_and_count,
    node_histogram,
    pack,
    subtract,
)
from fastml.kernels.hist.split import (
    BEST_FIRST,
    DEPTH_FIRST,
    SPLIT_GRADIENT,
    SPLIT_WORDS,
    categorical_split,
    goes_left_table,
    node_value,
    numeric_split,
)
from fastml.kernels.numeric.rng import draw, seed_stream

# Columns of `GrowingTree.nodes`; a split's words follow.
NODE_START, NODE_STOP, NODE_DEPTH, NODE_LEFT, NODE_FEATURE, NODE_SLOT = 0, 1, 2, 3, 4, 5
NODE_GRADIENT, NODE_REST, NODE_SPLIT = 6, 7, 8
NODE_WORDS = NODE_SPLIT + SPLIT_WORDS
# Columns of `GrowingTree.reals`.
NODE_GAIN, NODE_LOWER, NODE_UPPER, NODE_VALUE = 0, 1, 2, 3
NODE_FLOATS = 4

PARTITION_ROWS = 8192


class BinnedRows(NamedTuple):
    """The training rows in bins, and what is known of their features."""

    bins: np.ndarray  # (n, n_features) uint8
    columns: np.ndarray  # the same by columns, (n_features, n)
    n_bins: np.ndarray  # (n_features,) without the bin of missing values
    missing_bin: int
    categorical: np.ndarray  # (n_features,) uint8
    trends: np.ndarray  # (n_features,) int8, monotonic constraints
    groups: np.ndarray  # (n_groups, n_features) uint8, features that may meet on one path; or none
    weights: (
        np.ndarray
    )  # whole numbers that gradients and hessians are to be multiplied by; or none


class GrowingTree(NamedTuple):
    """Nodes of a tree, the root first; the right child follows the left one."""

    nodes: np.ndarray  # (most_nodes, NODE_WORDS) int64
    reals: np.ndarray  # (most_nodes, NODE_FLOATS) gain of the split, bounds of the value, value
    active: np.ndarray  # (most_nodes, n_groups) uint8, groups that hold all features of the path
    leaf_sums: np.ndarray  # (most_nodes, 2) exact sums of gradients and hessians of leaves


class SplitSearch(NamedTuple):
    """What the search for the splits of two children works in; [0] is the smaller child's."""

    packed: np.ndarray  # (n,) gradient, hessian and 1 of every row in one integer
    histograms: np.ndarray  # (n_slots, n_features, 256, 2)
    tiles: np.ndarray  # (n_tasks, features of a task, 256) zero between two searches
    wanted: np.ndarray  # (2,) uint8, whether to look for a split of this child
    allowed: np.ndarray  # (2, n_features) uint8, features that it may use
    gains: np.ndarray  # (2, n_features) the best gain of every feature
    splits: np.ndarray  # (2, n_features, SPLIT_WORDS) and its split


class GrowthScratch(NamedTuple):
    """Memory that the growth of a tree works in; parts are those of `PARTITION_ROWS` rows."""

    sums: np.ndarray  # (n_parts, 2) sums of gradients, and of hessians and counts
    lefts: np.ndarray  # (n,) rows of each part that go left
    rights: np.ndarray  # (n,)
    counts: np.ndarray  # (n_parts,) how many go left
    places: np.ndarray  # (n_parts,) how many went left in earlier parts
    table: np.ndarray  # (256,) uint8, which bins go left
    opened: np.ndarray  # nodes with a split that is not yet made
    free: np.ndarray  # (n_slots,) histograms that no node holds
    pool: np.ndarray  # (n_features,) features to draw from
    state: np.ndarray  # (1,) of the random numbers


@kernel
def pack_chunk(chunk, n_chunks, rows, gradients, hessians, weights, packing, packed, sums):
    """Write packed[r] for a share of the rows r, and their sums to sums[chunk].

    A row of weight w counts as one, with w times the rounded gradient and hessian.
    """
    weighted = weights.shape[0] > 0
    one = np.int64(1)
    n = rows.shape[0]
    first, last = chunk * n // n_chunks, (chunk + 1) * n // n_chunks
    g, rest = np.int64(0), np.int64(0)
    for i in range(first, last):
        r = np.intp(rows[i])
        word = pack(gradients[r], hessians[r], packing)
        if weighted:
            word = (word - one) * np.int64(weights[r]) + one
        packed[r] = word
        g += gradient_field(word, packing)
        rest += hessian_and_count(word, packing)
    sums[chunk, 0] = g
    sums[chunk, 1] = rest


@kernel
def partition_chunk(chunk, start, stop, rows, column, table, lefts, rights, counts):
    """Copy one chunk of rows[start:stop], in order, to ``lefts`` or ``rights``, both from the place
    where the chunk begins; counts[chunk] = how many go left. ``column`` holds their bins."""
    first = start + chunk * PARTITION_ROWS
    last = min(stop, first + PARTITION_ROWS)
    n_left, n_right = np.uintp(first), np.uintp(first)
    for i in range(first, last):
        row = rows[i]
        left = np.uintp(table[column[np.uintp(row)]])
        lefts[n_left] = row
        rights[n_right] = row
        n_left += left
        n_right += np.uintp(1) - left
    counts[chunk] = np.intp(n_left) - first


@kernel
def collect_chunk(chunk, start, stop, rows, lefts, rights, counts, places, n_left):
    """Copy what `partition_chunk` wrote back to ``rows``: n_left rows in all go to the front of
    rows[start:stop], places[chunk] of them from chunks before this one."""
    first = start + chunk * PARTITION_ROWS
    last = min(stop, first + PARTITION_ROWS)
    left = start + places[chunk]
    right = start + n_left + (first - start) - places[chunk]
    for i in range(counts[chunk]):
        rows[left + i] = lefts[first + i]
    for i in range(last - first - counts[chunk]):
        rows[right + i] = rights[first + i]


@kernel
def may_split(node, nodes, rules):
    """Whether depth and number of rows of the node allow a split."""
    if nodes[node, NODE_DEPTH] >= rules.max_depth:
        return False
    return nodes[node, NODE_REST] & COUNT_MASK >= 2 * rules.min_leaf


@kernel
def choose_features(node, groups, active, rules, state, pool, allowed):
    """Write to allowed[f] whether the node may use feature f: in a group of interactions that is
    active on its path, and drawn. ``state`` and ``pool`` are scratch."""
    n_groups, n_features = groups.shape
    n_allowed = 0
    for f in range(n_features):
        found = n_groups == 0
        for g in range(n_groups):
            if active[node, g] and groups[g, f]:
                found = True
                break
        allowed[f] = np.uint8(found)
        if found:
            pool[n_allowed] = f
            n_allowed += 1
    if rules.features_drawn >= 1000:
        return
    n_drawn = max(1, -(-n_allowed * rules.features_drawn // 1000))
    seed_stream(state, np.uint64(rules.seed), np.uint64(node))
    for i in range(n_allowed):
        allowed[pool[i]] = np.uint8(0)
    for i in range(min(n_drawn, n_allowed)):
        allowed[draw(state, pool[:n_allowed], i)] = np.uint8(1)


@kernel
def evaluate_features(task, small, large, data, rows, packing, rules, tree, search, orders, keys):
    """For a share of the features, write the histograms of both children to ``search``, and the
    gains and splits of those that want one.

    The larger child (-1: there is none) comes with its parent's histogram. ``orders`` and ``keys``
    are scratch, (n_tasks, 257) each; None if no feature has categories: the code for them is then
    not compiled.
    """
    nodes, histograms = tree.nodes, search.histograms
    n_bins, missing_bin = data.n_bins, data.missing_bin
    n_features, n_tasks = data.bins.shape[1], search.tiles.shape[0]
    first, last = task * n_features // n_tasks, (task + 1) * n_features // n_tasks
    slot, start, stop = nodes[small, NODE_SLOT], nodes[small, NODE_START], nodes[small, NODE_STOP]
    node_histogram(
        data.bins, rows, start, stop, search.packed, packing, n_bins, missing_bin, first, last,
        search.tiles[task], histograms[slot],
    )  # fmt: skip
    if large >= 0:
        subtract(
            histograms[nodes[large, NODE_SLOT]], histograms[slot], n_bins, missing_bin, first, last
        )
    for which in range(2):
        if not search.wanted[which]:
            continue
        node = small if which == 0 else large
        lower, upper = tree.reals[node, NODE_LOWER], tree.reals[node, NODE_UPPER]
        totals = nodes[node, NODE_GRADIENT:NODE_SPLIT]
        histogram = histograms[nodes[node, NODE_SLOT]]
        gains, splits = search.gains[which], search.splits[which]
        for f in range(first, last):
            gains[f] = 0.0
            if not search.allowed[which, f]:
                continue
            if orders is not None and data.categorical[f]:
                gains[f] = categorical_split(
                    histogram, f, n_bins[f], missing_bin, totals, rules, lower, upper,
                    orders[task], keys[task], splits[f],
                )  # fmt: skip
            else:
                gains[f] = numeric_split(
                    histogram, f, n_bins[f], missing_bin, totals, rules, data.trends[f], lower,
                    upper, splits[f],
                )  # fmt: skip


@kernel
def keep_best(node, gains, splits, nodes, reals):
    """Write gain, feature and split of the best feature, the first of equals, to the node's row of
    ``nodes`` and ``reals``; False if no split is worth it."""
    best = -1
    for f in range(gains.shape[0]):
        if gains[f] > 0.0 and (best < 0 or gains[f] > gains[best]):
            best = f
    if best < 0:
        return False
    reals[node, NODE_GAIN] = gains[best]
    nodes[node, NODE_FEATURE] = best
    for word in range(SPLIT_WORDS):
        nodes[node, NODE_SPLIT + word] = splits[best, word]
    return True


@kernel
def take_next(order, opened, n_open, reals):
    """The node to split next, which is removed from the first n_open of ``opened``."""
    place = n_open - 1
    if order != DEPTH_FIRST:
        place = 0
        for i in range(1, n_open):
            if (
                order == BEST_FIRST
                and reals[opened[i], NODE_GAIN] > reals[opened[place], NODE_GAIN]
            ):
                place = i
    node = opened[place]
    for i in range(place, n_open - 1):
        opened[i] = opened[i + 1]
    return node


@kernel
def make_children(node, left, n_left, tree, data, rules):
    """Write two new nodes to ``tree``, at left and left + 1: their ranges, sums, values, the bounds
    of these and the groups of features that are left to them."""
    nodes, reals, trends, groups = tree.nodes, tree.reals, data.trends, data.groups
    right = left + 1
    feature = nodes[node, NODE_FEATURE]
    nodes[node, NODE_LEFT] = left
    middle = nodes[node, NODE_START] + n_left
    nodes[left, NODE_START], nodes[left, NODE_STOP] = nodes[node, NODE_START], middle
    nodes[right, NODE_START], nodes[right, NODE_STOP] = middle, nodes[node, NODE_STOP]
    for word in range(2):
        nodes[left, NODE_GRADIENT + word] = nodes[node, NODE_SPLIT + SPLIT_GRADIENT + word]
        nodes[right, NODE_GRADIENT + word] = (
            nodes[node, NODE_GRADIENT + word] - nodes[left, NODE_GRADIENT + word]
        )
    for child in range(left, left + 2):
        nodes[child, NODE_LEFT] = -1
        nodes[child, NODE_FEATURE] = -1
        nodes[child, NODE_SLOT] = -1
        nodes[child, NODE_DEPTH] = nodes[node, NODE_DEPTH] + 1
        reals[child, NODE_GAIN] = 0.0
        reals[child, NODE_LOWER], reals[child, NODE_UPPER] = (
            reals[node, NODE_LOWER],
            reals[node, NODE_UPPER],
        )
        reals[child, NODE_VALUE] = node_value(
            nodes[child, NODE_GRADIENT] * rules.gradient_unit,
            (nodes[child, NODE_REST] >> COUNT_BITS) * rules.hessian_unit,
            rules,
            reals[node, NODE_LOWER],
            reals[node, NODE_UPPER],
        )
        for g in range(groups.shape[0]):
            tree.active[child, g] = tree.active[node, g] & groups[g, feature]
    if trends[feature] != 0:
        between = (reals[left, NODE_VALUE] + reals[right, NODE_VALUE]) / 2.0
        if trends[feature] > 0:
            reals[left, NODE_UPPER] = between
            reals[right, NODE_LOWER] = between
        else:
            reals[right, NODE_UPPER] = between
            reals[left, NODE_LOWER] = between


@kernel
def sum_leaf(node, nodes, rows, gradients, hessians, weights, sums):
    """Write to sums[node] the exact sums of a leaf's gradients and hessians times its ``weights``,
    if there are any, in the order of its rows; zeros if the node is no leaf."""
    weighted = weights.shape[0] > 0
    sums[node, 0] = 0.0
    sums[node, 1] = 0.0
    if nodes[node, NODE_LEFT] >= 0:
        return
    g, h = 0.0, 0.0
    for i in range(nodes[node, NODE_START], nodes[node, NODE_STOP]):
        r = np.uintp(rows[i])
        w = weights[r] if weighted else 1.0
        g += w * np.float64(gradients[r])
        h += w * np.float64(hessians[r])
    sums[node, 0] = g
    sums[node, 1] = h


@parallel_kernel
def grow_tree(data, rows, gradients, hessians, packing, rules, tree, search, scratch, orders, keys):
    """Grow a tree on the given rows; returns its number of nodes. The root is node 0.

    Reads ``data``, ``gradients`` and ``hessians`` (by row), writes ``tree`` and sorts ``rows``
    so that every node owns a range of them; ``search`` and ``scratch`` are memory to work in, and
    ``orders`` and ``keys`` as in `evaluate_features`.
    """
    nodes, reals, active, leaf_sums = tree.nodes, tree.reals, tree.active, tree.leaf_sums
    packed, sums, wanted = search.packed, scratch.sums, search.wanted
    lefts, rights, counts, places = scratch.lefts, scratch.rights, scratch.counts, scratch.places
    table, opened, free = scratch.table, scratch.opened, scratch.free
    n, n_tasks = rows.shape[0], search.tiles.shape[0]
    n_chunks = -(-n // PARTITION_ROWS)
    for c in prange(n_chunks):
        pack_chunk(
            np.intp(c), n_chunks, rows, gradients, hessians, data.weights, packing, packed, sums
        )
    nodes[0, NODE_GRADIENT] = 0
    nodes[0, NODE_REST] = 0
    for c in range(n_chunks):
        nodes[0, NODE_GRADIENT] += sums[c, 0]
        nodes[0, NODE_REST] += sums[c, 1]
    nodes[0, NODE_START], nodes[0, NODE_STOP], nodes[0, NODE_DEPTH] = 0, n, 0
    nodes[0, NODE_LEFT], nodes[0, NODE_FEATURE], nodes[0, NODE_SLOT] = -1, -1, 0
    reals[0, NODE_GAIN], reals[0, NODE_VALUE] = 0.0, 0.0
    reals[0, NODE_LOWER], reals[0, NODE_UPPER] = -np.inf, np.inf
    for g in range(data.groups.shape[0]):
        active[0, g] = 1
    n_slots = search.histograms.shape[0]
    for s in range(n_slots):
        free[s] = n_slots - 1 - s
    n_free = n_slots - 1  # slot 0 is the root's
    # Typed from the start: of a literal, Numba compiles a variant of every function it is given to.
    n_nodes, n_leaves, n_open = np.intp(1), np.intp(1), np.intp(0)
    small, large = np.intp(0), np.intp(-1)
    while True:
        more = n_leaves < rules.max_leaves
        wanted[0] = np.uint8(more and may_split(small, nodes, rules))
        wanted[1] = np.uint8(more and large >= 0 and may_split(large, nodes, rules))
        if wanted[0] or wanted[1]:
            if nodes[small, NODE_SLOT] < 0:
                n_free -= 1
                nodes[small, NODE_SLOT] = free[n_free]
            for which in range(2):
                if wanted[which]:
                    choose_features(
                        small if which == 0 else large, data.groups, active, rules, scratch.state,
                        scratch.pool, search.allowed[which],
                    )  # fmt: skip
            for t in prange(n_tasks):
                evaluate_features(
                    np.intp(t), small, large, data, rows, packing, rules, tree, search, orders, keys
                )
        for which in range(1, -1, -1):
            node = small if which == 0 else large
            if node < 0:
                continue
            if wanted[which] and keep_best(
                node, search.gains[which], search.splits[which], nodes, reals
            ):
                opened[n_open] = node
                n_open += 1
            elif nodes[node, NODE_SLOT] >= 0:
                free[n_free] = nodes[node, NODE_SLOT]
                n_free += 1
                nodes[node, NODE_SLOT] = -1
        if n_open == 0 or n_leaves >= rules.max_leaves:
            break

        node = take_next(rules.order, opened, n_open, reals)
        n_open -= 1
        goes_left_table(nodes[node, NODE_SPLIT:], data.missing_bin, table)
        start, stop = nodes[node, NODE_START], nodes[node, NODE_STOP]
        n_parts = -(-(stop - start) // PARTITION_ROWS)
        column = data.columns[nodes[node, NODE_FEATURE]]
        if n_parts == 1:  # a launch would cost more
            partition_chunk(np.intp(0), start, stop, rows, column, table, lefts, rights, counts)
        else:
            for c in prange(n_parts):
                partition_chunk(np.intp(c), start, stop, rows, column, table, lefts, rights, counts)
        n_left = np.intp(0)
        for c in range(n_parts):
            places[c] = n_left
            n_left += counts[c]
        if n_parts == 1:
            collect_chunk(np.intp(0), start, stop, rows, lefts, rights, counts, places, n_left)
        else:
            for c in prange(n_parts):
                collect_chunk(np.intp(c), start, stop, rows, lefts, rights, counts, places, n_left)
        make_children(node, n_nodes, n_left, tree, data, rules)
        small, large = n_nodes, n_nodes + 1
        if 2 * n_left > stop - start:
            small, large = n_nodes + 1, n_nodes
        nodes[large, NODE_SLOT] = nodes[node, NODE_SLOT]
        nodes[node, NODE_SLOT] = -1
        n_nodes += 2
        n_leaves += 1
    for node in prange(n_nodes):
        sum_leaf(np.intp(node), nodes, rows, gradients, hessians, data.weights, leaf_sums)
    return n_nodes


@kernel
def add_leaf(node, nodes, rows, values, raw):
    """raw[r] += values[node] for the rows r of a leaf."""
    for i in range(nodes[node, NODE_START], nodes[node, NODE_STOP]):
        raw[np.uintp(rows[i])] += values[node]


@parallel_kernel
def add_leaf_values(n_nodes, nodes, rows, values, raw):
    """raw[r] += values[leaf that holds row r], for all rows that the tree was grown on."""
    for node in prange(n_nodes):
        if nodes[node, NODE_LEFT] < 0:
            add_leaf(np.intp(node), nodes, rows, values, raw)
