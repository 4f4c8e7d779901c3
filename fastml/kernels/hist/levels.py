"""A level of a tree on one block of its rows: nodes are split, and their smaller children counted.

What is counted are integers: histograms of blocks add up to those of all rows, whatever the cuts.
Blocks that one thread counts share tiles of packed words; they are emptied only when the next rows
might not fit, and at the end.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.hist.grow import (
    NODE_FEATURE,
    NODE_GRADIENT,
    NODE_LOWER,
    NODE_SPLIT,
    NODE_START,
    NODE_STOP,
    NODE_UPPER,
    choose_features,
    keep_best,
    make_children,
    may_split,
    sum_leaf,
)
from fastml.kernels.hist.histogram import COUNT_MASK, add_rows, empty_tile, subtract
from fastml.kernels.hist.split import SPLIT_REST, SPLIT_WORDS, goes_left_table, numeric_split

# Columns of the splits that a level makes; the words of the split follow.
MADE_NODE, MADE_LEFT, MADE_FEATURE, MADE_SPLIT = 0, 1, 2, 3
MADE_WORDS = MADE_SPLIT + SPLIT_WORDS

# Columns of the pairs of children that a level counts: the smaller one, whose rows are counted, the
# larger one (-1: a root has none), and where their histograms stand.
PAIR_SMALL, PAIR_LARGE, PAIR_SMALL_SLOT, PAIR_LARGE_SLOT = 0, 1, 2, 3
PAIR_WORDS = 4


class LevelCounts(NamedTuple):
    """Rows of some nodes, counted: a packed tile each, and what has been emptied from it."""

    nodes: np.ndarray  # (n_nodes,)
    slots: np.ndarray  # (n_nodes,) where its histogram is; -1: all its rows fit its tile
    filled: np.ndarray  # (n_nodes,) rows in the tile
    tiles: np.ndarray  # (n_nodes, n_features, 256)
    histograms: np.ndarray  # (n_slots, n_features, 256, 2)


class LevelSearch(NamedTuple):
    """What the search for the splits of a level works in: of each pair, the smaller child first."""

    wanted: np.ndarray  # (n_pairs, 2) uint8, whether to look for a split
    worth: np.ndarray  # (n_pairs, 2) uint8, whether one was found
    allowed: np.ndarray  # (n_pairs, 2, n_features) uint8
    gains: np.ndarray  # (n_pairs, 2, n_features)
    splits: np.ndarray  # (n_pairs, 2, n_features, SPLIT_WORDS)


@kernel
def split_range(i, data, rows, ranges, made, table, spare):
    """Sort the rows of node made[i] stably into those that go left and those that go right; writes
    ``rows`` and the ranges of both children to ``ranges``. ``table`` and ``spare`` are scratch."""
    node, left = made[i, MADE_NODE], made[i, MADE_LEFT]
    goes_left_table(made[i, MADE_SPLIT:], data.missing_bin, table)
    column = data.columns[made[i, MADE_FEATURE]]
    start, stop = ranges[node, 0], ranges[node, 1]
    n_left, n_right = np.uintp(start), np.uintp(start)
    for r in range(start, stop):
        row = rows[r]
        goes = np.uintp(table[column[np.uintp(row)]])
        rows[n_left] = row  # never beyond r: what stood there has been read
        spare[n_right] = row
        n_left += goes
        n_right += np.uintp(1) - goes
    middle = np.intp(n_left)
    for r in range(stop - middle):
        rows[middle + r] = spare[start + r]
    ranges[left, 0], ranges[left, 1] = start, middle
    ranges[left + 1, 0], ranges[left + 1, 1] = middle, stop


@kernel
def count_share(task, n_tasks, data, rows, packed, packing, ranges, counts):
    """Add the rows of the nodes to the tiles and histograms of ``counts`` for a share of the
    features; ``filled`` is left as it is."""
    n_features = data.bins.shape[1]
    first, last = task * n_features // n_tasks, (task + 1) * n_features // n_tasks
    for i in range(counts.nodes.shape[0]):
        tile, slot, filled = counts.tiles[i, first:last], counts.slots[i], counts.filled[i]
        begin, stop = ranges[counts.nodes[i], 0], ranges[counts.nodes[i], 1]
        while begin < stop:
            end = stop
            if slot >= 0:
                if filled == packing.rows_per_tile:
                    empty_tile(
                        tile, data.n_bins, data.missing_bin, packing, first, last,
                        counts.histograms[slot],
                    )  # fmt: skip
                    filled = np.intp(0)
                end = min(stop, begin + packing.rows_per_tile - filled)
            add_rows(data.bins, rows, begin, end, packed, first, last, tile)
            filled += end - begin
            begin = end


@kernel
def note_filled(packing, ranges, counts):
    """Write to ``counts.filled`` how many rows its tiles have after all of `count_share`."""
    for i in range(counts.nodes.shape[0]):
        filled = counts.filled[i] + ranges[counts.nodes[i], 1] - ranges[counts.nodes[i], 0]
        if counts.slots[i] >= 0 and filled > packing.rows_per_tile:
            filled = (filled - 1) % packing.rows_per_tile + 1
        counts.filled[i] = filled


@parallel_kernel
def level_of_block(data, rows, packed, packing, ranges, made, tables, spare, counts, n_tasks):
    """Make the splits ``made`` of nodes that own ``ranges`` of ``rows``, then add the rows of the
    nodes that ``counts`` names to it.

    Writes ``rows``, ``ranges`` and ``counts``; ``tables`` and ``spare`` are scratch.
    """
    for i in prange(made.shape[0]):
        split_range(np.intp(i), data, rows, ranges, made, tables[i], spare)
    for t in prange(n_tasks):
        count_share(np.intp(t), n_tasks, data, rows, packed, packing, ranges, counts)
    note_filled(packing, ranges, counts)


@parallel_kernel
def sum_leaves(nodes, rows, gradients, hessians, weights, sums):
    """Write to ``sums`` the exact sums of gradients and hessians of every leaf among ``nodes``."""
    for node in prange(nodes.shape[0]):
        sum_leaf(np.intp(node), nodes, rows, gradients, hessians, weights, sums)


# ---------------------------------------------------------------------------- the tree


@kernel
def split_level(chosen, left, last, tree, data, rules, made, pairs):
    """Split the chosen nodes, whose children are numbered from ``left``; returns how many pairs of
    children are to be counted. ``last``: they will not be split, so none is.

    Writes the children to ``tree``, the splits to ``made`` and the pairs to ``pairs``.
    """
    n_pairs = 0
    for i in range(chosen.shape[0]):
        node = chosen[i]
        n_left = tree.nodes[node, NODE_SPLIT + SPLIT_REST] & COUNT_MASK
        count = tree.nodes[node, NODE_STOP] - tree.nodes[node, NODE_START]
        make_children(node, left, n_left, tree, data, rules)
        made[i, MADE_NODE], made[i, MADE_LEFT] = node, left
        made[i, MADE_FEATURE] = tree.nodes[node, NODE_FEATURE]
        for word in range(SPLIT_WORDS):
            made[i, MADE_SPLIT + word] = tree.nodes[node, NODE_SPLIT + word]
        if not last and (
            may_split(left, tree.nodes, rules) or may_split(left + 1, tree.nodes, rules)
        ):
            right_is_small = np.intp(2 * n_left > count)
            pairs[n_pairs, PAIR_SMALL] = left + right_is_small
            pairs[n_pairs, PAIR_LARGE] = left + 1 - right_is_small
            n_pairs += 1
        left += 2
    return n_pairs


@kernel
def add_counts_share(task, n_tasks, fresh, counts, packing, data, pairs, pool):
    """`add_counts` for a share of the features of one node."""
    i, share = task // n_tasks, task % n_tasks
    n_features = data.n_bins.shape[0]
    first, last = share * n_features // n_tasks, (share + 1) * n_features // n_tasks
    own, slot = pool[pairs[i, PAIR_SMALL_SLOT]], counts.slots[i]
    for f in range(first, last):
        for place in range(data.n_bins[f] + 1):
            b = place if place < data.n_bins[f] else data.missing_bin
            if fresh:
                own[f, b, 0] = 0
                own[f, b, 1] = 0
            if slot >= 0:
                own[f, b, 0] += counts.histograms[slot, f, b, 0]
                own[f, b, 1] += counts.histograms[slot, f, b, 1]
    empty_tile(
        counts.tiles[i, first:last], data.n_bins, data.missing_bin, packing, first, last, own
    )


@parallel_kernel
def add_counts(fresh, counts, packing, data, pairs, pool, n_tasks):
    """Add what was counted to the histograms of the smaller children in the ``pool``; ``fresh``:
    these begin at zero. The tiles of ``counts`` are zero afterwards."""
    for t in prange(counts.nodes.shape[0] * n_tasks):
        add_counts_share(np.intp(t), n_tasks, fresh, counts, packing, data, pairs, pool)


@kernel
def search_share(task, n_tasks, data, rules, tree, pairs, pool, search):
    """For a share of the features of a pair, take the smaller child's histogram in the ``pool``
    from its parent's, which is then the larger one's; write ``search.gains`` and ``.splits``."""
    i, share = task // n_tasks, task % n_tasks
    n_features = data.n_bins.shape[0]
    first, last = share * n_features // n_tasks, (share + 1) * n_features // n_tasks
    if pairs[i, PAIR_LARGE] >= 0:
        subtract(
            pool[pairs[i, PAIR_LARGE_SLOT]], pool[pairs[i, PAIR_SMALL_SLOT]], data.n_bins,
            data.missing_bin, first, last,
        )  # fmt: skip
    for which in range(2):
        if not search.wanted[i, which]:
            continue
        node, histogram = pairs[i, which], pool[pairs[i, PAIR_SMALL_SLOT + which]]
        totals = tree.nodes[node, NODE_GRADIENT:NODE_SPLIT]
        lower, upper = tree.reals[node, NODE_LOWER], tree.reals[node, NODE_UPPER]
        for f in range(first, last):
            search.gains[i, which, f] = 0.0
            if search.allowed[i, which, f]:
                search.gains[i, which, f] = numeric_split(
                    histogram, f, data.n_bins[f], data.missing_bin, totals, rules, data.trends[f],
                    lower, upper, search.splits[i, which, f],
                )  # fmt: skip


@parallel_kernel
def search_level(data, rules, tree, pairs, pool, scratch, search, n_tasks):
    """Find the best splits of all children of a level in their histograms.

    Writes them to the children's rows of ``tree``, and to ``search.worth`` whether there is one;
    the larger children's histograms to the ``pool``. ``scratch`` and the rest of ``search`` are
    written on the way.
    """
    for i in range(pairs.shape[0]):
        for which in range(2):
            node = pairs[i, which]
            search.wanted[i, which] = np.uint8(node >= 0 and may_split(node, tree.nodes, rules))
            search.worth[i, which] = np.uint8(0)
            if search.wanted[i, which]:
                choose_features(
                    node, data.groups, tree.active, rules, scratch.state, scratch.pool,
                    search.allowed[i, which],
                )  # fmt: skip
    for t in prange(pairs.shape[0] * n_tasks):
        search_share(np.intp(t), n_tasks, data, rules, tree, pairs, pool, search)
    for i in range(pairs.shape[0]):
        for which in range(2):
            if search.wanted[i, which] and keep_best(
                pairs[i, which], search.gains[i, which], search.splits[i, which], tree.nodes,
                tree.reals,
            ):  # fmt: skip
                search.worth[i, which] = np.uint8(1)
