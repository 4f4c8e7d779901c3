"""Stored trees: tables as counts to the bit, small, and checked when they come back."""

import pickle
from copy import copy
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from fastml._engines.trees.stored import Shares, as_counts, small_table
from fastml.ensemble import (
    ExtraTreesClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 3, 40])
@pytest.mark.parametrize("largest", [3, 300, 70_000])
def test_counts_give_the_shares_to_the_bit(n_classes, largest):
    numbers = rng.integers(0, largest, (50, n_classes)) * (rng.random((50, n_classes)) < 0.5)
    numbers[:, 0] += 1
    weights = numbers.sum(axis=1).astype(float)
    shares = numbers / weights[:, None]
    counts = as_counts(shares, weights)
    np.testing.assert_array_equal(counts.table(50) / weights[:, None], shares)
    assert as_counts(rng.random((50, n_classes)), weights) is None
    assert as_counts(np.empty((0, 3)), np.empty(0)) is None


def mixed(n, n_classes):
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] > 0) * 1 + rng.integers(0, n_classes - 1, n)


LARGE = {
    "ten classes": (DecisionTreeClassifier(min_samples_leaf=8), 10, None),
    "ten classes, large leaves": (DecisionTreeClassifier(min_samples_leaf=100), 10, None),
    "forest of depth 8": (RandomForestClassifier(5, max_depth=8), 10, None),
    "forty classes": (ExtraTreesClassifier(5, min_samples_leaf=4), 40, None),
    "whole weights": (DecisionTreeClassifier(max_depth=9), 10, "whole"),
    "three outputs": (DecisionTreeRegressor(min_samples_leaf=5), 3, "outputs"),
    "forest of three outputs": (RandomForestRegressor(5, min_samples_leaf=5), 3, "outputs"),
    "two outputs of classes": (DecisionTreeClassifier(max_depth=9), 5, "classes"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_node_takes_32_bytes_and_comes_back_to_the_bit(name):
    model, n_classes, kind = LARGE[name]
    X, y = mixed(4000, n_classes)
    weights = rng.integers(1, 4, 4000) if kind == "whole" else None
    if kind == "outputs":
        y = rng.normal(size=(4000, 3))
    elif kind == "classes":
        y = np.column_stack([y, y[::-1]])
    model.fit(X, y, sample_weight=weights)
    stored = pickle.dumps(model)
    trees = [model.tree_] if hasattr(model, "tree_") else [m.tree_ for m in model.estimators_]
    assert len(stored) <= 32 * sum(tree.node_count for tree in trees) + 4000
    again = pickle.loads(stored)
    pairs = zip(trees, [again.tree_] if hasattr(again, "tree_") else again.estimators_)
    for mine, other in pairs:
        other = getattr(other, "tree_", other)
        np.testing.assert_array_equal(mine.nodes, other.nodes)
        np.testing.assert_array_equal(mine.value, other.value)
        np.testing.assert_array_equal(mine.impurity, other.impurity)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


IN_MEMORY = [name for name in LARGE if "outputs" not in name.split()[-1] and "forty" not in name]


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_node_takes_32_bytes_in_memory(name):
    model, n_classes, kind = LARGE[name]
    X, y = mixed(4000, n_classes)
    y = np.column_stack([y, y[::-1]]) if kind == "classes" else y
    model.fit(X, y, sample_weight=rng.integers(1, 4, 4000) if kind == "whole" else None)
    trees = model.tree_ if hasattr(model, "tree_") else model._trees
    arrays = trees.nodes, trees.table, trees.leaf_samples, trees.leaf_weights
    assert isinstance(trees.table, Shares)
    assert sum(a.nbytes for a in arrays if a is not None) <= 32 * len(trees.nodes)
    again = pickle.loads(pickle.dumps(model))
    assert isinstance((again.tree_ if hasattr(again, "tree_") else again._trees).table, Shares)


@pytest.mark.parametrize("name", ["three outputs", "forest of three outputs"])
def test_several_outputs_take_32_bytes_in_memory(name):
    """Impurities of their leaves stand in the place of thresholds, and are scikit-learn's."""
    model = clone(LARGE[name][0]).set_params(random_state=0, min_samples_leaf=20)
    own = np.random.default_rng(0)
    X, y = own.normal(size=(2000, 4)), own.normal(size=(2000, 3))
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        trees = each.tree_ if hasattr(each, "tree_") else each._trees
        arrays = trees.nodes, trees.table, trees.leaf_samples, trees.leaf_weights
        impurities = getattr(trees, "leaf_impurities", getattr(trees, "leaf_impurity", None))
        assert isinstance(impurities, str)
        assert sum(a.nbytes for a in arrays if a is not None) <= 32 * len(trees.nodes)
    single = model if hasattr(model, "tree_") else model.estimators_[0]
    assert (single.tree_.threshold[single.tree_.is_leaf] == -2.0).all()
    if hasattr(model, "tree_"):
        theirs = SklearnTree(min_samples_leaf=20, random_state=0).fit(X, y).tree_
        np.testing.assert_allclose(np.sort(single.tree_.impurity), np.sort(theirs.impurity))
    else:
        more = model.set_params(n_estimators=7, warm_start=True).fit(X, y)
        same = clone(model).set_params(warm_start=False).fit(X, y)
        for mine, other in zip(more.estimators_, same.estimators_):
            np.testing.assert_array_equal(mine.tree_.impurity, other.tree_.impurity)


def test_shares_that_are_no_small_counts_stay_as_they_are():
    X, y = mixed(300, 4)
    shallow = partial(DecisionTreeClassifier, max_depth=3, random_state=0)
    grown = shallow().fit(X, y, sample_weight=rng.random(300))
    assert isinstance(grown.tree_.table, np.ndarray)
    grown = shallow().fit(X, y, sample_weight=np.full(300, 2**16))
    assert isinstance(grown.tree_.table, np.ndarray)
    light = shallow().fit(X, y)
    shares = np.asarray(light.tree_.table)
    assert shares.dtype == np.float64
    assert shares.shape == light.tree_.table.shape
    np.testing.assert_array_equal(shares, np.asarray(grown.tree_.table))
    samples = light.tree_.leaf_samples
    assert small_table(shares * 0.999, light.tree_.nodes, samples).dtype == np.float64


CHANGES = {
    "child beyond": ("right", 10**6),
    "child above": ("right", 0),
    "column": ("feature", 77),
    "negative column": ("feature", -9),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["tree", "forest", "isolation"])
def test_changed_nodes_are_refused(kind, change):
    X, y = mixed(200, 4)
    models = DecisionTreeClassifier(), RandomForestClassifier(3), IsolationForest(n_estimators=3)
    model = dict(zip(["tree", "forest", "isolation"], models))[kind].fit(X, y)
    if kind == "tree":
        nodes = model.tree_.nodes
    else:
        nodes = model._trees.nodes if kind == "forest" else model._nodes
    field, value = CHANGES[change]
    nodes[field][0] = value
    with pytest.raises(ValueError, match="was altered"):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("value", [10**6, -100])
@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_changed_leaves_are_refused(kind, value):
    X, y = mixed(200, 4)
    model = DecisionTreeClassifier() if kind == "tree" else RandomForestClassifier(3)
    model.set_params(max_depth=3).fit(X, y)
    state = (model.tree_ if kind == "tree" else model._trees).__getstate__()
    nodes = state["nodes"].copy()
    nodes["right"][nodes["feature"] == -1] = value
    made = object.__new__(type(model.tree_ if kind == "tree" else model._trees))
    with pytest.raises((ValueError, IndexError)):
        made.__setstate__({**state, "nodes": nodes})


def test_changed_sets_of_categories_are_refused():
    codes = rng.integers(0, 9, (200, 1))
    model = DecisionTreeClassifier(categorical_features=[0]).fit(codes, codes[:, 0] % 2)
    for offset in (10**6, -1):
        again = pickle.loads(pickle.dumps(model))
        again.tree_.nodes["threshold"][0] = offset
        with pytest.raises(ValueError, match="set of categories"):
            pickle.loads(pickle.dumps(again))
    again = pickle.loads(pickle.dumps(model))
    again.tree_.bitsets[0] = 10**6
    with pytest.raises(ValueError, match="set of categories"):
        pickle.loads(pickle.dumps(again))


def test_a_copy_shares_arrays_and_not_what_is_made_of_them():
    X, y = mixed(200, 3)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y).tree_
    depth = tree.max_depth
    other = copy(tree)
    assert other == tree
    assert other.nodes is tree.nodes
    other.nodes = tree.nodes[:1].copy()
    other.nodes[0] = tree.nodes[tree.is_leaf][0]
    assert (other.max_depth, tree.max_depth) == (0, depth)


@pytest.mark.parametrize("model", [RandomForestRegressor(2), DecisionTreeRegressor()])
def test_several_outputs_load_from_a_mapped_file(model, tmp_path):
    """Nodes that cannot be written to hold the impurities of leaves already."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    model.set_params(min_samples_leaf=3, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict(X), model.predict(X))
    ours, theirs = (getattr(m, "estimators_", [m])[-1].tree_ for m in (model, mapped))
    np.testing.assert_array_equal(theirs.impurity, ours.impurity)
