"""Ridge regression for many penalties, with its exact leave-one-out errors, from one decomposition.

With H = A (A'A + alpha)⁻¹ A' the error of row i, had it been left out, is in A's scale

    (b_i − (A w)_i) / (1 − H_ii − u_i / Σ u)

where the last term is the intercept's (0 without one). Tall X: A'A = V diag(e) V' and U = A V give
H_ii = Σ U_ik² / (e_k + alpha), a block of rows at a time. Wide X: the inverse of A A' + alpha has
the same ratios (its rows without the direction of the intercept).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.moments import Centred, careful_moments

TOO_SMALL = 1e-11
"""A penalty over the largest eigenvalue below which singular values of X itself are taken."""


class LeaveOneOut(NamedTuple):
    """Errors (rows, targets, penalties) in A's scale and weights (penalties, features, targets).

    Errors are None, and only their mean squares (targets, penalties) known, if not asked for.
    """

    errors: NDArray | None
    mean_squares: NDArray
    coefs: NDArray
    x_means: NDArray
    y_means: NDArray


def leave_one_out(
    X, Y: NDArray, alphas: NDArray, weights, centre: bool, mode: str, every_error: bool = True
) -> LeaveOneOut:
    """``mode``: 'svd' of X, or 'eigen' of the smaller of A'A and A A'.

    Without ``every_error`` those of tall X are summed up a block of rows at a time.
    """
    design = CentredDesign(X, weights, centre)
    targets, y_means = design.targets(Y)
    n, d = X.shape
    if n <= d and mode != "svd":
        errors, coefs = _dual(design, targets, alphas)
        return LeaveOneOut(errors, _mean_squares(errors), coefs, design.means, y_means)
    if mode != "svd":
        centred = Centred.of(careful_moments(X, Y, weights, centre), centre)
        values, V = np.linalg.eigh(centred.gram)
        values = np.maximum(values, 0.0)
        if design.sparse or alphas.min() > TOO_SMALL * values.max(initial=0.0):
            inner = V.T @ centred.cross
            del centred
            found = _primal(design, targets, alphas, values, V, inner, every_error)
            return LeaveOneOut(found[0], found[1], found[2], design.means, y_means)
    A = design.rows(slice(None))
    if n <= d:
        if centre:  # as in `_dual`
            size = 2.0 * np.linalg.norm(A) + 1.0
            A = np.hstack([A, size * _direction(design)[:, None]])
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        if centre:
            U, s, Vt = U[:, 1:], s[1:], Vt[1:, :-1]
        errors, _ = _from_dual_basis(targets, alphas, s * s, U)
        squares = _mean_squares(errors)
        inner = s[:, None] * (U.T @ targets)
        coefs = np.stack([Vt.T @ (inner / (s * s + a)[:, None]) for a in alphas])
    else:
        _, s, Vt = np.linalg.svd(A, full_matrices=False)
        V = Vt.T
        inner = V.T @ (A.T @ targets)
        del A
        errors, squares, coefs = _primal(design, targets, alphas, s * s, V, inner, every_error)
    return LeaveOneOut(errors, squares, coefs, design.means, y_means)


def _mean_squares(errors: NDArray) -> NDArray:
    return np.einsum("ita,ita->ta", errors, errors) / len(errors)


def _primal(design, targets, alphas, values, V, inner, every_error):
    """(errors or None, their mean squares, weights); ``inner`` = V' A' b."""
    n, k = targets.shape
    inverse = 1.0 / (values[:, None] + alphas)  # (features, penalties)
    errors = np.empty((n, k, len(alphas))) if every_error else None
    squares = np.zeros((k, len(alphas)))
    for rows in design.blocks(4):  # there are about as many arrays of their size at once
        U = design.rows(rows) @ V
        left = 1.0 - (U * U) @ inverse - _of_intercept(design, rows)
        for t in range(k):
            fitted = U @ (inverse * inner[:, t, None])
            found = _over(targets[rows, t, None] - fitted, left)
            squares[t] += np.einsum("ia,ia->a", found, found)
            if errors is not None:
                errors[rows, t] = found
    coefs = np.stack([V @ (inverse[:, a, None] * inner) for a in range(len(alphas))])
    return errors, squares / max(n, 1), coefs


def _over(values, left):
    """values / left, and 0 where nothing is left: one row that is all there is."""
    left = np.broadcast_to(left, values.shape)
    return np.divide(values, left, out=np.zeros(values.shape), where=left != 0.0)


def _of_intercept(design, rows):
    if not design.centre:
        return 0.0
    if design.weights is None:
        return 1.0 / design.n_rows
    return (design.weights[rows] / design.total)[:, None]


def _dual(design, targets, alphas) -> tuple[NDArray, NDArray]:
    K = design.outer_gram()
    if design.centre:  # the intercept's direction becomes the largest, to be told apart
        direction = _direction(design)
        K += (2.0 * np.trace(K) + 1.0) * np.outer(direction, direction)
    values, Q = np.linalg.eigh(K)
    if design.centre:
        values, Q = values[:-1], Q[:, :-1]
    values = np.maximum(values, 0.0)
    errors, duals = _from_dual_basis(targets, alphas, values, Q)
    n, k = targets.shape
    flat = design.transposed(duals.transpose(1, 0, 2).reshape(n, -1))
    return errors, flat.reshape(-1, len(alphas), k).transpose(1, 0, 2)


def _direction(design) -> NDArray:
    """Unit vector along which the intercept moves."""
    root = np.ones(design.n_rows) if design.root is None else design.root
    return root / np.linalg.norm(root)


def _from_dual_basis(targets, alphas, values, Q) -> tuple[NDArray, NDArray]:
    """(errors, (A A' + alpha)⁻¹ b): the former is the latter over the inverse's diagonal."""
    n, k = targets.shape
    squares, inner = Q * Q, Q.T @ targets
    errors, duals = np.empty((n, k, len(alphas))), np.empty((len(alphas), n, k))
    for a, alpha in enumerate(alphas):
        inverse = 1.0 / (values + alpha)
        duals[a] = Q @ (inverse[:, None] * inner)
        errors[:, :, a] = _over(duals[a], (squares @ inverse)[:, None])
    return errors, duals
