"""Forests on absolute error, by the exact growth of single trees; pruning of a forest's trees."""

from __future__ import annotations

import numpy as np

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.tree_nodes import ABSOLUTE_ERROR, LEAF, SQUARED_ERROR
from fastml.tree._grow import Options, grow, presort
from fastml.tree._pruning import pruned


def parts_of(tree) -> tuple:
    """A tree as `Trees.extended` takes it."""
    impurity = None
    if tree.criterion >= SQUARED_ERROR:
        impurity = np.asarray(tree.impurity)[tree.nodes["feature"] == LEAF]
    weights = tree.leaf_samples if tree.leaf_weights is None else tree.leaf_weights
    return tree.nodes, tree.leaf_samples, weights, impurity, tree.table


def pruned_parts(tree, alpha: float) -> tuple:
    """The parts of the smallest tree that minimises impurity + alpha * leaves."""
    return parts_of(pruned(tree, alpha))


class AbsoluteGrower:
    """As `Grower`, one tree after the other; columns are sorted once for all trees."""

    def __init__(self, X, y, rules, random, n_jobs):
        self.n_threads = effective_n_threads(n_jobs, X.size * 20.0)
        self.orders = presort(X, self.n_threads)
        self.values = kernel_view(y.T)
        self.rules, self.random = rules, random

    def threads(self, n_trees):
        return self.n_threads

    def block_size(self, n_threads):
        return 1

    def grow(self, seeds, weights, n_threads):
        r = self.rules
        total = weights[0].sum()
        options = Options(
            ABSOLUTE_ERROR,
            random=self.random,
            max_depth=r.max_depth,
            min_split=r.min_split,
            min_leaf=r.min_leaf,
            min_weight=r.leaf_fraction * total,
            min_decrease=r.min_decrease,
            max_features=r.max_features,
            max_leaves=r.max_leaves or None,
            signs=r.signs,
        )
        found = []
        for t, seed in enumerate(seeds):
            tree, _ = grow(
                self.orders,
                options,
                values=self.values,
                weights=weights[t % len(weights)],
                seed=int(seed),
                n_threads=self.n_threads,
            )
            found.append((*parts_of(tree), None))
        return found
