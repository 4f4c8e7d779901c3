"""Rows of kernel matrices, K(x_a, x_b), between rows of one matrix chosen by index lists.

Chosen rows are copied into small tiles, multiplied by one-threaded GEMM, and finished while the
tile is in the cache. All arithmetic is in the type of X: callers pass float32 where its rounding
cannot matter. With the form PRECOMPUTED, X is the kernel matrix itself. Callers limit BLAS to one
thread.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.gram import COSINE_SIMILARITY, POLYNOMIAL, RBF, SIGMOID
from fastml.kernels.numeric.exp import exp32, exp64

LINEAR = 40
PRECOMPUTED = 46

TILE_ROWS = 128
"""Rows of a tile; its columns are up to the caller."""

TAKEN_AT_ONCE = 32


class DotKernel(NamedTuple):
    """A kernel that is a function of dot products, and its parameters.

    ``form`` is LINEAR, PRECOMPUTED or one of `kernels.distances.gram`.
    """

    form: int
    gamma: float
    coef0: float
    degree: int


class NormedRows(NamedTuple):
    """Rows, and what a `DotKernel` must know of each besides dot products.

    ``norms`` are squared for the Gaussian kernel, inverse for the cosine, unused for the others.
    """

    X: np.ndarray
    norms: np.ndarray


@kernel
def copy_rows(X, chosen, out):
    """Write the rows of ``X`` with the numbers ``chosen`` to ``out``."""
    for i in range(chosen.shape[0]):
        row = chosen[i]
        for k in range(X.shape[1]):
            out[i, k] = X[row, k]


@kernel
def _power(x, degree):
    """x^degree for a whole degree >= 0."""
    result = 1.0
    for _ in range(degree):
        result *= x
    return result


@kernel(fused=True)
def _gaussian(dots, square, squares, gamma, out):
    """Write exp(-gamma |x - y|²) to ``out``, from dot products x · y, |x|² and all |y|²."""
    for j in range(dots.shape[0]):
        squared = square + squares[j] - dots[j] - dots[j]
        power = -gamma * (squared if squared > 0 else squared - squared)
        if out.itemsize == 4:
            out[j] = exp32(np.float32(power))
        else:
            out[j] = exp64(np.float64(power))


@kernel
def finish_row(dot_kernel, dots, norm, norms, out):
    """Write a row's kernel values to ``out``, from its ``dots`` with others, and all norms."""
    form, gamma, coef0, degree = dot_kernel
    if form == RBF:
        _gaussian(dots, norm, norms, gamma, out)
    elif form == POLYNOMIAL:
        for j in range(dots.shape[0]):
            out[j] = _power(gamma * dots[j] + coef0, degree)
    elif form == SIGMOID:
        for j in range(dots.shape[0]):
            out[j] = np.tanh(gamma * dots[j] + coef0)
    elif form == COSINE_SIMILARITY:
        for j in range(dots.shape[0]):
            out[j] = dots[j] * norm * norms[j]
    else:
        for j in range(dots.shape[0]):
            out[j] = dots[j]


@kernel
def _rows_tile(dot_kernel, data, left, slots, right, j0, j1, out):
    """Write K of the rows ``left`` with ``right[j0:j1]`` to those columns of ``out[slots]``."""
    X, norms = data
    columns = right[j0:j1]
    width = j1 - j0
    last = left.shape[0]
    if dot_kernel.form == PRECOMPUTED:
        for i in range(last):
            for j in range(width):
                out[slots[i], j0 + j] = X[left[i], columns[j]]
        return
    y = np.empty((width, X.shape[1]), X.dtype)
    y_norms = np.empty(width, X.dtype)
    copy_rows(X, columns, y)
    for j in range(width):
        y_norms[j] = norms[columns[j]]
    for i0 in range(0, last, TILE_ROWS):
        i1 = min(i0 + TILE_ROWS, last)
        x = np.empty((i1 - i0, X.shape[1]), X.dtype)
        dots = np.empty((i1 - i0, width), X.dtype)
        copy_rows(X, left[i0:i1], x)
        np.dot(x, y.T, dots)
        for i in range(i0, i1):
            finish_row(dot_kernel, dots[i - i0], norms[left[i]], y_norms, out[slots[i], j0:j1])


@parallel_kernel
def kernel_rows(dot_kernel, data, left, slots, right, width, out):
    """Write K of row left[a] with all rows ``right`` to out[slots[a]], for every a.

    ``data`` are `NormedRows`; threads take tiles of ``width`` columns.
    """
    n = right.shape[0]
    for c in prange((n + width - 1) // width):
        j0 = np.intp(c) * width
        _rows_tile(dot_kernel, data, left, slots, right, j0, min(j0 + width, n), out)


@kernel
def _take_columns(first, last, values, slots, columns, places, out):
    """`take_columns` for a in first..last."""
    for a in range(first, last):
        source, target = values[slots[a]], out[places[a]]
        for j in range(columns.shape[0]):
            target[j] = source[columns[j]]


@parallel_kernel
def take_columns(values, slots, columns, places, out):
    """Write values[slots[a], columns] to out[places[a]], for every a."""
    n = slots.shape[0]
    for c in prange((n + TAKEN_AT_ONCE - 1) // TAKEN_AT_ONCE):
        first = np.intp(c) * TAKEN_AT_ONCE
        last = min(first + TAKEN_AT_ONCE, n)
        _take_columns(first, last, values, slots, columns, places, out)


@kernel(fast_math=True)
def _weighted_rows(start, stop, rows, slots, weights, out):
    """`weighted_rows` for the columns start..stop."""
    total = out[start:stop]
    for j in range(total.shape[0]):
        total[j] = 0.0
    n = slots.shape[0]
    quads = n - n % 4
    for a in range(0, quads, 4):
        w0, w1, w2, w3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
        r0 = rows[slots[a], start:stop]
        r1 = rows[slots[a + 1], start:stop]
        r2 = rows[slots[a + 2], start:stop]
        r3 = rows[slots[a + 3], start:stop]
        for j in range(total.shape[0]):
            total[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
    for a in range(quads, n):
        weight = weights[a]
        row = rows[slots[a], start:stop]
        for j in range(total.shape[0]):
            total[j] += weight * row[j]


@parallel_kernel
def weighted_rows(rows, slots, weights, width, out):
    """Write Σ_a weights[a] rows[slots[a]] to ``out``, in float64, by tiles of ``width`` columns."""
    n = rows.shape[1]
    for c in prange((n + width - 1) // width):
        start = np.intp(c) * width
        _weighted_rows(start, min(start + width, n), rows, slots, weights, out)
