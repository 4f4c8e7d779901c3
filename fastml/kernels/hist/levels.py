"""A level of a tree on one block of its rows: nodes are split, and their smaller children counted.

What is counted are integers: histograms of blocks add up to those of all rows, whatever the cuts.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.hist.grow import (
    NODE_GRADIENT,
    NODE_LOWER,
    NODE_SPLIT,
    NODE_UPPER,
    choose_features,
    keep_best,
    sum_leaf,
)
from fastml.kernels.hist.histogram import add_node
from fastml.kernels.hist.split import SPLIT_WORDS, goes_left_table, numeric_split

# Columns of the splits that a level makes; the words of the split follow.
MADE_NODE, MADE_LEFT, MADE_FEATURE, MADE_SPLIT = 0, 1, 2, 3
MADE_WORDS = MADE_SPLIT + SPLIT_WORDS


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
def count_share(task, data, rows, packed, packing, ranges, counted, tiles, histograms):
    """Add the rows of node counted[i] to histograms[i] for a share of the features; ``tiles`` is
    scratch, zero before and after."""
    n_features, n_tasks = data.bins.shape[1], tiles.shape[0]
    first, last = task * n_features // n_tasks, (task + 1) * n_features // n_tasks
    for i in range(counted.shape[0]):
        start, stop = ranges[counted[i], 0], ranges[counted[i], 1]
        add_node(
            data.bins, rows, start, stop, packed, packing, data.n_bins, data.missing_bin, first,
            last, tiles[task], histograms[i],
        )  # fmt: skip


@parallel_kernel
def level_of_block(
    data, rows, packed, packing, ranges, made, counted, tables, spare, tiles, histograms
):
    """Make the splits ``made`` of nodes that own ``ranges`` of ``rows``, then add the rows of the
    nodes ``counted`` to ``histograms``.

    Writes ``rows``, ``ranges`` and ``histograms``; ``tables``, ``spare`` and ``tiles`` are scratch.
    """
    for i in prange(made.shape[0]):
        split_range(np.intp(i), data, rows, ranges, made, tables[i], spare)
    for t in prange(tiles.shape[0]):
        count_share(np.intp(t), data, rows, packed, packing, ranges, counted, tiles, histograms)


@parallel_kernel
def sum_leaves(nodes, rows, gradients, hessians, weights, sums):
    """Write to ``sums`` the exact sums of gradients and hessians of every leaf among ``nodes``."""
    for node in prange(nodes.shape[0]):
        sum_leaf(np.intp(node), nodes, rows, gradients, hessians, weights, sums)


@kernel
def search_share(task, n_tasks, node, data, rules, tree, histogram, allowed, gains, splits):
    """Write gains[f] and splits[f] of node for a share of the features f, numbers all of them."""
    n_features = data.n_bins.shape[0]
    totals = tree.nodes[node, NODE_GRADIENT:NODE_SPLIT]
    lower, upper = tree.reals[node, NODE_LOWER], tree.reals[node, NODE_UPPER]
    for f in range(task * n_features // n_tasks, (task + 1) * n_features // n_tasks):
        gains[f] = 0.0
        if allowed[f]:
            gains[f] = numeric_split(
                histogram, f, data.n_bins[f], data.missing_bin, totals, rules, data.trends[f],
                lower, upper, splits[f],
            )  # fmt: skip


@parallel_kernel
def search_node(node, data, rules, tree, histogram, scratch, allowed, gains, splits, n_tasks):
    """Write the best split of a node, found in its histogram, to its row of ``tree``; returns False
    if none is worth it.

    ``scratch``, ``allowed``, ``gains`` and ``splits`` (one per feature) are written on the way.
    """
    choose_features(node, data.groups, tree.active, rules, scratch.state, scratch.pool, allowed)
    for t in prange(n_tasks):
        search_share(
            np.intp(t), n_tasks, node, data, rules, tree, histogram, allowed, gains, splits
        )
    return keep_best(node, gains, splits, tree.nodes, tree.reals)
