"""The rules of a decision tree as text."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fastml._sklearn import Interval, validate_params
from fastml.tree._base import BaseDecisionTree

_COUNT = [Interval(Integral, 0, None, closed="left")]


@validate_params(
    {
        "decision_tree": [BaseDecisionTree],
        "feature_names": ["array-like", None],
        "class_names": ["array-like", None],
        "max_depth": [*_COUNT, None],
        "spacing": [Interval(Integral, 1, None, closed="left")],
        "decimals": _COUNT,
        "show_weights": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def export_text(
    decision_tree,
    *,
    feature_names=None,
    class_names=None,
    max_depth=10,
    spacing=3,
    decimals=2,
    show_weights=False,
):
    """Write the rules of a decision tree as indented text, splits by categories included.

    Text that scikit-learn's function of this name writes too, which cannot show categories: a split
    by categories reads ``name in {0, 2}`` and ``name not in {0, 2}``.

    Parameters
    ----------
    decision_tree : fitted DecisionTree* or ExtraTree*
        The tree.
    feature_names : array-like of shape (n_features,), default=None
        Names of the columns; None names them feature_0, feature_1, ...
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes; None takes ``classes_``.
    max_depth : int, default=10
        Levels that are written; deeper branches are named by their depth. None writes all.
    spacing : int, default=3
        Width of a level.
    decimals : int, default=2
        Digits after the point.
    show_weights : bool, default=False
        Whether leaves show the weight of every class.

    Returns
    -------
    report : str
        One line per side of a split and per leaf.

    Examples
    --------
    >>> from fastml.tree import DecisionTreeClassifier, export_text
    >>> X, y = [[0, 1.0], [1, 2.0], [2, 3.0], [3, 4.0]], [0, 1, 0, 1]
    >>> tree = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    >>> print(export_text(tree, feature_names=["kind", "size"]))
    |--- kind in {0, 2}
    |   |--- class: 0
    |--- kind not in {0, 2}
    |   |--- class: 1
    <BLANKLINE>
    """
    check_is_fitted(decision_tree)
    nodes, classify = decision_tree.tree_, is_classifier(decision_tree)
    columns = [f"feature_{f}" for f in range(nodes.n_features)]
    if feature_names is not None:
        columns = check_array(feature_names, ensure_2d=False, dtype=None, ensure_min_samples=0)
        if len(columns) != nodes.n_features:
            raise ValueError(
                f"feature_names must contain {nodes.n_features} elements, got {len(columns)}"
            )
    classes = decision_tree.classes_ if classify else None
    if classify and class_names is not None:
        known, classes = classes, check_array(
            class_names, ensure_2d=False, dtype=None, ensure_min_samples=0
        )  # fmt: skip
        if len(classes) != len(known):
            raise ValueError(
                "When `class_names` is an array, it should contain as many items as "
                f"`decision_tree.classes_`. Got {len(classes)} while the tree was fitted with "
                f"{len(known)} classes."
            )

    def leaf(node) -> str:
        shares = nodes.value[node][0] if nodes.n_outputs == 1 else nodes.value[node][:, 0]
        scale = nodes.weighted_n_node_samples[node] if classify else 1.0
        numbers = ", ".join(f"{share * scale:.{decimals}f}" for share in shares)
        if not classify:
            return f" value: [{numbers}]"
        k = int(np.argmax(shares))
        name = classes[k] if nodes.n_outputs == 1 else k
        return f"{f' weights: [{numbers}]' if show_weights else ''} class: {name}"

    lines = []
    deepest = np.inf if max_depth is None else max_depth
    heights = _heights(nodes)
    stack: list[tuple[int, int, str]] = [(0, 1, "")]  # node, level, text before it
    while stack:
        node, level, before = stack.pop()
        if before:
            lines.append(before)
        indent = ("|" + " " * spacing) * (level - 1) + "|" + "-" * spacing
        if nodes.is_leaf[node]:
            lines.append(indent + leaf(node))
        elif level > deepest + 1:
            lines.append(f"{indent} truncated branch of depth {heights[node]}")
        else:
            yes, no = _sides(nodes, node, columns[nodes.feature[node]], decimals)
            stack.append((nodes.children_right[node], level + 1, f"{indent} {no}"))
            stack.append((nodes.children_left[node], level + 1, f"{indent} {yes}"))
    return "\n".join(lines) + "\n"


def _sides(nodes, node, name, decimals) -> tuple[str, str]:
    """What is true of rows that go left, and of those that go right."""
    if nodes.is_categorical[node]:
        which = ", ".join(map(str, nodes.categories_left(node)))
        return f"{name} in {{{which}}}", f"{name} not in {{{which}}}"
    threshold = f"{nodes.numeric_threshold[node]:.{decimals}f}"
    return f"{name} <= {threshold}", f"{name} >  {threshold}"


def _heights(nodes):
    """Levels of the subtree of every node, 1 for a leaf."""
    heights = np.ones(nodes.node_count, np.intp)
    for node in np.flatnonzero(~nodes.is_leaf)[::-1]:
        below = nodes.children_left[node], nodes.children_right[node]
        heights[node] = 1 + heights[list(below)].max()
    return heights
