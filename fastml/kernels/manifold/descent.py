"""Gradient descent with momentum and a gain per coordinate, as t-SNE does it.

A gain grows by 0.2 where the gradient points against the last step and shrinks to 0.8 of itself
where it does not.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


class EmbeddingDescent(NamedTuple):
    """Factors of the two forces, step and momentum of an iteration."""

    attraction: float
    repulsion: float
    step: float
    momentum: float
    least_gain: float
    longest: float  # step along a coordinate


class Moving(NamedTuple):
    """Positions (also rounded to float32), last steps and gains: arrays of one shape."""

    Y: np.ndarray
    rounded: np.ndarray
    steps: np.ndarray
    gains: np.ndarray


@kernel
def _advance_chunk(start, stop, rule, attraction, repulsion, moving, lows, highs):
    """`advance` for rows start..stop of ``moving``; their extremes go to ``lows`` and ``highs``.

    Returns the squared norm of the gradient times gains.
    """
    norm = 0.0
    for f in range(moving.Y.shape[1]):
        lows[f], highs[f] = np.inf, -np.inf
        for i in range(start, stop):
            slope = rule.attraction * attraction[i, f] + rule.repulsion * repulsion[i, f]
            step, gain = moving.steps[i, f], moving.gains[i, f]
            gain = gain + 0.2 if step * slope < 0.0 else gain * 0.8
            if gain < rule.least_gain:
                gain = rule.least_gain
            slope *= gain
            norm += slope * slope
            step = rule.momentum * step - rule.step * slope
            if step > rule.longest:
                step = rule.longest
            elif step < -rule.longest:
                step = -rule.longest
            position = moving.Y[i, f] + step
            moving.steps[i, f], moving.gains[i, f] = step, gain
            moving.Y[i, f], moving.rounded[i, f] = position, position
            if position < lows[f]:
                lows[f] = position
            if position > highs[f]:
                highs[f] = position
    return norm


@parallel_kernel
def advance(rule, attraction, repulsion, moving, rows_per_chunk, lows, highs, norms):
    """One step of every row of ``moving``; smallest and largest coordinates and the squared norm
    of each chunk go to ``lows``, ``highs`` and ``norms``."""
    n = attraction.shape[0]
    for c in prange(norms.shape[0]):
        start, stop = c * rows_per_chunk, min(n, (c + 1) * rows_per_chunk)
        norms[c] = _advance_chunk(
            start, stop, rule, attraction, repulsion, moving, lows[c], highs[c]
        )
