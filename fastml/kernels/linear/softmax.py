"""The multinomial loss of a linear model and its gradient, in one pass over dense rows.

Weights are (features + 1, classes), the intercepts last. A tile of rows is multiplied by the
weights, its residuals are multiplied back while it is in the cache. Sparse rows are passed over
twice: by rows for the probabilities, by columns for the gradient, unless columns are few.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linear.design import fill_tile
from fastml.kernels.numeric.exp import exp64, log64

TILE_ROWS = 128


@kernel
def _row_softmax(raw):
    """Turn ``raw`` to probabilities; returns log Σ exp(raw)."""
    most = raw[0]
    for k in range(1, raw.shape[0]):
        if raw[k] > most:
            most = raw[k]
    total = 0.0
    for k in range(raw.shape[0]):
        raw[k] = exp64(raw[k] - most)
        total += raw[k]
    for k in range(raw.shape[0]):
        raw[k] /= total
    return log64(total) + most


@kernel
def _probabilities_of(labels, weights, first, scores):
    """Turn ``scores`` of the rows from ``first`` on to probabilities; the weighted sum of losses.

    No weights are an empty array.
    """
    loss = 0.0
    for i in range(scores.shape[0]):
        right = scores[i, labels[first + i]]
        value = _row_softmax(scores[i]) - right
        if weights.shape[0] == 0:
            loss += value
        elif weights[first + i] != 0.0:
            loss += weights[first + i] * value
    return loss


@kernel
def _residuals_of(labels, weights, first, scores):
    """Turn ``scores``, probabilities, to weight · (p − [class])."""
    for i in range(scores.shape[0]):
        scores[i, labels[first + i]] -= 1.0
        if weights.shape[0] > 0:
            for k in range(scores.shape[1]):
                scores[i, k] *= weights[first + i]


@kernel
def _dense_softmax(first, last, rows, labels, weights, W, P, out):
    """`softmax_pass` for dense rows first..last: writes ``P`` there and ``out``; their loss."""
    d, n_classes = W.shape[0] - 1, W.shape[1]
    tile, part = np.empty((TILE_ROWS, d + 1)), np.empty((d + 1, n_classes))
    scores, ones = np.empty((TILE_ROWS, n_classes)), np.ones(TILE_ROWS)
    tile[:, d] = 1.0
    out[:] = 0.0
    loss = 0.0
    for start in range(first, last, TILE_ROWS):
        n = min(TILE_ROWS, last - start)
        fill_tile(start, start + n, rows, ones, tile)
        np.dot(tile[:n], W, scores[:n])
        loss += _probabilities_of(labels, weights, start, scores[:n])
        for i in range(n):  # by number: Numba compiles texts of errors for whole slices
            for k in range(n_classes):
                P[start + i, k] = scores[i, k]
        _residuals_of(labels, weights, start, scores[:n])
        np.dot(tile[:n].T, scores[:n], part)
        for j in range(d + 1):
            for k in range(n_classes):
                out[j, k] += part[j, k]
    return loss


@kernel
def _sparse_softmax(first, last, rows, labels, weights, W, P, out):
    """The same for sparse rows: writes ``P`` and, unless it is empty, the gradient to ``out``."""
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    d, n_classes = W.shape[0] - 1, W.shape[1]
    for i in range(first, last):
        for k in range(n_classes):
            P[i, k] = W[d, k]
        for p in range(indptr[i], indptr[i + 1]):
            x, j = data[p], indices[p]
            for k in range(n_classes):
                P[i, k] += x * W[j, k]
    loss = _probabilities_of(labels, weights, first, P[first:last])
    if out.shape[0] > 0:
        out[:] = 0.0
        residual = np.empty((1, n_classes))
        for i in range(first, last):
            for k in range(n_classes):
                residual[0, k] = P[i, k]
            _residuals_of(labels, weights, i, residual)
            for p in range(indptr[i], indptr[i + 1]):
                x, j = data[p], indices[p]
                for k in range(n_classes):
                    out[j, k] += x * residual[0, k]
            for k in range(n_classes):
                out[d, k] += residual[0, k]
    return loss


@kernel
def _softmax_chunk(c, rows_per_chunk, rows, labels, weights, W, P, slopes):
    """`softmax_pass` for one chunk: writes its part of ``P`` and ``slopes``; returns its loss."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, P.shape[0])
    if rows.indptr.shape[0] > 0:
        return _sparse_softmax(first, last, rows, labels, weights, W, P, slopes[c])
    return _dense_softmax(first, last, rows, labels, weights, W, P, slopes[c])


@parallel_kernel
def softmax_pass(rows_per_chunk, rows, labels, weights, W, P, slopes, losses):
    """Losses at ``W`` by chunk to ``losses``, probabilities of each row to ``P``.

    Gradients by chunk, Σ weight (x, 1) (p − [class])', go to ``slopes`` (chunks, features + 1,
    classes), which may have no columns for sparse rows: `column_slopes` makes them then. Calls
    BLAS.
    """
    for c in prange(losses.shape[0]):
        losses[c] = _softmax_chunk(np.intp(c), rows_per_chunk, rows, labels, weights, W, P, slopes)


@kernel
def _column_slopes(first, last, columns, labels, weights, P, out):
    """`column_slopes` for the columns first..last: writes ``out`` there."""
    data, indices, indptr = columns.data, columns.indices, columns.indptr
    n_classes = P.shape[1]
    for j in range(first, last):
        for k in range(n_classes):
            out[j, k] = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            x = data[p] if weights.shape[0] == 0 else weights[i] * data[p]
            for k in range(n_classes):
                out[j, k] += x * P[i, k]
            out[j, labels[i]] -= x


@parallel_kernel
def column_slopes(n_chunks, columns_per_chunk, columns, labels, weights, P, out):
    """Write Σ weight x_j (p − [class]) to line j of ``out`` for each of the sparse ``columns``."""
    for c in prange(n_chunks):
        first = np.intp(c) * columns_per_chunk
        last = min(first + columns_per_chunk, columns.indptr.shape[0] - 1)
        _column_slopes(first, last, columns, labels, weights, P, out)
