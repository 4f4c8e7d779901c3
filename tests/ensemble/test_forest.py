"""Forests: scikit-learn's accuracy, rules of growth, out of bag, weights, quantiles, storage."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble as theirs
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification

from fastml.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from fastml.ensemble._forest._quantiles import kept_targets

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS


@pytest.fixture(scope="module")
def waves():
    return make_classification(
        4000, 12, n_informative=8, n_classes=3, random_state=0, flip_y=0.02, class_sep=1.5
    )


# ---------------------------------------------------------------------------- answers


@pytest.mark.parametrize("splitter", ["exact", "hist"])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_accuracy_is_scikit_learns(cls, splitter, waves):
    X, y = waves
    ours = cls(60, random_state=0, splitter=splitter).fit(X[:2000], y[:2000])
    reference = getattr(theirs, cls.__name__)(60, random_state=0, n_jobs=2).fit(X[:2000], y[:2000])
    assert ours.score(X[2000:], y[2000:]) == pytest.approx(
        reference.score(X[2000:], y[2000:]), abs=0.015
    )
    np.testing.assert_allclose(ours.feature_importances_, reference.feature_importances_, atol=0.03)
    sizes = [len(tree.tree_.nodes) for tree in ours.estimators_]
    expected = [tree.tree_.node_count for tree in reference.estimators_]
    assert np.mean(sizes) == pytest.approx(np.mean(expected), rel=0.1)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("cls", REGRESSORS)
def test_r2_is_scikit_learns(cls, criterion):
    X, y = load_diabetes(return_X_y=True)
    options = {"criterion": criterion, "random_state": 0, "max_features": 0.5, "bootstrap": True}
    ours = cls(60, oob_score=True, **options).fit(X, y)
    reference = getattr(theirs, cls.__name__)(60, oob_score=True, n_jobs=2, **options).fit(X, y)
    assert ours.oob_score_ == pytest.approx(reference.oob_score_, abs=0.05)


@pytest.mark.parametrize("cls", FORESTS)
def test_a_single_full_tree_learns_everything(cls):
    X, y = load_iris(return_X_y=True)
    _, first = np.unique(X, axis=0, return_index=True)
    X, y = X[first], y[first]
    model = cls(1, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


def test_same_rows_are_drawn_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).random(150)
    for options in ({}, {"sample_weight": weights}):
        ours = RandomForestClassifier(3, random_state=4).fit(X, y, **options)
        reference = theirs.RandomForestClassifier(3, random_state=4).fit(X, y, **options)
        for mine, other in zip(ours.estimators_samples_, reference.estimators_samples_):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("cls", FORESTS)
def test_several_outputs(cls):
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y, y == 1])
    model = cls(15, random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.5
    if cls in CLASSIFIERS:
        shares = model.predict_proba(X)
        assert [s.shape for s in shares] == [(150, 3), (150, 2)]
        for share in shares:
            np.testing.assert_allclose(share.sum(axis=1), 1.0)
        logs = model.predict_log_proba(X)
        np.testing.assert_allclose(np.exp(logs[1]), shares[1])
        assert (model.predict(X) == Y).mean() > 0.95


@pytest.mark.parametrize("cls", FORESTS)
def test_mean_of_the_trees(cls):
    X, y = load_iris(return_X_y=True)
    model = cls(7, random_state=0).fit(X, y)
    method = "predict_proba" if cls in CLASSIFIERS else "predict"
    each = [getattr(tree, method)(X.astype(np.float32)) for tree in model.estimators_]
    np.testing.assert_allclose(getattr(model, method)(X), np.mean(each, axis=0))
    leaves = model.apply(X)
    for t, tree in enumerate(model.estimators_):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X))
    path, starts = model.decision_path(X)
    assert path.shape == (150, starts[-1])
    for t in range(7):
        assert path[np.arange(150), starts[t] + leaves[:, t]].all()


# ---------------------------------------------------------------------------- input


@pytest.mark.parametrize("cls", FORESTS)
def test_missing_values_are_learnt(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = rng.integers(2, size=400)
    X[y == 1, 1] = np.nan
    model = cls(20, random_state=0, max_features=None).fit(X, y)
    assert (np.round(model.predict(X)) == y).all()


def test_a_column_of_missing_values_only():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([np.full(150, np.nan), X])
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.feature_importances_[0] == 0.0


@pytest.mark.parametrize("cls", FORESTS)
def test_sparse_rows_are_dense_rows(cls):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    dense = cls(5, random_state=0).fit(X, y)
    sparse = cls(5, random_state=0).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csc_matrix(X)))


@pytest.mark.parametrize("cls", FORESTS)
def test_whole_weights_are_repeated_rows(cls):
    X, y = load_iris(return_X_y=True)
    counts = np.random.default_rng(0).integers(0, 3, 150)
    options = {"bootstrap": False, "max_features": None, "random_state": 0, "max_depth": 3}
    weighted = cls(3, **options).fit(X, y, sample_weight=counts)
    repeated = cls(3, **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    if cls in (RandomForestClassifier, RandomForestRegressor):
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))
    else:
        assert np.mean(weighted.predict(X).round() == repeated.predict(X).round()) > 0.85


def test_class_weights():
    X, y = make_classification(600, 6, weights=[0.9], random_state=0, flip_y=0.2)
    plain = RandomForestClassifier(200, random_state=0, max_depth=2).fit(X, y)
    for kind in ("balanced", "balanced_subsample", {0: 1.0, 1: 9.0}):
        model = RandomForestClassifier(200, random_state=0, max_depth=2, class_weight=kind)
        assert (model.fit(X, y).predict(X) == 1).sum() > 1.4 * (plain.predict(X) == 1).sum()
    Y = np.column_stack([y, y])
    model = RandomForestClassifier(5, random_state=0, class_weight="balanced_subsample")
    assert model.fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_class_weights_that_leave_no_row(cls, bootstrap):
    """Trees without a node could not be walked."""
    X, y = load_iris(return_X_y=True)
    none = cls(3, class_weight=dict.fromkeys(range(3), 0.0), bootstrap=bootstrap)
    with pytest.raises(ValueError, match="no row a positive weight"):
        none.fit(X, y)
    other = cls(3, class_weight={0: 0.0, 1: 1.0, 2: 1.0}, bootstrap=bootstrap)
    with pytest.raises(ValueError, match="no row a positive weight"):
        other.fit(X, y, sample_weight=y == 0)
    assert other.fit(X, y).predict(X).min() == 1


def test_errors():
    X, y = load_iris(return_X_y=True)
    for options, message in (
        ({"bootstrap": False, "oob_score": True}, "Out of bag estimation only available"),
        ({"bootstrap": False, "max_samples": 3}, "cannot be set if"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "multiclass"),
        ({"splitter": "fast"}, "splitter"),
        ({"criterion": "squared_error"}, "criterion"),
    ):
        with pytest.raises(ValueError, match=message):
            RandomForestClassifier(2, **options).fit(X, y)
    with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
        RandomForestRegressor(2, criterion="poisson").fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="has shape 2"):
        RandomForestRegressor(2, monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="must be None or an array-like of -1, 0 or 1"):
        RandomForestRegressor(2, monotonic_cst=[1, 0, 3, 0]).fit(X, y)
    with pytest.raises(ValueError, match="multiple outputs"):
        RandomForestRegressor(2, monotonic_cst=[1, 0, 0, 0]).fit(X, X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        RandomForestRegressor(2).fit(X, y, sample_weight=np.zeros(150))
    with pytest.warns(FutureWarning, match="friedman_mse"):
        forest = RandomForestRegressor(2, criterion="friedman_mse", random_state=0)
    same = RandomForestRegressor(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.fit(X, y).predict(X), same.predict(X))
    assert forest.estimators_[0].criterion == "squared_error"


def test_more_features_than_there_are_means_all():
    X, y = load_iris(return_X_y=True)
    a = RandomForestClassifier(5, max_features=99, random_state=0).fit(X, y)
    b = RandomForestClassifier(5, max_features=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_one_class_and_constant_target():
    X, _ = load_iris(return_X_y=True)
    model = RandomForestClassifier(3).fit(X, np.full(150, 7))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((150, 1)))
    assert (model.predict(X) == 7).all()
    assert not model.feature_importances_.any()
    assert (RandomForestRegressor(3).fit(X, np.full(150, 2.5)).predict(X) == 2.5).all()


# ---------------------------------------------------------------------------- rules


def test_rules_of_growth(waves):
    X, y = waves
    X, y = X[:500], y[:500]

    def trees(**options):
        model = RandomForestClassifier(3, random_state=0, bootstrap=False, **options)
        return [tree.tree_ for tree in model.fit(X, y).estimators_]

    for tree in trees(max_leaf_nodes=9):
        assert tree.n_leaves == 9
    for tree in trees(max_depth=4):
        assert tree.max_depth == 4
    for tree in trees(min_samples_leaf=0.05):
        assert tree.n_node_samples[tree.children_left < 0].min() >= 25
    for tree in trees(min_samples_split=100):
        assert tree.n_node_samples[tree.children_left >= 0].min() >= 100
    for tree in trees(min_impurity_decrease=0.02):
        inner = tree.children_left >= 0
        left, right = tree.children_left[inner], tree.children_right[inner]
        w, i = tree.weighted_n_node_samples, tree.impurity
        gain = w[inner] * i[inner] - w[left] * i[left] - w[right] * i[right]
        assert (gain / w[0] >= 0.02 - 1e-12).all()
    full = np.mean([tree.n_leaves for tree in trees()])
    assert 1 < np.mean([tree.n_leaves for tree in trees(ccp_alpha=0.01)]) < full


@pytest.mark.parametrize("cls", FORESTS)
def test_predictions_rise(cls):
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = X[:, 0] - X[:, 1] + rng.normal(scale=0.3, size=400)
    y = (y > 0) * 1 if cls in CLASSIFIERS else y
    model = cls(10, monotonic_cst=[1, -1, 0], random_state=0).fit(X, y)
    answer = model.predict if cls in REGRESSORS else lambda Z: model.predict_proba(Z)[:, 1]
    for f, sign in ((0, 1), (1, -1)):
        for x in X[:15]:
            line = np.repeat(x[None], 40, axis=0)
            line[:, f] = np.linspace(0, 1, 40)
            assert (sign * np.diff(answer(line)) >= -1e-12).all()


@pytest.mark.parametrize("cls", FORESTS)
def test_any_number_of_threads(cls, waves):
    X, y = waves
    one = cls(6, n_jobs=1, random_state=0).fit(X, y)
    two = cls(6, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one._trees.nodes, two._trees.nodes)


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
@pytest.mark.parametrize("cls", FORESTS)
def test_few_rows_and_many_get_the_same_answers(cls, share_missing, waves):
    """Trees are packed for many rows only."""
    X, y = waves
    X = X.astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < share_missing] = np.nan
    model = cls(7, random_state=0).fit(X, y)
    answer = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    at_once = answer(X)
    np.testing.assert_array_equal(at_once[:60], np.concatenate([answer(x[None]) for x in X[:60]]))
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(answer(X), at_once)


def test_warm_start_is_one_fit():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, warm_start=True, random_state=0, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        model.set_params(n_estimators=30).fit(X, y)
    at_once = RandomForestClassifier(30, random_state=0, oob_score=True).fit(X, y)
    np.testing.assert_array_equal(model._trees.nodes, at_once._trees.nodes)
    np.testing.assert_allclose(model.oob_curve_, at_once.oob_curve_)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="must be larger or equal"):
        model.set_params(n_estimators=3).fit(X, y)


# ---------------------------------------------------------------------------- out of bag


@pytest.mark.parametrize("cls", FORESTS)
def test_out_of_bag(cls, waves):
    X, y = waves
    X, y = X[:600], y[:600]
    model = cls(30, random_state=0, bootstrap=True, oob_score=True).fit(X, y)
    values = np.zeros((600, 3 if cls in CLASSIFIERS else 1))
    seen = np.zeros(600)
    for rows, tree in zip(model.estimators_samples_, model.estimators_):
        out = np.setdiff1d(np.arange(600), rows)
        values[out] += tree.tree_.predict_flat(X[out].astype(np.float32))
        seen[out] += 1
    mean = values / seen[:, None]
    if cls in CLASSIFIERS:
        np.testing.assert_allclose(model.oob_decision_function_, mean)
        assert model.oob_score_ == np.mean(mean.argmax(axis=1) == y)
    else:
        np.testing.assert_allclose(model.oob_prediction_, mean[:, 0])
    assert model.oob_curve_.shape == (30,)
    assert model.oob_curve_[-1] == pytest.approx(model.oob_score_)
    assert model.oob_curve_[-1] > model.oob_curve_[0]
    called = clone(model).set_params(oob_score=lambda y, p: 42.0).fit(X, y)
    assert called.oob_score_ == 42.0


def test_early_stopping(waves):
    X, y = waves
    model = RandomForestClassifier(200, random_state=0, n_iter_no_change=10, oob_score=True)
    model.fit(X, y)
    n = len(model.estimators_)
    assert 10 < n < 200
    assert len(model.oob_curve_) == n
    best = np.argmax(model.oob_curve_)
    assert n - 1 - best == 10
    alone = RandomForestClassifier(n, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_verbose(capsys, waves):
    X, y = waves
    RandomForestClassifier(100, verbose=1, n_jobs=1).fit(X[:300], y[:300])
    assert "of 100" in capsys.readouterr().out


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_pruned_trees_are_judged_out_of_bag(cls, waves):
    X, y = waves
    y = (y == 1).astype(int)
    model = cls(40, random_state=0, oob_score=True, ccp_alpha=0.01).fit(X, y)
    sums, seen = np.zeros((len(X), 2)), np.zeros(len(X))
    for tree, drawn in zip(model, model.estimators_samples_):
        rows = np.setdiff1d(np.arange(len(X)), drawn)
        said = getattr(tree, "predict_proba", tree.predict)(X[rows]).reshape(len(rows), -1)
        sums[rows, : said.shape[1]] += said
        seen[rows] += 1
    mean = sums[seen > 0] / seen[seen > 0, None]
    if cls is RandomForestClassifier:
        np.testing.assert_allclose(model.oob_decision_function_[seen > 0], mean)
    else:
        np.testing.assert_allclose(model.oob_prediction_[seen > 0], mean[:, 0])


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_permutation_importances(cls):
    rng = np.random.default_rng(0)
    X = rng.random((500, 4))
    y = (X[:, 1] > 0.5) * 1
    model = cls(20, random_state=0, max_features=None).fit(X, y)
    found = model.oob_permutation_importances(X, y, random_state=0, n_repeats=2)
    assert found.argmax() == 1
    assert found[1] > 0.2
    assert np.abs(np.delete(found, 1)).max() < 0.02
    with pytest.raises(ValueError, match="rows of the fit"):
        model.oob_permutation_importances(X[:9], y[:9])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.oob_permutation_importances(X, y[:9])
    with pytest.raises(ValueError, match="n_repeats"):
        model.oob_permutation_importances(X, y, n_repeats=0)
    with pytest.raises(ValueError, match="bootstrap=True"):
        cls(2, bootstrap=False).fit(X, y).oob_permutation_importances(X, y)


# ---------------------------------------------------------------------------- quantiles


@pytest.mark.parametrize("cls", REGRESSORS)
def test_quantiles_cover(cls):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    y = 3 * X[:, 0] + (0.2 + X[:, 1]) * rng.normal(size=3000)
    model = cls(50, min_samples_leaf=20, random_state=0).fit(X[:2000], y[:2000])
    low, middle, high = model.predict_quantiles(X[2000:], [0.1, 0.5, 0.9]).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert np.mean((y[2000:] >= low) & (y[2000:] <= high)) == pytest.approx(0.8, abs=0.06)
    single = model.predict_quantiles(X[2000:], 0.5)
    np.testing.assert_array_equal(single, middle)
    assert set(single) <= set(y[:2000])
    again = pickle.loads(pickle.dumps(model)).predict_quantiles(X[2000:], 0.5)
    np.testing.assert_array_equal(again, single)


def test_quantiles_of_one_leaf():
    y = np.array([1.0, 2.0, 3.0, 10.0])
    settings = {"bootstrap": False, "max_depth": 1, "min_samples_leaf": 3, "leaf_targets": 4}
    model = RandomForestRegressor(1, **settings).fit(np.zeros((4, 1)), y)
    np.testing.assert_array_equal(
        model.predict_quantiles([[0.0]], [0.0, 0.25, 0.5, 0.51, 1.0]), [[1.0, 1.0, 2.0, 3.0, 10.0]]
    )
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles([[0.0]], 1.5)
    for bad in (
        RandomForestRegressor(2, ccp_alpha=0.1).fit([[0], [1]], [0, 1]),
        RandomForestRegressor(2).fit([[0], [1]], [[0, 1], [1, 0]]),
    ):
        with pytest.raises(ValueError, match="one output and trees that are not pruned"):
            bad.predict_quantiles([[0]])


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_all_targets_kept_are_all_targets(criterion):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    settings = {"criterion": criterion, "min_samples_leaf": 5, "random_state": 0}
    model = RandomForestRegressor(7, leaf_targets=200, **settings).fit(X, y)
    found, leaves = model.predict_quantiles(X[:20], [0.1, 0.6]), model.apply(X)
    for i in range(20):
        weights = np.zeros(200)
        for t, drawn in enumerate(model.estimators_samples_):
            mine = np.bincount(drawn, minlength=200) * (leaves[:, t] == leaves[i, t])
            weights += mine / mine.sum()
        order = np.argsort(y)
        reached = np.cumsum(weights[order])
        expected = y[order][np.searchsorted(reached, np.array([0.1, 0.6]) * 7 * (1 - 1e-12))]
        np.testing.assert_array_equal(found[i], expected)


@pytest.mark.parametrize("whole", [True, False])
def test_kept_targets_are_a_fair_draw(whole):
    rng = np.random.default_rng(0)
    samples = np.array([1, 6, 3, 9])
    rows, y = rng.permutation(19), rng.normal(size=19)
    y[rows[7:10]] = 5.0  # a leaf of equal targets keeps none
    weights = rng.integers(1, 4, 19).astype(float) if whole else rng.random(19)
    shares = np.zeros(19)
    for seed in range(3000):
        counts, targets = kept_targets(rows, samples, y, weights, 2, seed)
        assert counts.tolist() == [0, 2, 0, 2]
        shares += np.isin(y, targets[:2]) * 0.5 * (1 + (targets[0] == targets[1]))
    leaf = rows[1:7]
    np.testing.assert_allclose(shares[leaf] / 3000, weights[leaf] / weights[leaf].sum(), atol=0.03)
    counts, targets = kept_targets(rows, samples, y, weights, 300, 0)
    if whole:
        assert sorted(targets[: counts[1]]) == sorted(np.repeat(y[leaf], weights[leaf].astype(int)))
    else:
        assert counts[1] == 300


# ---------------------------------------------------------------------------- storage


def test_size_of_a_node(waves):
    X, y = waves
    y = y > 0
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    reference = theirs.RandomForestClassifier(10, random_state=0).fit(X, y)
    n_nodes = len(model._trees.nodes)
    assert len(pickle.dumps(model)) < 32 * n_nodes
    assert len(pickle.dumps(model)) <= 0.3 * len(pickle.dumps(reference))


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize(
    "settings", [{}, {"min_samples_leaf": 5}, {"max_depth": 6}, {"criterion": "absolute_error"}]
)
def test_size_of_a_node_of_a_regressor(cls, settings, waves):
    model = cls(20, random_state=0, **settings).fit(waves[0], waves[0][:, 0])
    assert len(pickle.dumps(model)) < 32 * len(model._trees.nodes) + 4000


def test_an_embedding_keeps_no_targets(waves):
    model = RandomTreesEmbedding(20, random_state=0).fit(waves[0])
    stored = [vars(model)[name] for name in ("_trees", "_seeds", "_leaf_targets")]
    assert len(pickle.dumps(stored)) < 32 * len(model._trees.nodes) + 4000


@pytest.mark.parametrize("cls", [RandomForestRegressor, RandomForestClassifier])
def test_members_of_a_monotonic_forest(cls, waves):
    X, y = waves[0][:300], (waves[1][:300] > 1) * 1
    model = cls(3, monotonic_cst=[1] + [0] * 11, random_state=0).fit(X, y)
    assert [tree.n_features_in_ for tree in model.estimators_] == [12] * 3


@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_absolute_error_is_scikit_learns(alpha):
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))  # no ties
    settings = {"criterion": "absolute_error", "bootstrap": False, "min_samples_leaf": 20}
    settings |= {"max_features": None, "random_state": 0, "ccp_alpha": alpha * y.std()}
    ours = RandomForestRegressor(2, **settings).fit(X, y, weights)
    reference = theirs.RandomForestRegressor(2, **settings).fit(X, y, weights)
    np.testing.assert_allclose(ours.feature_importances_, reference.feature_importances_)
    for mine, other in zip(ours, reference):
        np.testing.assert_allclose(mine.tree_.value, other.tree_.value)
        np.testing.assert_allclose(mine.tree_.impurity, other.tree_.impurity)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_partial_dependence_is_that_of_the_trees(cls):
    X, y = load_diabetes(return_X_y=True)
    model = cls(4, random_state=0, max_depth=5).fit(X, y)
    grid, columns = np.ascontiguousarray(X[:9, [2, 8]]), np.array([2, 8])
    mean = np.mean(
        [tree._compute_partial_dependence_recursion(grid, columns) for tree in model], axis=0
    )
    found = model._compute_partial_dependence_recursion(grid, columns)
    np.testing.assert_allclose(found, mean)
    assert np.ptp(found) > 10


def test_trees_look_like_scikit_learns():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    assert len(model) == 3
    assert [tree.random_state for tree in model] == [tree.random_state for tree in model[:]]
    tree = model[0].tree_
    inner = tree.children_left >= 0
    left, right = tree.children_left[inner], tree.children_right[inner]
    w = tree.weighted_n_node_samples
    np.testing.assert_allclose(w[inner], w[left] + w[right])
    assert w[0] == 150
    assert tree.n_node_samples[0] == len(np.unique(model.estimators_samples_[0]))
    assert type(model.estimator_).__name__ == "DecisionTreeClassifier"


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_member_is_the_tree_of_its_rows(cls, bootstrap):
    """A tree alone, with the member's seed and rows, finds the member's splits."""
    X, y = make_classification(300, 8, n_classes=3, n_informative=5, random_state=0)
    X[::7, 0] = np.nan
    forest = cls(5, random_state=0, bootstrap=bootstrap, max_samples=0.6 if bootstrap else None)
    forest.fit(X, y)
    for member, drawn in zip(forest.estimators_, forest.estimators_samples_):
        alone = clone(member).fit(X[drawn], y[drawn])
        np.testing.assert_array_equal(alone.tree_.feature, member.tree_.feature)
        np.testing.assert_array_equal(alone.tree_.threshold, member.tree_.threshold)
        np.testing.assert_array_equal(alone.tree_.value, member.tree_.value)


# ---------------------------------------------------------------------------- draws of our own


@pytest.mark.parametrize("cls", FORESTS)
def test_rows_without_replacement(cls):
    X, y = load_iris(return_X_y=True)
    given = {"bootstrap": True, "replace": False, "max_samples": 0.5, "random_state": 0}
    model = cls(6, oob_score=True, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some rows are in every draw
        model.fit(X, y)
    for rows, tree in zip(model.estimators_samples_, model.estimators_):
        assert len(np.unique(rows)) == len(rows) == 75
        assert tree.tree_.weighted_n_node_samples[0] == tree.tree_.n_node_samples[0] == 75
    weights = np.r_[np.ones(100), np.zeros(50)]
    model = cls(3, **{**given, "max_samples": 60}).fit(X, y, sample_weight=weights)
    assert all(rows.max() < 100 for rows in model.estimators_samples_)
    with pytest.raises(ValueError, match="must be <= n_samples=150"):
        cls(3, **{**given, "max_samples": 151}).fit(X, y)


@pytest.mark.parametrize("criterion", [None, "absolute_error"])
@pytest.mark.parametrize("cls", FORESTS)
def test_columns_are_drawn_once_per_tree(cls, criterion):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, -X, X**2])
    more = {}
    if criterion is not None:
        if cls in CLASSIFIERS:
            pytest.skip("of regressors only")
        more = {"criterion": criterion}
    models = [
        cls(8, features_per_tree=3, max_features=None, random_state=0, n_jobs=n, **more).fit(X, y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    drawn = models[0].estimators_features_
    assert len({tuple(columns) for columns in drawn}) > 1
    for tree, columns, rows in zip(models[0].estimators_, drawn, models[0].estimators_samples_):
        assert len(columns) == 3
        used = tree.tree_.feature[tree.tree_.feature >= 0]
        assert set(used) <= set(columns)
        # The tree is the one that these columns make alone.
        alone = clone(tree).set_params(random_state=tree.random_state)
        weights = np.bincount(rows, minlength=150)
        alone.fit(X[:, columns], y, sample_weight=weights if models[0].bootstrap else None)
        np.testing.assert_allclose(
            alone.predict(X[:, columns]).astype(float), tree.predict(X), rtol=1e-9
        )


def test_columns_of_a_tree_with_directions():
    X = np.random.default_rng(0).random((200, 4)).astype(np.float32)
    y = X @ [1.0, -1.0, 0.3, 0.0]
    signs = [1, -1, 0, 0]
    model = RandomForestRegressor(
        10, features_per_tree=0.5, monotonic_cst=signs, random_state=0, max_depth=4
    ).fit(X, y)
    grid = np.repeat(X[:1], 50, axis=0)
    for column, sign in enumerate(signs[:2]):
        grid[:, column] = np.linspace(0, 1, 50)
        assert (sign * np.diff(model.predict(grid)) >= -1e-12).all()
        grid[:, column] = X[0, column]
