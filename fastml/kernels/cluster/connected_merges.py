"""Agglomeration where only neighbours in a graph may merge.

Candidate edges (distance, larger node, smaller node) wait in a heap; edges of nodes that were
merged are dropped when they come up. A new node inherits the neighbours of both parts. Where only
one part had an edge to a neighbour, that edge's distance is taken as it is.

Equal distances are taken in the order in which a binary heap with "sift to a leaf, then up" (as
Python's heapq) yields them: ties are common in graphs, and this makes trees equal scikit-learn's.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.cluster.linkage import AVERAGE, COMPLETE, WARD

# counts[...]
NODES = 0  # nodes so far, points and merged ones
ENTRIES = 1  # entries of the neighbour lists
CANDIDATES = 2  # candidate edges ever made
WAITING = 3  # of these, in the heap

# what merge_some returns
FINISHED = 0
MORE_ROOM = 1
TO_BE_CONTINUED = 2


class MergeNodes(NamedTuple):
    """Points, then merged nodes; the last five are scratch of `merge_some`."""

    sizes: np.ndarray
    sums: np.ndarray  # (n_nodes, d) of their points, for ward
    used: np.ndarray  # whether a node has not been merged yet
    mark: np.ndarray
    place: np.ndarray
    cols: np.ndarray
    new: np.ndarray


class NeighbourLists(NamedTuple):
    """Linked lists: first[node] is an entry, following[entry] the next one, -1 the end."""

    first: np.ndarray
    following: np.ndarray
    to: np.ndarray
    distance: np.ndarray


class CandidateEdges(NamedTuple):
    """Edges that may be merged next, in a heap of indices."""

    weights: np.ndarray
    ends: np.ndarray
    heap: np.ndarray


class MergeTree(NamedTuple):
    """The result; ``parent`` starts as each node's own number."""

    children: np.ndarray
    heights: np.ndarray
    parent: np.ndarray


@kernel
def _before(weights, ends, a, b, by_ends):
    """Return whether candidate a ranks before candidate b."""
    if weights[a] != weights[b] or not by_ends:
        return weights[a] < weights[b]
    if ends[a, 0] != ends[b, 0]:
        return ends[a, 0] < ends[b, 0]
    return ends[a, 1] < ends[b, 1]


@kernel
def _rise(heap, weights, ends, start, slot, by_ends):
    """Move the item in ``slot`` of the heap up to its place, not above ``start``."""
    item = heap[slot]
    while slot > start:
        parent = (slot - 1) >> 1
        if not _before(weights, ends, item, heap[parent], by_ends):
            break
        heap[slot] = heap[parent]
        slot = parent
    heap[slot] = item


@kernel
def _sink(heap, size, weights, ends, slot, by_ends):
    """Move the item in ``slot`` of the heap to its place: smaller children move up all the way
    down, then the item rises."""
    start = slot
    item = heap[slot]
    child = 2 * slot + 1
    while child < size:
        right = child + 1
        if right < size and not _before(weights, ends, heap[child], heap[right], by_ends):
            child = right
        heap[slot] = heap[child]
        slot = child
        child = 2 * slot + 1
    heap[slot] = item
    _rise(heap, weights, ends, start, slot, by_ends)


@kernel
def _ward_increase(sizes, sums, i, j):
    """Return the increase of the sum of squares when nodes i and j merge."""
    total = 0.0
    for k in range(sums.shape[1]):
        gap = sums[i, k] / sizes[i] - sums[j, k] / sizes[j]
        total += gap * gap
    return total * (sizes[i] * sizes[j] / (sizes[i] + sizes[j]))


@kernel
def _inherit(method, node, other_size, nodes, lists, n):
    """Add the live neighbours of ``node`` to ``nodes.cols``, of length n; return its length.

    Their distances go to ``nodes.new``. One that is already there, from the other part, has weight
    ``other_size`` in an average.
    """
    size = nodes.sizes[node]
    mark, place, new = nodes.mark, nodes.place, nodes.new
    entry = lists.first[node]
    while entry >= 0:
        col = lists.to[entry]
        distance = lists.distance[entry]
        if nodes.used[col]:
            if mark[col] != mark[-1]:
                mark[col] = mark[-1]
                place[col] = n
                nodes.cols[n] = col
                new[n] = distance
                n += 1
            elif method == COMPLETE:
                if distance > new[place[col]]:
                    new[place[col]] = distance
            elif method == AVERAGE:
                k = place[col]
                new[k] = (other_size * new[k] + size * distance) / (other_size + size)
        entry = lists.following[entry]
    return n


@kernel
def start_merges(method, rows, nodes, lists, candidates, counts):
    """Write the neighbour ``lists`` and the heap of ``candidates`` of the edges of a graph, and
    ``counts`` of both.

    The edges are (rows, lists.to, lists.distance). They come in both directions, sorted by row,
    then column; for ward the distance is not read.
    """
    by_ends = method == WARD
    weights, ends, heap = candidates
    size = 0
    for e in range(rows.shape[0]):
        i, j = rows[e], lists.to[e]
        lists.following[e] = lists.first[i]
        lists.first[i] = e
        if j < i:
            weights[size] = lists.distance[e]
            if by_ends:
                weights[size] = _ward_increase(nodes.sizes, nodes.sums, i, j)
            ends[size, 0], ends[size, 1] = i, j
            heap[size] = size
            size += 1
    for slot in range(size // 2 - 1, -1, -1):
        _sink(heap, size, weights, ends, slot, by_ends)
    counts[ENTRIES] = rows.shape[0]
    counts[CANDIDATES] = size
    counts[WAITING] = size


@kernel
def _next_pair(candidates, counts, used, by_ends):
    """Take candidates off the heap, which ``counts`` records; return the first whose two nodes have
    not been merged yet, or -1."""
    weights, ends, heap = candidates
    while counts[WAITING] > 0:
        top = heap[0]
        counts[WAITING] -= 1
        size = counts[WAITING]
        if size > 0:
            heap[0] = heap[size]
            _sink(heap, size, weights, ends, 0, by_ends)
        if used[ends[top, 0]] and used[ends[top, 1]]:
            return top
    return -1


@kernel
def _connect(k, col, value, lists, candidates, counts, by_ends):
    """Make k and col neighbours in ``lists``, add them to ``candidates`` and update ``counts``."""
    entry, candidate = counts[ENTRIES], counts[CANDIDATES]
    lists.to[entry], lists.distance[entry], lists.following[entry] = col, value, lists.first[k]
    lists.first[k] = entry
    entry += 1
    lists.to[entry], lists.distance[entry], lists.following[entry] = k, value, lists.first[col]
    lists.first[col] = entry
    candidates.weights[candidate] = value
    candidates.ends[candidate, 0], candidates.ends[candidate, 1] = k, col
    candidates.heap[counts[WAITING]] = candidate
    counts[ENTRIES] += 2
    counts[CANDIDATES] += 1
    counts[WAITING] += 1
    _rise(candidates.heap, candidates.weights, candidates.ends, 0, counts[WAITING] - 1, by_ends)


@kernel
def merge_some(method, n, budget, nodes, lists, candidates, counts, tree):
    """Merge until all nodes of ``nodes`` exist or no edge is left (FINISHED); write ``tree``.

    Also changes ``nodes``, ``lists``, ``candidates`` and ``counts``: the next call continues there.

    Before that it returns if there may not be room for the next node's neighbours (MORE_ROOM: two
    entries and one candidate for each live node), or after about ``budget`` new neighbours.
    """
    by_ends = method == WARD
    while counts[NODES] < nodes.used.shape[0]:
        k = counts[NODES]
        live = 2 * n - k
        if (
            counts[ENTRIES] + 2 * live > lists.to.shape[0]
            or counts[CANDIDATES] + live > candidates.heap.shape[0]
        ):
            return MORE_ROOM
        if budget < 0:
            return TO_BE_CONTINUED
        top = _next_pair(candidates, counts, nodes.used, by_ends)
        if top < 0:
            return FINISHED
        i, j = candidates.ends[top, 0], candidates.ends[top, 1]
        tree.children[k - n, 0], tree.children[k - n, 1] = j, i
        tree.heights[k - n] = candidates.weights[top]
        tree.parent[i] = k
        tree.parent[j] = k
        nodes.used[i] = False
        nodes.used[j] = False
        nodes.sizes[k] = nodes.sizes[i] + nodes.sizes[j]
        if by_ends:
            for c in range(nodes.sums.shape[1]):
                nodes.sums[k, c] = nodes.sums[i, c] + nodes.sums[j, c]

        nodes.used[k] = False  # not a neighbour of itself
        nodes.mark[-1] = k
        m = _inherit(method, i, 0.0, nodes, lists, 0)
        m = _inherit(method, j, nodes.sizes[i], nodes, lists, m)
        nodes.used[k] = True
        order = np.argsort(nodes.cols[:m])
        for o in range(m):
            col, value = nodes.cols[order[o]], nodes.new[order[o]]
            if by_ends:
                value = _ward_increase(nodes.sizes, nodes.sums, k, col)
            _connect(k, col, value, lists, candidates, counts, by_ends)
        counts[NODES] += 1
        budget -= m + 1
    return FINISHED


@kernel
def leaves_below(node, children, n_leaves, stack, out, label):
    """Write ``label`` to ``out`` for every leaf below ``node``; ``stack`` is scratch."""
    stack[0] = node
    size = 1
    while size > 0:
        size -= 1
        i = stack[size]
        if i < n_leaves:
            out[i] = label
        else:
            stack[size], stack[size + 1] = children[i - n_leaves, 0], children[i - n_leaves, 1]
            size += 2


@kernel
def heads(parent):
    """Replace each node's ``parent`` by the root of its tree."""
    for node in range(parent.shape[0] - 1, -1, -1):
        parent[node] = parent[parent[node]]
