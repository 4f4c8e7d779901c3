"""Gaussian mixtures: E step and sufficient statistics of rows in one pass.

A chunk of rows is worked off by tiles of LANES rows, transposed: rows are the SIMD lanes. Per tile

    log p_k = offset_k - |(x - m_k) U_k|² / 2,   P_k = U_k U_k' the precision, U_k upper triangular,
    r_k = w exp(log p_k) / sum_l exp(log p_l),

and, while the tile is in the cache, the statistics about the current means m_k

    mass_k = sum r_k,   first_k = sum r_k (x - m_k),   second_k = sum r_k (x - m_k) (x - m_k)'.

Centred, they lose no digits when the new covariances are taken from them, and no responsibilities
outlive their tile. Statistics of chunks are added up by the caller, who takes the parameters.

``form`` is FULL (a factor per component), TIED (one factor; the scatter of all rows is known before
the first step, so no second moments are taken) or DIAGONAL (spherical too).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.exp import log64
from fastml.kernels.gaussian_tiles import (
    LANES,
    TIED,
    add_statistics,
    choose,
    fill,
    lane_sum,
    load_tile,
    log_densities,
    log_likelihood_of,
    most_probable,
    normalise,
    scale_lanes,
    subtract,
    whitened_densities,
)

# What a visit of rows does beside normalising; flags.
STATISTICS = 1
STORE = 2  # fill log_density, and responsibilities if that array has rows
LABELS = 4  # fill labels
GIVEN = 8  # responsibilities are input
HARD = 16  # a row counts for its most probable component only


# ---------------------------------------------------------------------------- a chunk of rows


@kernel
def _load_lanes(values, start, n, row):
    for lane in range(n):
        row[lane] = values[start + lane]
    for lane in range(n, LANES):
        row[lane] = 0.0


@kernel
def _store(log_p, top, total, start, n, log_density, responsibilities):
    for lane in range(n):
        log_density[start + lane] = top[lane] + log64(total[lane])
    if responsibilities.shape[0] > 0:
        for lane in range(n):
            for k in range(log_p.shape[0]):
                responsibilities[start + lane, k] = log_p[k, lane] / total[lane]


@kernel
def _visit_rows(
    start,
    stop,
    what,
    form,
    X,
    shift,
    weights,
    means,
    white_means,
    factors,
    offsets,
    mass,
    first,
    second,
    log_density,
    labels,
    responsibilities,
):
    """Visit rows start..stop; return the weighted sum of their log densities."""
    n_components, n_features = means.shape
    depth = (n_features + 3) // 4 * 4
    panel = np.empty((depth, LANES))
    gaps = np.zeros((depth, LANES))
    white = np.zeros((4, LANES))
    log_p = np.empty((n_components, LANES))
    top = np.empty(LANES)
    total = np.empty(LANES)
    weight = np.empty(LANES)
    log_likelihood = 0.0
    for base in range(start, stop, LANES):
        n = min(LANES, stop - base)
        load_tile(X, shift, base, n, panel)
        _load_lanes(weights, base, n, weight)
        if what & GIVEN:
            fill(total, 1.0)
            for k in range(n_components):
                for lane in range(n):
                    log_p[k, lane] = responsibilities[base + lane, k]
                for lane in range(n, LANES):
                    log_p[k, lane] = 0.0
        else:
            if form == TIED:
                whitened_densities(
                    panel, n_features, white_means, factors[0], offsets, white, log_p
                )
            else:
                log_densities(form, panel, n_features, means, factors, offsets, gaps, white, log_p)
            if what & LABELS:
                for lane in range(n):
                    labels[base + lane] = most_probable(log_p, lane)
            if what & HARD:
                choose(log_p, top, total)
            else:
                normalise(log_p, top, total)
            log_likelihood += log_likelihood_of(weight, top, total)
        if what & STORE:
            _store(log_p, top, total, base, n, log_density, responsibilities)
        if what & STATISTICS:
            for lane in range(LANES):
                total[lane] = weight[lane] / total[lane]
            for k in range(n_components):
                scale_lanes(log_p[k], total)
                share = lane_sum(log_p[k])
                if share == 0.0:
                    continue
                mass[k] += share
                subtract(panel, means[k], n_features, gaps)
                moments = second[0 if form == TIED else k]
                add_statistics(form, log_p[k], gaps, n_features, white, first[k], moments)
    return log_likelihood


@kernel
def _chunk(
    c,
    rows_per_chunk,
    what,
    form,
    X,
    shift,
    weights,
    means,
    white_means,
    factors,
    offsets,
    mass,
    first,
    second,
    log_likelihood,
    log_density,
    labels,
    responsibilities,
):
    start = c * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    log_likelihood[c] = _visit_rows(
        start,
        stop,
        what,
        form,
        X,
        shift,
        weights,
        means,
        white_means,
        factors,
        offsets,
        mass[c],
        first[c],
        second[c],
        log_density,
        labels,
        responsibilities,
    )


@parallel_kernel
def visit_chunks(
    begin,
    end,
    rows_per_chunk,
    what,
    form,
    X,
    shift,
    weights,
    means,
    white_means,
    factors,
    offsets,
    mass,
    first,
    second,
    log_likelihood,
    log_density,
    labels,
    responsibilities,
):
    """Chunks begin..end of the rows: statistics (must be zero before), log density, or both."""
    for c in prange(end - begin):
        _chunk(
            begin + np.intp(c),
            rows_per_chunk,
            what,
            form,
            X,
            shift,
            weights,
            means,
            white_means,
            factors,
            offsets,
            mass,
            first,
            second,
            log_likelihood,
            log_density,
            labels,
            responsibilities,
        )
