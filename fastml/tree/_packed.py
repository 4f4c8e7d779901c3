"""Trees packed one after the other, as the prediction kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.tree_predict import forest_apply, forest_sum

STEP = 8.0
"""Multiply-adds that one step down a tree is worth."""

NO_BITSETS = np.zeros(1, np.uint32)


class Forest(NamedTuple):
    """Trees packed one after the other: what the prediction kernels take."""

    nodes: NDArray
    starts: NDArray
    table: NDArray
    table_starts: NDArray
    bitsets: NDArray
    scalar: bool
    n_columns: int

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
        forest_sum(
            n_chunks, rows, self.nodes, self.starts, self.table, self.table_starts, self.scalar,
            kernel_view(scales, np.float64), self.bitsets, X, out, n_threads=n_threads,
        )  # fmt: skip
        return out


_FIRST = kernel_view(np.zeros(1, np.intp))


def pack(trees: list) -> Forest:
    """Join trees of one kind; a single tree is not copied."""
    first = trees[0]
    if len(trees) == 1:
        return Forest(
            kernel_view(first.nodes),
            _FIRST,
            kernel_view(first.table),
            _FIRST,
            kernel_view(first.bitsets),
            first.scalar,
            first.n_columns,
        )
    nodes = np.concatenate([tree.nodes for tree in trees])
    starts = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
    table_starts = np.cumsum([0, *(len(tree.table) for tree in trees[:-1])])
    bitsets = first.bitsets
    if any(tree.bitsets is not NO_BITSETS and len(tree.bitsets) > 1 for tree in trees):
        bitset_starts = np.cumsum([0, *(len(tree.bitsets) for tree in trees[:-1])])
        bitsets = np.concatenate([tree.bitsets for tree in trees])
        for tree, start, shift in zip(trees, starts, bitset_starts):
            here = nodes["threshold"][start : start + tree.node_count]
            here[tree.is_categorical] += shift
    return Forest(
        kernel_view(nodes),
        kernel_view(starts, np.intp),
        kernel_view(np.concatenate([tree.table for tree in trees])),
        kernel_view(table_starts, np.intp),
        kernel_view(bitsets),
        first.scalar,
        first.n_columns,
    )
