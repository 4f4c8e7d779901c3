"""What happens between two passes over the rows, on arrays as small as the centres.

NumPy serves here: nothing to compile on a first fit, and sums over chunks in a fixed order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def merge_statistics(sums, masses, changed, total_sums, total_masses) -> tuple[int, int]:
    """Add up the chunks of `fastml.kernels.lloyd`: (number of empty clusters, changed labels)."""
    np.add.reduce(sums, axis=0, out=total_sums)
    np.add.reduce(masses, axis=0, out=total_masses)
    return total_masses.shape[0] - np.count_nonzero(total_masses), int(changed.sum())


def finish_centers(sums, masses, old_centers, centers, moves) -> float:
    """Centres from merged statistics; return the sum of their squared moves.

    A cluster that is still empty gets the place of the heaviest one. ``moves`` becomes the distance
    of each new centre from the old one.
    """
    if not (masses > 0.0).all():
        source = np.where(masses > 0.0, np.arange(masses.shape[0]), masses.argmax())
        sums, masses = sums[source], masses[source]
    centers[:] = sums / masses[:, None]
    difference = np.subtract(centers, old_centers, dtype=np.float64)
    squared_moves = np.einsum("jd,jd->j", difference, difference)
    np.sqrt(squared_moves, out=moves)
    return float(squared_moves.sum())


def lay_out_centers(centers: NDArray, coefficients: NDArray, norms: NDArray) -> None:
    """Write −2 c as (group of four, dimension, centre) and \\|c\\|²; padding never wins."""
    n_centers, n_features = centers.shape
    n_groups, n_rows, group = coefficients.shape
    padded = np.zeros((n_groups * group, n_rows))
    padded[:n_centers, :n_features] = centers
    norms[:] = np.einsum("jd,jd->j", padded, padded)
    norms[n_centers:] = np.finfo(norms.dtype).max
    padded *= -2.0
    coefficients[:] = padded.reshape(n_groups, group, n_rows).transpose(0, 2, 1)
