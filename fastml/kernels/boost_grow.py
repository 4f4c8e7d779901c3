"""One tree on binned rows: best leaf first, a histogram for the smaller child only.

A node owns a range of ``rows``; a split sorts the range stably into left and right. Open nodes hold
a histogram slot: the smaller child of a split gets a free one, the larger one its parent's.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.hist_split import (
    GRADIENT_UNIT,
    HESSIAN_UNIT,
    MIN_ROWS,
    SPLIT_GRADIENT,
    SPLIT_WORDS,
    categorical_split,
    goes_left_table,
    node_value,
    numeric_split,
)
from fastml.kernels.histogram import (
    COUNT_BITS,
    COUNT_MASK,
    gradient_field,
    hessian_and_count,
    node_histogram,
    pack,
    subtract,
)
from fastml.kernels.rng import draw, seed_stream

# Columns of the integer part of a node; a split's words follow.
START, STOP, DEPTH, LEFT, FEATURE, SLOT, GRADIENT, REST, SPLIT = 0, 1, 2, 3, 4, 5, 6, 7, 8
NODE_WORDS = SPLIT + SPLIT_WORDS
# Columns of its float part.
GAIN, LOWER, UPPER, VALUE = 0, 1, 2, 3
NODE_FLOATS = 4

# Fields of `limits`.
MAX_LEAVES, MAX_DEPTH, ORDER, N_DRAWN, SEED = 0, 1, 2, 3, 4
N_LIMITS = 5
BEST_FIRST, LEVEL_FIRST, DEPTH_FIRST = 0, 1, 2

PARTITION_ROWS = 8192


@kernel
def pack_chunk(chunk, n_chunks, rows, gradients, hessians, scales, packing, packed, sums):
    """Pack a share of the rows; their sums go to sums[chunk]."""
    n = rows.shape[0]
    first, last = chunk * n // n_chunks, (chunk + 1) * n // n_chunks
    g, rest = np.int64(0), np.int64(0)
    for i in range(first, last):
        r = np.intp(rows[i])
        word = pack(gradients[r], hessians[r], scales[0], scales[1], packing)
        packed[r] = word
        g += gradient_field(word, packing)
        rest += hessian_and_count(word, packing)
    sums[chunk, 0] = g
    sums[chunk, 1] = rest


@kernel
def partition_chunk(chunk, start, stop, rows, column, table, lefts, rights, counts):
    """Part one chunk of the range into its left and its right rows, in order."""
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
    """Put the parts of one chunk where they belong; places[chunk] rows went left before it."""
    first = start + chunk * PARTITION_ROWS
    last = min(stop, first + PARTITION_ROWS)
    left = start + places[chunk]
    right = start + n_left + (first - start) - places[chunk]
    for i in range(counts[chunk]):
        rows[left + i] = lefts[first + i]
    for i in range(last - first - counts[chunk]):
        rows[right + i] = rights[first + i]


@kernel
def may_split(node, nodes, rules, limits):
    count = nodes[node, REST] & COUNT_MASK
    if limits[MAX_DEPTH] >= 0 and nodes[node, DEPTH] >= limits[MAX_DEPTH]:
        return False
    return count >= 2 * np.int64(rules[MIN_ROWS])


@kernel
def choose_features(node, n_features, groups, active, limits, state, pool, allowed):
    """allowed[f] for the node: in an active group of interactions, and drawn."""
    n_groups = groups.shape[0]
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
    if limits[N_DRAWN] >= 1000:  # per mille: all of them
        return
    n_drawn = max(1, -(-n_allowed * limits[N_DRAWN] // 1000))
    seed_stream(state, np.uint64(limits[SEED]), np.uint64(node))
    for i in range(n_allowed):
        allowed[pool[i]] = np.uint8(0)
    for i in range(min(n_drawn, n_allowed)):
        allowed[draw(state, pool[:n_allowed], i)] = np.uint8(1)


@kernel
def evaluate_features(
    task, n_tasks, small, large, bins, rows, packed, packing, n_bins, missing_bin, categorical,
    trends, rules, nodes, reals, histograms, tiles, allowed, wanted, gains, splits, orders, keys,
):  # fmt: skip
    """Histograms of a share of the features for both children, and their best splits.

    ``orders`` is None if no feature has categories: the code for them is then not compiled.
    """
    n_features = bins.shape[1]
    first, last = task * n_features // n_tasks, (task + 1) * n_features // n_tasks
    slot = nodes[small, SLOT]
    node_histogram(
        bins, rows, nodes[small, START], nodes[small, STOP], packed, packing, n_bins, missing_bin,
        first, last, tiles[task], histograms[slot],
    )  # fmt: skip
    if large >= 0:
        subtract(histograms[nodes[large, SLOT]], histograms[slot], n_bins, missing_bin, first, last)
    for which in range(2):
        if not wanted[which]:
            continue
        node = small if which == 0 else large
        lower, upper = reals[node, LOWER], reals[node, UPPER]
        totals = nodes[node, GRADIENT:SPLIT]
        histogram = histograms[nodes[node, SLOT]]
        for f in range(first, last):
            gains[which, f] = 0.0
            if not allowed[which, f]:
                continue
            if orders is not None and categorical[f]:
                gains[which, f] = categorical_split(
                    histogram, f, n_bins[f], missing_bin, totals, rules, lower, upper,
                    orders[task], keys[task], splits[which, f],
                )  # fmt: skip
            else:
                gains[which, f] = numeric_split(
                    histogram, f, n_bins[f], missing_bin, totals, rules, trends[f], lower, upper,
                    splits[which, f],
                )  # fmt: skip


@kernel
def keep_best(node, gains, splits, nodes, reals):
    """The best feature, the first of equals; False if no split is worth it."""
    best = -1
    for f in range(gains.shape[0]):
        if gains[f] > 0.0 and (best < 0 or gains[f] > gains[best]):
            best = f
    if best < 0:
        return False
    reals[node, GAIN] = gains[best]
    nodes[node, FEATURE] = best
    for word in range(SPLIT_WORDS):
        nodes[node, SPLIT + word] = splits[best, word]
    return True


@kernel
def take_next(order, opened, n_open, reals):
    """Remove the node to split next from the open ones and return it."""
    place = n_open - 1
    if order != DEPTH_FIRST:
        place = 0
        for i in range(1, n_open):
            if order == BEST_FIRST and reals[opened[i], GAIN] > reals[opened[place], GAIN]:
                place = i
    node = opened[place]
    for i in range(place, n_open - 1):
        opened[i] = opened[i + 1]
    return node


@kernel
def make_children(node, left, n_left, nodes, reals, rules, trends, groups, active):
    """Two new nodes: ranges, sums and bounds of their values."""
    right = left + 1
    feature = nodes[node, FEATURE]
    nodes[node, LEFT] = left
    middle = nodes[node, START] + n_left
    nodes[left, START], nodes[left, STOP] = nodes[node, START], middle
    nodes[right, START], nodes[right, STOP] = middle, nodes[node, STOP]
    for word in range(2):
        nodes[left, GRADIENT + word] = nodes[node, SPLIT + SPLIT_GRADIENT + word]
        nodes[right, GRADIENT + word] = nodes[node, GRADIENT + word] - nodes[left, GRADIENT + word]
    for child in range(left, left + 2):
        nodes[child, LEFT] = -1
        nodes[child, FEATURE] = -1
        nodes[child, SLOT] = -1
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
        reals[child, GAIN] = 0.0
        reals[child, LOWER], reals[child, UPPER] = reals[node, LOWER], reals[node, UPPER]
        reals[child, VALUE] = node_value(
            nodes[child, GRADIENT] * rules[GRADIENT_UNIT],
            (nodes[child, REST] >> COUNT_BITS) * rules[HESSIAN_UNIT],
            rules,
            reals[node, LOWER],
            reals[node, UPPER],
        )
        for g in range(groups.shape[0]):
            active[child, g] = active[node, g] & groups[g, feature]
    if trends[feature] != 0:
        between = (reals[left, VALUE] + reals[right, VALUE]) / 2.0
        if trends[feature] > 0:
            reals[left, UPPER] = between
            reals[right, LOWER] = between
        else:
            reals[right, UPPER] = between
            reals[left, LOWER] = between


@kernel
def sum_leaf(node, nodes, rows, gradients, hessians, sums):
    """Exact sums of a leaf's gradients and hessians, in the order of its rows."""
    sums[node, 0] = 0.0
    sums[node, 1] = 0.0
    if nodes[node, LEFT] >= 0:
        return
    g, h = 0.0, 0.0
    for i in range(nodes[node, START], nodes[node, STOP]):
        r = np.uintp(rows[i])
        g += gradients[r]
        h += hessians[r]
    sums[node, 0] = g
    sums[node, 1] = h


@parallel_kernel
def grow_tree(
    bins, columns, rows, lefts, rights, gradients, hessians, scales, packing, packed, n_bins,
    missing_bin, categorical, trends, groups, active, rules, limits, nodes, reals, histograms,
    tiles, opened, free, leaf_sums, sums, allowed, wanted, gains, splits, orders, keys, pool, state,
    table, counts, places,
):  # fmt: skip
    """Grow a tree on the given rows; returns its number of nodes. The root is node 0."""
    n, n_features, n_tasks = rows.shape[0], bins.shape[1], tiles.shape[0]
    n_chunks = -(-n // PARTITION_ROWS)
    for c in prange(n_chunks):
        pack_chunk(np.intp(c), n_chunks, rows, gradients, hessians, scales, packing, packed, sums)
    nodes[0, GRADIENT] = 0
    nodes[0, REST] = 0
    for c in range(n_chunks):
        nodes[0, GRADIENT] += sums[c, 0]
        nodes[0, REST] += sums[c, 1]
    nodes[0, START], nodes[0, STOP], nodes[0, DEPTH] = 0, n, 0
    nodes[0, LEFT], nodes[0, FEATURE], nodes[0, SLOT] = -1, -1, 0
    reals[0, GAIN], reals[0, VALUE] = 0.0, 0.0
    reals[0, LOWER], reals[0, UPPER] = -np.inf, np.inf
    for g in range(groups.shape[0]):
        active[0, g] = 1
    n_slots = histograms.shape[0]
    for s in range(n_slots):
        free[s] = n_slots - 1 - s
    n_free = n_slots - 1  # slot 0 is the root's
    # Typed from the start: of a literal, Numba compiles a variant of every function it is given to.
    n_nodes, n_leaves, n_open = np.intp(1), np.intp(1), np.intp(0)
    small, large = np.intp(0), np.intp(-1)
    while True:
        wanted[0] = np.uint8(
            n_leaves < limits[MAX_LEAVES] and may_split(small, nodes, rules, limits)
        )
        wanted[1] = np.uint8(
            large >= 0 and n_leaves < limits[MAX_LEAVES] and may_split(large, nodes, rules, limits)
        )
        if wanted[0] or wanted[1]:
            if nodes[small, SLOT] < 0:
                n_free -= 1
                nodes[small, SLOT] = free[n_free]
            for which in range(2):
                if wanted[which]:
                    node = small if which == 0 else large
                    choose_features(
                        node, n_features, groups, active, limits, state, pool, allowed[which]
                    )
            for t in prange(n_tasks):
                evaluate_features(
                    np.intp(t), n_tasks, small, large, bins, rows, packed, packing, n_bins,
                    missing_bin, categorical, trends, rules, nodes, reals, histograms, tiles,
                    allowed, wanted, gains, splits, orders, keys,
                )  # fmt: skip
        for which in range(1, -1, -1):
            node = small if which == 0 else large
            if node < 0:
                continue
            if wanted[which] and keep_best(node, gains[which], splits[which], nodes, reals):
                opened[n_open] = node
                n_open += 1
            elif nodes[node, SLOT] >= 0:
                free[n_free] = nodes[node, SLOT]
                n_free += 1
                nodes[node, SLOT] = -1
        if n_open == 0 or n_leaves >= limits[MAX_LEAVES]:
            break

        node = take_next(limits[ORDER], opened, n_open, reals)
        n_open -= 1
        feature = nodes[node, FEATURE]
        goes_left_table(nodes[node, SPLIT:], n_bins[feature], missing_bin, table)
        start, stop = nodes[node, START], nodes[node, STOP]
        n_parts = -(-(stop - start) // PARTITION_ROWS)
        column = columns[feature]
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
        make_children(node, n_nodes, n_left, nodes, reals, rules, trends, groups, active)
        small, large = n_nodes, n_nodes + 1
        if 2 * n_left > stop - start:
            small, large = n_nodes + 1, n_nodes
        nodes[large, SLOT] = nodes[node, SLOT]
        nodes[node, SLOT] = -1
        n_nodes += 2
        n_leaves += 1
    for node in prange(n_nodes):
        sum_leaf(np.intp(node), nodes, rows, gradients, hessians, leaf_sums)
    return n_nodes


@kernel
def add_leaf(node, nodes, rows, values, raw):
    for i in range(nodes[node, START], nodes[node, STOP]):
        raw[np.uintp(rows[i])] += values[node]


@parallel_kernel
def add_leaf_values(n_nodes, nodes, rows, values, raw):
    """raw[r] += value of the leaf that holds row r."""
    for node in prange(n_nodes):
        if nodes[node, LEFT] < 0:
            add_leaf(np.intp(node), nodes, rows, values, raw)
