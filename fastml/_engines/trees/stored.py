"""Trees as they are kept and pickled: class shares as counts, and checks of what comes back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.tree.nodes import CATEGORIES, FEATURE, LEAF

MOST = 2**32
"""Counts are pickled if they are below this."""

COUNT = np.uint16
"""Counts in memory: one type, so that kernels are compiled for two kinds of tables only."""

IN_THRESHOLDS = "thresholds"
"""In the place of the impurities of leaves: they stand where nodes have a threshold. A leaf with a
row of the table, as those of several outputs, leaves its own free."""


def keep_impurities(nodes: NDArray, impurities: NDArray) -> str:
    """Write the impurities of leaves to the thresholds of ``nodes``."""
    nodes["threshold"][nodes["feature"] == LEAF] = impurities
    return IN_THRESHOLDS


def kept_impurities(nodes: NDArray, impurities: NDArray | str | None) -> NDArray | None:
    """Impurities of leaves, wherever they are."""
    if isinstance(impurities, str):
        return nodes["threshold"][nodes["feature"] == LEAF]
    return impurities


class Counts(NamedTuple):
    """A table of whole numbers, all of them or row by row those that are not zero."""

    numbers: NDArray
    columns: NDArray | None  # of the numbers; None: all columns in turn
    sizes: NDArray | None  # numbers of a row
    width: int

    def table(self, n_rows: int) -> NDArray:
        if self.columns is None or self.sizes is None:
            return self.numbers.reshape(n_rows, self.width).astype(np.float64)
        rows = np.repeat(np.arange(n_rows), self.sizes)
        if (self.columns >= self.width).any():
            raise ValueError("a stored tree was altered: a leaf has a class that there is not")
        found = np.zeros((n_rows, self.width))
        found[rows, self.columns] = self.numbers
        return found


def smallest(numbers: NDArray) -> NDArray:
    """Whole numbers from 0 up, in the smallest type."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _whole(shares: NDArray, weights: NDArray) -> NDArray | None:
    """Whole numbers that give the shares, to the bit, when divided by the weights of their rows;
    None if there are none."""
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = np.rint(shares * weights[:, None])
    if not shares.size or not numbers.max() < MOST or numbers.min() < 0.0:
        return None
    return numbers if np.array_equal(numbers / weights[:, None], shares) else None


class Shares:
    """A table of class shares, kept as counts of 16 bits with the weight of the row behind them.
    NumPy reads it as the float64 array that it stands for."""

    def __init__(self, counts: NDArray):
        self.counts = counts

    @property
    def shape(self) -> tuple[int, int]:
        return self.counts.shape[0], self.counts.shape[1] - 1

    @property
    def nbytes(self) -> int:
        return self.counts.nbytes

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: slice) -> Shares:
        return Shares(self.counts[rows])

    def __array__(self, dtype=None, copy=None) -> NDArray:
        found = self.counts[:, :-1] / self.counts[:, -1:].astype(np.float64)
        return found if dtype is None else found.astype(dtype, copy=False)


def small_table(table, nodes: NDArray, leaf_weights: NDArray, shifts=0):
    """A table of class shares as `Shares`, if they are whole counts of whole weights that 16 bits
    hold; otherwise as it is. ``shifts`` as for `row_weights`."""
    if isinstance(table, Shares) or not len(table):
        return table
    weights = row_weights(nodes, leaf_weights, len(table), shifts)
    if not weights.max() <= np.iinfo(COUNT).max or not np.array_equal(weights, np.floor(weights)):
        return table
    counts = _whole(table, weights)
    if counts is None or counts.max() > np.iinfo(COUNT).max:
        return table
    return Shares(np.column_stack([counts, weights]).astype(COUNT))


def for_kernels(table) -> NDArray:
    """What kernels take for a table: the counts of shares, other tables as they are."""
    return kernel_view(table.counts if isinstance(table, Shares) else table)


def as_counts(shares: NDArray, weights: NDArray) -> Counts | None:
    """Counts that give the shares, to the bit, when divided by the weights of their rows; None if
    there are none."""
    numbers = _whole(shares, weights)
    if numbers is None:
        return None
    rows, columns = np.nonzero(numbers)
    every, columns = smallest(numbers), smallest(columns)
    some, sizes = every[rows, columns], smallest(np.bincount(rows, minlength=len(shares)))
    if some.nbytes + columns.nbytes + sizes.nbytes < every.nbytes:
        return Counts(some, columns, sizes, shares.shape[1])
    return Counts(every.ravel(), None, None, shares.shape[1])


def row_weights(nodes: NDArray, leaf_weights: NDArray, n_rows: int, shifts=0) -> NDArray:
    """Weight of the leaf of every row of the table; ``shifts``: where the rows of the node's tree
    begin."""
    leaf = nodes["feature"] == LEAF
    places = (nodes["right"] + shifts)[leaf]
    mixed = nodes["right"][leaf] >= 0
    found = np.ones(n_rows)
    found[places[mixed]] = leaf_weights[mixed]
    return found


CHECKED_AT_ONCE = 1 << 15
"""Nodes whose checks stay in the cache."""


def check_trees(
    nodes: NDArray,
    bounds: NDArray,
    table_bounds: NDArray,
    bitsets: NDArray,
    n_features: int,
    n_columns: int,
    scalar: bool,
) -> NDArray:
    """Refuse trees, one after the other in ``nodes``, whose indices lead outside. Which nodes are
    leaves."""
    rising = [bounds[0] == 0, bounds[-1] == len(nodes), *(np.diff(bounds) > 0)]
    _check(len(bounds) == len(table_bounds) and all(rising), "its trees do not follow one another")
    leaf = np.empty(len(nodes), np.bool_)
    first = 0
    while first < len(bounds) - 1:
        enough = np.searchsorted(bounds, bounds[first] + CHECKED_AT_ONCE, "right") - 1
        last = max(first + 1, int(enough))
        some = slice(bounds[first], bounds[last])
        sizes, rows = (np.diff(each[first : last + 1]) for each in (bounds, table_bounds))
        leaf[some] = _check_some(
            nodes[some], sizes, None if scalar else rows, bitsets, n_features, n_columns
        )
        first = last
    return leaf


def _check(holds, what: str) -> None:
    if not np.all(holds):
        raise ValueError(f"a stored tree was altered: {what}")


def _check_some(nodes, sizes, rows, bitsets, n_features, n_columns) -> NDArray:
    """`check_trees` of a few; ``rows``: how many each has in the table, None if there is none."""
    kind = np.dtype(np.int32 if len(nodes) < 2**31 else np.intp)  # half the memory to pass over
    right, feature = (np.ascontiguousarray(nodes[name]) for name in ("right", "feature"))
    following = np.arange(1, len(nodes) + 1, dtype=kind)
    following -= np.repeat((np.cumsum(sizes) - sizes).astype(kind), sizes)
    leaf = feature == LEAF
    inside = (right > following) & (right < np.repeat(sizes.astype(kind), sizes))
    _check(leaf | inside, "a child lies outside of it")
    if rows is not None:
        there = (right < np.repeat(rows, sizes)) & (right >= -n_columns)
        _check(~leaf | there, "no such leaf")
    if feature.min() >= LEAF and feature.max() < n_features:  # columns without a flag, or leaves
        return leaf
    _check(leaf | ((feature >= 0) & ((feature & FEATURE) < n_features)), "no such column")
    sets = ~leaf & ((feature & CATEGORIES) != 0)
    if sets.any():
        at = nodes["threshold"][sets]
        _check((at >= 0) & (at < len(bitsets)), "no such set of categories")
        words = bitsets[at.astype(np.intp)] & 0x7FFFFFFF
        _check(at + 1 + words <= len(bitsets), "a set of categories ends outside")
    return leaf
