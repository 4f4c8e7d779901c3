"""Gaussian densities of a tile of rows, and what the tile adds to a mixture's statistics.

A tile is LANES rows, transposed: rows are the SIMD lanes, features are padded with zeros to a
multiple of four. Used by `gaussian_mixture`, where the formulas are.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.exp import exp64, log64

FULL = 0  # a factor per component
TIED = 1  # one factor for all
DIAGONAL = 2  # variances only

LANES = 128


# ---------------------------------------------------------------------------- E step of a tile


@kernel
def load_tile(X, shift, start, n, panel):
    """panel[f, lane] = X[start + lane, f] - shift[f]; zero in the rows and lanes beyond."""
    for f in range(panel.shape[0]):
        for lane in range(LANES):
            panel[f, lane] = 0.0
    for f in range(X.shape[1]):
        for lane in range(n):
            panel[f, lane] = np.float64(X[start + lane, f]) - shift[f]


@kernel
def subtract(panel, mean, n_features, gaps):
    """gaps = panel - mean; the padding stays zero."""
    for f in range(n_features):
        m = mean[f]
        for lane in range(LANES):
            gaps[f, lane] = panel[f, lane] - m


@kernel(fast_math=True)
def _whiten_two(gaps, factor, j, stop, y, z):
    """y, z = columns j and j + 1 of gaps' U: four rows of U per pass, zeros below the diagonal."""
    for i in range(0, stop, 4):
        a0, a1, a2, a3 = factor[j, i], factor[j, i + 1], factor[j, i + 2], factor[j, i + 3]
        b0, b1 = factor[j + 1, i], factor[j + 1, i + 1]
        b2, b3 = factor[j + 1, i + 2], factor[j + 1, i + 3]
        if i == 0:
            for lane in range(LANES):
                g0, g1, g2, g3 = gaps[0, lane], gaps[1, lane], gaps[2, lane], gaps[3, lane]
                y[lane] = (a0 * g0 + a1 * g1) + (a2 * g2 + a3 * g3)
                z[lane] = (b0 * g0 + b1 * g1) + (b2 * g2 + b3 * g3)
        else:
            for lane in range(LANES):
                g0, g1 = gaps[i, lane], gaps[i + 1, lane]
                g2, g3 = gaps[i + 2, lane], gaps[i + 3, lane]
                y[lane] += (a0 * g0 + a1 * g1) + (a2 * g2 + a3 * g3)
                z[lane] += (b0 * g0 + b1 * g1) + (b2 * g2 + b3 * g3)


@kernel
def fill(row, value):
    for lane in range(LANES):
        row[lane] = value


@kernel(fast_math=True)
def _add_half_squares(y, z, out):
    """out -= (y² + z²) / 2."""
    for lane in range(LANES):
        out[lane] -= 0.5 * (y[lane] * y[lane] + z[lane] * z[lane])


@kernel(fast_math=True)
def _add_scaled_squares(gaps, scale, out):
    """out -= (scale gaps)² / 2."""
    for lane in range(LANES):
        y = scale * gaps[lane]
        out[lane] -= 0.5 * (y * y)


@kernel
def log_densities(form, panel, n_features, means, factors, offsets, gaps, white, log_p):
    """log_p[k, lane] = offset_k - |(x - m_k) U_k|² / 2."""
    for k in range(means.shape[0]):
        fill(log_p[k], offsets[k])
        subtract(panel, means[k], n_features, gaps)
        if form == DIAGONAL:
            for f in range(n_features):
                _add_scaled_squares(gaps[f], factors[k, 0, f], log_p[k])
        else:
            factor = factors[k if form == FULL else 0]
            for j in range(0, n_features, 2):
                _whiten_two(gaps, factor, j, min(j + 2, gaps.shape[0]), white[0], white[1])
                _add_half_squares(white[0], white[1], log_p[k])


@kernel
def whitened_densities(panel, n_features, white_means, factor, offsets, white, log_p):
    """The same where all components share U: rows are whitened once, x U - m_k U."""
    for k in range(white_means.shape[0]):
        fill(log_p[k], offsets[k])
    for j in range(0, n_features, 2):
        _whiten_two(panel, factor, j, min(j + 2, panel.shape[0]), white[0], white[1])
        for k in range(white_means.shape[0]):
            subtract(white, white_means[k, j : j + 2], 2, white[2:])
            _add_half_squares(white[2], white[3], log_p[k])


@kernel(fast_math=True)
def normalise(log_p, top, total):
    """log_p becomes exp(log_p - top), ``total`` their sum, ``top`` the largest of a lane."""
    fill(top, -1e300)
    for k in range(log_p.shape[0]):
        for lane in range(LANES):
            if log_p[k, lane] > top[lane]:
                top[lane] = log_p[k, lane]
    fill(total, 0.0)
    for k in range(log_p.shape[0]):
        for lane in range(LANES):
            e = exp64(log_p[k, lane] - top[lane])
            log_p[k, lane] = e
            total[lane] += e


@kernel(fast_math=True)
def scale_lanes(row, scale):
    for lane in range(LANES):
        row[lane] *= scale[lane]


@kernel
def most_probable(log_p, lane):
    """The component with the largest density, the lowest of equals."""
    best = 0
    for k in range(1, log_p.shape[0]):
        if log_p[k, lane] > log_p[best, lane]:
            best = k
    return best


@kernel
def choose(log_p, top, total):
    """One for the most probable component, zero for the others."""
    for lane in range(LANES):
        best = most_probable(log_p, lane)
        top[lane] = log_p[best, lane]
        total[lane] = 1.0
        for k in range(log_p.shape[0]):
            log_p[k, lane] = 1.0 if k == best else 0.0


@kernel(fast_math=True)
def log_likelihood_of(weight, top, total):
    """Weighted sum of top + log(total); lanes of weight zero do not count."""
    result = 0.0
    for lane in range(LANES):
        value = weight[lane] * (top[lane] + log64(total[lane]))
        result += value if weight[lane] > 0.0 else 0.0
    return result


# ---------------------------------------------------------------------------- statistics of a tile


@kernel(fast_math=True)
def lane_sum(row):
    total = 0.0
    for lane in range(LANES):
        total += row[lane]
    return total


@kernel(fast_math=True)
def _product(row, other, out):
    total = 0.0
    for lane in range(LANES):
        value = row[lane] * other[lane]
        out[lane] = value
        total += value
    return total


@kernel(fast_math=True)
def _dot(row, other):
    total = 0.0
    for lane in range(LANES):
        total += row[lane] * other[lane]
    return total


@kernel(fast_math=True)
def _add_eight(x, y, gaps, j, out, i):
    """out[i : i + 2, j : j + 4] += sums over the lanes of (x, y) times four rows of gaps."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(LANES):
        a = x[lane]
        b = y[lane]
        g0, g1, g2, g3 = gaps[j, lane], gaps[j + 1, lane], gaps[j + 2, lane], gaps[j + 3, lane]
        s0 += a * g0
        s1 += a * g1
        s2 += a * g2
        s3 += a * g3
        t0 += b * g0
        t1 += b * g1
        t2 += b * g2
        t3 += b * g3
    out[i, j] += s0
    out[i, j + 1] += s1
    out[i, j + 2] += s2
    out[i, j + 3] += s3
    out[i + 1, j] += t0
    out[i + 1, j + 1] += t1
    out[i + 1, j + 2] += t2
    out[i + 1, j + 3] += t3


@kernel
def add_statistics(form, r, gaps, n_features, white, first, second):
    """Add a tile's share to the statistics of one component; ``second`` above the diagonal only."""
    if form == FULL:
        for i in range(0, n_features, 2):
            for half in range(2):
                moment = _product(r, gaps[i + half], white[half])
                if i + half < n_features:
                    first[i + half] += moment
            for j in range(i // 4 * 4, gaps.shape[0], 4):
                _add_eight(white[0], white[1], gaps, j, second, i)
    else:
        for f in range(n_features):
            first[f] += _product(r, gaps[f], white[0])
            if form == DIAGONAL:
                second[0, f] += _dot(white[0], gaps[f])
