"""Quantiles of a regression forest: leaves keep a few of their targets (Meinshausen, 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.forest.quantiles import count_kept, draw_kept, leaf_quantiles
from fastml.kernels.tree.nodes import LEAF

ROWS_AT_ONCE = 1 << 14


class LeafTargets(NamedTuple):
    """Targets that leaves keep, all leaves of all trees in turn.

    A leaf of equal targets keeps none: they are its value. Kept targets weigh the same.
    """

    counts: NDArray
    targets: NDArray

    @classmethod
    def empty(cls) -> LeafTargets:
        return cls(np.empty(0, np.uint8), np.empty(0))

    def extended(self, more: list[LeafTargets]) -> LeafTargets:
        """With those of further trees."""
        return LeafTargets(*(np.concatenate(parts) for parts in zip(self, *more)))

    def first(self, n_leaves: int) -> LeafTargets:
        """Of the first leaves only."""
        counts = self.counts[:n_leaves]
        return LeafTargets(counts, self.targets[: counts.sum(dtype=np.intp)])


def kept_targets(rows, samples, y, weights, most: int, seed: int) -> LeafTargets:
    """At most ``most`` targets of every leaf of a tree, drawn with chances equal to the weights.

    ``rows`` are the tree's rows leaf by leaf, ``samples`` their numbers. A draw is systematic, at
    equal steps of the weight from a random start: a leaf whose weights are whole and sum to no more
    than ``most`` keeps all its targets, as often as they weigh.
    """
    leaves = kernel_view(rows, np.int64), kernel_view(samples, np.int64)
    data = kernel_view(y), kernel_view(weights, np.float64)
    counts = np.empty(len(samples), np.int64)
    targets = np.empty(count_kept(*leaves, *data, most, counts))
    draw_kept(*leaves, *data, np.random.default_rng(seed).random(len(samples)), counts, targets)
    return LeafTargets(counts.astype(np.min_scalar_type(most)), targets)


def quantiles_of_leaves(forest, X, quantiles) -> NDArray:
    """(n_rows, n_quantiles) of the kept targets in the leaves of every row."""
    trees, kept = forest._trees, forest._leaf_targets
    is_leaf = trees.nodes["feature"] == LEAF
    leaf_number = np.cumsum(is_leaf) - 1
    starts = np.concatenate([[0], np.cumsum(kept.counts, dtype=np.intp)])
    largest = np.maximum.reduceat(kept.counts, trees.leaf_starts[:-1])
    most = int(np.maximum(largest, 1).sum())
    out = np.empty((len(X), len(quantiles)))
    per_row = 20.0 * most
    n_threads = effective_n_threads(forest.n_jobs, len(X) * per_row)
    for first in range(0, len(X), ROWS_AT_ONCE):
        block = X[first : first + ROWS_AT_ONCE]
        leaves = trees.packed().apply(block, n_threads) + trees.starts[:-1]
        leaf_quantiles(
            kernel_view(leaf_number[leaves]),
            kernel_view(trees.nodes["threshold"][is_leaf]),
            kernel_view(starts),
            kernel_view(kept.targets),
            most,
            kernel_view(quantiles),
            out[first : first + ROWS_AT_ONCE],
            chunk_rows(len(block), per_row),
            n_threads=n_threads,
        )
    return out
