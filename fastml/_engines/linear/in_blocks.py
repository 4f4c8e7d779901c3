"""Rows of a linear model in blocks: moments, residuals and triangles, one pass each."""

from __future__ import annotations

import contextlib

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.least_squares import Fit, shrunk_by_svd, triangle
from fastml._engines.linear.moments import Centred, Moments, cancels, merge, moments_of
from fastml._engines.passes import Passes, RowBlock, refuse_nan


class RowsInBlocks:
    """Answers what `least_squares.tall` and ridge regression ask of `RowsAtHand`."""

    def __init__(self, passes: Passes, centre: bool):
        passes.need_target()
        self.passes, self.centre = passes, centre

    def moments(self) -> Moments:
        """About zero or, where that would cost digits, about the means (a second pass)."""
        found = self.passes.reduced(block_moments, merge, None, None, name="moments")
        if self.centre and cancels(found):
            means = found.x / found.total, found.y / found.total
            found = self.passes.reduced(block_moments, merge, *means, name="moments")
        return found

    def finite(self) -> bool:
        self.passes.check_finite()
        return True

    def unknown(self) -> Fit:
        raise AssertionError("blocks with NaN were refused")

    def left(self, coef: NDArray, centred: Centred, own=slice(None)) -> NDArray:
        """A'(b − A w) for every target, or those ``own``."""
        means, some = (centred.x_means, centred.y_means), np.zeros(coef.shape)
        some[:, own] = coef[:, own]  # the others may not be known yet
        found = self.passes.reduced(block_left, np.add, some, *means, self.centre, name="residuals")
        return found[:, own]

    def triangle(self) -> tuple[NDArray, NDArray, NDArray]:
        """(R of the QR decomposition of [A, b], means of X, means of y)."""
        centred = Centred.of(self.moments(), self.centre)
        means = centred.x_means, centred.y_means
        R = self.passes.reduced(block_triangle, _stacked, *means, self.centre, name="triangle")
        return R, *means

    def decomposed(self, tol: float) -> Fit:
        from scipy.linalg import lstsq

        d = self.passes.n_features
        R, x_means, y_means = self.triangle()
        coef, _, rank, singular = lstsq(R[:d, :d], R[:d, d:], cond=tol, check_finite=False)
        return Fit(coef, x_means, y_means, int(rank), singular)

    def shrunk(self, own, alphas: NDArray) -> NDArray:
        """Weights of the targets ``own`` under penalties too small for Cholesky."""
        d = self.passes.n_features
        R, _, _ = self.triangle()
        return shrunk_by_svd(R[:d, :d], R[:d, d:][:, own], alphas)

    def lapack(self):
        return contextlib.nullcontext()


def targets_of(block: RowBlock) -> NDArray:
    """(rows, targets) in float64; NaN and what is no number are errors."""
    y = np.asarray(block.y)
    if y.dtype.kind not in "biuf":
        raise ValueError(f"the target must be numbers, got {y.dtype}")
    y = y.astype(np.float64).reshape(len(y), -1)
    if not np.isfinite(y).all():
        raise ValueError(f"Input y contains NaN or infinity: block {block.number}")
    return y


def block_moments(block: RowBlock, x_shift, y_shift) -> Moments:
    with np.errstate(invalid="ignore", over="ignore"):
        found = moments_of(block.X, targets_of(block), block.weights, x_shift, y_shift)
    if not np.isfinite(found.xx).all():
        refuse_nan(block)
    return found


def _design(block: RowBlock, x_means, y_means, centre: bool) -> tuple[CentredDesign, NDArray]:
    """(A, b) of the block, with the means of all rows."""
    design = CentredDesign(block.X, block.weights, False)
    design.means, design.centre = x_means, centre
    b = targets_of(block) - y_means
    return design, b if design.root is None else b * design.root[:, None]


def block_left(block: RowBlock, coef, x_means, y_means, centre) -> NDArray:
    design, b = _design(block, x_means, y_means, centre)
    return design.transposed(b - design.product(coef))


def block_triangle(block: RowBlock, x_means, y_means, centre) -> NDArray:
    return triangle(*_design(block, x_means, y_means, centre))


def _stacked(a: NDArray, b: NDArray) -> NDArray:
    return np.asarray(np.linalg.qr(np.vstack([a, b]), mode="r"))
