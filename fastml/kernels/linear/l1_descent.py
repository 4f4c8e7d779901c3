"""Coordinate descent for \\|w\\|₁ + Σ C_i max(0, 1 − y_i w · x_i)².

One weight at a time: a Newton step on the loss with the absolute value kept as it is, halved until
the objective falls enough; weights that stay 0 are shrunk (Yuan, Chang, Hsieh and Lin, "A
comparison of optimization methods and software for large-scale L1-regularized linear
classification", JMLR 2010). ``columns`` are `LinearRows` of the transposed matrix, one line a
weight, the constant's last. ``slack[i]`` = 1 − y_i w · x_i.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linear.dual_descent import (
    ACTIVE,
    DONE,
    EPOCHS,
    NEGLIGIBLE,
    note_violations,
    shrink,
    state_of,
)
from fastml.kernels.numeric.rng import shuffle

SUFFICIENT = 0.01
MOST_HALVINGS = 20
SMALLEST_CURVATURE = 1e-12


@kernel
def slope_and_curvature(columns, j, signs, costs, slack):
    """d/dw_j of the loss, its second derivative, and the largest the latter can get."""
    X, data, indices, indptr, _ = columns
    slope, curvature, bound = 0.0, 0.0, 0.0
    if indptr.shape[0] == 0:
        for i in range(slack.shape[0]):
            x = X[j, i]
            part = costs[i] * x
            bound += part * x
            if slack[i] > 0.0:
                slope -= part * signs[i] * slack[i]
                curvature += part * x
    else:
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            x = data[p]
            part = costs[i] * x
            bound += part * x
            if slack[i] > 0.0:
                slope -= part * signs[i] * slack[i]
                curvature += part * x
    return 2.0 * slope, 2.0 * curvature, 2.0 * bound


@kernel
def loss_change(columns, j, signs, costs, slack, step):
    """Loss after w_j += step less loss before."""
    X, data, indices, indptr, _ = columns
    change = 0.0
    if indptr.shape[0] == 0:
        for i in range(slack.shape[0]):
            old = slack[i]
            new = old - signs[i] * X[j, i] * step
            change += costs[i] * (max(new, 0.0) ** 2 - max(old, 0.0) ** 2)
    else:
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            old = slack[i]
            new = old - signs[i] * data[p] * step
            change += costs[i] * (max(new, 0.0) ** 2 - max(old, 0.0) ** 2)
    return change


@kernel
def move(columns, j, signs, slack, step):
    """Change ``slack`` to what it is after w_j += step."""
    X, data, indices, indptr, _ = columns
    if indptr.shape[0] == 0:
        for i in range(slack.shape[0]):
            slack[i] -= signs[i] * X[j, i] * step
    else:
        for p in range(indptr[j], indptr[j + 1]):
            slack[indices[p]] -= signs[indices[p]] * data[p] * step


@kernel
def _l1_epochs(n_epochs, max_epochs, tol, columns, signs, costs, slack, state):
    """Up to ``n_epochs`` passes over the active weights of one problem.

    Changes ``slack`` and the arrays of ``state``, whose bounds are those of `note_violations`.
    """
    w, order, bounds, counts, stream = state
    n_weights = order.shape[0]
    n_rows = slack.shape[0]
    for _ in range(n_epochs):
        if counts[DONE] or counts[EPOCHS] >= max_epochs:
            return
        active = counts[ACTIVE]
        shuffle(stream, order[:active])
        margin = bounds[0] / n_rows
        largest, total = 0.0, 0.0
        s = 0
        while s < active:
            j = order[s]
            slope, curvature, bound = slope_and_curvature(columns, j, signs, costs, slack)
            curvature = max(curvature, SMALLEST_CURVATURE)
            right, left = slope + 1.0, slope - 1.0
            violation = 0.0
            if w[j] == 0.0:
                if right < 0.0:
                    violation = -right
                elif left > 0.0:
                    violation = left
                elif right > margin and left < -margin:
                    active = shrink(order, s, active)
                    continue
            elif w[j] > 0.0:
                violation = abs(right)
            else:
                violation = abs(left)
            largest = max(largest, violation)
            total += violation

            if right < curvature * w[j]:
                step = -right / curvature
            elif left > curvature * w[j]:
                step = -left / curvature
            else:
                step = -w[j]
            s += 1
            if abs(step) < NEGLIGIBLE:
                continue
            expected = abs(w[j] + step) - abs(w[j]) + slope * step
            for _halving in range(MOST_HALVINGS):
                others = abs(w[j] + step) - abs(w[j]) - SUFFICIENT * expected
                # Cheap sufficient test first: the loss lies below slope d + bound d² / 2.
                falls = slope * step + 0.5 * bound * step * step + others <= 0.0
                if not falls:
                    change = loss_change(columns, j, signs, costs, slack, step)
                    falls = change + others <= 0.0
                if falls:
                    move(columns, j, signs, slack, step)
                    w[j] += step
                    break
                step *= 0.5
                expected *= 0.5
        note_violations(active, n_weights, largest, total, tol, bounds, counts)


@kernel
def _descend_l1(k, n_epochs, max_epochs, tol, columns, signs, costs, slack, state):
    """The passes of problem ``k``; changes its lines of ``slack`` and ``state``."""
    own = state_of(state, k)
    _l1_epochs(n_epochs, max_epochs, tol[k], columns, signs[k], costs[k], slack[k], own)


@parallel_kernel
def descend_l1(n_epochs, max_epochs, tol, columns, signs, costs, slack, state):
    """Up to ``n_epochs`` passes over the weights for each problem, each on one thread.

    ``tol`` has one value a problem. Changes ``slack`` (problems, rows) and ``state``.
    """
    for k in prange(slack.shape[0]):
        _descend_l1(np.intp(k), n_epochs, max_epochs, tol, columns, signs, costs, slack, state)
