"""Trees and forests of blocks: the trees of all rows in memory, the same bits whoever does it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fastml._engines import kept
from fastml._engines.forests import block_trees
from fastml.blocks import Blocks, ThreadsExecutor, fit, predict
from fastml.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from fastml.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    export_text,
)

N = 700
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 5)).astype(np.float32)
SIGNAL = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2])
Y = np.round(4.0 * (SIGNAL + 0.3 * rng.normal(size=N)))
X[rng.random(X.shape) < 0.05] = np.nan
X[:, 4] = X[:, 4] > 0.0
TWO = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-4.0, 2.0])
WEIGHTS = rng.integers(0, 4, N).astype(float)
WHOLE = {"n_estimators": 3, "bootstrap": False, "splitter": "hist", "random_state": 0}


def classifier(**more):
    return RandomForestClassifier(**{**WHOLE, **more})


def regressor(**more):
    return RandomForestRegressor(**{**WHOLE, "max_features": 2, **more})


CASES = {
    "two classes": (classifier(), TWO),
    "three classes": (classifier(max_depth=6), THREE),
    "entropy": (classifier(criterion="entropy", min_samples_leaf=7), THREE),
    "error": (classifier(criterion="error", min_samples_split=0.05), THREE),
    "weight of leaves": (classifier(min_weight_fraction_leaf=0.0213), TWO),
    "columns of trees": (classifier(features_per_tree=3), THREE),
    "weights of classes": (classifier(class_weight={0: 2.0, 1: 1.0, 2: 3.0}), THREE),
    "numbers": (regressor(), Y),
    "depth": (regressor(max_depth=3), Y),
    "decrease": (regressor(min_impurity_decrease=0.05), Y),
    "leaves": (regressor(max_leaf_nodes=15), Y),
    "pruned": (regressor(ccp_alpha=0.05), Y),
    "poisson": (regressor(criterion="poisson", max_depth=4), np.abs(Y)),
}


def blocks_of(y, weights=None, rows=X, block_rows=150):
    return Blocks.from_npy(rows, y, weights, block_rows=block_rows)


@pytest.fixture(params=[0, 100, 10_000], ids=["levels", "both", "fetched"])
def few(request, monkeypatch):
    """Rows of a node that is fetched: none, some, all nodes."""
    monkeypatch.setattr(block_trees, "few_rows", lambda n_rows: request.param)


@pytest.fixture
def some_few(monkeypatch):
    monkeypatch.setattr(block_trees, "few_rows", lambda n_rows: 100)


def same_trees(a, b, rtol=1e-9):
    assert a.node_count == b.node_count
    assert_array_equal(a.feature, b.feature)
    assert_array_equal(a.children_right, b.children_right)
    assert_array_equal(a.missing_go_to_left, b.missing_go_to_left)
    assert_array_equal(a.n_node_samples, b.n_node_samples)
    assert_allclose(a.threshold, b.threshold, rtol=0, atol=0)
    assert_allclose(a.weighted_n_node_samples, b.weighted_n_node_samples, rtol=rtol)
    assert_allclose(a.value, b.value, rtol=rtol, atol=1e-12)
    assert_allclose(a.impurity, b.impurity, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_blocks_grow_the_trees_of_all_rows(name, few):
    model, y = CASES[name]
    for weights in (None, WEIGHTS):
        own = fit(clone(model), blocks_of(y, weights))
        other = clone(model).fit(X, y, sample_weight=weights)
        for a, b in zip(own.estimators_, other.estimators_, strict=True):
            same_trees(a.tree_, b.tree_)
        assert_allclose(own.feature_importances_, other.feature_importances_, atol=1e-9)
        if y.dtype.kind == "f":
            assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)
        else:
            assert_array_equal(own.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("more", [{}, {"max_depth": 4}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.01}])
def test_a_tree_of_blocks_is_that_of_all_rows(kind, more, few):
    rows = np.round(2.0 * X)  # few distinct values: bins are exact
    y = THREE if kind is DecisionTreeClassifier else Y
    for weights in (None, WEIGHTS):
        own = fit(kind(random_state=0, **more), blocks_of(y, weights, rows))
        other = kind(random_state=0, **more).fit(rows, y, weights)
        if "max_leaf_nodes" not in more:  # ties are cut elsewhere
            assert own.get_n_leaves() == other.get_n_leaves()
        assert_allclose(own.score(rows, y), other.score(rows, y), rtol=2e-3)
        assert own.feature_importances_.shape == (5,)
        assert "feature_0" in export_text(own)


@pytest.mark.parametrize("name", ["two classes", "three classes", "numbers", "poisson"])
@pytest.mark.parametrize("more", [{}, {"replace": False, "max_samples": 0.5}])
def test_the_same_bits_for_any_number_of_threads_and_cuts(name, more, some_few):
    model, y = CASES[name]
    model = clone(model).set_params(bootstrap=True, **more)
    for weights in (WEIGHTS if more else None,):
        one = fit(clone(model), blocks_of(y, weights), ThreadsExecutor(1))
        assert not kept._kept  # nothing is left behind
        assert pickle.dumps(fit(clone(model), blocks_of(y, weights), ThreadsExecutor(3))) == (
            pickle.dumps(one)
        )
        cut = fit(clone(model), blocks_of(y, weights, block_rows=333))
        for a, b in zip(one.estimators_, cut.estimators_, strict=True):
            same_trees(a.tree_, b.tree_)  # sums of whole numbers: cuts do not matter
        other = clone(model).fit(X, y, sample_weight=weights)
        assert abs(one.score(X, y) - other.score(X, y)) < 0.12


class ForgetfulExecutor:
    """As if every block went to another process each time."""

    def run(self, task):
        for number in range(task.blocks.n_blocks):
            kept._kept.clear()
            function, state = pickle.loads(pickle.dumps((task.function, task.state)))
            yield function(task.blocks.block(number), *state)


@pytest.mark.parametrize("name", ["two classes", "numbers", "columns of trees"])
def test_the_same_bits_where_nothing_is_kept(name, some_few):
    model, y = CASES[name]
    model = clone(model).set_params(bootstrap=True)
    one = fit(clone(model), blocks_of(y, WEIGHTS))
    other = fit(clone(model), blocks_of(y, WEIGHTS), ForgetfulExecutor())
    kept._kept.clear()
    assert pickle.dumps(other) == pickle.dumps(one)


def test_in_files_and_in_many_passes_the_same_bits(some_few, monkeypatch, tmp_path):
    model, y = CASES["three classes"]
    model = clone(model).set_params(bootstrap=True)
    one = pickle.dumps(fit(clone(model), blocks_of(y)))
    monkeypatch.setattr(block_trees, "COUNTED_BYTES", 1)
    monkeypatch.setattr(block_trees, "FETCHED_BYTES", 1)
    assert pickle.dumps(fit(clone(model), blocks_of(y))) == one
    monkeypatch.setattr(kept, "_memory", lambda: 1.0)
    monkeypatch.setenv("FASTML_BLOCKS_DIR", str(tmp_path / "new"))
    assert pickle.dumps(fit(clone(model), blocks_of(y))) == one
    assert not list((tmp_path / "new").iterdir())


def test_rows_are_drawn_as_often_as_in_memory():
    forest = RandomForestRegressor(40, random_state=0, max_depth=1)
    fit(forest, blocks_of(Y))
    rows = [tree.tree_.n_node_samples[0] / N for tree in forest.estimators_]
    drawn = [tree.tree_.weighted_n_node_samples[0] / N for tree in forest.estimators_]
    assert abs(np.mean(rows) - (1.0 - np.exp(-1.0))) < 0.01
    assert abs(np.mean(drawn) - 1.0) < 0.02
    fit(forest.set_params(max_samples=240), blocks_of(Y))
    drawn = [tree.tree_.weighted_n_node_samples[0] for tree in forest.estimators_]
    assert abs(np.mean(drawn) - 240) < 10
    fit(RandomForestRegressor(2, max_samples=240).set_params(max_depth=1), blocks_of(Y, WEIGHTS))
    balanced = RandomForestClassifier(20, class_weight="balanced_subsample", max_depth=1)
    fit(balanced.set_params(random_state=0), blocks_of(THREE))
    for tree in balanced.estimators_:
        assert_allclose(tree.tree_.value[0, 0], 1.0 / 3.0, rtol=1e-9)


def test_balanced_classes(some_few):
    counts = np.bincount(THREE)
    weights = dict(enumerate(N / (3.0 * counts)))
    for make in (classifier, lambda **more: DecisionTreeClassifier(random_state=0, **more)):
        one = fit(make(class_weight="balanced"), blocks_of(THREE))
        assert_array_equal(
            one.predict_proba(X), fit(make(class_weight=weights), blocks_of(THREE)).predict_proba(X)
        )
        other = make(class_weight="balanced").fit(X, THREE)
        assert abs(one.score(X, THREE) - other.score(X, THREE)) < 0.01


def test_a_forest_of_blocks_is_a_forest():
    model = RandomForestClassifier(8, random_state=0, max_depth=5)
    blocks = blocks_of(TWO)
    assert fit(model, blocks) is model
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()
    assert_array_equal(predict(model, blocks), model.predict(X))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.n_features_in_ == 5
    assert model.score(X, TWO) > 0.7
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(AttributeError, match="not kept"):
        _ = model.estimators_samples_
    model.fit(X, TWO)
    assert len(model.estimators_samples_) == 8
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (RandomForestRegressor(criterion="absolute_error"), "do not merge"),
        (RandomForestClassifier(oob_score=True), "oob_score"),
        (RandomForestClassifier(warm_start=True), "warm_start"),
        (RandomForestClassifier(monotonic_cst=[1, 0, 0, 0, 0]), "monotonic_cst"),
        (RandomForestClassifier(bootstrap=False, max_samples=5), "bootstrap"),
        (DecisionTreeRegressor(criterion="absolute_error"), "does not merge"),
        (DecisionTreeClassifier(splitter="random"), "splitter"),
        (DecisionTreeClassifier(categorical_features=[0]), "categorical_features"),
        (DecisionTreeClassifier(class_weight=[{0: 1}]), "list"),
    ],
)
def test_what_blocks_cannot_do_is_refused(model, match):
    with pytest.raises(ValueError, match=match):
        fit(model, blocks_of(THREE))


def test_bad_rows_are_refused():
    bad = X.astype(float)
    bad[650, 3] = 1e300
    with pytest.raises(ValueError, match="block 4, row 650, column 3"):
        fit(RandomForestClassifier(2), blocks_of(TWO, rows=bad))
    y = Y.copy()
    y[5] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fit(DecisionTreeRegressor(), blocks_of(y))
    with pytest.raises(ValueError, match="negative"):
        fit(DecisionTreeRegressor(criterion="poisson"), blocks_of(Y))
    with pytest.raises(ValueError, match="no row"):
        fit(RandomForestRegressor(50, max_samples=1, random_state=0), blocks_of(Y))
    with pytest.raises(TypeError, match="does not learn from blocks"):
        fit(ExtraTreesClassifier(), blocks_of(TWO))
    with pytest.raises(TypeError, match="does not learn from blocks"):
        fit(ExtraTreeClassifier(), blocks_of(TWO))


@pytest.mark.parametrize("kind", [RandomForestClassifier, DecisionTreeClassifier])
def test_one_class_one_row_constant_columns(kind, few):
    rows = np.ones((30, 2))
    model = fit(kind(random_state=0), blocks_of(np.zeros(30, int), rows=rows, block_rows=7))
    assert model.predict(rows[:3]).tolist() == [0, 0, 0]
    y = np.arange(30) % 2
    model = fit(kind(random_state=0), blocks_of(y, rows=rows, block_rows=7))
    assert model.predict_proba(rows[:1]).shape == (1, 2)
    rows = np.column_stack([np.ones((30, 6)), y])  # draws go on until a column varies
    tree = fit(DecisionTreeClassifier(max_features=1, random_state=0), blocks_of(y, rows=rows))
    assert tree.score(rows, y) == 1.0
    model = fit(DecisionTreeClassifier(), blocks_of(y[:1], rows=rows[:1]))
    assert model.predict(rows[:1]).tolist() == [0]
