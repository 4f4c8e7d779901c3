"""One run of k-means from one k-means++ start: what other engines and estimators begin with."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastml._engines.kmeans.lloyd import run_kmeans
from fastml._engines.kmeans.rows import DenseRows
from fastml._engines.kmeans.scaling import column_means, scaled_tolerance
from fastml._engines.kmeans.seeding import seed


def kmeans_once(
    X: NDArray, weights: NDArray, n_clusters: int, random_state, n_jobs
) -> tuple[NDArray, NDArray]:
    """Centres and labels of C-contiguous rows: `KMeans` with ``n_init=1`` and its defaults."""
    shift = column_means(X)
    rows = DenseRows(X, weights, shift, n_jobs)
    tol = scaled_tolerance(X, 1e-4, shift)
    start = rows.take(seed(rows, n_clusters, random_state))
    run = run_kmeans(rows, start, max_iter=300, tol=tol, algorithm="lloyd")
    warn_of_empty_clusters(run.labels, n_clusters)
    return run.centers + shift, run.labels


def warn_of_empty_clusters(labels, n_clusters: int, *, stacklevel: int = 3) -> None:
    """scikit-learn's warning, where there are fewer distinct rows than clusters."""
    occupied = np.zeros(n_clusters, dtype=np.bool_)
    occupied[labels] = True
    n_distinct = np.count_nonzero(occupied)
    if n_distinct < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({n_distinct}) found smaller than "
            f"n_clusters ({n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
