"""Means and scatter of every class from one pass over blocks of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.passes import RowBlock, codes_of, refuse_nan

ROWS_AT_ONCE = 4096


class ClassScatter(NamedTuple):
    """Of rows seen so far; that of other rows can be added."""

    counts: NDArray  # (n_classes,)
    means: NDArray  # (n_classes, n_features)
    scatter: NDArray  # Σ (x − mean)(x − mean)': of every class, or (n, n) of all together

    def merged(self, other: ClassScatter) -> ClassScatter:
        total = self.counts + other.counts
        safe = np.where(total > 0.0, total, 1.0)
        share = (other.counts / safe)[:, None]
        step = other.means - self.means
        between = step * np.sqrt(self.counts[:, None] * share)
        scatter = self.scatter + other.scatter
        if scatter.ndim == 3:
            scatter += between[:, :, None] * between[:, None, :]
        else:
            scatter += between.T @ between
        return ClassScatter(total, self.means + share * step, scatter)


def block_scatter(block: NDArray, codes: NDArray, n_classes: int, by_class: bool) -> ClassScatter:
    """Of a few rows, in float64."""
    d = block.shape[1]
    order = np.argsort(codes, kind="stable")
    rows = np.asarray(block[order], dtype=np.float64)
    sizes = np.bincount(codes, minlength=n_classes)
    there = np.flatnonzero(sizes)
    first = np.cumsum(sizes[there]) - sizes[there]
    means = np.zeros((n_classes, d))
    means[there] = np.add.reduceat(rows, first, axis=0) / sizes[there, None]
    rows -= np.repeat(means[there], sizes[there], axis=0)
    if not by_class:
        return ClassScatter(sizes.astype(np.float64), means, rows.T @ rows)
    scatter = np.zeros((n_classes, d, d))
    for k, start in zip(there, first):
        own = rows[start : start + sizes[k]]
        scatter[k] = own.T @ own
    return ClassScatter(sizes.astype(np.float64), means, scatter)


def class_scatter(X: NDArray, codes: NDArray, n_classes: int, by_class: bool) -> ClassScatter:
    """Of all rows; ``by_class`` keeps a matrix for every class."""
    found = None
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        here = block_scatter(X[rows], codes[rows], n_classes, by_class)
        found = here if found is None else found.merged(here)
    assert found is not None
    return found


class LabelledRows:
    """Rows in memory with the codes of their classes."""

    def __init__(self, X: NDArray, codes: NDArray, n_classes: int):
        self.X, self.codes, self.n_classes = X, codes, n_classes
        self.shape, self.dtype = X.shape, X.dtype
        self.counts = np.bincount(codes, minlength=n_classes)

    def scatter(self, by_class: bool) -> ClassScatter:
        return class_scatter(self.X, self.codes, self.n_classes, by_class)

    def of_class(self, k: int) -> NDArray:
        return self.X[self.codes == k]


class LabelledBlocks:
    """The same of rows in blocks, which are not at hand."""

    def __init__(self, passes, classes: NDArray):
        self.passes, self.classes = passes, classes
        self.shape, self.dtype = (passes.n_rows, passes.n_features), passes.dtype
        self.counts = passes.reduced(block_class_sizes, np.add, classes, name="classes")

    def scatter(self, by_class: bool) -> ClassScatter:
        given = self.classes, by_class
        return self.passes.reduced(block_class_scatter, ClassScatter.merged, *given, name="scatter")

    @property
    def X(self):
        raise ValueError(
            "on blocks there is no shrinkage='auto', no covariance_estimator, and no more features "
            "than rows: these need all rows at once"
        )

    def of_class(self, k: int) -> NDArray:
        return self.X


def block_class_sizes(block: RowBlock, classes: NDArray) -> NDArray:
    return np.bincount(codes_of(block, classes), minlength=len(classes))


def block_class_scatter(block: RowBlock, classes: NDArray, by_class: bool) -> ClassScatter:
    with np.errstate(invalid="ignore", over="ignore"):
        found = class_scatter(block.X, codes_of(block, classes), len(classes), by_class)
    if not np.isfinite(found.scatter).all():
        refuse_nan(block)
    return found


def shrunk(covariance: NDArray, share: float) -> NDArray:
    """(1 − share) S + share · trace(S)/p · I."""
    d = len(covariance)
    return (1.0 - share) * covariance + share * np.trace(covariance) / d * np.eye(d)


def ledoit_wolf_covariance(X: NDArray) -> NDArray:
    """Shrunk by the share that minimises the expected error (Ledoit & Wolf, 2004).

    Features are scaled to unit variance for the choice of the share.
    """
    n, d = X.shape
    centred = X - X.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    scale[scale <= 10.0 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)] = 1.0
    centred /= scale
    covariance = centred.T @ centred / n
    squares = (covariance**2).sum()
    level = np.trace(covariance) / d
    distance = squares / d - level**2
    noise = ((centred**2).sum(axis=1) ** 2).sum() / n - squares
    noise = min(noise / (n * d), distance)
    share = noise / distance if noise > 0.0 and distance > 0.0 else 0.0
    if d == 1:
        share = 0.0
    return shrunk(covariance, share) * np.outer(scale, scale)


def estimated_covariance(X: NDArray, shrinkage, estimator) -> NDArray:
    """By Ledoit and Wolf, by a fixed share, or by an object that has ``covariance_``."""
    if estimator is not None:
        if shrinkage is not None and shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. "
                "Only one of the two can be set."
            )
        estimator.fit(X)
        if not hasattr(estimator, "covariance_"):
            name = type(estimator).__name__
            raise ValueError(f"{name} does not have a covariance_ attribute")
        return np.atleast_2d(estimator.covariance_)
    X = np.ascontiguousarray(X, dtype=np.float64)
    if isinstance(shrinkage, str):
        return ledoit_wolf_covariance(X)
    centred = X - X.mean(axis=0)
    return shrunk(centred.T @ centred / len(X), 0.0 if shrinkage is None else shrinkage)
