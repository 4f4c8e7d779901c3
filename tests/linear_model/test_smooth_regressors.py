"""Poisson, gamma, Tweedie, Huber, quantile and evidence regressions against scikit-learn."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as sk
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_pinball_loss

from fastml._engines.smooth_linear import solvers
from fastml.linear_model import (
    ARDRegression,
    BayesianRidge,
    GammaRegressor,
    HuberRegressor,
    LeastAbsoluteDeviations,
    PoissonRegressor,
    QuantileRegressor,
    TweedieRegressor,
)


def data(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d) / 3
    return X, np.exp(X @ w + 0.3) * rng.gamma(3.0, 1 / 3, size=n), rng.integers(0, 3, n) + 0.0


GLMS = [
    (PoissonRegressor, {}),
    (GammaRegressor, {"alpha": 0.1}),
    (TweedieRegressor, {"power": 1.5}),
    (TweedieRegressor, {"power": 0.0}),
    (TweedieRegressor, {"power": 0.0, "link": "log", "alpha": 0.3}),
    (TweedieRegressor, {"power": 3.0, "alpha": 0.1}),
]


@pytest.mark.parametrize(("cls", "parameters"), GLMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_glms_as_in_scikit_learn(cls, parameters, fit_intercept):
    X, y, weights = data()
    tight = {**parameters, "fit_intercept": fit_intercept, "tol": 1e-9, "max_iter": 1000}
    theirs = getattr(sk, cls.__name__)(**tight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, y, sample_weight=weights)
    ours = cls(**tight).fit(X, y, sample_weight=weights)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-7)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert_allclose(ours.score(X, y, weights), theirs.score(X, y, weights), rtol=1e-5)
    inside = weights > 0
    again = cls(**tight).fit(
        np.repeat(X[inside], weights[inside].astype(int), axis=0),
        np.repeat(y[inside], weights[inside].astype(int)),
    )
    assert_allclose(ours.coef_, again.coef_, atol=1e-6)


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array])
def test_sparse_rows_and_many_columns(sparse, monkeypatch):
    X, y, _ = data(300, 40)
    X[np.abs(X) < 1.0] = 0.0
    dense = PoissonRegressor(alpha=0.1, tol=1e-8).fit(X, y)
    assert_allclose(PoissonRegressor(alpha=0.1, tol=1e-8).fit(sparse(X), y).coef_, dense.coef_)
    monkeypatch.setattr(solvers, "MOST_COLUMNS", 3)  # L-BFGS
    by_lbfgs = PoissonRegressor(alpha=0.1, tol=1e-8, max_iter=1000).fit(sparse(X), y)
    assert_allclose(by_lbfgs.coef_, dense.coef_, atol=1e-6)


def test_a_start_from_some_rows_ends_at_the_same_minimum(monkeypatch):
    X, y, weights = data(2000)
    plain = PoissonRegressor(tol=1e-10).fit(X, y, sample_weight=weights)
    outlying = HuberRegressor().fit(X, y)
    samples, sample = [], solvers.SmoothObjective.sample

    def counted(self, n_wanted):
        samples.append(n_wanted)
        return sample(self, n_wanted)

    monkeypatch.setattr(solvers.SmoothObjective, "sample", counted)
    monkeypatch.setattr(solvers, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(solvers, "ROWS_PER_WEIGHT", 10)
    sampled = PoissonRegressor(tol=1e-10).fit(X, y, sample_weight=weights)
    assert_allclose(sampled.coef_, plain.coef_, rtol=1e-8)
    assert samples == [200]
    monkeypatch.setattr("fastml._engines.smooth_linear.huber_scale.SAMPLE_ROWS", 200)
    monkeypatch.setattr("fastml._engines.smooth_linear.huber_scale.ROWS_PER_WEIGHT", 10)
    assert_allclose(HuberRegressor().fit(X, y).coef_, outlying.coef_, rtol=1e-6)


def test_columns_that_depend_on_each_other_without_penalty():
    X, y, _ = data()
    twice = np.hstack([X, X])
    once = PoissonRegressor(alpha=0, tol=1e-9).fit(X, y)
    both = PoissonRegressor(alpha=0, tol=1e-9).fit(twice, y)
    assert_allclose(both.coef_, np.tile(once.coef_, 2) / 2, rtol=1e-6)  # the shortest solution


def test_a_fit_that_ends_too_early_says_so():
    X, y, _ = data()
    with pytest.warns(ConvergenceWarning, match=r"largest entry of the gradient.*max_iter"):
        model = PoissonRegressor(max_iter=1, tol=1e-9).fit(X, y)
    assert model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(warm_start=True, max_iter=50).fit(X, y)
    assert_allclose(model.coef_, PoissonRegressor(tol=1e-9).fit(X, y).coef_, atol=1e-8)


@pytest.mark.parametrize(("cls", "bad"), [(PoissonRegressor, -1.0), (GammaRegressor, 0.0)])
def test_targets_out_of_range(cls, bad):
    X, y, _ = data()
    y[3] = bad
    with pytest.raises(ValueError, match="out of the valid range"):
        cls().fit(X, y)


# ---------------------------------------------------------------------------- Huber


@pytest.mark.parametrize("parameters", [{}, {"fit_intercept": False, "alpha": 1.0, "epsilon": 2.0}])
def test_huber_as_in_scikit_learn(parameters):
    X, y, weights = data()
    y[:10] += 50.0
    theirs = sk.HuberRegressor(max_iter=10_000, tol=1e-7, **parameters).fit(X, y, weights)
    for rows in (X, sp.csr_array(X), X.astype(np.float32)):
        ours = HuberRegressor(**parameters).fit(rows, y, weights)
        assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
        assert_allclose(ours.scale_, theirs.scale_, rtol=2e-5)
        assert np.array_equal(ours.outliers_, theirs.outliers_)


def test_huber_of_equal_targets_and_of_large_columns():
    """scikit-learn's issue 27777: one value for all targets; X × 100."""
    X, y, _ = data(30, 4)
    model = HuberRegressor().fit(X, np.full(30, 7.0))
    assert_allclose(model.coef_, 0.0, atol=1e-6)
    assert model.intercept_ == pytest.approx(7.0)
    plain, large = (HuberRegressor(alpha=0.0).fit(c * X, y) for c in (1.0, 100.0))
    assert_allclose(large.coef_ * 100.0, plain.coef_, rtol=1e-4)


def test_huber_where_all_rows_can_be_fitted_exactly():
    rng = np.random.default_rng(0)
    X, y = rng.random((15, 30)), rng.integers(0, 3, 15) + 0.0
    ours = HuberRegressor().fit(X, y)
    theirs = sk.HuberRegressor(max_iter=10_000).fit(X, y)

    def objective(m):
        z = np.abs(y - m.predict(X)) / m.scale_
        loss = np.where(z <= 1.35, z**2, 2.7 * z - 1.35**2)
        return (m.scale_ * (1 + loss)).sum() + 1e-4 * m.coef_ @ m.coef_

    assert objective(ours) <= objective(theirs) * (1 + 1e-6)


# ---------------------------------------------------------------------------- quantiles


@pytest.mark.parametrize("quantile", [0.2, 0.5])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_quantiles_as_in_scikit_learn(quantile, alpha, fit_intercept):
    X, y, weights = data(61, 4)
    given = {"quantile": quantile, "alpha": alpha, "fit_intercept": fit_intercept}
    ours = QuantileRegressor(**given).fit(X, y)
    theirs = sk.QuantileRegressor(**given).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    tied = np.round(y)  # several minima: their objectives are equal

    def objective(model):
        loss = mean_pinball_loss(tied, model.predict(X), alpha=quantile, sample_weight=weights)
        return loss + alpha * np.abs(model.coef_).sum()

    models = (c(**given).fit(X, tied, weights) for c in (QuantileRegressor, sk.QuantileRegressor))
    own, other = map(objective, models)
    assert own <= other + 1e-10


def test_a_vertex_fits_as_many_rows_as_there_are_weights():
    X, y, _ = data(300, 3)
    for rows in (X, sp.csc_array(X)):
        model = LeastAbsoluteDeviations().fit(rows, y)
        assert (np.abs(y - model.predict(rows)) < 1e-9).sum() == 4
    same = QuantileRegressor(alpha=0.05).fit(X, y)
    assert_allclose(LeastAbsoluteDeviations(alpha=0.1).fit(X, y).coef_, same.coef_, atol=1e-9)
    shrunk = QuantileRegressor(alpha=10.0).fit(X, y)
    assert np.all(shrunk.coef_ == 0.0)
    assert shrunk.intercept_ == pytest.approx(np.median(y), abs=np.ptp(np.sort(y)[149:151]))


def test_quantiles_of_dependent_columns_and_of_zeros():
    X, y, _ = data(100, 2)
    once = QuantileRegressor(alpha=0).fit(X, y)
    twice = QuantileRegressor(alpha=0).fit(np.hstack([X, X]), y)
    own, other = (mean_pinball_loss(y, m.predict(x)) for m, x in
                  ((twice, np.hstack([X, X])), (once, X)))  # fmt: skip
    assert own == pytest.approx(other, rel=1e-6)
    assert np.all(QuantileRegressor().fit(X, np.zeros(100)).coef_ == 0.0)


# ---------------------------------------------------------------------------- evidence


@pytest.mark.parametrize(("n", "dtype"), [(4, np.float64), (100, np.float64), (100, np.float32)])
def test_evidence_as_in_scikit_learn(n, dtype):
    X, y, weights = data(n, 5)
    X, tol = X.astype(dtype), 1e-6 if dtype == np.float64 else 2e-3
    ours = BayesianRidge(compute_score=True).fit(X, y, weights)
    theirs = sk.BayesianRidge(compute_score=True).fit(X, y, weights)
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_", "scores_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol, atol=tol)
    assert ours.coef_.dtype == dtype
    if n > 5:
        ours = ARDRegression(compute_score=True).fit(X, y)
        theirs = sk.ARDRegression(compute_score=True).fit(X, y)
        for name in ("coef_", "intercept_", "alpha_", "sigma_", "scores_"):
            assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol, atol=tol)
    for found, expected in zip(ours.predict(X, return_std=True), theirs.predict(X, True)):
        assert_allclose(found, expected, rtol=tol, atol=tol)


def test_relevance_of_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    model = ARDRegression().fit(X, X[:, 3] * 5.0 + 0.01 * rng.normal(size=30))
    assert np.abs(model.coef_).argmax() == 3
    assert model.coef_[3] == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 39_999])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_nan_among_many_values_is_refused(value, row, weight):
    """It is not looked for there, but seen in what it leads to."""
    from fastml.linear_model import GammaRegressor, PoissonRegressor

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 30)), rng.poisson(1.0, size=40_000) + 0.5
    X[row, 3], weights = value, np.ones(40_000)
    weights[row] = weight
    for model in (PoissonRegressor(), GammaRegressor(alpha=0.0)):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            model.fit(X, y, weights)


def test_huber_of_equal_targets_and_of_other_units():
    """sk#27777: targets that are all equal; X times 100."""
    from fastml.linear_model import HuberRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    equal = HuberRegressor().fit(X, np.full(60, 7.0))
    assert_allclose(equal.predict(X), 7.0, atol=1e-3)
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_t(2, size=60)
    plain = HuberRegressor(alpha=0.0, tol=1e-8, max_iter=1000).fit(X, y)
    wide = HuberRegressor(alpha=0.0, tol=1e-8, max_iter=1000).fit(100.0 * X, y)
    assert_allclose(wide.coef_ * 100.0, plain.coef_, rtol=1e-4)
    assert_allclose(wide.predict(100.0 * X), plain.predict(X), atol=1e-4)


def test_huber_on_targets_near_the_largest_float():
    """Squares of its scale are infinite: no OverflowError."""
    X = np.arange(25.0)[:, None] % 5
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HuberRegressor(fit_intercept=False).fit(X, 1e300 * np.cos(X[:, 0]))
    assert np.isfinite(model.predict(X)).all()


def test_huber_where_squares_overflow():
    """There is no Hessian: L-BFGS, as where columns are many."""
    rng = np.random.default_rng(0)
    X, weights = rng.integers(2, size=(25, 3)).astype(float), np.zeros(25)
    weights[3] = 1.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HuberRegressor().fit(X, 1e200 * rng.normal(size=25), weights)
    assert np.isfinite(model.predict(X)).all()


def test_squares_that_overflow():
    """There is no Hessian: L-BFGS, as scikit-learn's."""
    X = 1e200 * np.random.default_rng(0).normal(size=(25, 3))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TweedieRegressor().fit(X, np.full(25, 0.1), np.arange(25) % 4 + 1)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_)
