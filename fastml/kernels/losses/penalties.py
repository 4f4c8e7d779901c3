"""Proximal maps of the penalties that coordinate descent, and everybody else, uses."""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel


class Net(NamedTuple):
    """Penalty l1 \\|w\\|₁ + l2/2 \\|w\\|², with w ≥ 0 if ``positive``."""

    l1: float
    l2: float
    positive: bool


@kernel
def shrunk(target, curvature, net):
    """The minimiser of ½ curvature w² − target w + penalty."""
    room = curvature + net.l2
    if room <= 0.0:
        return 0.0
    if target > net.l1:
        return (target - net.l1) / room
    if target < -net.l1 and not net.positive:
        return (target + net.l1) / room
    return 0.0


@kernel
def group_share(length, curvature, l1, l2):
    """Factor of a target of that length in the minimiser of
    ½ curvature \\|w\\|² − target · w + l1 \\|w\\| + l2/2 \\|w\\|²."""
    room = curvature + l2
    if length > l1 and room > 0.0:
        return (1.0 - l1 / length) / room
    return 0.0


@kernel
def net_prox(z, net, out):
    """Write `shrunk` of every value of ``z``, of curvature 1, to ``out``."""
    for i in range(z.shape[0]):
        out[i] = shrunk(z[i], 1.0, net)


@kernel
def group_prox(z, l1, l2, out):
    """Write the rows of ``z``, shrunk by `group_share` of curvature 1, to ``out``."""
    for j in range(z.shape[0]):
        length = 0.0
        for t in range(z.shape[1]):
            length += z[j, t] * z[j, t]
        share = group_share(np.sqrt(length), 1.0, l1, l2)
        for t in range(z.shape[1]):
            out[j, t] = share * z[j, t]
