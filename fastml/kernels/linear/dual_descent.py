"""Dual coordinate descent with shrinking for linear support vector machines.

Classification (Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008): minimise over
0 ≤ α_i ≤ U_i   ½ \\|Σ α_i y_i x_i\\|² + ½ Σ D_i α_i² − Σ α_i.
Regression (Ho and Lin, JMLR 2012): minimise over |β_i| ≤ U_i
½ \\|Σ β_i x_i\\|² + ½ Σ D_i β_i² − Σ y_i β_i + ε Σ |β_i|.
The loss decides U and D: linear losses have U = C, D = 0; squared ones U = ∞, D = 1 / (2 C).
The weights w = Σ α_i y_i x_i are kept up to date, so that a coordinate costs one row.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linear.rows import dense_add, dense_dot, sparse_add, sparse_dot
from fastml.kernels.numeric.rng import shuffle

CLASSIFY, REGRESS = 0, 1
ACTIVE, EPOCHS, DONE = 0, 1, 2
NEGLIGIBLE = 1e-12


class DescentState(NamedTuple):
    """What coordinate descents change and keep between calls, one line a problem.

    ``w``: the weights. ``order``: the coordinates in order of visit, of which the first
    ``counts[ACTIVE]`` are not shrunk. ``bounds``: what a coordinate's gradient must exceed to be
    shrunk. ``counts``: at `ACTIVE`, `EPOCHS` (passes so far) and `DONE`. ``stream``: the state of
    the random numbers.
    """

    w: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    counts: np.ndarray
    stream: np.ndarray


class DescentProblems(NamedTuple):
    """Problems over the same rows: y, U and D above, one line a problem; ε; squares of the rows."""

    targets: np.ndarray
    upper: np.ndarray
    damping: np.ndarray
    epsilon: float
    squares: np.ndarray


@kernel
def state_of(state, k):
    """Line ``k`` of every array of the `DescentState`."""
    return DescentState(
        state.w[k], state.order[k], state.bounds[k], state.counts[k], state.stream[k]
    )


@kernel
def shrink(order, s, active):
    """Swap the coordinate at ``s`` of ``order`` behind the active ones; their new number."""
    active -= 1
    order[s], order[active] = order[active], order[s]
    return active


@kernel
def note_epoch(active, n, settled, counts):
    """Note in ``counts`` an epoch that left ``active`` of ``n`` coordinates.

    Once settled, all are active again, or it ends if all were.
    """
    counts[EPOCHS] += 1
    counts[ACTIVE] = active
    if settled:
        counts[ACTIVE] = n
        if active == n:
            counts[DONE] = 1


@kernel
def note_violations(active, n, largest, total, tol, bounds, counts):
    """`note_epoch`, settled when the violations' ``total`` is ``tol`` times the first epoch's.

    Writes ``bounds`` = (largest violation, sum of violations in the first epoch).
    """
    if counts[EPOCHS] == 0:
        bounds[1] = total
    settled = total <= tol * bounds[1]
    note_epoch(active, n, settled, counts)
    bounds[0] = np.inf if settled else largest


@kernel
def _classify_epochs(n_epochs, max_epochs, tol, rows, problem, alpha, state):
    """Up to ``n_epochs`` passes over the active rows of one two-class problem.

    Changes ``alpha`` and the arrays of ``state``, whose bounds are (largest, smallest gradient).
    """
    X, data, indices, indptr, bias = rows
    signs, upper, damping, _, squares = problem
    w, order, bounds, counts, stream = state
    n_rows = order.shape[0]
    dense = indptr.shape[0] == 0
    for _ in range(n_epochs):
        if counts[DONE] or counts[EPOCHS] >= max_epochs:
            return
        active = counts[ACTIVE]
        shuffle(stream, order[:active])
        largest, smallest = -np.inf, np.inf
        s = 0
        while s < active:
            i = order[s]
            a = alpha[i]
            if dense:
                z = dense_dot(X[i], bias, w)
            else:
                p, q = indptr[i], indptr[i + 1]
                z = sparse_dot(data[p:q], indices[p:q], bias, w)
            gradient = signs[i] * z - 1.0 + damping[i] * a
            projected = gradient
            if a == 0.0:
                if gradient > bounds[0]:
                    active = shrink(order, s, active)
                    continue
                if gradient > 0.0:
                    projected = 0.0
            elif a == upper[i]:
                if gradient < bounds[1]:
                    active = shrink(order, s, active)
                    continue
                if gradient < 0.0:
                    projected = 0.0
            if projected > largest:
                largest = projected
            if projected < smallest:
                smallest = projected
            if abs(projected) > NEGLIGIBLE:
                a -= gradient / (squares[i] + damping[i])
                if a < 0.0:
                    a = 0.0
                if a > upper[i]:
                    a = upper[i]
                change = (a - alpha[i]) * signs[i]
                alpha[i] = a
                if dense:
                    dense_add(X[i], bias, change, w)
                else:
                    p, q = indptr[i], indptr[i + 1]
                    sparse_add(data[p:q], indices[p:q], bias, change, w)
            s += 1
        settled = active == 0 or largest - smallest <= tol
        note_epoch(active, n_rows, settled, counts)
        bounds[0] = largest if largest > 0.0 and not settled else np.inf
        bounds[1] = smallest if smallest < 0.0 and not settled else -np.inf


@kernel
def _regress_epochs(n_epochs, max_epochs, tol, rows, problem, beta, state):
    """Up to ``n_epochs`` passes over the active rows of one problem of regression.

    Changes ``beta`` and the arrays of ``state``. Ends when the sum of violations is ``tol`` times
    that of the first epoch (`note_violations`).
    """
    X, data, indices, indptr, bias = rows
    y, upper, damping, epsilon, squares = problem
    w, order, bounds, counts, stream = state
    n_rows = order.shape[0]
    dense = indptr.shape[0] == 0
    for _ in range(n_epochs):
        if counts[DONE] or counts[EPOCHS] >= max_epochs:
            return
        active = counts[ACTIVE]
        shuffle(stream, order[:active])
        largest, total = 0.0, 0.0
        s = 0
        while s < active:
            i = order[s]
            b = beta[i]
            if dense:
                z = dense_dot(X[i], bias, w)
            else:
                p, q = indptr[i], indptr[i + 1]
                z = sparse_dot(data[p:q], indices[p:q], bias, w)
            gradient = z - y[i] + damping[i] * b
            right, left = gradient + epsilon, gradient - epsilon  # one-sided derivatives
            violation = 0.0
            if b == 0.0:
                if right < 0.0:
                    violation = -right
                elif left > 0.0:
                    violation = left
                elif right > bounds[0] and left < -bounds[0]:
                    active = shrink(order, s, active)
                    continue
            elif b >= upper[i]:
                if right > 0.0:
                    violation = right
                elif right < -bounds[0]:
                    active = shrink(order, s, active)
                    continue
            elif b <= -upper[i]:
                if left < 0.0:
                    violation = -left
                elif left > bounds[0]:
                    active = shrink(order, s, active)
                    continue
            elif b > 0.0:
                violation = abs(right)
            else:
                violation = abs(left)
            if violation > largest:
                largest = violation
            total += violation

            curvature = squares[i] + damping[i]
            if curvature == 0.0:  # an empty row: the sign of y decides
                step = np.inf if right < 0.0 else (-np.inf if left > 0.0 else -b)
            elif right < curvature * b:
                step = -right / curvature
            elif left > curvature * b:
                step = -left / curvature
            else:
                step = -b
            if abs(step) > NEGLIGIBLE:
                new = b + step
                if new > upper[i]:
                    new = upper[i]
                if new < -upper[i]:
                    new = -upper[i]
                beta[i] = new
                if dense:
                    dense_add(X[i], bias, new - b, w)
                else:
                    p, q = indptr[i], indptr[i + 1]
                    sparse_add(data[p:q], indices[p:q], bias, new - b, w)
            s += 1
        note_violations(active, n_rows, largest, total, tol, bounds, counts)


@parallel_kernel
def descend(task, n_epochs, max_epochs, tol, rows, problems, alpha, state):
    """Up to ``n_epochs`` passes over the rows for each problem, each on one thread.

    ``task`` is CLASSIFY or REGRESS. Changes ``alpha`` (problems, rows) and ``state``.
    """
    for k in prange(alpha.shape[0]):
        _descend(np.intp(k), task, n_epochs, max_epochs, tol, rows, problems, alpha, state)


@kernel
def _descend(k, task, n_epochs, max_epochs, tol, rows, problems, alpha, state):
    """The passes of problem ``k``; changes its lines of ``alpha`` and ``state``."""
    targets, upper, damping, epsilon, squares = problems
    problem = DescentProblems(targets[k], upper[k], damping[k], epsilon, squares)
    own = state_of(state, k)
    if task == CLASSIFY:
        _classify_epochs(n_epochs, max_epochs, tol, rows, problem, alpha[k], own)
    else:
        _regress_epochs(n_epochs, max_epochs, tol, rows, problem, alpha[k], own)
