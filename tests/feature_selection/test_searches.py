"""Searches over subsets: with bounds as without, both goals, and beside scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import feature_selection as theirs

from fastml import feature_selection as ours
from fastml.linear_model import LinearRegression


def table(n=60, d=6):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    X[:, 4] = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n)  # the best alone, but not in a pair
    return X, X[:, 0] + X[:, 1] + 0.2 * X[:, 2] + 0.05 * rng.normal(size=n)


def r2(X, y, columns):
    return LinearRegression().fit(X[:, columns], y).score(X[:, columns], y)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_bounds_leave_the_answer_as_it_is(k):
    X, y = table()
    best = max(combinations(range(6), k), key=lambda c: r2(X, y, c))
    counts = []
    for monotone in (False, True):
        search = ours.ExhaustiveFeatureSelector(
            LinearRegression(), n_features_to_select=k, monotone=monotone, cv=None
        ).fit(X, y)
        assert tuple(search.get_support(indices=True)) == best
        assert search.score_ == r2(X, y, list(best))
        counts.append(search.n_scored_)
    if k == 3:
        assert counts[1] < sum(1 for _ in combinations(range(6), 3)) + 21


def test_bounds_save_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 10))
    y = X[:, :8] @ np.full(8, 3.0) + 0.1 * rng.normal(size=50)
    bounded = ours.ExhaustiveFeatureSelector(
        LinearRegression(), n_features_to_select=8, monotone=True, cv=None
    ).fit(X, y)
    assert_array_equal(bounded.get_support(indices=True), np.arange(8))
    assert bounded.n_scored_ < 45, "of the 45 sets of 8 and what is above them"


def test_as_few_as_possible():
    X, y = table()
    for quality in (0.5, 0.97, 0.99):
        smallest = next(
            k for k in range(1, 7)
            if max(r2(X, y, list(c)) for c in combinations(range(6), k)) >= quality
        )  # fmt: skip
        for monotone in (False, True):
            search = ours.ExhaustiveFeatureSelector(
                LinearRegression(), min_score=quality, monotone=monotone, cv=None
            ).fit(X, y)
            assert search.get_support().sum() == smallest
            assert search.score_ >= quality
    with pytest.raises(ValueError, match=r"no set of columns scores 1\.5; the best has 0\.99"):
        ours.ExhaustiveFeatureSelector(LinearRegression(), min_score=1.5).fit(X, y)
    with pytest.raises(ValueError, match="63 subsets are more than max_subsets=10"):
        ours.ExhaustiveFeatureSelector(LinearRegression(), max_subsets=10).fit(X, y)
    with pytest.raises(ValueError, match="n_features_to_select=7"):
        ours.ExhaustiveFeatureSelector(LinearRegression(), n_features_to_select=7).fit(X, y)


def test_step_by_step_until_good_enough():
    X, y = table()
    forward = ours.SequentialFeatureSelector(LinearRegression(), min_score=0.9).fit(X, y)
    backward = ours.SequentialFeatureSelector(
        LinearRegression(), min_score=0.9, direction="backward"
    ).fit(X, y)
    assert forward.get_support()[4], "greedy: the best alone stays"
    assert_array_equal(backward.get_support(indices=True), [0, 1])
    never = ours.SequentialFeatureSelector(LinearRegression(), min_score=1.1).fit(X, y)
    assert never.get_support().all()


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("options", [{"n_features_to_select": 2}, {"tol": 0.01}, {}])
def test_as_scikit_learns(direction, options):
    X, y = table()
    found = ours.SequentialFeatureSelector(LinearRegression(), direction=direction, **options)
    expected = theirs.SequentialFeatureSelector(LinearRegression(), direction=direction, **options)
    assert_array_equal(found.fit(X, y).support_, expected.fit(X, y).support_)


def test_elimination_as_scikit_learns():
    X, y = table()
    for step in (1, 2, 0.4):
        found = ours.RFE(LinearRegression(), n_features_to_select=2, step=step).fit(X, y)
        expected = theirs.RFE(LinearRegression(), n_features_to_select=2, step=step).fit(X, y)
        assert_array_equal(found.ranking_, expected.ranking_)
        found = ours.RFECV(LinearRegression(), step=step, cv=3).fit(X, y)
        expected = theirs.RFECV(LinearRegression(), step=step, cv=3).fit(X, y)
        assert_array_equal(found.ranking_, expected.ranking_)
        assert found.cv_results_.keys() == expected.cv_results_.keys()
        for name, value in expected.cv_results_.items():
            np.testing.assert_allclose(found.cv_results_[name], value, err_msg=name)
    assert found.score(X, y) == pytest.approx(expected.score(X, y))


def test_partial_fit_goes_on_with_routing():
    """scikit-learn's begins anew with every block where metadata are routed."""
    from sklearn import config_context

    from fastml.linear_model import SGDClassifier

    X, y = table()
    y = (y > 0).astype(int)
    blocks = np.array_split(np.arange(len(y)), 3)
    chosen = {}
    for routed in (False, True):
        with config_context(enable_metadata_routing=routed):
            inner = SGDClassifier(random_state=0)
            if routed:
                inner.set_partial_fit_request(classes=True)
            selector = ours.SelectFromModel(inner)
            for rows in blocks:
                selector.partial_fit(X[rows], y[rows], classes=[0, 1])
            chosen[routed] = selector.estimator_.coef_
    assert_array_equal(chosen[True], chosen[False])
