"""Exhaustive search: allocate heaps, block the queries, pick the kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.search.metric import every_metric
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.distances.metrics import Metric
from fastml.kernels.neighbors import argkmin
from fastml.kernels.neighbors.argkmin import PackedRows
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES

SEGMENT_FLOATS = 1 << 23  # float32 copies of points: 32 MB at a time
OPERATIONS_PER_CALL = 1 << 34  # a quarter of a second or so: then Python may see Ctrl-C
MIN_CHUNKS = 16
PANELS_PER_SPLIT = 64
FEWEST_GROUPS, MOST_GROUPS = 4, 42
PACKED_PER_CHUNK = 1024  # rows
PANEL_WORK = 1e6  # below it, packing costs more than it saves
UNIT_ROUNDOFF32 = 2.0**-24


def brute_kneighbors(
    Q: NDArray, Y: NDArray, k: int, metric: Metric, n_jobs: int | None
) -> tuple[NDArray, NDArray]:
    """Distances and indices of the k nearest rows of Y, sorted by (distance, index)."""
    Q, Y = _same_dtype(Q, Y)
    n_queries, n_points = Q.shape[0], Y.shape[0]
    if n_queries == 0:
        return np.empty((0, k)), np.empty((0, k), dtype=np.intp)
    if metric.code <= metrics.SQEUCLIDEAN and worth_panels(n_queries, n_points, Y.shape[1]):
        search = _panel_heaps
    else:
        search = _direct_heaps
    distances, indices = search(Q, Y, k, metric, n_jobs)
    argkmin.finish_heaps(metric.code, metric.p, distances, indices)
    return np.ascontiguousarray(distances[:, 0]), np.ascontiguousarray(indices[:, 0])


def worth_panels(n_queries: int, n_points: int, n_features: int) -> bool:
    """Whether packing float32 copies beats plain loops (measured)."""
    work = float(n_queries) * n_points * (n_features + 8)
    return n_queries >= 12 and n_points >= 256 and work >= PANEL_WORK


def _same_dtype(Q, Y):
    dtype = np.float32 if Q.dtype == Y.dtype == np.float32 else np.float64
    return kernel_view(Q, dtype), kernel_view(Y, dtype)


def _new_heaps(n_splits: int, n_queries: int, k: int):
    distances = np.empty((n_queries, n_splits, k))
    indices = np.empty((n_queries, n_splits, k), dtype=np.intp)
    return distances, indices


def _direct_heaps(Q, Y, k, metric, n_jobs):
    n_queries, n_points = Q.shape[0], Y.shape[0]
    per_query = n_points * (Q.shape[1] + 4)
    rows = chunk_rows(n_queries, per_query)
    n_blocks = -(-n_queries // rows)
    n_splits = max(1, min(MIN_CHUNKS // n_blocks, n_points // 4096))
    distances, indices = _new_heaps(n_splits, n_queries, k)
    threads = effective_n_threads(n_jobs, work=n_queries * per_query)
    block = max(rows, int(OPERATIONS_PER_CALL // 16 // per_query))
    for q in range(0, n_queries, block):
        argkmin.argkmin_rows(
            every_metric(metric.code),
            metric,
            n_splits,
            rows,
            Q[q : q + block],
            Y,
            distances[q : q + block],
            indices[q : q + block],
            n_threads=threads,
        )
    return distances, indices


class Rescaling:
    """The shift and scale under which rows become float32 without loss of order (`argkmin`)."""

    def __init__(self, Q: NDArray, Y: NDArray):
        n_features = Y.shape[1]
        stride = max(1, Y.shape[0] // 512)
        self.centre = Y[::stride].mean(axis=0, dtype=np.float64)
        largest = max(float(np.abs([Q.max(), Q.min(), Y.max(), Y.min()]).max()), 1e-300)
        largest += float(np.abs(self.centre).max())
        self.scale = 2.0 ** -np.ceil(np.log2(largest)) if np.isfinite(largest) else np.nan
        self.shrink = 1.0 - 2 * (n_features + 16) * UNIT_ROUNDOFF32
        with np.errstate(over="ignore", under="ignore"):
            self.usable = 0.0 < self.scale**2 < np.inf

    def pack(self, X: NDArray, width: int, threads: int) -> PackedRows:
        """Rows as float32 panels of ``width``, and half their shrunk squared norms."""
        n_panels = -(-X.shape[0] // width)
        panels = _cache_aligned((n_panels, X.shape[1], width))
        halves = _cache_aligned((n_panels, width))
        per_chunk = -(-PACKED_PER_CHUNK // width)
        argkmin.pack_rows(
            X,
            self.centre,
            self.scale,
            self.shrink,
            per_chunk,
            PackedRows(panels, halves),
            n_threads=threads,
        )
        return PackedRows(kernel_view(panels), kernel_view(halves))


def _cache_aligned(shape: tuple[int, ...]) -> NDArray:
    """An unfilled float32 array that starts at a cache line, so that no vector load spans two."""
    size = int(np.prod(shape))
    memory = np.empty(size + 16, dtype=np.float32)
    skip = -(memory.ctypes.data // 4) % 16
    return memory[skip : skip + size].reshape(shape)


def _panel_heaps(Q, Y, k, metric, n_jobs):
    rescaling = Rescaling(Q, Y)
    if not rescaling.usable:
        return _direct_heaps(Q, Y, k, metric, n_jobs)
    n_queries, n_points = Q.shape[0], Y.shape[0]
    n_features = Y.shape[1]
    segment = segment_rows(n_features)
    n_blocks = query_blocks(n_queries)
    n_panels = -(-min(segment, n_points) // LANES)
    n_splits = max(1, min(MIN_CHUNKS // n_blocks, n_panels // PANELS_PER_SPLIT))
    distances, indices = _new_heaps(n_splits, n_queries, k)
    argkmin.clear_heaps(distances, indices)
    threads = effective_n_threads(n_jobs, work=float(n_queries) * n_points * n_features)
    block = OPERATIONS_PER_CALL // (min(segment, n_points) * n_features)
    block = max(MOST_GROUPS, block // GROUP_QUERIES) * GROUP_QUERIES
    for start in range(0, n_points, segment):
        points = Y[start : start + segment]
        packed_points = rescaling.pack(points, LANES, threads)
        for q in range(0, n_queries, block):
            queries = Q[q : q + block]
            argkmin.argkmin_panels(
                query_blocks(len(queries)),
                n_splits,
                queries,
                points,
                start,
                rescaling.pack(queries, GROUP_QUERIES, threads),
                packed_points,
                rescaling.scale**2,
                distances[q : q + block],
                indices[q : q + block],
                n_threads=threads,
            )
    return distances, indices


def groups_per_chunk(n_queries: int) -> int:
    """Groups of queries that one chunk compares with a panel while it is in the cache.

    Many, but few enough that there are chunks for every thread.
    """
    return min(MOST_GROUPS, max(FEWEST_GROUPS, -(-n_queries // (MIN_CHUNKS * GROUP_QUERIES))))


def query_blocks(n_queries: int) -> int:
    """Runs of `groups_per_chunk` groups, or a few less each, into which the queries are cut."""
    n_groups = -(-n_queries // GROUP_QUERIES)
    return -(-n_groups // groups_per_chunk(n_queries))


def segment_rows(n_features: int) -> int:
    """Points whose packed copy is held at a time: whole panels."""
    return max(1, SEGMENT_FLOATS // (n_features * LANES)) * LANES


def smallest_in_rows(D: NDArray, k: int, n_jobs: int | None) -> tuple[NDArray, NDArray]:
    """The k smallest entries of each row of a distance matrix, sorted by (value, column)."""
    D = kernel_view(D, D.dtype if D.dtype in (np.float32, np.float64) else np.float64)
    distances = np.empty((D.shape[0], k))
    indices = np.empty((D.shape[0], k), dtype=np.intp)
    rows = chunk_rows(D.shape[0], D.shape[1])
    threads = effective_n_threads(n_jobs, work=D.size)
    argkmin.smallest_in_rows(D, rows, distances, indices, n_threads=threads)
    return distances, indices
