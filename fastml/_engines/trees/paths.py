"""Trees as games: the paths of their leaves, and Shapley values from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.tree.shapley import (
    MOST_SLOTS,
    PathTrees,
    Slots,
    count_paths,
    fill_paths,
    tree_interactions,
    tree_shapley,
)

ROWS_PER_TILE = 512
"""Rows that share what their masks have in common."""


class PlainTree(NamedTuple):
    """A tree by nodes; a row goes left where its value is not above the threshold."""

    left: NDArray  # -1 at leaves
    right: NDArray
    feature: NDArray
    threshold: NDArray
    missing_left: NDArray
    cover: NDArray  # weight of the training rows
    values: NDArray  # (nodes, outputs), read at leaves
    sets: dict[int, NDArray]  # node → which categories go left; the last entry: unknown ones


class Paths(NamedTuple):
    trees: Any
    slots: Any
    most_nodes: int
    expected: NDArray  # (outputs,) mean over the training rows


def plain_tree(
    tree, scale: float = 1.0, column: int = 0, n_outputs: int | None = None
) -> PlainTree:
    """Of a fitted ``tree_``, fastml's or scikit-learn's. A regression tree's values go to one
    ``column`` of ``n_outputs``."""
    if tree.n_outputs > 1:
        raise ValueError("Shapley values of trees with several outputs are not there")
    values = scale * np.asarray(tree.value[:, 0, :], dtype=np.float64)
    if n_outputs is not None:
        wide = np.zeros((len(values), n_outputs))
        wide[:, column] = values[:, 0]
        values = wide
    sets = {}
    threshold = getattr(tree, "numeric_threshold", None)
    for node, chosen in enumerate(getattr(tree, "categories", ())):
        if chosen is not None:
            unknown = int(tree.bitsets[int(tree.nodes["threshold"][node])]) >> 31
            members = np.zeros(int(np.max(chosen, initial=0)) + 2, np.uint8)
            members[np.asarray(chosen, dtype=np.intp)] = 1
            n_known = int(tree.n_categories[tree.feature[node]])
            sets[node] = np.r_[members[:-1], np.zeros(max(0, n_known + 1 - len(members)), np.uint8)]
            sets[node] = np.r_[sets[node], np.uint8(unknown)]
    return PlainTree(
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold if threshold is None else threshold,
        tree.missing_go_to_left,
        tree.weighted_n_node_samples,
        values,
        sets,
    )


def find_paths(trees: list[PlainTree]) -> Paths:
    """The paths of all leaves; an error if one has more columns than a mask has bits."""
    parts: dict[str, list] = {name: [] for name in (*PathTrees._fields, *Slots._fields)}
    n_sets, node_starts, leaf_starts = 0, [0], [0]
    widest = max((len(s) for tree in trees for s in tree.sets.values()), default=1)
    expected = np.zeros(trees[0].values.shape[1])
    for tree in trees:
        n = len(tree.left)
        left, right = kernel_view(tree.left, np.intp), kernel_view(tree.right, np.intp)
        feature = kernel_view(np.where(left < 0, -1, tree.feature), np.int32)
        parents, sides = np.empty(n, np.intp), np.zeros(n, np.uint8)
        n_leaves, n_steps = count_paths(left, right, parents, sides)
        entries = (
            np.empty(n_steps, np.int32),
            np.empty(n_steps, np.uint8),
            np.empty(n_steps, np.uint8),
        )
        slots = np.empty(n_steps, np.int32), np.empty(n_steps)
        ends = np.empty(n_leaves, np.intp), np.empty(n_leaves, np.intp), np.empty(n_leaves, np.intp)
        cover = kernel_view(tree.cover, np.float64)
        _, n_slots = fill_paths((left, feature), cover, parents, sides, entries, slots, ends)
        if n_slots < 0:
            raise ValueError(f"a path of a tree has more than {MOST_SLOTS} columns")
        set_of = np.full(n, -1, np.int32)
        for node, members in tree.sets.items():
            set_of[node] = n_sets
            row = np.full(widest, members[-1], np.uint8)
            row[: len(members) - 1] = members[:-1]
            parts["sets"].append(row)
            n_sets += 1
        values = tree.values[ends[2]]
        share = cover[ends[2]] / cover[0] if cover[0] > 0 else np.zeros(n_leaves)
        expected += share @ values
        for name, array in zip(
            ("feature_", "threshold", "missing_left", "set_of", "entry_node", "entry_right",
             "entry_slot", "feature", "share", "values"),
            (feature, tree.threshold, tree.missing_left, set_of, *entries,
             slots[0][:n_slots], slots[1][:n_slots], values),
        ):  # fmt: skip
            parts.setdefault(name, []).append(array)
        parts["entry_starts"].append(ends[0])
        parts["slot_starts"].append(ends[1])
        node_starts.append(node_starts[-1] + n)
        leaf_starts.append(leaf_starts[-1] + n_leaves)

    def joined(name, dtype) -> NDArray:
        return kernel_view(np.concatenate(parts[name]), dtype)

    def starts(name) -> NDArray:
        sizes = [np.diff(ends, prepend=0) for ends in parts[name]]
        return kernel_view(np.concatenate([[0], np.cumsum(np.concatenate(sizes))]), np.intp)

    found = PathTrees(
        node_starts=kernel_view(np.array(node_starts), np.intp),
        leaf_starts=kernel_view(np.array(leaf_starts), np.intp),
        feature=joined("feature_", np.int32),
        threshold=joined("threshold", np.float64),
        missing_left=joined("missing_left", np.uint8),
        set_of=joined("set_of", np.int32),
        sets=kernel_view(np.array(parts["sets"]).reshape(-1, widest), np.uint8),
        entry_starts=starts("entry_starts"),
        entry_node=joined("entry_node", np.int32),
        entry_right=joined("entry_right", np.uint8),
        entry_slot=joined("entry_slot", np.uint8),
        slot_starts=starts("slot_starts"),
    )
    slots_found = Slots(
        joined("feature", np.int32),
        joined("share", np.float64),
        kernel_view(np.concatenate(parts["values"]), np.float64),
        kernel_view(shapley_weights(MOST_SLOTS)),
    )
    return Paths(found, slots_found, int(np.diff(node_starts).max()), expected)


def shapley_weights(most: int) -> NDArray:
    """(m, k): k! (m − 1 − k)! / m!, the weight of a coalition of k others among m players."""
    found = np.zeros((most + 1, most + 1))
    for m in range(1, most + 1):
        found[m, 0] = 1.0 / m
        for k in range(1, m):
            found[m, k] = found[m, k - 1] * k / (m - k)
    return found


def shapley_of_paths(paths: Paths, rows, n_features, background=None, n_jobs=None) -> NDArray:
    """(rows, columns, outputs); a background of rows, or the shares of training rows."""
    rows = kernel_view(rows, np.float32)
    out = np.zeros((len(rows), n_features, paths.slots.values.shape[1]))
    if background is None:
        background = np.empty((0, rows.shape[1]))
    n_threads = effective_n_threads(n_jobs, 4.0 * len(rows) * len(paths.trees.entry_node))
    tree_shapley(
        paths.trees, paths.slots, rows, kernel_view(background, np.float32), ROWS_PER_TILE,
        paths.most_nodes, out, n_threads=n_threads,
    )  # fmt: skip
    return out


def interactions_of_paths(paths: Paths, rows, n_features, n_jobs=None) -> NDArray:
    """(rows, columns, columns, outputs), by the shares of training rows."""
    rows = kernel_view(rows, np.float32)
    out = np.zeros((len(rows), n_features, n_features, paths.slots.values.shape[1]))
    n_threads = effective_n_threads(n_jobs, 16.0 * len(rows) * len(paths.trees.entry_node))
    tree_interactions(
        paths.trees, paths.slots, rows, ROWS_PER_TILE, paths.most_nodes, out, n_threads=n_threads
    )
    return out
