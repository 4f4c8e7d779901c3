"""LinearRegression, Ridge and RidgeCV: scikit-learn's answers, and cases that peers got wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model as sk

from fastml.linear_model import LinearRegression, Ridge, RidgeCV


def data(n, d, targets=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2.0
    y = X @ rng.normal(size=(d, max(targets, 1))) + rng.normal(size=(n, max(targets, 1)))
    return X, (y if targets else y[:, 0]), rng.uniform(0.1, 2.0, n)


def assert_same(ours, theirs, tolerance=1e-9):
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=tolerance, atol=tolerance)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)


@pytest.mark.parametrize("shape", [(30, 5), (800, 40), (20, 40), (120, 200)])
@pytest.mark.parametrize("targets", [0, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_answers_are_scikit_learns(shape, targets, weighted, fit_intercept):
    X, y, u = data(*shape, targets)
    u = u if weighted else None
    for name, params in (
        ("LinearRegression", {}),
        ("Ridge", {"alpha": 0.7}),
        ("RidgeCV", {"alphas": [0.1, 3.0, 50.0]}),
    ):
        ours = globals()[name](fit_intercept=fit_intercept, **params).fit(X, y, u)
        theirs = getattr(sk, name)(fit_intercept=fit_intercept, **params).fit(X, y, u)
        assert_same(ours, theirs, 1e-8)
        if name == "RidgeCV":
            assert ours.alpha_ == theirs.alpha_
            assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-8)
        if name == "LinearRegression":
            assert ours.rank_ == theirs.rank_
            np.testing.assert_allclose(
                ours.singular_[: ours.rank_], theirs.singular_[: ours.rank_], rtol=1e-7
            )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(order, dtype):
    X, y, _ = data(900, 30)
    exact = sk.LinearRegression().fit(X, y).coef_
    ours = LinearRegression().fit(np.asarray(X, dtype=dtype, order=order), y)
    assert ours.coef_.dtype == dtype
    np.testing.assert_allclose(ours.coef_, exact, atol=1e-9 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("shape", [(80, 10), (20, 50)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_dense(container, shape, weighted):
    """sk#30131, sk#19578: sparse rows with weights, and unit weights that are no weights."""
    X, y, u = data(*shape)
    X[np.random.default_rng(1).random(shape) < 0.7] = 0.0
    for weights in (u, np.ones(len(u))) if weighted else (None,):
        for model in (LinearRegression(tol=1e-12), Ridge(alpha=0.5), RidgeCV(alphas=[0.1, 1.0])):
            dense = model.fit(X, y, weights).coef_.copy()
            sparse = model.fit(container(X), y, weights).coef_
            np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-8)
            if weights is not None and (weights == 1.0).all():
                plain = model.fit(container(X), y).coef_
                np.testing.assert_allclose(sparse, plain, rtol=1e-8, atol=1e-10)


def test_collinear_columns_get_the_shortest_weights():
    X, y, _ = data(5000, 6)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    ours, theirs = LinearRegression().fit(X, y), sk.LinearRegression().fit(X, y)
    assert ours.rank_ == 6
    assert_same(ours, theirs, 1e-8)
    assert_same(Ridge(alpha=0.0).fit(X, y), theirs, 1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("width", [1e-2, 1e-5])
def test_nearly_collinear(offset, width):
    """Condition numbers at which the Gram matrix alone would lose the answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) + offset
    X[:, 3] = X[:, 0] + width * rng.normal(size=len(X))
    w = np.array([1.0, -2.0, 0.5, 3.0])
    model = LinearRegression().fit(X, X @ w + 7.0)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-5 if offset else 1e-7)


def test_large_integers_in_float32():
    """sk#33032, sk#23376: many rows of float32, and integers from 1e3 to 1e4."""
    rng = np.random.default_rng(0)
    for n in (60_000, 600_000):  # a limit for singular values that grows with n drops columns
        X = rng.integers(1_000, 10_000, size=(n, 3)).astype(np.float32)
        X[:, 2] *= 1e-3  # small beside the others, and yet a column
        y = X @ np.array([1.0, 2.0, 3.0], dtype=np.float32) + 5.0
        model = LinearRegression().fit(X, y)
        assert model.rank_ == 3
        np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], rtol=1e-5)
    collinear = np.c_[X, X[:, :1] - X[:, 1:2]]
    assert LinearRegression().fit(collinear, y).rank_ == 3


def test_values_too_large_to_square():
    X, y, _ = data(40, 3)
    large = LinearRegression().fit(1e160 * X, y)
    np.testing.assert_allclose(large.coef_ * 1e160, LinearRegression().fit(X, y).coef_, rtol=1e-8)


def test_nan_in_large_data_is_refused():
    X, y, _ = data(30_000, 40)
    X[20_000, 3] = np.nan
    for model in (LinearRegression(), Ridge()):
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit(X, y)
        assert not hasattr(model, "coef_")


def test_x_is_not_copied():
    import tracemalloc

    X, y, _ = data(200_000, 20)
    for model in (LinearRegression(), Ridge(), RidgeCV(alphas=[1.0])):
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.6 * X.nbytes


@pytest.mark.parametrize("order", ["C", "F"])
def test_other_models_do_not_copy_x_either(order):
    """Peak above X, as a share of X: about 0.35 for a few vectors of the rows beside 40 columns."""
    import tracemalloc

    from fastml.linear_model import (
        ElasticNet,
        HuberRegressor,
        Lasso,
        LogisticRegression,
        PoissonRegressor,
    )

    X, y, _ = data(100_000, 40)
    X = np.asarray(X, order=order)
    counts = np.floor(np.abs(y))
    for model, targets in (
        (Lasso(), y), (ElasticNet(), y), (LogisticRegression(), y > 0.0),
        (PoissonRegressor(), counts), (HuberRegressor(), y),
    ):  # fmt: skip
        tracemalloc.start()
        model.fit(X, targets)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.6 * X.nbytes, type(model).__name__


@pytest.mark.parametrize("shape", [(50, 6), (20, 40)])
def test_positive(shape):
    X, y, u = data(*shape, 2)
    ours = LinearRegression(positive=True).fit(X, y, u)
    assert_same(ours, sk.LinearRegression(positive=True).fit(X, y, u), 1e-6)
    ridge = Ridge(alpha=2.0, positive=True).fit(X, y)
    assert (ridge.coef_ >= 0.0).all()
    pull = (X - X.mean(axis=0)).T @ (y - ridge.predict(X)) - 2.0 * ridge.coef_.T
    inside = ridge.coef_.T > 0.0
    np.testing.assert_allclose(pull[inside], 0.0, atol=1e-4)
    assert (pull[~inside] <= 1e-4).all()


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
@pytest.mark.parametrize("shape", [(60, 8), (15, 40)])
def test_every_solver_is_the_same_ridge(solver, shape):
    X, y, u = data(*shape, 2)
    exact = sk.Ridge(alpha=[0.5, 2.0], solver="svd").fit(X, y, u)
    ours = Ridge(alpha=[0.5, 2.0], solver=solver, tol=1e-12).fit(X, y, u)
    assert_same(ours, exact, 1e-7)


def test_scalings_of_ridge():
    X, y, _ = data(40, 4)
    n = len(y)
    for scaling, alpha in (
        ("sum", 3.0),
        ("half_sum", 1.5),
        ("mean", 3.0 / n),
        ("half_mean", 1.5 / n),
    ):
        found = Ridge(alpha=alpha, scaling=scaling).fit(X, y)
        np.testing.assert_allclose(found.coef_, sk.Ridge(alpha=3.0).fit(X, y).coef_, rtol=1e-9)


# ---------------------------------------------------------------------------- leaving one out


@pytest.mark.parametrize("shape", [(25, 4), (12, 30)])
@pytest.mark.parametrize("mode", ["svd", "eigen"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_errors_are_those_of_refitting(shape, mode, weighted, fit_intercept):
    """sk#15648: weighted errors too."""
    X, y, u = data(*shape)
    u = u if weighted else np.ones(len(y))
    model = RidgeCV(alphas=[0.3, 4.0], fit_intercept=fit_intercept, gcv_mode=mode,
                    store_cv_results=True).fit(X, y, u)  # fmt: skip
    for a, alpha in enumerate([0.3, 4.0]):
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            one = Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X[rest], y[rest], u[rest])
            error = u[i] * (y[i] - one.predict(X[i : i + 1])[0]) ** 2
            assert model.cv_results_[i, a] == pytest.approx(error, rel=1e-6)


def test_penalties_near_zero_and_huge_weights():
    """sk#32459: alpha 1e-15; sk#26848: weights of 2e5 to 2e11."""
    X, y, _ = data(60, 5)
    model = RidgeCV(alphas=[1e-15, 1.0]).fit(X, y)
    theirs = sk.LinearRegression().fit(X, y)
    if model.alpha_ == 1e-15:
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8)
    assert np.isfinite(model.best_score_)
    heavy = 2e5 * 10.0 ** (6 * np.random.default_rng(0).random(60))
    ours = RidgeCV(alphas=[0.1, 10.0]).fit(X, y, heavy)
    direct = Ridge(alpha=ours.alpha_).fit(X, y, heavy)
    np.testing.assert_allclose(ours.coef_, direct.coef_, rtol=1e-7)


def test_alpha_per_target_and_scoring():
    X, y, u = data(40, 6, 3)
    options = {"alphas": [0.01, 1.0, 100.0], "alpha_per_target": True}
    ours, theirs = RidgeCV(**options).fit(X, y), sk.RidgeCV(**options).fit(X, y)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    assert_same(ours, theirs)
    for scoring in ("r2", "neg_mean_absolute_error"):
        ours = RidgeCV(scoring=scoring).fit(X, y, u)
        theirs = sk.RidgeCV(scoring=scoring).fit(X, y, u)
        assert ours.alpha_ == theirs.alpha_
        assert ours.best_score_ == pytest.approx(theirs.best_score_)


@pytest.mark.parametrize("alphas", [[0.0, 1.0], [-1.0], []])
def test_bad_penalties(alphas):
    X, y, _ = data(10, 2)
    with pytest.raises(ValueError, match="alphas"):
        RidgeCV(alphas=alphas).fit(X, y)


def test_weights_that_are_all_zero():
    X, y, _ = data(10, 2)
    with pytest.raises(ValueError, match="Sample weights"):
        LinearRegression().fit(X, y, np.zeros(10))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_many_rows_in_one_pass(order, dtype):
    """One target: products of (x, 1, y) on threads; the same as block by block."""
    from fastml._engines.linear import moments

    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(30_000, 40)) + 1.0, dtype=dtype, order=order)
    y, weights = rng.normal(size=(30_000, 1)), rng.uniform(size=30_000)
    assert X.size > moments.MANY_VALUES
    for u in (None, weights):
        whole = moments.moments_of(X, y, u)
        zeros = np.zeros(40), np.zeros(1)
        blocks = moments.moments_of(X, y, u, *zeros)
        for found, expected in zip(whole, blocks):
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_ill_conditioned(weighted):
    """One step of refinement on threads brings Cholesky's answer to that of an SVD."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60))
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X += 10.0
    y = X @ rng.normal(size=60) + rng.normal(size=20_000)
    u = rng.uniform(0.5, 1.5, size=20_000) if weighted else None
    root = np.ones(20_000) if u is None else np.sqrt(u)
    A = np.column_stack([X, np.ones(20_000)]) * root[:, None]
    expected = np.linalg.lstsq(A, y * root)[0]
    model = LinearRegression().fit(X, y, u)
    np.testing.assert_allclose(model.coef_, expected[:-1], rtol=1e-10, atol=1e-10)
    ridge = Ridge(alpha=1e-9).fit(X, y, u)
    np.testing.assert_allclose(ridge.coef_, expected[:-1], rtol=1e-6, atol=1e-9)
