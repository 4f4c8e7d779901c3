"""Friedman's gradient boosting: scikit-learn's trees, scores and rules, and its own."""

import pickle
from functools import partial

import numpy as np
import pytest
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array
from scipy.special import expit
from sklearn import ensemble as reference
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.stats import _weighted_percentile

from fastml._engines.trees.grow import grow
from fastml.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from fastml.ensemble._gradient_boosting import _stages as stages
from fastml.ensemble._gradient_boosting._loss import StageLoss, inverted_cdf

LEAVES = {"n_estimators": 25, "min_samples_leaf": 12, "random_state": 0}
"""Leaves so large that no two columns split a node equally well: no tie, no room for chance."""


def problem(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + rng.normal(scale=0.5, size=n)
    return X, y, rng.random(n) + 0.5


def pair(kind, y, **parameters):
    """fastml's and scikit-learn's machine, and targets of the kind."""
    if kind in ("squared_error", "absolute_error", "huber", "quantile"):
        name, parameters = "GradientBoostingRegressor", {**parameters, "loss": kind}
    else:
        name = "GradientBoostingClassifier"
        y = np.digitize(y, [-1, 0, 1]) if kind == "four classes" else (y > 0).astype(int)
        if kind == "exponential":
            parameters = {**parameters, "loss": kind}
    ours = {
        "GradientBoostingClassifier": GradientBoostingClassifier,
        "GradientBoostingRegressor": GradientBoostingRegressor,
    }[name]
    return ours(**parameters), getattr(reference, name)(**parameters), y


KINDS = (
    "two classes", "four classes", "exponential", "squared_error", "absolute_error", "huber",
    "quantile",
)  # fmt: skip


def raw_of(model, X):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


def assert_same_model(ours, theirs, X, same_nodes=True):
    assert ours.n_estimators_ == theirs.n_estimators_
    assert ours.estimators_.shape == theirs.estimators_.shape
    for mine, other in zip(ours.estimators_.flat, theirs.estimators_.flat):
        a, b = mine.tree_, other.tree_
        assert a.node_count == b.node_count
        if same_nodes:
            assert_array_equal(a.feature, b.feature)
            assert_array_equal(a.children_right, b.children_right)
            assert_allclose(a.threshold, b.threshold, rtol=1e-12)
            assert_allclose(a.value, b.value, rtol=1e-9, atol=1e-11)
            assert_allclose(a.impurity, b.impurity, rtol=1e-8, atol=1e-11)
            assert_array_equal(a.n_node_samples, b.n_node_samples)
            assert_allclose(a.weighted_n_node_samples, b.weighted_n_node_samples)
    if same_nodes:
        assert_array_equal(ours.apply(X), theirs.apply(X))
    assert_allclose(raw_of(ours, X), raw_of(theirs, X), rtol=1e-9, atol=1e-10)
    assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    for name in ("oob_improvement_", "oob_scores_", "oob_score_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        if hasattr(ours, name):
            assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-10)


# ---------------------------------------------------------------------------- as scikit-learn


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"min_impurity_decrease": 1e-3},
        {"ccp_alpha": 1e-3},
        {"min_weight_fraction_leaf": 0.1, "learning_rate": 0.5},
    ],
    ids=str,
)
def test_the_same_trees(kind, weighted, more):
    X, y, weights = problem()
    signs = kind in ("absolute_error", "quantile") and not weighted
    if signs:  # residuals of two values: only among many rows are no two splits equally good
        X, y, weights = problem(4000, seed=1)
        more = {"min_samples_leaf": 130, **more}
    ours, theirs, y = pair(kind, y, **{**LEAVES, **more})
    for model in (ours, theirs):
        model.fit(X, y, sample_weight=weights if weighted else None)
    assert_same_model(ours, theirs, X)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "squared_error", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_drawn_rows(kind, weighted):
    X, y, weights = problem(600)
    ours, theirs, y = pair(kind, y, subsample=0.6, **{**LEAVES, "min_samples_leaf": 30})
    for model in (ours, theirs):
        model.fit(X, y, sample_weight=weights if weighted else None)
    assert_same_model(ours, theirs, X)


@pytest.mark.parametrize("kind", ["two classes", "squared_error"])
def test_best_first_trees(kind):
    X, y, _ = problem()
    ours, theirs, y = pair(kind, y, max_leaf_nodes=6, max_depth=None, **LEAVES)
    assert_same_model(ours.fit(X, y), theirs.fit(X, y), X, same_nodes=False)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "squared_error", "quantile"])
def test_stops_where_scikit_learn_stops(kind):
    X, y, weights = problem()
    more = {"n_iter_no_change": 3, "tol": 1e-3, "validation_fraction": 0.2}
    ours, theirs, y = pair(kind, y, **{**LEAVES, "n_estimators": 300, **more})
    assert_same_model(ours.fit(X, y, weights), theirs.fit(X, y, weights), X)
    assert ours.n_estimators_ < 300


@pytest.mark.parametrize("kind", ["two classes", "four classes", "squared_error"])
@pytest.mark.parametrize("init", ["zero", "estimator"])
def test_start(kind, init):
    X, y, _ = problem()
    if init == "estimator":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        cls = DecisionTreeRegressor if kind == "squared_error" else DecisionTreeClassifier
        init = cls(max_depth=2, min_samples_leaf=20, random_state=0)
    ours, theirs, y = pair(kind, y, init=init, **LEAVES)
    assert_same_model(ours.fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize("kind", ["two classes", "four classes", "exponential", "huber"])
def test_stages_lead_to_the_prediction(kind):
    X, y, _ = problem()
    ours, theirs, y = pair(kind, y, **LEAVES)
    ours.fit(X, y), theirs.fit(X, y)
    names = ["predict"]
    if kind != "huber":
        names += ["predict_proba", "decision_function"]
    for name in names:
        mine = list(getattr(ours, f"staged_{name}")(X))
        for a, b in zip(mine, getattr(theirs, f"staged_{name}")(X), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-10)
        assert_array_equal(np.squeeze(mine[-1]), getattr(ours, name)(X))
    if kind != "huber":
        assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9)


# ---------------------------------------------------------------------------- the mathematics


@pytest.mark.parametrize("level", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 10, 101])
def test_inverted_cdf(level, n):
    rng = np.random.default_rng(n)
    values, weights = rng.normal(size=n), rng.integers(0, 3, n) * 1.0
    weights[0] = 1.0
    for w in (None, weights):
        given = np.ones(n) if w is None else w
        assert inverted_cdf(values, w, level) == _weighted_percentile(values, given, 100 * level)


@pytest.mark.parametrize("name", ["absolute_error", "quantile", "huber"])
def test_no_other_constant_of_a_leaf_is_better(name):
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=60) ** 3, rng.random(60)
    loss = StageLoss(name, alpha=0.7)
    loss.parameter = 0.7
    best = loss.constant(y, weights)
    at = [loss(y, np.full(60, best + shift), weights) for shift in (0.0, -0.3, 0.3)]
    assert at[0] <= min(at)


def test_the_loss_of_training_falls():
    X, y, _ = problem()
    for kind in KINDS:
        ours, _, target = pair(kind, y, **LEAVES)
        assert np.all(np.diff(ours.fit(X, target).train_score_) < 1e-12)


def test_weights_are_repeated_rows():
    X, y, _ = problem()
    times = np.random.default_rng(0).integers(0, 3, len(X))
    once = GradientBoostingRegressor(random_state=0).fit(X, y, sample_weight=times)
    often = GradientBoostingRegressor(random_state=0).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    learnt = times > 0  # among equally good splits of few rows, others may fall elsewhere
    assert_allclose(once.predict(X)[learnt], often.predict(X)[learnt], atol=1e-8)


def test_a_leaf_of_certain_rows_stays():
    loss = StageLoss("log_loss", 2)
    y, leaves = np.array([1.0, 1.0, 0.0]), np.array([1, 1, 2])
    steps = loss.leaf_values(
        0, y, np.zeros(3), np.array([0.0, 0.0, -0.5]), None, leaves, np.array([0, 1, 1]) > 0
    )
    assert_allclose(steps, [0.0, 0.0, -2.0])


# ---------------------------------------------------------------------------- agnosticism


def counted(calls, *args, **kwargs):
    calls.append(1)
    return grow(*args, **kwargs)


def test_both_ways_of_growing_give_the_same_model(monkeypatch):
    X, y, weights = problem()
    for more in ({}, {"subsample": 0.5}):
        model = GradientBoostingRegressor(n_estimators=10, random_state=0, **more)
        levels = model.fit(X, y, weights).predict(X)
        grown = []
        with monkeypatch.context() as patch:
            patch.setattr(stages, "by_levels", lambda *_: False)
            patch.setattr(stages, "grow", partial(counted, grown))
            partitioned = model.fit(X, y, weights).predict(X)
        assert len(grown) == 10
        assert_array_equal(levels, partitioned)


@pytest.mark.parametrize("more", [{}, {"subsample": 0.5, "max_features": 2}])
def test_threads_do_not_matter(more):
    X, y, _ = problem(20_000)
    models = [
        GradientBoostingRegressor(n_estimators=3, random_state=0, n_jobs=n_jobs, **more).fit(X, y)
        for n_jobs in (1, 2)
    ]
    assert_bit_equal(*(model.predict(X) for model in models))
    assert_bit_equal(*(model.train_score_ for model in models))


def test_layout_sparse_pickle():
    X, y, _ = problem(80)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0)
    p = model.fit(X, y > 0).predict_proba(X)
    for rows in (np.asfortranarray(X), csc_array(X), X.astype(float)):
        assert_array_equal(model.fit(rows, y > 0).predict_proba(rows), p)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    assert len(pickle.dumps(model)) < 20_000


# ---------------------------------------------------------------------------- warm start, monitor


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_warm_start_goes_on(subsample):
    X, y, _ = problem()
    model = GradientBoostingRegressor(n_estimators=12, subsample=subsample, random_state=0)
    whole = clone(model).fit(X, y)
    model.set_params(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    assert_array_equal(model.predict(X), whole.predict(X))
    assert_array_equal(model.train_score_, whole.train_score_)


def test_other_trees_or_another_rate_are_seen():
    X, y, _ = problem()
    model = GradientBoostingRegressor(n_estimators=6, random_state=0).fit(X, y)
    staged = list(model.staged_predict(X))
    model.estimators_ = model.estimators_[:2]
    assert_array_equal(model.predict(X), staged[1])
    model.set_params(learning_rate=0.0)
    assert_allclose(model.predict(X), y.mean())


def test_monitor_sees_every_stage_and_can_stop():
    X, y, _ = problem()
    seen = []

    def monitor(i, model, local):
        seen.append((i, model.train_score_[i], local["raw_predictions"].copy()))
        return i == 3

    model = GradientBoostingClassifier(random_state=0).fit(X, y > 0, monitor=monitor)
    assert [i for i, _, _ in seen] == [0, 1, 2, 3]
    assert model.n_estimators_ == len(model) == len(model.train_score_) == 4
    assert_array_equal(seen[-1][2][0], model.decision_function(X))
    assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))


def test_a_failed_fit_leaves_nothing():
    X, y, _ = problem(50)
    model = GradientBoostingRegressor(n_estimators=3)

    def monitor(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, monitor=monitor)
    assert not hasattr(model, "estimators_")
    assert not hasattr(model, "train_score_")


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"subsample": 0.0}, "subsample"),
        ({"loss": "hinge"}, "loss"),
        ({"alpha": 1.0}, "alpha"),
        ({"init": "one"}, "init"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"criterion": "absolute_error"}, "criterion"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y, _ = problem(20)
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**parameters).fit(X, y)


def test_bad_rows_and_targets():
    X, y, _ = problem(20)
    holes = X.copy()
    holes[3, 1] = np.nan
    model = GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(holes, y > 0)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, y > 0, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="binary classification"):
        GradientBoostingClassifier(loss="exponential").fit(X, np.arange(20) % 3)
    start = GradientBoostingRegressor(init=KNeighborsRegressor())
    with pytest.raises(ValueError, match="does not support sample weights"):
        start.fit(X, y, sample_weight=y**2)
    fitted = model.fit(X, y > 0)
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(holes)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match="n_estimators=1 "):
        fitted.set_params(warm_start=True, n_estimators=1).fit(X, y > 0)
    with pytest.warns(FutureWarning, match="criterion"):
        GradientBoostingRegressor(n_estimators=1, criterion="friedman_mse").fit(X, y)


# ---------------------------------------------------------------------------- a step per tree


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "log_loss", "exponential"])
def test_one_step_length_for_the_whole_tree(loss, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.standard_normal(300)
    weights = rng.integers(0, 3, 300).astype(float) if weighted else None
    classify = loss in ("log_loss", "exponential")
    cls = GradientBoostingClassifier if classify else GradientBoostingRegressor
    y = (y > 0).astype(int) if classify else 1000.0 * y
    given = {"loss": loss, "learning_rate": 1.0, "random_state": 0, "line_search": "tree"}
    model = cls(n_estimators=4, **given).fit(X, y, sample_weight=weights)
    values = model.staged_decision_function if classify else model.staged_predict
    stages = [np.array(raw, float).reshape(1, -1) for raw in values(X)]
    for i in range(3):
        tree = model.estimators_[i + 1, 0].tree_
        h = tree.value[tree.apply(X), 0, 0]
        assert np.ptp(h) > 0  # ratios of the leaves are those of the mean residuals
        fixed = cls(n_estimators=i + 1, **given).fit(X, y, sample_weight=weights)._loss
        fixed.prepare(y.astype(float), stages[i], weights)
        scores = [
            fixed.mean(y.astype(float), stages[i] + factor * h, weights)
            for factor in (0.9, 0.99, 1.0, 1.01, 1.1)
        ]
        assert np.argmin(scores) == 2, scores
    assert (np.diff(model.train_score_) <= 1e-12).all() or loss == "huber"  # its width moves


def test_steps_of_three_classes_and_of_squared_error():
    X, y = load_iris(return_X_y=True)
    by_tree = GradientBoostingClassifier(n_estimators=20, random_state=0, line_search="tree")
    by_leaf = GradientBoostingClassifier(n_estimators=20, random_state=0)
    assert by_tree.fit(X, y).score(X, y) >= 0.97
    assert (np.diff(by_tree.train_score_) < 0).all()
    assert by_leaf.fit(X, y).train_score_[-1] != by_tree.train_score_[-1]
    for mode in ("tree", "leaf"):
        model = GradientBoostingRegressor(n_estimators=5, random_state=0, line_search=mode)
        model.fit(X, X[:, 0])
        if mode == "tree":
            expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_rows_that_a_tree_separates_end_the_search():
    X = np.r_[np.zeros(20), np.ones(20)].reshape(-1, 1)
    model = GradientBoostingClassifier(n_estimators=2, learning_rate=1.0, line_search="tree")
    model.fit(X, X[:, 0])
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, X[:, 0]) == 1.0
