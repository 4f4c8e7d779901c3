"""Boosted trees from nodes that another library grew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import NODE, BoostedTree, check_trees

MAX_BINS = 255
MOST_THRESHOLDS = MAX_BINS - 1
"""Thresholds that one byte can number; a column with more of them serves as several features."""


class GrownTree(NamedTuple):
    """One tree; the root is node 0, children stand anywhere. A row goes left at a node if its value
    is not above the threshold, or its category in the node's set."""

    left: NDArray  # child, -1: a leaf
    right: NDArray
    feature: NDArray
    threshold: NDArray  # float64
    missing_left: NDArray  # whether missing values go left
    value: NDArray  # of leaves
    sets: dict[int, NDArray]  # node → categories that go left, where a split is by categories
    cover: NDArray | None = None  # weight of the training rows; None: not said

    @classmethod
    def constant(cls, value: float) -> GrownTree:
        """A single leaf."""
        none = np.array([-1], np.intp)
        zero = np.zeros(1)
        return cls(none, none, none, zero, np.zeros(1, bool), np.array([value]), {}, np.ones(1))


def assemble(
    trees: list[GrownTree], n_features: int, n_categories: NDArray, per_iteration: int
) -> tuple[BinMapper, list[list[BoostedTree]], NDArray | None]:
    """Bins and trees that `Packed` takes, and the weight of the training rows at all their nodes.

    Parameters
    ----------
    trees : list of GrownTree
        Tree t belongs to output t mod ``per_iteration``.
    n_features : int
    n_categories : ndarray of shape (n_features,)
        0 for a number; else categories are 0, 1, ... below it, at most 255 of them.
    per_iteration : int
        Outputs.
    """
    features = np.concatenate([tree.feature[tree.left >= 0] for tree in trees])
    thresholds = np.concatenate([tree.threshold[tree.left >= 0] for tree in trees])
    distinct = [
        np.arange(n_categories[f], dtype=np.float64)
        if n_categories[f]
        else np.unique(thresholds[features == f])
        for f in range(n_features)
    ]
    parts = [
        1 if n else max(1, -(-len(t) // MOST_THRESHOLDS)) for n, t in zip(n_categories, distinct)
    ]
    sources = np.repeat(np.arange(n_features), parts)
    firsts = np.cumsum(parts) - parts
    tables = [
        distinct[f] if n_categories[f] else _slice(distinct[f], i - firsts[f])
        for i, f in enumerate(sources)
    ]
    mapper = BinMapper(MAX_BINS)
    mapper.sources = sources if len(sources) > n_features else None
    mapper.bin_thresholds_ = tables
    mapper.n_categories_ = np.asarray(n_categories, np.intp)[sources]
    mapper.is_categorical_ = (mapper.n_categories_ > 0).astype(np.uint8)
    mapper.missing_values_bin_idx_ = MAX_BINS
    mapper.n_bins_non_missing_ = np.array(
        [len(t) + (not c) for t, c in zip(tables, mapper.n_categories_)], np.uint32
    )
    mapper.check_tables()
    orders = [relinked(tree.left, tree.right) for tree in trees]
    made = [_tree(tree, *order, distinct, firsts) for tree, order in zip(trees, orders)]
    k = per_iteration
    iterations = [made[i : i + k] for i in range(0, len(made), k)]
    check_trees(iterations, mapper)
    covers = [
        tree.cover[order] for tree, (order, *_) in zip(trees, orders) if tree.cover is not None
    ]
    return mapper, iterations, np.concatenate(covers) if len(covers) == len(trees) else None


def _slice(thresholds: NDArray, part: int) -> NDArray:
    return thresholds[part * MOST_THRESHOLDS : (part + 1) * MOST_THRESHOLDS]


def _tree(tree: GrownTree, order, depth, left_at, distinct: list[NDArray], firsts) -> BoostedTree:
    """Nodes level by level, siblings side by side."""
    nodes = np.zeros(len(order), NODE)
    numbers = np.array(order)
    inner = tree.left[numbers] >= 0
    nodes["left"] = -1
    nodes["left"][inner] = left_at
    nodes["depth"] = np.minimum(depth, 255)
    nodes["feature_idx"] = -1
    nodes["value"] = np.where(inner, 0.0, tree.value[numbers])
    nodes["missing_go_to_left"][inner] = tree.missing_left[numbers[inner]]
    sets = []
    for at in np.flatnonzero(inner):
        node = order[at]
        f = int(tree.feature[node])
        feature, place = int(firsts[f]), 0
        if node in tree.sets:
            nodes["is_categorical"][at] = 1
            sets.append(_words(tree.sets[node]))
        else:
            rank = int(np.searchsorted(distinct[f], tree.threshold[node]))
            feature, place = feature + rank // MOST_THRESHOLDS, rank % MOST_THRESHOLDS
        nodes["feature_idx"][at] = feature
        nodes["bin_threshold"][at] = place
    return BoostedTree(nodes, np.array(sets, np.uint64).reshape(-1, 4))


def relinked(left: NDArray, right: NDArray) -> tuple[list[int], list[int], list[int]]:
    """Nodes by levels, siblings side by side: their numbers, their depths, and where the left child
    of each inner one stands."""
    order, depth, left_at = [0], [0], []
    for at, node in enumerate(order):  # grows meanwhile
        if left[node] >= 0:
            left_at.append(len(order))
            order += [int(left[node]), int(right[node])]
            depth += [depth[at] + 1] * 2
            if len(order) > len(left):
                raise ValueError("the children of a tree do not form a tree")
    return order, depth, left_at


def _words(categories: NDArray) -> NDArray:
    words = np.zeros(4, np.uint64)
    for code in categories:
        words[int(code) >> 6] |= np.uint64(1 << (int(code) & 63))
    return words
