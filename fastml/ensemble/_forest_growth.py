"""Growth of a forest's trees, block by block: parameters → rules, targets → what kernels take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.ensemble._forest_codes import EXACT_ROWS, encode
from fastml.kernels import forest_score, tree_nodes
from fastml.kernels.forest_codes import assign_keys
from fastml.kernels.forest_grow import grow_trees

CRITERIA = {
    "gini": (forest_score.SQUARED, tree_nodes.GINI),
    "entropy": (forest_score.ENTROPY, tree_nodes.ENTROPY),
    "log_loss": (forest_score.ENTROPY, tree_nodes.ENTROPY),
    "error": (forest_score.ERROR, tree_nodes.ERROR),
    "squared_error": (forest_score.SQUARED, tree_nodes.SQUARED_ERROR),
    "friedman_mse": (forest_score.SQUARED, tree_nodes.SQUARED_ERROR),
    "poisson": (forest_score.POISSON, tree_nodes.POISSON),
    "absolute_error": (None, tree_nodes.ABSOLUTE_ERROR),
}
"""Criterion → code in the split search, code in a tree.

On one output Friedman's criterion chooses the splits of squared error: w_l w_r / w (m_l - m_r)² is
what a split takes from the sum of squares.
"""

LARGEST = 2**31 - 1
BLOCK_BYTES = 1 << 29
BLOCK_OPERATIONS = 2e8
"""Memory and work of a launch and thread: about half a second, so that Ctrl-C is heard."""


@dataclass
class TreeRules:
    """What shapes a tree, in absolute numbers."""

    criterion: str
    is_class: bool
    max_depth: int
    min_split: int
    min_leaf: int
    leaf_fraction: float
    max_features: int
    max_leaves: int
    min_decrease: float
    signs: NDArray | None = None


@dataclass
class Grower:
    """Grows trees on one training set.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
        Rows; NaN is missing.
    y : ndarray of shape (n, n_outputs), float64
        Targets or class codes.
    n_classes : ndarray of shape (n_outputs,)
        Classes per output, or ones.
    rules : TreeRules
        Shape of the trees.
    random : bool
        Random thresholds instead of the best.
    splitter : {'auto', 'exact', 'hist'}
        Ranks of distinct values, or bins.
    keep_rows : bool
        Whether to return the rows of every leaf.
    """

    X: NDArray
    y: NDArray
    n_classes: NDArray
    rules: TreeRules
    random: bool
    splitter: str
    n_jobs: int | None
    keep_rows: bool = False
    _coded: object = field(default=None, init=False)

    def __post_init__(self):
        n, d = self.X.shape
        r = self.rules
        depth = max(1.0, np.log2(n))
        self.operations = 3.0 * n * min(depth, r.max_depth) * r.max_features
        self.pairs = self.y.shape[1] == 1 and (not r.is_class or self.n_classes[0] <= 2)
        # Writable, as the frames of subtrees are: one type, one compilation.
        self.targets = np.require(self.y.T, np.float64, ["C", "W"])
        self.offsets = None
        if not self.pairs:
            self.offsets = kernel_view(np.cumsum([1, *self.n_classes]), np.int64)
        self.n_columns = len(self.n_classes) * int(self.n_classes.max())
        code = CRITERIA[r.criterion][0]
        self.integers = np.zeros(forest_score.N_RULES, np.int64)
        self.integers[:] = (
            r.max_depth,
            r.min_split,
            r.min_leaf,
            r.max_features,
            r.max_leaves,
            -1 if code is None else code,
            r.is_class,
            r.signs is not None,
        )
        scale = 1.0
        if r.criterion == "gini" and self.pairs:
            scale = 2.0
        elif code == forest_score.ENTROPY:
            scale = 1.0 / np.log(2.0)
        self.floats = np.array([r.leaf_fraction, r.min_decrease, scale])
        self.signs = None
        if self.pairs:
            self.signs = kernel_view(np.zeros(d, np.int8) if r.signs is None else r.signs)

    def threads(self, n_trees: int) -> int:
        return effective_n_threads(self.n_jobs, n_trees * self.operations)

    def _columns(self):
        """(columns, codes): what the split search looks at."""
        if self._coded is None:
            n_threads = effective_n_threads(self.n_jobs, self.X.size * 10.0)
            if self.random:
                columns = np.empty(self.X.shape[::-1], np.uint32)
                assign_keys(kernel_view(self.X), columns, n_threads=n_threads)
                self._coded = columns, None
            else:
                exact = self.splitter == "exact" or (
                    self.splitter == "auto" and len(self.X) <= EXACT_ROWS
                )
                self._coded = encode(self.X, exact, n_threads)
        return self._coded

    def most_nodes(self) -> int:
        most = 2 * len(self.X) - 1
        if self.rules.max_leaves:
            most = min(most, 2 * self.rules.max_leaves - 1)
        if self.rules.max_depth < 30:
            most = min(most, 2 ** (self.rules.max_depth + 1) - 1)
        return max(most, 1)

    def block_size(self, n_threads: int) -> int:
        """Trees of a launch."""
        nodes = self.most_nodes()
        scratch = 16 + 8 + (0 if self.n_columns == 1 else 4 * self.n_columns) + 48
        by_memory = BLOCK_BYTES // (nodes * scratch + 8 * len(self.X) + 1)
        by_work = n_threads * max(1.0, BLOCK_OPERATIONS // self.operations)
        return max(n_threads, int(min(by_memory, by_work)))

    def grow(self, seeds: NDArray, weights: NDArray, n_threads: int) -> list[tuple]:
        """Trees as `Trees.extended` takes them, and the rows of their leaves.

        ``weights`` has a row per tree, or one for all.
        """
        k, n, nodes = len(seeds), len(self.X), self.most_nodes()
        leaves = nodes // 2 + 1
        grown = np.empty((k, nodes), tree_nodes.NODE)
        scalar = self.n_columns == 1
        table = np.empty((k, 1 if scalar else leaves + 1, self.n_columns))
        leaf_weights = np.empty((k, leaves))
        samples = np.empty((k, leaves), np.int32)
        impurities = np.empty((k, leaves))
        rows = np.empty((k, n if self.keep_rows else 0), np.int32)
        sizes = np.empty((k, 3), np.int64)
        columns, codes = self._columns()
        grow_trees(
            kernel_view(seeds), columns, self.targets, codes, True if codes is None else None,
            self.offsets, self.signs, kernel_view(self.integers), kernel_view(self.floats),
            np.require(weights, np.float64, ["C", "W"]), grown, table, leaf_weights, samples,
            impurities, rows, sizes, n_threads=n_threads,
        )  # fmt: skip
        found = []
        for t in range(k):
            n_nodes, n_leaves, n_table = sizes[t]
            found.append(
                (
                    grown[t, :n_nodes].copy(),
                    samples[t, :n_leaves].copy(),
                    leaf_weights[t, :n_leaves].copy(),
                    None if self.rules.is_class else impurities[t, :n_leaves].copy(),
                    table[t, : 0 if scalar else n_table].copy(),
                    rows[t, : samples[t, :n_leaves].sum()].copy() if self.keep_rows else None,
                )
            )
        return found
