"""The trees of a forest, kept in a few arrays; single trees are views of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.forest_predict import pack_trees, sum_of_leaves, sum_of_packed
from fastml.kernels.tree_nodes import NODE, SQUARED_ERROR
from fastml.tree._packed import NO_BITSETS, Forest
from fastml.tree._tree import Tree, smallest

ROWS_AT_ONCE = 256
"""Few rows go through a tree together: their values and the tree stay in the nearest caches."""

KEYS_AT_ONCE = 1 << 17
"""Values of many rows that stay in the cache beside a packed tree."""

NODES_PER_ROW = 6
"""Packing is worth its time for trees of fewer nodes than this for every row."""


def add_leaf_values(nodes, bounds, table, table_starts, scalar, X, out, n_threads) -> None:
    """out[i] += sum over the trees ``nodes[bounds[t]:bounds[t + 1]]`` of the value of row i's leaf.

    The same to the bit by either way, as the trees are added in turn.
    """
    X, table = kernel_view(X, np.float32), kernel_view(table)
    bounds, table_starts = kernel_view(bounds, np.intp), kernel_view(table_starts, np.intp)
    nodes = kernel_view(nodes)
    n_rows, n_features = X.shape
    sizes = np.diff(bounds)
    total = int(sizes.sum())
    column_bits = max(1, int(2 * n_features - 1).bit_length())
    child_bits = int(sizes.max(initial=1)).bit_length()
    if total > NODES_PER_ROW * n_rows * len(sizes) or column_bits + child_bits > 32:
        sum_of_leaves(
            nodes, bounds[:-1], table, table_starts, scalar, X, out, ROWS_AT_ONCE,
            n_threads=n_threads,
        )  # fmt: skip
        return
    missing = bool(np.isnan(X.min(initial=np.inf)))
    shift = np.uint64(32 + column_bits)
    words = np.empty(total, np.uint64)
    values = np.empty(total if scalar else 0)
    codes = np.empty(0 if scalar else total, np.int32)
    pack_trees(
        nodes, bounds, n_features, missing, shift, scalar, words, values, codes,
        n_threads=min(n_threads, len(sizes)),
    )  # fmt: skip
    rows = min(max(256, KEYS_AT_ONCE // (n_features << missing)), max(256, n_rows // 16))
    sum_of_packed(
        words, bounds, values, codes, table, table_starts, scalar, shift, missing, X, out, rows,
        n_threads=n_threads,
    )  # fmt: skip


def _smallest(array: NDArray) -> NDArray:
    """The same numbers in the smallest unsigned type, if they are whole and not negative."""
    if not array.size or array.min() < 0 or not np.array_equal(array, np.floor(array)):
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
    leaf_impurities: NDArray | None
    leaf_starts: NDArray
    table: NDArray
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

        impurity = None
        if self.leaf_impurities is not None:
            impurity = np.concatenate([self.leaf_impurities, *impurities])
        return Trees(
            np.concatenate([self.nodes, *nodes]),
            ends(self.starts, nodes),
            _smallest(np.concatenate([self.leaf_samples, *samples])),
            _smallest(np.concatenate([self.leaf_weights, *weights])),
            impurity,
            ends(self.leaf_starts, samples),
            np.concatenate([self.table, *tables]),
            ends(self.table_starts, tables),
            self.n_features,
            self.n_classes,
            self.criterion,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def parts(self, t: int) -> tuple:
        """What `extended` takes, of tree t."""
        node = slice(self.starts[t], self.starts[t + 1])
        leaf = slice(self.leaf_starts[t], self.leaf_starts[t + 1])
        table = slice(self.table_starts[t], self.table_starts[t + 1])
        impurity = None if self.leaf_impurities is None else self.leaf_impurities[leaf]
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
        last = len(self) if last is None else last
        out = np.zeros((X.shape[0], self.table.shape[1]))
        add_leaf_values(
            self.nodes, self.starts[first : last + 1], self.table, self.table_starts[first:last],
            self.scalar, X, out, n_threads,
        )  # fmt: skip
        return out

    @property
    def scalar(self) -> bool:
        """Whether a leaf holds its value itself."""
        return self.criterion >= SQUARED_ERROR and len(self.n_classes) == 1

    def packed(self, first: int = 0, last: int | None = None) -> Forest:
        """Trees ``first`` to ``last`` as the prediction kernels take them; nothing is copied."""
        last = len(self) if last is None else last
        return Forest(
            kernel_view(self.nodes),
            kernel_view(self.starts[first:last], np.intp),
            kernel_view(self.table),
            kernel_view(self.table_starts[first:last], np.intp),
            kernel_view(NO_BITSETS),
            self.scalar,
            self.table.shape[1],
        )
