"""Trees one after the other in memory: leaves of rows, and sums of leaf values.

Sums go one of two ways, the same to the bit, as the trees are added in turn. Many rows walk through
trees packed into words (`forest.predict`), which costs about a row's walk for every few nodes; few
rows, and trees with categories, use the nodes as they are (`tree.predict`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.stored import COUNT, Shares, for_kernels
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.forest.predict import TreesInWords, pack_trees, sum_of_packed
from fastml.kernels.tree.nodes import FEATURE, LEAF
from fastml.kernels.tree.predict import forest_apply, forest_sum

STEP = 8.0
"""Multiply-adds that one step down a tree is worth."""

NO_BITSETS = np.zeros(1, np.uint32)

KEYS_AT_ONCE = 1 << 17
"""Values of rows that stay in the cache beside a packed tree."""

NODES_PER_ROW = 6
"""Packing is worth its time for trees of fewer nodes than this for every row,"""

FEWEST_WALKS = 1 << 14
"""and from this many rows times trees on."""


class Forest(NamedTuple):
    """Trees one after the other; a single one is a forest, too."""

    nodes: NDArray
    bounds: NDArray  # tree t is nodes[bounds[t]:bounds[t + 1]]
    table: NDArray  # of values of leaves; or of counts, uint16, and their sum in one column more
    table_starts: NDArray
    bitsets: NDArray
    scalar: bool
    n_columns: int

    @property
    def starts(self) -> NDArray:
        return self.bounds[:-1]

    def part(self, first: int, last: int) -> Forest:
        """Trees ``first`` to ``last``; nothing is copied."""
        return self._replace(
            bounds=self.bounds[first : last + 1], table_starts=self.table_starts[first:last]
        )

    def _chunks(self, X, n_threads):
        depth = 1.0 + np.log2(1.0 + self.nodes.shape[0] / len(self.starts))
        per_row = STEP * depth * len(self.starts)
        rows = min(chunk_rows(X.shape[0], per_row, at_least=256), max(1, X.shape[0]))
        if n_threads is None:
            n_threads = effective_n_threads(None, X.shape[0] * per_row)
        return -(-X.shape[0] // rows), rows, n_threads

    def apply(self, X, n_threads: int | None = None) -> NDArray:
        """Leaf of every row in every tree: (n_rows, n_trees)."""
        X = kernel_view(X, np.float32)
        n_chunks, rows, n_threads = self._chunks(X, n_threads)
        out = np.empty((X.shape[0], len(self.starts)), np.int64)
        forest_apply(
            n_chunks, rows, self.nodes, self.starts, self.bitsets, X, out, n_threads=n_threads
        )
        return out

    def sum(self, X, scales=None, n_threads: int | None = None, out=None) -> NDArray:
        """Sum over the trees of ``scales[t]`` times the value of every row's leaf."""
        X = kernel_view(X, np.float32)
        n_chunks, rows, n_threads = self._chunks(X, n_threads)
        if out is None:
            out = np.zeros((X.shape[0], self.n_columns))
        if scales is None:
            scales = np.ones(len(self.starts))
        scales = kernel_view(scales, np.float64)
        shift = self._shift(*X.shape)
        if shift is not None:
            trees = self._packed(X, scales, np.uint64(shift), n_threads)
            width = X.shape[1] << trees.missing
            rows = min(max(256, KEYS_AT_ONCE // width), max(256, len(X) // 16))
            sum_of_packed(trees, X, out, rows, n_threads=n_threads)
        else:
            forest_sum(
                n_chunks, rows, self.nodes, self.starts, self.table, self.table_starts,
                self.scalar, scales, self.bitsets, X, out, n_threads=n_threads,
            )  # fmt: skip
        return out

    def _shift(self, n_rows: int, n_features: int) -> int | None:
        """Where children begin in the words of packed trees; None if packing is not worth it or not
        possible."""
        walks = n_rows * len(self.table_starts)
        n_nodes = self.bounds[-1] - self.bounds[0]
        if walks < FEWEST_WALKS or n_nodes > NODES_PER_ROW * walks:
            return None
        return self.word_shift(n_features)

    def word_shift(self, n_features: int) -> int | None:
        """The same, whether packing is worth it or not."""
        column_bits = max(1, int(2 * n_features - 1).bit_length())
        child_bits = int(np.diff(self.bounds).max()).bit_length()
        if column_bits + child_bits > 32 or len(self.bitsets) > len(NO_BITSETS):
            return None
        return 32 + column_bits

    def in_words(self, X, other, n_threads: int) -> TreesInWords:
        """Packed for rows that have values of both matrices; where `word_shift` allows it."""
        shift = np.uint64(self.word_shift(X.shape[1]) or 0)
        scales = kernel_view(np.ones(len(self.starts)))
        missing = bool(np.isnan(X.min(initial=0.0)) or np.isnan(other.min(initial=0.0)))
        values = np.asarray(Shares(self.table)) if self.table.dtype == COUNT else self.table
        plain = self._replace(table=kernel_view(values))
        return plain._packed(X, scales, shift, n_threads, missing)

    def _packed(self, X, scales, shift, n_threads, missing=None) -> TreesInWords:
        n_nodes = int(self.bounds[-1] - self.bounds[0])
        trees = TreesInWords(
            bounds=self.bounds,
            words=np.empty(n_nodes, np.uint64),
            values=np.empty(n_nodes if self.scalar else 0),
            codes=np.empty(0 if self.scalar else n_nodes, np.int32),
            table=self.table,
            table_starts=self.table_starts,
            scales=scales,
            scalar=self.scalar,
            missing=bool(np.isnan(X.min())) if missing is None else missing,
            shift=shift,
        )
        pack_trees(self.nodes, X.shape[1], trees, n_threads=min(n_threads, len(self.starts)))
        return trees


_FIRST = kernel_view(np.zeros(1, np.intp))


def pack(trees: list) -> Forest:
    """Join trees of one kind; a single tree is not copied."""
    first = trees[0]
    if len(trees) == 1:
        return Forest(
            kernel_view(first.nodes),
            kernel_view(np.array([0, first.node_count], np.intp)),
            for_kernels(first.table),
            _FIRST,
            kernel_view(first.bitsets),
            first.scalar,
            first.n_columns,
        )
    nodes = np.concatenate([tree.nodes for tree in trees])
    bounds = np.cumsum([0, *(tree.node_count for tree in trees)])
    table_starts = np.cumsum([0, *(len(tree.table) for tree in trees[:-1])])
    bitsets = first.bitsets
    if any(tree.bitsets is not NO_BITSETS and len(tree.bitsets) > 1 for tree in trees):
        bitset_starts = np.cumsum([0, *(len(tree.bitsets) for tree in trees[:-1])])
        bitsets = np.concatenate([tree.bitsets for tree in trees])
        for tree, start, shift in zip(trees, bounds, bitset_starts):
            here = nodes["threshold"][start : start + tree.node_count]
            here[tree.is_categorical] += shift
    return Forest(
        kernel_view(nodes),
        kernel_view(bounds, np.intp),
        kernel_view(np.concatenate([np.asarray(tree.table) for tree in trees])),
        kernel_view(table_starts, np.intp),
        kernel_view(bitsets),
        first.scalar,
        first.n_columns,
    )


def with_columns(forest: Forest, columns: list[NDArray], n_features: int) -> Forest:
    """The trees of a copied forest reading ``columns[t][j]`` where tree t says column j."""
    nodes = forest.nodes.copy()
    for t, mine in enumerate(columns):
        own = nodes["feature"][forest.bounds[t] : forest.bounds[t + 1]]
        own[:] = renumbered(own, mine, n_features)
    return forest._replace(nodes=kernel_view(nodes))


def renumbered(features: NDArray, columns: NDArray, n_features: int) -> NDArray:
    """Features of nodes, flags included, with ``columns[j]`` in the place of column j."""
    inner = features != LEAF
    number, flags = features & FEATURE, features & ~FEATURE
    if inner.any() and number[inner].max() >= len(columns):
        raise ValueError(f"a tree splits by column {number[inner].max()} of {len(columns)}")
    columns = np.asarray(columns, np.int32)
    if len(columns) and not 0 <= columns.min() <= columns.max() < n_features:
        raise ValueError(f"columns of a tree must be between 0 and {n_features - 1}")
    return np.where(inner, columns[np.where(inner, number, 0)] | flags, features)
