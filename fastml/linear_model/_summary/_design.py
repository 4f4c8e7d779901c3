"""The columns of a linear model in p × p numbers, from passes over blocks of rows.

Columns are centred (if there is an intercept, which is then orthogonal to them) and scaled, so that
neither a large mean nor a large unit costs digits. The Gram matrix comes first; where its
eigenvalues say that squaring has cost too many digits, a triangular factor is made of the rows
themselves, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 8192
GRAM_IS_ENOUGH = 1e-6
"""Ratio of the eigenvalues of the scaled Gram matrix above which no digit that matters is lost."""


def row_blocks(X) -> Iterator[tuple[slice, NDArray]]:
    """Slices of rows and those rows, dense, C-contiguous, in float64."""
    from scipy.sparse import issparse

    sparse = issparse(X)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, X.shape[0]))
        block = X[rows].toarray() if sparse else X[rows]
        yield rows, np.ascontiguousarray(block, dtype=np.float64)


def scores(X, coef: NDArray, intercept: float) -> NDArray:
    """X coef + intercept."""
    found = np.empty(X.shape[0])
    for rows, block in row_blocks(X):
        found[rows] = block @ coef + intercept
    return found


def weighted_sums(X, weights: NDArray) -> NDArray:
    """X'weights."""
    found = np.zeros(X.shape[1])
    for rows, block in row_blocks(X):
        found += weights[rows] @ block
    return found


@dataclass(frozen=True)
class Design:
    """Weighted columns z = (x − center) / scale, with an intercept before them if it is there.

    ``root`` spans the inverse of their Gram matrix: (Z'WZ)⁺ = root root'.
    """

    intercept: bool
    center: NDArray
    scale: NDArray
    total: float  # sum of weights
    root: NDArray  # (n_columns, rank)
    triangle: NDArray  # R with R'R = the Gram matrix of the columns as they are, intercept first
    flat: NDArray  # (n_flat, n_columns): directions of z without variance
    contains_constant: bool  # whether some combination of the columns is constant

    @property
    def n_columns(self) -> int:
        return len(self.center) + self.intercept

    @property
    def rank(self) -> int:
        return self.root.shape[1]

    def standardised(self, block: NDArray) -> NDArray:
        """Rows z, with a one in front if there is an intercept."""
        z = np.ones((len(block), self.n_columns))
        np.subtract(block, self.center, out=z[:, self.intercept :])
        z[:, self.intercept :] /= self.scale
        return z

    def leverage(self, block: NDArray) -> NDArray:
        """z'(Z'WZ)⁺z for every row."""
        spread = self.standardised(block) @ self.root
        return np.einsum("ij,ij->i", spread, spread)

    def to_columns(self) -> NDArray:
        """T with coefficients of x = T · coefficients of z."""
        T = np.diag(1.0 / np.r_[[1.0] * self.intercept, self.scale])
        if self.intercept:
            T[0, 1:] = -self.center / self.scale
        return T


def learn_design(X, weights: NDArray | None, intercept: bool) -> Design:
    """The design of rows of which none need be centred, scaled or copied as a whole."""
    n, p = X.shape
    total = float(n) if weights is None else float(weights.sum())
    shift = _typical_row(X) if intercept else np.zeros(p)
    gram, sums = _gram(X, weights, shift)
    if intercept:
        off = sums / total
        if np.any(off**2 * total > 100.0 * np.diag(gram)):  # a poor guess: centre in earnest
            shift = shift + off
            gram, sums = _gram(X, weights, shift)
            off = sums / total
        gram -= total * np.outer(off, off)
        center = shift + off
    else:
        center = shift
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    rounding = 16.0 * np.finfo(float).eps
    constant = length <= rounding * np.sqrt(total) * np.abs(center)
    constant |= length == 0.0
    size = np.where(constant, 1.0, length) / np.sqrt(total)
    scale = np.where(constant, 1.0, size)
    scaled = gram / np.outer(scale, scale)
    scaled[constant] = scaled[:, constant] = 0.0
    values, vectors = np.linalg.eigh(scaled)
    largest = values[-1] if p else 0.0
    if p and values[0] < GRAM_IS_ENOUGH * largest:
        singular, vectors = _singular_values(X, weights, center, scale, constant)
    else:
        singular = np.sqrt(values)
    small = rounding * max(p, 10) * (1.0 + np.max(np.abs(center) / scale, initial=0.0))
    kept = singular > small * np.max(singular, initial=0.0)
    root = vectors[:, kept] / singular[kept]
    flat = _simple_rows(vectors[:, ~kept].T)
    triangle = (vectors * singular).T * scale
    if intercept:
        root = np.block([[np.array([[total**-0.5]]), np.zeros((1, root.shape[1]))],
                         [np.zeros((p, 1)), root]])  # fmt: skip
        within = True
        first = np.sqrt(total) * np.r_[1.0, center]
        triangle = np.vstack([first, np.c_[np.zeros(len(triangle)), triangle]])
    else:
        summed = root.T @ (sums / scale)
        within = bool(summed @ summed > total * (1.0 - 1e-10))
    return Design(intercept, center, scale, total, root, triangle, flat, within)


def _simple_rows(basis: NDArray) -> NDArray:
    """Another basis of the same space, in which every row has a column of its own."""
    basis = basis.copy()
    for i in range(len(basis)):
        j = np.argmax(np.abs(basis[i]))
        basis[i] /= basis[i, j]
        others = np.arange(len(basis)) != i
        basis[others] -= np.outer(basis[others, j], basis[i])
    return basis


def _typical_row(X) -> NDArray:
    """The mean of a few rows spread over all: what is subtracted before products are summed."""
    step = max(1, X.shape[0] // 256)
    few = X[::step]
    return np.asarray(few.mean(axis=0), dtype=np.float64).ravel()


def _gram(X, weights, shift) -> tuple[NDArray, NDArray]:
    """Σ w (x − shift)(x − shift)' and Σ w (x − shift)."""
    p = X.shape[1]
    gram, sums = np.zeros((p, p)), np.zeros(p)
    for rows, block in row_blocks(X):
        moved = block - shift
        if weights is None:
            sums += moved.sum(axis=0)
        else:
            root = np.sqrt(weights[rows])
            moved *= root[:, None]
            sums += root @ moved
        gram += moved.T @ moved
    return gram, sums


def _singular_values(X, weights, center, scale, constant) -> tuple[NDArray, NDArray]:
    """Singular values and right vectors of the scaled rows, without squaring them."""
    p = X.shape[1]
    triangle = np.zeros((0, p))
    for rows, block in row_blocks(X):
        z = (block - center) / scale
        z[:, constant] = 0.0
        if weights is not None:
            z *= np.sqrt(weights[rows])[:, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, z]), mode="r"))
    if len(triangle) < p:
        triangle = np.vstack([triangle, np.zeros((p - len(triangle), p))])
    _, singular, right = np.linalg.svd(triangle)
    return singular, right.T
