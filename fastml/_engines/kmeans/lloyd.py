"""The outer loop of k-means: assignment and update in turn until nothing changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.kmeans.rows import KMeansRows
from fastml.kernels.cluster.lloyd import INERTIA, LABELS


class KMeansRun(NamedTuple):
    """One run of k-means from one start."""

    labels: NDArray
    inertia: float
    centers: NDArray
    n_iter: int


def run_kmeans(
    rows: KMeansRows, centers: NDArray, *, max_iter, tol, algorithm="auto", verbose=False
) -> KMeansRun:
    """k-means from one start."""
    options = {"max_iter": max_iter, "tol": tol, "algorithm": algorithm, "verbose": verbose}
    return run_starts(rows, centers[None], **options)[0]


def run_starts(
    rows: KMeansRows, starts: NDArray, *, max_iter, tol, algorithm="auto", verbose=False, steps=None
) -> list[KMeansRun]:
    """k-means from each of ``starts`` (run, centre, feature); the runs share the passes.

    There may be as many as `KMeansRows.runs_at_once` allows. The result of a run does not depend,
    to the bit, on the other runs that share its passes.

    A run stops when none of its labels changes, when the squared moves of its centres sum up to at
    most ``tol``, or after ``max_iter`` iterations. In the last two cases rows are labelled once
    more, so that the labels belong to the centres that are returned.

    ``steps`` is told of every iteration, and may end the runs.
    """
    n_runs, n_centers, _ = starts.shape
    rows.prepare(n_centers, n_runs)
    rows.begin_runs(algorithm)
    labels = np.full((n_runs, rows.n_rows), -1, dtype=np.int32)
    labels_are_final = np.zeros(n_runs, dtype=np.bool_)
    n_iter = np.full(n_runs, max_iter)
    reached = np.empty_like(starts)
    active, centers = np.arange(n_runs), starts
    for iteration in range(max_iter):
        step = None if steps is None else steps.begin()
        rows.set_centers(centers)
        rows.lloyd_pass(centers, labels, active)
        n_empty, n_changed = rows.merge(active.size)
        if n_empty.any():
            for r in np.flatnonzero(n_empty).tolist():
                rows.relocate_empty(r, n_empty[r], centers[r], labels[active[r]])
        new_centers, squared_moves = rows.finish(centers)
        if verbose:  # then there is one run
            inertia = rows.inertia(centers[0], labels[0])
            print(f"Iteration {iteration}, inertia {inertia}.")  # noqa: T201
            if n_changed[0] == 0:
                print(f"Converged at iteration {iteration}: strict convergence.")  # noqa: T201
            elif squared_moves[0] <= tol:
                print(  # noqa: T201
                    f"Converged at iteration {iteration}: center shift {squared_moves[0]} "
                    f"within tolerance {tol}."
                )
        centers = new_centers
        stops = (n_changed == 0) | (squared_moves <= tol)
        if stops.any():
            stopped = active[stops]
            reached[stopped] = centers[stops]
            n_iter[stopped] = iteration + 1
            labels_are_final[stopped] = n_changed[stops] == 0
            active, centers = active[~stops], centers[~stops]
        ended = step is not None and step.end()
        if ended:
            n_iter[active] = iteration + 1
        if ended or not active.size:
            break
    reached[active] = centers
    if not labels_are_final.all():
        behind = np.flatnonzero(~labels_are_final)
        rows.set_centers(reached[behind])
        rows.visit(LABELS, reached[behind], labels, behind)
    rows.visit(INERTIA, reached, labels, np.arange(n_runs))
    inertias = np.add.reduce(rows.statistics.inertia, axis=0)
    return [KMeansRun(*run) for run in zip(labels, inertias.tolist(), reached, n_iter.tolist())]
