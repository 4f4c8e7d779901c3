"""Trees of a forest from passes over blocks of rows, all trees side by side.

A pass divides nodes and counts, for every open node of every tree, histograms of the features that
the node draws; what is merged decides their splits. Nodes of few rows are not counted: their rows
are fetched, many nodes in one pass, and `growth` grows what is below them as it grows trees in
memory. Seeds, draws of features and scores are those of trees in memory: without draws of rows the
trees are the same.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines import kept
from fastml._engines.forests import blocks as work
from fastml._engines.forests.codes import SAMPLE, codes_of_sample
from fastml._engines.forests.growth import ForestGrower
from fastml._engines.passes import Passes
from fastml._engines.trees.pruning import with_leaves
from fastml._engines.trees.tree import Tree
from fastml._threads import effective_n_threads, thread_limit
from fastml._validation import kernel_view
from fastml.kernels.forest.block_levels import CUT_WORDS, draw_features, search_histograms
from fastml.kernels.forest.frame import Codes
from fastml.kernels.forest.score import INVALID, impurity_factor
from fastml.kernels.numeric.rng import child_seed
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE, POISSON

COUNTED_BYTES = 1 << 27
"""Of the histograms of one pass."""
FETCHED_BYTES = 1 << 28
"""Of the rows that one pass fetches."""
FEW_ROWS = 8192
"""Of a node whose rows are fetched, or a share of all rows (see `few_rows`)."""
ROUNDING = 2.3e-16


def no_rows() -> ValueError:
    return ValueError("a tree has drawn no row: max_samples is too small for rows in blocks")


def no_counts() -> ValueError:
    return ValueError("Sum of y is not positive which is necessary for Poisson regression.")


def few_rows(n_rows: int) -> int:
    """Nodes of up to so many rows are fetched: a tree has at most some hundred others."""
    return max(FEW_ROWS, n_rows // 256)


class TreeRules(NamedTuple):
    """What all trees of a fit have in common."""

    growth: GrowthRules  # max_leaves counts at the end
    leaf_share: float  # least weight of a leaf, as a share of its tree's
    n_classes: NDArray  # (1,)
    balanced: bool  # classes of every tree count the same


class NodeOfBlocks:
    """A node that a pass divides, counts, fetches or leaves as a leaf."""

    def __init__(self, seed: int, depth: int, sums: NDArray | None):
        self.seed, self.depth, self.sums = seed, depth, sums
        self.left = -1
        self.split: tuple | None = None  # (feature, threshold, whether missing values go left)
        self.begin = 0  # features drawn so far
        self.parts: tuple | None = None  # of the subtree that was fetched, or of the leaf

    @property
    def n_rows(self) -> float:
        return np.inf if self.sums is None else self.sums[-1]


class TreeOfBlocks:
    """A tree that grows."""

    def __init__(self, seed: int, columns: NDArray | None, codes: Codes):
        self.nodes = [NodeOfBlocks(seed, 0, None)]
        self.columns = columns
        self.codes = codes
        if columns is not None:
            self.codes = Codes(*(kernel_view(part[columns]) for part in codes))
        self.weight = np.nan
        self.factors: NDArray | None = None


class BlockForest:
    """Grows trees by passes.

    Parameters
    ----------
    passes : Passes
        The rows.
    setup : ForestSetup
        What blocks know.
    rules : TreeRules
        When nodes are split.
    seeds : list of int
        Of the trees' features.
    columns : list of ndarray or None
        Which columns each tree knows.
    n_jobs : int
        Threads for the subtrees of fetched nodes.
    """

    def __init__(self, passes: Passes, setup, rules: TreeRules, seeds, columns, n_jobs=None):
        self.passes, self.setup, self.rules, self.n_jobs = passes, setup, rules, n_jobs
        self.trees = [
            TreeOfBlocks(seed, None if columns is None else columns[t], setup.codes)
            for t, seed in enumerate(seeds)
        ]
        self.width = len(self.trees[0].codes.n_codes)
        self.levels: list[NDArray] = []
        self.pairs = setup.n_columns == 3
        self.is_class = setup.classes is not None
        self.few = few_rows(passes.n_rows)

    def grown(self) -> list[tuple]:
        """(nodes, leaf samples, weights, impurities, table) of every tree."""
        try:
            fetched = self._divide_all()
            self._fetch(fetched)
            if not self.is_class:
                self._sum_leaves()
            return [self._limited(self._assembled(tree)) for tree in self.trees]
        finally:
            kept.forget(self.setup.fit)

    # ------------------------------------------------------------------------ levels

    def _divide_all(self) -> list[tuple[int, int]]:
        """Level after level; returns the nodes (tree, node) to be fetched."""
        roots = [(t, 0) for t in range(len(self.trees))]
        if self.passes.n_rows <= self.few:
            return roots
        fetched: list[tuple[int, int]] = []
        drawn = min(self.rules.growth.max_features, self.width)
        bytes_each = drawn * (self.setup.codes.high.shape[1] + 1) * self.setup.n_columns * 8
        most = max(1, COUNTED_BYTES // bytes_each)
        waiting = roots
        cuts: list[list[int]] = []
        while waiting:
            now, waiting = waiting[:most], waiting[most:]
            asked = np.array(now, np.int64)
            local, features = self._features(now, drawn)
            if cuts:
                self.levels.append(np.array(cuts, np.int64).reshape(-1, CUT_WORDS))
                cuts = []
            histograms, spans = self.passes.reduced(
                work.count_block, work.merged_counts, self.setup, list(self.levels), asked,
                features, name="level",
            )  # fmt: skip
            for i, (t, number) in enumerate(now):
                cut = self._learn(t, number, local[i], histograms[i], spans[i])
                node = self.trees[t].nodes[number]
                if node.begin:  # all features drawn so far are constant
                    waiting.append((t, number))
                if cut is None:
                    continue
                cuts.append(cut)
                for child in (node.left, node.left + 1):
                    if self._stays(self.trees[t], self.trees[t].nodes[child]):
                        continue
                    few = self.trees[t].nodes[child].n_rows <= self.few
                    (fetched if few else waiting).append((t, child))
        if cuts:
            self.levels.append(np.array(cuts, np.int64).reshape(-1, CUT_WORDS))
        return fetched

    def _features(self, now, drawn: int) -> tuple[list[NDArray], NDArray]:
        """The features that nodes draw next: as their tree numbers them, and as blocks do."""
        local, features = [], np.full((len(now), drawn), -1, np.int64)
        for i, (t, number) in enumerate(now):
            node, tree = self.trees[t].nodes[number], self.trees[t]
            order = np.empty(self.width, np.int32)
            draw_features(np.array([node.seed], np.uint64), order)
            here = order[node.begin : node.begin + drawn]
            local.append(here)
            features[i, : len(here)] = here if tree.columns is None else tree.columns[here]
        return local, features

    def _learn(self, t, number, features, histograms, span) -> list[int] | None:
        """Find the split of a node; its cut for the next pass, or None."""
        tree = self.trees[t]
        node = tree.nodes[number]
        if node.sums is None:  # a root
            node.sums = histograms[0].sum(axis=0)
            if self.is_class and self.rules.balanced:
                tree.factors = balance(self._shares(node.sums))
                node.sums = self._weighted(tree, node.sums)
            tree.weight = self._weight(node.sums)
            if self.setup.criterion == POISSON and node.sums[1] <= 0.0:
                raise no_counts()
            if not tree.weight > 0.0:
                raise no_rows()
            if self._stays(tree, node):
                return None
        begin, node.begin = node.begin, 0
        if not span[0] < span[1]:  # one target
            return None
        histograms = self._weighted(tree, histograms)
        growth = self.rules.growth._replace(
            min_weight=self.rules.leaf_share * tree.weight, max_leaves=0
        )
        split, varied = search_histograms(
            histograms[: len(features)], features, begin, False, tree.codes, growth, node.sums,
            np.uint64(node.seed),
        )  # fmt: skip
        if not varied and begin + len(features) < self.width:
            node.begin = begin + len(features)
            return None
        if split.score == INVALID:
            return None
        scale = impurity_factor(growth.criterion, self.pairs) / tree.weight
        if scale * (split.score - split.undivided) + ROUNDING < growth.min_decrease:
            return None
        place = int(np.flatnonzero(features == split.feature)[0])
        left = histograms[place, : split.code + 1].sum(axis=0)
        missing_left = split.missing_left == 1
        if missing_left:
            left = left + histograms[place, tree.codes.n_codes[split.feature]]
        right = node.sums - left
        if split.missing_left == 2:  # none lacks the value: they go with the larger part
            missing_left = left[-1] > right[-1]
        feature = split.feature if tree.columns is None else tree.columns[split.feature]
        node.left = len(tree.nodes)
        node.split = feature, split.threshold, missing_left
        for is_left, sums in ((True, left), (False, right)):
            seed = int(child_seed(np.uint64(node.seed), is_left))
            tree.nodes.append(NodeOfBlocks(seed, node.depth + 1, sums))
        return [t, number, node.left, int(feature), int(split.code), int(missing_left)]

    def _stays(self, tree: TreeOfBlocks, node: NodeOfBlocks) -> bool:
        """Whether a node is a leaf, as far as its sums tell."""
        growth, sums = self.rules.growth, node.sums
        assert sums is not None
        if node.depth >= growth.max_depth or sums[-1] < max(growth.min_split, 2 * growth.min_leaf):
            return True
        if not self.is_class:
            return False
        shares = self._shares(sums)
        return bool(np.count_nonzero(shares) < 2)

    def _weight(self, sums: NDArray) -> float:
        return float(sums[0] if self.pairs else sums[:-1].sum())

    def _shares(self, sums: NDArray) -> NDArray:
        """Weights of the classes."""
        if not self.pairs:
            return np.maximum(sums[:-1], 0.0)
        found = np.array([max(sums[0] - sums[1], 0.0), sums[1]])
        return found[: int(self.rules.n_classes[0])]

    def _weighted(self, tree: TreeOfBlocks, sums: NDArray) -> NDArray:
        """Sums in which classes have the tree's weights."""
        if tree.factors is None:
            return sums
        made = sums.copy()
        if self.pairs:
            first = (sums[..., 0] - sums[..., 1]) * tree.factors[0]
            made[..., 1] = sums[..., 1] * tree.factors[-1]
            made[..., 0] = first + (made[..., 1] if len(tree.factors) > 1 else 0.0)
        else:
            made[..., :-1] *= tree.factors
        return made

    # ------------------------------------------------------------------------ few rows

    def _fetch(self, nodes: list[tuple[int, int]]) -> None:
        """Fetch the rows of nodes, pass by pass, and grow the subtrees."""
        row_bytes = self.width + 16
        n_threads = effective_n_threads(self.n_jobs)
        while nodes:
            taken, size = 0, 0.0
            while taken < len(nodes) and (not taken or size < FETCHED_BYTES):
                t, number = nodes[taken]
                size += min(self.trees[t].nodes[number].n_rows, self.few) * row_bytes
                taken += 1
            now, nodes = nodes[:taken], nodes[taken:]
            asked = [(t, number, self.trees[t].columns) for t, number in now]
            found = self.passes.reduced(
                work.gather_block, work.merged_rows, self.setup, list(self.levels), asked,
                name="subtrees",
            )  # fmt: skip
            with ThreadPoolExecutor(n_threads) as pool:
                pending = [
                    pool.submit(self._grow_below, *place, pieces)
                    for place, pieces in zip(now, found)
                ]
                for (t, number), result in zip(now, pending):
                    self.trees[t].nodes[number].parts = result.result()

    def _grow_below(self, t: int, number: int, pieces) -> tuple:
        """The subtree of a node whose rows are at hand."""
        columns, y, weights = (np.concatenate(parts, axis=-1) for parts in zip(*pieces))
        tree = self.trees[t]
        node, rules = tree.nodes[number], self.rules
        if node.sums is None:  # a root
            if not len(y):
                raise no_rows()
            if self.is_class and rules.balanced:
                n_classes = int(rules.n_classes[0])
                tree.factors = balance(np.bincount(y.astype(np.intp), weights, n_classes))
            if self.setup.criterion == POISSON and not y.sum() > 0.0:
                raise no_counts()
        if tree.factors is not None:
            weights = weights * tree.factors[y.astype(np.intp)]
        own = float(weights.sum())
        share = (own if node.sums is None else tree.weight) / own
        # As the whole tree would judge the gain, its rounding included.
        least = rules.growth.min_decrease * share - ROUNDING * (share - 1.0)
        growth = rules.growth._replace(
            max_depth=rules.growth.max_depth - node.depth, max_leaves=0, min_decrease=least
        )
        grower = ForestGrower(
            columns.T, y.reshape(-1, 1), rules.n_classes, growth, rules.leaf_share * share, None,
            "hist", 1,
        )  # fmt: skip
        grower._coded = np.require(columns, np.uint8, ["C", "W"]), tree.codes
        with thread_limit(1):
            seeds = np.array([node.seed], np.uint64)
            ((nodes, *parts, _),) = grower.grow(seeds, weights.reshape(1, -1), 1)
        if tree.columns is not None:
            inner = nodes["feature"] != LEAF
            number_, flags = nodes["feature"] & (MISSING_LEFT - 1), nodes["feature"] & MISSING_LEFT
            nodes["feature"][inner] = tree.columns[number_[inner]] | flags[inner]
        return (nodes, *parts)

    # ------------------------------------------------------------------------ the end

    def _sum_leaves(self) -> None:
        """Means and impurities of the leaves that no subtree has."""
        places = [
            (t, number) for t, tree in enumerate(self.trees)
            for number, node in enumerate(tree.nodes) if node.left < 0 and node.parts is None
        ]  # fmt: skip
        if not places:
            return
        sums = self.passes.reduced(
            work.sum_block, np.add, self.setup, list(self.levels), np.array(places, np.int64),
            name="leaves",
        )  # fmt: skip
        for (t, number), (weight, total, squares) in zip(places, sums):
            node = self.trees[t].nodes[number]
            assert node.sums is not None
            mean = total / weight
            own = mean * mean
            if self.setup.criterion == POISSON:
                own = mean * np.log(mean) if mean > 0.0 else 0.0
            leaf = np.zeros(1, NODE)
            leaf["feature"], leaf["threshold"] = LEAF, mean
            node.parts = (
                leaf, np.array([node.sums[-1]], np.int32), np.array([weight]),
                np.array([max(squares / weight - own, 0.0)]), np.empty((0, 1)),
            )  # fmt: skip

    def _class_leaf(self, node: NodeOfBlocks) -> tuple:
        assert node.sums is not None
        shares = self._shares(node.sums)
        weight = shares.sum()
        shares = shares / weight
        leaf = np.zeros(1, NODE)
        leaf["feature"] = LEAF
        table = shares.reshape(1, -1)
        if np.count_nonzero(shares) == 1:
            leaf["right"] = ~int(np.argmax(shares))
            table = table[:0]
        return leaf, np.array([node.sums[-1]], np.int32), np.array([weight]), None, table

    def _assembled(self, tree: TreeOfBlocks) -> tuple:
        """The parts of a tree, parents before left before right."""
        segments: list[NDArray] = []
        others: list[tuple] = []
        n_nodes = n_table = 0
        stack: list[tuple[int, NDArray | None]] = [(0, None)]
        while stack:
            number, above = stack.pop()
            node = tree.nodes[number]
            if above is not None:
                above["right"] = n_nodes
            if node.left >= 0:
                assert node.split is not None
                feature, threshold, missing_left = node.split
                record = np.zeros(1, NODE)
                record["threshold"] = threshold
                record["feature"] = int(feature) | (MISSING_LEFT if missing_left else 0)
                segments.append(record)
                n_nodes += 1
                stack += [(node.left + 1, record), (node.left, None)]
                continue
            parts = node.parts if node.parts is not None else self._class_leaf(node)
            nodes = parts[0].copy()
            inner = nodes["feature"] != LEAF
            nodes["right"][inner] += n_nodes
            if self.is_class:
                nodes["right"][~inner & (nodes["right"] >= 0)] += n_table
            segments.append(nodes)
            others.append(parts[1:])
            n_nodes += len(nodes)
            n_table += len(parts[4])
        samples, weights, impurities, tables = zip(*others)
        return (
            np.concatenate(segments), np.concatenate(samples), np.concatenate(weights),
            None if self.is_class else np.concatenate(impurities), np.concatenate(tables),
        )  # fmt: skip

    def _limited(self, parts: tuple) -> tuple:
        """The tree of the splits that growth by their gains makes first."""
        most = self.rules.growth.max_leaves
        if not most or len(parts[1]) <= most:
            return parts
        tree = tree_of(parts, self.passes.n_features, self.rules)
        weights, impurity = tree.weighted_n_node_samples, tree.impurity
        left, right = tree.children_left, tree.children_right
        inner = left >= 0
        gains = np.zeros(len(left))
        gains[inner] = (weights * impurity)[inner] - (
            (weights * impurity)[left[inner]] + (weights * impurity)[right[inner]]
        )
        leaf_now = np.ones(len(left), bool)
        heap: list[tuple[float, int]] = [(-gains[0], 0)]
        n_leaves = 1
        while heap and n_leaves < most:
            node = heappop(heap)[1]
            leaf_now[node] = False
            n_leaves += 1
            for child in (left[node], right[node]):
                if inner[child]:
                    heappush(heap, (-gains[child], int(child)))
        leaf_now[~inner] = False
        made = with_leaves(tree, leaf_now)
        weights = made.leaf_samples if made.leaf_weights is None else made.leaf_weights
        impurities = None if self.is_class else made.impurity[made.is_leaf]
        return made.nodes, made.leaf_samples, weights, impurities, made.table


def balance(shares: NDArray) -> NDArray:
    """Factors by which all classes that occur weigh the same."""
    with np.errstate(divide="ignore"):
        factors = shares.sum() / (np.count_nonzero(shares) * shares)
    factors[shares == 0.0] = 0.0
    return factors


def tree_of(parts: tuple, n_features: int, rules: TreeRules) -> Tree:
    """A tree from its parts."""
    nodes, samples, weights, impurities, table = parts
    return Tree(
        nodes, samples, weights, table, n_features=n_features, n_classes=rules.n_classes,
        criterion=rules.growth.criterion, leaf_impurity=impurities,
    )  # fmt: skip


def codes_of_blocks(passes: Passes) -> Codes:
    """The codes that `codes.encode` would find for all rows."""
    step = max(1, passes.n_rows // SAMPLE)
    sample = list(passes.results(work.sample_block, step, name="sample"))
    return codes_of_sample(np.concatenate(sample), False)


def forest_bytes(n_rows: int, n_features: int, n_trees: int) -> float:
    """What blocks keep between passes."""
    return n_rows * (n_features + 16.0 + 6.0 * n_trees)


def new_name() -> str:
    """Of a fit; it has no part in what is learnt."""
    return uuid.uuid4().hex
