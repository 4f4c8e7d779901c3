"""Sums of leaf values where the values of some columns are replaced, for many replacements at once.

A row walks through a tree once, as it is. Only at the nodes on its way that split by a replaced
column may it leave that way, and only from there does it walk anew: once for all repeats that leave
it there, until the column decides again. So a replacement costs a row nothing in trees where its
columns do not decide, and little in the others. Trees are packed as in `tree.walk`; a way is a
group of columns and a repeat, and a stray a row that has left its own way in some repeats of a
group.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.presort import MISSING_KEY, key_of
from fastml.kernels.tree.walk import COLUMN_SHIFT, FIRST_STEPS, KEY, LATER_STEPS

TOGETHER = 8
"""Rows that walk together as they are."""


class Replacements(NamedTuple):
    """Repeat r of group g: row i has the values of row ``source[r, i]`` of ``other`` in the columns
    of the group."""

    X: np.ndarray  # (rows, columns) float32
    other: np.ndarray  # (any, columns) float32
    source: np.ndarray  # (repeats, rows) intp
    group: np.ndarray  # (columns,) intp, or -1: never replaced


class Ways(NamedTuple):
    """Keys of a chunk of rows as they are, and of what the repeats put in their place."""

    keys: np.ndarray  # uint32, row after row
    given: np.ndarray  # uint32, the same with a key for every repeat in the place of each
    group: np.ndarray  # (width of a row,) of the columns, and of their second copy if it is there
    seen: np.ndarray  # (ways,) number of the last row and tree in which the way was left


class Strays(NamedTuple):
    """Rows that left their way in a tree, each in some repeats of a group."""

    row: np.ndarray  # uint64, where the row's own keys begin
    group: np.ndarray
    node: np.ndarray  # uint64, where they are: in the end leaves
    first: np.ndarray  # uint64, members first:last are its repeats
    last: np.ndarray
    active: np.ndarray  # those that may not have reached a leaf


class Members(NamedTuple):
    """Repeats in which rows left their way in a tree, row by row, with the way and its leaf."""

    repeat: np.ndarray  # uint64
    way: np.ndarray
    node: np.ndarray
    starts: np.ndarray  # (rows + 1,) row i has members starts[i]:starts[i + 1]
    leaves: np.ndarray  # (rows,) uint64, where the row itself ends


@kernel
def _fill_row(row, missing, keys):
    """Write the keys of a row to ``keys``, and where values may be missing the second copy."""
    d = row.shape[0]
    for j in range(d):
        keys[j] = key_of(row[j])
    if missing:
        for j in range(d):
            keys[d + j] = keys[j] if keys[j] != MISSING_KEY else 0


@kernel
def ways_of_chunk(replacements, missing, n_ways, first, n_rows):
    """The `Ways` of rows ``first``, ``first + 1``, …"""
    X, other, source, group = replacements
    n_repeats, d = source.shape[0], X.shape[1]
    width = 2 * d if missing else d
    keys = np.empty((n_rows, width), np.uint32)
    given = np.empty((n_rows, width, n_repeats), np.uint32)
    replaced = np.empty(width, np.uint32)
    for i in range(n_rows):
        _fill_row(X[first + i], missing, keys[i])
        for r in range(n_repeats):
            _fill_row(other[source[r, first + i]], missing, replaced)
            for j in range(width):
                given[i, j, r] = replaced[j]
    groups = np.empty(width, np.intp)
    for j in range(width):
        groups[j] = group[j % d]
    return Ways(keys.reshape(-1), given.reshape(-1), groups, np.zeros(n_ways, np.intp))


@kernel
def _walk_together(words, shift, mask, keys, width, first, n_lanes, path):
    """Write the nodes on the ways of rows ``first``, ``first + 1``, … of a chunk to the columns of
    ``path``, a step after the other; a row at its leaf stays there."""
    for lane in range(n_lanes):
        path[0, lane] = 0
    step, moved = np.uint64(0), True
    while moved:
        moved = False
        for lane in range(np.uint64(n_lanes)):
            node = path[step, lane]
            word = words[node]
            column = (word >> COLUMN_SHIFT) & mask
            at = (np.uint64(first) + lane) * np.uint64(width) + column
            after = (word >> shift) + np.uint64(keys[at] > np.uint32(word & KEY))
            path[step + np.uint64(1), lane] = after
            moved |= after != node
        step += np.uint64(1)


@kernel
def _leave(words, shift, mask, ways, number, own, lane, path, n_strays, strays, n_members, members):
    """Go along the ``path`` of the row whose keys begin at ``own``, and note in ``strays`` and
    ``members`` where it leaves its way in which repeats; ``ways.seen`` becomes ``number`` there.
    Returns its leaf and the numbers of strays and members."""
    given, seen, repeats = ways.given, ways.seen, members.repeat
    n_repeats = np.uint64(given.shape[0] // max(ways.keys.shape[0], 1))
    m, n, step, one = np.uint64(n_members), np.uint64(n_strays), np.uint64(0), np.uint64(1)
    lane = np.uint64(lane)
    node = path[step, lane]
    after = path[one, lane]
    while after != node:
        word = words[node]
        column = (word >> COLUMN_SHIFT) & mask
        g = ways.group[column]
        if g >= 0:
            cut, other = np.uint32(word & KEY), (word >> shift) + one
            right = after == other
            at, way, before = (own + column) * n_repeats, np.uint64(g) * n_repeats, m
            for r in range(n_repeats):
                # Arithmetic, not a branch: either side is as likely.
                last_seen = seen[way + r]
                leaves = ((given[at + r] > cut) != right) & (last_seen != number)
                repeats[m] = r
                seen[way + r] = number if leaves else last_seen
                m += np.uint64(leaves)
            strays.row[n], strays.group[n] = own, g
            strays.node[n] = other - one if right else other
            strays.first[n], strays.last[n] = before, m
            n += np.uint64(m > before)
        node = after
        step += one
        after = path[step + one, lane]
    return node, n, m


@kernel
def _split(words, shift, mask, ways, s, n_strays, strays, repeats):
    """Move stray s on from a node where a column of its group decides: the repeats that go to the
    right are put behind the others and, unless all do, become a stray of their own at the end of
    ``strays``. Writes to ``strays`` and ``repeats``; returns the number of new strays."""
    n_repeats = np.uint64(ways.given.shape[0] // ways.keys.shape[0])
    one, first, last = np.uint64(1), strays.first[s], strays.last[s]
    word = words[strays.node[s]]
    at = (strays.row[s] + ((word >> COLUMN_SHIFT) & mask)) * n_repeats
    left, end = first, last
    while left < end:
        r = repeats[left]
        if ways.given[at + r] > np.uint32(word & KEY):
            end -= one
            repeats[left], repeats[end] = repeats[end], r
        else:
            left += one
    child = word >> shift
    strays.node[s] = child + np.uint64(left == first)
    if left == first or left == last:
        return np.uint64(0)
    strays.last[s] = left
    strays.row[n_strays], strays.group[n_strays] = strays.row[s], strays.group[s]
    strays.node[n_strays] = child + one
    strays.first[n_strays], strays.last[n_strays] = left, last
    return one


@kernel
def _stray_step(words, shift, mask, keys, group, own, g, node):
    """The child of a node that a row goes to; the node itself if a column of group g decides."""
    word = words[node]
    column = (word >> COLUMN_SHIFT) & mask
    child = (word >> shift) + np.uint64(keys[own + column] > np.uint32(word & KEY))
    return node if group[column] == g else child


@kernel
def _walk_strays(words, shift, mask, ways, n_strays, strays, repeats):
    """Move the first ``n_strays`` of ``strays``, and those that they are split into, to their
    leaves, four in turn: the processor waits for all of their loads at once. Writes to ``strays``
    and ``repeats``; returns the number of strays."""
    keys, group = ways.keys, ways.group
    rows, groups, places, active = strays.row, strays.group, strays.node, strays.active
    one, four = np.uint64(1), np.uint64(4)
    n_strays = np.uint64(n_strays)
    n_active = n_strays
    for a in range(n_active):
        active[a] = a
    while n_active > np.uint64(0):
        kept, k = np.uint64(0), np.uint64(0)
        while k + four <= n_active:
            a0, a1 = active[k], active[k + one]
            a2, a3 = active[k + np.uint64(2)], active[k + np.uint64(3)]
            n0, n1, n2, n3 = places[a0], places[a1], places[a2], places[a3]
            o0, o1, o2, o3 = rows[a0], rows[a1], rows[a2], rows[a3]
            g0, g1, g2, g3 = groups[a0], groups[a1], groups[a2], groups[a3]
            for _ in range(LATER_STEPS):
                n0 = _stray_step(words, shift, mask, keys, group, o0, g0, n0)
                n1 = _stray_step(words, shift, mask, keys, group, o1, g1, n1)
                n2 = _stray_step(words, shift, mask, keys, group, o2, g2, n2)
                n3 = _stray_step(words, shift, mask, keys, group, o3, g3, n3)
            places[a0], places[a1], places[a2], places[a3] = n0, n1, n2, n3
            active[kept] = a0
            kept += np.uint64((words[n0] >> shift) != n0)
            active[kept] = a1
            kept += np.uint64((words[n1] >> shift) != n1)
            active[kept] = a2
            kept += np.uint64((words[n2] >> shift) != n2)
            active[kept] = a3
            kept += np.uint64((words[n3] >> shift) != n3)
            k += four
        while k < n_active:
            a = active[k]
            node, own, g = places[a], rows[a], groups[a]
            for _ in range(FIRST_STEPS):
                node = _stray_step(words, shift, mask, keys, group, own, g, node)
            places[a] = node
            active[kept] = a
            kept += np.uint64((words[node] >> shift) != node)
            k += one
        n_active = kept
        for k in range(kept):
            a = active[k]
            column = (words[places[a]] >> COLUMN_SHIFT) & mask
            if group[column] == groups[a]:
                more = _split(words, shift, mask, ways, a, n_strays, strays, repeats)
                active[n_active] = n_strays
                n_active += more
                n_strays += more
    return n_strays


@kernel
def _tell_members(n_repeats, n_strays, strays, members):
    """Write the ways and leaves of all ``members`` of the first ``n_strays`` of ``strays``."""
    for s in range(np.uint64(n_strays)):
        way, node = np.uint64(strays.group[s]) * np.uint64(n_repeats), strays.node[s]
        for m in range(strays.first[s], strays.last[s]):
            members.way[m] = way + members.repeat[m]
            members.node[m] = node


@kernel
def _add_but(value, ways, first, last, kept, sums):
    """Add ``value`` to all of ``sums`` but those at ``ways[first:last]``; ``kept`` is scratch."""
    for a in range(first, last):
        kept[a - first] = sums[ways[a]]
    for way in range(sums.shape[0]):
        sums[way] += value
    for a in range(first, last):
        sums[ways[a]] = kept[a - first]


@kernel
def _add_row(trees, t, i, members, sums, kept):
    """Add what row i's leaf in tree t says to ``sums[:, way]`` of all ways but those of its
    ``members``, and what their leaves say to theirs; ``kept`` is scratch."""
    start = np.uint64(trees.bounds[t] - trees.bounds[0])
    first, last = np.uint64(members.starts[i]), np.uint64(members.starts[i + 1])
    ways, nodes = members.way, members.node
    own = start + members.leaves[i]
    if trees.scalar:
        mine = sums[0]
        _add_but(trees.values[own], ways, first, last, kept, mine)
        for a in range(first, last):
            mine[ways[a]] += trees.values[start + nodes[a]]
        return
    table, scale = trees.table[trees.table_starts[t] :], trees.scales[t]
    code = np.intp(trees.codes[own])
    if code < 0:
        _add_but(scale, ways, first, last, kept, sums[~code])
    else:
        for k in range(sums.shape[0]):
            _add_but(scale * table[code, k], ways, first, last, kept, sums[k])
    for a in range(first, last):
        code = np.intp(trees.codes[start + nodes[a]])
        if code < 0:
            sums[np.uint64(~code), ways[a]] += scale
        else:
            for k in range(sums.shape[0]):
                sums[np.uint64(k), ways[a]] += scale * table[np.uint64(code), np.uint64(k)]


@kernel
def _replaced_chunk(trees, replacements, first, out):
    """`sums_if_replaced` of rows ``first``, ``first + 1``, …: adds to ``out``."""
    n_ways, n_rows, n_columns = out.shape
    ways = ways_of_chunk(replacements, trees.missing, n_ways, first, n_rows)
    width = ways.group.shape[0]
    n_repeats = replacements.source.shape[0]
    most = n_rows * n_ways + 1
    strays = Strays(
        np.empty(most, np.uint64),
        np.empty(most, np.intp),
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
    )
    members = Members(
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.zeros(n_rows + 1, np.intp),
        np.empty(n_rows, np.uint64),
    )
    longest = 0
    for t in range(trees.bounds.shape[0] - 1):
        longest = max(longest, trees.bounds[t + 1] - trees.bounds[t])
    path = np.empty((longest // 2 + 3, TOGETHER), np.uint64)
    kept = np.empty(n_ways)
    sums = np.zeros((n_rows, n_columns, n_ways))
    shift = trees.shift
    mask = (np.uint64(1) << (shift - COLUMN_SHIFT)) - np.uint64(1)
    for t in range(trees.bounds.shape[0] - 1):
        start, end = trees.bounds[t] - trees.bounds[0], trees.bounds[t + 1] - trees.bounds[0]
        words = trees.words[start:end]
        n_strays = np.uint64(0)
        for block in range(0, n_rows, TOGETHER):
            n_lanes = min(TOGETHER, n_rows - block)
            _walk_together(words, shift, mask, ways.keys, width, block, n_lanes, path)
            for lane in range(n_lanes):
                i = block + lane
                members.leaves[i], n_strays, members.starts[i + 1] = _leave(
                    words, shift, mask, ways, t * n_rows + i + 1, np.uint64(i * width),
                    lane, path, n_strays, strays, members.starts[i], members,
                )  # fmt: skip
        n_strays = _walk_strays(words, shift, mask, ways, n_strays, strays, members.repeat)
        _tell_members(n_repeats, n_strays, strays, members)
        for i in range(n_rows):
            _add_row(trees, t, i, members, sums[i], kept)
    for way in range(n_ways):
        for i in range(n_rows):
            for k in range(n_columns):
                out[way, i, k] += sums[i, k, way]


@parallel_kernel
def sums_if_replaced(trees, replacements, rows_per_chunk, out):
    """Add the sum over the trees (`forest.predict.TreesInWords`) of what row i's leaf says, with
    the columns of group g replaced as in repeat r, to out[g * repeats + r, i]."""
    n_rows = out.shape[1]
    for c in prange((n_rows + rows_per_chunk - 1) // rows_per_chunk):
        first = np.intp(c) * rows_per_chunk
        _replaced_chunk(trees, replacements, first, out[:, first : first + rows_per_chunk])
