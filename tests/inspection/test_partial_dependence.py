"""Partial dependence beside scikit-learn's function."""

import functools

import numpy as np
import pandas as pd
import pytest
import sklearn.inspection as theirs
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor as TheirBoosting
from sklearn.linear_model import LogisticRegression

from fastml.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.inspection import partial_dependence
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])

MODELS = {
    "forest of two classes": (RandomForestClassifier(5, random_state=0), X, TWO),
    "forest of three classes": (RandomForestClassifier(5, random_state=0), X, THREE),
    "forest of numbers": (RandomForestRegressor(5, random_state=0), X, Y),
    "two outputs": (RandomForestRegressor(5, random_state=0), X, np.column_stack([Y, -Y])),
    "tree of classes": (DecisionTreeClassifier(random_state=0), X, THREE),
    "tree of numbers": (DecisionTreeRegressor(random_state=0), X, Y),
    "scikit-learn's boosting": (TheirBoosting(n_estimators=5), X, Y),
    "line": (LogisticRegression(), X, TWO),
}
"""Name → a model and its rows and targets."""


@functools.cache
def fitted(name):
    model, *learned = MODELS[name]
    return model.fit(*learned)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "options",
    [
        {"features": [0], "grid_resolution": 7, "kind": "both"},
        {"features": [2, 1], "grid_resolution": 4, "method": "brute"},
        {"features": 3, "grid_resolution": 5, "sample_weight": np.arange(60.0)},
        {"features": [1], "custom_values": {1: [0.0, 0.5]}, "kind": "individual"},
    ],
    ids=["both", "two columns", "weights", "custom"],
)
def test_brute_is_scikit_learns(name, options):
    found = partial_dependence(fitted(name), X, **options)
    expected = theirs.partial_dependence(fitted(name), X, **options)
    assert found.keys() == expected.keys()
    for key in expected:
        for one, other in zip(found[key], expected[key]):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("most", [0.0, 1.1], ids=["all rows anew", "only those that leave"])
def test_both_ways_are_the_same(most, monkeypatch):
    monkeypatch.setattr("fastml.inspection._answers.MOST_MOVED", most)
    model = fitted("forest of three classes")
    for column in (0, 3):
        found = partial_dependence(model, X, [column], kind="both", grid_resolution=6)
        expected = theirs.partial_dependence(model, X, [column], kind="both", grid_resolution=6)
        np.testing.assert_allclose(found.individual, expected.individual, rtol=1e-12)


def test_little_memory_changes_nothing(monkeypatch):
    monkeypatch.setattr("fastml.inspection._answers.MOST_MOVED", 1.1)
    model = fitted("forest of three classes")
    expected = partial_dependence(model, X, [0], kind="both", grid_resolution=9)
    with config_context(working_memory=0):
        found = partial_dependence(model, X, [0], kind="both", grid_resolution=9)
    np.testing.assert_array_equal(found.individual, expected.individual)


@pytest.mark.parametrize(
    "name", ["tree of numbers", "forest of numbers", "scikit-learn's boosting"]
)
def test_recursion(name):
    """On the training rows of a tree without bootstrap it is the mean over them."""
    model = fitted(name)
    found = partial_dependence(model, X, [0], grid_resolution=6)
    grid = found.grid_values[0][:, None]
    own = model._compute_partial_dependence_recursion(
        np.asarray(grid, np.float32, order="C"), np.array([0])
    )
    np.testing.assert_allclose(found.average, np.atleast_2d(own))
    if name == "tree of numbers":
        stump = DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])
        by_rows = partial_dependence(stump, X, [0], method="brute").average
        np.testing.assert_allclose(partial_dependence(stump, X, [0]).average, by_rows)


def test_frames_and_categories():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["c"] = np.tile([0.0, 1.0, 2.0], 20)
    model = RandomForestRegressor(5, random_state=0).fit(frame, Y)
    options = {"categorical_features": ["c"], "method": "brute"}
    found = partial_dependence(model, frame, ["c"], **options)
    expected = theirs.partial_dependence(model, frame, ["c"], **options)
    np.testing.assert_allclose(found.average, expected.average)
    np.testing.assert_array_equal(found.grid_values[0], [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("line", {"features": [0], "method": "recursion"}, "support the 'recursion'"),
        ("tree of numbers", {"features": [0], "method": "recursion", "kind": "both"}, "average"),
        ("tree of numbers", {"features": [-1]}, "all features must be in"),
        ("tree of numbers", {"features": [0], "percentiles": (0.5, 0.5)}, "strictly less"),
        ("tree of numbers", {"features": [0], "grid_resolution": 1}, "greater than 1"),
        ("tree of numbers", {"features": [0], "response_method": "predict_proba"}, "ignored"),
        ("line", {"features": [0], "categorical_features": []}, "empty list"),
    ],
)
def test_bad_input(model, options, message):
    with pytest.raises(ValueError, match=message):
        partial_dependence(fitted(model), X, **options)


BOOSTED = {
    "classes": (GradientBoostingClassifier(n_estimators=4, random_state=0), THREE),
    "numbers": (GradientBoostingRegressor(n_estimators=4, random_state=0), Y),
    "binned classes": (HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4), THREE),
    "binned numbers": (HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=4), Y),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_recursion_of_boosting_is_the_mean_over_training_rows(name):
    """Columns that are independent of each other, every pair once: then the two are the same."""
    first, second = np.meshgrid(np.arange(8.0), np.arange(8.0))
    X = np.column_stack([first.ravel(), second.ravel()])
    model, _ = BOOSTED[name]
    y = np.sin(X[:, 0]) + X[:, 1] / 4
    model = clone(model).fit(X, np.digitize(y, [0.5, 1.5]) if "classes" in name else y)
    for column in (0, 1):
        found = partial_dependence(model, X, [column]).average
        brute = partial_dependence(
            model, X, [column], method="brute",
            response_method="decision_function" if "classes" in name else "auto",
        ).average  # fmt: skip
        moved = brute - found  # recursion leaves out where boosting starts
        np.testing.assert_allclose(moved, np.broadcast_to(moved[:, :1], moved.shape), atol=1e-9)
        assert np.ptp(found) > 0.01


def test_missing_values_and_categories_of_boosting():
    holes = X.copy()
    holes[::5, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=4).fit(
        holes, Y + 5.0 * np.isnan(holes[:, 0])
    )
    missing, there = partial_dependence(
        model, holes, [0], custom_values={0: [np.nan, 0.0]}
    ).average[0]
    assert missing > there + 0.5
    codes = np.column_stack([np.tile([0.0, 1.0, 2.0], 20), X[:, 1]])
    model = HistGradientBoostingRegressor(
        max_iter=4, min_samples_leaf=4, categorical_features=[0]
    ).fit(codes, Y)
    found = partial_dependence(model, codes, [0], categorical_features=[0])
    expected = theirs.partial_dependence(
        model, codes, [0], categorical_features=[0], method="brute"
    )
    np.testing.assert_allclose(found.average, expected.average)
    started = GradientBoostingRegressor(n_estimators=2, init="zero").fit(X, Y)
    with pytest.warns(UserWarning, match="non-constant init"):
        partial_dependence(started, X, [0], method="recursion")
    weighted = HistGradientBoostingRegressor(max_iter=2).fit(X, Y, sample_weight=np.ones(60))
    with pytest.raises(NotImplementedError, match="sample weights"):
        partial_dependence(weighted, X, [0])
