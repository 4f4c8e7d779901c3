"""Rows of a linear model, dense or CSR, each with one more entry: the constant ``bias``.

Weights have that entry too: ``w[:-1]`` belongs to the features, ``w[-1]`` to the constant. A model
without intercept has bias 0. Kernels get dense rows as ``X`` with an empty ``indptr``, CSR rows as
``data``, ``indices`` (uint32) and ``indptr`` with an empty ``X``, and hand one row to the functions
here: they are small enough to be inlined, where one function of both kinds costs 50 ns a call.
"""

from fastml._jit import kernel


@kernel(fast_math=True)
def dense_dot(x, bias, w):
    """w · (x, bias)."""
    total = bias * w[x.shape[0]]
    for j in range(x.shape[0]):
        total += x[j] * w[j]
    return total


@kernel(fast_math=True)
def sparse_dot(values, columns, bias, w):
    total = bias * w[w.shape[0] - 1]
    for p in range(values.shape[0]):
        total += values[p] * w[columns[p]]
    return total


@kernel(fused=True)
def dense_add(x, bias, factor, w):
    """w += factor (x, bias)."""
    for j in range(x.shape[0]):
        w[j] += factor * x[j]
    w[x.shape[0]] += factor * bias


@kernel(fused=True)
def sparse_add(values, columns, bias, factor, w):
    for p in range(values.shape[0]):
        w[columns[p]] += factor * values[p]
    w[w.shape[0] - 1] += factor * bias


@kernel(fast_math=True)
def square(values, bias):
    """\\|(x, bias)\\|²."""
    total = bias * bias
    for j in range(values.shape[0]):
        total += values[j] * values[j]
    return total
