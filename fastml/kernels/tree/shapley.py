"""Exact Shapley values of trees, leaf by leaf.

A leaf is a game of its own: it is reached if every column of its path says so. For a row, bit s of
a mask says that column s of the path leads elsewhere; what each column gets depends on the mask
alone, so that it is worked out once for all rows of a tile that share it. Columns that are not in a
coalition count by the share of training rows that they let pass, or by the rows of a background.

J. Yang, "Fast TreeSHAP" (2021); S. M. Lundberg et al., "From local explanations to global
understanding with explainable AI for trees" (2020).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

MOST_SLOTS = 64
"""Columns of one path: bits of a mask."""


class PathTrees(NamedTuple):
    """Trees by nodes, and their leaves by the columns of their paths."""

    node_starts: np.ndarray  # (trees + 1,)
    leaf_starts: np.ndarray  # (trees + 1,)
    feature: np.ndarray  # (nodes,) int32, -1 at leaves
    threshold: np.ndarray  # (nodes,) float64; a row goes left if its value is not above
    missing_left: np.ndarray  # (nodes,) uint8
    set_of: np.ndarray  # (nodes,) int32, a row of ``sets``, or -1
    sets: np.ndarray  # (n_sets, categories + 1) uint8, 1: goes left; last: the unknown
    entry_starts: np.ndarray  # (leaves + 1,)
    entry_node: np.ndarray  # (entries,) int32, node of the path, counted from the tree's first
    entry_right: np.ndarray  # (entries,) uint8, 1 if the path goes right there
    entry_slot: np.ndarray  # (entries,) uint8, which of the path's columns
    slot_starts: np.ndarray  # (leaves + 1,)


class Slots(NamedTuple):
    """What the columns of paths are and pass on, and what leaves say."""

    feature: np.ndarray  # (slots,) int32
    share: np.ndarray  # (slots,) of the training rows that the column lets pass
    values: np.ndarray  # (leaves, outputs)
    weights: np.ndarray  # (m, k): k! (m − 1 − k)! / m!


@kernel
def count_paths(left, right, parents, sides):
    """Write each node's parent and side (1: right) to ``parents`` and ``sides``; returns (leaves,
    steps of all paths)."""
    n_leaves, n_steps = 0, 0
    parents[0] = -1
    for i in range(left.shape[0]):
        if left[i] < 0:
            n_leaves += 1
        else:
            parents[left[i]], parents[right[i]] = i, i
            sides[left[i]], sides[right[i]] = 0, 1
    for i in range(left.shape[0]):
        if left[i] < 0:
            node = i
            while parents[node] >= 0:
                n_steps += 1
                node = parents[node]
    return n_leaves, n_steps


@kernel
def fill_paths(tree, cover, parents, sides, entries, slots, bounds):
    """Write the path of every leaf of one tree: ``entries`` (node, right, slot), ``slots``
    (feature, share) and ``bounds`` (ends of entries, ends of slots, nodes of leaves).

    ``tree`` is (left children, features). Returns (entries, slots), or a negative number of slots
    if a path has too many columns.
    """
    left, feature = tree
    entry_node, entry_right, entry_slot = entries
    slot_feature, slot_share = slots
    entry_ends, slot_ends, leaves = bounds
    e, s, leaf = 0, 0, 0
    for i in range(left.shape[0]):
        if left[i] >= 0:
            continue
        first = s
        node = i
        while parents[node] >= 0:
            above = parents[node]
            place = first
            while place < s and slot_feature[place] != feature[above]:
                place += 1
            if place == s:
                if s - first == MOST_SLOTS:
                    return e, -1
                slot_feature[s] = feature[above]
                slot_share[s] = 1.0
                s += 1
            if cover[above] > 0.0:
                slot_share[place] *= cover[node] / cover[above]
            else:
                slot_share[place] = 0.0
            entry_node[e] = above
            entry_right[e] = sides[node]
            entry_slot[e] = place - first
            e += 1
            node = above
        entry_ends[leaf] = e
        slot_ends[leaf] = s
        leaves[leaf] = i
        leaf += 1
    return e, s


@kernel
def _decide(trees, t, columns, decisions):
    """Write to ``decisions`` (nodes × rows) 1 where a row of the tile goes right at a node;
    ``columns`` are the tile's."""
    begin = trees.node_starts[t]
    for node in range(trees.node_starts[t + 1] - begin):
        at = begin + node
        f = trees.feature[at]
        if f < 0:
            continue
        here = decisions[node]
        threshold = trees.threshold[at]
        missing_right = trees.missing_left[at] == 0
        which = trees.set_of[at]
        column = columns[f]
        if which < 0:
            for r in range(column.shape[0]):
                x = column[r]
                here[r] = missing_right if x != x else x > threshold
            continue
        for r in range(column.shape[0]):
            x = column[r]
            c = trees.sets.shape[1] - 1
            if 0.0 <= x < c and x == np.floor(x):
                c = np.intp(x)
            here[r] = missing_right if x != x else trees.sets[which, c] == 0


@kernel
def _fill_masks(trees, leaf, decisions, n_rows, masks):
    """Write the rows' ``masks``: bit s is set where column s of the leaf's path leads elsewhere."""
    for r in range(n_rows):
        masks[r] = 0
    for e in range(trees.entry_starts[leaf], trees.entry_starts[leaf + 1]):
        here = decisions[trees.entry_node[e]]
        right = trees.entry_right[e]
        shift = np.uint64(trees.entry_slot[e])
        for r in range(n_rows):
            masks[r] |= np.uint64(here[r] ^ right) << shift


@kernel
def _group(masks, n_rows, keys, places, spots, group):
    """Number the masks of the rows: writes ``group`` (row → number), ``keys`` (number → mask);
    ``places`` (a power of two, at least twice the rows, all −1) is used, with ``spots``, and left
    as it was. Returns how many there are."""
    size = places.shape[0]
    n = 0
    last = np.uint64(0)
    for r in range(n_rows):
        mask = masks[r]
        if r > 0 and mask == last:
            group[r] = group[r - 1]
            continue
        last = mask
        folded = mask ^ (mask >> np.uint64(9)) ^ (mask >> np.uint64(20)) ^ (mask >> np.uint64(37))
        at = np.intp(folded & np.uint64(size - 1))
        while places[at] >= 0 and keys[places[at]] != mask:
            at = (at + 1) & (size - 1)
        if places[at] < 0:
            places[at] = n
            spots[n] = at
            keys[n] = mask
            n += 1
        group[r] = places[at]
    for i in range(n):
        places[spots[i]] = -1
    return n


@kernel
def _polynomial(mask, m, shares, c):
    """Write to ``c`` the coefficients of Π z_s over columns that lead elsewhere times Π (z_s + t)
    over the others; returns the degree."""
    c[0] = 1.0
    degree = 0
    for s in range(m):
        z = shares[s]
        if (mask >> np.uint64(s)) & np.uint64(1):
            for k in range(degree + 1):
                c[k] *= z
        else:
            c[degree + 1] = c[degree]
            for k in range(degree, 0, -1):
                c[k] = c[k - 1] + z * c[k]
            c[0] *= z
            degree += 1
    return degree


@kernel
def _divide(c, degree, z, e):
    """Write to ``e`` the coefficients of c / (z + t)."""
    e[degree - 1] = c[degree]
    for k in range(degree - 1, 0, -1):
        e[k - 1] = c[k] - z * e[k]


@kernel
def _weigh(c, degree, weights):
    """Σ c_k weights_k for k up to ``degree``."""
    total = 0.0
    for k in range(degree + 1):
        total += c[k] * weights[k]
    return total


@kernel
def path_parts(mask, shares, weights, scratch, parts):
    """Write to ``parts`` what each column of a path adds, for a leaf of value 1, where those not
    in the coalition pass ``shares``; ``scratch`` is (3, MOST_SLOTS + 1)."""
    m = shares.shape[0]
    c, e = scratch[0], scratch[1]
    degree = _polynomial(mask, m, shares, c)
    others = -_weigh(c, min(degree, m - 1), weights[m])
    for s in range(m):
        if (mask >> np.uint64(s)) & np.uint64(1):
            parts[s] = others
        else:
            _divide(c, degree, shares[s], e)
            parts[s] = (1.0 - shares[s]) * _weigh(e, degree - 1, weights[m])


@kernel
def pair_parts(mask, shares, weights, scratch, parts):
    """Write to ``parts`` (m, m) the interactions of the columns of a path, half on each side; what
    a column adds alone is on the diagonal. ``scratch`` is (3, MOST_SLOTS + 1)."""
    m = shares.shape[0]
    c, e, g = scratch[0], scratch[1], scratch[2]
    degree = _polynomial(mask, m, shares, c)
    alone = -_weigh(c, min(degree, m - 1), weights[m])
    both = _weigh(c, min(degree, m - 2), weights[m - 1]) / 2.0 if m > 1 else 0.0
    for i in range(m):
        fails = (mask >> np.uint64(i)) & np.uint64(1)
        z = shares[i]
        if fails:
            parts[i, i] = alone
        else:
            _divide(c, degree, z, e)
            parts[i, i] = (1.0 - z) * _weigh(e, degree - 1, weights[m])
        for j in range(m):
            if j == i:
                continue
            other_fails = (mask >> np.uint64(j)) & np.uint64(1)
            if fails and other_fails:
                parts[i, j] = both
            elif fails:
                _divide(c, degree, shares[j], g)
                parts[i, j] = -(1.0 - shares[j]) * _weigh(g, degree - 1, weights[m - 1]) / 2.0
            elif other_fails:
                parts[i, j] = -(1.0 - z) * _weigh(e, degree - 1, weights[m - 1]) / 2.0
            else:
                _divide(e, degree - 1, shares[j], g)
                found = _weigh(g, degree - 2, weights[m - 1]) / 2.0
                parts[i, j] = (1.0 - z) * (1.0 - shares[j]) * found
    for i in range(m):
        for j in range(m):
            if j != i:
                parts[i, i] -= parts[i, j]


@kernel
def background_parts(mask, m, others, counts, weights, parts):
    """Write to ``parts`` what each of m columns of a path adds, for a leaf of value 1, on average
    over background rows with the masks ``others``, ``counts`` of each."""
    for s in range(m):
        parts[s] = 0.0
    total = 0.0
    for b in range(others.shape[0]):
        total += counts[b]
        other = others[b]
        if mask & other:
            continue
        ours, theirs = 0, 0
        for s in range(m):
            ours += np.intp((other >> np.uint64(s)) & np.uint64(1))
            theirs += np.intp((mask >> np.uint64(s)) & np.uint64(1))
        if ours + theirs == 0:
            continue
        gain = counts[b] * weights[ours + theirs, ours - 1] if ours > 0 else 0.0
        loss = counts[b] * weights[ours + theirs, ours] if theirs > 0 else 0.0
        for s in range(m):
            if (other >> np.uint64(s)) & np.uint64(1):
                parts[s] += gain
            elif (mask >> np.uint64(s)) & np.uint64(1):
                parts[s] -= loss
    for s in range(m):
        parts[s] /= total


@kernel
def _tile(trees, slots, rows, background, first, last, most_nodes, out):
    """`tree_shapley` for the rows of one tile."""
    n_rows, n_back = last - first, background.shape[0]
    longest = max(n_rows, n_back)
    size = 4
    while size < 2 * longest:
        size *= 2
    decisions = np.empty((most_nodes, n_rows), np.uint8)
    back_decisions = np.empty((most_nodes, n_back), np.uint8)
    masks = np.empty(longest, np.uint64)
    places, spots = np.full(size, -1, np.intp), np.empty(longest, np.intp)
    keys, group = np.empty(longest, np.uint64), np.empty(longest, np.intp)
    back_keys, back_group = np.empty(longest, np.uint64), np.empty(longest, np.intp)
    counts = np.empty(longest)
    scratch = np.empty((3, MOST_SLOTS + 1))
    parts = np.empty((longest, MOST_SLOTS))
    columns_here = np.ascontiguousarray(rows[first:last].T)
    columns_back = np.ascontiguousarray(background.T)
    n_outputs = slots.values.shape[1]
    for t in range(trees.node_starts.shape[0] - 1):
        _decide(trees, t, columns_here, decisions)
        if n_back > 0:
            _decide(trees, t, columns_back, back_decisions)
        for leaf in range(trees.leaf_starts[t], trees.leaf_starts[t + 1]):
            begin, end = trees.slot_starts[leaf], trees.slot_starts[leaf + 1]
            m = end - begin
            if m == 0:
                continue
            shares, columns = slots.share[begin:end], slots.feature[begin:end]
            n_others = 0
            if n_back > 0:
                _fill_masks(trees, leaf, back_decisions, n_back, masks)
                n_others = _group(masks, n_back, back_keys, places, spots, back_group)
                for b in range(n_others):
                    counts[b] = 0.0
                for b in range(n_back):
                    counts[back_group[b]] += 1.0
            _fill_masks(trees, leaf, decisions, n_rows, masks)
            n_masks = _group(masks, n_rows, keys, places, spots, group)
            for g in range(n_masks):
                if n_back > 0:
                    background_parts(
                        keys[g], m, back_keys[:n_others], counts, slots.weights, parts[g]
                    )
                else:
                    path_parts(keys[g], shares, slots.weights, scratch, parts[g])
            if n_outputs == 1:
                value = slots.values[leaf, 0]
                for g in range(n_masks):
                    for s in range(m):
                        parts[g, s] *= value
                for r in range(n_rows):
                    mine, here = parts[group[r]], out[first + r]
                    for s in range(m):
                        here[columns[s], 0] += mine[s]
                continue
            for r in range(n_rows):
                mine, here = parts[group[r]], out[first + r]
                for s in range(m):
                    for k in range(n_outputs):
                        here[columns[s], k] += mine[s] * slots.values[leaf, k]


@parallel_kernel
def tree_shapley(trees, slots, rows, background, rows_per_tile, most_nodes, out):
    """Add the Shapley values of the sum of all trees to ``out`` (rows × columns × outputs).

    ``background`` has the rows that stand for columns outside the coalition; without rows, shares
    of training rows do.
    """
    for c in prange((rows.shape[0] + rows_per_tile - 1) // rows_per_tile):
        first = c * rows_per_tile
        last = min(first + rows_per_tile, rows.shape[0])
        _tile(trees, slots, rows, background, first, last, most_nodes, out)


@kernel
def _pair_tile(trees, slots, rows, first, last, most_nodes, out):
    """`tree_interactions` for the rows of one tile."""
    n_rows = last - first
    size = 4
    while size < 2 * n_rows:
        size *= 2
    decisions = np.empty((most_nodes, n_rows), np.uint8)
    masks = np.empty(n_rows, np.uint64)
    places, spots = np.full(size, -1, np.intp), np.empty(n_rows, np.intp)
    keys, group = np.empty(n_rows, np.uint64), np.empty(n_rows, np.intp)
    scratch = np.empty((3, MOST_SLOTS + 1))
    columns_here = np.ascontiguousarray(rows[first:last].T)
    n_outputs = slots.values.shape[1]
    for t in range(trees.node_starts.shape[0] - 1):
        _decide(trees, t, columns_here, decisions)
        for leaf in range(trees.leaf_starts[t], trees.leaf_starts[t + 1]):
            begin, end = trees.slot_starts[leaf], trees.slot_starts[leaf + 1]
            m = end - begin
            if m == 0:
                continue
            shares, columns = slots.share[begin:end], slots.feature[begin:end]
            _fill_masks(trees, leaf, decisions, n_rows, masks)
            n_masks = _group(masks, n_rows, keys, places, spots, group)
            parts = np.empty((n_masks, m, m))
            for g in range(n_masks):
                pair_parts(keys[g], shares, slots.weights, scratch, parts[g])
            for r in range(n_rows):
                mine = parts[group[r]]
                for i in range(m):
                    for j in range(m):
                        for k in range(n_outputs):
                            out[first + r, columns[i], columns[j], k] += (
                                mine[i, j] * slots.values[leaf, k]
                            )


@parallel_kernel
def tree_interactions(trees, slots, rows, rows_per_tile, most_nodes, out):
    """Add the interactions of all pairs of columns to ``out`` (rows × columns × columns ×
    outputs)."""
    for c in prange((rows.shape[0] + rows_per_tile - 1) // rows_per_tile):
        first = c * rows_per_tile
        last = min(first + rows_per_tile, rows.shape[0])
        _pair_tile(trees, slots, rows, first, last, most_nodes, out)
