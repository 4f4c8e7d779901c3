"""From grown nodes to the tree that is kept: values of the leaves, sets of categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.packed import NO_BITSETS
from fastml._engines.trees.stored import smallest
from fastml._engines.trees.tree import Tree
from fastml.kernels.tree.exact_split import SortedRows
from fastml.kernels.tree.finish import leaf_statistics
from fastml.kernels.tree.grow import Grown
from fastml.kernels.tree.nodes import CATEGORIES, ERROR, LEAF


def finish(
    grown: Grown, data: SortedRows, target: tuple, criterion: int, keep_values: bool, n_classes
) -> tuple[Tree, NDArray]:
    """The tree, and the leaf of every row.

    ``target`` begins with the class codes and the values, one of them None; ``keep_values`` says
    that inner values do not follow from those of the leaves.
    """
    nodes, ends = grown.nodes.copy(), grown.ends
    is_leaf = nodes["feature"] == LEAF
    n_leaves = int(is_leaf.sum())
    classify = criterion <= ERROR
    n_columns = len(n_classes) * data.n_classes
    samples, weights = np.empty(n_leaves, np.int32), np.empty(n_leaves)
    values = np.empty((n_leaves, n_columns))
    leaf_statistics(
        nodes, ends, data.rows, target[0], target[1], data.weights, data.n_classes,
        (samples, weights, values),
    )  # fmt: skip
    if keep_values:
        values = np.ascontiguousarray(grown.values[is_leaf])
    where = np.flatnonzero(is_leaf)
    leaves = np.full(len(data.sides), -1, np.intp)
    by_start = np.argsort(nodes["right"][where])
    leaves[data.rows] = np.repeat(where[by_start], samples[by_start])
    table = np.zeros((0, n_columns))
    if classify and len(n_classes) == 1:
        pure = values.max(axis=1) == 1.0
        nodes["right"][where[pure]] = ~values[pure].argmax(axis=1)
        nodes["right"][where[~pure]] = np.arange(n_leaves - pure.sum())
        table = np.ascontiguousarray(values[~pure])
    elif classify or len(n_classes) > 1:
        nodes["right"][where] = np.arange(n_leaves)
        table = values
    else:
        nodes["right"][where] = 0
        nodes["threshold"][where] = values[:, 0]
    leaf_impurity = None
    if not classify and not keep_values and np.any(grown.impurities[is_leaf] != 0.0):
        leaf_impurity = grown.impurities[is_leaf]
    inner_values = None
    if keep_values:
        inner_values = grown.values[~is_leaf, : 1 if classify else n_columns]
    bitsets = _pack_sets(nodes, grown.words)
    tree = Tree(
        nodes,
        smallest(samples),
        None if data.unit else weights,
        table,
        n_features=data.signs.shape[0],
        n_classes=n_classes,
        criterion=criterion,
        leaf_impurity=leaf_impurity,
        bitsets=bitsets,
        n_categories=None if bitsets is NO_BITSETS else np.array(data.n_categories),
        inner_values=inner_values,
        stored_impurity=grown.impurities.copy() if keep_values else None,
    )
    return tree, leaves


def _pack_sets(nodes, words) -> NDArray:
    """One array of all sets of categories; nodes then hold their offsets."""
    if not len(words):
        return NO_BITSETS
    where = np.flatnonzero((nodes["feature"] != LEAF) & ((nodes["feature"] & CATEGORIES) != 0))
    if not len(where):
        return NO_BITSETS
    parts, offset = [], 0
    for i in where:
        row = words[int(nodes["threshold"][i])]
        part = row[: 1 + int(row[0] & 0x7FFFFFFF)]
        nodes["threshold"][i] = offset
        parts.append(part)
        offset += len(part)
    return np.concatenate(parts)
