"""Kernel sums for any metric of `kernels.distances.metrics`: every pair, query by query."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.density.smoothing import LAST_ENDLESS, kernel_values, tail_exponent
from fastml.kernels.distances.metrics import rdist_to_dist, rdist_to_rows


@kernel
def _sum_rows(start, stop, rule, unit, metric, Q, itself, X, values, sums, shifts):
    """`metric_sums` of rows start..stop of Q."""
    code = rule.code
    n = X.shape[0]
    buffer = np.empty(n)
    for q in range(start, stop):
        rdist_to_rows(metric.code, Q, q, X, 0, n, metric.p, metric.v, buffer)
        for i in range(n):
            distance = rdist_to_dist(metric.code, buffer[i], metric.p) * unit
            buffer[i] = distance * distance
        if itself[q] >= 0:
            buffer[itself[q]] = np.inf
        shift = 0.0
        if code <= LAST_ENDLESS:
            nearest = np.inf
            for i in range(n):
                if buffer[i] < nearest:
                    nearest = buffer[i]
            if nearest == np.inf:
                continue
            shift = tail_exponent(code, nearest)
        kernel_values(code, buffer, shift, rule.reach2, rule.scale)
        if itself[q] >= 0:
            buffer[itself[q]] = 0.0
        for c in range(values.shape[1]):
            total = 0.0
            for i in range(n):
                total += values[i, c] * buffer[i]
            sums[q, c] = total
        shifts[q] = shift


@parallel_kernel
def metric_sums(first, last, rows, rule, unit, metric, Q, itself, X, values, sums, shifts):
    """Write the kernel sums at rows first..last of Q, as `sums.kernel_sums` does, for any metric.

    Distances, of `Metric` ``metric``, are multiplied by ``unit``; of the `SumRule` only the kernel
    is read, since nothing is left out. ``values`` (n, m) belong to the points X. Both ``sums`` and
    ``shifts`` start as zeros; a chunk has ``rows`` rows.
    """
    for c in prange((last - first + rows - 1) // rows):
        start = first + np.intp(c) * rows
        stop = min(start + rows, last)
        _sum_rows(start, stop, rule, unit, metric, Q, itself, X, values, sums, shifts)
