"""Least squares and its penalties on rows in blocks."""

from __future__ import annotations

import numpy as np

from fastml._engines.linear.elastic_net import Squares, path_on_gram
from fastml._engines.linear.in_blocks import RowsInBlocks, targets_of
from fastml._engines.linear.least_squares import Fit, tall
from fastml._engines.linear.moments import Centred
from fastml._engines.linear.ridge import tall_ridge
from fastml._engines.passes import Passes, RowBlock


def block_axes(block: RowBlock) -> tuple[int, int]:
    """(axes of y, targets)."""
    return np.asarray(block.y).ndim, targets_of(block).shape[1]


def target_axes(passes: Passes) -> tuple[int, int]:
    passes.need_target()
    return next(iter(passes.results(block_axes, name="targets")))


def block_target_sums(block: RowBlock) -> tuple[float, float, float]:
    """(weights, weighted targets, least target) of one target."""
    y = targets_of(block)
    if y.shape[1] != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    y = y[:, 0].astype(block.X.dtype).astype(np.float64)
    if block.weights is None:
        return float(len(y)), float(y.sum()), float(y.min())
    return float(block.weights.sum()), float(block.weights @ y), float(y.min())


def both_sums(a, b):
    return a[0] + b[0], a[1] + b[1], min(a[2], b[2])


def refuse_summary(model) -> None:
    if model.keep_summary:
        raise ValueError("on blocks no summary is kept: keep_summary must be False")


def refuse_wide(passes: Passes) -> None:
    if passes.n_features > passes.n_rows:
        raise ValueError(
            f"blocks need at least as many rows as columns, got {passes.n_rows} rows and "
            f"{passes.n_features} columns"
        )


def least_squares_of(passes: Passes, centre: bool, tol: float) -> Fit:
    return tall(RowsInBlocks(passes, centre), tol)


def ridge_of(passes: Passes, alphas, centre: bool, positive: bool) -> Fit:
    if positive:
        return non_negative_of(passes, alphas, centre, 1e-12, 100_000)
    return tall_ridge(RowsInBlocks(passes, centre), alphas)


def non_negative_of(passes: Passes, alphas, centre: bool, tol: float, most: int) -> Fit:
    centred = Centred.of(RowsInBlocks(passes, centre).moments(), centre)
    coef = np.empty(centred.cross.shape)
    for t, alpha in enumerate(alphas):
        own = Squares(centred.gram, centred.cross[:, t], float(centred.squares[t]))
        coef[:, t] = path_on_gram(own, [0.0], [alpha], tol=tol, most=most, positive=True).coefs[0]
    return Fit(coef, centred.x_means, centred.y_means)


def net_of(passes: Passes, alpha: float, l1_ratio: float, centre: bool, **options):
    """(fit, gaps, squares of b, passes over the weights) of every target; see `path_on_gram`."""
    centred = Centred.of(RowsInBlocks(passes, centre).moments(), centre)
    total = centred.total
    parts = []
    for t in range(centred.cross.shape[1]):
        cross = np.ascontiguousarray(centred.cross[:, t])
        own = Squares(centred.gram, cross, float(centred.squares[t]))
        l1, l2 = [alpha * l1_ratio * total], [alpha * (1.0 - l1_ratio) * total]
        parts.append(path_on_gram(own, l1, l2, **options))
    coef = np.stack([part.coefs[0] for part in parts], axis=1)
    gaps = np.array([part.gaps[0] for part in parts])
    steps = [int(part.passes[0]) for part in parts]
    return Fit(coef, centred.x_means, centred.y_means), gaps, centred.squares, steps, total
