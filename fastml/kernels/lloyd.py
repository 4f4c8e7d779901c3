"""One step of Lloyd's algorithm: nearest centres, sums of the clusters, new centres.

The score of centre c for row x is \\|c\\|² − 2 x·c, which ranks as \\|x − c\\|² does. 128 rows are
transposed into a tile (dimension-major, so that each SIMD lane is a row) and scored against four
centres and four dimensions at a time; only the best centre so far is kept, never a matrix of
distances. Tiles always run at full width: a row's score has the same bits wherever it lies, which
is what lets `fastml.kernels.bounds` skip rows and still give the same labels. Ties go to the
lowest index.

Rows are shifted by ``shift`` (the mean of the data) as they are read, so no centred copy exists.

Statistics of a chunk of rows are its sums, masses (weights) and inertia in float64;
`fastml.cluster._centers` merges them in order, makes centres of them and lays those out.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

TILE = 128
STRIDE = TILE + 16  # a power of two would put all dimensions into the same few cache sets
GROUP = 4

LABELS = 1
SUMS = 2
INERTIA = 4

# Centres come as ``coefficients``, −2 c as (group of four, dimension, centre), and ``norms``, |c|².
# Rows are passed as (matrix, index): a slice per row costs an atomic count of references.


@kernel
def pack_row(X, i, shift, tile, slot):
    for d in range(X.shape[1]):
        tile[d, slot] = X[i, d] - shift[d]


@kernel
def pack_rows(X, shift, first, last, tile):
    """Transpose rows first..last into the tile, four at a time: that vectorises."""
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


@kernel(fused=True)
def score_tile(tile, coefficients, group, norms, scores):
    """Scores of the four centres of a group for all rows of a tile."""
    n_features = tile.shape[0]  # even
    c = coefficients[group]
    j = group * GROUP
    n0, n1, n2, n3 = norms[j], norms[j + 1], norms[j + 2], norms[j + 3]
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    d = 0
    if n_features & 2:
        x0, x1 = tile[0], tile[1]
        c00, c01, c02, c03 = c[0, 0], c[0, 1], c[0, 2], c[0, 3]
        c10, c11, c12, c13 = c[1, 0], c[1, 1], c[1, 2], c[1, 3]
        for r in range(TILE):
            v0, v1 = x0[r], x1[r]
            s0[r] = n0 + v0 * c00 + v1 * c10
            s1[r] = n1 + v0 * c01 + v1 * c11
            s2[r] = n2 + v0 * c02 + v1 * c12
            s3[r] = n3 + v0 * c03 + v1 * c13
        d = 2
    else:
        for r in range(TILE):
            s0[r] = n0
            s1[r] = n1
            s2[r] = n2
            s3[r] = n3
    while d < n_features:
        x0, x1, x2, x3 = tile[d], tile[d + 1], tile[d + 2], tile[d + 3]
        c00, c01, c02, c03 = c[d, 0], c[d, 1], c[d, 2], c[d, 3]
        c10, c11, c12, c13 = c[d + 1, 0], c[d + 1, 1], c[d + 1, 2], c[d + 1, 3]
        c20, c21, c22, c23 = c[d + 2, 0], c[d + 2, 1], c[d + 2, 2], c[d + 2, 3]
        c30, c31, c32, c33 = c[d + 3, 0], c[d + 3, 1], c[d + 3, 2], c[d + 3, 3]
        for r in range(TILE):
            v0, v1, v2, v3 = x0[r], x1[r], x2[r], x3[r]
            s0[r] += v0 * c00 + v1 * c10 + v2 * c20 + v3 * c30
            s1[r] += v0 * c01 + v1 * c11 + v2 * c21 + v3 * c31
            s2[r] += v0 * c02 + v1 * c12 + v2 * c22 + v3 * c32
            s3[r] += v0 * c03 + v1 * c13 + v2 * c23 + v3 * c33
        d += 4


@kernel
def _keep_best(scores, first_center, best, nearest):
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    j0 = np.int32(first_center)
    j1, j2, j3 = np.int32(j0 + 1), np.int32(j0 + 2), np.int32(j0 + 3)
    for r in range(TILE):
        b = best[r]
        j = nearest[r]
        if s0[r] < b:
            b = s0[r]
            j = j0
        if s1[r] < b:
            b = s1[r]
            j = j1
        if s2[r] < b:
            b = s2[r]
            j = j2
        if s3[r] < b:
            b = s3[r]
            j = j3
        best[r] = b
        nearest[r] = j


@kernel
def nearest_of_tile(tile, coefficients, norms, scores, best, nearest):
    """The best score and the centre that has it, for every row of the tile."""
    for r in range(TILE):
        best[r] = np.finfo(best.dtype).max
        nearest[r] = np.int32(0)
    for group in range(coefficients.shape[0]):
        score_tile(tile, coefficients, np.intp(group), norms, scores)
        _keep_best(scores, group * GROUP, best, nearest)


@kernel
def add_rows(X, shift, weights, labels, first, last, sums, masses):
    """Add the rows to the sums of their clusters."""
    n_features = X.shape[1]
    for i in range(first, last):
        j = labels[i]
        w = np.float64(weights[i])
        masses[j] += w
        for d in range(n_features):
            sums[j, d] += w * np.float64(X[i, d] - shift[d])


@kernel(fast_math=True)
def squared_distance(X, i, shift, centers, j):
    """\\|x_i − shift − c_j\\|² in float64."""
    total = 0.0
    for d in range(X.shape[1]):
        difference = np.float64(X[i, d] - shift[d]) - np.float64(centers[j, d])
        total += difference * difference
    return total


@kernel
def inertia_of_rows(X, shift, weights, centers, labels, first, last):
    total = 0.0
    for i in range(first, last):
        total += np.float64(weights[i]) * squared_distance(X, i, shift, centers, labels[i])
    return total


@kernel
def _lloyd_chunk(
    chunk,
    rows_per_chunk,
    what,
    X,
    shift,
    weights,
    centers,
    coefficients,
    norms,
    labels,
    sums,
    masses,
    changed,
    inertia,
):
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    if what & LABELS:
        tile = np.zeros((coefficients.shape[1], STRIDE), X.dtype)
        scores = np.empty((GROUP, STRIDE), X.dtype)
        best = np.empty(TILE, X.dtype)
        nearest = np.empty(TILE, np.int32)
        n_changed = 0
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            pack_rows(X, shift, first, last, tile)
            nearest_of_tile(tile, coefficients, norms, scores, best, nearest)
            for i in range(first, last):
                if labels[i] != nearest[i - first]:
                    labels[i] = nearest[i - first]
                    n_changed += 1
        changed[chunk] = n_changed
    if what & SUMS:
        clear_statistics(sums[chunk], masses[chunk])
        add_rows(X, shift, weights, labels, start, stop, sums[chunk], masses[chunk])
    if what & INERTIA:
        inertia[chunk] = inertia_of_rows(X, shift, weights, centers, labels, start, stop)


@kernel
def clear_statistics(sums, masses):
    for j in range(sums.shape[0]):
        masses[j] = 0.0
        for d in range(sums.shape[1]):
            sums[j, d] = 0.0


@parallel_kernel
def lloyd_chunks(
    n_chunks,
    rows_per_chunk,
    what,
    X,
    shift,
    weights,
    centers,
    coefficients,
    norms,
    labels,
    sums,
    masses,
    changed,
    inertia,
):
    """Labels, statistics and inertia of all rows, as ``what`` (LABELS | SUMS | INERTIA) asks.

    ``labels`` (int32) and, per chunk, ``sums`` (n_chunks, k, d), ``masses`` (n_chunks, k),
    ``changed`` (labels that differ from what they were) and ``inertia`` are written.
    """
    for c in prange(n_chunks):
        _lloyd_chunk(
            np.intp(c),
            rows_per_chunk,
            what,
            X,
            shift,
            weights,
            centers,
            coefficients,
            norms,
            labels,
            sums,
            masses,
            changed,
            inertia,
        )


@kernel
def distances_to_own_center(X, shift, centers, labels, distances):
    """Squared distance of every row to its centre, for the rule of empty clusters."""
    for i in range(X.shape[0]):
        distances[i] = squared_distance(X, i, shift, centers, labels[i])


@kernel
def _transform_chunk(chunk, rows_per_chunk, X, shift, centers, distances):
    start = chunk * rows_per_chunk
    for i in range(start, min(start + rows_per_chunk, X.shape[0])):
        for j in range(centers.shape[0]):
            distances[i, j] = np.sqrt(squared_distance(X, i, shift, centers, j))


@parallel_kernel
def transform_chunks(n_chunks, rows_per_chunk, X, shift, centers, distances):
    """Distance of every row to every centre."""
    for c in prange(n_chunks):
        _transform_chunk(np.intp(c), rows_per_chunk, X, shift, centers, distances)


@kernel
def same_partition(labels, other_labels, mapping):
    """Whether the labels are equal up to a renaming; ``mapping`` is scratch, filled with -1."""
    for i in range(labels.shape[0]):
        if mapping[labels[i]] == -1:
            mapping[labels[i]] = other_labels[i]
        elif mapping[labels[i]] != other_labels[i]:
            return False
    return True
