"""The multi-class machine of Crammer and Singer by sequential dual steps.

minimise ½ Σ_m \\|w_m\\|² + Σ_i C_i max_m (1[m ≠ y_i] + w_m · x_i − w_{y_i} · x_i)

Dual: w_m = Σ_i α_im x_i with Σ_m α_im = 0, α_im ≤ C_i for m = y_i and ≤ 0 for the others; the
gradient is g_im = w_m · x_i + 1[m ≠ y_i]. A step solves the problem of one row exactly (Keerthi,
Sundararajan, Chang, Hsieh and Lin, "A sequential dual method for large scale multi-class linear
SVMs", KDD 2008). A row that violates optimality by less than half the present threshold is shrunk;
the threshold falls to the tolerance, and all rows are looked at again.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.linear.dual_descent import ACTIVE, DONE, EPOCHS, shrink
from fastml.kernels.linear.rows import dense_add, dense_dot, sparse_add, sparse_dot
from fastml.kernels.numeric.rng import shuffle


@kernel
def best_of_row(square, label, cost, alpha, gradients, levels, out):
    """Write to ``out`` a row's best α: min(cap_m, (β − b_m) / square), b = g − square α, Σ = 0.

    With levels b_m + square cap_m in falling order, β is (Σ of the first r − square cost) / r for
    the first r at which the next level lies below. ``levels`` is scratch.
    """
    n_classes = alpha.shape[0]
    for m in range(n_classes):
        level = gradients[m] - square * alpha[m]
        if m == label:
            level += square * cost
        spot = m
        while spot > 0 and levels[spot - 1] < level:
            levels[spot] = levels[spot - 1]
            spot -= 1
        levels[spot] = level
    beta = levels[0] - square * cost
    r = 1
    while r < n_classes and beta < r * levels[r]:
        beta += levels[r]
        r += 1
    beta /= r
    for m in range(n_classes):
        value = (beta - (gradients[m] - square * alpha[m])) / square
        cap = cost if m == label else 0.0
        out[m] = cap if value > cap else value


@kernel
def crammer_singer_epochs(n_epochs, max_epochs, tol, rows, labels, costs, squares, alpha, state):
    """Up to ``n_epochs`` passes over the active rows; changes ``alpha`` and ``state``.

    The state has one line of weights a class; its bounds are (threshold of shrinking, whether the
    epoch begins with all rows).
    """
    X, data, indices, indptr, bias = rows
    w, order, bounds, counts, stream = state
    n_rows, n_classes = alpha.shape
    dense = indptr.shape[0] == 0
    gradients, levels, new = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for _ in range(n_epochs):
        if counts[DONE] or counts[EPOCHS] >= max_epochs:
            return
        active = counts[ACTIVE]
        shuffle(stream, order[:active])
        worst = 0.0
        s = 0
        while s < active:
            i = order[s]
            if squares[i] == 0.0:  # a row of zeros has no influence on the weights
                active = shrink(order, s, active)
                continue
            p, q = (0, 0) if dense else (indptr[i], indptr[i + 1])
            highest, lowest = -np.inf, np.inf
            for m in range(n_classes):
                if dense:
                    g = dense_dot(X[i], bias, w[m])
                else:
                    g = sparse_dot(data[p:q], indices[p:q], bias, w[m])
                if m != labels[i]:
                    g += 1.0
                gradients[m] = g
                highest = max(highest, g)
                cap = costs[i] if m == labels[i] else 0.0
                if alpha[i, m] < cap:
                    lowest = min(lowest, g)
            violation = highest - lowest
            if violation < 0.5 * bounds[0]:
                active = shrink(order, s, active)
            else:
                s += 1
            worst = max(worst, violation)
            if violation <= 1e-12:
                continue
            best_of_row(squares[i], labels[i], costs[i], alpha[i], gradients, levels, new)
            for m in range(n_classes):
                change = new[m] - alpha[i, m]
                if abs(change) > 1e-12:
                    alpha[i, m] = new[m]
                    if dense:
                        dense_add(X[i], bias, change, w[m])
                    else:
                        sparse_add(data[p:q], indices[p:q], bias, change, w[m])
        counts[EPOCHS] += 1
        counts[ACTIVE] = active
        if worst < bounds[0] or active == 0:
            if worst < tol and bounds[1] != 0.0:
                counts[DONE] = 1
            counts[ACTIVE] = n_rows
            bounds[0] = max(0.5 * bounds[0], tol)
            bounds[1] = 1.0
        else:
            bounds[1] = 0.0
