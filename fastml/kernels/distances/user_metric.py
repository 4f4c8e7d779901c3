"""The matrix of a metric that the user wrote and compiled: ``metric(x, y) -> float`` of two rows.

It is compiled for each metric anew and never cached on disk: the cache tells functions apart by
their argument types, and two functions of one name would look alike.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.distances.pair_tiles import tile_corner


@kernel
def sample_metric(x, y):
    """The discrete metric: 0 if the rows are equal, else 1 (for warm-up and tests)."""
    for k in range(x.shape[0]):
        if x[k] != y[k]:
            return 1.0
    return 0.0


@parallel_kernel
def call_metric(first, last, size, metric, X, Y, symmetric, out):
    """Write ``metric(X[i], Y[j])`` to ``out``: tiles first..last of ``size`` rows and columns.

    If symmetric, a value of the upper triangle is written to both places.
    """
    for c in prange(last - first):
        i0, j0 = tile_corner(first + np.intp(c), Y.shape[0], size, symmetric)
        for i in range(i0, min(i0 + size, X.shape[0])):
            for j in range(max(j0, i) if symmetric else j0, min(j0 + size, Y.shape[0])):
                value = metric(X[i], Y[j])
                out[i, j] = value
                if symmetric:
                    out[j, i] = value


call_metric.never_keep()
