"""AdaBoost: the same model as scikit-learn's, whichever way the members are trained."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
import sklearn.tree
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from fastml import _threads
from fastml.ensemble import AdaBoostClassifier, AdaBoostRegressor
from fastml.ensemble._adaboost import _trainers
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor


def classes(n=600, n_classes=2):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1,
        flip_y=0.1, random_state=0,
    )  # fmt: skip


def numbers(n=2000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)


@pytest.fixture
def eager_threads(monkeypatch):
    """Three threads even for little work."""
    monkeypatch.setattr(_threads, "OPERATIONS_PER_THREAD", 8)
    monkeypatch.setattr(_threads, "limits", lambda: {"test": 3})


def assert_same_classifier(ours, theirs, X):
    assert len(ours.estimators_) == len(theirs.estimators_)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-10)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-10)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-10)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-10)


# ---------------------------------------------------------------------------- classification


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_stumps_of_scikit_learn(n_classes, criterion):
    X, y = classes(1500, n_classes)
    settings = {"n_estimators": 40, "learning_rate": 0.7, "random_state": 0}
    stump = {"max_depth": 1, "criterion": criterion}
    ours = AdaBoostClassifier(DecisionTreeClassifier(**stump), **settings).fit(X, y)
    base = sklearn.tree.DecisionTreeClassifier(**stump)
    theirs = sklearn.ensemble.AdaBoostClassifier(base, **settings).fit(X, y)
    for mine, other in zip(ours.estimators_, theirs.estimators_):
        assert_array_equal(mine.tree_.feature, other.tree_.feature)
        assert_array_equal(mine.tree_.threshold, other.tree_.threshold)
        assert_array_equal(mine.tree_.n_node_samples, other.tree_.n_node_samples)
        assert_allclose(mine.tree_.value, other.tree_.value, atol=1e-12)
        assert_allclose(mine.tree_.impurity, other.tree_.impurity, atol=1e-12)
    assert_same_classifier(ours, theirs, X)


def test_shallow_trees_of_scikit_learn():
    X, y = classes(3000, 3)
    settings = {"n_estimators": 15, "random_state": 0}
    tree = {"max_depth": 3, "min_samples_leaf": 20, "class_weight": "balanced"}
    ours = AdaBoostClassifier(DecisionTreeClassifier(**tree), **settings).fit(X, y)
    base = sklearn.tree.DecisionTreeClassifier(**tree)
    theirs = sklearn.ensemble.AdaBoostClassifier(base, **settings).fit(X, y)
    assert_same_classifier(ours, theirs, X)


@pytest.mark.parametrize("trainer", [_trainers.TreeClassifier, _trainers.AnyClassifier])
def test_three_ways_one_model(monkeypatch, trainer):
    X, y = classes(900, 3)
    weights = np.random.default_rng(0).random(900)
    weights[::7] = 0.0
    leaf = DecisionTreeClassifier(max_depth=1, min_samples_leaf=30)
    model = AdaBoostClassifier(leaf, n_estimators=25, random_state=0)
    expected = model.fit(X, y, weights).decision_function(X)
    used = []

    def other(boost, X, y, weights):
        used.append(trainer)
        return trainer(boost, X, y, *([weights] if trainer.__name__ == "TreeClassifier" else []))

    monkeypatch.setattr("fastml.ensemble._adaboost._classifier.classifier_trainer", other)
    assert_allclose(model.fit(X, y, weights).decision_function(X), expected, atol=1e-12)
    assert used


@pytest.mark.parametrize("settings", [{}, {"min_samples_leaf": 5}, {"criterion": "error"}])
def test_stumps_take_the_way_of_blocks(settings):
    X, y = classes()
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, **settings)).fit(X, y)
    trainer = _trainers.classifier_trainer(model, X, y, np.ones(len(y)))
    assert type(trainer) is _trainers.StumpClassifier


@pytest.mark.parametrize(
    "settings",
    [{"max_depth": 2}, {"max_features": 2}, {"monotonic_cst": [0] * 6}, {"min_samples_leaf": 0.1}],
)
def test_other_trees_do_not(settings):
    X, y = classes()
    base = DecisionTreeClassifier(**{"max_depth": 1, **settings})
    model = AdaBoostClassifier(base, n_estimators=3).fit(X, y)
    trainer = _trainers.classifier_trainer(model, X, y, np.ones(len(y)))
    assert type(trainer) is _trainers.TreeClassifier


@pytest.mark.parametrize("depth", [1, 2])
def test_integer_weights_are_repeated_rows(depth):
    X, y = classes(1500, 3)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    base = DecisionTreeClassifier(max_depth=depth)
    model = AdaBoostClassifier(base, n_estimators=5, random_state=0)
    weighted = model.fit(X, y, sample_weight=times).decision_function(X)
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
    assert_allclose(weighted, repeated, atol=1e-10)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("depth", [1, 3])
def test_same_bits_for_any_number_of_threads(n_classes, depth):
    X, y = classes(9000, n_classes)
    base = DecisionTreeClassifier(max_depth=depth)
    one, three = (
        AdaBoostClassifier(base, n_estimators=5, random_state=0, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 3)
    )
    assert_array_equal(one.estimator_weights_, three.estimator_weights_)
    assert_array_equal(one.decision_function(X), three.decision_function(X))


@pytest.mark.parametrize("base", [None, DecisionTreeClassifier(max_depth=2), "theirs"])
def test_stages_end_in_the_model(base):
    X, y = classes(300, 3)
    if base == "theirs":
        base = sklearn.tree.DecisionTreeClassifier(max_depth=1)
    model = AdaBoostClassifier(base, n_estimators=7, random_state=0).fit(X, y)
    for stages, last in (
        (model.staged_decision_function(X), model.decision_function(X)),
        (model.staged_predict(X), model.predict(X)),
        (model.staged_predict_proba(X), model.predict_proba(X)),
        (model.staged_score(X, y), model.score(X, y)),
    ):
        stages = list(stages)
        assert len(stages) == len(model.estimators_) == 7
        assert_allclose(stages[-1], last, atol=1e-12)


def test_cut_members_are_noticed():
    X, y = classes()
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    third = list(model.staged_predict(X))[2]
    model.estimators_ = model.estimators_[:3]
    model.estimator_weights_ = model.estimator_weights_[:3]
    assert_array_equal(model.predict(X), third)


def test_no_errors_end_it():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) >= 7
    model = AdaBoostClassifier().fit(X, y)
    assert len(model.estimators_) == 1
    assert model.estimator_errors_[0] == 0.0
    assert model.score(X, y) == 1.0


def test_nothing_to_split():
    """A stump without a split is a leaf: no better than the largest class."""
    X, y = np.ones((9, 2)), np.array([0] * 6 + [1] * 3)
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    assert_array_equal(model.predict(X), np.zeros(9))
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier().fit(X[:8], np.arange(8) % 2)


def test_one_class():
    model = AdaBoostClassifier().fit([[0.0], [1.0]], ["a", "a"])
    assert_array_equal(model.predict([[3.0]]), ["a"])
    assert_array_equal(model.predict_proba([[3.0]]), [[1.0]])
    assert_array_equal(list(model.staged_decision_function([[3.0]])), [[[0.0]]])
    assert_array_equal(list(model.staged_predict([[3.0]])), [["a"]])


def test_sparse_rows():
    X, y = classes(200, 3)
    X[X < 0.3] = 0.0
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    sparse = AdaBoostClassifier(n_estimators=5, random_state=0).fit(sp.csr_array(X), y)
    assert_array_equal(model.predict(X), sparse.predict(sp.csc_array(X)))


def test_pickle():
    X, y = classes()
    model = AdaBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    expected = model.predict(X)
    stored = pickle.dumps(model)
    assert b"_packed" not in stored
    assert len(stored) < len(pickle.dumps(theirs))
    assert_array_equal(pickle.loads(stored).predict(X), expected)


# ---------------------------------------------------------------------------- regression


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("leaf", [1, 40])
def test_regressor_of_scikit_learn(loss, leaf):
    X, y = numbers()
    # After more rounds the draws are of few rows, and two columns part them alike: ties.
    settings = {"n_estimators": 6, "loss": loss, "random_state": 0, "learning_rate": 0.9}
    tree = {"max_depth": 3, "min_samples_leaf": leaf}
    ours = AdaBoostRegressor(DecisionTreeRegressor(**tree), **settings).fit(X, y)
    base = sklearn.tree.DecisionTreeRegressor(**tree)
    theirs = sklearn.ensemble.AdaBoostRegressor(base, **settings).fit(X, y)
    for mine, other in zip(ours.estimators_, theirs.estimators_):
        assert_array_equal(mine.tree_.n_node_samples, other.tree_.n_node_samples)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    for mine, other in zip(ours.staged_predict(X), theirs.staged_predict(X)):
        assert_allclose(mine, other, atol=1e-9)


def test_regressor_with_any_member():
    X, y = numbers(400)
    base = sklearn.tree.DecisionTreeRegressor(max_depth=3)
    settings = {"n_estimators": 9, "random_state": 0}
    ours = AdaBoostRegressor(base, **settings).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostRegressor(base, **settings).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.feature_importances_, theirs.feature_importances_)


@pytest.mark.usefixtures("eager_threads")
def test_regressor_same_bits_for_any_number_of_threads():
    X, y = numbers()
    one, three = (
        AdaBoostRegressor(n_estimators=4, random_state=0, n_jobs=n).fit(X, y) for n in (1, 3)
    )
    assert_array_equal(one.predict(X), three.predict(X))


def test_constant_target():
    X, _ = numbers(50)
    model = AdaBoostRegressor().fit(X, np.full(50, 3.0))
    assert len(model.estimators_) == 1
    assert_array_equal(model.predict(X), np.full(50, 3.0))


def test_predictions_come_in_blocks(monkeypatch):
    X, y = numbers(300)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr("fastml.ensemble._adaboost._regressor.VALUES_AT_ONCE", 70)
    assert_array_equal(model.predict(X), expected)


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("cls", [AdaBoostClassifier, AdaBoostRegressor])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_weight": np.full(60, -1.0)}, "egative"),
        ({"sample_weight": np.zeros(60)}, "at least one non-zero"),
        ({"sample_weight": np.ones(59)}, "sample_weight.shape"),
        ({"X": np.full((60, 3), np.nan)}, "NaN"),
        ({"X": np.full((60, 3), 1e300)}, "X contains infinity or a value too large for dtype"),
        ({"X": np.zeros((60, 3, 2))}, "dim 3"),
        ({"y": np.zeros(59)}, "inconsistent numbers of samples"),
    ],
)
def test_bad_rows(cls, change, message):
    rng = np.random.default_rng(0)
    data = {"X": rng.normal(size=(60, 3)), "y": np.arange(60) % 2, **change}
    with pytest.raises(ValueError, match=message):
        cls(n_estimators=3).fit(**data)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"estimator": DecisionTreeClassifier(max_features=0)}, "max_features"),
        ({"estimator": DecisionTreeClassifier(categorical_features=[9])}, "categorical_features"),
        ({"estimator": 3}, "estimator"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = classes(60)
    with pytest.raises((ValueError, TypeError), match=message):
        AdaBoostClassifier(**parameters).fit(X, y)


def test_continuous_labels():
    X, y = numbers(60)
    with pytest.raises(ValueError, match="Unknown label type"):
        AdaBoostClassifier().fit(X, y)


def test_members_must_take_weights():
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(*classes(60))


def test_infinite_weights_are_told():
    X, y = classes(200)
    with pytest.warns(UserWarning, match="infinite values"):
        AdaBoostClassifier(n_estimators=9, learning_rate=1500.0).fit(X, y)
