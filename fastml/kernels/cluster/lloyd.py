"""One step of Lloyd's algorithm: nearest centres, sums of the clusters, new centres.

The score of centre c for row x is \\|c\\|² − 2 x·c, which ranks as \\|x − c\\|² does. 128 rows are
transposed into a tile (dimension-major, so that each SIMD lane is a row) and scored by
`kernels.cluster.lloyd_registers`; only the best centres so far are kept, never a matrix of
distances. A row's score does not depend, to the bit, on its place in the tile: so
`kernels.cluster.hamerly` can skip rows and still give the same labels. Ties go to the lowest index.

A pass serves the centres of several runs: rows are read, shifted and transposed once for all.

Rows are shifted by ``shift`` (the mean of the data) as they are read, so no centred copy exists.

Statistics of a chunk of rows are its sums, masses (weights) and inertia in float64;
`_engines.kmeans.centers` merges them in order, makes centres of them and lays those out.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.lloyd_registers import STRIDE, SUM_LANES, TILE, add_row, nearest_of_tile

LABELS = 1
SUMS = 2
INERTIA = 4


class ShiftedRows(NamedTuple):
    """Rows that are read as ``X − shift``, and the weight of each."""

    X: np.ndarray
    shift: np.ndarray
    weights: np.ndarray


class ClusterStatistics(NamedTuple):
    """What the rows of each chunk add to the clusters; written by the passes over the rows."""

    sums: np.ndarray  # (chunk, run, centre, feature): weighted sums of the shifted rows
    masses: np.ndarray  # (chunk, run, centre): sums of their weights
    changed: np.ndarray  # (chunk, run): labels that differ from what they were
    inertia: np.ndarray  # (chunk, run): weighted sum of squared distances to the own centres


# Centres come as ``coefficients``, −2 c as (run, group of four, dimension, centre), and ``norms``,
# |c|². Rows are passed as (matrix, index): a slice per row costs an atomic count of references.


@kernel
def pack_row(X, i, shift, tile, slot):
    """Write row i, shifted, to column ``slot`` of the tile."""
    for d in range(X.shape[1]):
        tile[d, slot] = X[i, d] - shift[d]


@kernel
def pack_rows(X, shift, first, last, tile):
    """Write rows first..last, shifted, to the first columns of the tile.

    Four at a time: that vectorises.
    """
    n_features = X.shape[1]
    n_rows = last - first
    n_quads = n_rows - n_rows % 4
    for slot in range(0, n_quads, 4):
        x0 = X[first + slot]
        x1 = X[first + slot + 1]
        x2 = X[first + slot + 2]
        x3 = X[first + slot + 3]
        for d in range(n_features):
            offset = shift[d]
            line = tile[d]
            line[slot] = x0[d] - offset
            line[slot + 1] = x1[d] - offset
            line[slot + 2] = x2[d] - offset
            line[slot + 3] = x3[d] - offset
    for slot in range(n_quads, n_rows):
        pack_row(X, first + slot, shift, tile, slot)


@kernel
def clear_statistics(sums, masses):
    """Write zeros to the sums (centre, feature) and masses (centre) of one chunk and run."""
    for j in range(sums.shape[0]):
        masses[j] = 0.0
        for d in range(sums.shape[1]):
            sums[j, d] = 0.0


@kernel
def add_rows(X, shift, weights, labels, first, last, sums, masses):
    """Add rows first..last, shifted and weighted, to ``sums`` and ``masses`` of their labels."""
    n_features = X.shape[1]
    for i in range(first, last):
        j = labels[i]
        w = np.float64(weights[i])
        masses[j] += w
        for d in range(n_features):
            sums[j, d] += w * np.float64(X[i, d] - shift[d])


@kernel
def weigh_rows(X, shift, weights, first, last, weighted):
    """Write what rows first..last add to their clusters to ``weighted``: w (x − shift), then w."""
    n_features = X.shape[1]
    for i in range(first, last):
        w = np.float64(weights[i])
        for d in range(n_features):
            weighted[i - first, d] = w * np.float64(X[i, d] - shift[d])
        weighted[i - first, n_features] = w


@kernel
def add_weighted_rows(weighted, labels, first, last, totals, run):
    """Add what `weigh_rows` wrote to ``totals`` (run, centre, sums and mass), by ``labels``."""
    for i in range(first, last):
        add_row(totals, np.intp(run), np.intp(labels[i]), weighted, np.intp(i - first))


@kernel
def set_statistics(totals, sums, masses):
    """Write ``totals`` apart, to sums (run, centre, feature) and masses (run, centre)."""
    n_features = sums.shape[2]
    for run in range(totals.shape[0]):
        for j in range(totals.shape[1]):
            masses[run, j] = totals[run, j, n_features]
            for d in range(n_features):
                sums[run, j, d] = totals[run, j, d]


@kernel(fast_math=True)
def squared_distance(X, i, shift, centers, j):
    """Return \\|x_i − shift − c_j\\|² in float64."""
    total = 0.0
    for d in range(X.shape[1]):
        difference = np.float64(X[i, d] - shift[d]) - np.float64(centers[j, d])
        total += difference * difference
    return total


@kernel(fast_math=True)
def squared_deviations(X, means):
    """Return Σ \\|x_i − means\\|²: differences in the type of ``X``, squares in float64."""
    total = 0.0
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            difference = np.float64(X[i, d] - means[d])
            total += difference * difference
    return total


@kernel
def inertia_of_rows(X, shift, weights, centers, labels, first, last):
    """Return the weighted sum of squared distances of rows first..last to their centres."""
    total = 0.0
    for i in range(first, last):
        total += np.float64(weights[i]) * squared_distance(X, i, shift, centers, labels[i])
    return total


@kernel
def _lloyd_chunk(
    chunk, rows_per_chunk, what, rows, runs, centers, coefficients, norms, labels, statistics
):
    """`lloyd_chunks` for one chunk."""
    X, shift, weights = rows
    sums, masses, changed, inertia = statistics
    n_runs = runs.shape[0]
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    tile = np.zeros((X.shape[1], STRIDE), X.dtype)
    best = np.empty(TILE, X.dtype)
    second = np.empty(TILE, X.dtype)
    nearest = np.empty(TILE, np.int32)
    # Rows that are read for several runs are weighed once; for one that would take longer.
    shared = what & SUMS and n_runs > 1
    length = (X.shape[1] // SUM_LANES + 1) * SUM_LANES
    weighted = np.zeros((TILE if shared else 0, length))
    totals = np.zeros((n_runs if shared else 0, centers.shape[1], length))
    for run in range(n_runs):
        changed[chunk, run] = 0
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        if what & LABELS:
            pack_rows(X, shift, first, last, tile)
        if shared:
            weigh_rows(X, shift, weights, first, last, weighted)
        for run in range(n_runs):
            own = labels[runs[run]]
            if what & LABELS:
                nearest_of_tile(
                    tile, last - first, coefficients, norms, np.intp(run), best, second, nearest
                )
                changed[chunk, run] += set_labels(nearest, first, last, own)
            if shared:
                add_weighted_rows(weighted, own, first, last, totals, run)
    if shared:
        set_statistics(totals, sums[chunk], masses[chunk])
    elif what & SUMS:
        clear_statistics(sums[chunk, 0], masses[chunk, 0])
        own = labels[runs[0]]
        add_rows(X, shift, weights, own, start, stop, sums[chunk, 0], masses[chunk, 0])
    if what & INERTIA:
        for run in range(n_runs):
            inertia[chunk, run] = inertia_of_rows(
                X, shift, weights, centers[run], labels[runs[run]], start, stop
            )


@kernel
def set_labels(nearest, first, last, labels):
    """Copy ``nearest`` to the labels of rows first..last; return how many of them changed."""
    n_changed = 0
    for i in range(first, last):
        n_changed += labels[i] != nearest[i - first]
        labels[i] = nearest[i - first]
    return n_changed


@parallel_kernel
def lloyd_chunks(
    n_chunks, rows_per_chunk, what, rows, runs, centers, coefficients, norms, labels, statistics
):
    """Write ``labels`` and ``statistics`` of all rows, as ``what`` (LABELS | SUMS | INERTIA) asks.

    Several runs are served by one pass: ``centers``, ``coefficients`` and ``norms`` have an axis
    of runs in front, and ``labels[runs[r]]`` (int32) are those of run r.
    """
    for c in prange(n_chunks):
        _lloyd_chunk(
            np.intp(c),
            rows_per_chunk,
            what,
            rows,
            runs,
            centers,
            coefficients,
            norms,
            labels,
            statistics,
        )


@kernel
def distances_to_own_center(X, shift, centers, labels, distances):
    """Write the squared distance of every row to its centre to ``distances``; empty clusters are
    refilled by it."""
    for i in range(X.shape[0]):
        distances[i] = squared_distance(X, i, shift, centers, labels[i])


@kernel
def _transform_chunk(chunk, rows_per_chunk, X, shift, centers, distances):
    """`transform_chunks` for one chunk."""
    start = chunk * rows_per_chunk
    for i in range(start, min(start + rows_per_chunk, X.shape[0])):
        for j in range(centers.shape[0]):
            distances[i, j] = np.sqrt(squared_distance(X, i, shift, centers, j))


@parallel_kernel
def transform_chunks(n_chunks, rows_per_chunk, X, shift, centers, distances):
    """Write the distance of every shifted row to every centre to ``distances``."""
    for c in prange(n_chunks):
        _transform_chunk(np.intp(c), rows_per_chunk, X, shift, centers, distances)


@kernel
def same_partition(labels, other_labels, mapping):
    """Return whether labels are equal but for their names.

    ``mapping`` holds the other name of each label, -1 where none is known; new ones are written.
    """
    for i in range(labels.shape[0]):
        if mapping[labels[i]] == -1:
            mapping[labels[i]] = other_labels[i]
        elif mapping[labels[i]] != other_labels[i]:
            return False
    return True
