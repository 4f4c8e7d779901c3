"""Forests on absolute error, by the exact growth of single trees; pruning of a forest's trees."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.pruning import pruned
from fastml._engines.trees.tree import Tree
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.ensemble._forest._trees import Trees
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import SQUARED_ERROR


@dataclass
class MedianTrees(Trees):
    """Trees whose inner values and impurities do not follow from those of their leaves."""

    inner_values: NDArray
    impurities: NDArray

    @classmethod
    def empty(cls, n_features, n_classes, criterion) -> MedianTrees:
        none = Trees.empty(n_features, n_classes, criterion)
        none.leaf_impurities = None
        return cls(**vars(none), inner_values=np.asarray(none.table), impurities=np.empty(0))

    def extended(self, grown: list[tuple]) -> MedianTrees:
        """With more trees: what `parts_of` gives of each."""
        more = super().extended([parts[:5] for parts in grown])
        return MedianTrees(
            **vars(more),
            inner_values=np.concatenate([self.inner_values, *(parts[5] for parts in grown)]),
            impurities=np.concatenate([self.impurities, *(parts[6] for parts in grown)]),
        )

    def parts(self, t: int) -> tuple:
        starts = self.starts - self.leaf_starts  # inner nodes of the trees before
        return (
            *super().parts(t),
            self.inner_values[starts[t] : starts[t + 1]],
            self.impurities[self.starts[t] : self.starts[t + 1]],
        )

    def tree(self, t: int) -> Tree:
        nodes, samples, weights, _, table, inner_values, impurity = self.parts(t)
        return Tree(
            nodes,
            samples,
            weights.astype(np.float64),
            table,
            n_features=self.n_features,
            n_classes=self.n_classes,
            criterion=self.criterion,
            inner_values=inner_values,
            stored_impurity=impurity,
        )


def parts_of(tree: Tree) -> tuple:
    """A tree as `extended` takes it."""
    weights = tree.leaf_samples if tree.leaf_weights is None else tree.leaf_weights
    parts = (tree.nodes, tree.leaf_samples, weights)
    if tree.inner_values is not None:
        return (*parts, None, tree.table, tree.inner_values, tree.stored_impurity)
    impurity = tree.impurity[tree.is_leaf] if tree.criterion >= SQUARED_ERROR else None
    return (*parts, impurity, tree.table)


def pruned_parts(tree: Tree, alpha: float) -> tuple:
    """The parts of the smallest tree that minimises impurity + alpha * leaves."""
    return parts_of(pruned(tree, alpha))


class AbsoluteGrower:
    """As `ForestGrower`, one tree after the other; columns are sorted once for all trees."""

    def __init__(self, X, y, rules: GrowthRules, leaf_share: float, signs, n_jobs):
        self.n_threads = effective_n_threads(n_jobs, X.size * 20.0)
        self.orders = presort(X, self.n_threads)
        self.values = kernel_view(y.T)
        self.rules, self.leaf_share, self.signs = rules, leaf_share, signs

    def encode(self):
        """Columns are sorted as the grower is made."""

    def of_columns(self, columns, signs) -> AbsoluteGrower:
        """A grower of trees that know some columns only, and number them anew."""
        made = copy(self)
        made.orders, made.signs = self.orders[columns], signs
        return made

    def threads(self, n_trees):
        return self.n_threads

    def block_size(self, n_threads):
        return 1

    def grow(self, seeds, weights, n_threads):
        rules = self.rules._replace(min_weight=self.leaf_share * weights[0].sum())
        found = []
        for t, seed in enumerate(seeds):
            tree, leaves = grow(
                self.orders,
                rules,
                values=self.values,
                weights=weights[t % len(weights)],
                signs=self.signs,
                seed=int(seed),
                n_threads=self.n_threads,
            )
            by_leaf = np.argsort(leaves, kind="stable")
            found.append((*parts_of(tree), by_leaf[np.count_nonzero(leaves < 0) :]))
        return found
