"""Repulsion of t-SNE in three ways: all pairs, a tree of cells, a grid with FFT."""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml.kernels.manifold import cells, repulsion, spline_grid
from fastml.kernels.manifold.cells import LEVELS, TreeCells
from fastml.kernels.manifold.spline_grid import BAND_ROWS, SPLINE_NODES, SplineGrid

SPACING = 1.0 / 3.0
"""Of nodes: w varies over lengths of 1, and splines are of the sixth order.

Forces are off by 0.5 % (median 0.6 %) where points are far apart; with splines of the fourth order,
as before November 2026, by 2 %, changing from node to node, so that gains fall and the descent lags
behind: 7.9 % more divergence after 1000 iterations than by pairs on 5,000 nearly equal digits, now
1.0 %, at 2/5 4.6 %, at 1/4 0.3 %; there pairs take less time. On 10,000 of them (750 iterations)
0.07 % less at 1/3, 0.25 % more at 1/4, 0.13 % less at 1/5: nothing that spacing decides.
"""

PAIR_TIME, NODE_TIME, POINT_TIME, LEAST_GRID_TIME = 0.11, 6.5, 75.0, 5e5
"""Nanoseconds on two cores, November 2026: a pair of points; a node of the padded grid; a point on
it; a grid with few nodes. 5,000 points: 2.8 ms by pairs; 1.2, 1.3 and 9.2 ms by a grid over lengths
of 10, 60 and 180."""

SINGLE_FROM = 16.0
"""Span of the positions from which the convolution is of float32."""

FINEST = SPACING / 16
FEWEST_NODES = 64  # across the points, as long as the spacing is not the finest
MOST_NODES = 4096
OWN_KNOTS = 32
NODES_ROUNDED_TO = 16


class AllPairs:
    """Sums over all pairs of rows."""

    def __init__(self, n_rows: int, nu: float, n_jobs: int | None):
        self.nu = nu
        self.rows = chunk_rows(n_rows, 4.0 * n_rows)
        self.partial = np.empty(-(-n_rows // self.rows))
        self.threads = effective_n_threads(n_jobs, 4.0 * n_rows * n_rows)

    def __call__(self, Y: NDArray, low, high, out: NDArray) -> float:
        """Write Σ_j w u (y_i - y_j) to ``out``; return Σ_{i≠j} w."""
        if self.nu == 1.0 and Y.shape[1] == 2:
            x, y = np.ascontiguousarray(Y.T, dtype=np.float32)
            repulsion.repel_plane(x, y, self.rows, out, self.partial, n_threads=self.threads)
            return float(self.partial.sum())
        repulsion.repel_pairs(Y, self.nu, self.rows, out, self.partial, n_threads=self.threads)
        return float(self.partial.sum())


class CellTree:
    """Barnes and Hut: cells that look smaller than ``angle`` count as points."""

    def __init__(self, n_rows: int, nu: float, n_jobs: int | None, angle: float):
        self.nu, self.square_angle = nu, angle * angle
        self.rows = chunk_rows(n_rows, 2000.0)
        self.partial = np.empty(-(-n_rows // self.rows))
        self.threads = effective_n_threads(n_jobs, 2000.0 * n_rows)

    def __call__(self, Y: NDArray, low: NDArray, high: NDArray, out: NDArray) -> float:
        """Write Σ_j w u (y_i - y_j) to ``out``; return Σ_{i≠j} w."""
        n, d = Y.shape
        side = max(float(np.max(high - low)), np.finfo(float).tiny)
        codes = np.empty(n, dtype=np.uint64)
        cells.interleaved(Y, low, (1 << LEVELS) / side, codes)
        order = np.argsort(codes, kind="stable")
        sorted_rows = Y[order]
        made = TreeCells(
            *(np.empty(2 * n, dtype=np.intp) for _ in range(3)),
            np.empty(2 * n),
            np.empty((2 * n, d)),
        )
        levels = np.empty(2 * n, dtype=np.intp)
        n_cells = cells.build_cells(codes[order], sorted_rows, side, made, levels)
        cells.repel_cells(
            n_cells, made, sorted_rows, self.nu, self.square_angle, order, self.rows, out,
            self.partial, n_threads=self.threads,
        )  # fmt: skip
        return float(self.partial.sum())


class PlanePairsOrGrid:
    """All pairs or the grid, whichever takes less time for the positions at hand; ν = 1.

    A few thousand points far apart need more nodes than they have pairs; early on, close together,
    they need few.
    """

    def __init__(self, n_rows: int, n_jobs: int | None):
        self.pairs, self.grid = AllPairs(n_rows, 1.0, n_jobs), Potential(n_rows, 1.0, n_jobs)
        self.n_rows = n_rows

    def __call__(self, Y: NDArray, low: NDArray, high: NDArray, out: NDArray) -> float:
        """Write Σ_j w u (y_i - y_j) to ``out``; return Σ_{i≠j} w."""
        return self.way(low, high)(Y, low, high, out)

    def way(self, low: NDArray, high: NDArray) -> AllPairs | Potential:
        """The one to take for positions within a box."""
        n = self.n_rows
        if n * n * PAIR_TIME <= n * POINT_TIME + LEAST_GRID_TIME:
            return self.pairs
        self.grid.place(low, high)
        nodes = float(np.prod(self.grid.padded))
        on_grid = nodes * NODE_TIME + n * POINT_TIME
        return self.pairs if n * n * PAIR_TIME <= on_grid else self.grid


class Potential:
    """φ(y) = Σ_j w(|y - y_j|) on the nodes of a grid, for one and two dimensions."""

    def __init__(self, n_rows: int, nu: float, n_jobs: int | None):
        self.n_rows, self.nu = n_rows, nu
        self.rows = chunk_rows(n_rows, 128.0)
        self.n_chunks = -(-n_rows // self.rows)
        self.partial = np.empty(self.n_chunks)
        self.order = np.empty(n_rows, dtype=np.uint32)
        self.threads = effective_n_threads(n_jobs, 128.0 * n_rows)
        self.known: tuple = ()
        self.grid = SplineGrid(0.0, 0.0, 1.0)
        self.values = np.empty((0, 0))

    def place(self, low: NDArray, high: NDArray, margin: float = 0.0) -> None:
        """Lay the grid around the box from ``low`` to ``high``."""
        span = float(np.max(high - low)) + 2.0 * margin
        spacing = SPACING
        while spacing > FINEST and span < FEWEST_NODES * spacing:
            spacing *= 0.5
        spacing = max(spacing, span / MOST_NODES)
        sizes = [_rounded((b - a + 2.0 * margin) / spacing) for a, b in zip(low, high)]
        corner = [float(a) - margin for a in low]
        if len(sizes) == 1:
            sizes, corner = [*sizes, SPLINE_NODES], [*corner, 0.0]
        self.sizes = tuple(sizes)
        self.grid = SplineGrid(corner[0], corner[1], 1.0 / spacing)
        self.padded = tuple(
            scipy.fft.next_fast_len(2 * size + SPLINE_NODES, real=True) for size in sizes
        )
        self.dtype = np.float32 if span >= SINGLE_FROM else np.float64
        if self.known != (spacing, self.padded, self.dtype):
            self.known = spacing, self.padded, self.dtype
            found = self._filter(spacing)
            around = scipy.fft.irfft2(found, s=self.padded, workers=self.threads)
            self.own = _own_parts(around[:SPLINE_NODES, :SPLINE_NODES])
            self.filter = found.astype(self.dtype)

    def _filter(self, spacing: float) -> NDArray:
        """The Fourier transform of w, with that of the splines of both ends taken out."""
        steps = [np.minimum(np.arange(m), m - np.arange(m)) * spacing for m in self.padded]
        square = steps[0][:, None] ** 2 + steps[1][None, :] ** 2
        w = (1.0 + square / self.nu) ** (-0.5 * (self.nu + 1.0))
        found = scipy.fft.rfft2(w, workers=self.threads).real
        for axis, m in enumerate(self.padded):
            turn = 2.0 * np.pi * np.arange(found.shape[axis]) / m
            spline = (33.0 + 26.0 * np.cos(turn) + np.cos(2.0 * turn)) / 60.0  # at the nodes
            found /= np.expand_dims(spline**2, 1 - axis)
        return found

    def solve(self, Y: NDArray) -> None:
        """Spread the rows of Y, which must be within the box, and convolve with w."""
        masses = np.zeros(self.sizes)
        n_bands = -(-self.sizes[0] // BAND_ROWS)
        counts = np.empty((self.n_chunks, n_bands), dtype=np.intp)
        begins = np.empty(n_bands + 1, dtype=np.intp)
        spline_grid.count_bands(Y, self.grid, self.rows, counts, n_threads=self.threads)
        spline_grid.band_places(counts, begins)
        spline_grid.order_by_band(
            Y, self.grid, self.rows, counts, self.order, n_threads=self.threads
        )
        for parity in (0, 1):
            spline_grid.spread_bands(
                Y, self.grid, self.order, begins, parity, masses, n_threads=self.threads
            )
        (long, wide), workers = self.padded, self.threads
        waves = scipy.fft.rfft(
            masses.astype(self.dtype, copy=False), n=wide, axis=1, workers=workers
        )
        waves = scipy.fft.fft(waves, n=long, axis=0, workers=workers)
        waves *= self.filter
        waves = scipy.fft.ifft(waves, axis=0, workers=workers, overwrite_x=True)
        waves = waves[: self.sizes[0]]
        values = scipy.fft.irfft(waves, n=wide, axis=1, workers=workers, overwrite_x=True)
        self.values = values[:, : self.sizes[1]].astype(np.float64)

    def read(self, Y: NDArray, slopes: NDArray) -> float:
        """Write ∇φ at the rows last spread to ``slopes``; return Σ φ; both without a row's own."""
        spline_grid.gather(
            Y, self.grid, self.order, self.values, self.own, self.rows, slopes, self.partial,
            n_threads=self.threads,
        )  # fmt: skip
        return float(self.partial.sum())

    def __call__(self, Y: NDArray, low: NDArray, high: NDArray, out: NDArray) -> float:
        """Write Σ_j w u (y_i - y_j) to ``out``; return Σ_{i≠j} w."""
        self.place(low, high)
        self.solve(Y)
        total = self.read(Y, out)
        out *= -self.nu / (self.nu + 1.0)
        widest = 1.0 + float(np.sum((high - low) ** 2)) / self.nu
        pairs = self.n_rows * (self.n_rows - 1.0)
        return max(total, pairs * widest ** (-0.5 * (self.nu + 1.0)))  # which no sum is below


def _own_parts(around: NDArray) -> NDArray:
    """What a point adds to φ where it stands itself, by its place between nodes: `gather`."""
    places = np.minimum(np.arange(OWN_KNOTS + 2) / OWN_KNOTS, 1.0)
    weights, slopes = np.empty((2, SPLINE_NODES, len(places)))
    spline_grid.knot_splines(places, weights, slopes)
    products, halves = np.empty(
        (2, SPLINE_NODES, len(places))
    )  # Σ_r b_r b_r+m, and half its derivative
    for m in range(SPLINE_NODES):
        ahead, behind = slice(m, SPLINE_NODES), slice(0, SPLINE_NODES - m)
        twice = 1.0 if m == 0 else 2.0  # for -m
        products[m] = twice * (weights[ahead] * weights[behind]).sum(axis=0)
        moved = slopes[ahead] * weights[behind] + weights[ahead] * slopes[behind]
        halves[m] = 0.5 * twice * moved.sum(axis=0)
    return np.stack(
        [products.T @ around @ products, halves.T @ around @ products, products.T @ around @ halves]
    )


def _rounded(n_intervals: float) -> int:
    """Nodes for so many intervals: those of a spline, and one for a point at the end."""
    nodes = int(n_intervals) + SPLINE_NODES + 1
    return -(-nodes // NODES_ROUNDED_TO) * NODES_ROUNDED_TO
