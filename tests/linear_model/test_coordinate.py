"""Lasso and elastic net: minima, scikit-learn's answers, and cases that peers got wrong."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model as sk
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from fastml import linear_model as ours
from fastml.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, MultiTaskLasso, enet_path

EXACT = {"tol": 1e-12, "max_iter": 100_000}


def data(n, d, targets=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    X[:, 1:] += 0.5 * X[:, :-1]
    w = np.where(np.arange(d) % 4 == 0, rng.normal(size=d), 0.0)
    noise = rng.normal(size=(n, max(targets, 1)))
    y = (X @ w)[:, None] + noise
    return X, (y if targets else y[:, 0]), rng.uniform(0.1, 2.0, n)


def objective(model, X, y, u, l1_ratio):
    u = np.ones(len(y)) if u is None else u
    w = model.coef_
    rows = np.linalg.norm(np.atleast_2d(w), axis=0) if y.ndim == 2 else np.abs(w)
    squares = (y - model.predict(X)) ** 2
    squares = squares.sum(axis=1) if y.ndim == 2 else squares
    penalty = l1_ratio * rows.sum() + 0.5 * (1 - l1_ratio) * np.sum(w**2)
    return 0.5 * np.average(squares, weights=u) + model.alpha * penalty


@pytest.mark.parametrize("shape", [(60, 8), (30, 90), (300, 250)])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_scikit_learns(shape, container, weighted):
    X, y, u = data(*shape)
    u = u if weighted else None
    for params in (
        {"alpha": 0.1, "l1_ratio": 1.0},
        {"alpha": 0.2, "l1_ratio": 0.4, "fit_intercept": False},
        {"alpha": 0.1, "l1_ratio": 0.9, "positive": True},
    ):
        theirs = sk.ElasticNet(**params, **EXACT).fit(X, y, u)
        found = ElasticNet(**params, **EXACT).fit(container(X), y, u)
        np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(found.intercept_, theirs.intercept_, atol=1e-5)
        best = objective(theirs, X, y, u, params["l1_ratio"])
        assert objective(found, X, y, u, params["l1_ratio"]) <= best * (1.0 + 1e-9)
        assert found.dual_gap_ <= 1e-11 * np.sum(y**2)


@pytest.mark.parametrize("shape", [(60, 8), (30, 90)])
@pytest.mark.parametrize("weighted", [False, True])
def test_several_targets(shape, weighted):
    X, y, u = data(*shape, 3)
    u = u if weighted else None
    for name in ("MultiTaskLasso", "MultiTaskElasticNet", "Lasso", "ElasticNet"):
        theirs = getattr(sk, name)(alpha=0.1, **EXACT).fit(X, y, u)
        found = getattr(ours, name)(alpha=0.1, **EXACT).fit(X, y, u)
        np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-5)
        np.testing.assert_allclose(found.intercept_, theirs.intercept_, atol=1e-4)


def test_float32_and_order_of_x():
    X, y, _ = data(40, 100)
    exact = Lasso(alpha=0.1, **EXACT).fit(X, y).coef_
    for order in "CF":
        single = np.asarray(X, dtype=np.float32, order=order)
        found = Lasso(alpha=0.1, tol=1e-6).fit(single, y)
        assert found.coef_.dtype == np.float32
        np.testing.assert_allclose(found.coef_, exact, atol=1e-3)


@pytest.mark.parametrize("shape", [(60, 8), (30, 90)])
def test_path_is_that_of_single_fits(shape):
    X, y, _ = data(*shape)
    alphas, coefs, gaps, passes = enet_path(
        X, y, l1_ratio=0.7, alphas=8, return_n_iter=True, **EXACT
    )
    assert (np.diff(alphas) < 0).all()
    assert len(passes) == len(gaps) == 8
    theirs = sk.enet_path(X, y, l1_ratio=0.7, alphas=8, **EXACT)
    np.testing.assert_allclose(alphas, theirs[0])
    np.testing.assert_allclose(coefs, theirs[1], atol=1e-6)
    for a in (0, 4, 7):
        one = ElasticNet(alphas[a], l1_ratio=0.7, fit_intercept=False, **EXACT).fit(X, y)
        np.testing.assert_allclose(coefs[:, a], one.coef_, atol=1e-6)
    assert not coefs[:, 0].any()


@pytest.mark.parametrize("shape", [(60, 8), (40, 60)])
@pytest.mark.parametrize("container", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_validation(shape, container, weighted):
    X, y, u = data(*shape)
    u = u if weighted else None
    params = {"alphas": 10, "cv": 4, **EXACT}
    for name, more in (("LassoCV", {}), ("ElasticNetCV", {"l1_ratio": [0.4, 0.9]})):
        theirs = getattr(sk, name)(**params, **more).fit(X, y, sample_weight=u)
        found = getattr(ours, name)(**params, **more).fit(container(X), y, sample_weight=u)
        np.testing.assert_allclose(found.mse_path_, theirs.mse_path_, rtol=1e-4)
        np.testing.assert_allclose(found.alphas_, theirs.alphas_)
        assert found.alpha_ == pytest.approx(theirs.alpha_)
        np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-5)


def test_cross_validation_of_several_targets():
    X, y, _ = data(60, 8, 3)
    theirs = sk.MultiTaskLassoCV(alphas=10, cv=3, **EXACT).fit(X, y)
    found = ours.MultiTaskLassoCV(alphas=10, cv=3, **EXACT).fit(X, y)
    np.testing.assert_allclose(found.mse_path_, theirs.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(found.coef_, theirs.coef_, atol=1e-5)


def test_folds_that_overlap_or_leave_rows_out():
    X, y, _ = data(60, 5)
    folds = [(np.arange(40), np.arange(30, 60)), (np.arange(20, 60), np.arange(10))]
    theirs = sk.LassoCV(cv=folds, alphas=6, **EXACT).fit(X, y)
    found = LassoCV(cv=folds, alphas=6, **EXACT).fit(X, y)
    np.testing.assert_allclose(found.mse_path_, theirs.mse_path_, rtol=1e-6)


def test_folds_do_not_lose_digits_to_large_means():
    X, y, _ = data(80, 4)
    plain = LassoCV(cv=4, alphas=6, **EXACT).fit(X, y)
    shifted = LassoCV(cv=4, alphas=6, **EXACT).fit(X + 1e6, y + 1e6)
    np.testing.assert_allclose(shifted.mse_path_, plain.mse_path_, rtol=1e-5)


@pytest.mark.parametrize("scaling", ["sum", "half_sum", "mean", "half_mean"])
def test_scalings(scaling):
    X, y, _ = data(50, 6)
    n = len(y)
    factor = {"sum": 2.0 * n, "half_sum": n, "mean": 2.0, "half_mean": 1.0}[scaling]
    found = Lasso(alpha=0.1 * factor, scaling=scaling, **EXACT).fit(X, y)
    np.testing.assert_allclose(found.coef_, sk.Lasso(0.1, **EXACT).fit(X, y).coef_, atol=1e-7)
    assert found.alpha_ == pytest.approx(0.1)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("shape", [(50, 6), (20, 30)])
def test_constraint_is_met_and_equals_a_penalty(l1_ratio, shape):
    X, y, _ = data(*shape)
    found = ElasticNet(l1_ratio=l1_ratio, constraint=0.3, **EXACT).fit(X, y)
    w = found.coef_
    value = l1_ratio * np.abs(w).sum() + 0.5 * (1 - l1_ratio) * np.sum(w**2)
    assert value == pytest.approx(0.3, rel=1e-6)
    same = ElasticNet(found.alpha_, l1_ratio=l1_ratio, **EXACT).fit(X, y)
    np.testing.assert_allclose(same.coef_, w, atol=1e-6)


def test_constraint_that_does_not_bind():
    X, y, _ = data(50, 3)
    found = Lasso(constraint=1e3, **EXACT).fit(X, y)
    assert found.alpha_ == 0.0
    np.testing.assert_allclose(found.coef_, sk.LinearRegression().fit(X, y).coef_, atol=1e-4)


def test_warning_says_gap_and_what_to_change():
    X, y, _ = data(30, 90)
    with pytest.warns(ConvergenceWarning, match=r"max_iter, now 2.*Duality gap: \d"):
        Lasso(alpha=1e-4, max_iter=2, tol=1e-10).fit(X, y)


@pytest.mark.parametrize("kind", ["constant", "zero", "duplicate"])
def test_degenerate_columns(kind):
    X, y, _ = data(40, 6)
    X[:, 2] = {"constant": 3.0, "zero": 0.0, "duplicate": X[:, 0]}[kind]
    theirs = sk.Lasso(0.05, **EXACT).fit(X, y)
    found = Lasso(0.05, **EXACT).fit(X, y)
    assert objective(found, X, y, None, 1.0) == pytest.approx(objective(theirs, X, y, None, 1.0))
    if kind != "duplicate":
        assert found.coef_[2] == 0.0


def test_no_l1_has_a_gap_and_no_warning():
    """sk#32845, sk#22836, sk#31906."""
    X, y, _ = data(40, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ElasticNet(alpha=0.1, l1_ratio=0.0).fit(X, y)
        Lasso(alpha=1e6, tol=0.0).fit(X, y)  # a gap of 0 with tol = 0
    n = len(y)
    np.testing.assert_allclose(found.coef_, sk.Ridge(alpha=0.1 * n).fit(X, y).coef_, rtol=1e-8)
    assert 0.0 <= found.dual_gap_ < 1e-10


def test_weights_are_repeated_rows_also_in_the_grid():
    """sk#22914, sk#29248."""
    X, y, _ = data(30, 4)
    u = np.random.default_rng(0).integers(1, 4, 30)
    twice = np.repeat(X, u, axis=0), np.repeat(y, u)
    group = np.repeat(np.arange(30) % 3, u)
    folds = [(np.flatnonzero(group != g), np.flatnonzero(group == g)) for g in range(3)]
    single = [(np.flatnonzero(np.arange(30) % 3 != g), np.flatnonzero(np.arange(30) % 3 == g))
              for g in range(3)]  # fmt: skip
    weighted = ElasticNetCV(cv=single, alphas=10, **EXACT).fit(X, y, sample_weight=u)
    repeated = ElasticNetCV(cv=folds, alphas=10, **EXACT).fit(*twice)
    np.testing.assert_allclose(weighted.alphas_, repeated.alphas_)
    np.testing.assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_given_gram_matrix(dtype):
    """sk#18919, sk#29565."""
    X, y, _ = data(50, 6)
    X = (X - X.mean(axis=0)).astype(dtype)
    gram = X.T @ X
    found = Lasso(0.05, precompute=gram, fit_intercept=False, tol=1e-8).fit(X, y)
    plain = Lasso(0.05, fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-4)
    by_folds = LassoCV(precompute=gram, alphas=5).fit(X, y)  # of folds it would be wrong
    without = LassoCV(alphas=5).fit(X, y)
    assert by_folds.alpha_ == without.alpha_
    np.testing.assert_allclose(by_folds.coef_, without.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="did not pass validation"):
        Lasso(0.05, precompute=gram + 1.0, fit_intercept=False).fit(X, y)


def test_warm_start_needs_no_pass():
    X, y, _ = data(60, 8)
    model = Lasso(0.05, warm_start=True).fit(X, y)
    assert model.n_iter_ > 0
    assert model.fit(X, y).n_iter_ == 0
    joint = MultiTaskLasso(0.05, warm_start=True).fit(X, np.c_[y, y])
    assert joint.fit(X, np.c_[y, y]).n_iter_ == 0


def test_n_jobs_changes_no_bit():
    X, y, _ = data(2000, 30)
    one, two = (LassoCV(n_jobs=n, alphas=20).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.mse_path_, two.mse_path_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_folds_on_threads_change_no_bit():
    """Products of the rows left out are BLAS's: of one thread, whatever the number of folds."""
    X, y, _ = data(3000, 120)
    for cv in (5, KFold(3, shuffle=True, random_state=0)):
        one, two = (ElasticNetCV(n_jobs=n, alphas=20, cv=cv).fit(X, y) for n in (1, 2))
        np.testing.assert_array_equal(one.mse_path_, two.mse_path_)
        np.testing.assert_array_equal(one.coef_, two.coef_)


def test_folds_end_near_the_minimum():
    """At the default tolerance: the choice of an exact path, and its objective to 1e-6."""
    X, y, _ = data(1000, 60)
    found, exact = ElasticNetCV().fit(X, y), ElasticNetCV(**EXACT).fit(X, y)
    assert found.alpha_ == exact.alpha_
    near, best = (objective(m, X, y, None, 0.5) for m in map(_at_choice, (found, exact)))
    assert best <= near * (1.0 + 1e-12)
    assert near <= best * (1.0 + 1e-6)
    np.testing.assert_allclose(found.mse_path_[1:], exact.mse_path_[1:], rtol=1e-4)


def _at_choice(model):
    model.alpha = model.alpha_
    return model


def test_rows_in_turn_are_a_slice():
    from fastml.linear_model._folds import rows_at

    assert rows_at(np.arange(3, 7)) == slice(3, 7)
    for rows in (np.array([3, 5, 4, 6]), np.array([6, 5, 4]), np.array([0, 2]), np.array([], int)):
        assert rows_at(rows) is rows


@pytest.mark.parametrize("container", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.7])
@pytest.mark.parametrize("positive", [False, True])
def test_newton_steps_between_passes(container, l1_ratio, positive, monkeypatch):
    """From some weights in use on; the factor of one penalty serves the next ones."""
    from fastml._engines.linear import working_sets

    X, y, _ = data(60, 90, seed=1)
    X -= X.mean(axis=0)
    options = {"l1_ratio": l1_ratio, "alphas": np.geomspace(2.0, 0.02, 25), "positive": positive}
    calls, solve = [], working_sets.ActiveFactor.solve

    def counted(self, *args):
        found = solve(self, *args)
        calls.append(found is not None and len(self.columns) != len(args[1]))
        return found

    monkeypatch.setattr(working_sets.ActiveFactor, "solve", counted)
    monkeypatch.setattr(working_sets, "NEWTON_WEIGHTS", 4)
    _, found, gaps = enet_path(container(X), y, tol=1e-9, max_iter=10_000, **options)
    assert sum(calls) >= 3  # some by a factor of other columns
    _, expected, _ = sk.enet_path(X, y, tol=1e-13, max_iter=100_000, **options)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert (gaps <= 1e-9 * (y @ y)).all()


def test_newton_steps_of_a_singular_gram_matrix(monkeypatch):
    from fastml._engines.linear import working_sets

    monkeypatch.setattr(working_sets, "NEWTON_WEIGHTS", 2)
    X, y, _ = data(30, 40)
    X = np.hstack([X, X])  # every column twice
    model = Lasso(alpha=0.05, **EXACT).fit(X, y)
    theirs = sk.Lasso(alpha=0.05, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-5)
    assert model.dual_gap_ <= 1e-11 * np.sum(y**2)


@pytest.mark.parametrize("container", [np.asarray, sp.csc_array])
def test_classes_of_scikit_learn_may_call_the_path(container):
    """They hand over dense rows that are centred and hold the weights, sparse ones that do not."""

    class WithOurs(sk.Lasso):
        path = staticmethod(enet_path)

    X, y, u = data(60, 5)
    rows = container(X)
    for weights in (None, u):
        expected = sk.Lasso(alpha=0.1, **EXACT).fit(rows, y, sample_weight=weights)
        found = WithOurs(alpha=0.1, **EXACT).fit(rows, y, sample_weight=weights)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-7)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-7)
