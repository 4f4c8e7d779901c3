"""Passes over the rows of a linear model: X w, X' g and the weighted Gram matrix X' diag(h) X.

Every row x has a 1 behind it, so that the last weight is the intercept, and the Gram matrix may
have one more column, given apart. Rows are dense of either order or sparse, of float32 or float64;
sums are float64, and the same to the bit for both orders. Chunks of rows own their sums.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linalg.panel_products import (
    PANEL,
    add_products,
    copy_panel,
    line_of,
    n_blocks,
)
from fastml.kernels.linear.rows import dense_add, dense_dot, sparse_add, sparse_dot

GRAM_ROWS = 128
"""Most rows that are scaled and multiplied at once."""

LEAST_GRAM_ROWS, GRAM_LINES = 32, 256
"""Fewest such rows, and cache lines that they may fill."""


class DesignRows(NamedTuple):
    """Dense ``X``, by rows or (``by_columns``) transposed; or CSR's fields and an empty ``X``.

    `fastml._engines.smooth_linear.design` makes it.
    """

    X: np.ndarray
    by_columns: bool
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@kernel
def _turn(X, first, last, tile):
    """Write the rows first..last of a matrix that lies by columns to ``tile``."""
    for j in range(X.shape[0]):
        for i in range(last - first):
            tile[i, j] = X[j, first + i]


@kernel
def _turned_rows(n_features):
    """Rows that are turned at once: a tile stays in the cache."""
    return max(8, min(GRAM_ROWS, 65536 // max(1, n_features)))


@kernel
def _product_chunk(first, last, rows, w, out):
    """`products` for the rows first..last: writes ``out`` there."""
    X, by_columns, data, indices, indptr = rows
    if indptr.shape[0] > 0:
        for i in range(first, last):
            p, q = indptr[i], indptr[i + 1]
            out[i] = sparse_dot(data[p:q], indices[p:q], 1.0, w)
    elif by_columns:
        step = _turned_rows(X.shape[0])
        tile = np.empty((step, X.shape[0]), dtype=X.dtype)
        for start in range(first, last, step):
            stop = min(start + step, last)
            _turn(X, start, stop, tile)
            for i in range(stop - start):
                out[start + i] = dense_dot(tile[i], 1.0, w)
    else:
        for i in range(first, last):
            out[i] = dense_dot(X[i], 1.0, w)


@parallel_kernel
def products(n_chunks, rows_per_chunk, rows, w, out):
    """Write w · (x, 1) of each of the `DesignRows` to ``out``."""
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        _product_chunk(first, min(first + rows_per_chunk, out.shape[0]), rows, w, out)


@kernel
def _slope_chunk(first, last, rows, factors, out):
    """`slopes` for one chunk: writes ``out``."""
    X, by_columns, data, indices, indptr = rows
    out[:] = 0.0
    if indptr.shape[0] > 0:
        for i in range(first, last):
            p, q = indptr[i], indptr[i + 1]
            sparse_add(data[p:q], indices[p:q], 1.0, factors[i], out)
    elif by_columns:
        step = _turned_rows(X.shape[0])
        tile = np.empty((step, X.shape[0]), dtype=X.dtype)
        for start in range(first, last, step):
            stop = min(start + step, last)
            _turn(X, start, stop, tile)
            for i in range(stop - start):
                dense_add(tile[i], 1.0, factors[start + i], out)
    else:
        for i in range(first, last):
            dense_add(X[i], 1.0, factors[i], out)


@parallel_kernel
def slopes(rows_per_chunk, rows, factors, sums):
    """Write Σ factor (x, 1) over the rows of each chunk to a line of ``sums``."""
    for c in prange(sums.shape[0]):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, factors.shape[0])
        _slope_chunk(first, last, rows, factors, sums[c])


@kernel
def fill_tile(first, last, rows, roots, tile):
    """Write root · (x, 1) of the rows first..last to the columns of ``tile`` from the left."""
    X, by_columns, data, indices, indptr = rows
    n = last - first
    if indptr.shape[0] > 0:
        for i in range(n):
            tile[i, :] = 0.0
            for p in range(indptr[first + i], indptr[first + i + 1]):
                tile[i, indices[p]] = data[p] * roots[i]
    elif by_columns:
        for j in range(X.shape[0]):
            for i in range(n):
                tile[i, j] = X[j, first + i] * roots[i]
    else:
        for i in range(n):
            for j in range(X.shape[1]):
                tile[i, j] = X[first + i, j] * roots[i]


@kernel
def _fill_panels(first, last, rows, roots, panels):
    """Write root · x of the rows first..last to ``panels``, from the left; the rest stays."""
    X, by_columns, data, indices, indptr = rows
    n = last - first
    if indptr.shape[0] > 0:
        panels[:] = 0.0
        for i in range(n):
            for p in range(indptr[first + i], indptr[first + i + 1]):
                j = indices[p]
                panels[j // PANEL, i, j % PANEL] = data[p] * roots[i]
    elif by_columns:
        for j in range(X.shape[0]):
            q, k = j // PANEL, j % PANEL
            for i in range(n):
                panels[q, i, k] = X[j, first + i] * roots[i]
    else:
        whole = X.shape[1] // PANEL
        for i in range(n):
            for q in range(whole):
                copy_panel(X, first + i, q * PANEL, roots[i], panels, q, i)
            for j in range(whole * PANEL, X.shape[1]):
                panels[whole, i, j - whole * PANEL] = X[first + i, j] * roots[i]


@kernel
def _ahead(first, last, rows, n_reads, panels):
    """(address, stride) with which so many reads fetch the rows first..last, if in C order."""
    X = rows.X
    if rows.by_columns or X.shape[0] == 0 or first >= last:
        return np.intp(panels.ctypes.data), np.intp(0)
    row = X.shape[1] * X.itemsize
    return np.intp(X.ctypes.data + first * row), np.intp((last - first) * row // n_reads)


@kernel
def _gram_chunk(first, last, rows, weights, extra, one, panels, roots, out):
    """`grams` for one chunk: writes ``out``; overwrites ``panels`` and ``roots``."""
    out[:] = 0.0
    roots[:] = 1.0
    blocks = n_blocks(panels.shape[0])
    step = panels.shape[1]
    for start in range(first, last, step):
        stop = min(start + step, last)
        n = stop - start
        if weights.shape[0] > 0:
            for i in range(n):
                roots[i] = np.sqrt(weights[start + i])
        _fill_panels(start, stop, rows, roots, panels)
        for i in range(n):
            panels[one // PANEL, i, one % PANEL] = roots[i]
        if extra.shape[0] > 0:
            for i in range(n):
                panels[(one + 1) // PANEL, i, (one + 1) % PANEL] = roots[i] * extra[start + i]
        address, stride = _ahead(stop, min(stop + step, last), rows, blocks * n, panels)
        add_products(panels, n, address, stride, out)


@parallel_kernel
def grams(n_rows, rows_per_chunk, rows, weights, extra, one, sums):
    """Write Σ weight u u' over the rows of each chunk to ``sums``, u = (x, 1), or (x, 1, extra).

    ``one`` is the number of columns of X. Weights are not negative, or empty if all are 1;
    ``extra`` is one number per row, or empty. The sizes of ``sums`` are whole panels; only blocks
    of 8 × 8 on and above the diagonal are right.
    """
    for c in prange(sums.shape[0]):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, n_rows)
        n_panels = sums.shape[1] // PANEL
        step = max(LEAST_GRAM_ROWS, min(GRAM_ROWS, GRAM_LINES // n_panels))
        panels = line_of(n_panels * step * PANEL).reshape((n_panels, step, PANEL))
        roots = np.empty(step)
        _gram_chunk(first, last, rows, weights, extra, one, panels, roots, sums[c])
