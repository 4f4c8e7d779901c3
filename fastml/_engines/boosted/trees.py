"""Trees as they are stored, and a packed form of many of them for prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.masks import ROWS_AT_ONCE, LeafMasks, masks_for
from fastml._engines.boosted.walks import FEW_ROWS, Walks
from fastml._engines.trees.paths import PlainTree
from fastml._engines.trees.stored import smallest
from fastml._threads import effective_n_threads
from fastml.kernels.hist.grow import NODE_DEPTH, NODE_FEATURE, NODE_LEFT, NODE_REST, NODE_SPLIT
from fastml.kernels.hist.histogram import COUNT_MASK
from fastml.kernels.hist.predict import LEAF_FLAG, MOST_NODES, PackedTrees, add_trees
from fastml.kernels.hist.split import SPLIT_BIN, SPLIT_MISSING_LEFT, SPLIT_SET, SPLIT_WORDS

NODE = np.dtype(
    [
        ("value", np.float64),
        ("gain", np.float32),
        ("count", np.uint32),
        ("left", np.int32),  # -1: a leaf; the right child is left + 1
        ("feature_idx", np.int32),
        ("bin_threshold", np.uint8),
        ("missing_go_to_left", np.uint8),
        ("is_categorical", np.uint8),
        ("depth", np.uint8),  # 255: or deeper
    ]
)


class BoostedTree:
    """One tree: ``nodes`` (the root first) and a set of bins per categorical split."""

    __slots__ = ("nodes", "sets")

    def __init__(self, nodes: NDArray, sets: NDArray):
        self.nodes = nodes
        self.sets = sets

    @classmethod
    def from_growth(cls, grown: NDArray, gains: NDArray, values: NDArray) -> BoostedTree:
        nodes = np.zeros(len(grown), dtype=NODE)
        nodes["value"] = np.where(grown[:, NODE_LEFT] < 0, values, 0.0)
        nodes["count"] = grown[:, NODE_REST] & COUNT_MASK
        nodes["left"] = grown[:, NODE_LEFT]
        nodes["depth"] = np.minimum(grown[:, NODE_DEPTH], 255)
        nodes["feature_idx"] = -1
        inner = np.flatnonzero(grown[:, NODE_LEFT] >= 0)
        split = grown[inner]
        nodes["gain"][inner] = gains[inner]
        nodes["feature_idx"][inner] = split[:, NODE_FEATURE]
        nodes["missing_go_to_left"][inner] = split[:, NODE_SPLIT + SPLIT_MISSING_LEFT]
        by_set = split[:, NODE_SPLIT + SPLIT_BIN] < 0
        nodes["bin_threshold"][inner] = np.where(by_set, 0, split[:, NODE_SPLIT + SPLIT_BIN])
        nodes["is_categorical"][inner] = by_set
        sets = split[by_set, NODE_SPLIT + SPLIT_SET : NODE_SPLIT + SPLIT_WORDS]
        return cls(nodes, np.ascontiguousarray(sets).view(np.uint64))

    @property
    def raw_left_cat_bitsets(self) -> NDArray:
        """Sets of codes that go left, eight words of 32 bits per categorical split."""
        return self.sets.view(np.uint32)

    def get_n_leaf_nodes(self) -> int:
        return int((self.nodes["left"] < 0).sum())

    def get_max_depth(self) -> int:
        return int(self.nodes["depth"].max())


def plain_boosted(tree: BoostedTree, column: int, n_outputs: int) -> PlainTree:
    """The tree for bins as floats, where missing ones are NaN."""
    nodes = tree.nodes
    left = nodes["left"].astype(np.intp)
    values = np.zeros((len(nodes), n_outputs))
    values[:, column] = nodes["value"]
    by_set = np.flatnonzero(nodes["is_categorical"])
    members = np.unpackbits(
        tree.sets.view(np.uint8).reshape(len(by_set), 32), axis=1, bitorder="little"
    )
    return PlainTree(
        left,
        np.where(left < 0, -1, left + 1),
        nodes["feature_idx"],
        nodes["bin_threshold"].astype(np.float64),
        nodes["missing_go_to_left"],
        nodes["count"].astype(np.float64),
        values,
        {int(node): np.r_[chosen, np.uint8(0)] for node, chosen in zip(by_set, members)},
    )


def by_columns(trees: list[PlainTree], mapper: BinMapper) -> list[PlainTree]:
    """Trees by bins of columns, some of which may serve as several features."""
    if mapper.sources is None:
        return trees
    sizes = np.array([len(thresholds) for thresholds in mapper.bin_thresholds_])
    before = np.cumsum(sizes) - sizes
    before -= before[np.searchsorted(mapper.sources, mapper.sources)]
    return [
        tree._replace(
            feature=np.where(tree.left < 0, -1, mapper.sources[tree.feature]),
            threshold=tree.threshold + np.where(tree.left < 0, 0, before[tree.feature]),
        )
        for tree in trees
    ]


def bins_by_columns(bins: NDArray, mapper: BinMapper) -> NDArray:
    """Bins of columns as floats, NaN where a value is missing: those of all a column's features,
    added up."""
    rows = bins.astype(np.float32)
    rows[bins == mapper.missing_values_bin_idx_] = np.nan
    if mapper.sources is None:
        return rows
    firsts = np.searchsorted(mapper.sources, np.arange(mapper.n_columns))
    return np.add.reduceat(rows, firsts, axis=1)


def stored_trees(iterations: list[list[BoostedTree]]) -> dict:
    """All trees as a few arrays in the smallest types that hold them, for pickling."""
    trees = [tree for trees in iterations for tree in trees]
    if not trees:
        return {"per_iteration": 0}
    nodes = np.concatenate([tree.nodes for tree in trees])
    leaf = nodes["left"] < 0
    inner = nodes[~leaf]
    return {
        "per_iteration": len(iterations[0]),
        "sizes": smallest(np.array([len(tree.nodes) for tree in trees])),
        "n_sets": smallest(np.array([len(tree.sets) for tree in trees])),
        "leaf": np.packbits(leaf),
        "value": nodes["value"][leaf],
        "count": smallest(nodes["count"]),
        "depth": nodes["depth"],
        "sets": np.concatenate([tree.sets for tree in trees]),
        **{
            name: smallest(inner[name]) if inner[name].dtype.kind in "iu" else inner[name].copy()
            for name in INNER
        },
    }


INNER = ("gain", "left", "feature_idx", "bin_threshold", "missing_go_to_left", "is_categorical")


def loaded_trees(stored: dict, mapper: BinMapper) -> list[list[BoostedTree]]:
    """The inverse of `stored_trees`; the values of inner nodes are zero."""
    if not stored["per_iteration"]:
        return []
    try:
        iterations = _unpacked_trees(stored)
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError("the stored trees do not fit together") from error
    check_trees(iterations, mapper)
    return iterations


def _unpacked_trees(stored: dict) -> list[list[BoostedTree]]:
    sizes = stored["sizes"].astype(np.intp)
    nodes = np.zeros(sizes.sum(), dtype=NODE)
    leaf = np.unpackbits(stored["leaf"], count=len(nodes)).astype(bool)
    nodes["left"] = nodes["feature_idx"] = -1
    nodes["value"][leaf] = stored["value"]
    nodes["count"], nodes["depth"] = stored["count"], stored["depth"]
    for name in INNER:
        nodes[name][~leaf] = stored[name]
    ends, set_ends = np.cumsum(sizes), np.cumsum(stored["n_sets"].astype(np.intp))
    parts = np.split(nodes, ends[:-1])
    sets = np.split(stored["sets"], set_ends[:-1])
    trees = [BoostedTree(part.copy(), own.copy()) for part, own in zip(parts, sets)]
    k = stored["per_iteration"]
    return [trees[i : i + k] for i in range(0, len(trees), k)]


def check_trees(iterations: list[list[BoostedTree]], mapper: BinMapper) -> None:
    """Whether kernels may walk these trees: every index is one of a node, a feature or a bin, and
    every node but the root has one parent, which stands before it."""
    trees = [tree for trees in iterations for tree in trees]
    sizes = np.array([len(tree.nodes) for tree in trees])
    if len({len(trees) for trees in iterations}) != 1 or not np.all(sizes % 2):
        raise ValueError("the numbers of trees and nodes are not those of boosted trees")
    nodes = np.concatenate([tree.nodes for tree in trees])
    roots = np.cumsum(sizes) - sizes
    base = np.repeat(roots, sizes)
    inner = np.flatnonzero(nodes["left"] != -1)
    split = nodes[inner]
    # The children of a tree's splits are its nodes 1 and 2, 3 and 4 and so on, in any order.
    left = split["left"].astype(np.intp) + base[inner]
    expected = np.setdiff1d(np.arange(len(nodes)), roots, assume_unique=True)[::2]
    if len(left) != len(expected) or np.any(np.sort(left) != expected) or np.any(left <= inner):
        raise ValueError("a node of a tree has a child that is none")
    if np.any(base[left] != base[inner]):
        raise ValueError("a node of a tree has a child in another tree")
    depth = np.zeros(len(nodes), dtype=np.intp)
    depth[left] = depth[left + 1] = np.minimum(split["depth"].astype(np.intp) + 1, 255)
    if np.any(nodes["depth"] != depth):
        raise ValueError("a node of a tree has a depth that is not its parent's plus one")
    feature = split["feature_idx"]
    if np.any((feature < 0) | (feature >= len(mapper.bin_thresholds_))):
        raise ValueError("a split reads a feature that there is not")
    if np.any(split["bin_threshold"] >= mapper.missing_values_bin_idx_):
        raise ValueError("a split has a bin that there is not")
    flags = nodes["missing_go_to_left"], nodes["is_categorical"]
    if max(flag.max() for flag in flags) > 1 or np.any(np.delete(flags[1], inner)):
        raise ValueError("a flag of a node is not 0 or 1, or that of a leaf")
    if np.any(split["is_categorical"] != mapper.is_categorical_[feature]):
        raise ValueError("a split takes categories for numbers, or numbers for categories")
    n_sets = np.add.reduceat(nodes["is_categorical"].astype(np.intp), roots)
    if any(tree.sets.shape != (n, 4) for tree, n in zip(trees, n_sets)):
        raise ValueError("the splits by categories do not have one set each")


class Packed:
    """Many trees, ready to be added up on binned rows."""

    def __init__(self, trees: list[BoostedTree], missing_bin: int):
        self.trees = trees
        self._masks: dict[np.dtype, LeafMasks | None] = {}
        self._walks: Walks | None = None
        sizes = np.array([len(tree.nodes) for tree in trees])
        if sizes.sum() > MOST_NODES:
            raise ValueError(f"the trees have {sizes.sum():,} nodes, at most {MOST_NODES:,} can be")
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        nodes = np.concatenate([tree.nodes for tree in trees])
        base = np.repeat(roots, sizes).astype(np.uint64)
        leaf = nodes["left"] < 0
        own = np.arange(len(nodes), dtype=np.uint64)
        left = np.where(leaf, own, base + nodes["left"].astype(np.int64).astype(np.uint64))
        to_left = nodes["missing_go_to_left"].astype(bool) & ~leaf
        shift = np.where(to_left, 256 - missing_bin, 0).astype(np.uint64)
        threshold = np.where(leaf, 255, nodes["bin_threshold"]).astype(np.uint64) + shift
        feature = np.where(leaf, 0, nodes["feature_idx"]).astype(np.uint64)
        words = threshold | shift << 8 | feature << 16 | left << 36
        words[leaf] |= LEAF_FLAG
        sets = np.concatenate([tree.sets for tree in trees])
        set_of = np.full(len(nodes), -1, dtype=np.int32)
        categorical = nodes["is_categorical"].astype(bool)
        set_of[categorical] = np.arange(categorical.sum(), dtype=np.int32)
        # A row with a missing or unknown category goes by the flag.
        bit = np.uint64(1) << np.uint64(missing_bin & 63)
        word = sets[:, missing_bin >> 6]
        sets[:, missing_bin >> 6] = np.where(to_left[categorical], word | bit, word & ~bit)
        self.packed = PackedTrees(
            roots,
            np.array([_depth(tree) for tree in trees], dtype=np.intp),
            np.array([len(tree.sets) > 0 for tree in trees], dtype=np.uint8),
            words,
            np.ascontiguousarray(nodes["value"]),
            sets,
            set_of,
        )

    def masks(self, mapper: BinMapper, dtype: np.dtype) -> LeafMasks | None:
        """The same trees for rows that are not binned; None if they are too large for that."""
        if dtype not in self._masks:
            self._masks[dtype] = masks_for(self.trees, self.packed.sets, mapper, dtype)
        return self._masks[dtype]

    def add_rows(self, X: NDArray, mapper: BinMapper, out: NDArray, n_jobs: int | None) -> None:
        """Add tree t to column t mod K of ``out`` for rows that are not binned."""
        if X.shape[0] <= FEW_ROWS:
            self.add_few(X, mapper, out)
            return
        if (masks := self.masks(mapper, X.dtype)) is not None:
            masks.add_to(X, out, n_jobs)
            return
        for start in range(0, X.shape[0], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            self.add_to(mapper.transform(X[part], n_jobs), out[part], n_jobs)

    def add_few(self, X: NDArray, mapper: BinMapper, out: NDArray) -> None:
        """`add_rows`, by one thread; the sums are the same to the bit."""
        if self._walks is None:
            self._walks = Walks(self.trees, self.packed.sets, mapper)
        self._walks.add_to(X, out)

    def add_to(self, bins: NDArray, out: NDArray, n_jobs: int | None) -> None:
        """Add tree t to column t mod K of ``out`` (rows x K)."""
        work = 8.0 * bins.shape[0] * len(self.trees)
        add_trees(bins, self.packed, out, n_threads=effective_n_threads(n_jobs, work))


def _depth(tree: BoostedTree) -> int:
    depth = tree.get_max_depth()
    return depth if depth < 255 else len(tree.nodes)
