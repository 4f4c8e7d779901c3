"""The outer loop of k-means: assignment and update in turn until nothing changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml.cluster._rows import Rows


class Run(NamedTuple):
    """One run of k-means from one start."""

    labels: NDArray
    inertia: float
    centers: NDArray
    n_iter: int


def run_kmeans(
    rows: Rows, centers: NDArray, *, max_iter, tol, algorithm="auto", verbose=False
) -> Run:
    """k-means from ``centers``, which are overwritten.

    Stops when no label changes, when the squared moves of the centres sum up to at most ``tol``,
    or after ``max_iter`` iterations. In the last two cases rows are labelled once more, so that
    the labels belong to the centres that are returned.
    """
    rows.prepare(centers.shape[0])
    rows.begin_run(algorithm)
    labels = np.full(rows.n_rows, -1, dtype=np.int32)
    new_centers = np.empty_like(centers)
    rows.set_centers(centers)
    for iteration in range(max_iter):
        rows.lloyd_pass(centers, labels)
        n_empty, n_changed = rows.merge()
        if n_empty:
            rows.relocate_empty(n_empty, centers, labels)
        squared_move = rows.finish(centers, new_centers)
        if verbose:
            print(f"Iteration {iteration}, inertia {rows.inertia(centers, labels)}.")  # noqa: T201
        centers, new_centers = new_centers, centers
        if n_changed == 0:
            if verbose:
                print(f"Converged at iteration {iteration}: strict convergence.")  # noqa: T201
            break
        if squared_move <= tol:
            if verbose:
                print(  # noqa: T201
                    f"Converged at iteration {iteration}: center shift {squared_move} "
                    f"within tolerance {tol}."
                )
            break
    if n_changed != 0:
        labels = rows.nearest(centers, labels)
    return Run(labels, rows.inertia(centers, labels), centers, iteration + 1)
