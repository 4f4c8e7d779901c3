"""Coordinate descent on the columns that matter: working sets that grow until the gap is small.

Most weights of a sparse solution stay 0, and a pass over all columns is only needed to say so. The
solver keeps the columns that ever mattered, their Gram matrix, and works on that; then one product
A'r with all columns gives the duality gap of the whole problem, and the columns to add: those that
the strong rule (Tibshirani et al., 2012) expects, or that pull hardest. The pulls that descent
starts from are those of the residual itself, so that rounding of the Gram matrix does not add up.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml.kernels.linear.gram_descent import Net, descend, objective_and_gap
from fastml.kernels.linear.group_descent import group_descend, group_gap

FIRST_SET = 200
"""Columns of the first working set; later ones have up to twice the columns in use."""

NEARLY = 0.9
"""Share of l1 that a column must pull with to enter a working set."""

INNER = 0.3
"""Share of the tolerance to which a working set is solved."""


class ColumnCache:
    """Columns of A that were asked for, one after the other, with their Gram matrix."""

    def __init__(self, design: CentredDesign):
        self.design = design
        self.slot = np.full(design.n_features, -1, dtype=np.intp)
        self.chosen = np.empty(0, dtype=np.intp)
        self.gram = np.zeros((64, 64))
        self.lines = None if design.sparse else np.empty((64, design.n_rows))
        self.matrix = None

    def add(self, columns: NDArray) -> None:
        new = columns[self.slot[columns] < 0]
        if not len(new):
            return
        m, k = len(self.chosen), len(new)
        if m + k > len(self.gram):
            size = max(2 * len(self.gram), m + k)
            self.gram = _grown(self.gram, (size, size), m, m)
            if self.lines is not None:
                self.lines = _grown(self.lines, (size, self.lines.shape[1]), m)
        self.slot[new] = np.arange(m, m + k)
        self.chosen = np.append(self.chosen, new)
        if self.lines is not None:
            self.lines[m : m + k] = self.design.columns(new).T
            block = self.lines[m : m + k] @ self.lines[: m + k].T
        else:
            block = self._sparse_block(new)
        self.gram[m : m + k, : m + k] = block
        self.gram[:m, m : m + k] = block[:, :m].T

    def _sparse_block(self, new):
        design = self.design
        added = design.X[:, new].tocsc().astype(np.float64)
        self.matrix = (
            added if self.matrix is None else sp.hstack([self.matrix, added], format="csc")
        )
        left = added if design.root is None else sp.diags_array(design.weights) @ added
        block = (left.T @ self.matrix).toarray()
        if design.centre:
            block -= design.total * np.outer(design.means[new], design.means[self.chosen])
        return block

    def fitted(self, w: NDArray) -> NDArray:
        """A w for weights (or rows of weights) of the columns kept."""
        if self.lines is not None:
            return self.lines[: len(w)].T @ w
        found = self.matrix @ w
        if self.design.centre:
            found = found - self.design.means[self.chosen] @ w
        return found if self.design.root is None else (found.T * self.design.root).T


def _grown(array, shape, *filled):
    larger = np.zeros(shape)
    part = tuple(slice(n) for n in filled)
    larger[part] = array[part]
    return larger


class WorkingSets:
    """State of a path: weights, residual and pulls of every column.

    ``b`` has one column a target, or is one vector. ``order`` may shuffle a working set.
    """

    def __init__(self, design: CentredDesign, b: NDArray, positive=False, start=None, shuffle=None):
        self.design, self.b, self.positive, self.shuffle = design, b, positive, shuffle
        self.square = float((b * b).sum())
        self.cross = design.transposed(b)
        self.cache = ColumnCache(design)
        self.w = np.zeros(self.cross.shape)
        self.pull = self.cross
        if start is not None and start.any():
            self.w[:] = start
            self.cache.add(self.support())
            self._renew()
        self.everything = np.arange(design.n_features)

    def support(self) -> NDArray:
        return np.flatnonzero(self.w if self.w.ndim == 1 else self.w.any(axis=1))

    def _renew(self):
        """Residual and pulls of the weights as they are."""
        residual = self.b - self.cache.fitted(self.w[self.cache.chosen])
        self.pull = self.design.transposed(residual)

    def gap(self, l1: float, l2: float) -> float:
        if self.w.ndim == 1:
            net = Net(l1, l2, self.positive)
            return objective_and_gap(
                self.cross, self.square, self.pull, self.w, self.everything, net
            )[1]
        return group_gap(self.cross, self.square, self.pull, self.w, self.everything, l1, l2)

    def solve(self, l1: float, l2: float, tol: float, most: int, before: float | None = None):
        """(gap, passes), to a gap of ``tol`` · \\|b\\|²; ``before``: l1 of the solution at hand."""
        passes = 0
        gap = self.gap(l1, l2)
        at_least = 0 if before is None else 1  # a new penalty of a path has weights of its own
        while (gap > tol * self.square or at_least) and passes < most:
            columns = self._choose(l1, l2, before)
            before = None
            self.cache.add(columns)
            moved, more = self._descend(columns, l1, l2, INNER * tol, most - passes, at_least)
            passes, at_least = passes + more, 0
            if not moved:
                break
            self._renew()
            gap = self.gap(l1, l2)
        return gap, passes

    def _choose(self, l1, l2, before) -> NDArray:
        """The columns in use, and those that pull hardest."""
        slopes = self.pull - l2 * self.w
        if slopes.ndim == 2:
            scores = np.sqrt(np.einsum("jt,jt->j", slopes, slopes))
        else:
            scores = slopes.copy() if self.positive else np.abs(slopes)
        support = self.support()
        scores[support] = -1.0
        threshold, most = NEARLY * l1, max(FIRST_SET, 2 * len(support))
        if before is not None:
            threshold, most = min(threshold, 2.0 * l1 - before), 5 * most
        entering = np.flatnonzero(scores >= max(threshold, 0.0))
        if len(entering) > most:
            entering = entering[np.argpartition(-scores[entering], most)[:most]]
        chosen = np.concatenate([support, entering])
        return chosen if self.shuffle is None else self.shuffle.permutation(chosen)

    def _descend(self, columns, l1, l2, tol, most, at_least):
        """(whether a weight moved, passes): descent on the working set alone."""
        cache = self.cache
        order = cache.slot[columns]
        w, pull = self.w[cache.chosen], self.pull[cache.chosen]
        cross = self.cross[cache.chosen]
        old = w.copy()
        if w.ndim == 1:
            net = Net(l1, l2, self.positive)
            _, passes = descend(
                cache.gram, cross, self.square, pull, w, order, net, tol, most, at_least
            )
        else:
            _, passes = group_descend(
                cache.gram, cross, self.square, pull, w, order, l1, l2, tol, most
            )
        self.w[cache.chosen] = w
        return bool((w != old).any()), passes
