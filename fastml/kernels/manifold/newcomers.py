"""New rows in an embedding that stays as it is: each finds its place alone.

A row with affinities p_j to rows learned minimises Σ_j p_j log(p_j / q_j), q_j = w_j / Σ_k w_k over
all rows learned, by gradient descent with momentum and gains.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.manifold.repulsion import repel_row
from fastml.kernels.manifold.spline_grid import SplineGrid, gather_point

STEP = 0.1
LONGEST_STEP = 0.25
MOMENTUM = 0.8
SMALLEST_GAIN = 0.01


class Learned(NamedTuple):
    """The embedding, ν, and φ on a grid (without nodes: sums over all rows are taken), within the
    box from ``low`` to ``high``."""

    Y: np.ndarray
    nu: float
    grid: SplineGrid
    potential: np.ndarray
    low: np.ndarray
    high: np.ndarray


@kernel
def _repulsion(point, learned, out):
    """Write Σ_j w u (point - y_j) to ``out``; return Σ_j w."""
    if learned.potential.shape[0] == 0:
        return repel_row(point, learned.Y, learned.nu, out)
    y = point[1] if point.shape[0] > 1 else 0.0
    total = gather_point(point[0], y, learned.grid, learned.potential, out)
    for f in range(point.shape[0]):
        out[f] *= -learned.nu / (learned.nu + 1.0)
    return total


@kernel
def _place_row(near, affinities, learned, n_iterations, point):
    """Move ``point`` from the mean of its neighbours to its place."""
    d = point.shape[0]
    slope, push = np.empty(d), np.empty(d)
    step, gain = np.zeros(d), np.ones(d)
    for f in range(d):
        point[f] = 0.0
        for k in range(near.shape[0]):
            point[f] += affinities[k] * learned.Y[near[k], f]
    factor = 2.0 * (learned.nu + 1.0) / learned.nu
    for _ in range(n_iterations):
        total = _repulsion(point, learned, push)
        for f in range(d):
            slope[f] = -push[f] / total if total > 0.0 else 0.0
        for k in range(near.shape[0]):
            square = 0.0
            for f in range(d):
                gap = point[f] - learned.Y[near[k], f]
                square += gap * gap
            pull = affinities[k] / (1.0 + square / learned.nu)
            for f in range(d):
                slope[f] += pull * (point[f] - learned.Y[near[k], f])
        length = 0.0
        for f in range(d):
            g = factor * slope[f]
            gain[f] = gain[f] + 0.2 if step[f] * g < 0.0 else gain[f] * 0.8
            if gain[f] < SMALLEST_GAIN:
                gain[f] = SMALLEST_GAIN
            step[f] = MOMENTUM * step[f] - STEP * gain[f] * g
            length += step[f] * step[f]
        length = np.sqrt(length)
        for f in range(d):
            if length > LONGEST_STEP:
                step[f] *= LONGEST_STEP / length
            moved = point[f] + step[f]
            moved = learned.low[f] if moved < learned.low[f] else moved
            point[f] = learned.high[f] if moved > learned.high[f] else moved


@kernel
def _place_chunk(start, stop, near, affinities, learned, n_iterations, out):
    """`place_rows` for rows start..stop, into ``out``."""
    for i in range(start, stop):
        _place_row(near[i], affinities[i], learned, n_iterations, out[i])


@parallel_kernel
def place_rows(near, affinities, learned, n_iterations, rows_per_chunk, out):
    """Write the place of every new row to ``out``; ``near`` are numbers of rows learned."""
    n = near.shape[0]
    n_chunks = -(-n // rows_per_chunk)
    for c in prange(n_chunks):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        _place_chunk(start, stop, near, affinities, learned, n_iterations, out)
