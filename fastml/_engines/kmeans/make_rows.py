"""A validated matrix → the rows that the k-means loops read."""

from __future__ import annotations

import scipy.sparse as sp

from fastml._engines.kmeans.rows import DenseRows, KMeansRows


def make_rows(X, weights=None, shift=None, n_jobs=None) -> KMeansRows:
    """Rows of a validated dense or CSR matrix; ``shift`` is subtracted from dense rows."""
    if sp.issparse(X):
        from fastml._engines.kmeans.sparse_rows import SparseRows

        return SparseRows(X, weights, n_jobs)
    return DenseRows(X, weights, shift, n_jobs)
