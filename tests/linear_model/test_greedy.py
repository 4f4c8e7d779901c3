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


@pytest.mark.parametrize("shape", [(50, 8), (30, 60)])
@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"cv": 3}])
@pytest.mark.parametrize("name", ["LarsCV", "LassoLarsCV"])
def test_least_angles_by_folds(name, shape, params):
    X, y = data(*shape)
    if name == "LarsCV":  # on wide data scikit-learn's path leaves the equal angles; test below
        params = {**params, "max_iter": 5}
    theirs, found = getattr(sk, name)(**params).fit(X, y), getattr(ours, name)(**params).fit(X, y)
    assert found.alpha_ == pytest.approx(theirs.alpha_)
    assert found.mse_path_.shape == theirs.mse_path_.shape
    np.testing.assert_allclose(found.cv_alphas_, theirs.cv_alphas_, atol=1e-9)
    np.testing.assert_allclose(found.mse_path_, theirs.mse_path_, rtol=1e-6)
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(found.coef_path_, theirs.coef_path_, atol=1e-9)


def test_fewer_penalties_have_the_same_errors():
    """scikit-learn mixes the error of no weights into the penalty that the choice ends with."""
    X, y = data(30, 60)
    every, few = ours.LassoLarsCV(cv=3).fit(X, y), ours.LassoLarsCV(cv=3, max_n_alphas=10).fit(X, y)
    step = len(every.cv_alphas_) // 10
    np.testing.assert_array_equal(few.cv_alphas_, every.cv_alphas_[::step])
    np.testing.assert_array_equal(few.mse_path_, every.mse_path_[::step])


def test_least_angles_stay_equal_in_wide_data():
    """After ten steps here scikit-learn's columns pull between 6.34 and 6.43."""
    X, y = data(60, 80)
    alphas, _, coefs = ours.lars_path(X, y, max_iter=30)
    for k in range(1, len(alphas)):
        pulls = np.abs(X.T @ (y - X @ coefs[:, k])) / 60
        np.testing.assert_allclose(pulls[coefs[:, k] != 0.0], alphas[k], rtol=1e-6)
        assert pulls.max() == pytest.approx(alphas[k])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(50, 8), (30, 60)])
@pytest.mark.parametrize("method", ["lar", "lasso"])
def test_paths_of_least_angles_with_and_without_rows(method, shape, dtype):
    X, y = (a.astype(dtype) for a in data(*shape))
    options = {"method": method, "max_iter": 8, "return_n_iter": True}
    theirs = sk.lars_path(X.astype(float), y.astype(float), **options)
    close = 1e-9 if dtype == np.float64 else 1e-3
    whole = ours.lars_path(X, y, **options)
    sums = ours.lars_path_gram(X.T @ y, X.T @ X, n_samples=len(X), **options)
    given = ours.lars_path(X, y, Gram=X.T @ X, Xy=X.T @ y, **options)
    for found in (whole, sums, given):
        assert found[1] == theirs[1]
        assert found[3] == theirs[3]
        assert found[0].dtype == found[2].dtype == dtype
        np.testing.assert_allclose(found[0], theirs[0], atol=close)
        np.testing.assert_allclose(found[2], theirs[2], atol=close)
    end = ours.lars_path(X, y, return_path=False, **options)
    np.testing.assert_array_equal(end[0], whole[0][-1:])
    np.testing.assert_array_equal(end[2], whole[2][:, -1])


def test_paths_of_least_angles_refuse():
    X, y = data(20, 3)
    with pytest.raises(ValueError, match="not supported for 'lar'"):
        ours.lars_path(X, y, positive=True)
    with pytest.raises(ValueError, match="X and Gram cannot both"):
        ours.lars_path(None, y)
    with pytest.raises(ValueError, match="Use lars_path_gram"):
        ours.lars_path(None, y, Gram=X.T @ X)
    with pytest.raises(ValueError, match="do not match"):
        ours.lars_path_gram(X.T @ y, np.eye(4), n_samples=20)
    with pytest.raises(ValueError, match="Expected 2D array"):  # scikit-learn does not look at X
        ours.lars_path(X[:, 0], y, Gram=X.T @ X, Xy=X.T @ y)


@pytest.mark.parametrize("targets", [0, 2])
@pytest.mark.parametrize("params", [{}, {"tol": 30.0}, {"n_nonzero_coefs": 5, "return_path": True}])
def test_pursuit_with_and_without_rows(params, targets):
    X, y = data(50, 30, targets)
    coef, n_iter = sk.orthogonal_mp(X, y, return_n_iter=True, **params)
    norms = (y * y).sum(axis=0)
    for precompute in (False, True):  # with True scikit-learn forgets n_iter
        found = ours.orthogonal_mp(X, y, precompute=precompute, return_n_iter=True, **params)
        np.testing.assert_allclose(found[0], coef, atol=1e-9)
        assert found[1] == n_iter
    found = ours.orthogonal_mp_gram(
        X.T @ X, X.T @ y, norms_squared=norms, return_n_iter=True, **params
    )
    np.testing.assert_allclose(found[0], coef, atol=1e-9)
    assert found[1] == n_iter
    for params, message in (
        ({"tol": 1.0}, "precomputed norms"),
        ({"n_nonzero_coefs": 31}, "atoms"),
    ):
        with pytest.raises(ValueError, match=message):
            ours.orthogonal_mp_gram(X.T @ X, X.T @ y, **params)


@pytest.mark.parametrize("targets", [0, 2])
def test_ridge_as_a_function(targets):
    from scipy.sparse import csr_array

    X, y = data(40, 5, targets)
    weights = np.arange(40.0)
    for params in ({}, {"sample_weight": weights}, {"solver": "svd"}, {"positive": True}):
        expected = sk.ridge_regression(X, y, 2.0, tol=1e-10, **params)
        found = ours.ridge_regression(X, y, 2.0, tol=1e-10, **params)
        np.testing.assert_allclose(found, expected, atol=1e-5 if "positive" in params else 1e-9)
    coef, intercept = ours.ridge_regression(csr_array(X), y, 2.0, return_intercept=True)
    exact = sk.Ridge(2.0).fit(X, y)
    np.testing.assert_allclose(coef, exact.coef_)
    np.testing.assert_allclose(intercept, exact.intercept_)
    with pytest.raises(ValueError, match="only 'sag' solver"):
        ours.ridge_regression(X, y, 2.0, return_intercept=True, solver="svd")
    with pytest.raises(ValueError, match="only 'lbfgs' solver"):
        ours.ridge_regression(X, y, 2.0, positive=True, solver="svd")


@pytest.mark.parametrize("X", [np.ones((2, 2)), np.array([[1.0, 1.0, 2.0], [1.0, 1.0, -1.0]])])
def test_one_of_equal_columns_goes_on(X):
    _, _, path = ours.lars_path(X, np.array([3.0, 1.0]))
    best = np.linalg.lstsq(X, np.array([3.0, 1.0]), rcond=None)[0]
    np.testing.assert_allclose(X @ path[:, -1], X @ best, atol=1e-12)
    np.testing.assert_array_equal(np.isclose(path[:2, -1], 0.0), [False, True])


def test_products_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="Xy must be finite"):
        ours.lars_path_gram(np.array([np.inf]), np.eye(1), n_samples=3)
