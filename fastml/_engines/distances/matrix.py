"""Checked arrays → matrix: which kernel, how many tiles, how many threads.

Every function takes X and Y of one float type (Y is X for a symmetric matrix) and an optional
``out``; the result is float32 for float32 data, computed in float64.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from fastml._engines.rows import csr_rows
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.distances import boolean, gram, metrics, pair_tiles, pairwise, sparse
from fastml.kernels.distances.gram import GramForm
from fastml.kernels.numeric.csr import Csr

EMPTY = np.empty((0, 0))
EMPTY.flags.writeable = False
LAUNCH_WORK = 4e9
"""Multiply-adds per launch, below half a second: Python sees Ctrl-C in between."""

GAPS_BELOW = 9
"""Euclidean distances in fewer dimensions than this are faster from gaps than from dot products."""


def new_matrix(X, Y, out=None):
    """``out``, or a new unfilled matrix of X and Y's float type."""
    if out is not None:
        return out
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.empty((X.shape[0], Y.shape[0]), dtype=dtype)


def _tile_size(n_pairs: int) -> int:
    """Large tiles write long runs; small ones leave something for every thread."""
    return 256 if n_pairs >= 1 << 21 else 128 if n_pairs >= 1 << 17 else 64


def _launch_tiles(driver, arguments, out, symmetric: bool, operations: float, n_jobs) -> None:
    """``driver(first, last, size, *arguments, symmetric, out)`` over all tiles."""
    n_rows, n_columns = out.shape
    size = _tile_size(out.size)
    n_tiles = int(pair_tiles.tile_count(n_rows, n_columns, size, symmetric))
    work = out.size * operations / (2 if symmetric else 1)
    threads = effective_n_threads(n_jobs, work)
    step = max(threads, int(LAUNCH_WORK / (size * size * operations)))
    for first in range(0, n_tiles, step):
        last = min(first + step, n_tiles)
        driver(first, last, size, *arguments, symmetric, out, n_threads=threads)


def _launch_blocks(driver, arguments, n_rows: int, size: int, row_work: float, n_jobs) -> None:
    """``driver(first, last, *arguments)`` over blocks of ``size`` rows."""
    n_blocks = -(-n_rows // size)
    threads = effective_n_threads(n_jobs, n_rows * row_work)
    step = max(threads, int(LAUNCH_WORK / max(1.0, size * row_work)))
    for first in range(0, n_blocks, step):
        driver(first, min(first + step, n_blocks), *arguments, n_threads=threads)


def row_squares(X) -> np.ndarray:
    """Squared norms of the rows in float64."""
    squares = np.empty(X.shape[0])
    gram.row_squares(kernel_view(X), squares)
    return squares


def inverse_norms(X) -> np.ndarray:
    """1 / |x| per row, 0 for zero rows."""
    norms = np.sqrt(row_squares(X))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


# ---------------------------------------------------------------------------- dense


def gram_matrix(
    form, X, Y, x_norms, y_norms, *, gamma=0.0, coef0=0.0, degree=1.0, exact=True, n_jobs, out=None
):
    """A function of dot products (see `kernels.distances.gram`)."""
    out = new_matrix(X, Y, out)
    symmetric = X is Y
    left = kernel_view(X)
    right = left if symmetric else kernel_view(Y)
    parameters = GramForm(form, float(gamma), float(coef0), float(degree), bool(exact))
    arguments = (parameters, left, right, x_norms, y_norms)
    with single_threaded_blas():
        _launch_tiles(gram.gram_tiles, arguments, out, symmetric, 8.0 + X.shape[1] / 4, n_jobs)
    return out


def euclidean_matrix(X, Y, *, squared=False, x_squares=None, y_squares=None, n_jobs=None, out=None):
    """Euclidean distances; with squared norms that were given cancellation is the caller's risk."""
    code = metrics.SQEUCLIDEAN if squared else metrics.EUCLIDEAN
    given = x_squares is not None or (y_squares is not None and Y is not X)
    if X.shape[1] < GAPS_BELOW and not given:
        return gap_matrix(code, X, Y, n_jobs=n_jobs, out=out)
    if x_squares is None:
        x_squares = row_squares(X)
    if Y is X:
        y_squares = x_squares
    elif y_squares is None:
        y_squares = row_squares(Y)
    return gram_matrix(code, X, Y, x_squares, y_squares, exact=not given, n_jobs=n_jobs, out=out)


def cosine_matrix(form, X, Y, *, n_jobs=None, out=None):
    """COSINE or COSINE_SIMILARITY."""
    x_norms = inverse_norms(X)
    y_norms = x_norms if Y is X else inverse_norms(Y)
    return gram_matrix(form, X, Y, x_norms, y_norms, n_jobs=n_jobs, out=out)


def correlation_matrix(X, Y, *, n_jobs=None, out=None):
    """Cosine distance of centred rows; NaN where a row is constant."""
    out = new_matrix(X, Y, out)
    left = centred_rows(X)
    right = left if Y is X else centred_rows(Y)
    cosine_matrix(metrics.COSINE, left, right, n_jobs=n_jobs, out=out)
    constant = ~left.any(axis=1)
    if constant.any():
        out[constant] = np.nan
    constant = ~right.any(axis=1)
    if constant.any():
        out[:, constant] = np.nan
    return out


def centred_rows(X) -> np.ndarray:
    X = X.astype(np.float64)
    X -= X.mean(axis=1, keepdims=True)
    return X


def gap_matrix(code, X, Y, *, scale=0.0, n_jobs=None, out=None):
    """Sums of powers of gaps: codes up to QUARTIC."""
    out = new_matrix(X, Y, out)
    symmetric = X is Y
    left = kernel_view(X)
    right = left if symmetric else kernel_view(Y)
    arguments = (code, left, right, float(scale))
    _launch_tiles(pairwise.gap_tiles, arguments, out, symmetric, 4.0 + X.shape[1], n_jobs)
    return out


def row_matrix(code, X, Y, *, p=2.0, v=EMPTY, scale=0.0, n_jobs=None, out=None):
    """Any metric, pair by pair."""
    out = new_matrix(X, Y, out)
    symmetric = X is Y
    left = kernel_view(X)
    right = left if symmetric else kernel_view(Y)
    arguments = (code, left, right, float(p), v, float(scale))
    operations = 8.0 + 4.0 * X.shape[1] * (X.shape[1] if code == metrics.MAHALANOBIS else 1)
    _launch_tiles(pairwise.row_tiles, arguments, out, symmetric, operations, n_jobs)
    return out


def bit_matrix(code, X, Y, *, n_jobs=None, out=None):
    """A boolean metric; X and Y are boolean arrays."""
    if out is None:
        out = np.empty((X.shape[0], Y.shape[0]))
    same = X is Y
    left, left_ones = packed_bits(X)
    right, right_ones = (left, left_ones) if same else packed_bits(Y)
    # A few words: counting twice is cheaper than writing a mirror image.
    symmetric = same and left.shape[0] > 4
    table = np.arange(X.shape[1] + 1.0) / X.shape[1]
    arguments = (code, float(X.shape[1]), left, right, left_ones, right_ones, table)
    operations = 4.0 + left.shape[0]
    _launch_tiles(boolean.bit_tiles, arguments, out, symmetric, operations, n_jobs)
    return out


def packed_bits(X) -> tuple[np.ndarray, np.ndarray]:
    """(words by rows and vectors by columns, ones per vector)."""
    packed = np.packbits(X, axis=1)
    padded = np.zeros((X.shape[0], -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    words = kernel_view(padded.view(np.uint64).T)
    ones = np.empty(X.shape[0])
    boolean.count_ones(words, ones)
    return words, ones


# ---------------------------------------------------------------------------- sparse


def canonical_csr(X, *, ones: bool = False) -> Csr:
    """Rows in float64, columns sorted and unique; with ``ones`` 1 for all but zeros.

    X stays as it is.
    """
    rows = csr_rows(csr_array(X, dtype=np.float64))
    if not ones:
        return rows
    if not rows.data.all():
        matrix = csr_array(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        rows = csr_rows(matrix)
    return rows._replace(data=kernel_view(np.ones(rows.data.shape)))


def sparse_matrix(code, X, Y, *, x_squares=None, y_squares=None, n_jobs=None, out=None):
    """EUCLIDEAN, SQEUCLIDEAN, COSINE, JACCARD or MANHATTAN of rows of which some are sparse."""
    out = new_matrix(X, Y, out)
    left = canonical_csr(X, ones=code == metrics.JACCARD)
    right = left if Y is X else canonical_csr(Y, ones=code == metrics.JACCARD)
    row_work = float(right.data.size + out.shape[1])
    if code == metrics.MANHATTAN:
        row_work += out.shape[1] * left.data.size / max(1, out.shape[0])
        _launch_blocks(
            pairwise_driver(sparse.sparse_manhattan, 16),
            (left, right, out),
            out.shape[0],
            16,
            4.0 * row_work,
            n_jobs,
        )
        return out
    exact = x_squares is None and y_squares is None
    if x_squares is None:
        x_squares = sparse_row_squares(left)
    if y_squares is None or Y is X:
        y_squares = x_squares if Y is X else sparse_row_squares(right)
    _launch_blocks(
        pairwise_driver(sparse.sparse_dots, 16),
        (code, exact, X.shape[1], left, x_squares, right, y_squares, out),
        out.shape[0],
        16,
        2.0 * row_work,
        n_jobs,
    )
    return out


def sparse_row_squares(rows: Csr) -> np.ndarray:
    """Squared norms of the rows."""
    squares = np.empty(rows.indptr.size - 1)
    sparse.sparse_row_squares(rows, squares)
    return squares


def pairwise_driver(driver, size: int):
    """``driver(first, last, size, ...)`` as ``(first, last, ...)``."""

    def launch(first, last, *arguments, n_threads):
        driver(first, last, size, *arguments, n_threads=n_threads)

    return launch


def any_sparse(*arrays) -> bool:
    return any(issparse(each) for each in arrays)


# ---------------------------------------------------------------------------- nearest row


def nearest(code, X, Y, *, p=2.0, v=EMPTY, n_jobs=None) -> tuple[np.ndarray, np.ndarray]:
    """Index of and distance to the nearest row of Y, for each row of X; the first of equals."""
    distances = np.empty(X.shape[0])
    indices = np.empty(X.shape[0], dtype=np.intp)
    left, right = kernel_view(X), kernel_view(Y)
    by_dots = code == metrics.COSINE or (code <= metrics.SQEUCLIDEAN and X.shape[1] >= GAPS_BELOW)
    if by_dots:
        norms = inverse_norms if code == metrics.COSINE else row_squares
        form = GramForm(metrics.COSINE if code == metrics.COSINE else metrics.SQEUCLIDEAN)
        arguments = (form, left, right, norms(X), norms(Y), distances, indices)
        row_work = Y.shape[0] * (4.0 + X.shape[1] / 4)
        with single_threaded_blas():
            _launch_blocks(
                gram.nearest_by_gram, arguments, X.shape[0], gram.NEAREST_BLOCK, row_work, n_jobs
            )
        if code == metrics.EUCLIDEAN:
            np.sqrt(distances, out=distances)
        return indices, distances
    row_arguments = (code, left, right, float(p), v, distances, indices)
    row_work = Y.shape[0] * (4.0 + 2.0 * X.shape[1])
    _launch_blocks(
        pairwise.nearest_rows, row_arguments, X.shape[0], pairwise.ROW_BLOCK, row_work, n_jobs
    )
    return indices, distances
