"""Radius search over brute force, trees and matrices: CSR arrays out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fastml._engines.search.brute import (
    MOST_GROUPS,
    Rescaling,
    _same_dtype,
    groups_per_chunk,
    segment_rows,
    worth_panels,
)
from fastml._engines.search.metric import every_metric
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import radius
from fastml.kernels.neighbors.kdtree import KDTreeArrays
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES
from fastml.kernels.neighbors.space_tree import LEAF_POINTS

MARK_WORDS = 1 << 21  # 16 MB of marks at a time

Runs = tuple[NDArray, NDArray, NDArray]
"""indptr, indices, distances."""


def reduced_limits(metric, radii: NDArray) -> NDArray:
    """Reduced radii; a negative radius reaches nothing."""
    limits = np.empty(radii.shape)
    for i, r in enumerate(radii):
        limits[i] = metrics.dist_to_rdist(metric.code, float(r), metric.p) if r >= 0 else -1.0
    return limits


def broadcast_radii(r, n_queries: int) -> NDArray:
    radii = np.asarray(r, dtype=np.float64)
    if radii.ndim == 0:
        return np.full(n_queries, float(radii))
    return np.ascontiguousarray(radii.reshape(-1))


def tree_radius(tree, Q: NDArray, radii: NDArray, n_jobs) -> Runs:
    """Neighbours within each query's radius, from a KDTree or BallTree."""
    if tree._function is not None:
        return concatenate_runs(
            [matrix_radius(D, radii[rows]) for rows, D in tree._distances_by_function(Q)]
        )
    tree._check_arrays()
    Q = kernel_view(Q, tree.data.dtype)
    metric = tree._metric
    limits = _limits(metric, radii)
    head: tuple
    if isinstance(tree._tree, KDTreeArrays):
        driver, head = radius.kdtree_radius, (metric, tree._tree)
    else:
        driver, head = radius.balltree_radius, (every_metric(metric.code), metric, tree._tree)
    per_query = 500.0 * LEAF_POINTS * Q.shape[1]
    rows = chunk_rows(Q.shape[0], per_query)
    threads = effective_n_threads(n_jobs, work=Q.shape[0] * per_query)
    indptr = np.zeros(Q.shape[0] + 1, dtype=np.intp)
    none = np.empty(0, dtype=np.intp), np.empty(0)
    driver(False, *head, Q, rows, limits, indptr, *none, n_threads=threads)
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.intp)
    distances = np.empty(indptr[-1])
    found = indices, distances
    driver(True, *head, Q, rows, limits, indptr, *found, n_threads=threads)
    return indptr, indices, distances


def _limits(metric, radii):
    if radii.size and (radii == radii[0]).all():
        return np.full(radii.shape, reduced_limits(metric, radii[:1])[0])
    return reduced_limits(metric, radii)


def brute_radius(
    Q: NDArray, Y: NDArray, radii: NDArray, metric, n_jobs, with_distances: bool = True
) -> Runs:
    """Neighbours within each query's radius, indices ascending; the distances may be left out."""
    Q, Y = _same_dtype(Q, Y)
    blocks = []
    for rows, marks in mark_blocks(Q, Y, radii, metric, n_jobs):
        indptr, indices = _read(marks)
        distances = np.empty(indices.size if with_distances else 0)
        if with_distances:
            every = every_metric(metric.code)
            radius.measure_pairs(every, metric, Q[rows], Y, indptr, indices, distances)
        blocks.append((indptr, indices, distances))
    return concatenate_runs(blocks)


def mark_blocks(
    Q: NDArray, Y: NDArray, radii: NDArray, metric, n_jobs
) -> Iterator[tuple[slice, NDArray]]:
    """Rows of Q, and the bits of the rows of Y within their radius, 64 to a word."""
    limits = _limits(metric, radii)
    n_words = -(-Y.shape[0] // LANES)
    step = max(MOST_GROUPS * GROUP_QUERIES, MARK_WORDS // n_words)
    packed = metric.code <= metrics.SQEUCLIDEAN and worth_panels(Q.shape[0], *Y.shape)
    rescaling = Rescaling(Q, Y) if packed else None
    for start in range(0, Q.shape[0], step):
        rows = slice(start, min(start + step, Q.shape[0]))
        queries, reach = Q[rows], limits[rows]
        marks = np.zeros((queries.shape[0], n_words), dtype=np.uint64)
        if rescaling is not None and rescaling.usable:
            _mark_panels(queries, Y, rescaling, reach, marks, n_jobs)
        else:
            _mark_rows(queries, Y, metric, reach, marks, n_jobs)
        yield rows, marks


def _mark_panels(Q, Y, rescaling, limits, marks, n_jobs):
    threads = effective_n_threads(n_jobs, work=float(Q.shape[0]) * Y.size)
    segment = segment_rows(Y.shape[1])
    packed_queries = rescaling.pack(Q, GROUP_QUERIES, threads)
    for start in range(0, Y.shape[0], segment):
        points = Y[start : start + segment]
        radius.mark_panels(
            groups_per_chunk(Q.shape[0]),
            Q,
            points,
            packed_queries,
            rescaling.pack(points, LANES, threads),
            rescaling.scale**2,
            limits,
            marks,
            start // LANES,
            n_threads=threads,
        )


def _mark_rows(Q, Y, metric, limits, marks, n_jobs):
    work = float(Y.size)
    radius.mark_rows(
        every_metric(metric.code),
        metric,
        chunk_rows(Q.shape[0], work),
        Q,
        Y,
        limits,
        marks,
        n_threads=effective_n_threads(n_jobs, work=Q.shape[0] * work),
    )


def _read(marks: NDArray) -> tuple[NDArray, NDArray]:
    indptr = np.zeros(marks.shape[0] + 1, dtype=np.intp)
    radius.count_marks(marks, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.intp)
    radius.read_marks(marks, indptr, indices)
    return indptr, indices


def matrix_radius(D: NDArray, radii: NDArray) -> Runs:
    """Entries of each row of a distance matrix that are at most the radius."""
    D = np.ascontiguousarray(D, dtype=np.float64)
    indptr = np.zeros(D.shape[0] + 1, dtype=np.intp)
    radius.count_within(kernel_view(D), radii, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], dtype=np.intp)
    distances = np.empty(indptr[-1])
    radius.list_within(kernel_view(D), radii, indptr, indices, distances)
    return indptr, indices, distances


def graph_radius(graph, r: float) -> Runs:
    """Entries of a sorted sparse graph that are at most the radius."""
    if not issparse(graph):
        raise TypeError("graph must be sparse")
    inside = graph.data <= r
    indptr = np.concatenate(([0], np.cumsum(inside)))[graph.indptr].astype(np.intp)
    return indptr, graph.indices[inside].astype(np.intp), graph.data[inside].astype(np.float64)


def concatenate_runs(blocks: list[Runs]) -> Runs:
    """Blocks of consecutive queries as one."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return np.zeros(1, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    counts = np.concatenate([np.diff(indptr) for indptr, _, _ in blocks])
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
    indices = np.concatenate([found for _, found, _ in blocks])
    distances = np.concatenate([values for _, _, values in blocks])
    return indptr, indices, distances


def without_self(runs: Runs) -> Runs:
    """Remove query q from its own neighbours."""
    indptr, indices, distances = runs
    out = np.empty_like(indptr)
    kept = radius.drop_self_in_runs(indptr, indices, distances, out)
    return out, indices[:kept], distances[:kept]


def split_runs(indptr: NDArray, values: NDArray) -> NDArray:
    """An object array with one array per query."""
    out = np.empty(indptr.size - 1, dtype=object)
    for q in range(out.size):
        out[q] = values[indptr[q] : indptr[q + 1]].copy()
    return out
