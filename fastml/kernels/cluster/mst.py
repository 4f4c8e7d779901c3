"""Single linkage by Prim's algorithm, without a distance matrix.

Prim adds the vertex nearest to the tree, again and again. The clusters at height t are the runs of
vertices, in the order of addition, that are joined by steps of at most t; so a step needs no record
of *which* vertex of the tree was nearest: (vertex added before, vertex added, distance) gives the
same hierarchy (as does SciPy). Ties: the lowest index.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.linkage import INFINITE_BITS, load_row
from fastml.kernels.distances.metrics import CHEBYSHEV, MANHATTAN, SQEUCLIDEAN

COLUMNS_PER_BLOCK = 256
IN_TREE = INFINITE_BITS + 1  # a NaN
LAST_PANEL_METRIC = CHEBYSHEV


@kernel(fast_math=True)
def panel_rdists(code, panel, start, stop, point, out):
    """Write the reduced distances of ``point`` and columns start..stop of ``panel`` to ``out``.

    For codes <= LAST_PANEL_METRIC.
    """
    d = panel.shape[0]
    n = stop - start
    for j in range(n):
        out[j] = 0.0
    if code <= SQEUCLIDEAN:
        for k in range(0, d - 1, 2):
            x, y = point[k], point[k + 1]
            first, second = panel[k, start:stop], panel[k + 1, start:stop]
            for j in range(n):
                s, t = first[j] - x, second[j] - y
                out[j] += s * s + t * t
        if d % 2:
            x = point[d - 1]
            first = panel[d - 1, start:stop]
            for j in range(n):
                s = first[j] - x
                out[j] += s * s
    elif code == MANHATTAN:
        for k in range(d):
            x = point[k]
            first = panel[k, start:stop]
            for j in range(n):
                out[j] += abs(first[j] - x)
    else:
        for k in range(d):
            x = point[k]
            first = panel[k, start:stop]
            for j in range(n):
                gap = abs(first[j] - x)
                out[j] = gap if gap > out[j] else out[j]


@kernel
def _keep_nearer(best, bits, values, n):
    """Lower ``best`` to ``values`` where those are less; return the smallest of all, as bits."""
    for j in range(n):
        value = values[j]
        best[j] = value if value < best[j] else best[j]
    smallest = IN_TREE
    for j in range(n):
        smallest = bits[j] if bits[j] < smallest else smallest
    return smallest


@kernel
def _panel_chunk(c, n_blocks, code, panel, width, point, best, bits, smallest, where):
    """One step for chunk c: lower ``best`` (``bits``: the same memory) to the distances to
    ``point``.

    Writes the chunk's least value to ``smallest[c]`` and the start of the first block that holds it
    to ``where[c]``.
    """
    values = np.empty(COLUMNS_PER_BLOCK)
    smallest[c] = IN_TREE
    where[c] = 0
    for block in range(c * n_blocks, (c + 1) * n_blocks):
        start = block * COLUMNS_PER_BLOCK
        stop = min(start + COLUMNS_PER_BLOCK, width)
        if start >= stop:
            break
        panel_rdists(code, panel, start, stop, point, values)
        found = _keep_nearer(best[start:stop], bits[start:stop], values, stop - start)
        if found < smallest[c]:
            smallest[c] = found
            where[c] = start


@kernel
def _first_in_block(bits, start, width, value):
    """Return where ``value`` is first found in the block that begins at ``start``."""
    for j in range(start, min(start + COLUMNS_PER_BLOCK, width)):
        if bits[j] == value:
            return j
    return start


@kernel
def _add_vertex(s, panel, width, point, bits, smallest, where, n_chunks, slots):
    """Write the slot nearest to the tree to slots[s], mark it in ``bits`` as part of the tree, and
    write its column to ``point``."""
    best = 0
    for c in range(1, n_chunks):
        if smallest[c] < smallest[best]:
            best = c
    slot = _first_in_block(bits, where[best], width, smallest[best])
    slots[s, 0] = slot
    slots[s, 1] = bits[slot]
    bits[slot] = IN_TREE
    for k in range(panel.shape[0]):
        point[k] = panel[k, slot]


@parallel_kernel
def panel_steps(n_steps, n_blocks, code, panel, width, point, best, bits, smallest, where, slots):
    """Add ``n_steps`` vertices: ``slots[s]`` gets the slot and the bits of its reduced distance.

    ``best`` and ``point`` (the vertex added last) are brought up to date; ``smallest`` and
    ``where`` are scratch, one entry per chunk of ``n_blocks`` blocks. ``bits`` is ``best`` as
    integers, ordered alike. A slot in the tree holds a NaN: no distance replaces it and no integer
    minimum finds it.
    """
    n_chunks = (width + n_blocks * COLUMNS_PER_BLOCK - 1) // (n_blocks * COLUMNS_PER_BLOCK)
    for s in range(n_steps):
        for c in prange(n_chunks):
            _panel_chunk(
                np.intp(c), n_blocks, code, panel, width, point, best, bits, smallest, where
            )
        _add_vertex(s, panel, width, point, bits, smallest, where, n_chunks, slots)


@kernel
def close_gaps(panel, index, bits, width):
    """Drop the columns in the tree from ``panel``, ``index`` and ``bits``; return the new width."""
    for k in range(panel.shape[0]):
        n = 0
        for j in range(width):
            if bits[j] != IN_TREE:
                panel[k, n] = panel[k, j]
                n += 1
    n = 0
    for j in range(width):
        if bits[j] != IN_TREE:
            index[n] = index[j]
            bits[n] = bits[j]
            n += 1
    return n


@kernel
def matrix_steps(n_steps, D, square, vertex, best, bits, row, blocked, slots):
    """`panel_steps` on a stored matrix, starting from ``vertex``; return the last vertex added.

    ``row`` is scratch.
    """
    n = best.shape[0]
    for s in range(n_steps):
        load_row(D, square, n, vertex, blocked, row)
        least = IN_TREE
        where = 0
        for start in range(0, n, COLUMNS_PER_BLOCK):
            stop = min(start + COLUMNS_PER_BLOCK, n)
            found = _keep_nearer(best[start:stop], bits[start:stop], row[start:stop], stop - start)
            if found < least:
                least = found
                where = start
        vertex = _first_in_block(bits, where, n, least)
        slots[s, 0] = vertex
        slots[s, 1] = least
        bits[vertex] = IN_TREE
    return vertex
