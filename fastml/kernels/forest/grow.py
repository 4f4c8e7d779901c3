"""Growth of one tree of a forest; a tree is a task, a launch grows a block of trees.

Rows of a node are a range of ``rows``, kept in order by a stable partition. Rows drawn several
times are one row with a larger weight. A node is evaluated when it is made (its split is found, or
it is a leaf), and divided when it is taken from the frontier: the last one made (depth first) or
the one that improves most (best first, with a limit on leaves). Depth first, nodes of few rows are
left for later, when each grows its subtree in a frame of its own (see `frame`).

What a tree needs decides what is compiled, by arguments that are None: ``codes`` for best splits or
``at_random``; ``signs`` (directions of the columns, 0 is none) for pairs or ``offsets`` for slots.
Numba drops the branch of ``if x is not None`` that is not taken; it would keep both of
``if x is None``.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.forest.class_split import search_classes
from fastml.kernels.forest.frame import HANDFUL, Frame, Scratch, fetch_rows, near_rows
from fastml.kernels.forest.leaf import leaf_of
from fastml.kernels.forest.random_split import search_random
from fastml.kernels.forest.score import INVALID, impurity_factor, leaf_split
from fastml.kernels.forest.split import search_pairs, search_slots
from fastml.kernels.numeric.bitset import AT_ONCE_CODES, all_words
from fastml.kernels.numeric.heap import _sift_down, _worse
from fastml.kernels.numeric.rng import child_seed
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import ERROR, LEAF, MISSING_LEFT
from fastml.kernels.tree.presort import MISSING_KEY

# Columns of ``work``, positions in ``progress``.
START, END, DEPTH, SPLIT_COLUMN, LEFT, RIGHT, MISSING = range(7)
N_NODES, N_LATER = range(2)


class Growth(NamedTuple):
    """Nodes of the tree so far, in the order they were made."""

    work: np.ndarray  # (nodes, 7) columns named above; LEFT is -1 for a leaf
    cuts: np.ndarray  # a split sends codes up to here left
    thresholds: np.ndarray
    bounds: np.ndarray  # (nodes, 4) limits of a node's mean, and the means of its children
    seeds: np.ndarray  # uint64
    gains: np.ndarray  # by how much a split lowers the impurity
    frontier: np.ndarray  # nodes to divide, a heap by ``gains`` if best first
    later: np.ndarray  # small nodes that were not evaluated
    progress: np.ndarray  # (2,) positions named above
    spare: np.ndarray  # scratch: as many rows as the tree has
    stop: np.ndarray  # (1,) as in `GrownTrees`
    constrained: bool  # some column has a direction; otherwise ``bounds`` has one row
    scale: float  # scores times this are impurities times shares of the tree's weight


class GrownTrees(NamedTuple):
    """Where trees are written to: arrays of a block of trees, or their slices of one tree."""

    nodes: np.ndarray  # (trees, nodes) `nodes.NODE`
    table: np.ndarray  # (trees, leaves, columns of values), 1 row where leaves hold their value
    leaf_weights: np.ndarray  # (trees, leaves)
    leaf_rows: np.ndarray  # (trees, leaves) numbers of rows
    leaf_impurities: np.ndarray  # (trees, leaves)
    rows_by_leaf: np.ndarray  # (trees, rows) leaf by leaf, or no columns
    sizes: np.ndarray  # (trees, 3) nodes, leaves, rows of the table
    stop: np.ndarray  # (1,) for all trees: once it is not 0, what is left to divide stays leaves


@kernel
def divide(column, rows, spare, cut, missing, missing_left):
    """Put the rows of a node whose code in ``column`` is up to ``cut`` first, both parts in order;
    ``spare`` is scratch. Returns how many those are."""
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
    """Add a node to the max-heap of ``size`` ``gains`` and ``ids``; `_sift_down` empties it."""
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
    """Write the nodes to ``order``, parents before left before right; the place of the parent of a
    right child to ``parents``, else -1. Returns their number."""
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
def grow_nodes(growth, frame, codes, at_random, offsets, signs, rules, rows, scratch, root, small):
    """Grow the subtree of the node ``root``; nodes of up to ``small`` rows are left for later.

    Writes to ``growth`` and ``scratch``, and puts ``rows`` into the order of the leaves.
    """
    work, bounds, frontier, progress = growth.work, growth.bounds, growth.frontier, growth.progress
    constrained = growth.constrained
    best_first = rules.max_leaves > 0
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
                work[node, DEPTH] >= rules.max_depth
                or size < rules.min_split
                or size < 2 * rules.min_leaf
            ):
                continue
            if size <= small:
                growth.later[progress[N_LATER]] = node
                progress[N_LATER] += 1
                continue
            scratch.state[0] = growth.seeds[node]
            lower, upper = bounds[own, 0], bounds[own, 1]
            split = leaf_split()
            if at_random is not None:
                split = search_random(
                    frame, offsets, signs, rules, rows[begin:end], scratch, lower, upper
                )
            if codes is not None:
                if signs is not None:
                    split = search_pairs(
                        frame, codes, signs, rules, rows[begin:end], scratch, lower, upper
                    )
                if offsets is not None:
                    if scratch.numbers.shape[0] > 1:
                        split = search_classes(frame, codes, rules, rows[begin:end], scratch)
                    else:
                        split = search_slots(frame, codes, offsets, rules, rows[begin:end], scratch)
            gain = growth.scale * (split.score - split.undivided)
            if split.score == INVALID or gain + 2.3e-16 < rules.min_decrease:
                continue
            work[node, SPLIT_COLUMN] = split.feature
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
        if n_frontier == 0 or (best_first and n_leaves >= rules.max_leaves) or growth.stop[0] != 0:
            break
        n_frontier -= 1
        if best_first:
            node = np.intp(frontier[0])
            gains = growth.gains
            _sift_down(gains, frontier, n_frontier, gains[n_frontier], frontier[n_frontier])
        else:
            node = np.intp(frontier[n_frontier])
        begin, end = np.intp(work[node, START]), np.intp(work[node, END])
        feature = np.intp(work[node, SPLIT_COLUMN])
        missing = np.intp(MISSING_KEY)
        if codes is not None:
            missing = np.intp(codes.n_codes[feature])
        middle = begin + divide(
            frame.columns[feature], rows[begin:end], growth.spare, growth.cuts[node], missing,
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
def rows_of_tree(weights, rows):
    """Write the rows of positive weight to ``rows``. Returns their number and weight."""
    n = 0
    weight = 0.0
    for i in range(weights.shape[0]):
        if weights[i] > 0.0:
            weight += weights[i]
            rows[n] = i
            n += 1
    return n, weight


@kernel
def write_tree(growth, frame, offsets, criterion, rows, slots, tree):
    """Write the nodes of ``growth``, parents before left before right, and their leaves to
    ``tree``; ``slots`` is scratch."""
    work, bounds = growth.work, growth.bounds
    nodes, table = tree.nodes, tree.table
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
            nodes[i]["feature"] = work[node, SPLIT_COLUMN] | flag
            continue
        own = node if growth.constrained else 0
        begin, end = np.intp(work[node, START]), np.intp(work[node, END])
        weight, impurity, pure = leaf_of(
            frame, offsets, criterion, rows[begin:end], slots, bounds[own, 0], bounds[own, 1],
            table[n_table],
        )  # fmt: skip
        tree.leaf_weights[n_leaves] = weight
        tree.leaf_rows[n_leaves] = end - begin
        tree.leaf_impurities[n_leaves] = impurity
        n_leaves += 1
        nodes[i]["feature"] = LEAF
        nodes[i]["threshold"] = 0.0
        nodes[i]["right"] = ~pure if pure >= 0 else n_table
        if criterion > ERROR and table.shape[1] == 1:
            nodes[i]["threshold"] = table[0, 0]
        elif pure < 0:
            n_table += 1
    tree.sizes[0], tree.sizes[1], tree.sizes[2] = n_nodes, n_leaves, n_table


@kernel
def grow_tree(seed, frame, codes, at_random, offsets, signs, rules, leaf_share, tree):
    """Grow one tree on the rows of positive weight, into the slices ``tree`` of `GrownTrees`.

    ``leaf_share``: least weight of a leaf, as a share of the tree's; it takes the place of
    ``rules.min_weight``.
    """
    n = frame.weights.shape[0]
    n_features = frame.columns.shape[0]
    tree.sizes[0] = tree.sizes[1] = tree.sizes[2] = 0
    rows = np.empty(n, dtype=np.uint32)
    m, weight = rows_of_tree(frame.weights, rows)
    if m == 0:
        return
    own = GrowthRules(
        rules.criterion, rules.random, rules.max_depth, rules.min_split, rules.min_leaf,
        leaf_share * weight, rules.min_decrease, rules.max_features, rules.max_leaves,
    )  # fmt: skip
    pairs = False
    constrained = False
    if signs is not None:
        pairs = True
        for f in range(n_features):
            constrained |= signs[f] != 0
    n_slots = np.intp(2)
    if offsets is not None:
        n_slots = np.intp(offsets[offsets.shape[0] - 1])
    n_codes = np.intp(1)
    by_class = False
    if codes is not None:
        for f in range(n_features):
            n_codes = max(n_codes, np.intp(codes.n_codes[f]) + 1)
        by_class = offsets is not None and frame.y.shape[0] == 1
    scratch = Scratch(
        np.empty(1, np.uint64),
        np.empty(n_features, np.int32),
        np.empty(max(m, 2 * HANDFUL), np.uint32),
        np.empty((2, m)),
        np.empty((5 if by_class else 3, n_slots)),
        np.empty(n_slots - 1 if by_class else 1, np.int32),
        np.zeros((1 if by_class else n_codes, n_slots)),
        np.zeros(n_codes if by_class or rules.min_leaf > 1 else 1, np.int32),
        np.zeros(all_words(n_codes), np.uint64),
        np.empty(n_codes + AT_ONCE_CODES, np.int32),
        np.empty((3, n_codes + 1)),
    )
    best_first = rules.max_leaves > 0
    n_nodes = min(2 * m - 1, tree.nodes.shape[0])
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
        np.empty(m, np.uint32),
        tree.stop,
        constrained,
        impurity_factor(rules.criterion, pairs) / weight,
    )
    work = growth.work
    work[0, START] = 0
    work[0, END] = m
    work[0, DEPTH] = 0
    growth.bounds[0, 0] = -np.inf
    growth.bounds[0, 1] = np.inf
    growth.seeds[0] = seed
    growth.progress[N_NODES] = 1
    small = 0 if best_first else min(near_rows(frame, rules.max_features), m)
    near = Frame(
        np.empty((n_features, small), frame.columns.dtype),
        np.empty((frame.y.shape[0], small)),
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
            growth, frame if at < 0 else near, codes, at_random, offsets, signs, own, rows,
            scratch, root, small if at < 0 else 0,
        )  # fmt: skip
        if at >= 0:
            for j in range(begin, end):
                rows[j] = own_rows[rows[j]]
        at += 1
    write_tree(growth, frame, offsets, rules.criterion, rows, scratch.slots[0], tree)
    if tree.rows_by_leaf.shape[0] == n:
        for i in range(m):
            tree.rows_by_leaf[i] = rows[i]


@parallel_kernel
def grow_trees(seeds, frame, codes, at_random, offsets, signs, rules, leaf_share, grown):
    """Grow ``len(seeds)`` trees, each into its own slices of ``grown``; see `grow_tree`.

    ``frame.weights`` has a row per tree, or one for all.
    """
    weights = frame.weights
    for t in prange(seeds.shape[0]):
        grow_tree(
            seeds[t], Frame(frame.columns, frame.y, weights[np.intp(t) % weights.shape[0]]), codes,
            at_random, offsets, signs, rules, leaf_share,
            GrownTrees(
                grown.nodes[t], grown.table[t], grown.leaf_weights[t], grown.leaf_rows[t],
                grown.leaf_impurities[t], grown.rows_by_leaf[t], grown.sizes[t], grown.stop,
            ),
        )  # fmt: skip
