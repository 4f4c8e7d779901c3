"""Bagging: scikit-learn's draws, the members that fits alone give, any number of threads."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from fastml.ensemble import BaggingClassifier, BaggingRegressor
from fastml.neighbors import KNeighborsClassifier, KNeighborsRegressor
from fastml.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

X, LABELS = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
NEW, NEW_LABELS = X[200:], LABELS[200:]
X, LABELS = X[:200], LABELS[:200]
VALUES = X[:, 0] + 0.5 * X[:, 1] ** 2

DRAWS = {
    "bagging": {},
    "pasting": {"bootstrap": False, "max_samples": 0.5},
    "subspaces": {"bootstrap": False, "max_features": 0.5},
    "patches": {"max_samples": 0.6, "max_features": 3},
    "columns twice": {"bootstrap_features": True},
}
every_draw = pytest.mark.parametrize("draws", DRAWS.values(), ids=list(DRAWS))


@every_draw
@pytest.mark.parametrize("weighted", [False, True])
def test_draws_are_scikit_learns(draws, weighted):
    weights = np.arange(1.0, 201.0) if weighted else None
    if weighted and not draws.get("bootstrap", True):
        pytest.skip("scikit-learn warns")
    for name, y in (("BaggingClassifier", LABELS), ("BaggingRegressor", VALUES)):
        given = {"n_estimators": 4, "random_state": 3, **draws}
        ours = {"BaggingClassifier": BaggingClassifier, "BaggingRegressor": BaggingRegressor}[name]
        ours = ours(**given).fit(X, y, sample_weight=weights)
        theirs = getattr(sklearn.ensemble, name)(**given).fit(X, y, sample_weight=weights)
        for mine, other in zip(ours.estimators_samples_, theirs.estimators_samples_):
            np.testing.assert_array_equal(mine, other)
        for mine, other in zip(ours.estimators_features_, theirs.estimators_features_):
            np.testing.assert_array_equal(mine, other)


TREES = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(max_depth=3, class_weight={0: 1, 1: 2, 2: 1}),
    DecisionTreeClassifier(min_samples_leaf=4, ccp_alpha=0.01, max_features=2),
    ExtraTreeClassifier(max_features=None),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(max_leaf_nodes=8, min_weight_fraction_leaf=0.02),
    ExtraTreeRegressor(min_samples_leaf=5),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
]


@every_draw
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees_of_the_forests_engine_are_those_grown_alone(tree, draws):
    classify = hasattr(tree, "predict_proba")
    cls, y = (BaggingClassifier, LABELS) if classify else (BaggingRegressor, VALUES)
    model = cls(tree, 5, random_state=0, **draws).fit(X, y)
    answers = []
    drawn = zip(model.estimators_, model.estimators_features_, model.estimators_samples_)
    for member, columns, rows in drawn:
        counts = np.bincount(rows, minlength=len(X))
        alone = type(tree)(**{**tree.get_params(), "random_state": member.random_state})
        alone.fit(X[:, columns], y, sample_weight=counts)
        if classify:
            assert alone.tree_.node_count == member.tree_.node_count
        answer = alone.predict_proba if classify else alone.predict
        answers.append(answer(NEW[:, columns]))
    answer = model.predict_proba if classify else model.predict
    np.testing.assert_allclose(answer(NEW), np.mean(answers, axis=0), rtol=1e-9, atol=1e-12)


MEMBERS = [
    (BaggingClassifier, LogisticRegression()),
    (BaggingClassifier, GaussianNB()),
    (BaggingRegressor, Ridge()),
]


@every_draw
@pytest.mark.parametrize(("cls", "member"), MEMBERS, ids=lambda value: str(value))
def test_other_members_answer_as_in_scikit_learn(cls, member, draws):
    given = {"n_estimators": 6, "random_state": 1, **draws}
    y = LABELS if cls is BaggingClassifier else VALUES
    ours = cls(member, **given).fit(X, y)
    theirs = getattr(sklearn.ensemble, cls.__name__)(member, **given).fit(X, y)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(ours, method):
            mine, other = getattr(ours, method)(NEW), getattr(theirs, method)(NEW)
            np.testing.assert_allclose(mine, other, rtol=1e-10)


@pytest.mark.parametrize(
    ("cls", "member"),
    [
        (BaggingClassifier, KNeighborsClassifier()),
        (BaggingClassifier, DecisionTreeClassifier()),
        (BaggingRegressor, KNeighborsRegressor()),
        (BaggingRegressor, DecisionTreeRegressor(max_depth=4)),
    ],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("columns", [1.0, 0.5])
def test_same_bits_for_any_number_of_threads(cls, member, columns):
    y = LABELS if cls is BaggingClassifier else VALUES
    answers = []
    for n_jobs in (1, 2, None):
        model = cls(member, 7, max_features=columns, oob_score=True, random_state=0, n_jobs=n_jobs)
        with pytest.warns(UserWarning, match="do not have OOB"):
            model.fit(X, y)
        answer = model.predict_proba if cls is BaggingClassifier else model.predict
        answers.append((answer(NEW), model.oob_score_))
    for answer, score in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0][0])
        assert score == answers[0][1]


def test_out_of_bag():
    given = {"n_estimators": 60, "random_state": 0, "oob_score": True}
    ours, theirs = BaggingClassifier(**given), sklearn.ensemble.BaggingClassifier(**given)
    ours, theirs = ours.fit(X, LABELS), theirs.fit(X, LABELS)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.05)
    sums = np.zeros((len(X), 3))
    for member, rows in zip(ours.estimators_, ours.estimators_samples_):
        out = np.setdiff1d(np.arange(len(X)), rows)
        sums[out] += member.predict_proba(X[out])
    np.testing.assert_allclose(
        ours.oob_decision_function_, sums / sums.sum(axis=1, keepdims=True), rtol=1e-12
    )
    # Members with fewer classes than there are: scikit-learn's raises.
    rare = LABELS.copy()
    rare[:2], rare[2:] = 2, rare[2:] % 2
    model = BaggingClassifier(KNeighborsClassifier(1), **given).fit(X, rare)
    assert model.oob_decision_function_.shape == (200, 3)
    assert model.predict_proba(NEW).shape == (100, 3)


def test_several_outputs_missing_values_and_sparse_rows():
    Y = np.column_stack([VALUES, -VALUES])
    model = BaggingRegressor(n_estimators=4, random_state=0, max_features=4).fit(X, Y)
    each = [m.predict(NEW[:, c]) for m, c in zip(model.estimators_, model.estimators_features_)]
    np.testing.assert_allclose(model.predict(NEW), np.mean(each, axis=0))
    holes = X.copy()
    holes[::7, 0] = np.nan
    model = BaggingClassifier(n_estimators=4, random_state=0).fit(holes, LABELS)
    assert np.isfinite(model.predict_proba(holes)).all()
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.where(np.isnan(holes), np.inf, holes))
    dense = BaggingClassifier(n_estimators=4, random_state=0, max_features=0.5)
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = dense.fit(rows, LABELS).predict_proba(rows)
    for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix):
        found = dense.fit(kind(rows), LABELS).predict_proba(kind(rows))
        np.testing.assert_array_equal(found, expected)


def test_warm_start():
    warm = BaggingClassifier(n_estimators=3, random_state=0, warm_start=True).fit(X, LABELS)
    warm.set_params(n_estimators=8).fit(X, LABELS)
    whole = BaggingClassifier(n_estimators=8, random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(warm.predict_proba(NEW), whole.predict_proba(NEW))
    assert len(warm.estimators_samples_) == len(warm) == 8
    with pytest.raises(ValueError, match="5 features, but BaggingClassifier is expecting 6"):
        warm.set_params(n_estimators=9).fit(X[:, :5], LABELS)
    with pytest.raises(ValueError, match="know 3 classes"):
        warm.fit(X, LABELS % 2)


def test_shortened_members_and_pickles():
    model = BaggingRegressor(n_estimators=6, random_state=0, max_features=0.5).fit(X, VALUES)
    before = model.predict(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), before)
    model.estimators_ = model.estimators_[:2]
    model.estimators_features_ = model.estimators_features_[:2]
    each = [m.predict(NEW[:, c]) for m, c in zip(model, model.estimators_features_)]
    np.testing.assert_allclose(model.predict(NEW), np.mean(each, axis=0))


def test_altered_columns_are_refused():
    model = BaggingRegressor(n_estimators=3, random_state=0, max_features=0.5).fit(X, VALUES)
    model.estimators_features_ = [columns + 100 for columns in model.estimators_features_]
    with pytest.raises(ValueError, match="columns of a tree must be between 0 and 5"):
        model.predict(NEW)
