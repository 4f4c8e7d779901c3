"""Small trees as lists of conditions, for predicting many rows (see `kernels.hist.leaf_masks`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.hist.leaf_masks import (
    CONDITIONS_AT_ONCE,
    ROWS_PER_BLOCK,
    Conditions,
    add_small_trees,
)

ROWS_AT_ONCE = 1 << 16
"""Rows predicted at a time."""


def ordered_integers(values: NDArray) -> NDArray:
    """Integers in the order of the numbers, of their width."""
    bits = (values + values.dtype.type(0)).view(f"i{values.itemsize}")  # minus zero becomes zero
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


class LeafMasks:
    """The conditions of all trees, for rows of one float type.

    Parameters
    ----------
    trees : list of BoostedTree
        Of at most 31 leaves each for float32, 63 for float64.
    sets : ndarray of shape (n_sets, 4) of uint64
        The sets of all trees in turn, with the bit of missing values.
    mapper : BinMapper
        Knows the thresholds.
    dtype : dtype
        float32 or float64.
    """

    def __init__(self, trees, sets, mapper, dtype):
        self.dtype, self.mapper = np.dtype(dtype), mapper
        self.integer = np.dtype(f"i{self.dtype.itemsize}")
        infinity = self.dtype.type(np.inf).view(self.integer)
        self.limits = np.array([np.iinfo(self.integer).max, infinity], self.integer)
        self.categories = mapper.column_categories
        nodes = np.concatenate([tree.nodes for tree in trees])
        sizes = np.array([len(tree.nodes) for tree in trees])
        roots = np.cumsum(sizes) - sizes
        tree_of = np.repeat(np.arange(len(trees)), sizes)
        inner = nodes["left"] >= 0
        left = np.where(inner, nodes["left"] + np.repeat(roots, sizes), 0)
        # Leaves below a node, and how many come before it, level by level.
        below, before = np.ones(len(nodes), np.intp), np.zeros(len(nodes), np.intp)
        levels = [
            np.flatnonzero(inner & (nodes["depth"] == depth))
            for depth in range(int(nodes["depth"].max()) + 1)
        ]
        for level in reversed(levels):
            below[level] = below[left[level]] + below[left[level] + 1]
        for level in levels:
            before[left[level]] = before[level]
            before[left[level] + 1] = before[level] + below[left[level]]
        masks = ((1 << below[left].astype(np.int64)) - 1) << before
        leaf_starts = np.cumsum(below[roots]) - below[roots]
        values = np.empty(int(below[roots].sum()))
        values[leaf_starts[tree_of[~inner]] + before[~inner]] = nodes["value"][~inner]
        by_set = nodes["is_categorical"].astype(bool) & inner
        numeric = inner & ~by_set
        self.conditions = Conditions(
            *self._thresholds(nodes[numeric], tree_of[numeric], masks[numeric], len(trees)),
            np.searchsorted(tree_of[by_set], np.arange(len(trees) + 1)),
            self._columns(nodes["feature_idx"][by_set]),
            sets,
            masks[by_set].astype(self.integer),
            leaf_starts,
            values,
        )

    def _thresholds(self, nodes, tree_of, masks, n_trees):
        """Bounds, columns, far, thresholds and lefts of `Conditions`; groups are filled up with
        conditions that rule nothing out."""
        counts = np.bincount(tree_of, minlength=n_trees)
        padded = -(-counts // CONDITIONS_AT_ONCE) * CONDITIONS_AT_ONCE
        bounds = np.concatenate([[0], np.cumsum(padded)])
        gaps = bounds[:-1] - np.cumsum(counts) + counts
        at = np.arange(len(nodes)) + np.repeat(gaps, counts)
        size = int(bounds[-1])
        table = ordered_integers(self.mapper.threshold_table(self.dtype))
        columns, far = np.zeros(size, np.intp), np.zeros(size, np.intp)
        thresholds = np.full(size, np.iinfo(self.integer).max, self.integer)
        lefts = np.zeros(size, self.integer)
        columns[at] = self._columns(nodes["feature_idx"])
        far[at] = nodes["missing_go_to_left"]
        thresholds[at] = table[nodes["feature_idx"], nodes["bin_threshold"]]
        lefts[at] = masks
        return bounds, columns, far, thresholds, lefts

    def _columns(self, features: NDArray) -> NDArray:
        sources = self.mapper.sources
        return features.astype(np.intp) if sources is None else sources[features]

    def add_to(self, X: NDArray, out: NDArray, n_jobs: int | None) -> None:
        """Add tree t to column t mod K of ``out`` (rows x K)."""
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            self._add(kernel_view(X[part], self.dtype), out[part], n_jobs)

    def _add(self, X, out, n_jobs):
        bits = X.view(self.integer)
        n_trees = len(self.conditions.leaf_starts)
        rows = -(-chunk_rows(len(X), 10.0 * n_trees) // ROWS_PER_BLOCK) * ROWS_PER_BLOCK
        add_small_trees(
            X,
            bits,
            self.limits,
            self.categories,
            self.mapper.missing_values_bin_idx_,
            self.conditions,
            out,
            rows,
            n_threads=effective_n_threads(n_jobs, 10.0 * len(X) * n_trees),
        )


def masks_for(trees, sets, mapper, dtype) -> LeafMasks | None:
    """Masks for rows of the type, of twice its width if need be; None if a tree is too large."""
    most = max(tree.get_n_leaf_nodes() for tree in trees)
    if most > 63:
        return None
    return LeafMasks(trees, sets, mapper, np.float64 if most > 31 else dtype)
