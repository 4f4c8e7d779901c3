"""Local linear regression: at every query a weighted least-squares plane through the points.

With kernel weights K_i, delta_i = x_i - q in bandwidths, and means under these weights,

    C = mean(delta delta') - mean(delta) mean(delta)' + RIDGE I
    slope = C^-1 (mean(delta y) - mean(delta) mean(y)),   y(q) = mean(y) - slope' mean(delta).

The ridge decides where the points in reach do not (one point, or all in one place): the slope goes
to zero and the answer to the kernel-weighted mean.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.density.smoothing import LAST_ENDLESS, kernel_values, tail_exponent
from fastml.kernels.density.sums import ROUNDED_UP
from fastml.kernels.density.tiles import TILE, box_gap2, squares_to_tile

RIDGE = 1e-9


@kernel(fast_math=True)
def _add_moments(point, coordinates, values, buffer, product, first, second, cross, means):
    """Add the sums over a tile's points, whose K is in ``buffer``; ``product`` is scratch.

    ``means`` gets K and K y, ``first`` K delta, ``second`` the lower triangle of K delta delta',
    ``cross`` K delta y.
    """
    d = coordinates.shape[0]
    for c in range(values.shape[0]):
        total = 0.0
        for i in range(TILE):
            total += buffer[i] * values[c, i]
        means[c] += total
    for a in range(d):
        total = 0.0
        for i in range(TILE):
            product[i] = buffer[i] * (coordinates[a, i] - point[a])
            total += product[i] * values[0, i]
        first[a] += total
        for b in range(a + 1):
            total = 0.0
            for i in range(TILE):
                total += product[i] * values[0, i] * (coordinates[b, i] - point[b])
            second[a, b] += total
        for c in range(1, values.shape[0]):
            total = 0.0
            for i in range(TILE):
                total += product[i] * values[c, i]
            cross[a, c - 1] += total


@kernel
def _clear(first, second, cross, means):
    """Write zeros to all four arrays of sums: ``first``, ``second``, ``cross`` and ``means``."""
    for c in range(means.shape[0]):
        means[c] = 0.0
    for a in range(first.shape[0]):
        first[a] = 0.0
        for b in range(second.shape[1]):
            second[a, b] = 0.0
        for c in range(cross.shape[1]):
            cross[a, c] = 0.0


@kernel
def _solve_in_place(matrix, right):
    """Solve matrix · x = column for each column of ``right``, in place.

    ``matrix`` is read and written in its lower triangle, which becomes its Cholesky factor.
    """
    d = matrix.shape[0]
    for j in range(d):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j]) if matrix[j, j] > RIDGE * RIDGE else RIDGE
        for i in range(j + 1, d):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for c in range(right.shape[1]):
        for i in range(d):
            for k in range(i):
                right[i, c] -= matrix[i, k] * right[k, c]
            right[i, c] /= matrix[i, i]
        for i in range(d - 1, -1, -1):
            for k in range(i + 1, d):
                right[i, c] -= matrix[k, i] * right[k, c]
            right[i, c] /= matrix[i, i]


@kernel
def _fit_rows(start, stop, rule, rows, itself, tiles, sums, shifts, out):
    """`local_linear` of query rows start..stop."""
    d = rows.shape[1]
    m = out.shape[1]
    buffer = np.empty(TILE)
    line = buffer.reshape(1, TILE)
    product = np.empty(TILE)
    chosen = np.empty(1, np.intp)
    first = np.empty(d)
    second = np.empty((d, d))
    cross = np.empty((d, m))
    means = np.empty(m + 1)
    for q in range(start, stop):
        if not sums[q, 0] > 0.0:
            continue  # no point in reach
        limit = rule.reach2
        if rule.code <= LAST_ENDLESS:
            extra = np.log2(rule.total / (rule.relative * sums[q, 0]))
            limit = shifts[q] * ROUNDED_UP + extra
        _clear(first, second, cross, means)
        point = rows[q]
        chosen[0] = q
        for t in range(tiles.coordinates.shape[0]):
            gap = box_gap2(point, point, tiles.low[t], tiles.high[t])
            if rule.code <= LAST_ENDLESS:
                gap = tail_exponent(rule.code, gap)
            if gap >= limit:
                continue
            squares_to_tile(rows, chosen, 0, 1, tiles.coordinates, t, line)
            kernel_values(rule.code, buffer, shifts[q], rule.reach2, rule.scale)
            slot = itself[q] - t * TILE
            if 0 <= slot < TILE:
                buffer[slot] = 0.0
            _add_moments(
                point,
                tiles.coordinates[t],
                tiles.values[t],
                buffer,
                product,
                first,
                second,
                cross,
                means,
            )
        weight = means[0]
        for a in range(d):
            first[a] /= weight
        for a in range(d):
            for b in range(a + 1):
                second[a, b] = (second[a, b] / weight - first[a] * first[b]) * rule.scale
            second[a, a] += RIDGE
            for c in range(m):
                cross[a, c] = (cross[a, c] - first[a] * means[c + 1]) / weight * rule.scale
        _solve_in_place(second, cross)
        for c in range(m):
            out[q, c] = means[c + 1] / weight
            for a in range(d):
                out[q, c] -= cross[a, c] * first[a]


@parallel_kernel
def local_linear(first, last, chunk, rule, rows, itself, tiles, sums, shifts, out):
    """Write the values of the planes at query rows first..last to ``out`` (n, m - 1).

    ``sums`` and ``shifts`` are those of `sums.kernel_sums`, ``itself`` as in `sums.Queries`. Where
    no point is in reach ``out`` stays as it was. A chunk has ``chunk`` rows.
    """
    for c in prange((last - first + chunk - 1) // chunk):
        start = first + np.intp(c) * chunk
        _fit_rows(start, min(start + chunk, last), rule, rows, itself, tiles, sums, shifts, out)
