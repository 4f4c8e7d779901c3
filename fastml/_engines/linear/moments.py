"""Sums of squares and products of rows: what least squares has to know of them.

`moments_of` reads a block of rows, `merge` adds what two blocks gave, `without` takes one away (a
fold of a cross-validation), `Centred.of` finishes: so folds, partitions and files need one pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.linear.design import ROWS_AT_ONCE
from fastml._engines.smooth_linear.design import LINES, SmoothDesign, corner

CANCELS = 1e5
"""Sum of squares over that about the mean: beyond it, products are taken about the means."""

MANY_VALUES = 1 << 20
"""Values of X from which passes with threads of our own are faster than those of BLAS."""

FEW_VALUES, FEW_COLUMNS = 1 << 15, 2_000
"""Values of X from which, and columns up to which, all sums are made in one such pass."""


class Moments(NamedTuple):
    """Weighted sums over rows of x − shift and y − shift, and of their products."""

    total: float
    x: NDArray
    y: NDArray
    xx: NDArray
    xy: NDArray
    yy: NDArray
    x_shift: NDArray
    y_shift: NDArray


class Centred(NamedTuple):
    """Means, and sums of products about them."""

    total: float
    x_means: NDArray
    y_means: NDArray
    gram: NDArray
    cross: NDArray
    squares: NDArray

    @classmethod
    def of(cls, m: Moments, centre: bool = True, spoiled: bool = False) -> Centred:
        """``spoiled``: the products of ``m`` are needed no more, and their memory is used."""
        if not centre:
            return cls(m.total, 0.0 * m.x, 0.0 * m.y, m.xx, m.xy, m.yy)
        x, y = m.x / m.total, m.y / m.total
        gram = m.xx if spoiled else m.xx.copy()
        for first in range(0, len(x), LINES):
            lines = slice(first, first + LINES)
            gram[lines] -= np.outer(m.x[lines], x)
        cross = centred_cross(m)
        squares = np.maximum(m.yy - m.y * y, 0.0)
        return cls(m.total, x + m.x_shift, y + m.y_shift, gram, cross, squares)


def centred_cross(m: Moments) -> NDArray:
    """Sums of products of x and y about their means."""
    return m.xy - np.outer(m.x / m.total, m.y)


def moments_of(X, Y: NDArray, weights=None, x_shift=None, y_shift=None, alone=False) -> Moments:
    """Moments of rows X (dense in either order or sparse) and targets Y, about the shifts.

    ``alone``: in one thread, as parts of a whole are that several threads work on.
    """
    d, k = X.shape[1], Y.shape[1]
    shifts = (
        np.zeros(d) if x_shift is None else x_shift,
        np.zeros(k) if y_shift is None else y_shift,
    )
    if sp.issparse(X):
        return _of_sparse(X, Y - shifts[1], weights, shifts)
    if k == 1 and x_shift is None and y_shift is None and _pays(X):
        return _of_one_target(X, Y, weights, shifts, alone)
    x, xx, xy = np.zeros(d), np.zeros((d, d)), np.zeros((d, k))
    y, yy = np.zeros(k), np.zeros(k)
    total = 0.0
    step = max(256, ROWS_AT_ONCE // (8 * max(d, 1)))
    for first in range(0, X.shape[0], step):
        rows = slice(first, first + step)
        part = X[rows].astype(np.float64, copy=False)
        targets = Y[rows].astype(np.float64, copy=False)
        if x_shift is not None:
            part = part - x_shift
        if y_shift is not None:
            targets = targets - y_shift
        if weights is None:
            total += len(part)
            x += np.ones(len(part)) @ part
            y += targets.sum(axis=0)
        else:
            root = np.sqrt(weights[rows], dtype=np.float64)
            total += weights[rows].sum(dtype=np.float64)
            part, targets = part * root[:, None], targets * root[:, None]
            x += root @ part
            y += root @ targets
        xx += part.T @ part
        xy += part.T @ targets
        yy += np.einsum("ij,ij->j", targets, targets)
    return Moments(float(total), x, y, xx, xy, yy, *shifts)


def _pays(X) -> bool:
    """Whether dense X has so many rows, and so few columns, that threads of our own pay."""
    return X.size > FEW_VALUES and 0 < X.shape[1] <= FEW_COLUMNS and X.shape[0] >= X.shape[1]


def _of_one_target(X, Y, weights, shifts, alone) -> Moments:
    """All sums in one pass: those of products of (x, 1, y)."""
    d = X.shape[1]
    u = None if weights is None else np.asarray(weights, dtype=np.float64)
    sums = SmoothDesign(X).gram(u, np.ascontiguousarray(Y[:, 0], dtype=np.float64), alone)
    total, x, y = float(sums[d, d]), sums[:d, d].copy(), sums[d, d + 1 :].copy()
    xy, yy = sums[:d, d + 1 :].copy(), sums[d + 1, d + 1 :].copy()
    return Moments(total, x, y, corner(sums, d), xy, yy, *shifts)


def _of_sparse(X, Y, weights, shifts) -> Moments:
    """About zero for X, whatever the shift: zeros keep its means below its sizes."""
    X = X.astype(np.float64, copy=False)
    u = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    weighted = X if weights is None else sp.diags_array(u, format="csr") @ X
    gram = X.T @ weighted
    gram = gram.toarray() if sp.issparse(gram) else gram
    x, xy = np.asarray(X.T @ u).ravel(), weighted.T @ Y
    return Moments(
        float(u.sum()), x, u @ Y, np.asarray(gram), np.asarray(xy),
        u @ (Y * Y), np.zeros(X.shape[1]), shifts[1],
    )  # fmt: skip


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of both; they must have been taken about the same shifts."""
    return _combined(np.add, a, b)


def without(a: Moments, b: Moments) -> Moments:
    """Moments of the rows of ``a`` that are not in ``b``, in the memory of the latter."""
    return _combined(np.subtract, a, b, out=b.xx)


def _combined(operation, a: Moments, b: Moments, out=None) -> Moments:
    return Moments(
        float(operation(a.total, b.total)), operation(a.x, b.x), operation(a.y, b.y),
        operation(a.xx, b.xx, out=out), operation(a.xy, b.xy), operation(a.yy, b.yy),
        a.x_shift, a.y_shift,
    )  # fmt: skip


def cancels(m: Moments) -> bool:
    """Whether means so outweigh the scatter that centring would leave too few digits."""
    if not m.total > 0.0:
        return False
    mean_squares, squares = m.x * m.x / m.total, np.einsum("jj->j", m.xx)
    y_mean_squares = m.y * m.y / m.total
    return bool(
        (mean_squares > (1.0 - 1.0 / CANCELS) * squares)[squares > 0].any()
        or (y_mean_squares > (1.0 - 1.0 / CANCELS) * m.yy)[m.yy > 0].any()
    )


def careful_moments(X, Y: NDArray, weights=None, centre: bool = True) -> Moments:
    """Moments about zero or, where that would cost digits, about the means (a second pass)."""
    found = moments_of(X, Y, weights)
    if centre and cancels(found):
        x, y = found.x / found.total, found.y / found.total
        found = moments_of(X, Y, weights, x, y)
    return found
