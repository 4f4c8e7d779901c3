"""Growth of one tree of a forest; a tree is a task, a launch grows a block of trees.

Rows of a node are a range of ``rows``, kept in order by a stable partition. Rows drawn several
times are one row with a larger weight. A node is evaluated when it is made (its split is found, or
it is a leaf), and divided when it is taken from the frontier: the last one made (depth first) or
the one that improves most (best first, with a limit on leaves).

What a tree needs decides what is compiled, by arguments that are None: ``codes`` for best splits or
``values`` for random ones; ``signs`` (monotonic directions) for pairs or ``offsets`` for slots.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.forest_leaf import leaf_of
from fastml.kernels.forest_random import search_random
from fastml.kernels.forest_split import (
    CONSTRAINED,
    INVALID,
    IS_CLASS,
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_LEAF,
    MIN_SPLIT,
    leaf_split,
    search_pairs,
    search_slots,
)
from fastml.kernels.heap import _sift_down, _worse
from fastml.kernels.rng import seed_stream
from fastml.kernels.tree_nodes import LEAF, MISSING_LEFT

# Positions in ``limits`` (floats), columns of ``work``.
LEAF_WEIGHT_FRACTION, MIN_DECREASE, IMPURITY_SCALE = range(3)
START, END, DEPTH, FEATURE, CODE, LEFT, RIGHT, MISSING = range(8)


# ---------------------------------------------------------------------------- rows


@kernel
def divide(codes, values, rows, spare, feature, code, missing, threshold, missing_left):
    """Stable partition of a node's rows. Returns how many are left."""
    n_left = 0
    n_right = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        goes_left = True
        if values is not None:
            value = values[feature, row]
            goes_left = value <= threshold or (missing_left == 1 and value != value)
        if codes is not None:
            found = np.intp(codes[row, feature])
            goes_left = found <= code or (missing_left == 1 and found == missing)
        rows[n_left] = row
        spare[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


# ---------------------------------------------------------------------------- the tree


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
    pending = np.empty(work.shape[0] + 1, dtype=np.int64)
    above = np.empty(work.shape[0] + 1, dtype=np.int64)
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
def grow_tree(
    seed,
    codes,
    values,
    n_codes,
    low,
    high,
    y,
    offsets,
    signs,
    rules,
    limits,
    weights,
    nodes,
    table,
    leaf_weights,
    leaf_rows,
    leaf_impurities,
    rows_by_leaf,
    sizes,
):
    """One tree into its slices of a block's arrays; ``sizes``: nodes, leaves, rows of the table."""
    n = y.shape[0]
    n_features = n_codes.shape[0]
    sizes[0] = sizes[1] = sizes[2] = 0
    rows = np.empty(n, dtype=np.int32)
    m = 0
    for i in range(n):
        if weights[i] > 0.0:
            rows[m] = i
            m += 1
    if m == 0:
        return
    constrained = rules[CONSTRAINED]
    n_slots = np.intp(2)
    if offsets is not None:
        n_slots = np.intp(offsets[offsets.shape[0] - 1])
    n_largest = 1
    for f in range(n_features):
        if n_codes[f] + 1 > n_largest:
            n_largest = n_codes[f] + 1
    spare = np.empty(m, dtype=np.int32)
    stats = np.empty((m, 2))
    slots = np.empty((3, n_slots))
    hist = np.zeros((n_largest, n_slots))
    counts = np.zeros(n_largest if rules[MIN_LEAF] > 1 else 1, dtype=np.int32)
    bits = np.zeros((n_largest >> 6) + 1, dtype=np.uint64)
    upper_bits = np.zeros((n_largest >> 12) + 1, dtype=np.uint64)
    occupied = np.empty(n_largest, dtype=np.int32)
    gathered = np.empty(m, dtype=np.float32)
    features = np.empty(n_features, dtype=np.int32)
    for f in range(n_features):
        features[f] = f
    state = np.empty(1, dtype=np.uint64)
    seed_stream(state, seed, np.uint64(0))

    weight_of_tree = 0.0
    for i in range(m):
        weight_of_tree += weights[rows[i]]
    least_weight = limits[LEAF_WEIGHT_FRACTION] * weight_of_tree
    scale = limits[IMPURITY_SCALE] / weight_of_tree

    most = min(2 * m - 1, nodes.shape[0])
    best_first = rules[MAX_LEAVES] > 0
    work = np.empty((most, 8), dtype=np.int32)
    thresholds = np.empty(most)
    bounds = np.empty((most if constrained else 1, 4))  # of the node's mean; means of its children
    gains = np.empty(most if best_first else 1)
    frontier = np.empty(most, dtype=np.int64)
    n_frontier = 0
    n_nodes = 0
    n_leaves = 1
    new = 1
    work[0, START] = 0
    work[0, END] = m
    work[0, DEPTH] = 0
    bounds[0, 0] = -np.inf
    bounds[0, 1] = np.inf
    while True:
        for _ in range(new):
            node = n_nodes
            n_nodes += 1
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
            split = leaf_split()
            if values is not None:
                split = search_random(
                    values,
                    y,
                    offsets,
                    signs,
                    rules,
                    state,
                    features,
                    weights,
                    rows[begin:end],
                    stats,
                    slots,
                    gathered,
                    least_weight,
                    bounds[own, 0],
                    bounds[own, 1],
                )
            if codes is not None:
                if signs is not None:
                    split = search_pairs(
                        codes,
                        n_codes,
                        low,
                        high,
                        y,
                        signs,
                        rules,
                        state,
                        features,
                        weights,
                        rows[begin:end],
                        stats,
                        hist,
                        counts,
                        bits,
                        upper_bits,
                        occupied,
                        least_weight,
                        bounds[own, 0],
                        bounds[own, 1],
                    )
                if offsets is not None:
                    split = search_slots(
                        codes,
                        n_codes,
                        low,
                        high,
                        y,
                        offsets,
                        rules,
                        state,
                        features,
                        weights,
                        rows[begin:end],
                        slots,
                        hist,
                        counts,
                        bits,
                        upper_bits,
                        occupied,
                        least_weight,
                    )
            gain = scale * (split.score - split.undivided)
            if split.score == INVALID or gain + 2.3e-16 < limits[MIN_DECREASE]:
                continue
            work[node, FEATURE] = split.feature
            work[node, CODE] = split.code
            work[node, MISSING] = split.missing_left
            thresholds[node] = split.threshold
            bounds[own, 2] = split.means[0]
            bounds[own, 3] = split.means[1]
            if best_first:
                push(gains, frontier, n_frontier, gain, np.int64(node))
            else:
                frontier[n_frontier] = node
            n_frontier += 1
        if n_frontier == 0 or (best_first and n_leaves >= rules[MAX_LEAVES]):
            break
        n_frontier -= 1
        if best_first:
            node = np.intp(frontier[0])
            _sift_down(gains, frontier, n_frontier, gains[n_frontier], frontier[n_frontier])
        else:
            node = np.intp(frontier[n_frontier])
        begin, end = np.intp(work[node, START]), np.intp(work[node, END])
        feature = np.intp(work[node, FEATURE])
        middle = begin + divide(
            codes,
            values,
            rows[begin:end],
            spare,
            feature,
            np.intp(work[node, CODE]),
            np.intp(n_codes[feature]),
            thresholds[node],
            work[node, MISSING],
        )
        if work[node, MISSING] == 2:
            work[node, MISSING] = 1 if middle - begin > end - middle else 0
        n_leaves += 1
        new = 2
        work[node, RIGHT] = n_nodes
        work[node, LEFT] = n_nodes + 1  # made last, divided first
        for child in range(2):
            made = n_nodes + child
            work[made, START] = begin if child == 1 else middle
            work[made, END] = middle if child == 1 else end
            work[made, DEPTH] = work[node, DEPTH] + 1
            if constrained:
                bounds[made, 0] = bounds[node, 0]
                bounds[made, 1] = bounds[node, 1]
                if signs is not None:
                    sign = signs[feature]
                    if sign != 0:
                        side = 1 if (child == 1) == (sign > 0) else 0
                        bounds[made, side] = 0.5 * (bounds[node, 2] + bounds[node, 3])

    order = np.empty(n_nodes, dtype=np.int64)
    parents = np.empty(n_nodes, dtype=np.int64)
    n_nodes = preorder(work[:n_nodes], order, parents)
    n_leaves = 0
    n_table = 0
    for i in range(n_nodes):
        node = order[i]
        if parents[i] >= 0:
            nodes[parents[i]]["right"] = i
        if work[node, LEFT] >= 0:
            nodes[i]["threshold"] = thresholds[node]
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
            slots[0],
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
    seeds,
    codes,
    values,
    n_codes,
    low,
    high,
    y,
    offsets,
    signs,
    rules,
    limits,
    weights,
    nodes,
    table,
    leaf_weights,
    leaf_rows,
    leaf_impurities,
    rows_by_leaf,
    sizes,
):
    """Grow ``len(seeds)`` trees, each into its own slice of the last seven arrays.

    ``weights`` has a row per tree, or one for all; rows of weight zero stay out.
    ``rows_by_leaf`` may have no columns.
    """
    for t in prange(seeds.shape[0]):
        grow_tree(
            seeds[t],
            codes,
            values,
            n_codes,
            low,
            high,
            y,
            offsets,
            signs,
            rules,
            limits,
            weights[np.intp(t) % weights.shape[0]],
            nodes[t],
            table[t],
            leaf_weights[t],
            leaf_rows[t],
            leaf_impurities[t],
            rows_by_leaf[t],
            sizes[t],
        )
