"""Cost-complexity pruning: the path, the pruned tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.stored import smallest
from fastml._engines.trees.tree import Tree
from fastml._validation import kernel_view
from fastml.kernels.tree.nodes import CATEGORIES, LEAF, SQUARED_ERROR
from fastml.kernels.tree.prune import kept_nodes, weakest_links


def pruning_path(tree: Tree, most: float = np.inf) -> tuple[NDArray, NDArray, NDArray]:
    """Alphas and impurities of the nested trees, and the alpha at which each node collapses."""
    weights = tree._relative_weights
    risks = tree.impurity * weights / weights[0]
    n = tree.node_count
    alphas, impurities = np.empty(n + 1), np.empty(n + 1)
    collapsed_at = np.empty(n, np.intp)
    steps = weakest_links(
        kernel_view(tree.nodes), kernel_view(risks), most, alphas, impurities, collapsed_at
    )
    alphas, impurities = alphas[:steps].copy(), impurities[:steps].copy()
    collapse = np.where(collapsed_at >= 0, alphas[np.maximum(collapsed_at, 0)], np.inf)
    return alphas, impurities, collapse


def pruned(tree: Tree, alpha: float) -> Tree:
    """The smallest tree that minimises impurity + alpha * leaves."""
    return with_leaves(tree, pruning_path(tree, alpha)[2] <= alpha)


def with_leaves(tree: Tree, leaf_now: NDArray) -> Tree:
    """The tree in which the nodes of a mask are leaves."""
    if not leaf_now.any():
        return tree
    old = np.empty(tree.node_count, np.intp)
    old = old[: kept_nodes(kernel_view(tree.nodes), kernel_view(leaf_now), old)]
    new_index = np.full(tree.node_count, -1, np.intp)
    new_index[old] = np.arange(len(old))
    nodes = tree.nodes[old]
    is_leaf = leaf_now[old] | (nodes["feature"] == LEAF)
    nodes["feature"][is_leaf] = LEAF
    nodes["right"][~is_leaf] = new_index[nodes["right"][~is_leaf]]
    leaves = old[is_leaf]
    values = tree._flat_values[leaves]
    nodes["threshold"][is_leaf] = 0.0
    table = np.zeros((0, tree.n_columns))
    if tree.scalar:
        nodes["right"][is_leaf] = 0
        nodes["threshold"][is_leaf] = values[:, 0]
    else:
        pure = np.zeros(len(leaves), bool)
        if tree.n_outputs == 1:
            pure = values.max(axis=1) == 1.0
        right = np.empty(len(leaves), np.int32)
        right[pure] = ~values[pure].argmax(axis=1)
        right[~pure] = np.arange(np.count_nonzero(~pure))
        nodes["right"][is_leaf] = right
        table = np.ascontiguousarray(values[~pure])
    stored, classify = tree.inner_values is not None, tree.criterion < SQUARED_ERROR
    inner = old[~is_leaf]
    bitsets = tree.bitsets
    if len(bitsets) > 1:
        bitsets = _used_sets(nodes, bitsets)
    return Tree(
        nodes,
        smallest(tree.n_node_samples[leaves]),
        None if tree.leaf_weights is None else tree.weighted_n_node_samples[leaves],
        table,
        n_features=tree.n_features,
        n_classes=tree.n_classes,
        criterion=tree.criterion,
        leaf_impurity=None if classify or stored else tree.impurity[leaves],
        bitsets=bitsets,
        n_categories=tree.n_categories,
        inner_values=tree._flat_values[inner, : tree.inner_values.shape[1]] if stored else None,
        stored_impurity=tree.stored_impurity[old] if stored else None,
    )


def _used_sets(nodes, bitsets):
    """Only the sets of categories that are still in use."""
    where = np.flatnonzero((nodes["feature"] != LEAF) & ((nodes["feature"] & CATEGORIES) != 0))
    parts, offset = [np.zeros(1, np.uint32)], 1
    for i in where:
        at = int(nodes["threshold"][i])
        parts.append(bitsets[at : at + 1 + int(bitsets[at] & 0x7FFFFFFF)])
        nodes["threshold"][i] = offset
        offset += len(parts[-1])
    return np.concatenate(parts)
