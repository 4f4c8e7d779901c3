"""The rows of one fit, with their weights and scratch, as the k-means loops use them.

`DenseRows` and `SparseRows` answer the same calls, so each loop is written once. Runs from several
starts may share the passes: centres then come as (run, centre, feature), labels as (run, row).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.kmeans.centers import (
    finish_centers,
    lay_out_centers,
    merge_statistics,
)
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.cluster import hamerly, kmeans_plusplus, lloyd
from fastml.kernels.cluster.hamerly import HamerlyBounds, LaidOutCenters, RowLabels
from fastml.kernels.cluster.lloyd import INERTIA, LABELS, SUMS, ClusterStatistics, ShiftedRows
from fastml.kernels.cluster.lloyd_registers import CENTERS_PER_GROUP, TILE

MOST_CHUNKS = 64
OPERATIONS_PER_CHUNK = 1 << 16
LEAST_WORK_FOR_BOUNDS = 256
"""Multiply-adds per row from which updating bounds costs less than scoring (measured)."""
LEAST_FEATURES_FOR_TILES = 8
"""Narrower rows are transposed in every step: a copy would be large compared with the data."""
LEAST_NARROW = 1e-9
"""Rows with norms above it, and below its inverse, may be scored in float32: no number overflows,
and what is lost below the least one is less than the error of rounding."""
MOST_DOUBTFUL = 0.25
"""Share of rows that scores in float32 do not decide, above which there are none."""
LABEL_BYTES = 4
KEPT_LABEL_BYTES = 2  # of the best run so far
ONE_RUN = np.zeros(1, dtype=np.intp)


class KMeansRows:
    """What dense and sparse rows have in common."""

    def __init__(self, X, weights, n_jobs):
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        if weights is None:
            weights = np.ones(self.n_rows, dtype=X.dtype)
        self.weights = kernel_view(weights, dtype=X.dtype)
        self.n_jobs = n_jobs
        self.n_centers = self.n_runs = None
        self.shift: NDArray | None = None
        self.sampler = None  # a `seeding.RowSampler`, made when first needed

    def operations_per_row(self, n_centers: int) -> float:
        raise NotImplementedError

    def runs_at_once(self, n_centers: int, algorithm: str) -> int:
        """How many runs may share the passes over the rows."""
        return 1

    def prepare(self, n_centers: int, n_runs: int = 1) -> None:
        """Cut into chunks and allocate scratch for ``n_runs`` times ``n_centers`` centres."""
        if n_centers == self.n_centers and n_runs == self.n_runs:
            return
        self.n_centers, self.n_runs = n_centers, n_runs
        per_row = self.operations_per_row(n_centers)
        # The sums of all chunks together stay below a fraction of the data: rows >= 4 k.
        n_chunks = min(
            MOST_CHUNKS,
            self.n_rows * per_row // OPERATIONS_PER_CHUNK,
            self.n_rows // max(TILE, 4 * n_centers),
        )
        rows = -(-self.n_rows // max(1, int(n_chunks)))
        self.rows_per_chunk = -(-rows // TILE) * TILE
        self.n_chunks = max(1, -(-self.n_rows // self.rows_per_chunk))
        self.n_threads = effective_n_threads(self.n_jobs, work=n_runs * self.n_rows * per_row)
        self.statistics = ClusterStatistics(
            sums=np.empty((self.n_chunks, n_runs, n_centers, self.n_features)),
            masses=np.empty((self.n_chunks, n_runs, n_centers)),
            changed=np.zeros((self.n_chunks, n_runs), dtype=np.intp),
            inertia=np.zeros((self.n_chunks, n_runs)),
        )
        self.total_sums = np.empty((n_runs, n_centers, self.n_features))
        self.total_masses = np.empty((n_runs, n_centers))
        self.moves = np.zeros((n_runs, n_centers))
        self._allocate_layout(n_centers, n_runs)

    def _allocate_layout(self, n_centers: int, n_runs: int) -> None:
        raise NotImplementedError

    def set_centers(self, centers: NDArray) -> None:
        """Lay ``centers`` out for `visit`."""
        raise NotImplementedError

    def visit(self, what: int, centers: NDArray, labels: NDArray, runs: NDArray = ONE_RUN) -> None:
        """One pass over the rows: new labels, statistics of the chunks, inertia.

        ``labels[runs]`` belong to ``centers``; statistics are written in the order of ``centers``.
        """
        raise NotImplementedError

    def take(self, indices) -> NDArray:
        """Some rows, dense and shifted."""
        raise NotImplementedError

    def means(self, labels: NDArray) -> NDArray:
        """The weighted means of the clusters that ``labels`` name, none of them empty."""
        no_centers = np.zeros((self.n_centers, self.n_features), dtype=self.dtype)
        self.visit(SUMS, no_centers[None], labels[None])
        self.merge()
        return self.finish(no_centers[None])[0][0]

    def matrix(self):
        """All rows as one matrix, shifted."""
        raise NotImplementedError

    def seeding_tiles(self) -> NDArray | None:
        """What `seeding_pass` reads beside the rows themselves, made once for all passes."""
        raise NotImplementedError

    def seeding_pass(self, tiles, centers, closest, keep, kept, potentials) -> None:
        """One step of k-means++: squared distances lowered by each of the candidate ``centers``.

        ``kept`` takes them if ``keep``; ``potentials`` are their weighted sums, chunk by chunk.
        """
        raise NotImplementedError

    def distances(self, centers: NDArray) -> NDArray:
        """Distance of every row to every centre."""
        raise NotImplementedError

    def merge(self, n_runs: int = 1) -> tuple[NDArray, NDArray]:
        """Merge the statistics of the chunks: per run (empty clusters, changed labels)."""
        return merge_statistics(
            self.statistics.sums[:, :n_runs],
            self.statistics.masses[:, :n_runs],
            self.statistics.changed[:, :n_runs],
            self.total_sums[:n_runs],
            self.total_masses[:n_runs],
        )

    def finish(self, old_centers: NDArray) -> tuple[NDArray, NDArray]:
        """The new centres, and per run the sum of their squared moves."""
        n_runs = old_centers.shape[0]
        centers = np.empty_like(old_centers)
        squared_moves = finish_centers(
            self.total_sums[:n_runs],
            self.total_masses[:n_runs],
            old_centers,
            centers,
            self.moves[:n_runs],
        )
        return centers, squared_moves

    def relocate_empty(self, run: int, n_empty: int, centers: NDArray, labels: NDArray) -> None:
        """scikit-learn's rule: an empty cluster takes the row farthest from its centre."""
        distances = self.distances_to_own_center(centers, labels)
        # More clusters than distinct rows: the means of equal rows differ from them by rounding.
        doubles = np.finfo(np.float64).eps
        rounding = 4 * np.finfo(self.dtype).eps + 8 * np.sqrt(self.n_rows) * doubles
        if distances.max() <= rounding**2 * np.einsum("jd,jd->j", centers, centers).max():
            return
        sums, masses = self.total_sums[run], self.total_masses[run]
        farthest = np.argpartition(distances, -n_empty)[: -n_empty - 1 : -1]
        rows = self.take(farthest).astype(np.float64)
        for empty, i, row in zip(np.flatnonzero(masses == 0), farthest, rows):
            weight = float(self.weights[i])
            sums[labels[i]] -= row * weight
            sums[empty] = row * weight
            masses[empty] = weight
            masses[labels[i]] -= weight

    def distances_to_own_center(self, centers, labels) -> NDArray:
        raise NotImplementedError

    def inertia(self, centers: NDArray, labels: NDArray) -> float:
        """Weighted sum of squared distances to the labelled centres."""
        self.prepare(centers.shape[0])
        self.visit(INERTIA, centers[None], labels[None])
        return float(self.statistics.inertia.sum())

    def nearest(self, centers: NDArray, labels: NDArray | None = None) -> NDArray:
        """Label of the nearest centre of every row."""
        if labels is None:
            labels = np.full(self.n_rows, -1, dtype=np.int32)
        self.prepare(centers.shape[0])
        self.set_centers(centers[None])
        self.visit(LABELS, centers[None], labels[None])
        return labels

    def nearest_and_inertia(self, centers: NDArray) -> tuple[NDArray, float]:
        labels = np.full(self.n_rows, -1, dtype=np.int32)
        self.prepare(centers.shape[0])
        self.set_centers(centers[None])
        self.visit(LABELS | INERTIA, centers[None], labels[None])
        return labels, float(self.statistics.inertia.sum())

    def begin_runs(self, algorithm: str) -> None:
        """Forget the bounds of an earlier run."""

    def lloyd_pass(self, centers: NDArray, labels: NDArray, runs: NDArray = ONE_RUN) -> None:
        """Labels and statistics of the chunks, for centres that are laid out."""
        self.visit(LABELS | SUMS, centers, labels, runs)


class DenseRows(KMeansRows):
    """C-contiguous rows, read as ``X − shift``."""

    def __init__(self, X, weights=None, shift=None, n_jobs=None):
        super().__init__(X, weights, n_jobs)
        self.X = kernel_view(X)
        if shift is None:
            shift = np.zeros(self.n_features)
        self.shift = kernel_view(shift, dtype=X.dtype)
        self.shifted = ShiftedRows(self.X, self.shift, self.weights)
        self.bounds: HamerlyBounds | None = None
        self.bounded = self.merged = False

    def operations_per_row(self, n_centers):
        return self.n_features * n_centers

    def _uses_bounds(self, n_centers: int, algorithm: str) -> bool:
        return algorithm == "elkan" or self.operations_per_row(n_centers) >= LEAST_WORK_FOR_BOUNDS

    def runs_at_once(self, n_centers, algorithm):
        if self._uses_bounds(n_centers, algorithm):
            return 1
        row_bytes = self.X.nbytes // self.n_rows  # of a copy of the data; as much again for labels
        return max(1, (row_bytes - KEPT_LABEL_BYTES) // LABEL_BYTES)

    def _allocate_layout(self, n_centers, n_runs):
        n_groups = -(-n_centers // CENTERS_PER_GROUP)
        shape = (n_runs, n_groups, self.n_features, CENTERS_PER_GROUP)
        self.coefficients = np.empty(shape, dtype=self.dtype)
        self.norms = np.empty((n_runs, n_groups * CENTERS_PER_GROUP), dtype=self.dtype)
        self.narrow = [
            np.empty(array.shape, np.float32) for array in (self.coefficients, self.norms)
        ]

    def set_centers(self, centers):
        n_runs = centers.shape[0]
        lay_out_centers(centers, self.coefficients[:n_runs], self.norms[:n_runs])

    def visit(self, what, centers, labels, runs=ONE_RUN):
        self.merged = False
        lloyd.lloyd_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            what,
            self.shifted,
            runs,
            centers,
            self.coefficients,
            self.norms,
            labels,
            self.statistics,
            n_threads=self.n_threads,
        )

    def begin_runs(self, algorithm):
        self.bounded = self._uses_bounds(self.n_centers, algorithm)
        if not self.bounded:
            return
        if self.bounds is None:
            self.bounds = HamerlyBounds(
                *(np.empty(self.n_rows, dtype=self.dtype) for _ in HamerlyBounds._fields)
            )
            hamerly.shifted_norms(self.X, self.shift, self.bounds.row_norms)
        self.bounds.upper.fill(0)
        self.bounds.lower.fill(0)
        self.statistics.sums.fill(0)
        self.statistics.masses.fill(0)
        self.touched = np.empty((self.n_chunks, self.n_centers), dtype=np.bool_)
        self.doubtful = np.zeros((self.n_chunks, 2), dtype=np.intp)
        self.merged = False
        largest = float(self.bounds.row_norms.max())
        self.is_narrow = self.dtype == np.float64 and LEAST_NARROW < largest < 1.0 / LEAST_NARROW

    def _laid_out(self) -> LaidOutCenters:
        """The centres; in float32, too, where that decides most labels and nothing overflows."""
        coefficients, norms = self.narrow
        scored, doubtful = self.doubtful.sum(axis=0)
        if doubtful > MOST_DOUBTFUL * scored:
            self.is_narrow = False
        largest = self.norms[0, : self.n_centers].max()
        if self.is_narrow and LEAST_NARROW**2 < largest < LEAST_NARROW**-2:
            coefficients[:] = self.coefficients
            norms[:] = np.minimum(self.norms, np.finfo(np.float32).max)
        else:
            coefficients, norms = coefficients[:, :0], norms[:, :0]
        return LaidOutCenters(self.coefficients, self.norms, coefficients, norms)

    def lloyd_pass(self, centers, labels, runs=ONE_RUN):
        if not self.bounded:
            self.visit(LABELS | SUMS, centers, labels, runs)
            return
        hamerly.bounded_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            self.shifted,
            centers,
            self._laid_out(),
            self.moves,
            RowLabels(labels, self.bounds, self.touched, self.doubtful),
            self.statistics,
            n_threads=self.n_threads,
        )

    def merge(self, n_runs=1):
        if not (self.bounded and self.merged):
            self.merged = True
            return super().merge(n_runs)
        hamerly.merge_touched(self.statistics, self.touched, self.total_sums, self.total_masses)
        n_empty = np.count_nonzero(self.total_masses == 0.0)
        return np.array([n_empty]), np.add.reduce(self.statistics.changed, axis=0)

    def relocate_empty(self, run, n_empty, centers, labels):
        super().relocate_empty(run, n_empty, centers, labels)
        self.merged = False  # totals are no longer those of the chunks

    def take(self, indices):
        return self.X[indices] - self.shift

    def matrix(self):
        return self.X - self.shift

    def seeding_tiles(self):
        few = self.n_features < LEAST_FEATURES_FOR_TILES
        return pack_tiles(self.X[:0] if few else self.X, self.shift)

    def seeding_pass(self, tiles, centers, closest, keep, kept, potentials):
        kmeans_plusplus.seeding_chunks(
            self.n_chunks,
            self.rows_per_chunk // TILE,
            self.X,
            self.shift,
            tiles,
            self.weights,
            centers,
            closest,
            keep,
            kept,
            potentials,
            n_threads=self.n_threads,
        )

    def distances_to_own_center(self, centers, labels):
        distances = np.empty(self.n_rows, dtype=self.dtype)
        lloyd.distances_to_own_center(self.X, self.shift, centers, labels, distances)
        return distances

    def distances(self, centers):
        self.prepare(centers.shape[0])
        distances = np.empty((self.n_rows, centers.shape[0]), dtype=self.dtype)
        lloyd.transform_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            self.X,
            self.shift,
            centers,
            distances,
            n_threads=self.n_threads,
        )
        return distances


def pack_tiles(X: NDArray, shift: NDArray) -> NDArray:
    """All rows as tiles (tile, dimension, row); unused lanes of the last one are zero."""
    n_rows, n_features = X.shape
    tiles = np.zeros((-(-n_rows // TILE), n_features, TILE), dtype=X.dtype)
    whole = n_rows // TILE
    blocks = X[: whole * TILE].reshape(whole, TILE, n_features)
    np.subtract(blocks.transpose(0, 2, 1), shift[:, None], out=tiles[:whole])
    if rest := n_rows - whole * TILE:
        tiles[whole, :, :rest] = (X[whole * TILE :] - shift).T
    return tiles
