"""Points, what to sum at them, a smoothing kernel and a bandwidth: ready for kernel sums.

What `KernelDensity`, `KernelRegressor`, `KernelClassifier` and the bandwidth selectors share. Data
are scaled once so that the kernels see bandwidth 1; the log of the kernel's normalising constant
(bandwidth included) is `log_norm`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from fastml._engines.distances.names import TREE_METRICS
from fastml._engines.search.metric import resolve_metric
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view, lookup
from fastml.kernels.density import smoothing
from fastml.kernels.density.expansion import HALF, TERMS, expansion_sums, fill_cells
from fastml.kernels.density.sums import Queries, SumRule, kernel_sums
from fastml.kernels.density.tiles import TILE, Tiles, boxes, pack, tile_order
from fastml.kernels.distances import metrics

TOLERANCE = 1e-9
"""What endless kernels may leave out, as a share of the sum."""

QUERY_TILE = 32
POINTS_PER_CELL = 32
"""From here on a cell's series is cheaper than its points."""

MOSTLY_OTHERS = 1e-2
PAIRS_PER_CALL = 5e8
"""Distances between two chances for Ctrl-C, about half a second."""


def log_kernel_integral(kernel: str, d: int) -> float:
    """log of the integral of K(|u|) over d dimensions, K(0) = 1, bandwidth 1."""

    def log_ball(n):
        return 0.5 * n * math.log(math.pi) - gammaln(0.5 * n + 1.0)

    log_sphere = math.log(2.0 * math.pi) + log_ball(d - 2)
    if kernel == "gaussian":
        return 0.5 * d * math.log(2.0 * math.pi)
    if kernel == "tophat":
        return log_ball(d)
    if kernel == "epanechnikov":
        return log_ball(d) + math.log(2.0 / (d + 2.0))
    if kernel == "exponential":
        return log_sphere + gammaln(d)
    if kernel == "linear":
        return log_ball(d) - math.log(d + 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(max(24, d))
    radius = 0.5 * (nodes + 1.0)
    integrand = np.cos(0.5 * math.pi * radius) * radius ** (d - 1)
    return log_sphere + math.log(0.5 * np.dot(weights, integrand))


def bandwidth_volume(bandwidth, d: int) -> float:
    """log |H|^(1/2): h is a number, one number per feature or a covariance matrix."""
    if np.ndim(bandwidth) == 0:
        return d * math.log(bandwidth)
    if np.ndim(bandwidth) == 1:
        return float(np.sum(np.log(bandwidth)))
    return float(np.sum(np.log(np.diag(np.linalg.cholesky(bandwidth)))))


@dataclass
class Smoother:
    """Kernel sums over fixed points.

    Parameters
    ----------
    X : (n, d) float64 array
    values : (n, m) float64 array, the weights (>= 0) in the first column; rows of weight 0 are
        left out
    kernel : name of the smoothing kernel
    bandwidth : float, (d,) array or (d, d) covariance
    metric, metric_params : as in scikit-learn's trees; other than Euclidean is summed pair by pair
    relative, absolute : how much of a sum may be left out (absolute: in units of the sum)
    """

    X: NDArray
    values: NDArray
    kernel: str
    bandwidth: object
    metric: str = "euclidean"
    metric_params: dict | None = None
    relative: float = TOLERANCE
    absolute: float = 0.0
    n_jobs: int | None = None
    engine: str = field(init=False)

    def __post_init__(self):
        self.X = np.ascontiguousarray(self.X)  # its mean, to the bit, depends on the layout
        kept = self.values[:, 0] > 0.0
        self.kept = None if kept.all() else np.flatnonzero(kept)
        if self.kept is not None:
            self.X, self.values = self.X[kept], self.values[kept]
        self.code = lookup(SMOOTHING_KERNELS, self.kernel, "kernel")
        lookup(TREE_METRICS, self.metric, "metric")
        self.resolved = resolve_metric(self.metric, self.metric_params or {}, self.X)
        self.total = float(self.values[:, 0].sum())
        self.lightest = float(self.values[:, 0].min())
        self.endless = self.code <= smoothing.LAST_ENDLESS
        self.unit = {
            smoothing.GAUSSIAN_KERNEL: math.sqrt(0.5 * math.log2(math.e)),
            smoothing.EXPONENTIAL_KERNEL: math.log2(math.e),
        }.get(self.code, 1.0)
        self.reach2, self.scale = 1.0, 1.0
        if self.resolved.code != metrics.EUCLIDEAN:
            self.engine = "pairs"
            self.unit /= float(self.bandwidth)
        else:
            self._prepare_tiles()
            if self.code == smoothing.GAUSSIAN_KERNEL and self.X.shape[1] == 1:
                self._prepare_expansion()

    def log_norm(self) -> float:
        """log of the constant that makes each point's kernel integrate to one."""
        d = self.X.shape[1]
        return -log_kernel_integral(self.kernel, d) - bandwidth_volume(self.bandwidth, d)

    # ------------------------------------------------------------------ Euclidean: tiles

    def _prepare_tiles(self):
        self.engine = "tiles"
        if np.ndim(self.bandwidth) == 0 and not self.endless:
            # Unscaled, so that |x - y| < h is decided as written even on a lattice.
            self.centre = None
            self.reach2 = _square_reaching(float(self.bandwidth))
            self.scale = 1.0 / float(self.bandwidth) ** 2
        else:
            self.centre = self.X.mean(axis=0)
        rows, self.order = in_tile_order(self._scaled(self.X), TILE)
        self.tiles = tiles_of(rows, self.order, self.values)

    def _scaled(self, X):
        """Data in units of the bandwidth (and of the kernel), as a new array."""
        if self.centre is None:
            return np.array(X, order="C")
        X = np.subtract(X, self.centre, order="C")
        if np.ndim(self.bandwidth) == 2:
            factor = np.linalg.cholesky(self.bandwidth)
            X = solve_triangular(factor, X.T, lower=True).T
            return np.ascontiguousarray(X * self.unit)
        X *= self.unit / np.asarray(self.bandwidth)
        return X

    def _queries(self, Q, itself):
        """Queries in tiles, the size of these tiles, and the places where the rows went to."""
        n, d = self.X.shape
        tile = min(QUERY_TILE, max(1, Q.shape[0] // QUERY_TILE))
        rows, order = in_tile_order(self._scaled(Q), tile)
        n_tiles = -(-Q.shape[0] // tile)
        low, high = np.empty((n_tiles, d)), np.empty((n_tiles, d))
        boxes(rows, tile, low, high)
        if itself is None:
            place = np.full(Q.shape[0], -1)
        else:
            ranks = np.empty(n + 1, dtype=np.intp)
            ranks[self.order] = np.arange(n)
            ranks[n] = -1  # for queries that are not among the points
            place = ranks[itself[order]]
        back = np.empty_like(order)
        back[order] = np.arange(order.shape[0])
        return Queries(rows, place, low, high), tile, back

    def _rule(self):
        return SumRule(self.code, self.reach2, self.scale, self.total, self.relative, self.absolute)

    def _sums_of_tiles(self, queries, tile):
        n, d = self.X.shape
        n_queries, n_tiles = queries.rows.shape[0], queries.low.shape[0]
        sums, shifts = np.zeros((n_queries, self.values.shape[1])), np.zeros(n_queries)
        operations = n * (10.0 + d)
        n_threads = effective_n_threads(self.n_jobs, n_queries * operations)
        per_call = max(64, int(PAIRS_PER_CALL * 10.0 // (tile * operations)))
        for first in range(0, n_tiles, per_call):
            last = min(first + per_call, n_tiles)
            kernel_sums(
                self._rule(),
                queries,
                first,
                last,
                tile,
                self.tiles,
                self.lightest,
                min(last - first, 64),
                sums,
                shifts,
                n_threads=n_threads,
            )
        return sums, shifts

    def _tile_sums(self, Q, itself):
        queries, tile, back = self._queries(Q, itself)
        sums, shifts = self._sums_of_tiles(queries, tile)
        return sums[back], shifts[back]

    def planes(self, Q, itself=None):
        """Value at each query of the plane fitted around it (n_queries, m - 1); NaN out of reach.

        The values' further columns are weight times target.
        """
        from fastml.kernels.density.local_linear import local_linear

        queries, tile, back = self._queries(Q, self._ranks(itself))
        sums, shifts = self._sums_of_tiles(queries, tile)
        n, d = self.X.shape
        out = np.full((Q.shape[0], self.values.shape[1] - 1), np.nan)
        operations = n * (10.0 + d * d)
        rows = max(1, min(-(-Q.shape[0] // 64), int(PAIRS_PER_CALL / 10 // operations)))
        for first in range(0, Q.shape[0], 64 * rows):
            local_linear(
                first,
                min(first + 64 * rows, Q.shape[0]),
                rows,
                self._rule(),
                queries.rows,
                queries.itself,
                self.tiles,
                sums,
                shifts,
                out,
                n_threads=effective_n_threads(self.n_jobs, Q.shape[0] * operations),
            )
        return out[back]

    # ------------------------------------------------------------------ on a line: expansion

    def _prepare_expansion(self):
        """Series around cells, if there are many points to a cell."""
        x = self.tiles.coordinates.ravel()[: self.X.shape[0]] / self.unit  # sorted
        self.origin = x[0]
        x -= self.origin
        numbers = np.floor(x / (2.0 * HALF))
        n_cells = 1 + np.count_nonzero(np.diff(numbers))
        if x.shape[0] < POINTS_PER_CELL * n_cells or numbers[-1] > 2**50:
            return
        self.engine = "expansion"
        self.cells = np.empty(n_cells, dtype=np.intp)
        self.series = np.zeros((n_cells, self.values.shape[1], TERMS))
        fill_cells(x, kernel_view(self.values[self.order]), self.cells, self.series)

    def _expansion_sums(self, Q, itself):
        x = self._scaled(Q)[:, 0] / self.unit - self.origin
        sums = np.zeros((x.shape[0], self.values.shape[1]))
        shifts = np.zeros(x.shape[0])
        done = np.empty(x.shape[0], dtype=np.bool_)
        expansion_sums(
            x,
            max(16, -(-x.shape[0] // 64)),
            self.cells,
            self.series,
            self.total,
            self.relative,
            self.absolute,
            sums,
            done,
            n_threads=effective_n_threads(self.n_jobs, x.shape[0] * 20.0 * TERMS),
        )
        if itself is not None:
            members = np.flatnonzero(itself < self.X.shape[0])
            own = self.values[itself[members]]
            # Taking the own share away must leave enough for the precision to hold.
            done[members] &= own[:, 0] < (1.0 - MOSTLY_OTHERS) * sums[members, 0]
            sums[members] -= own
        rest = np.flatnonzero(~done)
        if rest.shape[0]:
            sums[rest], shifts[rest] = self._tile_sums(
                Q[rest], None if itself is None else itself[rest]
            )
        return sums, shifts

    # ------------------------------------------------------------------ other metrics: pairs

    def _metric_sums(self, Q, itself):
        from fastml.kernels.density.metric_sums import metric_sums

        n, d = self.X.shape
        place = np.full(Q.shape[0], -1) if itself is None else np.where(itself < n, itself, -1)
        sums = np.zeros((Q.shape[0], self.values.shape[1]))
        shifts = np.zeros(Q.shape[0])
        n_threads = effective_n_threads(self.n_jobs, Q.shape[0] * n * (10.0 + d))
        rows = max(1, int(PAIRS_PER_CALL / 10 // (n * (1.0 + d))))
        per_call = min(rows, max(1, -(-Q.shape[0] // 64)))
        for first in range(0, Q.shape[0], 64 * per_call):
            metric_sums(
                first,
                min(first + 64 * per_call, Q.shape[0]),
                per_call,
                self._rule(),
                self.unit,
                self.resolved,
                kernel_view(Q),
                place,
                kernel_view(self.X),
                kernel_view(self.values),
                sums,
                shifts,
                n_threads=n_threads,
            )
        return sums, shifts

    # ------------------------------------------------------------------ for all

    def sums(self, Q, itself=None) -> tuple[NDArray, NDArray]:
        """Kernel sums (n_queries, m) and the log of the factor that they are to be multiplied by.

        ``itself`` gives, for each query, the row of the original X to leave out.
        """
        itself = self._ranks(itself)
        if self.engine == "pairs":
            sums, shifts = self._metric_sums(Q, itself)
        elif self.engine == "expansion":
            sums, shifts = self._expansion_sums(Q, itself)
        else:
            sums, shifts = self._tile_sums(Q, itself)
        return sums, shifts * -math.log(2.0)

    def _ranks(self, itself):
        """Rows of the original X → rows among the points of positive weight (n: not there)."""
        if itself is None or self.kept is None:
            return itself
        ranks = np.full(int(max(itself.max(initial=0), self.kept[-1])) + 1, self.X.shape[0])
        ranks[self.kept] = np.arange(self.X.shape[0])
        return ranks[itself]

    def log_sums(self, Q, itself=None) -> NDArray:
        """log of the weighted kernel sum; -inf where no point is in reach."""
        sums, log_factor = self.sums(Q, itself)
        with np.errstate(divide="ignore"):
            return np.log(sums[:, 0]) + log_factor


def in_tile_order(rows, tile):
    """Rows reordered into tiles (the array given may be changed), and their old places."""
    if rows.shape[1] == 1:
        order = np.argsort(rows[:, 0])
        return rows[order], order
    order = np.arange(rows.shape[0])
    tile_order(rows, order, tile)
    return rows, order


def tiles_of(rows, order, values) -> Tiles:
    """Rows in tile order and the values (n, m) at their old places, packed."""
    n, d = rows.shape
    n_tiles = -(-n // TILE)
    tiles = Tiles(
        np.empty((n_tiles, d, TILE)),
        np.empty((n_tiles, values.shape[1], TILE)),
        np.empty((n_tiles, d)),
        np.empty((n_tiles, d)),
        np.empty(n_tiles),
    )
    pack(rows, order, kernel_view(values), tiles)
    return tiles


def _square_reaching(h: float) -> float:
    """The smallest float whose square root is >= h: r^2 < it exactly if sqrt(r^2) < h."""
    square = h * h
    while math.sqrt(square) >= h:
        square = math.nextafter(square, 0.0)
    while math.sqrt(square) < h:
        square = math.nextafter(square, math.inf)
    return square


def leave_one_out(smoother: Smoother):
    """Log-density at each point of a smoother from the others; the weights are renormalised."""
    weights = smoother.values[:, 0]
    itself = np.arange(smoother.X.shape[0])
    log_sums = smoother.log_sums(smoother.X, itself)
    with np.errstate(divide="ignore", invalid="ignore"):
        return log_sums + smoother.log_norm() - np.log(smoother.total - weights)
