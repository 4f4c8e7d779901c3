"""Trees laid out for a few rows (see `kernels.hist.few_rows`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.bins import BinMapper
from fastml.kernels.hist.few_rows import (
    BY_SET,
    COLUMN_SHIFT,
    LOST_LEFT,
    add_walks,
    sigmoids,
    two_classes,
)

FEW_ROWS = 8
"""Up to so many rows, walks take less time than preparing for many."""


class Walks:
    """All trees in a row, node by node.

    Parameters
    ----------
    trees : list of BoostedTree
    sets : ndarray of shape (n_sets, 4) of uint64
        The sets of all trees in turn, with the bit of missing values.
    mapper : BinMapper
        Knows the thresholds.
    """

    def __init__(self, trees, sets: NDArray, mapper: BinMapper):
        nodes = np.concatenate([tree.nodes for tree in trees])
        sizes = np.array([len(tree.nodes) for tree in trees])
        roots = np.cumsum(sizes) - sizes
        inner = np.flatnonzero(nodes["left"] >= 0)
        split, features = nodes[inner], nodes["feature_idx"][inner]
        by_set = split["is_categorical"].astype(bool)
        left = split["left"] + np.repeat(roots, sizes)[inner]
        columns = features if mapper.sources is None else mapper.sources[features]
        words = left.astype(np.uint64) | columns.astype(np.uint64) << COLUMN_SHIFT
        words |= np.where(split["missing_go_to_left"], LOST_LEFT, np.uint64(0))
        words |= np.where(by_set, BY_SET, np.uint64(0))
        thresholds = mapper.threshold_table(np.float64)[features, split["bin_threshold"]]
        self.words = np.zeros(len(nodes), np.uint64)
        self.words[inner] = words
        self.numbers = nodes["value"].copy()
        self.numbers[inner] = np.where(by_set, np.cumsum(by_set) - 1.0, thresholds)
        self.roots, self.sets = roots.astype(np.intp), sets
        self.categories = np.asarray(mapper.column_categories, np.intp)
        self.missing_code = mapper.missing_values_bin_idx_

    def add_to(self, X: NDArray, out: NDArray) -> None:
        """Add tree t to column t mod K of ``out`` (rows x K); ``X`` may be of any float type."""
        # A copy, so that the kernel sees one type of array only, and a short call stays one.
        add_walks(
            np.array(X, np.float64, order="C"),
            self.categories,
            self.missing_code,
            self.roots,
            self.words,
            self.numbers,
            self.sets,
            out,
        )


def probabilities(raw: NDArray, slope: float) -> NDArray:
    """Of two classes, from the raw sums of one column: the sigmoid is that of the second."""
    out = np.empty((raw.shape[0], 2))
    two_classes(raw, slope, out)
    return out


def sigmoid(raw: NDArray, slope: float) -> NDArray:
    """1 / (1 + exp(-slope raw)) of each entry."""
    out = np.empty(raw.shape)
    sigmoids(raw, slope, out)
    return out
