"""Lloyd's step and k-means++ for CSR rows and dense centres.

Rows are a `kernels.numeric.csr.Csr` without duplicate entries. Centres are laid out by column,
``columns[d, j] = −2 c_jd``: a stored value of a row adds to the scores of all centres at once, in
one unit-stride loop.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.cluster.lloyd import INERTIA, LABELS, SUMS, clear_statistics

CANCELLED = 1e-5
"""Below this share of \\|x\\|² + \\|c\\|² a squared distance is taken from differences instead."""


@kernel
def lay_out_columns(centers, columns, norms):
    """Write −2 c, transposed, to ``columns`` and \\|c\\|² to ``norms``."""
    n_centers, n_features = centers.shape
    for j in range(n_centers):
        norm = 0.0
        for d in range(n_features):
            value = np.float64(centers[j, d])
            norm += value * value
            columns[d, j] = -2.0 * value
        norms[j] = norm


@kernel(fused=True)
def _score_row(csr, i, columns, norms, scores):
    """Write \\|c_j\\|² − 2 x_i·c_j of every centre to ``scores``."""
    data, indices, indptr = csr
    for j in range(norms.shape[0]):
        scores[j] = norms[j]
    for p in range(indptr[i], indptr[i + 1]):
        value = data[p]
        d = indices[p]
        for j in range(norms.shape[0]):
            scores[j] += value * columns[d, j]


@kernel
def squared_distance_csr(csr, i, centers, j, squared_norm):
    """Return \\|x_i − c_j\\|² in float64.

    It is Σ (x_d − c_jd)² over the stored entries and Σ c_jd² over the others. The second sum is
    \\|c_j\\|² less that over the stored entries: zero exactly for equal rows.
    """
    data, indices, indptr = csr
    near = 0.0
    stored = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        c = np.float64(centers[j, indices[p]])
        difference = np.float64(data[p]) - c
        near += difference * difference
        stored += c * c
    total = near + (squared_norm - stored)
    if total < 0.0:
        total = 0.0
    return total


@kernel
def squared_norms(centers, norms):
    """Write \\|c\\|² of every centre to ``norms`` (float64)."""
    for j in range(centers.shape[0]):
        norms[j] = 0.0
        for d in range(centers.shape[1]):
            norms[j] += np.float64(centers[j, d]) * np.float64(centers[j, d])


@kernel
def _sparse_chunk(
    chunk, rows_per_chunk, what, csr, weights, centers, columns, norms, labels, statistics
):
    """`sparse_lloyd_chunks` for one chunk."""
    n_centers = centers.shape[0]
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, labels.shape[0])
    if what & LABELS:
        scores = np.empty(n_centers, columns.dtype)
        n_changed = 0
        for i in range(start, stop):
            _score_row(csr, i, columns, norms, scores)
            nearest = 0
            for j in range(1, n_centers):
                if scores[j] < scores[nearest]:
                    nearest = j
            if labels[i] != nearest:
                labels[i] = nearest
                n_changed += 1
        statistics.changed[chunk, 0] = n_changed
    if what & SUMS:
        data, indices, indptr = csr
        sums, masses = statistics.sums[chunk, 0], statistics.masses[chunk, 0]
        clear_statistics(sums, masses)
        for i in range(start, stop):
            w = np.float64(weights[i])
            masses[labels[i]] += w
            for p in range(indptr[i], indptr[i + 1]):
                sums[labels[i], indices[p]] += w * np.float64(data[p])
    if what & INERTIA:
        exact_norms = np.empty(n_centers, np.float64)
        squared_norms(centers, exact_norms)
        total = 0.0
        for i in range(start, stop):
            j = labels[i]
            distance = squared_distance_csr(csr, i, centers, j, exact_norms[j])
            total += np.float64(weights[i]) * distance
        statistics.inertia[chunk, 0] = total


@parallel_kernel
def sparse_lloyd_chunks(
    n_chunks, rows_per_chunk, what, csr, weights, centers, columns, norms, labels, statistics
):
    """Write ``labels`` and ``statistics`` of all rows, as ``what`` (LABELS | SUMS | INERTIA) asks.

    As `kernels.cluster.lloyd.lloyd_chunks` does, but for one run: ``centers`` are (centre,
    feature), ``labels`` (row), and of the statistics those of run 0 are written.
    """
    for c in prange(n_chunks):
        _sparse_chunk(
            np.intp(c),
            rows_per_chunk,
            what,
            csr,
            weights,
            centers,
            columns,
            norms,
            labels,
            statistics,
        )


@kernel
def _distances_chunk(start, stop, csr, centers, columns, norms, distances):
    """`sparse_distances` for rows start..stop."""
    data, _, indptr = csr
    scores = np.empty(centers.shape[0], np.float64)
    for i in range(start, stop):
        _score_row(csr, i, columns, norms, scores)
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            square += np.float64(data[p]) * np.float64(data[p])
        for j in range(centers.shape[0]):
            squared = square + scores[j]
            if squared < CANCELLED * (square + norms[j]):
                squared = squared_distance_csr(csr, i, centers, j, norms[j])
            distances[i, j] = np.sqrt(squared)


@parallel_kernel
def sparse_distances(n_chunks, rows_per_chunk, csr, centers, columns, norms, distances):
    """Write the distance of every row to every centre to ``distances``.

    ``columns`` and ``norms`` are those of `lay_out_columns`, in float64.
    """
    for c in prange(n_chunks):
        start = np.intp(c) * rows_per_chunk
        stop = min(start + rows_per_chunk, distances.shape[0])
        _distances_chunk(start, stop, csr, centers, columns, norms, distances)


@kernel
def sparse_distances_to_own_center(csr, centers, labels, distances):
    """Write the squared distance of every row to its centre to ``distances``."""
    norms = np.empty(centers.shape[0], np.float64)
    squared_norms(centers, norms)
    for i in range(labels.shape[0]):
        distances[i] = squared_distance_csr(csr, i, centers, labels[i], norms[labels[i]])


@kernel
def _sparse_seeding_chunk(
    chunk,
    rows_per_chunk,
    csr,
    weights,
    candidates,
    closest,
    keep,
    kept,
    potentials,
):
    """`sparse_seeding_chunks` for one chunk."""
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, closest.shape[0])
    n_candidates = candidates.shape[0]
    norms = np.empty(n_candidates, np.float64)
    squared_norms(candidates, norms)
    for t in range(n_candidates):
        potentials[chunk, t] = 0.0
    for i in range(start, stop):
        nearest = closest[i]
        for t in range(n_candidates):
            distance = squared_distance_csr(csr, i, candidates, t, norms[t])
            if nearest < distance:
                distance = np.float64(nearest)
            potentials[chunk, t] += np.float64(weights[i]) * distance
            if keep:
                kept[t, i] = distance


@parallel_kernel
def sparse_seeding_chunks(
    n_chunks,
    rows_per_chunk,
    csr,
    weights,
    candidates,
    closest,
    keep,
    kept,
    potentials,
):
    """Write ``potentials`` and, with ``keep``, ``kept``: see `kmeans_plusplus.seeding_chunks`."""
    for c in prange(n_chunks):
        _sparse_seeding_chunk(
            np.intp(c),
            rows_per_chunk,
            csr,
            weights,
            candidates,
            closest,
            keep,
            kept,
            potentials,
        )
