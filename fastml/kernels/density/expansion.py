"""Gaussian sums on a line in O(n + q): a Taylor series around the centre of every cell.

In units where K = exp(-(x - y)^2 / 2), with c the centre of the cell of y:

    K = exp(-(x - c)^2 / 2) * sum_k (x - c)^k / k! * [exp(-(y - c)^2 / 2) (y - c)^k]

(Yang, Duraiswami, Gumerov and Davis, "Improved fast Gauss transform", ICCV 2003, in one dimension).
The bracket is summed over a cell's points once. With z = |x - c| |y - c| <= REACH HALF = 5, the
series cut after TERMS changes each point's share by less than
z^TERMS / TERMS! e^z / (1 - z / TERMS) < 4e-13 of itself, hence the sum by no more, however small
the sum is; rounding adds e^(2 z) eps < 5e-12. A query walks over cells outwards until the rest
cannot matter. One that would have to go beyond REACH (far from all points) is left to the tiles.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.density.smoothing import exp2_negative

HALF = 0.5  # half of a cell's width
REACH = 10.0
TERMS = 34
HALF_LOG2_E = 0.7213475204444817


@kernel
def fill_cells(x, values, cells, series):
    """Add the brackets of sorted x >= 0, times their ``values`` (n, m), to the cells' ``series``.

    ``series`` (n_cells, m, TERMS) is zero before. The numbers of the occupied cells are written to
    ``cells``, in rising order; cell 0 starts at x = 0.
    """
    used = -1
    for i in range(x.shape[0]):
        cell = np.intp(np.floor(x[i] / (2.0 * HALF)))
        if used < 0 or cell != cells[used]:
            used += 1
            cells[used] = cell
        y = x[i] - (2.0 * cell + 1.0) * HALF
        factor = exp2_negative(HALF_LOG2_E * y * y)
        for c in range(values.shape[1]):
            term = factor * values[i, c]
            for k in range(TERMS):
                series[used, c, k] += term
                term *= y
    for u in range(series.shape[0]):
        for c in range(series.shape[1]):
            factorial = 1.0
            for k in range(1, TERMS):
                factorial *= k
                series[u, c, k] /= factorial


@kernel(fused=True)
def _add_cell(x, cell, series, sums):
    """Add the share of one cell's points, ``series`` (m, TERMS), to the ``sums`` (m,) at x."""
    gap = x - (2.0 * cell + 1.0) * HALF
    factor = exp2_negative(HALF_LOG2_E * gap * gap)
    for c in range(series.shape[0]):
        total = series[c, TERMS - 1]
        for k in range(TERMS - 2, -1, -1):
            total = total * gap + series[c, k]
        sums[c] += factor * total


@kernel
def _gap(x, cell):
    """Distance of x from a cell."""
    gap = abs(x - (2.0 * cell + 1.0) * HALF) - HALF
    return gap if gap > 0.0 else 0.0


@kernel
def _walk(x, cells, series, total, relative, absolute, sums):
    """Add the shares of all cells that matter to the ``sums`` of one query x.

    Returns False, with sums that are not complete, if cells beyond REACH would matter.
    """
    n_cells = cells.shape[0]
    right = np.searchsorted(cells, np.intp(np.floor(x / (2.0 * HALF))))
    left = right - 1
    while left >= 0 or right < n_cells:
        if left < 0 or (right < n_cells and _gap(x, cells[right]) <= _gap(x, cells[left])):
            nearest = right
            right += 1
        else:
            nearest = left
            left -= 1
        gap = _gap(x, cells[nearest])
        rest = total * exp2_negative(HALF_LOG2_E * gap * gap)
        if rest <= relative * sums[0] or rest <= absolute:
            return True
        if gap + HALF > REACH:
            return False
        _add_cell(x, cells[nearest], series[nearest], sums)
    return True


@kernel
def _walk_rows(start, stop, x, cells, series, total, relative, absolute, sums, done):
    """`expansion_sums` of the queries start..stop."""
    limit = 2.0 * HALF * (np.float64(cells[-1]) + 1.0) + REACH
    for q in range(start, stop):
        done[q] = -REACH < x[q] < limit
        if done[q]:
            done[q] = _walk(x[q], cells, series, total, relative, absolute, sums[q])


@parallel_kernel
def expansion_sums(x, rows, cells, series, total, relative, absolute, sums, done):
    """Write the kernel sums at the queries x to ``sums`` (q, m), zero before; chunks of ``rows``.

    ``cells`` and ``series`` as from `fill_cells`; ``total`` is the weight of all points. What is
    left out is at most ``relative`` times the sum, or ``absolute``. ``done`` says which sums are
    complete.
    """
    n = x.shape[0]
    for c in prange((n + rows - 1) // rows):
        start = np.intp(c) * rows
        _walk_rows(
            start,
            min(start + rows, n),
            x,
            cells,
            series,
            total,
            relative,
            absolute,
            sums,
            done,
        )
