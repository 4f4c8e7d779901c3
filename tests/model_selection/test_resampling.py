"""Bootstrap validation, bias and variance, nested cross-validation."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fastml.model_selection import BootstrapSplit, bias_variance, bootstrap_validate, nested_cv


def noise(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


def test_bootstrap_validation_by_hand():
    X, y = noise()
    y[X[:, 0] > 0] = 1
    model = KNeighborsClassifier(3)
    found = bootstrap_validate(model, X, y, n_resamples=15, random_state=3)
    generator = np.random.RandomState(3)
    scores = [
        model.fit(X[a], y[a]).score(X[b], y[b])
        for a, b in BootstrapSplit(15, random_state=generator).split(X)
    ]
    np.testing.assert_array_equal(found.scores, scores)
    apparent = model.fit(X, y).score(X, y)
    told = model.predict(X)
    chance = sum(np.mean(y == k) * np.mean(told == k) for k in (0, 1))
    assert found.apparent == apparent
    assert found.no_information == pytest.approx(chance)
    out = np.mean(scores)
    assert found.score_632 == pytest.approx(0.368 * apparent + 0.632 * out)
    R = (apparent - out) / (apparent - chance)
    assert found.overfitting == pytest.approx(R)
    w = 0.632 / (1 - 0.368 * R)
    assert found.score_632_plus == pytest.approx((1 - w) * apparent + w * out)


def test_the_plus_sees_through_a_memory():
    """Labels without meaning, learnt by heart: .632 promises 0.68, .632+ says one half."""
    X, y = noise(200, 1)
    found = bootstrap_validate(KNeighborsClassifier(1), X, y, n_resamples=40, random_state=0)
    assert found.apparent == 1.0
    assert found.overfitting > 0.9
    assert found.score_632 > 0.65
    assert found.score_632_plus == pytest.approx(0.5, abs=0.08)


def test_bootstrap_of_losses_groups_and_threads():
    X, _ = noise()
    y = X[:, 0] + 0.1 * X[:, 1]
    groups = np.arange(120) // 6
    options = {
        "scoring": "neg_mean_squared_error", "n_resamples": 12, "random_state": 0, "groups": groups,
    }  # fmt: skip
    found = bootstrap_validate(DecisionTreeRegressor(random_state=0), X, y, **options)
    assert found.out_of_bag <= found.score_632_plus <= found.score_632 <= found.apparent == 0.0
    assert found.no_information < found.out_of_bag
    two = bootstrap_validate(DecisionTreeRegressor(random_state=0), X, y, **options, n_jobs=2)
    np.testing.assert_array_equal(found.scores, two.scores)
    constant = bootstrap_validate(DummyClassifier(), X, np.arange(120) % 2, n_resamples=5)
    assert 0.0 <= constant.overfitting <= 1.0


# ---------------------------------------------------------------------------- bias and variance


def wave():
    X = np.linspace(0, 6, 80)[:, None]
    y = np.sin(X[:, 0]) + 0.1 * np.cos(17 * X[:, 0])
    train = np.arange(80) % 3 != 0
    return X, y, train


def test_bias_and_variance_are_mlxtends():
    X, y, train = wave()
    options = {"n_resamples": 50, "random_state": 7}
    found = bias_variance(
        DecisionTreeRegressor(random_state=0, max_depth=3), X[train], y[train],
        X_test=X[~train], y_test=y[~train], **options,
    )  # fmt: skip
    assert (found.error, found.bias, found.variance) == pytest.approx(
        (0.029129643881693746, 0.014880678747040408, 0.014248965134653355)
    )
    labels = (y > 0.2).astype(int)
    labels[::7] = 1 - labels[::7]
    found = bias_variance(
        DecisionTreeClassifier(random_state=0, max_depth=3), X[train], labels[train],
        X_test=X[~train], y_test=labels[~train], **options,
    )  # fmt: skip
    assert (found.error, found.bias, found.variance) == pytest.approx(
        (0.24814814814814812, 0.2222222222222222, 0.08370370370370371)
    )
    assert found.error == pytest.approx(found.bias + found.net_variance)


def test_known_noise_is_told_apart():
    rng = np.random.default_rng(0)
    X = np.linspace(0, 6, 4000)[:, None]
    f = np.sin(X[:, 0])
    y = f + rng.normal(scale=0.5, size=4000)
    found = bias_variance(
        DecisionTreeRegressor(max_depth=4, random_state=0), X[::2], y[::2],
        X_test=X[1::2], y_test=y[1::2], expected=f[1::2], n_resamples=20, random_state=0,
    )  # fmt: skip
    assert found.noise == pytest.approx(0.25, rel=0.1)
    assert found.bias < 0.02
    assert found.error == pytest.approx(found.noise + found.bias + found.variance, rel=0.05)


def test_complexity_trades_bias_for_variance():
    X, y, _ = wave()
    found = [
        bias_variance(DecisionTreeRegressor(max_depth=d, random_state=0), X, y, random_state=0,
                      n_resamples=40)
        for d in (1, 3, 8)
    ]  # fmt: skip
    assert found[0].bias > found[1].bias > found[2].bias
    assert found[0].loss == "squared"
    line = bias_variance(LinearRegression(), X, y, random_state=0, n_resamples=40)
    assert line.variance < found[2].variance
    with pytest.raises(ValueError, match="together"):
        bias_variance(LinearRegression(), X, y, X_test=X)
    with pytest.raises(ValueError, match="expected belongs"):
        bias_variance(LinearRegression(), X, y, expected=y)


# ---------------------------------------------------------------------------- nested


class Watching(GroupKFold):
    """Group folds that note which groups the inner search was given."""

    seen: list = []

    def split(self, X, y=None, groups=None):
        Watching.seen.append(np.unique(groups))
        return super().split(X, y, groups)


def test_groups_reach_the_inner_search():
    """sk#7646: an inner search without groups separates rows that belong together."""
    X, y = noise()
    groups = np.arange(120) // 10
    Watching.seen = []
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=Watching(3))
    found = nested_cv(search, X, y, groups=groups, outer_cv=4)
    assert len(found.scores) == len(found.best_params) == 4
    for (train, test), seen in zip(found.splits, Watching.seen):
        assert not set(groups[train]) & set(groups[test])
        np.testing.assert_array_equal(seen, np.unique(groups[train]))


def test_groups_matter():
    """Rows of a group are copies of each other: with groups no score is better than chance."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), 4, axis=0)
    y = np.repeat(rng.integers(2, size=30), 4)
    options = {"param_grid": {"n_neighbors": [1, 9]}, "outer_cv": 5, "inner_cv": 3}
    blind = nested_cv(KNeighborsClassifier(), X, y, **options)
    told = nested_cv(KNeighborsClassifier(), X, y, groups=np.arange(120) // 4, **options)
    assert told.mean < 0.75
    assert told.inner_scores.max() < 0.85
    assert all(chosen["n_neighbors"] in (1, 9) for chosen in told.best_params)
    assert blind.inner_scores.shape == (5,)


def test_nested_by_hand():
    X, y = noise()
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, cv=2)
    cv = LeaveOneGroupOut()
    groups = np.arange(120) % 3
    found = nested_cv(search, X, y, groups=groups, outer_cv=cv, scoring="roc_auc")
    for (train, test), score, model in zip(found.splits, found.scores, found.estimators):
        assert model.best_estimator_.n_features_in_ == 3
        assert score == roc_auc_score(y[test], model.predict_proba(X[test])[:, 1])
        assert len(train) == 80
    with pytest.raises(ValueError, match="param_grid"):
        nested_cv(DecisionTreeClassifier(), X, y)
