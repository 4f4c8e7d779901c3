"""The trees of a forest, kept in a few arrays; single trees are views of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.packed import NO_BITSETS, Forest
from fastml._engines.trees.stored import (
    Counts,
    Shares,
    as_counts,
    check_trees,
    for_kernels,
    keep_impurities,
    kept_impurities,
    row_weights,
    small_table,
    smallest,
)
from fastml._engines.trees.tree import Tree
from fastml._validation import kernel_view
from fastml.kernels.tree.nodes import NODE, SQUARED_ERROR


def _smallest(array: NDArray) -> NDArray:
    """The same numbers in the smallest unsigned type, if they are whole and not negative."""
    if (
        not array.size
        or array.min() < 0
        or array.max() >= 2**63
        or not np.array_equal(array, np.floor(array))
    ):
        return array
    return smallest(array)


@dataclass
class Trees:
    """Nodes, leaves and leaf values of all trees, one tree after the other.

    ``starts``, ``leaf_starts`` and ``table_starts`` have one entry more than there are trees.
    """

    nodes: NDArray
    starts: NDArray
    leaf_samples: NDArray
    leaf_weights: NDArray
    leaf_impurities: NDArray | str | None  # see `kept_impurities`
    leaf_starts: NDArray
    table: NDArray | Shares
    table_starts: NDArray
    n_features: int
    n_classes: NDArray
    criterion: int

    @classmethod
    def empty(cls, n_features, n_classes, criterion) -> Trees:
        n_classes = np.asarray(n_classes, dtype=np.intp)
        none = np.zeros(1, np.intp)
        return cls(
            np.empty(0, NODE),
            none,
            np.empty(0, np.uint8),
            np.empty(0, np.uint8),
            np.empty(0) if criterion >= SQUARED_ERROR else None,
            none,
            np.empty((0, len(n_classes) * int(n_classes.max()))),
            none,
            n_features,
            n_classes,
            criterion,
        )

    def extended(self, grown: list[tuple]) -> Trees:
        """With more trees: (nodes, leaf samples, weights, impurities, table) of each."""
        nodes, samples, weights, impurities, tables = zip(*grown)

        def ends(starts, arrays):
            return np.concatenate([starts, starts[-1] + np.cumsum([len(a) for a in arrays])])

        impurity = kept_impurities(self.nodes, self.leaf_impurities)
        if impurity is not None:
            more = [kept_impurities(*pair) for pair in zip(nodes, impurities)]
            impurity = np.concatenate([impurity, *more])
        made = Trees(
            np.concatenate([self.nodes, *nodes]),
            ends(self.starts, nodes),
            _smallest(np.concatenate([self.leaf_samples, *samples])),
            _smallest(np.concatenate([self.leaf_weights, *weights])),
            impurity,
            ends(self.leaf_starts, samples),
            np.concatenate([np.asarray(table) for table in (self.table, *tables)]),
            ends(self.table_starts, tables),
            self.n_features,
            self.n_classes,
            self.criterion,
        )
        made._keep_small()
        return made

    def _keep_small(self) -> None:
        """Whole counts of classes in place of their shares, impurities in place of thresholds."""
        mapped = not self.nodes.flags.writeable
        if isinstance(self.leaf_impurities, np.ndarray) and not self.scalar and not mapped:
            self.leaf_impurities = keep_impurities(self.nodes, self.leaf_impurities)
        if self.criterion < SQUARED_ERROR:
            self.table = small_table(self.table, self.nodes, self.leaf_weights, self._shifts)

    def __getstate__(self):
        state = vars(self).copy()
        if self.criterion < SQUARED_ERROR and len(self.table):
            table = np.asarray(self.table)
            counts = as_counts(table, self._row_weights(len(table)))
            state["table"] = table if counts is None else counts
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        n_columns = len(self.n_classes) * int(max(self.n_classes, default=1))
        leaf = check_trees(
            self.nodes, self.starts, self.table_starts, NO_BITSETS, self.n_features, n_columns,
            self.scalar,
        )  # fmt: skip
        if isinstance(self.table, Counts):
            n_rows = int(self.table_starts[-1])
            self.table = self.table.table(n_rows) / self._row_weights(n_rows)[:, None]
        n_leaves = np.add.reduceat(leaf, self.starts[:-1], dtype=np.intp)
        if (
            self.table.shape != (self.table_starts[-1], n_columns)
            or not np.array_equal(np.diff(self.leaf_starts), n_leaves)
            or not len(self.leaf_samples) == len(self.leaf_weights) == self.leaf_starts[-1]
        ):
            raise ValueError("a stored tree was altered: its leaves and their values do not match")
        self._keep_small()

    @property
    def _shifts(self) -> NDArray:
        """Where the rows of the table of each node's tree begin."""
        return np.repeat(self.table_starts[:-1], np.diff(self.starts))

    def _row_weights(self, n_rows: int) -> NDArray:
        return row_weights(self.nodes, self.leaf_weights, n_rows, self._shifts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def parts(self, t: int) -> tuple:
        """What `extended` takes, of tree t."""
        node = slice(self.starts[t], self.starts[t + 1])
        leaf = slice(self.leaf_starts[t], self.leaf_starts[t + 1])
        table = slice(self.table_starts[t], self.table_starts[t + 1])
        impurity = self.leaf_impurities
        if isinstance(impurity, np.ndarray):
            impurity = impurity[leaf]
        return (
            self.nodes[node],
            self.leaf_samples[leaf],
            self.leaf_weights[leaf],
            impurity,
            self.table[table],
        )

    def tree(self, t: int) -> Tree:
        nodes, samples, weights, impurity, table = self.parts(t)
        return Tree(
            nodes,
            samples.astype(np.int32),
            weights.astype(np.float64),
            table,
            n_features=self.n_features,
            n_classes=self.n_classes,
            criterion=self.criterion,
            leaf_impurity=impurity,
        )

    def sum(self, X: NDArray, n_threads: int, first: int = 0, last: int | None = None) -> NDArray:
        """Sum over the trees of the value of every row's leaf: (n_rows, columns)."""
        return self.packed(first, last).sum(X, n_threads=n_threads)

    @property
    def scalar(self) -> bool:
        """Whether a leaf holds its value itself."""
        return self.criterion >= SQUARED_ERROR and len(self.n_classes) == 1

    def packed(self, first: int = 0, last: int | None = None) -> Forest:
        """Trees ``first`` to ``last`` for prediction; nothing is copied."""
        last = len(self) if last is None else last
        return Forest(
            kernel_view(self.nodes),
            kernel_view(self.starts[first : last + 1], np.intp),
            for_kernels(self.table),
            kernel_view(self.table_starts[first:last], np.intp),
            kernel_view(NO_BITSETS),
            self.scalar,
            self.table.shape[1],
        )
