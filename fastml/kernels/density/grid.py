"""Linear binning: a point's weight is shared by the grid nodes around it, so means are kept."""

import numpy as np

from fastml._jit import kernel


@kernel
def bin_line(positions, weights, counts):
    """Add each weight to the two nodes of ``counts`` around its position.

    ``positions`` (n, 1) are in grid steps, from 0 to len(counts) - 1.
    """
    last = counts.shape[0] - 2
    for i in range(positions.shape[0]):
        node = min(np.intp(positions[i, 0]), last)
        share = positions[i, 0] - node
        counts[node] += weights[i] * (1.0 - share)
        counts[node + 1] += weights[i] * share


@kernel
def bin_plane(positions, weights, counts):
    """`bin_line` in the plane: ``positions`` (n, 2), four nodes of ``counts`` each."""
    last0 = counts.shape[0] - 2
    last1 = counts.shape[1] - 2
    for i in range(positions.shape[0]):
        a = min(np.intp(positions[i, 0]), last0)
        b = min(np.intp(positions[i, 1]), last1)
        s = positions[i, 0] - a
        t = positions[i, 1] - b
        counts[a, b] += weights[i] * (1.0 - s) * (1.0 - t)
        counts[a, b + 1] += weights[i] * (1.0 - s) * t
        counts[a + 1, b] += weights[i] * s * (1.0 - t)
        counts[a + 1, b + 1] += weights[i] * s * t
