"""Squared distances of neighbours in a kd-tree, for packets of 16 queries that lie together.

Every query is first compared with the leaf where it lies; then the packet goes down the tree as a
whole. A box is compared with all its queries at once and is left out when it is too far for each of
them; a leaf is read for those only that it is near enough to. So most of the branches that cannot
be foretold are taken once per packet. What is found are the k smallest (distance, index) pairs, as
in `kdtree`.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.neighbors.packet_code import (
    PACKET,
    UNTIED,
    box_hits,
    insert_pair,
    leaf_squares,
    sort_leaf,
)
from fastml.kernels.neighbors.panel import first_lane
from fastml.kernels.neighbors.space_tree import DEEPEST, cut_leaf, right_child
from fastml.kernels.numeric.heap import FLOAT64_MAX


@kernel
def _offer_hits(hits, values, order, start, w, k, distances, indices):
    """Offer the points of a leaf whose bits are set in ``hits`` to row w of the lists ``distances``
    and ``indices``; return the k-th best distance."""
    limit = distances[w, k - 1]
    while hits != 0:
        s = first_lane(hits)
        hits &= hits - np.uint64(1)
        index = order[start + s]
        if values[s] > limit or index < 0:
            continue
        if values[s] == limit and np.uint64(index) > np.uint64(indices[w, k - 1]):
            continue
        insert_pair(distances, indices, w, values[s], index)
        limit = distances[w, k - 1]
    return limit


@kernel
def _start_at_home(tree, home, packet, w, k, values, distances, indices):
    """Fill row w of the lists ``distances`` and ``indices`` from the leaf ``home``; ``values`` is
    scratch. Return the k-th best distance."""
    hits = leaf_squares(tree.blocks, home, packet, w, FLOAT64_MAX, values)
    ranks = sort_leaf(values, tree.order, home * PACKET, w, distances, indices)
    if ranks == UNTIED and distances[w, PACKET - 1] <= FLOAT64_MAX:
        return distances[w, k - 1]
    for s in range(PACKET):
        distances[w, s] = FLOAT64_MAX
        indices[w, s] = -1
    return _offer_hits(hits, values, tree.order, home * PACKET, w, k, distances, indices)


@kernel
def _wanted(hits, smallest, indices, k):
    """The queries that want to see a node: those nearer than their k-th best, and those as near if
    it holds an index below theirs."""
    wanted = hits & np.uint64((1 << PACKET) - 1)
    tied = hits >> np.uint64(PACKET)
    while tied != 0:
        w = first_lane(tied)
        tied &= tied - np.uint64(1)
        if np.uint64(smallest) < np.uint64(indices[w, k - 1]):
            wanted |= np.uint64(1) << np.uint64(w)
    return wanted


@kernel
def _is_right(low, high, along, left, right, packet, w):
    """Whether query w is nearer to the box of node ``right`` than to that of ``left``; if it is as
    near to both, by the coordinate ``along`` which they were cut."""
    balance = 0.0
    for j in range(packet.shape[0]):
        x = packet[j, w]
        gap = max(low[left, j] - x, x - high[left, j], 0.0)
        other = max(low[right, j] - x, x - high[right, j], 0.0)
        balance += gap * gap - other * other
    if balance != 0.0:
        return balance > 0.0
    x = packet[along, w]
    return x - high[left, along] >= low[right, along] - x


@kernel
def _search_packet(tree, packet, homes, m, k, scratch, distances, indices):
    """Fill the rows of the lists ``distances`` and ``indices`` for the m queries in ``packet``,
    which lie in the leaves ``homes``; ``scratch`` is (limits, values, nodes to visit)."""
    blocks, order, low, high, axis, smallest = tree
    limits, values, nodes = scratch
    for w in range(m):
        limits[w] = _start_at_home(tree, homes[w], packet, w, k, values, distances, indices)
    for w in range(m, PACKET):
        limits[w] = -1.0
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, 0, blocks.shape[0]
    size = 1
    while size > 0:
        size -= 1
        node, first, last = nodes[size, 0], nodes[size, 1], nodes[size, 2]
        hits = _wanted(box_hits(low, high, node, packet, limits), smallest[node], indices, k)
        if hits == 0:
            continue
        if last - first > 1:
            cut = cut_leaf(first, last)
            right = right_child(node, first, cut)
            # The child that is nearer to the query in the middle is visited first.
            late = np.intp(_is_right(low, high, axis[node], node + 1, right, packet, m // 2))
            early = 1 - late
            nodes[size + early, 0], nodes[size + early, 1] = node + 1, first
            nodes[size + early, 2] = cut
            nodes[size + late, 0], nodes[size + late, 1], nodes[size + late, 2] = right, cut, last
            size += 2
            continue
        while hits != 0:
            w = first_lane(hits)
            hits &= hits - np.uint64(1)
            if homes[w] != first:
                near = leaf_squares(blocks, first, packet, w, limits[w], values)
                if near != 0:
                    limits[w] = _offer_hits(
                        near, values, order, first * PACKET, w, k, distances, indices
                    )


@kernel
def _packets_chunk(start, stop, squared, tree, Q, visit, home, distances, indices):
    """`packets_query` of the queries ``visit[start:stop]``; writes to ``distances`` and
    ``indices``."""
    d, k = Q.shape[1], distances.shape[1]
    packet = np.empty((d, PACKET))
    homes = np.empty(PACKET, np.intp)
    lists = np.empty((PACKET, PACKET)), np.empty((PACKET, PACKET), np.intp)
    scratch = np.empty(PACKET), np.empty(PACKET), np.empty((DEEPEST, 3), np.intp)
    for first in range(start, stop, PACKET):
        m = min(PACKET, stop - first)
        for w in range(PACKET):
            q = visit[first + min(w, m - 1)]
            homes[w] = home[q]
            for j in range(d):
                packet[j, w] = Q[q, j]
        _search_packet(tree, packet, homes, m, k, scratch, lists[0], lists[1])
        for w in range(m):
            q = visit[first + w]
            for j in range(k):
                distance = lists[0][w, j]
                distances[q, j] = distance if squared else np.sqrt(distance)
                indices[q, j] = lists[1][w, j]


@parallel_kernel
def packets_query(squared, tree, Q, visit, home, n_rows, distances, indices):
    """Write the k <= PACKET nearest points of the rows ``visit`` of Q, nearest first.

    ``tree`` is a `kdtree.KDTreeArrays`, ``home`` the leaf where each row of Q lies, ``n_rows`` the
    size of a chunk. Rows of ``distances`` (n_queries, k), Euclidean or ``squared``, and ``indices``
    are those of Q.
    """
    for c in prange((visit.shape[0] + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, visit.shape[0])
        _packets_chunk(start, stop, squared, tree, Q, visit, home, distances, indices)
