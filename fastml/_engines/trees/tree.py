"""The fitted tree: little is stored, the rest of scikit-learn's arrays is worked out on demand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.packed import NO_BITSETS, Forest, pack
from fastml._engines.trees.recent import RecentArrays
from fastml._engines.trees.stored import (
    Counts,
    as_counts,
    check_trees,
    keep_impurities,
    kept_impurities,
    row_weights,
    small_table,
)
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view, scaled_weights
from fastml.kernels.tree import nodes as tree_nodes
from fastml.kernels.tree.dependence import add_dependence
from fastml.kernels.tree.nodes import CATEGORIES, FEATURE, LEAF, MISSING_LEFT
from fastml.kernels.tree.predict import fill_paths


class Tree:
    """A binary decision tree under scikit-learn's array names.

    Stored are the nodes (16 bytes each, see `kernels.tree.nodes`) and, per leaf, the number of
    rows, their weight if there were weights, the impurity of a regression leaf (of several outputs
    in the place of its threshold), and the values of leaves that hold more than one class (as
    counts, see `stored.Shares`) or output. Medians and
    values clipped by monotonic constraints do not follow from those of the leaves: such trees keep
    the impurities of all nodes and the values of inner ones (of two classes the first one's share).
    All other arrays are made on first use and are not pickled. Nodes are numbered depth first,
    under ``max_leaf_nodes`` too.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features, n_outputs : int
        Sizes.
    n_classes : ndarray of shape (n_outputs,)
        Classes per output; 1 for regression.
    children_left, children_right : ndarray of shape (node_count,)
        Indices of the children, -1 at leaves.
    feature, threshold : ndarray of shape (node_count,)
        The split ``x[feature] <= threshold``; -2 at leaves. A tree with splits by categories has no
        ``threshold`` (ValueError): who walks by it would go astray.
    numeric_threshold : ndarray of shape (node_count,)
        The same, NaN at splits by categories.
    categories : tuple of length node_count
        Categories that go left at a split by categories, as an array; None at other nodes.
    missing_go_to_left : ndarray of shape (node_count,)
        Whether missing values go left.
    value : ndarray of shape (node_count, n_outputs, max_n_classes)
        Class fractions, or means (medians for absolute error).
    impurity, n_node_samples, weighted_n_node_samples : ndarray of shape (node_count,)
        Impurity, number of rows and their weight.
    """

    def __init__(
        self,
        nodes,
        leaf_samples,
        leaf_weights,
        table,
        *,
        n_features: int,
        n_classes,
        criterion: int,
        leaf_impurity=None,
        bitsets=NO_BITSETS,
        n_categories=None,
        inner_values=None,
        stored_impurity=None,
    ):
        self.nodes = nodes
        self.leaf_samples = leaf_samples
        self.leaf_weights = leaf_weights
        self.table = table
        self.n_features = int(n_features)
        self.n_classes = np.asarray(n_classes, dtype=np.intp)
        self.criterion = int(criterion)
        self.leaf_impurity = leaf_impurity
        self.bitsets = bitsets
        self.n_categories = n_categories  # per column, or None where no split is by categories
        self.inner_values = inner_values
        self.stored_impurity = stored_impurity
        self._made: dict[str, NDArray] = RecentArrays()
        self._keep_small()

    def _keep_small(self) -> None:
        """Whole counts of classes in place of their shares, impurities in place of thresholds."""
        if isinstance(self.leaf_impurity, np.ndarray) and not self.scalar:
            self.nodes = self.nodes if self.nodes.flags.writeable else self.nodes.copy()
            self.leaf_impurity = keep_impurities(self.nodes, self.leaf_impurity)
        if self.criterion < tree_nodes.SQUARED_ERROR:
            weights = self.leaf_samples if self.leaf_weights is None else self.leaf_weights
            self.table = small_table(self.table, self.nodes, weights)

    # ------------------------------------------------------------------ sizes

    @property
    def n_outputs(self) -> int:
        return self.n_classes.shape[0]

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def node_count(self) -> int:
        return self.nodes.shape[0]

    capacity = node_count

    @property
    def n_leaves(self) -> int:
        return self.leaf_samples.shape[0]

    @property
    def max_depth(self) -> int:
        return int(self.depths.max(initial=0))

    @property
    def scalar(self) -> bool:
        """Whether leaves hold their value themselves: regression on one output."""
        return self.criterion >= tree_nodes.SQUARED_ERROR and self.n_outputs == 1

    @property
    def n_columns(self) -> int:
        return self.n_outputs * self.max_n_classes

    @property
    def nbytes(self) -> int:
        """Bytes of what is stored."""
        stored = (self.nodes, self.leaf_samples, self.leaf_weights, self.table, self.leaf_impurity)
        more = (self.bitsets, self.inner_values, self.stored_impurity)
        return sum(getattr(array, "nbytes", 0) for array in (*stored, *more))

    # ------------------------------------------------------------------ scikit-learn's arrays

    def _once(self, name: str, make) -> NDArray:
        array = self._made.get(name)
        if array is None:
            array = make()
            array.flags.writeable = False
            self._made[name] = array
        return array

    @property
    def is_leaf(self) -> NDArray:
        return self.nodes["feature"] == LEAF

    @property
    def depths(self) -> NDArray:
        """Depth of every node."""

        def make():
            depths = np.zeros(self.node_count, np.intp)
            tree_nodes.node_depths(kernel_view(self.nodes), depths)
            return depths

        return self._once("depths", make)

    @property
    def children_left(self) -> NDArray:
        return self._once(
            "children_left",
            lambda: np.where(self.is_leaf, -1, np.arange(1, self.node_count + 1)),
        )

    @property
    def children_right(self) -> NDArray:
        return self._once(
            "children_right",
            lambda: np.where(self.is_leaf, -1, self.nodes["right"]).astype(np.int64),
        )

    @property
    def feature(self) -> NDArray:
        return self._once(
            "feature",
            lambda: np.where(self.is_leaf, -2, self.nodes["feature"] & FEATURE).astype(np.int64),
        )

    @property
    def is_categorical(self) -> NDArray:
        """Whether a node splits by a set of categories."""
        return ~self.is_leaf & ((self.nodes["feature"] & CATEGORIES) != 0)

    @property
    def threshold(self) -> NDArray:
        if len(self.bitsets) > len(NO_BITSETS) and self.is_categorical.any():
            raise ValueError(
                "this tree has splits by categories, which thresholds do not describe: read "
                "tree_.categories and tree_.numeric_threshold, or use fastml.tree.export_text and "
                "fastml.plot.plot_tree"
            )
        return self.numeric_threshold

    @property
    def numeric_threshold(self) -> NDArray:
        def make():
            threshold = np.where(self.is_leaf, -2.0, self.nodes["threshold"])
            threshold[self.is_categorical] = np.nan
            return threshold

        return self._once("threshold", make)

    @property
    def categories(self) -> tuple[NDArray | None, ...]:
        sets = self.is_categorical
        return tuple(self.categories_left(i) if sets[i] else None for i in range(self.node_count))

    @property
    def missing_go_to_left(self) -> NDArray:
        return self._once(
            "missing_go_to_left",
            lambda: (~self.is_leaf & ((self.nodes["feature"] & MISSING_LEFT) != 0)).astype(
                np.uint8
            ),
        )

    def categories_left(self, node: int) -> NDArray:
        """Categories of the column that go left at a node that splits by categories."""
        if not self.is_categorical[node]:
            raise ValueError(f"node {node} does not split by categories")
        offset = int(self.nodes["threshold"][node])
        n_words = int(self.bitsets[offset] & 0x7FFFFFFF)
        words = self.bitsets[offset + 1 : offset + 1 + n_words]
        bits = (words[:, None] >> np.arange(32, dtype=np.uint32)) & 1
        return np.flatnonzero(bits.ravel()[: self.n_categories[self.feature[node]]])

    def _sums(self) -> tuple[NDArray, NDArray]:
        """Rows and weights of all nodes."""
        made = self._made.get("n_node_samples"), self._made.get("weighted_n_node_samples")
        if made[0] is not None and made[1] is not None:
            return made[0], made[1]
        samples, weights = np.empty(self.node_count, np.int64), np.empty(self.node_count)
        leaf_samples = kernel_view(self.leaf_samples, np.int64)
        leaf_weights = self.leaf_samples if self.leaf_weights is None else self.leaf_weights
        tree_nodes.sums_from_leaves(
            kernel_view(self.nodes),
            leaf_samples,
            kernel_view(leaf_weights, np.float64),
            samples,
            weights,
        )
        return (
            self._once("n_node_samples", lambda: samples),
            self._once("weighted_n_node_samples", lambda: weights),
        )

    @property
    def n_node_samples(self) -> NDArray:
        return self._sums()[0]

    @property
    def weighted_n_node_samples(self) -> NDArray:
        return self._sums()[1]

    @property
    def _relative_weights(self) -> NDArray:
        """Weights of all nodes, where only their ratios count."""
        return kernel_view(scaled_weights(self.weighted_n_node_samples)[0])

    def in_unit(self, unit: float) -> Tree:
        """The same tree, grown with weights that had been divided by a power of two."""
        if unit != 1.0 and self.leaf_weights is not None:
            self.leaf_weights = self.leaf_weights * unit
            self._made = RecentArrays()
        return self

    @property
    def _flat_values(self) -> NDArray:
        def make():
            values = np.empty((self.node_count, self.n_columns))
            tree_nodes.values_from_leaves(
                kernel_view(self.nodes),
                kernel_view(self.table),
                self.scalar,
                self._relative_weights,
                values,
            )
            if self.inner_values is not None:
                inner = np.flatnonzero(~self.is_leaf)
                values[inner, : self.inner_values.shape[1]] = self.inner_values
                if self.criterion < tree_nodes.SQUARED_ERROR:
                    values[inner, 1] = 1.0 - self.inner_values[:, 0]
            return values

        return self._once("values", make)

    @property
    def value(self) -> NDArray:
        return self._flat_values.reshape(self.node_count, self.n_outputs, self.max_n_classes)

    @property
    def impurity(self) -> NDArray:
        def make():
            if self.stored_impurity is not None:
                return self.stored_impurity.view()
            out = np.empty(self.node_count)
            values = kernel_view(self._flat_values)
            if self.criterion < tree_nodes.SQUARED_ERROR:
                tree_nodes.class_impurities(values, self.n_outputs, self.criterion, out)
            else:
                leaf = kept_impurities(self.nodes, self.leaf_impurity)
                leaf = np.zeros(0) if leaf is None else leaf
                weights = self._relative_weights
                tree_nodes.mean_impurities(
                    kernel_view(self.nodes), kernel_view(leaf), values, weights, self.criterion, out
                )
            return out

        return self._once("impurity", make)

    def compute_feature_importances(self, normalize: bool = True) -> NDArray:
        """Share of the impurity that each column's splits take away."""
        out = np.zeros(self.n_features)
        if self.node_count > 1:
            weights = self._relative_weights
            tree_nodes.importances(
                kernel_view(self.nodes), weights, kernel_view(self.impurity), out
            )
            out /= weights[0]
            if normalize and (total := out.sum()) > 0.0:
                out /= total
        return out

    def compute_node_depths(self) -> NDArray:
        """Depth of every node, 1 for the root (scikit-learn's count)."""
        return self.depths + 1

    # ------------------------------------------------------------------ rows

    @property
    def packed(self) -> Forest:
        """What the prediction kernels take."""
        return pack([self])

    def apply(self, X, n_threads: int | None = None) -> NDArray:
        """Index of the leaf of every row of a float32 array."""
        return self.packed.apply(_dense(X), n_threads)[:, 0]

    def predict(self, X, n_threads: int | None = None) -> NDArray:
        """Value of every row's leaf: (n_rows, n_outputs, max_n_classes), or scikit-learn's
        (n_rows, max_n_classes) for one output."""
        out = self.predict_flat(_dense(X), n_threads)
        if self.n_outputs == 1:
            return out
        return out.reshape(-1, self.n_outputs, self.max_n_classes)

    def predict_flat(self, X, n_threads: int | None = None) -> NDArray:
        """Value of every row's leaf, its outputs side by side."""
        return self.packed.sum(X, n_threads=n_threads)

    def decision_path(self, X):
        """CSR matrix with ones where a row passes a node."""
        from scipy.sparse import csr_matrix

        leaves = self.apply(X)
        lengths = self.depths[leaves] + 1
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        indices = np.empty(indptr[-1], np.intp)
        fill_paths(kernel_view(self.nodes), leaves, indptr, indices)
        ones = np.ones(len(indices), np.intp)
        return csr_matrix((ones, indices, indptr), shape=(len(leaves), self.node_count))

    def compute_partial_dependence(self, grid, target_features, out) -> None:
        """out[i] += mean prediction with ``target_features`` fixed at the values of grid[i]."""
        places = np.full(self.n_features, -1, np.intp)
        places[target_features] = np.arange(len(target_features))
        work = float(len(grid)) * self.node_count * 4.0
        add_dependence(
            kernel_view(self.nodes), kernel_view(self.bitsets),
            kernel_view(self.weighted_n_node_samples), kernel_view(self._flat_values[:, 0]),
            kernel_view(places), self.max_depth, kernel_view(grid, np.float32), out,
            n_threads=effective_n_threads(None, work),
        )  # fmt: skip

    # ------------------------------------------------------------------ pickle

    def __copy__(self):
        """Another tree of the same arrays; nothing to check, unlike a tree that was stored."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._made = RecentArrays()
        return made

    def __getstate__(self):
        state = {**self.__dict__}
        del state["_made"]
        if self.criterion < tree_nodes.SQUARED_ERROR and len(self.table):
            table = np.asarray(self.table)
            counts = as_counts(table, self._row_weights())
            state["table"] = table if counts is None else counts
        return state

    def __setstate__(self, state):
        for name, value in state.items():
            if isinstance(value, np.ndarray):  # a pickle from a machine of the other byte order
                state[name] = value.astype(value.dtype.newbyteorder("="), copy=False)
        self.__dict__.update(state)
        self._made = RecentArrays()
        if isinstance(self.table, Counts):
            n_rows = int((self.nodes["right"][self.is_leaf] >= 0).sum())
            counts = self.table.table(n_rows)
            self._check(n_rows)
            self.table = counts / self._row_weights(n_rows)[:, None]
        self._check(len(self.table))
        self._keep_small()

    def _row_weights(self, n_rows: int | None = None) -> NDArray:
        weights = self.leaf_samples if self.leaf_weights is None else self.leaf_weights
        return row_weights(self.nodes, weights, len(self.table) if n_rows is None else n_rows)

    def _check(self, n_rows: int) -> None:
        """Refuse what a changed pickle may hold."""
        bounds = np.array([0, len(self.nodes)]), np.array([0, n_rows])
        check_trees(self.nodes, *bounds, self.bitsets, self.n_features, self.n_columns, self.scalar)
        if len(self.leaf_samples) != np.count_nonzero(self.is_leaf) or (
            not isinstance(self.table, Counts) and self.table.shape[1:] != (self.n_columns,)
        ):
            raise ValueError("a stored tree was altered: its leaves and their values do not match")

    def __eq__(self, other):
        if not isinstance(other, Tree):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[key], theirs[key]) for key in mine if key != "_made")

    __hash__ = None  # type: ignore[assignment]


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else X
