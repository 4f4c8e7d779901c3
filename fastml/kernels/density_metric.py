"""Kernel sums for any metric of kernels/metrics.py: every pair, one query after the other."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.metrics import rdist_to_dist, rdist_to_rows
from fastml.kernels.smoothing import LAST_ENDLESS, kernel_values, tail_exponent


@kernel
def _sum_rows(
    start, stop, code, unit, reach2, scale, metric, p, v, Q, itself, X, values, sums, shifts
):
    n = X.shape[0]
    buffer = np.empty(n)
    for q in range(start, stop):
        rdist_to_rows(metric, Q, q, X, 0, n, p, v, buffer)
        for i in range(n):
            distance = rdist_to_dist(metric, buffer[i], p) * unit
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
        kernel_values(code, buffer, shift, reach2, scale)
        if itself[q] >= 0:
            buffer[itself[q]] = 0.0
        for c in range(values.shape[1]):
            total = 0.0
            for i in range(n):
                total += values[i, c] * buffer[i]
            sums[q, c] = total
        shifts[q] = shift


@parallel_kernel
def metric_sums(
    first, last, rows, code, unit, reach2, scale, metric, p, v, Q, itself, X, values, sums, shifts
):
    """As `density.kernel_sums` for rows first..last of Q; distances are multiplied by ``unit``."""
    for c in prange((last - first + rows - 1) // rows):
        start = first + np.intp(c) * rows
        _sum_rows(
            start,
            min(start + rows, last),
            code,
            unit,
            reach2,
            scale,
            metric,
            p,
            v,
            Q,
            itself,
            X,
            values,
            sums,
            shifts,
        )
