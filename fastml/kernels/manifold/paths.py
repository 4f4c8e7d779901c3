"""Shortest paths from many sources, and distances of new rows by way of neighbours.

Sources that are near each other go together: Dijkstra from the first finds an order of the
vertices, and the paths of all `SOURCES` sources are then relaxed in that order side by side until
nothing changes, which gives the lengths that Dijkstra gives.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

ARITY = 4
SOURCES = 16


@kernel
def _sift_up(slot, heap, places, lengths):
    """Move the vertex at ``slot`` up the ``heap`` as long as its length is smaller; ``places``
    follow."""
    vertex = heap[slot]
    length = lengths[vertex]
    while slot > 0:
        above = (slot - 1) // ARITY
        other = heap[above]
        if lengths[other] <= length:
            break
        heap[slot] = other
        places[other] = slot
        slot = above
    heap[slot] = vertex
    places[vertex] = slot


@kernel
def _sift_down(size, heap, places, lengths):
    """Move the vertex at the top of the ``heap`` down to its place; ``places`` follow."""
    vertex = heap[0]
    length = lengths[vertex]
    slot = 0
    while True:
        child = ARITY * slot + 1
        if child >= size:
            break
        best, shortest = child, lengths[heap[child]]
        for other in range(child + 1, min(child + ARITY, size)):
            if lengths[heap[other]] < shortest:
                best, shortest = other, lengths[heap[other]]
        if shortest >= length:
            break
        heap[slot] = heap[best]
        places[heap[slot]] = slot
        slot = best
    heap[slot] = vertex
    places[vertex] = slot


@kernel
def _from_source(source, graph, heap, places, order, lengths):
    """Write the lengths of shortest paths from ``source`` to ``lengths`` and the vertices in the
    order of these to ``order``; ``heap`` and ``places`` are scratch. Return how many it reaches."""
    reached_so_far = 0
    for v in range(lengths.shape[0]):
        lengths[v] = np.inf
        places[v] = -1
    lengths[source] = 0.0
    heap[0] = source
    places[source] = 0
    size = 1
    while size > 0:
        vertex = heap[0]
        order[reached_so_far] = vertex
        reached_so_far += 1
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            _sift_down(size, heap, places, lengths)
        reached = lengths[vertex]
        for p in range(graph.indptr[vertex], graph.indptr[vertex + 1]):
            other = graph.indices[p]
            length = reached + graph.data[p]
            if length < lengths[other]:
                lengths[other] = length
                if places[other] < 0:
                    places[other] = size
                    heap[size] = other
                    size += 1
                _sift_up(places[other], heap, places, lengths)
    return reached_so_far


@kernel
def group_sources(graph, sources, reach, numbers, members, begins):
    """Put sources that are near each other in groups of up to `SOURCES`; return their number.

    ``members`` gets the places in ``sources``, group by group, and ``begins`` where groups begin.
    A group is filled with what is met first among ``reach`` vertices around its first source.
    ``numbers`` must hold -1 and is used up.
    """
    n = graph.indptr.shape[0] - 1
    met, queue = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.intp)
    for s in range(sources.shape[0]):
        numbers[sources[s]] = s
    filled, n_groups = 0, 0
    for s in range(sources.shape[0]):
        if numbers[sources[s]] < 0:
            continue
        begins[n_groups] = filled
        n_groups += 1
        queue[0] = sources[s]
        met[sources[s]] = s
        head, tail, size = 0, 1, 0
        while head < tail and size < SOURCES:
            vertex = queue[head]
            head += 1
            if numbers[vertex] >= 0:
                members[filled] = numbers[vertex]
                numbers[vertex] = -1
                filled += 1
                size += 1
            for p in range(graph.indptr[vertex], graph.indptr[vertex + 1]):
                other = graph.indices[p]
                if met[other] != s and tail < reach and tail < n:
                    met[other] = s
                    queue[tail] = other
                    tail += 1
    begins[n_groups] = filled
    return n_groups


@kernel
def _relax(vertex, graph, lengths):
    """Shorten the paths to ``vertex`` in all lanes of ``lengths``; return whether any is new."""
    mine = lengths[vertex]
    changed = 0
    for p in range(graph.indptr[vertex], graph.indptr[vertex + 1]):
        other = lengths[graph.indices[p]]
        step = graph.data[p]
        for k in range(SOURCES):
            length = other[k] + step
            shorter = length < mine[k]
            changed |= shorter
            mine[k] = length if shorter else mine[k]
    return changed


@kernel
def _paths_group(group, graph, sources, out):
    """`shortest_paths` for the sources at the places ``group``, into ``out``."""
    n = graph.indptr.shape[0] - 1
    heap, places = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.int32)
    order = np.empty(n, dtype=np.uint32)
    reached = _from_source(sources[group[0]], graph, heap, places, order, out[group[0]])
    if group.shape[0] == 1:
        return
    lengths = np.full((n, SOURCES), np.inf)
    waits = np.zeros(n, dtype=np.uint8)
    for v in range(n):
        lengths[v, 0] = out[group[0], v]
    for k in range(1, group.shape[0]):
        source = sources[group[k]]
        lengths[source, k] = 0.0
        for p in range(graph.indptr[source], graph.indptr[source + 1]):
            waits[graph.indices[p]] = 1
    moving = 1
    while moving:
        moving = 0
        for r in range(reached):
            v = order[r]
            if waits[v]:
                waits[v] = 0
                if _relax(v, graph, lengths):
                    moving = 1
                    for p in range(graph.indptr[v], graph.indptr[v + 1]):
                        waits[graph.indices[p]] = 1
    for k in range(1, group.shape[0]):
        for v in range(n):
            out[group[k], v] = lengths[v, k]


@parallel_kernel
def shortest_paths(graph, sources, members, begins, out):
    """Write to row s of ``out`` the lengths of shortest paths from sources[s] to every vertex.

    ``graph`` is a `Csr` with both directions of every edge and no negative length; groups are
    those of `group_sources`.
    """
    for g in prange(begins.shape[0] - 1):
        _paths_group(members[begins[g] : begins[g + 1]], graph, sources, out)


@kernel
def all_shortest_paths(lengths):
    """Shorten ``lengths``, a square matrix with infinity where there is no edge, to those of
    shortest paths: Floyd and Warshall's, for graphs of few vertices and many edges."""
    n = lengths.shape[0]
    for k in range(n):
        by = lengths[k]
        for i in range(n):
            first = lengths[i, k]
            if first < np.inf:
                mine = lengths[i]
                for j in range(n):
                    length = first + by[j]
                    mine[j] = length if length < mine[j] else mine[j]


@kernel
def _detour_chunk(start, stop, near, paths, out):
    """`detours` for new rows start..stop, into ``out``."""
    for i in range(start, stop):
        for s in range(out.shape[1]):
            shortest = np.inf
            for p in range(near.indptr[i], near.indptr[i + 1]):
                length = near.data[p] + paths[s, near.indices[p]]
                if length < shortest:
                    shortest = length
            out[i, s] = shortest


@parallel_kernel
def detours(near, paths, rows_per_chunk, out):
    """Write min over neighbours j of new row i of d_ij + paths[s, j] to ``out[i, s]``.

    ``near`` is a `Csr` of distances from new rows to rows learned.
    """
    n = out.shape[0]
    n_chunks = -(-n // rows_per_chunk)
    for c in prange(n_chunks):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _detour_chunk(start, stop, near, paths, out)
