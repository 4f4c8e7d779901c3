"""Trees as they are stored, and a packed form of many of them for prediction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.ensemble._binning import BinMapper
from fastml.ensemble._boosting_masks import LeafMasks, masks_for
from fastml.kernels.boost_grow import DEPTH, FEATURE, LEFT, REST, SPLIT
from fastml.kernels.boost_predict import LEAF, add_trees
from fastml.kernels.hist_split import SPLIT_BIN, SPLIT_MISSING_LEFT, SPLIT_SET, SPLIT_WORDS
from fastml.kernels.histogram import COUNT_MASK
from fastml.tree._tree import smallest

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


class Tree:
    """One tree: ``nodes`` (the root first) and a set of bins per categorical split."""

    __slots__ = ("nodes", "sets")

    def __init__(self, nodes: NDArray, sets: NDArray):
        self.nodes = nodes
        self.sets = sets

    @classmethod
    def from_growth(cls, grown: NDArray, gains: NDArray, values: NDArray) -> Tree:
        nodes = np.zeros(len(grown), dtype=NODE)
        nodes["value"] = np.where(grown[:, LEFT] < 0, values, 0.0)
        nodes["count"] = grown[:, REST] & COUNT_MASK
        nodes["left"] = grown[:, LEFT]
        nodes["depth"] = np.minimum(grown[:, DEPTH], 255)
        nodes["feature_idx"] = -1
        inner = np.flatnonzero(grown[:, LEFT] >= 0)
        split = grown[inner]
        nodes["gain"][inner] = gains[inner]
        nodes["feature_idx"][inner] = split[:, FEATURE]
        nodes["missing_go_to_left"][inner] = split[:, SPLIT + SPLIT_MISSING_LEFT]
        by_set = split[:, SPLIT + SPLIT_BIN] < 0
        nodes["bin_threshold"][inner] = np.where(by_set, 0, split[:, SPLIT + SPLIT_BIN])
        nodes["is_categorical"][inner] = by_set
        sets = split[by_set, SPLIT + SPLIT_SET : SPLIT + SPLIT_WORDS]
        return cls(nodes, np.ascontiguousarray(sets).view(np.uint64))

    @property
    def raw_left_cat_bitsets(self) -> NDArray:
        """Sets of codes that go left, eight words of 32 bits per categorical split."""
        return self.sets.view(np.uint32)

    def get_n_leaf_nodes(self) -> int:
        return int((self.nodes["left"] < 0).sum())

    def get_max_depth(self) -> int:
        return int(self.nodes["depth"].max())


def stored_trees(iterations: list[list[Tree]]) -> dict:
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


def loaded_trees(stored: dict) -> list[list[Tree]]:
    """The inverse of `stored_trees`; the values of inner nodes are zero."""
    if not stored["per_iteration"]:
        return []
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
    trees = [Tree(part.copy(), own.copy()) for part, own in zip(parts, sets)]
    k = stored["per_iteration"]
    return [trees[i : i + k] for i in range(0, len(trees), k)]


class Packed:
    """Many trees, ready to be added up on binned rows."""

    def __init__(self, trees: list[Tree], missing_bin: int):
        self.trees = trees
        self._masks: dict[np.dtype, LeafMasks | None] = {}
        sizes = np.array([len(tree.nodes) for tree in trees])
        self.roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        nodes = np.concatenate([tree.nodes for tree in trees])
        base = np.repeat(self.roots, sizes).astype(np.uint64)
        leaf = nodes["left"] < 0
        own = np.arange(len(nodes), dtype=np.uint64)
        left = np.where(leaf, own, base + nodes["left"].astype(np.int64).astype(np.uint64))
        to_left = nodes["missing_go_to_left"].astype(bool) & ~leaf
        shift = np.where(to_left, 256 - missing_bin, 0).astype(np.uint64)
        threshold = np.where(leaf, 255, nodes["bin_threshold"]).astype(np.uint64) + shift
        feature = np.where(leaf, 0, nodes["feature_idx"]).astype(np.uint64)
        self.words = threshold | shift << 8 | feature << 16 | left << 36
        self.words[leaf] |= LEAF
        self.values = np.ascontiguousarray(nodes["value"])
        self.depths = np.array([_depth(tree) for tree in trees], dtype=np.intp)
        self.has_sets = np.array([len(tree.sets) > 0 for tree in trees], dtype=np.uint8)
        self.sets = np.concatenate([tree.sets for tree in trees])
        self.set_of = np.full(len(nodes), -1, dtype=np.int32)
        categorical = nodes["is_categorical"].astype(bool)
        self.set_of[categorical] = np.arange(categorical.sum(), dtype=np.int32)
        # A row with a missing or unknown category goes by the flag.
        sets, words = np.flatnonzero(categorical), self.sets
        bit = np.uint64(1) << np.uint64(missing_bin & 63)
        word = words[:, missing_bin >> 6]
        words[:, missing_bin >> 6] = np.where(to_left[sets], word | bit, word & ~bit)

    def masks(self, mapper: BinMapper, dtype: np.dtype) -> LeafMasks | None:
        """The same trees for rows that are not binned; None if they are too large for that."""
        if dtype not in self._masks:
            self._masks[dtype] = masks_for(self.trees, self.sets, mapper, dtype)
        return self._masks[dtype]

    def add_to(self, bins: NDArray, out: NDArray, n_jobs: int | None) -> None:
        """Add tree t to column t mod K of ``out`` (rows x K)."""
        work = 8.0 * bins.shape[0] * len(self.roots)
        add_trees(
            bins,
            self.roots,
            self.depths,
            self.has_sets,
            self.words,
            self.values,
            self.sets,
            self.set_of,
            out.shape[1],
            out,
            n_threads=effective_n_threads(n_jobs, work),
        )


def _depth(tree: Tree) -> int:
    depth = tree.get_max_depth()
    return depth if depth < 255 else len(tree.nodes)
