"""Matrices that are functions of dot products: Euclidean, cosine, polynomial, sigmoid, rbf.

One-threaded GEMM per tile, then one pass over the tile while it is in the cache. Rows are copied to
float64 on the way in, so float32 data lose nothing. The squared distance

    |x - y|² = |x|² + |y|² - 2 x·y

loses digits where it is small beside |x|² + |y|²; those pairs are computed again from differences.
Callers limit BLAS to one thread.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.metrics import COSINE, EUCLIDEAN, SQEUCLIDEAN
from fastml.kernels.distances.pair_tiles import make_symmetric, store_tile, tile_corner
from fastml.kernels.distances.row_metrics import sum_squares
from fastml.kernels.numeric.exp import exp64

POLYNOMIAL = 41
SIGMOID = 42
RBF = 43
COSINE_SIMILARITY = 44

NEAREST_BLOCK = 256  # rows of X, and of Y, that `nearest_by_gram` multiplies at a time
DOT_DEPTH = 512  # features that are multiplied at a time
CANCELLED = 1e-5
"""Below this share of |x|² + |y|² a squared distance has lost five of its sixteen digits."""


class GramForm(NamedTuple):
    """Which function of the dot products, and its parameters."""

    code: int  # EUCLIDEAN, SQEUCLIDEAN, COSINE of `metrics`, or one of the constants above
    gamma: float = 0.0  # POLYNOMIAL, SIGMOID, RBF
    coef0: float = 0.0  # POLYNOMIAL, SIGMOID
    degree: float = 1.0  # POLYNOMIAL
    exact: bool = True  # whether squared distances that lost digits are computed again


@kernel(fast_math=True)
def row_squares(X, out):
    """Write the squared norms of the rows of X, in float64, to ``out``."""
    for i in range(X.shape[0]):
        total = 0.0
        for k in range(X.shape[1]):
            total += np.float64(X[i, k]) * np.float64(X[i, k])
        out[i] = total


@kernel
def _load_rows(X, start, k0, out):
    """Write X[start :, k0 :] in float64 to ``out``, padded with zeros to its shape."""
    rows = min(out.shape[0], X.shape[0] - start)
    columns = min(out.shape[1], X.shape[1] - k0)
    for i in range(rows):
        for k in range(columns):
            out[i, k] = np.float64(X[start + i, k0 + k])
        for k in range(columns, out.shape[1]):
            out[i, k] = 0.0
    for i in range(rows, out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0.0


@kernel
def _dot_tile(X, i0, Y, j0, x, y, part, dots):
    """Write the dot products of the rows X[i0 :] and Y[j0 :] to ``dots``.

    By slices of at most DOT_DEPTH features; x, y and ``part`` are scratch.
    """
    depth = x.shape[1]
    for k0 in range(0, X.shape[1], depth):
        _load_rows(X, i0, k0, x)
        _load_rows(Y, j0, k0, y)
        if k0 == 0:
            np.dot(x, y.T, dots)
        else:
            np.dot(x, y.T, part)
            for i in range(dots.shape[0]):
                for j in range(dots.shape[1]):
                    dots[i, j] += part[i, j]


@kernel(fused=True)
def _squared_distances(X, i, Y, j0, j1, square, squares_y, exact, row):
    """Change ``row``, the dot products of X[i] and Y[j0:j1], to their squared distances.

    ``square`` is |X[i]|²; ``exact`` computes those again that lost digits.
    """
    doubtful = 0
    for j in range(j0, j1):
        scale = square + squares_y[j]
        squared = scale - 2.0 * row[j - j0]
        doubtful += 0 if squared >= CANCELLED * scale else 1  # NaN from overflow counts too
        row[j - j0] = squared if squared > 0.0 else 0.0
    if exact and doubtful > 0:
        for j in range(j0, j1):
            if not row[j - j0] >= CANCELLED * (square + squares_y[j]):
                row[j - j0] = sum_squares(X, i, Y, j)


@kernel
def _whole_power(x, degree):
    """x^degree for a whole degree >= 0, by squaring."""
    result = 1.0
    n = np.int64(degree)
    while n > 0:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@kernel
def _finish_row(parameters, X, i, Y, j0, j1, x_norms, y_norms, row):
    """Change ``row``, the dot products of X[i] and Y[j0:j1], to the wanted values."""
    form, gamma, coef0, degree, exact = parameters
    n = j1 - j0
    if form == EUCLIDEAN or form == SQEUCLIDEAN or form == RBF:
        _squared_distances(X, i, Y, j0, j1, x_norms[i], y_norms, exact, row)
        if form == EUCLIDEAN:
            for j in range(n):
                row[j] = np.sqrt(row[j])
        elif form == RBF:
            for j in range(n):
                row[j] = exp64(-gamma * row[j])
    elif form == COSINE:
        for j in range(n):
            distance = 1.0 - row[j] * (x_norms[i] * y_norms[j0 + j])
            if distance < 0.0:
                distance = 0.0
            if distance > 2.0:
                distance = 2.0
            row[j] = distance
    elif form == COSINE_SIMILARITY:
        for j in range(n):
            row[j] *= x_norms[i] * y_norms[j0 + j]
    elif form == SIGMOID:
        for j in range(n):
            row[j] = np.tanh(gamma * row[j] + coef0)
    elif degree == np.floor(degree) and degree <= 64.0:
        for j in range(n):
            row[j] = _whole_power(gamma * row[j] + coef0, degree)
    else:
        for j in range(n):
            row[j] = (gamma * row[j] + coef0) ** degree


@kernel
def _gram_tile(c, size, form, X, Y, x_norms, y_norms, symmetric, out):
    """Write tile number c to ``out``, and its mirror image if symmetric."""
    i0, j0 = tile_corner(c, Y.shape[0], size, symmetric)
    i1 = min(i0 + size, X.shape[0])
    j1 = min(j0 + size, Y.shape[0])
    depth = min(DOT_DEPTH, X.shape[1])
    x = np.empty((i1 - i0, depth))
    y = np.empty((j1 - j0, depth))
    dots = np.empty((i1 - i0, j1 - j0))
    part = np.empty((i1 - i0, j1 - j0) if X.shape[1] > depth else (0, 0))
    _dot_tile(X, i0, Y, j0, x, y, part, dots)
    for i in range(i0, i1):
        _finish_row(form, X, i, Y, j0, j1, x_norms, y_norms, dots[i - i0])
    if symmetric and i0 == j0:
        make_symmetric(dots, i1 - i0, form.code <= COSINE)
    store_tile(dots, i0, i1, j0, j1, symmetric and i0 != j0, out)


@parallel_kernel
def gram_tiles(first, last, size, form, X, Y, x_norms, y_norms, symmetric, out):
    """Write tiles first..last of ``size`` rows and columns of the matrix ``form`` to ``out``.

    Norms of the rows: squared (Euclidean, rbf), inverse (cosine), else not read.
    """
    for c in prange(last - first):
        _gram_tile(first + np.intp(c), size, form, X, Y, x_norms, y_norms, symmetric, out)


@kernel
def _nearest_block(c, form, X, Y, x_norms, y_norms, distances, indices):
    """`nearest_by_gram` of block c of the rows of X."""
    size = NEAREST_BLOCK
    i0 = c * size
    i1 = min(i0 + size, X.shape[0])
    depth = min(DOT_DEPTH, X.shape[1])
    x = np.empty((i1 - i0, depth))
    for i in range(i0, i1):
        distances[i] = np.inf
        indices[i] = 0
    for j0 in range(0, Y.shape[0], size):
        j1 = min(j0 + size, Y.shape[0])
        y = np.empty((j1 - j0, depth))
        dots = np.empty((i1 - i0, j1 - j0))
        part = np.empty((i1 - i0, j1 - j0) if X.shape[1] > depth else (0, 0))
        _dot_tile(X, i0, Y, j0, x, y, part, dots)
        for i in range(i0, i1):
            row = dots[i - i0]
            _finish_row(form, X, i, Y, j0, j1, x_norms, y_norms, row)
            smallest = distances[i]
            for j in range(j1 - j0):
                if row[j] < smallest:
                    smallest = row[j]
            if smallest < distances[i]:
                j = 0
                while row[j] != smallest:
                    j += 1
                distances[i] = smallest
                indices[i] = j0 + j


@parallel_kernel
def nearest_by_gram(first, last, form, X, Y, x_norms, y_norms, distances, indices):
    """Write ``indices`` of and ``distances`` to the nearest row of Y, the first of equals.

    For blocks first..last of NEAREST_BLOCK rows of X; norms as in `gram_tiles`.
    """
    for c in prange(last - first):
        _nearest_block(first + np.intp(c), form, X, Y, x_norms, y_norms, distances, indices)
