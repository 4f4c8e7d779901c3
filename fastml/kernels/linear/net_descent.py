"""Coordinate descent for g · δ + ½ δ' H δ + Σ l1_j |w_j + δ_j|, a Newton step with an l1 penalty.

H is given as a matrix, or by columns: H = Σ_i u_i x_i x_i' ⊗ C_i + l2, where C_i is p (1 − p) for
two classes and diag(p) − p p' for several. Passes run over the weights that move until these are
solved, then over all (Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear
models via coordinate descent", 2010).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel


class NetTerms(NamedTuple):
    """Weights u of rows over their total, none if empty; l1, l2; columns or the intercept free."""

    weights: np.ndarray
    total: float
    l1: float
    l2: float
    fit_intercept: bool


@kernel
def _shift(slope, curvature, w, l1):
    """The change of ``w`` that minimises slope · δ + ½ curvature δ² + l1 |w + δ|."""
    target = curvature * w - slope
    if target > l1:
        return (target - l1) / curvature - w
    if target < -l1:
        return (target + l1) / curvature - w
    return -w


@kernel(fused=True)
def _add_line(line, factor, slopes):
    """Add factor · line to ``slopes``."""
    for i in range(slopes.shape[0]):
        slopes[i] += factor * line[i]


@kernel
def matrix_descent(H, slopes, w, l1, tol, most):
    """Minimise with the symmetric ``H``; ``slopes`` is g.

    Ends when no move of a whole pass changes a slope by more than ``tol``, or after ``most``
    passes. Changes ``w`` to w + δ and ``slopes`` to g + H δ; returns the passes made.
    """
    active = np.zeros(w.shape[0], dtype=np.bool_)
    everywhere = True
    for passed in range(most):
        largest = 0.0
        for j in range(w.shape[0]):
            if H[j, j] <= 0.0 or not (everywhere or active[j]):
                continue
            move = _shift(slopes[j], H[j, j], w[j], l1[j])
            if move != 0.0:
                w[j] += move
                active[j] = True
                _add_line(H[j], move, slopes)
                largest = max(largest, abs(move) * H[j, j])
        if largest <= tol:
            if everywhere:
                return passed + 1
            everywhere = True
        else:
            everywhere = False
    return most


@kernel(fast_math=True)
def _dot(columns, j, v):
    """x_j · v of the column j, or Σ v for j = −1."""
    total = 0.0
    if j < 0:
        for i in range(v.shape[0]):
            total += v[i]
    elif columns.indptr.shape[0] == 0:
        x = columns.X[j]
        for i in range(v.shape[0]):
            total += x[i] * v[i]
    else:
        first, last = columns.indptr[j], columns.indptr[j + 1]
        values, rows = columns.data[first:last], columns.indices[first:last]
        for q in range(values.shape[0]):
            total += values[q] * v[rows[q]]
    return total


@kernel(fast_math=True)
def _square(columns, j, h):
    """Σ h x_j² over the column j, or Σ h for j = −1."""
    total = 0.0
    if j < 0:
        for i in range(h.shape[0]):
            total += h[i]
    elif columns.indptr.shape[0] == 0:
        x = columns.X[j]
        for i in range(h.shape[0]):
            total += h[i] * x[i] * x[i]
    else:
        for q in range(columns.indptr[j], columns.indptr[j + 1]):
            x = columns.data[q]
            total += h[columns.indices[q]] * x * x
    return total


@kernel(fused=True)
def _add(columns, j, factor, h, v):
    """Add factor · h · x_j to ``v``, or factor · h for j = −1."""
    if j < 0:
        for i in range(v.shape[0]):
            v[i] += factor * h[i]
    elif columns.indptr.shape[0] == 0:
        x = columns.X[j]
        for i in range(v.shape[0]):
            v[i] += factor * h[i] * x[i]
    else:
        first, last = columns.indptr[j], columns.indptr[j + 1]
        values, rows = columns.data[first:last], columns.indices[first:last]
        for q in range(values.shape[0]):
            v[rows[q]] += factor * h[rows[q]] * values[q]


@kernel(fused=True)
def _add_product(columns, j, factor, h, p, v):
    """Add factor · h · p · x_j to ``v``, or factor · h · p for j = −1."""
    if j < 0:
        for i in range(v.shape[0]):
            v[i] += factor * h[i] * p[i]
    elif columns.indptr.shape[0] == 0:
        x = columns.X[j]
        for i in range(v.shape[0]):
            v[i] += factor * h[i] * p[i] * x[i]
    else:
        for q in range(columns.indptr[j], columns.indptr[j + 1]):
            i = columns.indices[q]
            v[i] += factor * h[i] * p[i] * columns.data[q]


@kernel
def _add_to_all(columns, j, k, change, P, U, V):
    """Add u (diag(p) − p p') (change x_j e_k) to the lines of ``V``; U is u p."""
    _add(columns, j, change, U[k], V[k])
    for other in range(V.shape[0]):
        _add_product(columns, j, -change, U[k], P[other], V[other])


@kernel
def column_descent(columns, working, terms, P, V, W, tol, most):
    """Minimise over the columns ``working`` and, last of each pass, the intercepts.

    ``columns`` are `DesignRows` of the transposed rows, ``P`` the probabilities (classes, rows),
    one line for two classes, ``V`` their slopes u (p − [class]) and ``W`` the weights (features +
    1, classes). Ends when no move of a whole pass changes a mean slope by more than ``tol``, or
    after ``most`` passes. Changes ``W`` to the minimum and ``V`` to the slopes there; returns the
    passes.
    """
    u, total, l1, l2, fit_intercept = terms
    n_working, n_classes, n = working.shape[0], P.shape[0], P.shape[1]
    n_lines = n_working + (1 if fit_intercept else 0)
    d = W.shape[0] - 1
    U = np.empty((n_classes + 1, n))
    curves = np.empty((n_lines, n_classes))
    for k in range(n_classes):
        for i in range(n):
            U[k, i] = P[k, i] * (1.0 if u.shape[0] == 0 else u[i])
            U[n_classes, i] = U[k, i] * (1.0 - P[k, i])
        for s in range(n_lines):
            j = working[s] if s < n_working else -1
            curves[s, k] = _square(columns, j, U[n_classes]) / total + (l2 if j >= 0 else 0.0)
    active = np.zeros((n_lines, n_classes), dtype=np.bool_)
    everywhere = True
    for passed in range(most):
        largest = 0.0
        for s in range(n_lines):
            j = working[s] if s < n_working else -1
            line = j if j >= 0 else d
            for k in range(n_classes):
                curve = curves[s, k]
                if curve <= 0.0 or not (everywhere or active[s, k]):
                    continue
                w = W[line, k]
                slope = _dot(columns, j, V[k]) / total
                if j >= 0:
                    move = _shift(slope + l2 * w, curve, w, l1)
                else:
                    move = -slope / curve
                if move != 0.0:
                    W[line, k] = w + move
                    active[s, k] = True
                    if n_classes == 1:
                        _add(columns, j, move, U[1], V[0])
                    else:
                        _add_to_all(columns, j, k, move, P, U, V)
                    largest = max(largest, abs(move) * curve)
        if largest <= tol:
            if everywhere:
                return passed + 1
            everywhere = True
        else:
            everywhere = False
    return most
