"""Coordinate descent for ½ \\|B − A W\\|² + l1 Σ_j \\|W_j\\| + l2/2 \\|W\\|².

As `gram_descent`, but a feature has one weight for each of several targets, and all of them, W_j,
are 0 together.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.linear.gram_descent import STUCK
from fastml.kernels.losses.penalties import group_share

STEADY_GROUPS = 0.001
"""As `gram_descent.STEADY`, which is looser: that was measured for one target only."""


@kernel
def group_sweep(gram, pull, W, order, l1, l2, goal):
    """One pass over the rows ``order``: changes ``W``, ``pull`` and the scratch ``goal``.

    Returns the largest squared step and the largest square of a row, in the columns' scales.
    """
    largest, size = 0.0, 0.0
    n_targets = W.shape[1]
    for s in range(order.shape[0]):
        j = order[s]
        own = gram[j, j]
        if own + l2 <= 0.0:
            continue
        length = 0.0
        for t in range(n_targets):
            goal[t] = pull[j, t] + own * W[j, t]
            length += goal[t] * goal[t]
        length = np.sqrt(length)
        share = group_share(length, own, l1, l2)
        moved = 0.0
        size = max(size, (share * length) ** 2 * own)
        for t in range(n_targets):
            goal[t] = share * goal[t] - W[j, t]
            moved += goal[t] * goal[t]
        if moved == 0.0:
            continue
        largest = max(largest, moved * own)
        for t in range(n_targets):
            W[j, t] += goal[t]
        row = gram[j]
        for i in range(W.shape[0]):
            if row[i] != 0.0:
                for t in range(n_targets):
                    pull[i, t] -= row[i] * goal[t]
    return largest, size


@kernel
def group_gap(cross, square, pull, W, order, l1, l2):
    """Duality gap where only the rows ``order`` may differ from 0 (see `objective_and_gap`)."""
    fitted, norm1, norm2, crossed = 0.0, 0.0, 0.0, 0.0
    steepest, excess = 0.0, 0.0
    for s in range(order.shape[0]):
        j = order[s]
        length, slope, whole = 0.0, 0.0, 0.0
        for t in range(W.shape[1]):
            fitted += W[j, t] * (cross[j, t] + pull[j, t])
            crossed += W[j, t] * cross[j, t]
            length += W[j, t] * W[j, t]
            slope += (pull[j, t] - l2 * W[j, t]) ** 2
            whole += pull[j, t] ** 2
        norm1 += np.sqrt(length)
        norm2 += length
        steepest = max(steepest, np.sqrt(slope))
        excess += max(np.sqrt(whole) - l1, 0.0) ** 2
    residual = max(square - fitted, 0.0)
    objective = 0.5 * residual + l1 * norm1 + 0.5 * l2 * norm2
    aligned = square - crossed
    gap = objective
    if steepest <= 0.0 or l1 > 0.0:
        whole = residual + l2 * norm2
        scale = 1.0 if whole <= 0.0 else aligned / whole
        if steepest * abs(scale) > l1:
            scale = l1 / steepest if scale > 0.0 else -l1 / steepest
        gap = objective - (scale * aligned - 0.5 * scale * scale * whole)
    if l2 > 0.0:
        gap = min(gap, objective - (aligned - 0.5 * residual - 0.5 * excess / l2))
    if l1 == 0.0 and l2 == 0.0:
        gap = steepest * np.sqrt(square)
    return max(gap, 0.0)


@kernel
def group_descend(gram, cross, square, pull, W, order, l1, l2, tol, most):
    """Solve over the rows ``order`` in at most ``most`` passes, to the end that `descend` has.

    Changes ``W`` and ``pull``; returns (gap, passes).
    """
    support = np.empty(order.shape[0], dtype=np.intp)
    goal = np.empty(W.shape[1])
    passes = 0
    enough, stuck, still = tol * square, STUCK * square, (STEADY_GROUPS * tol) ** 2
    gap = group_gap(cross, square, pull, W, order, l1, l2)
    small = gap <= enough
    while (gap > enough or not small) and passes < most:
        largest, size = group_sweep(gram, pull, W, order, l1, l2, goal)
        passes += 1
        small = largest <= still * size
        n_active = 0
        for s in range(order.shape[0]):
            for t in range(W.shape[1]):
                if W[order[s], t] != 0.0:
                    support[n_active] = order[s]
                    n_active += 1
                    break
        gap = group_gap(cross, square, pull, W, order, l1, l2)
        if (gap <= enough and small) or largest <= stuck:
            break
        for _ in range(min(9, most - passes)):
            largest, size = group_sweep(gram, pull, W, support[:n_active], l1, l2, goal)
            passes += 1
            if largest <= stuck:
                break
        gap = group_gap(cross, square, pull, W, order, l1, l2)
    return gap, passes
