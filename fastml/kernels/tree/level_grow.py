"""A regression tree level by level: columns keep one order, rows hold their node's number.

Every level walks each column once from its smallest value to its largest and keeps, per node, the
sums of what lies left. Nothing is partitioned or copied, so one sort serves any number of trees;
a level costs the same however few of its nodes are still open, which suits shallow trees.

Nodes have *slots* in the order of their making, the two children of a node side by side. ``slots``
holds every row's node, ``lanes`` its number within the level, from 1 on; lane 0 takes the rows that
are not searched any more: those in leaves, and those of weight zero, which still go down
the tree with the others.
Sums run in the order of rows and of sorted values, as in `grow`: the trees are the same.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.rng import child_seed, wins_tie
from fastml.kernels.tree.exact_split import BELOW, ROW, apart
from fastml.kernels.tree.node_split import EPSILON
from fastml.kernels.tree.nodes import sum_of_quotients
from fastml.kernels.tree.presort import value_of

NEARLY = 1.0 - 1e-12
"""A product that falls short of this share of the best cannot win by its exact quotient."""

ROWS_PER_CHUNK = 8192


class LevelNodes(NamedTuple):
    """The nodes of a tree that grows level by level, by slot."""

    features: np.ndarray
    thresholds: np.ndarray
    lefts: np.ndarray  # slot of the left child, the right one is the next; -1 at leaves
    seeds: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    sums: np.ndarray
    impurities: np.ndarray
    final: np.ndarray  # bool: is not searched


@kernel
def _split_score(previous, entry, s, t, a, b, n_left, n_right, rules, best):
    """Score of the split between two entries if it may be made and beats ``best``, else that.

    Left of it lie the sum s, the weight a and n_left rows, right of it t, b and n_right.
    """
    if (entry ^ previous) < BELOW or n_left < rules.min_leaf or n_right < rules.min_leaf:
        return best
    if a < rules.min_weight or b < rules.min_weight:
        return best
    score = sum_of_quotients(s * s, a, t * t, b)
    return score if score > best and apart(previous, entry) else best


@kernel
def _scan_whole(entries, moments, weights, tree, rules, scores, edges):
    """`scan_column` for a root that holds every row: sums stay in registers."""
    total, whole, n = tree.sums[0], tree.weights[0], np.float64(entries.shape[0])
    s, a, best, previous = 0.0, 0.0, -np.inf, entries[0]
    for p in range(entries.shape[0]):
        entry = entries[p]
        t, b = total - s, whole - a
        n_left = np.float64(p)
        promising = True
        if weights is None:  # without a division; 0 <= a, b
            promising = s * s * b + t * t * a > best * (a * b) * NEARLY
        if promising:
            score = _split_score(previous, entry, s, t, a, b, n_left, n - n_left, rules, best)
            if score > best:
                best = score
                edges[1, 0], edges[1, 1] = previous, entry
        row = np.uint64(entry & ROW)
        s += moments[row]
        a += 1.0 if weights is None else weights[row]
        previous = entry
    scores[1] = best


@kernel
def scan_column(entries, lanes, moments, weights, first, last, tree, rules, scores, edges):
    """Write the best split of one column for every lane of the level: its score to ``scores`` and
    the entries around it to ``edges``.

    ``moments`` are targets times weights; ``weights`` is None where all of them are 0 or 1.
    """
    if last == 1 and tree.counts[0] == entries.shape[0]:
        _scan_whole(entries, moments, weights, tree, rules, scores, edges)
        return
    n_lanes = last - first + 1
    total, whole, rows = np.zeros(n_lanes), np.zeros(n_lanes), np.zeros(n_lanes)
    left, weight, count = np.zeros(n_lanes), np.zeros(n_lanes), np.zeros(n_lanes)
    below = np.zeros(n_lanes, np.uint64)
    scores[0], whole[0] = np.inf, np.inf  # never promising
    for lane in range(1, n_lanes):
        slot = first + lane - 1
        total[lane], whole[lane] = tree.sums[slot], tree.weights[slot]
        rows[lane] = tree.counts[slot]
        scores[lane] = np.inf if tree.final[slot] else -np.inf
    for p in range(entries.shape[0]):
        entry = entries[p]
        row = np.uint64(entry & ROW)
        lane = np.uint64(lanes[row])
        previous, s, a, best = below[lane], left[lane], weight[lane], scores[lane]
        t, b = total[lane] - s, whole[lane] - a
        promising = True
        if weights is None:
            promising = s * s * b + t * t * a > best * (a * b) * NEARLY
        if promising:
            n_left = a
            if weights is not None:
                n_left = count[lane]
            n_right = rows[lane] - n_left
            score = _split_score(previous, entry, s, t, a, b, n_left, n_right, rules, best)
            if score > best:
                scores[lane] = score
                edges[lane, 0], edges[lane, 1] = previous, entry
        left[lane] = s + moments[row]
        if weights is None:
            weight[lane] = a + 1.0
        else:
            weight[lane] = a + weights[row]
            count[lane] += 1.0
        below[lane] = entry


@parallel_kernel
def scan_columns(orders, lanes, moments, weights, first, last, tree, rules, scores, edges):
    """`scan_column` for all columns; the level's nodes are the slots [first, last)."""
    for f in prange(orders.shape[0]):
        scan_column(
            orders[f], lanes, moments, weights, first, last, tree, rules, scores[f], edges[f]
        )


@kernel
def choose_splits(first, last, scores, edges, tree):
    """Write the best split of every open slot in [first, last) to ``tree`` and open its children;
    returns the number of slots then."""
    size = last
    for slot in range(first, last):
        if tree.final[slot]:
            continue
        lane, seed, best = slot - first + 1, tree.seeds[slot], -1
        for f in range(scores.shape[0]):
            score = scores[f, lane]
            if score == -np.inf:
                continue
            if best < 0 or score > scores[best, lane]:
                best = f
            elif score == scores[best, lane]:
                if wins_tie(seed, f, best):
                    best = f
        if best < 0:
            continue
        a = np.float64(value_of(edges[best, lane, 0]))
        b = np.float64(value_of(edges[best, lane, 1]))
        middle = a / 2.0 + b / 2.0
        tree.thresholds[slot] = a if middle == b or abs(middle) == np.inf else middle
        tree.features[slot] = best
        tree.lefts[slot] = size
        tree.seeds[size] = child_seed(seed, True)
        tree.seeds[size + 1] = child_seed(seed, False)
        size += 2
    return size


@kernel
def _route_chunk(c, first, last, X, weights, tree, slots, lanes):
    """`route_rows` for chunk c of the rows."""
    start = c * ROWS_PER_CHUNK
    for i in range(start, min(start + ROWS_PER_CHUNK, X.shape[0])):
        slot, lane = slots[i], 0
        if slot >= first and tree.lefts[slot] >= 0:
            right = X[i, tree.features[slot]] > tree.thresholds[slot]
            slot = tree.lefts[slot] + np.int32(right)
            slots[i] = slot
            lane = slot - last + 1
            if weights is not None and weights[i] == 0.0:
                lane = 0
        lanes[i] = lane


@parallel_kernel
def route_rows(n_chunks, first, last, X, weights, tree, slots, lanes):
    """Send the rows of split slots in [first, last) to the children, whose slots start at ``last``:
    writes their ``slots`` and ``lanes``."""
    for c in prange(n_chunks):
        _route_chunk(np.intp(c), first, last, X, weights, tree, slots, lanes)


@kernel
def level_statistics(first, last, depth, lanes, values, weights, rules, tree):
    """Write to ``tree`` the counts, weights, sums and impurities of the slots [first, last), and
    which of them are final."""
    n_lanes = last - first + 1
    counts, totals, whole = np.zeros(n_lanes), np.zeros(n_lanes), np.zeros(n_lanes)
    for i in range(values.shape[0]):
        lane = np.uint64(lanes[i])
        w = 1.0
        if weights is not None:
            w = weights[i]
            whole[lane] += w
        totals[lane] += w * values[i]
        counts[lane] += 1.0
    if weights is None:
        whole[:] = counts
    means, losses = totals / whole, np.zeros(n_lanes)
    for i in range(values.shape[0]):
        lane = np.uint64(lanes[i])
        gap = values[i] - means[lane]
        losses[lane] += gap * gap if weights is None else weights[i] * gap * gap
    for slot in range(first, last):
        lane = slot - first + 1
        n, weight = counts[lane], whole[lane]
        tree.counts[slot], tree.weights[slot], tree.sums[slot] = n, weight, totals[lane]
        tree.impurities[slot] = losses[lane] / weight
        tree.lefts[slot] = -1
        tree.final[slot] = (
            depth >= rules.max_depth
            or n < rules.min_split
            or n < 2 * rules.min_leaf
            or weight < 2.0 * rules.min_weight
            or tree.impurities[slot] <= EPSILON
        )


@kernel
def take_back(first, last, min_decrease, whole, tree):
    """Make leaves of the slots [first, last) of ``tree`` whose split lowers the impurity by less
    than ``min_decrease``; returns their number.

    ``whole`` is the weight of all rows. Their children stay as slots that no node points to, and
    are final.
    """
    n_taken = 0
    for slot in range(first, last):
        left = tree.lefts[slot]
        if left < 0:
            continue
        weight, within = tree.weights[slot], 0.0
        for child in range(left, left + 2):
            within += tree.weights[child] / weight * tree.impurities[child]
        gain = weight / whole * (tree.impurities[slot] - within)
        if gain + EPSILON < min_decrease:
            tree.lefts[slot] = -1
            tree.final[left], tree.final[left + 1] = True, True
            n_taken += 1
    return n_taken
