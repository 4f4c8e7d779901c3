"""Errors of a softmax that need no model of the variance (HC0 to HC3), or no independent rows.

Row i of the gradient is e_i ⊗ z_i with e_i the indicators of its class minus the probabilities, one
entry per class but the reference. Its leverage is a matrix of classes: with W_i = diag(p) − p p'
and A_i the covariance of its scores, residuals under HC3 are (I − W_i A_i)⁻¹ e_i, and under HC2
W^½ (I − W^½ A W^½)^(−½) W^(−½) e_i; for two classes they are those of `_sandwich`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fastml.linear_model._summary._design import Design, row_blocks


def softmax_middle(
    X, codes: NDArray, estimates: NDArray, design: Design, inverse: NDArray, kind: str, *,
    weights: NDArray | None, repeats: bool, groups: NDArray | None,
) -> NDArray:  # fmt: skip
    """Sum of squares of the rows' (or groups') gradients, class by class.

    ``inverse`` is the classic covariance of ``estimates`` of the design's z. Weights say how often
    a row was seen if ``repeats``, else by what its variance is divided.
    """
    K, m = estimates.shape
    by_class = inverse.reshape(K, m, K, m)
    sums = None if groups is None else np.zeros((int(groups.max()) + 1, K * m))
    middle = np.zeros((K * m, K * m))
    for rows, block in row_blocks(X):
        Z = design.standardised(block)
        n = len(Z)
        P = softmax(np.column_stack([Z @ estimates.T, np.zeros(n)]), axis=1)[:, :K]
        own = codes[rows]
        errors = -P
        errors[own < K, own[own < K]] += 1.0
        u = np.ones(n) if weights is None else weights[rows]
        if kind in ("HC2", "HC3"):
            spread = np.einsum("ij,ajbl,il->iab", Z, by_class, Z, optimize=True)
            if not repeats:
                spread *= u[:, None, None]
            errors = _lifted(errors, P, spread, kind)
        gradients = np.einsum("ia,ij->iaj", errors, Z).reshape(n, K * m)
        if sums is not None and groups is not None:
            np.add.at(sums, groups[rows], gradients * u[:, None])
        else:
            squares = u if repeats else u * u
            middle += (gradients * squares[:, None]).T @ gradients
    return middle if sums is None else sums.T @ sums


def _lifted(errors: NDArray, P: NDArray, spread: NDArray, kind: str) -> NDArray:
    """Residuals as they would be without the row's own pull."""
    eye = np.eye(P.shape[1])
    W = P[:, :, None] * eye - P[:, :, None] * P[:, None, :]
    if kind == "HC3":
        return np.linalg.solve(eye - W @ spread, errors[:, :, None])[:, :, 0]
    values, vectors = np.linalg.eigh(W)
    root = np.sqrt(np.maximum(values, np.finfo(float).tiny))
    half = (vectors * root[:, None, :]) @ vectors.transpose(0, 2, 1)
    back = (vectors / root[:, None, :]) @ vectors.transpose(0, 2, 1)
    left, turned = np.linalg.eigh(eye - half @ spread @ half)
    lift = (turned / np.sqrt(left)[:, None, :]) @ turned.transpose(0, 2, 1)
    return (half @ lift @ back @ errors[:, :, None])[:, :, 0]
