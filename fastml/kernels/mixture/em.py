"""Gaussian mixtures: E step and sufficient statistics of rows in one pass.

Rows are worked off by tiles of TILE_LANES rows, transposed: rows are the SIMD lanes. Per tile

    log p_k = offset_k - |(x - m_k) U_k|² / 2,   P_k = U_k U_k' the precision, U_k upper triangular,
    r_k = w exp(log p_k) / sum_l exp(log p_l),

and, while the tile is in the cache, the statistics about the current means m_k

    mass_k = sum r_k,   first_k = sum r_k (x - m_k),   second_k = sum r_k (x - m_k) (x - m_k)'.

Centred, they lose no digits when the new covariances are taken from them. Responsibilities are not
kept beyond their tile. The caller adds up the statistics of chunks and makes parameters of them.

``form`` is FULL (a factor per component), TIED (one factor; the scatter of all rows is known before
the first step, so no second moments are taken) or DIAGONAL (spherical too).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.mixture.tiles import (
    TIED,
    TILE_LANES,
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
from fastml.kernels.numeric.exp import log64

# Flags: what a visit of rows does besides normalising.
STATISTICS = 1
STORE = 2  # fill log_density, and responsibilities if that array has rows
STORE_LABELS = 4  # fill labels
GIVEN = 8  # responsibilities are input
HARD = 16  # a row counts for its most probable component only


class Components(NamedTuple):
    """The mixture that rows are compared with. Means are relative to the centre of the rows."""

    means: np.ndarray
    white_means: np.ndarray  # m_k U where all share one U, padded to an even length; else empty
    factors: np.ndarray  # U_k transposed and padded, or 1 / standard deviations as one line each
    offsets: np.ndarray  # log weight_k + log det U_k - d log(2 π) / 2


class ChunkMoments(NamedTuple):
    """What each chunk of rows adds to the statistics; zero before it is visited."""

    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray
    log_likelihood: np.ndarray


class RowResults(NamedTuple):
    """What may be written of each row; `visit_chunks` reads responsibilities that are GIVEN."""

    log_density: np.ndarray
    labels: np.ndarray
    responsibilities: np.ndarray


# ---------------------------------------------------------------------------- a chunk of rows


@kernel
def _load_lanes(values, start, n, row):
    """Write n values from ``start`` on to ``row``, and zeros to the lanes beyond."""
    for lane in range(n):
        row[lane] = values[start + lane]
    for lane in range(n, TILE_LANES):
        row[lane] = 0.0


@kernel
def _store(log_p, top, total, start, n, log_density, responsibilities):
    """Write what `normalise` found of n rows to ``log_density`` and, if it has rows,
    ``responsibilities``, from row ``start`` on."""
    for lane in range(n):
        log_density[start + lane] = top[lane] + log64(total[lane])
    if responsibilities.shape[0] > 0:
        for lane in range(n):
            for k in range(log_p.shape[0]):
                responsibilities[start + lane, k] = log_p[k, lane] / total[lane]


@kernel
def _visit_chunk(
    chunk, rows_per_chunk, what, form, X, center, weights, components, moments, results
):
    """`visit_chunks` for one chunk."""
    start = chunk * rows_per_chunk
    stop = min(start + rows_per_chunk, X.shape[0])
    means, white_means, factors, offsets = components
    mass, first, second = moments.mass[chunk], moments.first[chunk], moments.second[chunk]
    log_density, labels, responsibilities = results
    n_components, n_features = means.shape
    depth = (n_features + 3) // 4 * 4
    panel = np.empty((depth, TILE_LANES))
    gaps = np.zeros((depth, TILE_LANES))
    white = np.zeros((4, TILE_LANES))
    log_p = np.empty((n_components, TILE_LANES))
    top = np.empty(TILE_LANES)
    total = np.empty(TILE_LANES)
    weight = np.empty(TILE_LANES)
    log_likelihood = 0.0
    for base in range(start, stop, TILE_LANES):
        n = min(TILE_LANES, stop - base)
        load_tile(X, center, base, n, panel)
        _load_lanes(weights, base, n, weight)
        if what & GIVEN:
            fill(total, 1.0)
            for k in range(n_components):
                for lane in range(n):
                    log_p[k, lane] = responsibilities[base + lane, k]
                for lane in range(n, TILE_LANES):
                    log_p[k, lane] = 0.0
        else:
            if form == TIED:
                whitened_densities(
                    panel, n_features, white_means, factors[0], offsets, white, log_p
                )
            else:
                log_densities(form, panel, n_features, means, factors, offsets, gaps, white, log_p)
            if what & STORE_LABELS:
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
            for lane in range(TILE_LANES):
                total[lane] = weight[lane] / total[lane]
            for k in range(n_components):
                scale_lanes(log_p[k], total)
                share = lane_sum(log_p[k])
                if share == 0.0:
                    continue
                mass[k] += share
                subtract(panel, means[k], n_features, gaps)
                own_second = second[0 if form == TIED else k]
                add_statistics(form, log_p[k], gaps, n_features, white, first[k], own_second)
    moments.log_likelihood[chunk] = log_likelihood


@parallel_kernel
def visit_chunks(
    begin, end, rows_per_chunk, what, form, X, center, weights, components, moments, results
):
    """Visit chunks begin..end of the rows ``X - center`` under the mixture ``components``.

    Written are the log likelihood of each chunk and, as the flags of ``what`` ask, ``moments``
    (STATISTICS) and ``results`` (STORE, STORE_LABELS).
    """
    for c in prange(end - begin):
        _visit_chunk(
            begin + np.intp(c),
            rows_per_chunk,
            what,
            form,
            X,
            center,
            weights,
            components,
            moments,
            results,
        )
