"""Scorers by name, with our metrics inside, as scikit-learn's search takes them."""

import pickle

import numpy as np
import pytest
import sklearn.metrics
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate

from fastml import metrics

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
NAMES = metrics.get_scorer_names()


def test_all_names():
    assert sorted(sklearn.metrics.get_scorer_names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_is_scikit_learns_with_our_metric(name):
    ours, theirs = metrics.get_scorer(name), sklearn.metrics.get_scorer(name)
    assert repr(ours) == repr(theirs)
    assert ours._score_func.__module__.startswith("fastml.metrics")
    assert type(ours) is type(theirs)
    assert repr(pickle.loads(pickle.dumps(ours))) == repr(ours)


def test_scores():
    y = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    for name in ("accuracy", "f1", "roc_auc", "average_precision", "neg_log_loss",
                 "neg_brier_score", "balanced_accuracy", "positive_likelihood_ratio"):  # fmt: skip
        expected = sklearn.metrics.get_scorer(name)(model, X, y)
        assert metrics.get_scorer(name)(model, X, y) == pytest.approx(expected, rel=1e-12)
    target = X @ [1.0, 2.0, 3.0] + 10 + RNG.normal(size=90)
    model = Ridge().fit(X, target)
    for name in ("r2", "neg_mean_squared_error", "neg_median_absolute_error", "neg_max_error"):
        expected = sklearn.metrics.get_scorer(name)(model, X, target)
        assert metrics.get_scorer(name)(model, X, target) == pytest.approx(expected, rel=1e-12)


def test_search_takes_them():
    y = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
    grid = {"C": [0.01, 1.0]}
    searches = [
        GridSearchCV(LogisticRegression(), grid, scoring=package.get_scorer("roc_auc")).fit(X, y)
        for package in (metrics, sklearn.metrics)
    ]
    np.testing.assert_allclose(*(s.cv_results_["mean_test_score"] for s in searches), rtol=1e-12)
    several = metrics.check_scoring(scoring=["accuracy", "neg_log_loss"])
    found = cross_validate(LogisticRegression(), X, y, scoring=several, cv=3)
    assert found["test_accuracy"].shape == (3,)
    assert clone(searches[0]).fit(X, y).best_params_ == searches[0].best_params_


def test_own_metric():
    scorer = metrics.make_scorer(metrics.specificity_score, pos_label=1)
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    assert scorer(model, X, y) == metrics.specificity_score(y, model.predict(X))
    lossy = metrics.make_scorer(metrics.false_positive_rate, greater_is_better=False)
    assert lossy(model, X, y) == -metrics.false_positive_rate(y, model.predict(X))


def test_what_is_refused():
    with pytest.raises(ValueError, match="'nothing' is not a valid scoring value"):
        metrics.get_scorer("nothing")
    with pytest.raises(ValueError, match="looks like it is a metric function"):
        metrics.check_scoring(LogisticRegression(), metrics.f1_score)
    with pytest.raises(ValueError, match="Duplicate elements"):
        metrics.check_scoring(LogisticRegression(), ["f1", "f1"])
    with pytest.raises(ValueError, match="'scoring' parameter of check_scoring"):
        metrics.check_scoring(LogisticRegression(), "nothing")
