"""Least angles and matching pursuit: scikit-learn's answers, and where it went wrong."""

import numpy as np
import pytest
from sklearn import linear_model as sk

from fastml import linear_model as ours
from fastml.linear_model import Lars, Lasso, LassoLars, LassoLarsIC, OrthogonalMatchingPursuit


def data(n, d, targets=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    X[:, 1:] += 0.5 * X[:, :-1]
    k = max(targets, 1)
    y = X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))
    return X, (y if targets else y[:, 0])


@pytest.mark.parametrize("shape", [(50, 10), (200, 40), (30, 60)])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("Lars", {"n_nonzero_coefs": 5}),
        ("LassoLars", {"alpha": 0.1}),
        ("LassoLars", {"alpha": 0.1, "fit_intercept": False}),
        ("OrthogonalMatchingPursuit", {}),
        ("OrthogonalMatchingPursuit", {"tol": 20.0}),
        ("OrthogonalMatchingPursuit", {"n_nonzero_coefs": 4, "fit_intercept": False}),
    ],
)
@pytest.mark.parametrize("targets", [0, 2])
@pytest.mark.filterwarnings("ignore:.*ended prematurely:RuntimeWarning")  # of scikit-learn
def test_answers_are_scikit_learns(shape, name, params, targets):
    X, y = data(*shape, targets)
    theirs = getattr(sk, name)(**params).fit(X, y)
    found = getattr(ours, name)(**params).fit(X, y)
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, theirs.intercept_, atol=1e-8)
    assert found.n_iter_ == theirs.n_iter_
    if hasattr(theirs, "coef_path_") and not targets:
        np.testing.assert_allclose(found.coef_path_, theirs.coef_path_, atol=1e-9)
        np.testing.assert_allclose(found.alphas_, theirs.alphas_, atol=1e-9)
        assert found.active_ == theirs.active_


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_information_criterion(criterion):
    X, y = data(80, 12)
    theirs = sk.LassoLarsIC(criterion=criterion).fit(X, y)
    found = LassoLarsIC(criterion=criterion).fit(X, y)
    np.testing.assert_allclose(found.criterion_, theirs.criterion_, rtol=1e-9)
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-9)
    assert found.alpha_ == pytest.approx(theirs.alpha_)
    with pytest.raises(ValueError, match="noise"):
        LassoLarsIC().fit(*data(10, 20))


def test_matching_pursuit_by_folds():
    X, y = data(80, 60)
    theirs = sk.OrthogonalMatchingPursuitCV(cv=4).fit(X, y)
    found = ours.OrthogonalMatchingPursuitCV(cv=4).fit(X, y)
    assert found.n_nonzero_coefs_ == theirs.n_nonzero_coefs_
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_lasso_along_the_path_is_the_lasso(positive, seed):
    """scikit-learn's positive=True misses the minimum here."""
    X, y = data(200, 40, seed=seed)
    found = LassoLars(alpha=0.05, positive=positive).fit(X, y)
    exact = Lasso(alpha=0.05, positive=positive, tol=1e-13, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-6)


def test_all_columns_are_least_squares():
    """In wide data too, where scikit-learn's weights pass 1e25."""
    X, y = data(100, 10)
    np.testing.assert_allclose(Lars().fit(X, y).coef_, sk.LinearRegression().fit(X, y).coef_)
    X, y = data(30, 60)
    wide = Lars().fit(X, y)
    np.testing.assert_allclose(wide.predict(X), y, atol=1e-6)
    assert np.abs(wide.coef_).max() < 100.0


def test_column_that_leaves_comes_back_on_the_other_side():
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    found = LassoLars(alpha=0.0).fit(3 * X, y)
    np.testing.assert_allclose(found.coef_, np.linalg.lstsq(3 * X, y, rcond=None)[0], rtol=1e-6)


def test_entry_that_is_nearly_zero():
    """sk#21340: an entry of 1e-32 led to an objective of 5.23 instead of 0.571."""
    X = np.array([[0.0, 0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0, 0.0]])
    y = np.array([-2.5, -2.5])
    for entry in (0.0, 1e-32):
        Z = X.copy()
        Z[0, 1] = entry
        found = LassoLars(alpha=0.001, fit_intercept=False).fit(Z, y)
        exact = Lasso(alpha=0.001, fit_intercept=False, tol=1e-14).fit(Z, y)
        np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-8)


def test_dependent_columns_end_the_pursuit():
    X = np.column_stack([np.arange(10.0), np.arange(10.0)])
    y = np.sin(np.arange(10.0))
    with pytest.warns(RuntimeWarning, match="linear dependence"):
        OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, y)
