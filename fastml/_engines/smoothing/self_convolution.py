"""The integral of a squared kernel density estimate, for kernels other than the Gaussian.

With K normalised and g = K * K it is Σ_ij w_i w_j h^-d g(|x_i − x_j| / h) / (Σ w)². For kernels
that end, g is an integral over the lens in which two unit balls overlap; for the exponential
kernel it is a Matérn function.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

from fastml._engines.smoothing.grid import profile
from fastml._engines.smoothing.smoother import (
    PAIRS_PER_CALL,
    in_tile_order,
    log_kernel_integral,
    tiles_of,
)
from fastml._threads import effective_n_threads
from fastml.kernels.density.pair_integral import pair_sums
from fastml.kernels.density.tiles import TILE

NODES = 48
MOST_CHUNKS = 64


def _lens_integral(kernel: str, r: NDArray, d: int) -> NDArray:
    """∫ K(|x|) K(|x − r e|) dx with K(0) = 1.

    Twice the half of the lens that is nearer to r e, the cap z >= r / 2 of the ball around 0, in
    coordinates z = cos θ along e and s sin θ across, 0 < s < 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    widest = np.arccos(0.5 * r)[:, None]
    z, height = np.cos(widest * nodes), np.sin(widest * nodes)
    slices = widest * weights * height
    far2, near2 = z**2, (z - r[:, None]) ** 2
    if d > 1:
        across2 = (height[:, :, None] * nodes) ** 2
        far2, near2 = far2[:, :, None] + across2, near2[:, :, None] + across2
    products = profile(kernel, far2) * profile(kernel, near2)
    if d > 1:
        log_sphere = math.log(2.0) + 0.5 * (d - 1) * math.log(math.pi) - gammaln(0.5 * (d - 1))
        products = products @ (weights * nodes ** (d - 2)) * math.exp(log_sphere)
        products *= height ** (d - 1)
    return 2.0 * np.sum(slices * products, axis=1)


def _matern(r: NDArray, d: int) -> NDArray:
    """r^ν K_ν(r) / (2^d d! (2π)^(d/2)), ν = d/2 + 1: its Fourier transform is (1 + k²)^-(d + 1)."""
    order = 0.5 * d + 1.0
    log_values = np.full(r.shape, (order - 1.0) * math.log(2.0) + gammaln(order))
    r = np.maximum(r, 1e-3)  # flat below
    with np.errstate(over="ignore"):
        bessel = np.log(kve(order, r))
    log_values = np.where(np.isfinite(bessel), order * np.log(r) + bessel - r, log_values)
    log_scale = d * math.log(2.0) + gammaln(d + 1.0) + 0.5 * d * math.log(2.0 * math.pi)
    return np.exp(log_values - log_scale)


@functools.lru_cache(maxsize=16)
def self_convolution(kernel: str, d: int) -> tuple[float, NDArray]:
    """(reach, g at equal steps from 0 to the reach), for bandwidth 1."""
    if kernel == "exponential":
        reach = 60.0 + 2.0 * d
        table = _matern(np.linspace(0.0, reach, 2**14 + 1), d)
    else:
        reach = 2.0
        r = np.array_split(np.linspace(0.0, reach, 2**10 + 1), 16)
        table = np.concatenate([_lens_integral(kernel, part, d) for part in r])
        table *= math.exp(-2.0 * log_kernel_integral(kernel, d))
    table.flags.writeable = False
    return reach, table


class SquaredDensity:
    """Points in tiles; called with a bandwidth, it gives the integral of the squared estimate."""

    def __init__(self, X: NDArray, weights: NDArray, kernel: str, n_jobs: int | None):
        self.rows, order = in_tile_order(np.array(X, order="C"), TILE)
        self.tiles = tiles_of(self.rows, order, weights[:, None])
        self.total = float(weights.sum())
        self.kernel = kernel
        self.n_jobs = n_jobs

    def __call__(self, h: float) -> float:
        n, d = self.rows.shape
        reach, table = self_convolution(self.kernel, d)
        n_tiles = self.tiles.weight.shape[0]
        n_threads = effective_n_threads(self.n_jobs, n * n * (5.0 + d))
        per_call = max(1, int(PAIRS_PER_CALL // (TILE * n)))
        total = 0.0
        for first in range(0, n_tiles, per_call):
            last = min(first + per_call, n_tiles)
            partial = np.zeros(min(MOST_CHUNKS, last - first))
            pair_sums(
                self.rows, first, last, self.tiles, reach * h, table, partial, n_threads=n_threads
            )
            total += float(partial.sum())
        return total / (self.total**2 * h**d)
