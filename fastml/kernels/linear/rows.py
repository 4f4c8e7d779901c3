"""Rows of a linear model, dense or sparse, each with one more entry: the constant ``bias``.

Weights have that entry too: ``w[:-1]`` belongs to the features, ``w[-1]`` to the constant. A model
without intercept has bias 0. Kernels take `LinearRows`, look once whether they are dense, and pass
one row to the functions here. Those are small enough to be inlined; one function for both kinds
would not be, and costs 50 ns a call.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel


class LinearRows(NamedTuple):
    """Dense rows ``X`` and an empty ``indptr``, or the fields of a `Csr` and an empty ``X``.

    `fastml._engines.rows.DesignMatrix` makes it. No `Csr` within: Numba's parallel loops take
    structs of arrays and numbers, not structs of structs.
    """

    X: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    bias: float


@kernel(fast_math=True)
def dense_dot(x, bias, w):
    """w · (x, bias) of a dense row ``x``."""
    total = bias * w[x.shape[0]]
    for j in range(x.shape[0]):
        total += x[j] * w[j]
    return total


@kernel(fast_math=True)
def sparse_dot(values, columns, bias, w):
    """w · (x, bias) of the sparse row with ``values`` in ``columns``."""
    total = bias * w[w.shape[0] - 1]
    for p in range(values.shape[0]):
        total += values[p] * w[columns[p]]
    return total


@kernel(fused=True)
def dense_add(x, bias, factor, w):
    """Add factor (x, bias) to ``w`` for a dense row ``x``."""
    for j in range(x.shape[0]):
        w[j] += factor * x[j]
    w[x.shape[0]] += factor * bias


@kernel(fused=True)
def sparse_add(values, columns, bias, factor, w):
    """Add factor (x, bias) to ``w`` for the sparse row with ``values`` in ``columns``."""
    for p in range(values.shape[0]):
        w[columns[p]] += factor * values[p]
    w[w.shape[0] - 1] += factor * bias


@kernel(fast_math=True)
def square(values, bias):
    """\\|(x, bias)\\|² of a row by its values, of which those not stored are 0."""
    total = bias * bias
    for j in range(values.shape[0]):
        total += values[j] * values[j]
    return total


@kernel
def row_squares(rows, squares):
    """Write the `square` of each of the `LinearRows` to ``squares``."""
    X, data, _, indptr, bias = rows
    for i in range(squares.shape[0]):
        if indptr.shape[0] == 0:
            squares[i] = square(X[i], bias)
        else:
            squares[i] = square(data[indptr[i] : indptr[i + 1]], bias)
