"""Least squares on few columns: which ones, by adding, removing and swapping one at a time.

½ \\|b − A w\\|² + price · (number of weights), with the number bounded. For chosen columns S the
gain of one more column j is exact: (a_j · r)² / (2 d_j), where r is the residual and d_j the
squared distance of column j from the span of S. A swap lets the best column in for each of S in
turn. The end is a set that no single change improves (Beck and Eldar, 2013; Hazimeh and Mazumder,
2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign

DEPENDENT_SHARE = 1e-10
"""Share of a column's square outside of the span of others below which it adds nothing."""


class Subset:
    """A set of columns and what follows from it."""

    def __init__(self, design: CentredDesign, b: NDArray):
        self.design, self.square = design, float(b @ b)
        self.cross = design.transposed(b)
        self.own = column_squares(design)
        self.lines: dict[int, NDArray] = {}

    def line(self, j: int) -> NDArray:
        """Row j of the Gram matrix."""
        if j not in self.lines:
            column = self.design.columns(np.array([j]))[:, 0]
            self.lines[j] = self.design.transposed(column)
        return self.lines[j]

    def weights(self, chosen: list[int]) -> tuple[NDArray, float]:
        """(least squares on the columns, half the squared residual)."""
        if not chosen:
            return np.empty(0), 0.5 * self.square
        gram = np.array([self.line(j)[chosen] for j in chosen])
        w = np.linalg.lstsq(gram, self.cross[chosen], rcond=None)[0]
        return w, 0.5 * max(self.square - float(w @ self.cross[chosen]), 0.0)

    def gains(self, chosen: list[int]) -> NDArray:
        """How much half the squared residual falls with each further column; 0 for those chosen."""
        if not chosen:
            pull, distance = self.cross, self.own
        else:
            rows = np.array([self.line(j) for j in chosen])
            gram = rows[:, chosen]
            share = np.linalg.lstsq(gram, rows, rcond=None)[0]
            pull = self.cross - self.cross[chosen] @ share
            distance = self.own - np.einsum("kj,kj->j", rows, share)
        enough = distance > DEPENDENT_SHARE * self.own
        found = np.zeros(len(self.own))
        np.divide(pull * pull, 2.0 * distance, out=found, where=enough & (self.own > 0.0))
        found[chosen] = 0.0
        return found


def column_squares(design: CentredDesign) -> NDArray:
    """Squared lengths of the columns of A."""
    total = np.zeros(design.n_features)
    for rows in design.blocks():
        part = design.rows(rows)
        total += np.einsum("ij,ij->j", part, part)
    return total


def best_subset(design: CentredDesign, b: NDArray, price: float, most: int, max_changes: int):
    """(weights, number of changes) of a set that no adding, removing or swapping improves.

    ``price`` is what a column must gain; ``most`` bounds the number of columns.
    """
    subset = Subset(design, b)
    chosen: list[int] = []
    _, loss = subset.weights(chosen)
    tiny = 1e-12 * subset.square
    changes = 0
    while changes < max_changes:
        better = _added(subset, chosen, loss, price, most, tiny)
        better = better or _removed(subset, chosen, loss, price, tiny)
        better = better or _swapped(subset, chosen, loss, tiny)
        if better is None:
            break
        chosen = better
        _, loss = subset.weights(chosen)
        changes += 1
    coef = np.zeros(design.n_features)
    coef[chosen] = subset.weights(chosen)[0]
    return coef, changes


def _added(subset, chosen, loss, price, most, tiny):
    if len(chosen) >= most:
        return None
    gains = subset.gains(chosen)
    j = int(gains.argmax())
    return [*chosen, j] if gains[j] > price + tiny else None


def _removed(subset, chosen, loss, price, tiny):
    for i in range(len(chosen)):
        rest = chosen[:i] + chosen[i + 1 :]
        if subset.weights(rest)[1] - loss < price - tiny:
            return rest
    return None


def _swapped(subset, chosen, loss, tiny):
    best, fall = None, tiny
    for i in range(len(chosen)):
        rest = chosen[:i] + chosen[i + 1 :]
        gains = subset.gains(rest)
        j = int(gains.argmax())
        gain = loss - (subset.weights(rest)[1] - gains[j])
        if j != chosen[i] and gain > fall:
            best, fall = [*rest, j], gain
    return best
