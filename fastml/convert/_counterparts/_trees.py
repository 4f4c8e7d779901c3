"""Trees as arrays: scikit-learn's nodes and ours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.rules import CRITERIA
from fastml._engines.trees.tree import Tree
from fastml.convert._counterparts._rules import Rule
from fastml.convert._errors import NotConvertible
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, LEAF, MISSING_LEFT, NODE, SQUARED_ERROR


def tree_to_sklearn(tree: Tree, where: str):
    """scikit-learn's ``Tree`` of the same splits, values and counts."""
    from fastml._sklearn import TREE_NODE_DTYPE, BinaryTree

    if tree.is_categorical.any():
        raise NotConvertible(f"{where} splits by categories, which scikit-learn's trees do not")
    nodes = np.zeros(tree.node_count, TREE_NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = tree.children_left, tree.children_right
    nodes["feature"], nodes["threshold"] = tree.feature, tree.threshold
    nodes["impurity"], nodes["n_node_samples"] = tree.impurity, tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples
    nodes["missing_go_to_left"] = tree.missing_go_to_left
    made = BinaryTree(tree.n_features, tree.n_classes.astype(np.intp), tree.n_outputs)
    values = np.ascontiguousarray(tree.value, dtype=np.float64)
    made.__setstate__(
        {
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": nodes,
            "values": values,
        }
    )
    return made


class DepthFirst(NamedTuple):
    """Nodes in our order: a left child follows its parent."""

    order: NDArray  # the other's number of every node
    right: NDArray  # our number of the right child

    @classmethod
    def of(cls, left: NDArray, right: NDArray) -> DepthFirst:
        order: list[int] = []
        found = np.zeros(len(left), np.int32)
        waiting = [(0, -1)]
        while waiting:
            node, parent = waiting.pop()
            if parent >= 0:
                found[parent] = len(order)
            mine = len(order)
            order.append(node)
            if left[node] >= 0:
                waiting += [(int(right[node]), mine), (int(left[node]), -1)]
        return cls(np.array(order), found)


def tree_from_sklearn(theirs, criterion: int, *, single: bool = True) -> Tree:
    """Our tree of scikit-learn's ``Tree``; its nodes are numbered depth first. Forests keep no
    inner values that their leaves give, clipped or not: ``single=False``."""
    state = theirs.__getstate__()
    depth_first = DepthFirst.of(state["nodes"]["left_child"], state["nodes"]["right_child"])
    nodes, values = state["nodes"][depth_first.order], state["values"][depth_first.order]
    leaf = nodes["left_child"] < 0
    made = np.zeros(len(nodes), NODE)
    made["feature"] = np.where(leaf, LEAF, nodes["feature"])
    made["feature"][~leaf] |= np.where(nodes["missing_go_to_left"][~leaf], MISSING_LEFT, 0).astype(
        np.int32
    )
    made["threshold"] = np.where(leaf, 0.0, nodes["threshold"])
    made["right"] = np.where(leaf, 0, depth_first.right)
    flat = values.reshape(len(values), -1)
    if criterion >= SQUARED_ERROR and theirs.n_outputs == 1:
        made["threshold"][leaf] = flat[leaf, 0]
        table = np.empty((0, 1))
    else:
        table = _leaf_table(made, flat, leaf, criterion, theirs.n_outputs)
    weights = nodes["weighted_n_node_samples"]
    tree = Tree(
        made,
        nodes["n_node_samples"][leaf].astype(np.int32),
        weights[leaf].astype(np.float64),
        table,
        n_features=theirs.n_features,
        n_classes=theirs.n_classes,
        criterion=criterion,
        leaf_impurity=nodes["impurity"][leaf].copy() if criterion >= SQUARED_ERROR else None,
    )
    if criterion == ABSOLUTE_ERROR or (single and _inner_values_differ(tree, values)):
        two_classes = criterion < SQUARED_ERROR
        tree.inner_values = flat[~leaf, : 1 if two_classes else None].copy()
        tree.stored_impurity = nodes["impurity"].copy()
        tree.leaf_impurity = None
        tree._made.clear()
    return tree


def _leaf_table(made: NDArray, flat: NDArray, leaf: NDArray, criterion: int, n_outputs: int):
    """Values of leaves that hold more than one number; leaves of one class say which."""
    at = np.flatnonzero(leaf)
    mixed = np.ones(len(at), bool)
    if criterion < SQUARED_ERROR and n_outputs == 1:
        mixed = flat[at].max(axis=1) < 1.0
        made["right"][at[~mixed]] = ~flat[at[~mixed]].argmax(axis=1).astype(np.int32)
    made["right"][at[mixed]] = np.arange(mixed.sum())
    return flat[at[mixed]].copy()


def _inner_values_differ(tree: Tree, values: NDArray) -> bool:
    """Whether inner values are no means of the leaves': clipped by monotonic constraints, or leaf
    values of boosting; of two classes and of numbers only, as ours."""
    if tree.n_columns > 2 and tree.criterion < SQUARED_ERROR:
        return False
    return not np.allclose(tree.value, values, rtol=1e-9, atol=1e-12)


def criterion_code(name) -> int:
    if not isinstance(name, str) or name not in CRITERIA:
        raise NotConvertible(f"fastml has no criterion {name!r}")
    return CRITERIA[name]


# ---------------------------------------------------------------------------- single trees


def tree_forth(converter, model, made) -> None:
    made.tree_ = tree_to_sklearn(model.tree_, type(model).__name__)


def tree_back(converter, model, made) -> None:
    made.tree_ = tree_from_sklearn(model.tree_, criterion_code(model.criterion))
    register_tree(type(made))


def register_tree(cls: type) -> None:
    from fastml._engines.trees.sklearn_types import register_with_scikit_learn

    register_with_scikit_learn(cls)


SINGLE = Rule(ours=("tree_",), theirs=("tree_",), forth=tree_forth, back=tree_back)


# ---------------------------------------------------------------------------- forests

FOREST_OURS = (
    "_drawn_from", "_estimators", "_leaf_targets", "_oob", "_seeds", "_trees", "oob_curve_",
)  # fmt: skip
FOREST_THEIRS = ("estimator", "estimator_", "estimators_", "estimator_params")
GROWTH = ("features_per_tree", "n_iter_no_change", "replace", "splitter", "tol", "leaf_targets")


def forest_forth(converter, model, made) -> None:
    made.estimators_ = [
        converter.estimator(model._as_estimator(t), f"{type(model).__name__}.estimators_[{t}]")
        for t in range(len(model._trees))
    ]
    made.estimator_ = made.estimator


def forest_back(converter, model, made) -> None:
    criterion = criterion_code(model.estimators_[0].criterion)
    trees = [tree_from_sklearn(tree.tree_, criterion, single=False) for tree in model.estimators_]
    made._take_trees(trees, [tree.random_state for tree in model.estimators_])


FOREST = Rule(FOREST_OURS, FOREST_THEIRS, GROWTH, forest_forth, forest_back)

# ---------------------------------------------------------------------------- isolation

ISOLATION_OURS = ("_estimators", "_n_columns", "_nodes", "_starts", "_width")
ISOLATION_THEIRS = (
    "_average_path_length_per_tree", "_decision_path_lengths", "_max_features", "estimator",
    "estimator_", "estimators_", "estimators_features_", "estimator_params", "bootstrap_features",
    "oob_score",
)  # fmt: skip


def isolation_forth(converter, model, made) -> None:
    from fastml._sklearn import average_path_length

    made._max_features = model._n_columns
    made.estimator_ = converter.estimator(model.estimator_, "IsolationForest.estimator_")
    made.estimators_features_ = model.estimators_features_
    made.estimators_ = []
    for t, columns in enumerate(made.estimators_features_):
        member = model._as_estimator(t)
        if len(columns) < model.n_features_in_:
            member.tree_ = _of_columns(member.tree_, columns, model.n_features_in_)
            member.n_features_in_ = len(columns)
        made.estimators_.append(converter.estimator(member, f"IsolationForest.estimators_[{t}]"))
    trees = [member.tree_ for member in made.estimators_]
    made._decision_path_lengths = tuple(tree.compute_node_depths() for tree in trees)
    made._average_path_length_per_tree = tuple(
        average_path_length(tree.n_node_samples) for tree in trees
    )


def _of_columns(tree: Tree, columns: NDArray, n_features: int) -> Tree:
    """The tree for rows that have these columns only."""
    from fastml._engines.trees.packed import renumbered

    places = np.zeros(n_features, np.int32)
    places[columns] = np.arange(len(columns))
    nodes = tree.nodes.copy()
    nodes["feature"] = renumbered(nodes["feature"], places, len(columns))
    return Tree(
        nodes, tree.leaf_samples, None, tree.table, n_features=len(columns), n_classes=[1],
        criterion=tree.criterion,
    )  # fmt: skip


def isolation_back(converter, model, made) -> None:
    from fastml._engines.trees.packed import renumbered
    from fastml._sklearn import average_path_length

    found = []
    for member, columns in zip(model.estimators_, model.estimators_features_):
        tree = tree_from_sklearn(member.tree_, SQUARED_ERROR)
        nodes, leaf = tree.nodes, tree.is_leaf
        lengths = tree.depths[leaf] + average_path_length(tree.leaf_samples)
        nodes["threshold"][leaf], nodes["right"][leaf] = lengths, tree.leaf_samples
        if len(columns) < model.n_features_in_:
            nodes["feature"] = renumbered(nodes["feature"], columns, model.n_features_in_)
        found.append(nodes)
    made._nodes = np.concatenate(found)
    made._starts = np.concatenate([[0], np.cumsum([len(nodes) for nodes in found])])
    made._seeds = np.asarray(made._seeds, np.int64)
    made._estimators, made._width = [], model.n_features_in_
    made._n_columns = int(model._max_features)


ISOLATION = Rule(ISOLATION_OURS, ISOLATION_THEIRS, (), isolation_forth, isolation_back)
