"""Columns of functions that the user wrote and compiled: ``function(x) -> float`` of a row.

They are compiled for each function anew and never cached on disk: the cache tells functions apart
by their argument types, and two functions of one name would look alike.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def sample_function(x):
    """The product of the first and the last value (for warm-up and tests)."""
    return x[0] * x[-1]


@kernel
def sample_value_function(value):
    """A value's square (for warm-up and tests)."""
    return value * value


@parallel_kernel
def call_on_rows(rows_per_chunk, function, X, column, out):
    """Write ``function(X[i])`` to ``out[i, column]``."""
    n = X.shape[0]
    for c in prange(-(-n // rows_per_chunk)):
        first = np.intp(c) * rows_per_chunk
        for i in range(first, min(first + rows_per_chunk, n)):
            out[i, column] = function(X[i])


@parallel_kernel
def call_on_values(rows_per_chunk, function, X, column, out):
    """Write ``function(X[i, j])`` to ``out[i, column + j]``."""
    n = X.shape[0]
    for c in prange(-(-n // rows_per_chunk)):
        first = np.intp(c) * rows_per_chunk
        for i in range(first, min(first + rows_per_chunk, n)):
            for j in range(X.shape[1]):
                out[i, column + j] = function(X[i, j])


call_on_rows.never_keep()
call_on_values.never_keep()
