"""A kernel density on a regular grid, by linear binning and FFT."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from fastml._validation import kernel_view
from fastml.kernels.density.grid import bin_line, bin_plane

REACH = {"gaussian": 8.0, "exponential": 40.0}
"""Bandwidths from which the kernel is below 1e-13; 1 for those that end."""

STEEPNESS = {"linear": 1.0, "epanechnikov": 2.0, "cosine": 0.5 * math.pi, "exponential": 1.0}
"""Largest slope of K(u), K(0) = 1."""


class GridDensity(NamedTuple):
    """Density on the grid of ``axes``; it is nowhere off by more than ``error`` (absolute)."""

    axes: tuple[NDArray, ...]
    density: NDArray
    error: float


def profile(kernel: str, u2: NDArray) -> NDArray:
    """K(u), K(0) = 1, of squared distances in bandwidths."""
    if kernel == "gaussian":
        return np.exp(-0.5 * u2)
    u = np.sqrt(u2)
    if kernel == "exponential":
        return np.exp(-u)
    inside = u < 1.0
    if kernel == "tophat":
        return np.where(inside, 1.0, 0.0)
    if kernel == "epanechnikov":
        return np.where(inside, 1.0 - u2, 0.0)
    if kernel == "linear":
        return np.where(inside, 1.0 - u, 0.0)
    return np.where(inside, np.cos(0.5 * math.pi * u), 0.0)


def as_covariance(bandwidth, d: int) -> NDArray:
    if np.ndim(bandwidth) == 2:
        return bandwidth
    return np.diag(np.broadcast_to(np.square(bandwidth), (d,)).astype(np.float64))


def density_on_grid(X, weights, kernel, bandwidth, log_norm, n_points, limits) -> GridDensity:
    """The estimate at the nodes of a grid.

    A point is replaced by its neighbouring nodes: the kernel, as a function of the point, by its
    linear interpolation between nodes. So with steps s_k the error is at most
    K(0) sum_k s_k^2 max|d^2 K / dx_k^2| / 8 (Gaussian: the maximum is (H^-1)_kk), or
    K(0) sum_k s_k max|dK / dx_k| / 2 for the kernels with kinks.
    """
    d = X.shape[1]
    covariance = as_covariance(bandwidth, d)
    inverse = np.linalg.inv(covariance)
    reach = REACH.get(kernel, 1.0) * np.sqrt(np.diag(covariance))
    n_points = np.broadcast_to(n_points, (d,))
    if limits is None:
        margin = np.minimum(reach, 4.0 * np.sqrt(np.diag(covariance)))
        limits = np.column_stack([X.min(axis=0) - margin, X.max(axis=0) + margin])
    limits = np.asarray(limits, dtype=np.float64).reshape(d, 2)
    if not np.all(np.isfinite(limits)) or not np.all(limits[:, 0] < limits[:, 1]):
        raise ValueError(f"limits must be finite (low, high) pairs with low < high, got {limits}")
    steps = (limits[:, 1] - limits[:, 0]) / (n_points - 1)
    # Nodes outside the limits hold the points whose kernels reach inside.
    extra = np.ceil(reach / steps).astype(np.intp) + 1
    shape = n_points + 2 * extra
    positions = (X - limits[:, 0]) / steps + extra
    near = np.all((positions >= 0.0) & (positions <= shape - 1), axis=1)
    counts = np.zeros(shape)
    (bin_line if d == 1 else bin_plane)(
        kernel_view(positions[near]), kernel_view(weights[near]), counts
    )

    offsets = np.meshgrid(
        *(step * np.arange(-e, e + 1) for step, e in zip(steps, extra)), indexing="ij"
    )
    delta = np.stack(offsets, axis=-1)
    stencil = profile(kernel, np.einsum("...i,ij,...j->...", delta, inverse, delta))
    size = [fft.next_fast_len(int(s), real=True) for s in shape]
    product = fft.rfftn(counts, size) * fft.rfftn(stencil, size)
    summed = fft.irfftn(product, size)
    # A circular convolution: what wraps round stays within the outer nodes.
    cut = tuple(slice(2 * e, 2 * e + m) for e, m in zip(extra, n_points))
    scale = math.exp(log_norm) / weights.sum()
    density = np.maximum(summed[cut] * scale, 0.0)
    curvature = np.diag(inverse)
    if kernel == "gaussian":
        error = np.sum(steps**2 * curvature) / 8.0
    else:
        error = STEEPNESS[kernel] * np.sum(steps * np.sqrt(curvature)) / 2.0
    axes = tuple(np.linspace(low, high, m) for (low, high), m in zip(limits, n_points))
    return GridDensity(axes, density, float(error * math.exp(log_norm)) + 1e-12 * density.max())
