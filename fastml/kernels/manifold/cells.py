"""Repulsion of t-SNE by Barnes and Hut: far cells of a tree count as points.

Points are sorted by the interleaved bits of their coordinates; a cell is a run of them. They are
numbered so that a cell's first child follows it and ``skip`` leads past all its children.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import exp64, log64

CELL_POINTS = 8
LEVELS = 20  # bits per coordinate


class TreeCells(NamedTuple):
    """Runs ``begins[c]:ends[c]`` of points, the next cell after all children, squared sides (-1 of
    leaves) and centres of mass."""

    begins: np.ndarray
    ends: np.ndarray
    skip: np.ndarray
    squares: np.ndarray
    centres: np.ndarray


@kernel
def interleaved(Y, low, scale, codes):
    """Write to ``codes`` the bits of ``(Y - low) * scale``, those of a level side by side."""
    n, d = Y.shape
    most = (1 << LEVELS) - 1
    for i in range(n):
        code = np.uint64(0)
        for f in range(d):
            place = int((Y[i, f] - low[f]) * scale)
            place = most if place > most else place
            for level in range(LEVELS):
                bit = np.uint64((place >> level) & 1)
                code |= bit << np.uint64(level * d + f)
        codes[i] = code


@kernel
def _branch(code, level, d):
    """Which child of a cell of that level the point is in."""
    return int(code >> np.uint64(d * (LEVELS - 1 - level))) & ((1 << d) - 1)


@kernel
def build_cells(codes, Y, side, cells, levels):
    """Fill ``cells`` and their ``levels`` for sorted codes and points; return how many there are.

    At most two cells per point are needed. ``side`` is that of the whole.
    """
    n, d = Y.shape
    stack = np.empty((LEVELS * (1 << d) + 2, 3), dtype=np.intp)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, 0
    waiting, n_cells = 1, 0
    while waiting > 0:
        waiting -= 1
        begin, end, level = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        depth = level
        if end - begin > CELL_POINTS:  # pass by levels on which all are in one child
            while level < LEVELS and _branch(codes[begin], level, d) == _branch(
                codes[end - 1], level, d
            ):
                level += 1
        leaf = end - begin <= CELL_POINTS or level == LEVELS
        cells.begins[n_cells], cells.ends[n_cells], levels[n_cells] = begin, end, depth
        width = side / (1 << level) if level < 62 else 0.0
        cells.squares[n_cells] = -1.0 if leaf else width * width
        for f in range(d):
            total = 0.0
            for i in range(begin, end):
                total += Y[i, f]
            cells.centres[n_cells, f] = total / (end - begin)
        n_cells += 1
        if not leaf:
            stop = end
            while stop > begin:  # children, the last first: the stack turns them round
                start = stop - 1
                while start > begin and _branch(codes[start - 1], level, d) == _branch(
                    codes[stop - 1], level, d
                ):
                    start -= 1
                stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = start, stop, level + 1
                waiting += 1
                stop = start
    for c in range(n_cells - 1, -1, -1):
        after = c + 1
        while after < n_cells and levels[after] > levels[c]:
            after = cells.skip[after]
        cells.skip[c] = after
    return n_cells


@kernel
def _repel_point(i, n_cells, cells, Y, nu, square_angle, out):
    """Write Σ_j w u (y_i - y_j) to ``out``; return Σ_{j≠i} w."""
    d = Y.shape[1]
    for f in range(d):
        out[f] = 0.0
    power = 0.5 * (nu + 1.0)
    total = 0.0
    c = 0
    while c < n_cells:
        if cells.squares[c] < 0.0:
            for j in range(cells.begins[c], cells.ends[c]):
                if j == i:
                    continue
                square = 0.0
                for f in range(d):
                    gap = Y[i, f] - Y[j, f]
                    square += gap * gap
                u = 1.0 / (1.0 + square / nu)
                w = u if nu == 1.0 else exp64(power * log64(u))
                total += w
                for f in range(d):
                    out[f] += w * u * (Y[i, f] - Y[j, f])
            c += 1
            continue
        square = 0.0
        for f in range(d):
            gap = Y[i, f] - cells.centres[c, f]
            square += gap * gap
        if cells.squares[c] < square_angle * square:
            mass = cells.ends[c] - cells.begins[c]
            u = 1.0 / (1.0 + square / nu)
            w = mass * (u if nu == 1.0 else exp64(power * log64(u)))
            total += w
            for f in range(d):
                out[f] += w * u * (Y[i, f] - cells.centres[c, f])
            c = cells.skip[c]
        else:
            c += 1
    return total


@kernel
def _repel_cells_chunk(start, stop, n_cells, cells, Y, nu, square_angle, order, out):
    """`repel_cells` for sorted points start..stop, into ``out``; return their Σ w."""
    total = 0.0
    for i in range(start, stop):
        total += _repel_point(i, n_cells, cells, Y, nu, square_angle, out[order[i]])
    return total


@parallel_kernel
def repel_cells(n_cells, cells, Y, nu, square_angle, order, rows_per_chunk, out, partial):
    """Write Σ_j w u (y_i - y_j) of sorted point i to row order[i] of ``out``, and Σ w of each
    chunk to ``partial``."""
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _repel_cells_chunk(
            start, stop, n_cells, cells, Y, nu, square_angle, order, out
        )
