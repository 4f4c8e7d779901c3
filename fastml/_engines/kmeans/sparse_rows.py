"""CSR rows for the k-means loops; they are never shifted."""

from __future__ import annotations

import numpy as np

from fastml._engines.kmeans.rows import ONE_RUN, KMeansRows
from fastml._engines.rows import csr_rows
from fastml.kernels.cluster import lloyd_sparse


class SparseRows(KMeansRows):
    """CSR rows."""

    def __init__(self, X, weights=None, n_jobs=None):
        super().__init__(X, weights, n_jobs)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.csr = csr_rows(X)

    def operations_per_row(self, n_centers):
        return max(1.0, self.X.nnz / max(1, self.n_rows)) * n_centers

    def _allocate_layout(self, n_centers, n_runs):
        self.columns = np.empty((self.n_features, n_centers), dtype=self.dtype)
        self.norms = np.empty(n_centers, dtype=self.dtype)

    def set_centers(self, centers):
        lloyd_sparse.lay_out_columns(centers[0], self.columns, self.norms)

    def visit(self, what, centers, labels, runs=ONE_RUN):
        lloyd_sparse.sparse_lloyd_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            what,
            self.csr,
            self.weights,
            centers[0],
            self.columns,
            self.norms,
            labels[0],
            self.statistics,
            n_threads=self.n_threads,
        )

    def take(self, indices):
        return self.X[indices].toarray()

    def matrix(self):
        return self.X

    def seeding_tiles(self):
        return None

    def seeding_pass(self, tiles, centers, closest, keep, kept, potentials):
        lloyd_sparse.sparse_seeding_chunks(
            self.n_chunks,
            self.rows_per_chunk,
            self.csr,
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
        lloyd_sparse.sparse_distances_to_own_center(self.csr, centers, labels, distances)
        return distances

    def distances(self, centers):
        self.prepare(centers.shape[0])
        distances = np.empty((self.n_rows, centers.shape[0]), dtype=self.dtype)
        columns, norms = np.empty(centers.T.shape), np.empty(centers.shape[0])
        lloyd_sparse.lay_out_columns(centers, columns, norms)
        lloyd_sparse.sparse_distances(
            self.n_chunks,
            self.rows_per_chunk,
            self.csr,
            centers,
            columns,
            norms,
            distances,
            n_threads=self.n_threads,
        )
        return distances
