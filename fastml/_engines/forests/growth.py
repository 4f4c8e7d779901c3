"""Growth of a forest's trees, block by block: parameters → rules, targets → what kernels take."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastml._engines.forests.codes import EXACT_ROWS, encode
from fastml._threads import effective_n_threads, interruptible
from fastml._validation import kernel_view
from fastml.kernels.forest.codes import assign_keys
from fastml.kernels.forest.frame import Codes, Frame
from fastml.kernels.forest.grow import GrownTrees, grow_trees
from fastml.kernels.tree import nodes as tree_nodes
from fastml.kernels.tree.exact_split import GrowthRules

CRITERIA = {
    "gini": tree_nodes.GINI,
    "entropy": tree_nodes.ENTROPY,
    "log_loss": tree_nodes.ENTROPY,
    "error": tree_nodes.ERROR,
    "squared_error": tree_nodes.SQUARED_ERROR,
    "friedman_mse": tree_nodes.SQUARED_ERROR,
    "poisson": tree_nodes.POISSON,
    "absolute_error": tree_nodes.ABSOLUTE_ERROR,
}
"""Criterion → code.

On one output Friedman's criterion chooses the splits of squared error: w_l w_r / w (m_l - m_r)² is
what a split takes from the sum of squares.
"""

LARGEST = 2**31 - 1
BLOCK_BYTES = 1 << 29
BLOCK_OPERATIONS = 2e8
"""Memory and work of a launch and thread: about half a second, so that Ctrl-C takes effect."""
LONG_TREE = 1e7
"""Work of one tree from which Ctrl-C is watched for while it grows."""


@dataclass
class ForestGrower:
    """Grows trees on one training set.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
        Rows; NaN is missing.
    y : ndarray of shape (n, n_outputs), float64
        Targets or class codes.
    n_classes : ndarray of shape (n_outputs,)
        Classes per output, or ones.
    rules : GrowthRules
        Shape of the trees.
    leaf_share : float
        Least weight of a leaf, as a share of its tree's.
    signs : ndarray of shape (d,) or None
        Directions of the columns.
    splitter : {'auto', 'exact', 'hist'}
        Ranks of distinct values, or bins.
    keep_rows : bool
        Whether to return the rows of every leaf.
    """

    X: NDArray
    y: NDArray
    n_classes: NDArray
    rules: GrowthRules
    leaf_share: float
    signs: NDArray | None
    splitter: str
    n_jobs: int | None
    keep_rows: bool = False
    _coded: object = field(default=None, init=False)

    def __post_init__(self):
        n = len(self.X)
        r = self.rules
        self.is_class = r.criterion <= tree_nodes.ERROR
        depth = max(1.0, np.log2(n))
        self.operations = 3.0 * n * min(depth, r.max_depth) * r.max_features
        pairs = self.y.shape[1] == 1 and (not self.is_class or self.n_classes[0] <= 2)
        # Writable, as the frames of subtrees are: one type, one compilation.
        self.targets = np.require(self.y.T, np.float64, ["C", "W"])
        self.offsets = self.directions = None
        if pairs:
            self.set_directions(self.signs, self.X.shape[1])
        else:
            self.offsets = kernel_view(np.cumsum([1, *self.n_classes]), np.int64)
        self.n_columns = len(self.n_classes) * int(self.n_classes.max())

    def set_directions(self, signs, d: int):
        """What kernels take as signs of d columns; none where they work on slots."""
        if self.offsets is None:
            self.directions = kernel_view(np.zeros(d, np.int8) if signs is None else signs)

    def threads(self, n_trees: int) -> int:
        return effective_n_threads(self.n_jobs, n_trees * self.operations)

    def encode(self):
        """(columns, codes): what the split search looks at."""
        if self._coded is None:
            n_threads = effective_n_threads(self.n_jobs, self.X.size * 10.0)
            if self.rules.random:
                columns = np.empty(self.X.shape[::-1], np.uint32)
                assign_keys(kernel_view(self.X), columns, n_threads=n_threads)
                self._coded = columns, None
            else:
                exact = self.splitter == "exact" or (
                    self.splitter == "auto" and len(self.X) <= EXACT_ROWS
                )
                self._coded = encode(self.X, exact, n_threads)
        return self._coded

    def of_columns(self, columns: NDArray, signs: NDArray | None) -> ForestGrower:
        """A grower of trees that know some columns only, and number them anew.

        ``signs`` are the directions of these columns.
        """
        values, codes = self.encode()
        made = copy(self)
        made.set_directions(signs, len(columns))
        if codes is not None:
            codes = Codes(*(kernel_view(part[columns]) for part in codes))
        made._coded = values[columns], codes
        return made

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
        scalar = self.n_columns == 1
        grown = GrownTrees(
            nodes=np.empty((k, nodes), tree_nodes.NODE),
            table=np.empty((k, 1 if scalar else leaves + 1, self.n_columns)),
            leaf_weights=np.empty((k, leaves)),
            leaf_rows=np.empty((k, leaves), np.int32),
            leaf_impurities=np.empty((k, leaves)),
            rows_by_leaf=np.empty((k, n if self.keep_rows else 0), np.int32),
            sizes=np.empty((k, 3), np.int64),
            stop=np.zeros(1, np.uint8),
        )
        columns, codes = self.encode()
        frame = Frame(columns, self.targets, np.require(weights, np.float64, ["C", "W"]))
        arguments = (
            kernel_view(seeds), frame, codes, True if codes is None else None, self.offsets,
            self.directions, self.rules, self.leaf_share, grown,
        )  # fmt: skip
        if self.operations < LONG_TREE:
            grow_trees(*arguments, n_threads=n_threads)
        else:
            interruptible(grow_trees, *arguments, stop=grown.stop, n_threads=n_threads)
        found = []
        for t in range(k):
            n_nodes, n_leaves, n_table = grown.sizes[t]
            samples = grown.leaf_rows[t, :n_leaves].copy()
            impurities = grown.leaf_impurities[t, :n_leaves].copy()
            rows = grown.rows_by_leaf[t, : samples.sum()].copy()
            found.append(
                (
                    grown.nodes[t, :n_nodes].copy(),
                    samples,
                    grown.leaf_weights[t, :n_leaves].copy(),
                    None if self.is_class else impurities,
                    grown.table[t, : 0 if scalar else n_table].copy(),
                    rows if self.keep_rows else None,
                )
            )
        return found
