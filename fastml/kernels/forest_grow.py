"""Growth of one tree of a forest; a tree is a task, a launch grows a block of trees.

Rows of a node are a range of ``rows``, kept in order by a stable partition. Rows drawn several
times are one row with a larger weight. A node is evaluated when it is made (its split is found, or
it is a leaf), and divided when it is taken from the frontier: the last one made (depth first) or
the one that improves most (best first, with a limit on leaves). Depth first, nodes of few rows are
left for later, when each grows its subtree in a frame of its own (`forest_frame`).

What a tree needs decides what is compiled, by arguments that are None: ``codes`` for best splits or
``at_random``; ``signs`` (monotonic directions) for pairs or ``offsets`` for slots. Numba drops the
branch of ``if x is not None`` that is not taken; it would keep both of ``if x is None``.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.code_set import all_words
from fastml.kernels.forest_frame import Frame, Scratch, fetch_rows, near_rows
from fastml.kernels.forest_leaf import leaf_of
from fastml.kernels.forest_random import search_random
from fastml.kernels.forest_score import (
    CONSTRAINED,
    INVALID,
    IS_CLASS,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_LEAF,
    MIN_SPLIT,
    leaf_split,
)
from fastml.kernels.forest_split import search_pairs, search_slots
from fastml.kernels.heap import _sift_down, _worse
from fastml.kernels.presort import MISSING_KEY
from fastml.kernels.rng import child_seed
from fastml.kernels.tree_nodes import LEAF, MISSING_LEFT

# Positions in ``limits`` (floats), columns of ``work``, positions in ``progress``.
LEAF_WEIGHT_FRACTION, MIN_DECREASE, IMPURITY_SCALE = range(3)
START, END, DEPTH, FEATURE, LEFT, RIGHT, MISSING = range(7)
N_NODES, N_LATER = range(2)


class Growth(NamedTuple):
    """Nodes of the tree so far, in the order they were made.

    Rows of ``work`` are described by the names above; a split sends codes up to ``cuts`` left.
    ``bounds``: of a node's mean, and the means of its children. ``frontier`` lists the nodes to
    divide, a heap by ``gains`` if best first; ``later`` the small ones that were not evaluated.
    """

    work: np.ndarray
    cuts: np.ndarray
    thresholds: np.ndarray
    bounds: np.ndarray
    seeds: np.ndarray
    gains: np.ndarray
    frontier: np.ndarray
    later: np.ndarray
    progress: np.ndarray


@kernel
def divide(column, rows, spare, cut, missing, missing_left):
    """Stable partition of a node's rows. Returns how many are left."""
    n_left = 0
    n_right = 0
    also_missing = missing_left == 1
    for i in range(rows.shape[0]):
        row = rows[i]
        goes_left = (column[row] <= cut) | (also_missing & (column[row] == missing))
        rows[n_left] = row
        spare[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


@kernel
def push(gains, ids, size, gain, node):
    """Into a max-heap that `_sift_down` empties."""
    slot = size
    while slot > 0:
        parent = (slot - 1) >> 1
        if not _worse(gain, node, gains[parent], ids[parent]):
            break
        gains[slot] = gains[parent]
        ids[slot] = ids[parent]
        slot = parent
    gains[slot] = gain
    ids[slot] = node


@kernel
def preorder(work, order, parents):
    """Nodes in preorder; the place of the parent where a node is a right child, else -1."""
    pending = np.empty(work.shape[0] + 1, dtype=np.int32)
    above = np.empty(work.shape[0] + 1, dtype=np.int32)
    pending[0] = 0
    above[0] = -1
    n_pending = 1
    n = 0
    while n_pending > 0:
        n_pending -= 1
        node = pending[n_pending]
        order[n] = node
        parents[n] = above[n_pending]
        if work[node, LEFT] >= 0:
            pending[n_pending] = work[node, RIGHT]
            above[n_pending] = n
            pending[n_pending + 1] = work[node, LEFT]
            above[n_pending + 1] = -1
            n_pending += 2
        n += 1
    return n


@kernel
def grow_nodes(
    growth, frame, codes, at_random, offsets, signs, rules, limits, state, features, rows,
    scratch, spare, root, small, least_weight, scale,
):  # fmt: skip
    """Grow the subtree of the node ``root``; nodes of up to ``small`` rows are left for later."""
    work, bounds, frontier, progress = growth.work, growth.bounds, growth.frontier, growth.progress
    constrained = rules[CONSTRAINED]
    best_first = rules[MAX_LEAVES] > 0
    n_frontier = 0
    n_leaves = 1
    first, last = root, root + 1  # nodes just made
    while True:
        for node in range(first, last):
            own = node if constrained else 0
            begin, end = np.intp(work[node, START]), np.intp(work[node, END])
            work[node, LEFT] = -1
            size = end - begin
            if (
                work[node, DEPTH] >= rules[MAX_DEPTH]
                or size < rules[MIN_SPLIT]
                or size < 2 * rules[MIN_LEAF]
            ):
                continue
            if size <= small:
                growth.later[progress[N_LATER]] = node
                progress[N_LATER] += 1
                continue
            state[0] = growth.seeds[node]
            split = leaf_split()
            if at_random is not None:
                split = search_random(
                    frame, offsets, signs, rules, state, features, rows[begin:end], scratch,
                    least_weight, bounds[own, 0], bounds[own, 1],
                )  # fmt: skip
            if codes is not None:
                if signs is not None:
                    split = search_pairs(
                        frame, codes, signs, rules, state, features, rows[begin:end], scratch,
                        least_weight, bounds[own, 0], bounds[own, 1],
                    )  # fmt: skip
                if offsets is not None:
                    split = search_slots(
                        frame, codes, offsets, rules, state, features, rows[begin:end], scratch,
                        least_weight,
                    )  # fmt: skip
            gain = scale * (split.score - split.undivided)
            if split.score == INVALID or gain + 2.3e-16 < limits[MIN_DECREASE]:
                continue
            work[node, FEATURE] = split.feature
            work[node, MISSING] = split.missing_left
            growth.cuts[node] = split.code
            growth.thresholds[node] = split.threshold
            bounds[own, 2] = split.means[0]
            bounds[own, 3] = split.means[1]
            if best_first:
                push(growth.gains, frontier, n_frontier, gain, node)
            else:
                frontier[n_frontier] = node
            n_frontier += 1
        if n_frontier == 0 or (best_first and n_leaves >= rules[MAX_LEAVES]):
            break
        n_frontier -= 1
        if best_first:
            node = np.intp(frontier[0])
            gains = growth.gains
            _sift_down(gains, frontier, n_frontier, gains[n_frontier], frontier[n_frontier])
        else:
            node = np.intp(frontier[n_frontier])
        begin, end = np.intp(work[node, START]), np.intp(work[node, END])
        feature = np.intp(work[node, FEATURE])
        missing = np.intp(MISSING_KEY)
        if codes is not None:
            missing = np.intp(codes.n_codes[feature])
        middle = begin + divide(
            frame.columns[feature], rows[begin:end], spare, growth.cuts[node], missing,
            work[node, MISSING],
        )  # fmt: skip
        if work[node, MISSING] == 2:
            work[node, MISSING] = 1 if middle - begin > end - middle else 0
        n_leaves += 1
        first, last = progress[N_NODES], progress[N_NODES] + 2
        progress[N_NODES] = last
        work[node, RIGHT] = first
        work[node, LEFT] = first + 1  # made last, divided first
        for made in range(first, last):
            is_left = made > first
            work[made, START] = begin if is_left else middle
            work[made, END] = middle if is_left else end
            work[made, DEPTH] = work[node, DEPTH] + 1
            growth.seeds[made] = child_seed(growth.seeds[node], is_left)
            if constrained:
                bounds[made, 0] = bounds[node, 0]
                bounds[made, 1] = bounds[node, 1]
                if signs is not None:
                    sign = signs[feature]
                    if sign != 0:
                        side = 1 if is_left == (sign > 0) else 0
                        bounds[made, side] = 0.5 * (bounds[node, 2] + bounds[node, 3])


@kernel
def grow_tree(
    seed, frame, codes, at_random, offsets, signs, rules, limits, nodes, table, leaf_weights,
    leaf_rows, leaf_impurities, rows_by_leaf, sizes,
):  # fmt: skip
    """One tree into its slices of a block's arrays; ``sizes``: nodes, leaves, rows of the table."""
    y, weights = frame.y, frame.weights
    n = weights.shape[0]
    n_features = frame.columns.shape[0]
    sizes[0] = sizes[1] = sizes[2] = 0
    rows = np.empty(n, dtype=np.uint32)
    m = 0
    weight_of_tree = 0.0
    for i in range(n):
        if weights[i] > 0.0:
            weight_of_tree += weights[i]
            rows[m] = i
            m += 1
    if m == 0:
        return
    least_weight = limits[LEAF_WEIGHT_FRACTION] * weight_of_tree
    scale = limits[IMPURITY_SCALE] / weight_of_tree
    n_slots = np.intp(2)
    if offsets is not None:
        n_slots = np.intp(offsets[offsets.shape[0] - 1])
    n_codes = np.intp(1)
    if codes is not None:
        for f in range(n_features):
            n_codes = max(n_codes, np.intp(codes.n_codes[f]) + 1)
    scratch = Scratch(
        np.empty(m, np.uint32),
        np.empty((2, m)),
        np.empty((3, n_slots)),
        np.zeros((n_codes, n_slots)),
        np.zeros(n_codes if rules[MIN_LEAF] > 1 else 1, np.int32),
        np.zeros(all_words(n_codes), np.uint64),
        np.empty(n_codes + 1, np.int32),
        np.empty((3, n_codes + 1)),
    )
    spare = np.empty(m, dtype=np.uint32)
    features = np.empty(n_features, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)

    constrained = rules[CONSTRAINED]
    best_first = rules[MAX_LEAVES] > 0
    n_nodes = min(2 * m - 1, nodes.shape[0])
    growth = Growth(
        np.empty((n_nodes, 7), np.int32),
        np.empty(n_nodes, np.uint32),
        np.empty(n_nodes),
        np.empty((n_nodes if constrained else 1, 4)),
        np.empty(n_nodes, np.uint64),
        np.empty(n_nodes if best_first else 1),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.zeros(2, np.int32),
    )
    work, bounds = growth.work, growth.bounds
    work[0, START] = 0
    work[0, END] = m
    work[0, DEPTH] = 0
    bounds[0, 0] = -np.inf
    bounds[0, 1] = np.inf
    growth.seeds[0] = seed
    growth.progress[N_NODES] = 1
    small = 0 if best_first else min(near_rows(frame, rules[MAX_FEATURES]), m)
    near = Frame(
        np.empty((n_features, small), frame.columns.dtype),
        np.empty((y.shape[0], small)),
        np.empty(small),
    )
    own_rows = np.empty(small, dtype=np.uint32)
    at = -1  # the top of the tree, then subtree by subtree; one call, or it is compiled twice
    while at < growth.progress[N_LATER]:
        root = np.intp(0 if at < 0 else growth.later[at])
        begin, end = np.intp(work[root, START]), np.intp(work[root, END])
        if at >= 0:
            fetch_rows(frame, rows[begin:end], near)
            for j in range(end - begin):
                own_rows[j] = rows[begin + j]
                rows[begin + j] = j
        grow_nodes(
            growth, frame if at < 0 else near, codes, at_random, offsets, signs, rules, limits,
            state, features, rows, scratch, spare, root, small if at < 0 else 0, least_weight,
            scale,
        )  # fmt: skip
        if at >= 0:
            for j in range(begin, end):
                rows[j] = own_rows[rows[j]]
        at += 1

    n_nodes = growth.progress[N_NODES]
    order = np.empty(n_nodes, dtype=np.int32)
    parents = np.empty(n_nodes, dtype=np.int32)
    preorder(work[:n_nodes], order, parents)
    n_leaves = 0
    n_table = 0
    for i in range(n_nodes):
        node = order[i]
        if parents[i] >= 0:
            nodes[parents[i]]["right"] = i
        if work[node, LEFT] >= 0:
            nodes[i]["threshold"] = growth.thresholds[node]
            flag = MISSING_LEFT if work[node, MISSING] == 1 else 0
            nodes[i]["feature"] = work[node, FEATURE] | flag
            continue
        own = node if constrained else 0
        begin, end = np.intp(work[node, START]), np.intp(work[node, END])
        weight, impurity, pure = leaf_of(
            y,
            offsets,
            rules,
            weights,
            rows[begin:end],
            scratch.slots[0],
            bounds[own, 0],
            bounds[own, 1],
            table[n_table],
        )
        leaf_weights[n_leaves] = weight
        leaf_rows[n_leaves] = end - begin
        leaf_impurities[n_leaves] = impurity
        n_leaves += 1
        nodes[i]["feature"] = LEAF
        nodes[i]["threshold"] = 0.0
        nodes[i]["right"] = ~pure if pure >= 0 else n_table
        if not rules[IS_CLASS] and table.shape[1] == 1:
            nodes[i]["threshold"] = table[0, 0]
        elif pure < 0:
            n_table += 1
    sizes[0], sizes[1], sizes[2] = n_nodes, n_leaves, n_table
    if rows_by_leaf.shape[0] == n:
        for i in range(m):
            rows_by_leaf[i] = rows[i]


@parallel_kernel
def grow_trees(
    seeds, columns, y, codes, at_random, offsets, signs, rules, limits, weights, nodes, table,
    leaf_weights, leaf_rows, leaf_impurities, rows_by_leaf, sizes,
):  # fmt: skip
    """Grow ``len(seeds)`` trees, each into its own slice of the last seven arrays.

    ``weights`` has a row per tree, or one for all; rows of weight zero stay out.
    ``rows_by_leaf`` may have no columns.
    """
    for t in prange(seeds.shape[0]):
        grow_tree(
            seeds[t], Frame(columns, y, weights[np.intp(t) % weights.shape[0]]), codes, at_random,
            offsets, signs, rules, limits, nodes[t], table[t], leaf_weights[t], leaf_rows[t],
            leaf_impurities[t], rows_by_leaf[t], sizes[t],
        )  # fmt: skip
