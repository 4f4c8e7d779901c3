"""What the plots of trees and forests show is what the models hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from fastml.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from fastml.plot import importance_bars, oob_curve, plot_tree
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

plt = pytest.importorskip("matplotlib.pyplot")
X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_every_node_is_written_once():
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    ax = plot_tree(model, feature_names=list("abcd"), class_names=["S", "C", "V"], precision=6)
    tree = model.tree_
    assert len(ax.texts) == tree.node_count
    assert len(ax.lines) == tree.node_count - 1
    for node, text in enumerate(ax.texts):
        lines = text.get_text().split("\n")
        if not tree.is_leaf[node]:
            name = "abcd"[tree.feature[node]]
            assert lines.pop(0) == f"{name} ≤ {tree.threshold[node]:.6g}"
        k = tree.value[node, 0].argmax()
        assert lines == [
            f"n = {tree.n_node_samples[node]}",
            f"{'SCV'[k]}: {tree.value[node, 0, k]:.6g}",
        ]


def test_nodes_do_not_meet():
    model = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(X[:, :3], X[:, 3])
    ax = plot_tree(model)
    tree, places = model.tree_, [text.get_position() for text in ax.texts]
    assert len(set(places)) == tree.node_count
    for node in np.flatnonzero(~tree.is_leaf):
        left, right = places[tree.children_left[node]], places[tree.children_right[node]]
        assert left[0] < places[node][0] < right[0]
        assert left[1] == right[1] == places[node][1] - 1
    leaves = [places[node][0] for node in np.flatnonzero(tree.is_leaf)]
    assert_allclose(np.diff(leaves), 1.0)


def test_boxes_do_not_overlap():
    model = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(X, y)
    figure, ax = plt.subplots(figsize=(5, 4))
    plot_tree(model, feature_names=["a name of some length"] * 4, ax=ax)
    figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_what_is_too_deep_is_left_out():
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    ax = plot_tree(model, max_depth=1)
    written = [text.get_text() for text in ax.texts]
    assert len(written) == (model.tree_.depths <= 2).sum()
    assert written.count("(…)") == (model.tree_.depths == 2).sum()


def test_pure_nodes_are_the_strongest():
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    colours = [text.get_bbox_patch().get_facecolor() for text in plot_tree(model).texts]
    assert_allclose(colours[0][:3], 1.0)  # three classes in equal parts
    assert min(colours[1][:3]) < 0.7
    white = [text.get_bbox_patch().get_facecolor() for text in plot_tree(model, filled=False).texts]
    assert_allclose(white, 1.0)


def test_categories_are_named():
    codes = np.arange(40) % 4
    model = DecisionTreeRegressor(categorical_features=[0]).fit(codes[:, None], codes % 2 * 1.0)
    assert plot_tree(model).texts[0].get_text().startswith("x[0] in {0, 2}")


@pytest.mark.parametrize("ensemble", [RandomForestClassifier(3), AdaBoostClassifier()])
def test_members_of_an_ensemble(ensemble):
    member = ensemble.set_params(random_state=0).fit(X, y).estimators_[1]
    assert len(plot_tree(member).texts) == member.tree_.node_count


def test_what_plot_tree_refuses():
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="feature_names must name 4 columns, got 2"):
        plot_tree(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names must name 3 classes, got 1"):
        plot_tree(model, class_names=["a"])
    with pytest.raises(ValueError, match="one output; this one has 2"):
        plot_tree(DecisionTreeRegressor().fit(X, X[:, :2]))
    with pytest.raises(ValueError, match="not fitted"):
        plot_tree(DecisionTreeClassifier())


def test_importances_largest_first():
    forest = RandomForestClassifier(9, random_state=0).fit(X, y)
    ax = importance_bars(forest, top=3)
    order = np.argsort(-forest.feature_importances_)[:3]
    assert_allclose([bar.get_width() for bar in ax.patches], forest.feature_importances_[order])
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"x[{f}]" for f in order]
    spread = np.std([tree.feature_importances_ for tree in forest], axis=0)[order]
    ends = np.array(ax.collections[0].get_segments())[:, :, 0]
    assert_allclose(np.diff(ends, axis=1)[:, 0], 2 * spread)


def test_importances_of_one_tree_have_no_whiskers():
    ax = importance_bars(DecisionTreeClassifier().fit(X, y))
    assert len(ax.patches) == 4
    assert not ax.collections


@pytest.mark.parametrize(
    ("cls", "unit"), [(RandomForestClassifier, "accuracy"), (RandomForestRegressor, "R²")]
)
def test_out_of_bag_curve(cls, unit):
    forest = cls(40, oob_score=True, random_state=0).fit(X[:, :2], y)
    ax = oob_curve(forest)
    assert_allclose(ax.lines[0].get_ydata(), forest.oob_curve_)
    assert ax.lines[0].get_xdata()[-1] == 40
    assert ax.get_ylabel() == f"out-of-bag {unit}"
    assert forest.oob_curve_[-1] == pytest.approx(forest.oob_score_)


def test_no_curve_without_out_of_bag_rows():
    with pytest.raises(ValueError, match="oob_score=True"):
        oob_curve(RandomForestClassifier(2).fit(X, y))
