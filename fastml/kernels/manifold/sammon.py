"""Sammon's stress, its gradient and the diagonal of its second derivatives, in one pass.

    E = 1/c Σ_{i<j} v_ij (d_ij - ρ_ij)²,   d_ij = |y_i - y_j|
    ∂E/∂y_i = 2/c Σ_j v_ij (d_ij - ρ_ij) / d_ij (y_i - y_j)
    ∂²E/∂y_if² = 2/c Σ_j v_ij (1 - ρ_ij / d_ij + ρ_ij (y_if - y_jf)² / d_ij³)

v is 1/ρ or 1/ρ², c = Σ ρ or 1. Pairs with ρ = 0 do not count.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

LEAST_DISTANCE = 1e-9  # in the place of a smaller distance


@kernel
def _sammon_chunk(start, stop, Y, targets, power, slopes, curves):
    """`sammon_pass` for rows start..stop, into ``slopes`` and ``curves``; return 2 c E."""
    n, d = Y.shape
    total = 0.0
    for i in range(start, stop):
        for f in range(d):
            slopes[i, f], curves[i, f] = 0.0, 0.0
        for j in range(n):
            target = targets[i, j]
            if j == i or target <= 0.0:
                continue
            weight = 1.0 / target if power == 1 else 1.0 / (target * target)
            square = 0.0
            for f in range(d):
                gap = Y[i, f] - Y[j, f]
                square += gap * gap
            distance = np.sqrt(square)
            if distance < LEAST_DISTANCE:
                distance = LEAST_DISTANCE
            gap = distance - target
            total += weight * gap * gap
            ratio = target / distance
            for f in range(d):
                along = Y[i, f] - Y[j, f]
                slopes[i, f] += 2.0 * weight * gap / distance * along
                curves[i, f] += 2.0 * weight * (1.0 - ratio * (1.0 - along * along / distance**2))
    return total


@parallel_kernel
def sammon_pass(Y, targets, power, rows_per_chunk, slopes, curves, partial):
    """Write c ∂E/∂y to ``slopes``, c ∂²E/∂y² to ``curves`` and 2 c E of each chunk to
    ``partial``; v is 1/ρ^power."""
    n = Y.shape[0]
    for c in prange(partial.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        partial[c] = _sammon_chunk(start, stop, Y, targets, power, slopes, curves)
