"""Gaussian densities of a tile of rows, and what the tile adds to a mixture's statistics.

A tile is TILE_LANES rows, transposed: rows are the SIMD lanes, features are padded with zeros to a
multiple of four. Used by `kernels.mixture.em`, where the formulas are.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import exp64, log64

FULL = 0  # a factor per component
TIED = 1  # one factor for all
DIAGONAL = 2  # variances only

TILE_LANES = 128


# ---------------------------------------------------------------------------- E step of a tile


@kernel
def load_tile(X, shift, start, n, panel):
    """Write X[start + lane, f] - shift[f] to panel[f, lane], zero in the rows and lanes beyond."""
    for f in range(panel.shape[0]):
        for lane in range(TILE_LANES):
            panel[f, lane] = 0.0
    for f in range(X.shape[1]):
        for lane in range(n):
            panel[f, lane] = np.float64(X[start + lane, f]) - shift[f]


@kernel
def subtract(panel, mean, n_features, gaps):
    """Write the first ``n_features`` lines of panel - mean to ``gaps``."""
    for f in range(n_features):
        m = mean[f]
        for lane in range(TILE_LANES):
            gaps[f, lane] = panel[f, lane] - m


@kernel(fast_math=True)
def _whiten_two(gaps, factor, j, stop, y, z):
    """Write columns j and j + 1 of gaps' U to y and z.

    Four rows of U per pass, up to row ``stop``: below the diagonal U is zero.
    """
    for i in range(0, stop, 4):
        a0, a1, a2, a3 = factor[j, i], factor[j, i + 1], factor[j, i + 2], factor[j, i + 3]
        b0, b1 = factor[j + 1, i], factor[j + 1, i + 1]
        b2, b3 = factor[j + 1, i + 2], factor[j + 1, i + 3]
        if i == 0:
            for lane in range(TILE_LANES):
                g0, g1, g2, g3 = gaps[0, lane], gaps[1, lane], gaps[2, lane], gaps[3, lane]
                y[lane] = (a0 * g0 + a1 * g1) + (a2 * g2 + a3 * g3)
                z[lane] = (b0 * g0 + b1 * g1) + (b2 * g2 + b3 * g3)
        else:
            for lane in range(TILE_LANES):
                g0, g1 = gaps[i, lane], gaps[i + 1, lane]
                g2, g3 = gaps[i + 2, lane], gaps[i + 3, lane]
                y[lane] += (a0 * g0 + a1 * g1) + (a2 * g2 + a3 * g3)
                z[lane] += (b0 * g0 + b1 * g1) + (b2 * g2 + b3 * g3)


@kernel
def fill(row, value):
    """Write ``value`` to all lanes of ``row``."""
    for lane in range(TILE_LANES):
        row[lane] = value


@kernel(fast_math=True)
def _add_half_squares(y, z, out):
    """Subtract (y² + z²) / 2 from ``out``."""
    for lane in range(TILE_LANES):
        out[lane] -= 0.5 * (y[lane] * y[lane] + z[lane] * z[lane])


@kernel(fast_math=True)
def _add_scaled_squares(gaps, scale, out):
    """Subtract (scale gaps)² / 2 from ``out``."""
    for lane in range(TILE_LANES):
        y = scale * gaps[lane]
        out[lane] -= 0.5 * (y * y)


@kernel
def log_densities(form, panel, n_features, means, factors, offsets, gaps, white, log_p):
    """Write offset_k - |(x - m_k) U_k|² / 2 to log_p[k, lane].

    ``gaps`` and ``white`` are scratch.
    """
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
    """`log_densities` where all components share U: rows are whitened once, x U - m_k U.

    Writes ``log_p``; ``white`` is scratch.
    """
    for k in range(white_means.shape[0]):
        fill(log_p[k], offsets[k])
    for j in range(0, n_features, 2):
        _whiten_two(panel, factor, j, min(j + 2, panel.shape[0]), white[0], white[1])
        for k in range(white_means.shape[0]):
            subtract(white, white_means[k, j : j + 2], 2, white[2:])
            _add_half_squares(white[2], white[3], log_p[k])


@kernel(fast_math=True)
def normalise(log_p, top, total):
    """Replace log_p by exp(log_p - top); write each lane's largest to ``top``, sum to ``total``."""
    fill(top, -1e300)
    for k in range(log_p.shape[0]):
        for lane in range(TILE_LANES):
            if log_p[k, lane] > top[lane]:
                top[lane] = log_p[k, lane]
    fill(total, 0.0)
    for k in range(log_p.shape[0]):
        for lane in range(TILE_LANES):
            e = exp64(log_p[k, lane] - top[lane])
            log_p[k, lane] = e
            total[lane] += e


@kernel(fast_math=True)
def scale_lanes(row, scale):
    """Multiply each lane of ``row`` by that of ``scale``."""
    for lane in range(TILE_LANES):
        row[lane] *= scale[lane]


@kernel
def most_probable(log_p, lane):
    """Return the component with the largest density in a lane, the lowest of equals."""
    best = 0
    for k in range(1, log_p.shape[0]):
        if log_p[k, lane] > log_p[best, lane]:
            best = k
    return best


@kernel
def choose(log_p, top, total):
    """Replace log_p by one for the most probable component of a lane and zero for the others.

    Its log density goes to ``top``, one to ``total``.
    """
    for lane in range(TILE_LANES):
        best = most_probable(log_p, lane)
        top[lane] = log_p[best, lane]
        total[lane] = 1.0
        for k in range(log_p.shape[0]):
            log_p[k, lane] = 1.0 if k == best else 0.0


@kernel(fast_math=True)
def log_likelihood_of(weight, top, total):
    """Return the weighted sum of top + log(total); lanes of weight zero do not count."""
    result = 0.0
    for lane in range(TILE_LANES):
        value = weight[lane] * (top[lane] + log64(total[lane]))
        result += value if weight[lane] > 0.0 else 0.0
    return result


# ---------------------------------------------------------------------------- statistics of a tile


@kernel(fast_math=True)
def lane_sum(row):
    """Return the sum of the lanes of ``row``."""
    total = 0.0
    for lane in range(TILE_LANES):
        total += row[lane]
    return total


@kernel(fast_math=True)
def _product(row, other, out):
    """Write row times other, lane by lane, to ``out``; return the sum."""
    total = 0.0
    for lane in range(TILE_LANES):
        value = row[lane] * other[lane]
        out[lane] = value
        total += value
    return total


@kernel(fast_math=True)
def _dot(row, other):
    """Return the sum of row times other over the lanes."""
    total = 0.0
    for lane in range(TILE_LANES):
        total += row[lane] * other[lane]
    return total


@kernel(fast_math=True)
def _add_eight(x, y, gaps, j, out, i):
    """Add the lanes' sums of (x, y) times four rows of gaps to out[i : i + 2, j : j + 4]."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for lane in range(TILE_LANES):
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
    """Add a tile's share to ``first`` and ``second`` of one component; ``white`` is scratch.

    ``r`` are the responsibilities of the lanes. Of ``second``, FULL writes what is above the
    diagonal, DIAGONAL one line of squares, TIED nothing.
    """
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
