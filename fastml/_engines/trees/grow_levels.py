"""Grow a shallow regression tree level by level: the tree that `grow` gives, without its copies.

For ensembles of many shallow trees on the same columns, such as gradient boosting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.tree import Tree
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.finish import depth_first
from fastml.kernels.tree.level_grow import (
    ROWS_PER_CHUNK,
    LevelNodes,
    choose_splits,
    level_statistics,
    route_rows,
    scan_columns,
    take_back,
)
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE, SQUARED_ERROR

DEEPEST = 7
"""Up to here a level's nodes have numbers of 8 bits; partitioned columns are for deeper trees."""


class Columns(NamedTuple):
    """Rows (n, d) of finite float32 values, and the entries of their columns from `presort`."""

    X: NDArray
    orders: NDArray


def by_levels(rules: GrowthRules, n_features: int) -> bool:
    """Whether `grow_levels` can follow the rules, and is worth it; its columns are plain numbers
    without constraints."""
    return (
        rules.criterion == SQUARED_ERROR
        and not rules.random
        and rules.max_depth <= DEEPEST
        and not rules.max_leaves
        and rules.max_features >= n_features
    )


def _slots(n_rows: int, max_depth: int) -> LevelNodes:
    size = min(2 ** (max_depth + 1), 2 * n_rows) + 1
    return LevelNodes(
        np.empty(size, np.int32),
        np.empty(size),
        np.full(size, -1, np.int32),
        np.empty(size, np.uint64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.zeros(size, np.bool_),
    )


def grow_levels(
    columns: Columns,
    rules: GrowthRules,
    values: NDArray,
    weights: NDArray | None = None,
    *,
    seed: int = 0,
    n_threads: int = 1,
) -> tuple[Tree, NDArray]:
    """Grow a tree by squared error; see `grow` for the parameters.

    Returns
    -------
    tree : Tree
    leaves : ndarray of shape (n,)
        Node index of every row's leaf, rows of weight zero included.
    """
    X, orders = columns
    n, d = X.shape
    unit = weights is None or bool(np.all((weights == 1.0) | (weights == 0.0)))
    tree = _slots(n, rules.max_depth)
    slots = np.zeros(n, np.int32)
    lanes = np.ones(n, np.uint8) if weights is None else (weights != 0.0).astype(np.uint8)
    scale = None if unit else weights
    moments = values if unit else values * weights
    n_chunks = -(-n // ROWS_PER_CHUNK)
    tree.seeds[0] = seed
    level_statistics(0, 1, 0, lanes, values, scale, rules, tree)
    first, last, n_nodes, homes = 0, 1, 1, []
    for depth in range(1, rules.max_depth + 1):
        if tree.final[first:last].all():
            break
        scores = np.empty((d, last - first + 1))
        edges = np.empty((d, last - first + 1, 2), np.uint64)
        scan_columns(
            orders, lanes, moments, scale, first, last, tree, rules, scores, edges,
            n_threads=n_threads,
        )  # fmt: skip
        size = choose_splits(first, last, scores, edges, tree)
        if size == last:
            break
        route_rows(n_chunks, first, last, X, weights, tree, slots, lanes, n_threads=n_threads)
        level_statistics(last, size, depth, lanes, values, scale, rules, tree)
        n_nodes += size - last
        if rules.min_decrease > 0.0:
            whole = float(n if weights is None else weights.sum())
            lefts = tree.lefts[first:last].copy()
            n_nodes -= 2 * take_back(first, last, rules.min_decrease, whole, tree)
            for slot in first + np.flatnonzero(lefts != tree.lefts[first:last]):
                homes.append((slot, lefts[slot - first]))
        first, last = last, size
    return _finish(tree, slots, n_nodes, homes, unit, d)


def _finish(
    tree: LevelNodes, slots: NDArray, n_nodes: int, homes: list, unit: bool, n_features: int
):
    """Nodes depth first; ``homes`` are pairs of a slot and the first of two that it took back."""
    n_slots = len(tree.lefts)
    lefts = tree.lefts.astype(np.intp)
    rights = np.where(lefts >= 0, lefts + 1, -1)
    source = np.empty(n_slots, np.intp)
    depth_first(lefts, rights, n_slots, source)
    source = source[:n_nodes]
    left = lefts[source]
    is_leaf = left < 0
    nodes = np.empty(n_nodes, NODE)
    larger = np.where(is_leaf, 0, tree.counts[left] > tree.counts[left + 1])
    nodes["feature"] = np.where(is_leaf, LEAF, tree.features[source] | larger * MISSING_LEFT)
    nodes["right"] = np.where(is_leaf, 0, rights[:n_nodes])
    leaf_slots = source[is_leaf]
    nodes["threshold"] = tree.thresholds[source]
    nodes["threshold"][is_leaf] = tree.sums[leaf_slots] / tree.weights[leaf_slots]
    places = np.empty(n_slots, np.intp)
    places[source] = np.arange(n_nodes)
    for slot, child in homes:
        places[child : child + 2] = places[slot]
    impurities = tree.impurities[leaf_slots]
    made = Tree(
        nodes,
        tree.counts[leaf_slots].astype(np.int32),
        None if unit else tree.weights[leaf_slots],
        np.zeros((0, 1)),
        n_features=n_features,
        n_classes=[1],
        criterion=SQUARED_ERROR,
        leaf_impurity=impurities if np.any(impurities != 0.0) else None,
    )
    return made, places[slots]
