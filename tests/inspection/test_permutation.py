"""Permutation and drop-column importance beside scikit-learn's function and plain refits."""

import functools

import numpy as np
import pandas as pd
import pytest
import sklearn.inspection as theirs
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score

import fastml
from fastml.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.inspection import drop_column_importance, permutation_importance
from fastml.tree import DecisionTreeClassifier


def data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return X, y


X, Y = data()
MODELS = {
    "forest": (RandomForestClassifier(8, random_state=0), X, Y),
    "regressors": (RandomForestRegressor(6, random_state=0), X, X[:, 0] * X[:, 1]),
    "two outputs": (ExtraTreesRegressor(5, random_state=0), X, X[:, :2]),
    "tree": (DecisionTreeClassifier(random_state=0), X, Y),
    "names": (RandomForestClassifier(5, random_state=0), X, np.array(["a", "b"])[Y]),
    "boosting": (HistGradientBoostingClassifier(max_iter=5), X, Y),
    "line": (LogisticRegression(), X, Y),
}
"""Name → a model and its rows and targets."""


@functools.cache
def fitted(name):
    model, *learned = MODELS[name]
    return model.fit(*learned)


TARGETS = {
    "regressors": X[:, 0] * X[:, 1],
    "two outputs": X[:, :2],
    "names": np.array(["a", "b"])[Y],
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "options",
    [{}, {"max_samples": 0.4, "n_repeats": 2}, {"sample_weight": np.arange(150.0)}],
    ids=["plain", "samples", "weights"],
)
def test_scikit_learns_numbers(name, options):
    model, y = fitted(name), TARGETS.get(name, Y)
    found = permutation_importance(model, X, y, random_state=3, **options)
    expected = theirs.permutation_importance(model, X, y, random_state=3, **options)
    for key in ("importances", "importances_mean", "importances_std"):
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-12, atol=1e-15)


def test_max_samples_with_weights_draws_both():
    """sk#28183: weights must follow the rows that are drawn."""
    weights = np.arange(150.0) ** 2
    options = {"max_samples": 20, "sample_weight": weights, "random_state": 1}
    found = permutation_importance(fitted("forest"), X, Y, **options)
    expected = theirs.permutation_importance(fitted("forest"), X, Y, **options)
    np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="max_samples"):
        permutation_importance(fitted("forest"), X, Y, max_samples=151)


def by_hand(model, X, y):
    """A scorer that looks at the rows themselves."""
    return float(X[:, 0] @ (model.predict(X) == y))


@pytest.mark.parametrize(
    "scoring",
    ["roc_auc", ["accuracy", "neg_log_loss"], make_scorer(roc_auc_score,
     response_method="predict_proba"), {"a": "f1", "b": make_scorer(roc_auc_score)}, by_hand],
    ids=["name", "names", "scorer", "dict", "callable"],
)  # fmt: skip
def test_scorers(scoring):
    found = permutation_importance(fitted("forest"), X, Y, scoring=scoring, random_state=0)
    expected = theirs.permutation_importance(
        fitted("forest"), X, Y, scoring=scoring, random_state=0
    )
    if not isinstance(scoring, list | dict):
        found, expected = {"": found}, {"": expected}
    assert found.keys() == expected.keys()
    for key, one in expected.items():
        np.testing.assert_allclose(found[key].importances, one.importances, rtol=1e-12, atol=1e-15)


class Contrary(RandomForestClassifier):
    """A user's class that answers otherwise: it must be asked itself."""

    def predict(self, X):
        return 1 - super().predict(X)


def test_a_users_class_is_asked_itself():
    model = Contrary(5, random_state=0).fit(X, Y)
    found = permutation_importance(model, X, Y, random_state=0)
    expected = theirs.permutation_importance(model, X, Y, random_state=0)
    np.testing.assert_array_equal(found.importances, expected.importances)
    assert found.importances_mean.min() < 0


def test_frames_missing_values_and_text():
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.iloc[::7, 0] = np.nan
    before = frame.copy()
    forest = RandomForestClassifier(5, random_state=0).fit(frame, Y)
    for model in (forest, HistGradientBoostingClassifier(max_iter=5).fit(frame, Y)):
        found = permutation_importance(model, frame, Y, random_state=0)
        expected = theirs.permutation_importance(model, frame, Y, random_state=0)
        np.testing.assert_array_equal(found.importances, expected.importances)
    pd.testing.assert_frame_equal(frame, before)
    by_name = permutation_importance(
        forest, frame, Y, random_state=0, groups={"both": ["a", "c"], "last": ["e"]}
    )
    by_place = permutation_importance(forest, frame, Y, random_state=0, groups=[[0, 2], [-1]])
    np.testing.assert_array_equal(by_name.importances, by_place.importances)
    assert by_name.groups == ["both", "last"]


@pytest.mark.parametrize("name", ["forest", "line"])
def test_columns_of_a_group_move_together(name):
    """eli5#341: two equal columns shuffled together matter as one does."""
    doubled = np.column_stack([X, X[:, 0]])
    model = clone(fitted(name)).fit(doubled, Y)
    found = permutation_importance(model, doubled, Y, groups=[[0, 5], [1]], random_state=0)
    order = np.random.RandomState(np.random.RandomState(0).randint(2**31)).permutation(150)
    changed = doubled.copy()
    changed[:, [0, 5]] = doubled[order][:, [0, 5]]
    expected = model.score(doubled, Y) - model.score(changed, Y)
    assert found.importances.shape == (2, 5)
    assert found.importances[0, 0] == pytest.approx(expected)
    alone = permutation_importance(model, doubled, Y, random_state=0)
    assert found.importances_mean[0] > max(alone.importances_mean[[0, 5]])
    for groups, message in (([[0], [0]], "more than one"), ([[9]], "not one of"), ([[]], "no col")):
        with pytest.raises(ValueError, match=message):
            permutation_importance(model, doubled, Y, groups=groups)


def test_any_number_of_threads_and_little_memory(monkeypatch):
    from sklearn import config_context

    expected = permutation_importance(fitted("forest"), X, Y, random_state=0).importances
    with fastml.thread_limit(1), config_context(working_memory=0):  # a column at a time
        found = permutation_importance(fitted("forest"), X, Y, random_state=0).importances
    np.testing.assert_array_equal(found, expected)
    serial = permutation_importance(fitted("line"), X, Y, random_state=0, n_jobs=1).importances
    for n_jobs in (2, 3):
        two = permutation_importance(fitted("line"), X, Y, random_state=0, n_jobs=n_jobs)
        np.testing.assert_array_equal(two.importances, serial)


def test_the_users_rows_are_left_alone():
    kept = X.copy()
    for name in ("forest", "line"):
        permutation_importance(fitted(name), X, Y, random_state=0)
    np.testing.assert_array_equal(X, kept)
    frozen = X.copy()
    frozen.flags.writeable = False
    permutation_importance(fitted("line"), frozen, Y, random_state=0)


# ---------------------------------------------------------------------------- dropped columns


def test_dropped_columns_by_hand():
    model = LinearRegression()
    y = 3 * X[:, 0] + X[:, 1]
    found = drop_column_importance(model, X[:100], y[:100], X_test=X[100:], y_test=y[100:])
    whole = model.fit(X[:100], y[:100]).score(X[100:], y[100:])
    for j in range(5):
        rest = np.delete(np.arange(5), j)
        score = model.fit(X[:100][:, rest], y[:100]).score(X[100:][:, rest], y[100:])
        assert found.importances[j, 0] == pytest.approx(whole - score, abs=1e-12)
    assert found.baseline == pytest.approx([whole])


def test_a_copy_stands_in_for_a_dropped_column():
    doubled = np.column_stack([X, X[:, 0]])
    y = X[:, 0]
    found = drop_column_importance(LinearRegression(), doubled, y, cv=3)
    assert np.abs(found.importances_mean).max() < 1e-9
    together = drop_column_importance(LinearRegression(), doubled, y, cv=3, groups=[[0, 5]])
    assert together.importances_mean[0] > 0.9
    frame = pd.DataFrame(doubled, columns=list("abcdef"))
    named = drop_column_importance(LinearRegression(), frame, y, cv=3, groups={"x": ["a", "f"]})
    np.testing.assert_allclose(named.importances, together.importances)
    with pytest.raises(ValueError, match="nothing is left"):
        drop_column_importance(LinearRegression(), X, y, groups=[[0, 1, 2, 3, 4]])
    with pytest.raises(ValueError, match="together"):
        drop_column_importance(LinearRegression(), X, y, X_test=X)
