"""Plots of trees and forests: the tree itself, importances, the out-of-bag curve."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fastml.plot._axes import axes_or_new

MOST_CATEGORIES = 6
"""Categories that are named at a split; more are counted."""


def plot_tree(
    tree,
    *,
    max_depth=None,
    feature_names=None,
    class_names=None,
    filled=True,
    precision=3,
    ax=None,
):
    """Draw a decision tree: the split of every inner node, left for yes, and what its rows are.

    Parameters
    ----------
    tree : fitted tree
        A ``DecisionTree*``, ``ExtraTree*``, or one of a forest's or an AdaBoost's ``estimators_``;
        one output.
    max_depth : int, default=None
        Depth below which nothing is drawn; None draws all.
    feature_names : sequence of str, default=None
        Names of the columns; None takes the tree's ``feature_names_in_``, or x[0], x[1], ...
    class_names : sequence of str, default=None
        Names of the classes; None takes ``classes_``.
    filled : bool, default=True
        Colour nodes: by class, the stronger the purer, or by value.
    precision : int, default=3
        Significant digits.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes; its texts are the nodes in depth-first order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.plot import plot_tree
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_tree(DecisionTreeClassifier(max_depth=2).fit(X, y))  # doctest: +SKIP
    """
    check_is_fitted(tree)
    nodes = tree.tree_
    if nodes.n_outputs > 1:
        raise ValueError(f"plot_tree draws trees of one output; this one has {nodes.n_outputs}")
    columns = _names(feature_names, tree, nodes.n_features)
    classes = None
    if is_classifier(tree):
        classes = tree.classes_ if class_names is None else class_names
        if len(classes) != len(tree.classes_):
            raise ValueError(
                f"class_names must name {len(tree.classes_)} classes, got {len(classes)}"
            )
    ax = axes_or_new(ax)
    places = _layout(nodes, np.inf if max_depth is None else max_depth)
    colours = _colours(nodes, classes) if filled else None
    written = {
        node: ["(…)"] if cut else _lines(nodes, node, columns, classes, precision)
        for node, (_, _, cut) in places.items()
    }
    xs, ys = np.array([place[:2] for place in places.values()]).T
    ax.set_xlim(xs.min() - 0.6, xs.max() + 0.6)
    ax.set_ylim(ys.min() - 0.5, 0.5)
    ax.set_axis_off()
    points = _font_size(ax, written.values())
    for node, (x, y, _) in places.items():
        box = {"boxstyle": "round", "facecolor": colours[node] if filled else "white"}
        for child in (nodes.children_left[node], nodes.children_right[node]):
            if child in places:
                ax.plot([x, places[child][0]], [y, places[child][1]], color="0.5", zorder=1)
        text = "\n".join(written[node])
        ax.text(x, y, text, ha="center", va="center", fontsize=points, bbox=box)
    return ax


def _font_size(ax, written) -> float:
    """Points at which boxes one unit apart do not meet; a character is 0.6 of its height wide."""
    per_point = ax.figure.dpi / 72.0
    frame = ax.get_window_extent()
    wide = frame.width / per_point / abs(np.diff(ax.get_xlim())[0])
    high = frame.height / per_point / abs(np.diff(ax.get_ylim())[0])
    longest = max(len(line) for lines in written for line in lines)
    most = max(len(lines) for lines in written)
    return float(np.clip(min(wide / (0.6 * longest + 1.0), high / (1.3 * most + 1.0)), 1.0, 10.0))


def _names(given, model, n_features):
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if names is None:
        return [f"x[{f}]" for f in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names must name {n_features} columns, got {len(names)}")
    return list(names)


def _layout(nodes, max_depth) -> dict[int, tuple[float, int, bool]]:
    """node → (x, minus depth, whether what is below is left out), depth first.

    Leaves stand one apart, an inner node midway between its children.
    """
    shown = np.flatnonzero(nodes.depths <= max_depth + 1)
    ends = nodes.is_leaf | (nodes.depths > max_depth)
    x = np.zeros(nodes.node_count)
    x[shown] = np.cumsum(ends[shown]) - 1.0
    for node in shown[::-1]:
        if not ends[node]:
            x[node] = 0.5 * (x[nodes.children_left[node]] + x[nodes.children_right[node]])
    cut = nodes.depths > max_depth
    return {int(i): (float(x[i]), -int(nodes.depths[i]), bool(cut[i])) for i in shown}


def _lines(nodes, node, columns, classes, precision) -> list[str]:
    lines = []
    if not nodes.is_leaf[node]:
        name = columns[nodes.feature[node]]
        if nodes.is_categorical[node]:
            left = nodes.categories_left(node)
            few = len(left) <= MOST_CATEGORIES
            which = ", ".join(map(str, left)) if few else f"{len(left)} categories"
            lines.append(f"{name} in {{{which}}}")
        else:
            lines.append(f"{name} ≤ {nodes.numeric_threshold[node]:.{precision}g}")
    lines.append(f"n = {nodes.n_node_samples[node]}")
    value = nodes.value[node, 0]
    if classes is None:
        lines.append(f"{value[0]:.{precision}g}")
    else:
        k = int(value.argmax())
        lines.append(f"{classes[k]}: {value[k]:.{precision}g}")
    return lines


def _colours(nodes, classes):
    """One colour per node: its class's, whiter where it is mixed; or by its place in the range."""
    import matplotlib

    value = nodes.value[:, 0]
    if classes is None:
        low, high = value.min(), value.max()
        share = (value[:, 0] - low) / (high - low) if high > low else np.zeros(len(value))
        return matplotlib.colormaps["Oranges"](0.05 + 0.6 * share)
    hues = matplotlib.colormaps["tab10" if len(classes) <= 10 else "viridis"]
    top, least = value.max(axis=1), 1.0 / len(classes)
    places = value.argmax(axis=1)
    strength = (top - least) / (1.0 - least) if len(classes) > 1 else np.ones(len(top))
    colours = hues(places if len(classes) <= 10 else places / (len(classes) - 1))
    return 1.0 - 0.6 * strength[:, None] * (1.0 - colours[:, :3])


def importance_bars(model, *, feature_names=None, top=None, ax=None):
    """Draw ``feature_importances_`` as bars, the largest on top.

    The whiskers of a forest are the standard deviation over its trees.

    Parameters
    ----------
    model : fitted estimator
        Anything with ``feature_importances_``.
    feature_names : sequence of str, default=None
        Names of the columns; None takes ``feature_names_in_``, or x[0], x[1], ...
    top : int, default=None
        Draw only so many; None draws all.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.ensemble import RandomForestClassifier
    >>> from fastml.plot import importance_bars
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = importance_bars(RandomForestClassifier(20).fit(X, y))  # doctest: +SKIP
    """
    check_is_fitted(model)
    shares = np.asarray(model.feature_importances_)
    names = np.asarray(_names(feature_names, model, len(shares)), dtype=object)
    order = np.argsort(-shares, kind="stable")[:top]
    spread = None
    if _is_forest(model):
        spread = np.std([tree.feature_importances_ for tree in model.estimators_], axis=0)[order]
    ax = axes_or_new(ax)
    ax.barh(np.arange(len(order)), shares[order], xerr=spread, capsize=2)
    ax.set_yticks(np.arange(len(order)), names[order])
    ax.invert_yaxis()
    ax.set_xlabel("share of the decrease of impurity")
    return ax


def _is_forest(model) -> bool:
    from fastml.ensemble import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
        RandomTreesEmbedding,
    )

    classifiers = (RandomForestClassifier, ExtraTreesClassifier)
    regressors = (RandomForestRegressor, ExtraTreesRegressor)
    return isinstance(model, (*classifiers, *regressors, RandomTreesEmbedding))


def oob_curve(forest, *, ax=None):
    """Draw a forest's out-of-bag score by the number of trees.

    Parameters
    ----------
    forest : fitted forest
        Fitted with ``oob_score`` or ``n_iter_no_change``: it has ``oob_curve_``.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.ensemble import RandomForestClassifier
    >>> from fastml.plot import oob_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = oob_curve(RandomForestClassifier(oob_score=True).fit(X, y))  # doctest: +SKIP
    """
    curve = getattr(forest, "oob_curve_", None)
    if curve is None:
        raise ValueError("the forest has no oob_curve_: fit it with oob_score=True")
    ax = axes_or_new(ax)
    ax.plot(np.arange(1, len(curve) + 1), curve)
    ax.axhline(curve[-1], linestyle=":", color="k", label=f"{curve[-1]:.3g} at {len(curve)} trees")
    ax.set_xlabel("trees")
    ax.set_ylabel("out-of-bag " + ("accuracy" if is_classifier(forest) else "R²"))
    ax.legend()
    return ax
