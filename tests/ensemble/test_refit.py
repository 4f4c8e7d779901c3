"""Fits after a fit: what warm starts refuse, and that no tree reads beyond a row."""

import numpy as np
import pytest

from fastml.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)

FOREST_CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
FOREST_REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
CLASSIFIERS = [*FOREST_CLASSIFIERS, GradientBoostingClassifier]
REGRESSORS = [*FOREST_REGRESSORS, GradientBoostingRegressor]
WITHOUT_TARGETS = [IsolationForest, RandomTreesEmbedding]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TWO, FIVE, NUMBERS = RNG.integers(0, 2, 60), RNG.integers(0, 5, 60), RNG.normal(size=60)


def target(cls):
    return TWO if cls in CLASSIFIERS else NUMBERS


def answer(model, X):
    return model.transform(X).toarray() if hasattr(model, "transform") else model.predict(X)


def warm(cls, y=None, **params):
    model = cls(n_estimators=3, random_state=0, warm_start=True, **params)
    return model.fit(X, target(cls) if y is None else y).set_params(n_estimators=6)


@pytest.mark.parametrize("more", [True, False], ids=["more trees", "as many trees"])
@pytest.mark.parametrize("width", [3, 9])
@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS + WITHOUT_TARGETS)
def test_other_columns(cls, width, more):
    model = warm(cls)
    before = answer(model, X)
    other = RNG.normal(size=(60, width))
    with pytest.raises(ValueError, match=f"X has {width} features, but .* is expecting 4"):
        model.set_params(n_estimators=6 if more else 3).fit(other, target(cls))
    np.testing.assert_array_equal(answer(model, X), before)  # the model is what it was
    with pytest.raises(ValueError, match=f"X has {width} features"):
        answer(model, other)
    model.set_params(n_estimators=6).fit(X, target(cls))
    assert len(model) == 6


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(("first", "then"), [(TWO, FIVE), (FIVE, TWO), (TWO, TWO + 7)])
def test_other_classes(cls, first, then):
    model = warm(cls, first)
    before, classes = model.predict_proba(X), model.classes_.tolist()
    with pytest.raises(ValueError, match=f"know {len(classes)} classes"):
        model.fit(X, then)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == classes
    assert len(model.fit(X[:50], first[:50])) == 6  # other rows of the same classes are welcome


@pytest.mark.parametrize("cls", FOREST_CLASSIFIERS + FOREST_REGRESSORS)
def test_other_outputs(cls):
    y = target(cls)
    for first, then in ((y, np.column_stack([y, y])), (np.column_stack([y, y]), y)):
        model = warm(cls, first)
        before = model.predict(X)
        with pytest.raises(ValueError, match="output"):
            model.fit(X, then)
        np.testing.assert_array_equal(model.predict(X), before)
    if cls in FOREST_CLASSIFIERS:
        model = warm(cls, np.column_stack([TWO, FIVE]))
        with pytest.raises(ValueError, match="know 2 classes"):
            model.fit(X, np.column_stack([FIVE, TWO]))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_rows", [40, 80])
@pytest.mark.parametrize("cls", FOREST_CLASSIFIERS + FOREST_REGRESSORS)
def test_other_rows_out_of_bag(cls, n_rows):
    rows = np.arange(n_rows) % 60
    for params in ({"oob_score": True}, {"n_iter_no_change": 50}):
        model = warm(cls, bootstrap=True, **params)
        with pytest.raises(ValueError, match=f"60 rows, X has {n_rows} now"):
            model.fit(X[rows], target(cls)[rows])
        assert len(model.fit(X, target(cls))) == 6
    without = warm(cls, bootstrap=True).fit(X[rows], target(cls)[rows])
    with pytest.raises(ValueError, match="60"):
        without.set_params(oob_score=True, n_estimators=9).fit(X[rows], target(cls)[rows])


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("cls", [RandomForestRegressor, RandomForestClassifier])
def test_as_many_other_rows_out_of_bag(cls):
    """Estimates are of the rows of the last fit, by all trees that did not draw them."""
    y, order = target(cls), np.random.default_rng(1).permutation(60)
    name = "oob_prediction_" if cls is RandomForestRegressor else "oob_decision_function_"
    model = warm(cls, bootstrap=True, oob_score=True).fit(X[order], y[order])
    sums, seen = np.zeros_like(getattr(model, name)), np.zeros(60)
    for tree, drawn in zip(model.estimators_, model.estimators_samples_):
        out = np.setdiff1d(np.arange(60), drawn)
        told = tree.predict_proba if cls is RandomForestClassifier else tree.predict
        sums[out] += told(X[order][out])
        seen[out] += 1
    expected = sums / np.maximum(seen, 1).reshape(-1, *[1] * (sums.ndim - 1))
    np.testing.assert_allclose(getattr(model, name), expected)


@pytest.mark.parametrize("cls", FOREST_REGRESSORS)
def test_medians_and_means_are_not_mixed(cls):
    for first, then in (("absolute_error", "squared_error"), ("squared_error", "absolute_error")):
        model = warm(cls, criterion=first)
        with pytest.raises(ValueError, match="absolute_error"):
            model.set_params(criterion=then).fit(X, NUMBERS)
        assert len(model.set_params(criterion=first).fit(X, NUMBERS)) == 6


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS + WITHOUT_TARGETS)
def test_trees_of_the_fit_before_a_failed_one(cls):
    """A fit that fails after it has seen the columns leaves trees that expect others."""
    model = cls(n_estimators=3, random_state=0).fit(X, target(cls))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X[:, :3], target(cls), sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="features"):
        answer(model, X[:, :3])
