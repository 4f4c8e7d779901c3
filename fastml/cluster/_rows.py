"""The rows of one fit, with their weights and scratch: what the k-means loops see of the data.

`DenseRows` and `SparseRows` answer the same calls, so each loop is written once.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.cluster._centers import finish_centers, lay_out_centers, merge_statistics
from fastml.kernels import bounds, lloyd
from fastml.kernels.lloyd import GROUP, INERTIA, LABELS, SUMS, TILE

MOST_CHUNKS = 64
OPERATIONS_PER_CHUNK = 1 << 16
LEAST_WORK_FOR_BOUNDS = 256
"""Multiply-adds per row from which looking after bounds costs less than scoring (measured)."""


def make_rows(X, weights=None, shift=None, n_jobs=None) -> Rows:
    """Rows of a validated dense or CSR matrix; ``shift`` is subtracted from dense rows."""
    if sp.issparse(X):
        from fastml.cluster._sparse_rows import SparseRows

        return SparseRows(X, weights, n_jobs)
    return DenseRows(X, weights, shift, n_jobs)


class Rows:
    """What dense and sparse rows have in common."""

    def __init__(self, X, weights, n_jobs):
        self.n_rows, self.n_features = X.shape
        self.dtype = X.dtype
        if weights is None:
            weights = np.ones(self.n_rows, dtype=X.dtype)
        self.weights = kernel_view(weights, dtype=X.dtype)
        self.n_jobs = n_jobs
        self.n_centers = None
        self.shift: NDArray | None = None

    def operations_per_row(self, n_centers: int) -> float:
        raise NotImplementedError

    def prepare(self, n_centers: int) -> None:
        """Cut into chunks and allocate scratch for ``n_centers`` centres."""
        if n_centers == self.n_centers:
            return
        self.n_centers = n_centers
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
        self.n_threads = effective_n_threads(self.n_jobs, work=self.n_rows * per_row)
        self.sums = np.empty((self.n_chunks, n_centers, self.n_features))
        self.masses = np.empty((self.n_chunks, n_centers))
        self.total_sums = np.empty((n_centers, self.n_features))
        self.total_masses = np.empty(n_centers)
        self.changed = np.zeros(self.n_chunks, dtype=np.intp)
        self.partial_inertia = np.zeros(self.n_chunks)
        self.moves = np.zeros(n_centers)
        self._allocate_layout(n_centers)

    def _allocate_layout(self, n_centers: int) -> None:
        raise NotImplementedError

    def set_centers(self, centers: NDArray) -> None:
        """Lay ``centers`` out for `visit`."""
        raise NotImplementedError

    def visit(self, what: int, centers: NDArray, labels: NDArray) -> None:
        """One pass over the rows: new labels, statistics of the chunks, inertia."""
        raise NotImplementedError

    def take(self, indices) -> NDArray:
        """Some rows, dense and shifted."""
        raise NotImplementedError

    def means(self, labels: NDArray) -> NDArray:
        """The weighted means of the clusters that ``labels`` name, none of them empty."""
        no_centers = np.zeros((self.n_centers, self.n_features), dtype=self.dtype)
        self.visit(SUMS, no_centers, labels)
        self.merge()
        means = np.empty_like(no_centers)
        self.finish(no_centers, means)
        return means

    def matrix(self):
        """All rows as one matrix, shifted."""
        raise NotImplementedError

    def distances(self, centers: NDArray) -> NDArray:
        """Distance of every row to every centre."""
        raise NotImplementedError

    def merge(self) -> tuple[int, int]:
        """Merge the statistics of the chunks: (number of empty clusters, changed labels)."""
        return merge_statistics(
            self.sums, self.masses, self.changed, self.total_sums, self.total_masses
        )

    def finish(self, old_centers: NDArray, centers: NDArray) -> float:
        """Write and lay out the new centres; return the sum of their squared moves."""
        squared_move = finish_centers(
            self.total_sums, self.total_masses, old_centers, centers, self.moves
        )
        self.set_centers(centers)
        return squared_move

    def relocate_empty(self, n_empty: int, centers: NDArray, labels: NDArray) -> None:
        """scikit-learn's rule: an empty cluster takes the row farthest from its centre."""
        distances = self.distances_to_own_center(centers, labels)
        # More clusters than distinct rows: the means of equal rows differ from them by rounding.
        doubles = np.finfo(np.float64).eps
        rounding = 4 * np.finfo(self.dtype).eps + 8 * np.sqrt(self.n_rows) * doubles
        if distances.max() <= rounding**2 * np.einsum("jd,jd->j", centers, centers).max():
            return
        sums, masses = self.total_sums, self.total_masses
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
        self.visit(INERTIA, centers, labels)
        return float(self.partial_inertia.sum())

    def nearest(self, centers: NDArray, labels: NDArray | None = None) -> NDArray:
        """Label of the nearest centre of every row."""
        if labels is None:
            labels = np.full(self.n_rows, -1, dtype=np.int32)
        self.prepare(centers.shape[0])
        self.set_centers(centers)
        self.visit(LABELS, centers, labels)
        return labels

    def nearest_and_inertia(self, centers: NDArray) -> tuple[NDArray, float]:
        labels = np.full(self.n_rows, -1, dtype=np.int32)
        self.prepare(centers.shape[0])
        self.set_centers(centers)
        self.visit(LABELS | INERTIA, centers, labels)
        return labels, float(self.partial_inertia.sum())

    def begin_run(self, algorithm: str) -> None:
        """Forget the bounds of an earlier run."""

    def lloyd_pass(self, centers: NDArray, labels: NDArray) -> None:
        """Labels and statistics of the chunks, for centres that are laid out."""
        self.visit(LABELS | SUMS, centers, labels)


class DenseRows(Rows):
    """C-contiguous rows, read as ``X − shift``."""

    def __init__(self, X, weights=None, shift=None, n_jobs=None):
        super().__init__(X, weights, n_jobs)
        self.X = kernel_view(X)
        if shift is None:
            shift = np.zeros(self.n_features)
        self.shift = kernel_view(shift, dtype=X.dtype)
        self.bounded = False
        self.row_norms = None

    def operations_per_row(self, n_centers):
        return self.n_features * n_centers

    def _allocate_layout(self, n_centers):
        shape = (-(-n_centers // GROUP), self.n_features + self.n_features % 2, GROUP)
        self.coefficients = np.empty(shape, dtype=self.dtype)
        self.norms = np.empty(shape[0] * GROUP, dtype=self.dtype)

    def set_centers(self, centers):
        lay_out_centers(centers, self.coefficients, self.norms)

    def visit(self, what, centers, labels):
        lloyd.lloyd_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            what,
            self.X,
            self.shift,
            self.weights,
            centers,
            self.coefficients,
            self.norms,
            labels,
            self.sums,
            self.masses,
            self.changed,
            self.partial_inertia,
            n_threads=self.n_threads,
        )

    def begin_run(self, algorithm):
        work = self.operations_per_row(self.n_centers)
        self.bounded = algorithm == "elkan" or work >= LEAST_WORK_FOR_BOUNDS
        if self.bounded and self.row_norms is None:
            self.row_norms = np.empty(self.n_rows, dtype=self.dtype)
            bounds.shifted_norms(self.X, self.shift, self.row_norms)
            self.upper = np.empty(self.n_rows, dtype=self.dtype)
            self.lower = np.empty(self.n_rows, dtype=self.dtype)
        if self.bounded:
            self.upper.fill(0)
            self.lower.fill(0)

    def lloyd_pass(self, centers, labels):
        if not self.bounded:
            self.visit(LABELS | SUMS, centers, labels)
            return
        bounds.bounded_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            self.X,
            self.shift,
            self.weights,
            self.row_norms,
            centers,
            self.coefficients,
            self.norms,
            self.moves,
            labels,
            self.upper,
            self.lower,
            self.sums,
            self.masses,
            self.changed,
            n_threads=self.n_threads,
        )

    def take(self, indices):
        return self.X[indices] - self.shift

    def matrix(self):
        return self.X - self.shift

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
