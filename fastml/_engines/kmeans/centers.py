"""What happens between two passes over the rows, on arrays as small as the centres.

NumPy serves here: nothing to compile on a first fit, and sums over chunks in a fixed order. The
first axis of all arrays (the second, after the chunks, of statistics) is that of the runs which
share the passes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def merge_statistics(sums, masses, changed, total_sums, total_masses) -> tuple[NDArray, NDArray]:
    """Add up the chunks of `kernels.cluster.lloyd`: per run (empty clusters, changed labels)."""
    np.add.reduce(sums, axis=0, out=total_sums)
    np.add.reduce(masses, axis=0, out=total_masses)
    return np.add.reduce(total_masses == 0.0, axis=1), np.add.reduce(changed, axis=0)


def finish_centers(sums, masses, old_centers, centers, moves) -> NDArray:
    """Centres from merged statistics; return the sums of their squared moves.

    A cluster that is still empty gets the place of the heaviest one. ``moves`` becomes the distance
    of each new centre from the old one.
    """
    if not (masses > 0.0).all():
        own = np.arange(masses.shape[1])
        source = np.where(masses > 0.0, own, masses.argmax(axis=1)[:, None])
        run = np.arange(masses.shape[0])[:, None]
        sums, masses = sums[run, source], masses[run, source]
    centers[:] = sums / masses[:, :, None]
    difference = np.subtract(centers, old_centers, dtype=np.float64)
    squared_moves = np.einsum("rjd,rjd->rj", difference, difference)
    np.sqrt(squared_moves, out=moves)
    return np.add.reduce(squared_moves, axis=1)


def lay_out_centers(centers: NDArray, coefficients: NDArray, norms: NDArray) -> None:
    """Write −2 c as (run, group of four, dimension, centre) and \\|c\\|²; padding never wins."""
    n_runs, n_centers, n_features = centers.shape
    _, n_groups, _, group = coefficients.shape
    padded = np.zeros((n_runs, n_groups * group, n_features))
    padded[:, :n_centers] = centers
    norms[:] = np.einsum("rjd,rjd->rj", padded, padded)
    norms[:, n_centers:] = np.finfo(norms.dtype).max
    padded *= -2.0
    coefficients[:] = padded.reshape(n_runs, n_groups, group, n_features).swapaxes(2, 3)
