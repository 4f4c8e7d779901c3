"""The statistical view equals statsmodels', to eight digits."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)

from fastml import linear_model
from fastml.linear_model import summary
from fastml.linear_model._summary import _design
from fastml.linear_model._summary._checks import moments

sm = pytest.importorskip("statsmodels.api")


def same(found, expected, tolerance=1e-8, floor=1e-300):
    """Relative to the largest of a vector; p values below ``floor`` count as zero."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=floor)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data(rng):
    """Columns of other units and means, errors that depend on the first."""
    X = rng.normal(size=(400, 4)) * [1.0, 10.0, 100.0, 0.1] + [5.0, 0.0, 1000.0, 3.0]
    y = X @ [1.0, 0.2, 0.03, 2.0] + (0.5 + np.abs(X[:, 0] - 5)) * rng.normal(size=400)
    return X, y


class Fitted:
    """A linear model of given coefficients."""

    def __init__(self, params, intercept=True):
        self.coef_ = params[1:] if intercept else params
        self.intercept_ = params[0] if intercept else 0.0
        self.fit_intercept = intercept


def same_coefficients(found, theirs, **more):
    same(found.coef, theirs.params, **more)
    same(found.std_error, theirs.bse, **more)
    same(found.statistic, theirs.tvalues, **more)
    same(found.p_value, theirs.pvalues, **more)
    same(found.interval, theirs.conf_int(), **more)
    same(
        found.covariance / np.outer(theirs.bse, theirs.bse),
        theirs.cov_params() / np.outer(theirs.bse, theirs.bse),
        floor=1e-9,
    )


def same_least_squares(found, theirs):
    same_coefficients(found, theirs)
    names = {
        "r2": "rsquared", "adjusted_r2": "rsquared_adj", "f_value": "fvalue",
        "f_p_value": "f_pvalue", "log_likelihood": "llf", "aic": "aic", "bic": "bic",
        "df_model": "df_model", "df_residual": "df_resid", "dispersion": "scale",
        "n_samples": "nobs", "condition_number": "condition_number",
    }  # fmt: skip
    for ours, name in names.items():
        same(getattr(found, ours), getattr(theirs, name))
    same(found.residual_standard_error, np.sqrt(theirs.mse_resid))


# ---------------------------------------------------------------------------- least squares


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares(data, intercept):
    X, y = data
    found = summary(LinearRegression(fit_intercept=intercept).fit(X, y), X, y)
    theirs = sm.OLS(y, sm.add_constant(X) if intercept else X).fit()
    same_least_squares(found, theirs)
    assert found.names == ["intercept"] * intercept + ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("intercept", [True, False])
def test_variance_weights(data, rng, intercept):
    X, y = data
    w = rng.uniform(0.2, 3.0, size=len(y))
    model = LinearRegression(fit_intercept=intercept).fit(X, y, w)
    found = summary(model, X, y, sample_weight=w)
    theirs = sm.WLS(y, sm.add_constant(X) if intercept else X, weights=w).fit()
    same_least_squares(found, theirs)
    for kind in ("HC0", "HC3"):
        robust = summary(model, X, y, sample_weight=w, covariance=kind)
        same(robust.std_error, getattr(theirs, f"{kind}_se"))


def test_frequency_weights_are_repeated_rows(data, rng):
    X, y = data
    w = rng.integers(0, 4, size=len(y))
    many = np.repeat(np.arange(len(y)), w)
    model = LinearRegression().fit(X[many], y[many])
    expected = summary(model, X[many], y[many], covariance="HC3")
    found = summary(model, X, y, sample_weight=w, weight_kind="frequency", covariance="HC3")
    same_fields = ("coef", "std_error", "p_value", "r2", "adjusted_r2", "aic", "bic", "f_value",
                   "log_likelihood", "n_samples", "df_residual", "condition_number")  # fmt: skip
    for name in same_fields:
        same(getattr(found, name), getattr(expected, name))
    for name in ("jarque_bera", "omnibus"):
        same(found.checks[name][1:4], expected.checks[name][1:4])
    assert "durbin_watson" not in found.checks  # an order of repeated rows has no meaning


def test_a_constant_among_the_columns_counts_as_the_intercept(data):
    X, y = data
    ones = sm.add_constant(X)
    found = summary(LinearRegression(fit_intercept=False).fit(ones, y), ones, y)
    same_least_squares(found, sm.OLS(y, ones).fit())
    groups = np.eye(3)[np.arange(len(y)) % 3]  # three indicators sum to one
    found = summary(LinearRegression(fit_intercept=False).fit(groups, y), groups, y)
    theirs = sm.OLS(y, groups).fit()
    same(
        [found.r2, found.df_model, found.f_value], [theirs.rsquared, theirs.df_model, theirs.fvalue]
    )


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.parametrize("use_t", [True, False])
def test_errors_of_unequal_variance(data, kind, use_t):
    X, y = data
    found = summary(LinearRegression().fit(X, y), X, y, covariance=kind, use_t=use_t)
    same_coefficients(
        found, theirs := sm.OLS(y, sm.add_constant(X)).fit(cov_type=kind, use_t=use_t)
    )
    same(found.f_value, theirs.fvalue)
    if use_t:
        same(found.f_p_value, theirs.f_pvalue)


def test_errors_of_groups(data, rng):
    X, y = data
    groups = rng.integers(0, 23, size=len(y))
    theirs = sm.OLS(y, sm.add_constant(X)).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, use_t=True
    )
    names = np.array([f"g{g}" for g in groups])
    found = summary(LinearRegression().fit(X, y), X, y, covariance="cluster", groups=names)
    same_coefficients(found, theirs)
    same([found.f_value, found.f_p_value], [theirs.fvalue, theirs.f_pvalue])


def test_predictions_and_intervals(data):
    X, y = data
    new = X[:7] * 1.1
    frame = (
        sm.OLS(y, sm.add_constant(X)).fit().get_prediction(sm.add_constant(new, has_constant="add"))
    )
    frame = frame.summary_frame(alpha=0.1)
    found = summary(LinearRegression().fit(X, y), X, y).predict(new, confidence=0.9)
    for ours, theirs in zip(found, frame.columns):
        same(ours, frame[theirs])


def test_influence_of_rows(data, rng):
    from statsmodels.stats.outliers_influence import OLSInfluence

    X, y = data
    for w in (None, rng.uniform(0.5, 2.0, size=len(y))):
        found = summary(LinearRegression().fit(X, y, w), X, y, sample_weight=w)
        found = found.influence(X, y, sample_weight=w)
        design = sm.add_constant(X)
        root = np.ones(len(y)) if w is None else np.sqrt(w)
        theirs = OLSInfluence(sm.OLS(root * y, root[:, None] * design).fit())
        same(found.leverage, theirs.hat_matrix_diag)
        same(found.cooks_distance, theirs.cooks_distance[0])
        same(found.studentized, theirs.resid_studentized_internal)
        same(found.external, theirs.resid_studentized_external)
        same(found.dffits, theirs.dffits[0])


def test_checks_of_assumptions(data):
    from statsmodels.stats.diagnostic import acorr_ljungbox, het_breuschpagan, het_white
    from statsmodels.stats.stattools import durbin_watson, jarque_bera, omni_normtest

    X, y = data
    found = summary(LinearRegression().fit(X, y), X, y, n_lags=7)
    fit = sm.OLS(y, sm.add_constant(X)).fit()
    checks = found.checks
    same(checks["jarque_bera"][1:3], jarque_bera(fit.resid)[:2])
    same(checks["omnibus"][1:3], omni_normtest(fit.resid))
    same(checks["durbin_watson"].statistic, durbin_watson(fit.resid))
    box = acorr_ljungbox(fit.resid, lags=7)
    same(checks["ljung_box"][1:3], box.iloc[-1])
    bp = checks["breusch_pagan"]
    same([*bp[1:3], *bp[4:]], het_breuschpagan(fit.resid, fit.model.exog))
    w = found.white(X, y)
    same([*w[1:3], *w[4:]], het_white(fit.resid, fit.model.exog))
    assert w.degrees == 14


def test_the_checks_find_what_they_look_for(rng):
    x = np.linspace(0.0, 1.0, 500)[:, None]
    noise = rng.normal(size=500)
    cases = {
        "jarque_bera": rng.standard_t(2, size=500),
        "omnibus": rng.exponential(size=500),
        "breusch_pagan": noise * (0.1 + 3 * x[:, 0]),
        "durbin_watson": np.cumsum(noise),
        "ljung_box": np.cumsum(noise),
    }
    for name, errors in cases.items():
        for y, small in ((noise, False), (errors, True)):
            found = summary(LinearRegression().fit(x, y), x, y).checks[name]
            assert (found.p_value < 1e-3) is small, name


# ---------------------------------------------------------------------------- other distributions


def poisson(rng, X):
    return rng.poisson(np.exp(0.3 * X[:, 0] - 0.2)), sm.families.Poisson(), "poisson", "log"


def gamma(rng, X):
    y = rng.gamma(2.0, np.exp(0.3 * X[:, 0] + 0.1))
    return y, sm.families.Gamma(sm.families.links.Log()), "gamma", "log"


def inverse_gaussian(rng, X):
    y = rng.wald(np.exp(0.3 * X[:, 0]), 3.0)
    return y, sm.families.InverseGaussian(sm.families.links.Log()), "inverse_gaussian", "log"


def binomial(rng, X):
    y = (rng.uniform(size=len(X)) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    return y, sm.families.Binomial(), "binomial", "logit"


def gaussian_log(rng, X):
    y = np.exp(0.2 * X[:, 0] + 1) + 0.1 * rng.normal(size=len(X))
    return y, sm.families.Gaussian(sm.families.links.Log()), "gaussian", "log"


def poisson_identity(rng, X):
    y = rng.poisson(5.0 + X[:, 0].clip(-2, 2))
    return y, sm.families.Poisson(sm.families.links.Identity()), "poisson", "identity"


FAMILIES = [poisson, gamma, inverse_gaussian, binomial, gaussian_log, poisson_identity]


def fit_glm(y, design, family, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # links that statsmodels finds unusual
        model = sm.GLM(y, design, family=family, **more)
        return model, model.fit(tol=1e-14, tol_criterion="params", maxiter=300)


@pytest.mark.parametrize("make", FAMILIES)
@pytest.mark.parametrize("weights", [None, "variance", "frequency"])
def test_generalised_linear_models(rng, make, weights):
    X = rng.normal(size=(300, 3))
    y, family, name, link = make(rng, X)
    w = None if weights is None else rng.integers(1, 4, size=300).astype(float)
    kind = {None: {}, "variance": {"var_weights": w}, "frequency": {"freq_weights": w}}[weights]
    _, theirs = fit_glm(y, sm.add_constant(X), family, **kind)
    found = summary(
        Fitted(theirs.params), X, y, family=name, link=link,
        sample_weight=w, weight_kind=weights or "variance", use_t=False,
    )  # fmt: skip
    same_coefficients(found, theirs)
    same(found.dispersion, theirs.scale)
    same(found.deviance, theirs.deviance)
    same(found.null_deviance, theirs.null_deviance)
    same(found.pearson_chi2, theirs.pearson_chi2)
    same(found.r2, 1 - theirs.deviance / theirs.null_deviance)
    same(found.df_residual, theirs.df_resid)
    if not (name == "gaussian" and weights):
        same(found.log_likelihood, theirs.llf)
        same(found.aic, theirs.aic)
        same(found.bic, theirs.bic_llf)
    if name != "gaussian":
        same(found.likelihood_ratio, 2 * (theirs.llf - theirs.llnull), 1e-7)
    assert not found.checks
    assert not found.notes


@pytest.mark.parametrize("make", [poisson, binomial, gamma])
def test_errors_of_other_distributions_that_need_not_be_true(rng, make):
    X = rng.normal(size=(300, 3))
    y, family, name, link = make(rng, X)
    model, theirs = fit_glm(y, sm.add_constant(X), family)
    groups = np.arange(300) % 17
    fitted = Fitted(theirs.params)
    bread = np.linalg.inv(-model.hessian(theirs.params, scale=1.0, observed=False))
    scores = model.score_obs(theirs.params, scale=1.0)
    plain = summary(fitted, X, y, family=name, link=link, covariance="HC0")
    same(plain.covariance, bread @ (scores.T @ scores) @ bread, floor=1e-12)
    found = summary(fitted, X, y, family=name, link=link, covariance="cluster", groups=groups)
    sums = np.array([scores[groups == g].sum(axis=0) for g in range(17)])
    more = 17 / 16 * 299 / 296
    same(found.covariance, more * bread @ (sums.T @ sums) @ bread, floor=1e-12)
    if name != "gamma":  # the canonical link, where observed and expected curvature are one
        robust = model.fit(tol=1e-14, maxiter=300, cov_type="HC0")
        same(plain.std_error, robust.bse)


def test_offset(rng):
    X = rng.normal(size=(300, 2))
    time = rng.uniform(0.5, 4.0, size=300)
    y = rng.poisson(time * np.exp(0.4 * X[:, 0]))
    _, theirs = fit_glm(y, sm.add_constant(X), sm.families.Poisson(), offset=np.log(time))
    found = summary(Fitted(theirs.params), X, y, family="poisson", offset=np.log(time))
    same_coefficients(found, theirs)
    same([found.deviance, found.log_likelihood], [theirs.deviance, theirs.llf])
    same(found.null_deviance, theirs.null_deviance, 1e-7)
    with pytest.raises(ValueError, match="offset must have shape"):
        summary(Fitted(theirs.params), X, y, family="poisson", offset=[1.0])


def test_predictions_and_influence_of_other_distributions(rng):
    X = rng.normal(size=(300, 3))
    y, family, name, link = gamma(rng, X)
    _, theirs = fit_glm(y, sm.add_constant(X), family)
    found = summary(Fitted(theirs.params), X, y, family=name, link=link)
    frame = theirs.get_prediction(sm.add_constant(X[:5])).summary_frame()
    prediction = found.predict(X[:5])
    for ours, theirs_ in zip(prediction[:4], ("mean", "mean_se", "mean_ci_lower", "mean_ci_upper")):
        same(ours, frame[theirs_])
    assert np.isnan(prediction.lower).all()
    rows = theirs.get_influence(observed=False)
    ours = found.influence(X, y)
    same(ours.leverage, rows.hat_matrix_diag)
    same(ours.cooks_distance, rows.cooks_distance[0])
    same(ours.studentized, rows.resid_studentized)


def test_families_are_those_of_the_classes(rng):
    X = rng.normal(size=(200, 2))
    counts = rng.poisson(np.exp(X[:, 0]))
    positive = rng.gamma(2.0, np.exp(0.2 * X[:, 0]))
    tight = {"alpha": 0.0, "tol": 1e-7, "max_iter": 10_000}

    def kind(model, y):
        found = summary(model.fit(X, y), X, y)
        assert not found.notes
        return found.family.name, found.family.link

    assert kind(PoissonRegressor(**tight), counts) == ("poisson", "log")
    assert kind(GammaRegressor(**tight), positive) == ("gamma", "log")
    assert kind(TweedieRegressor(power=0, **tight), positive) == ("gaussian", "identity")
    assert kind(TweedieRegressor(power=1.5, **tight), counts) == ("tweedie", "log")
    assert kind(TweedieRegressor(power=3, **tight), positive) == ("inverse_gaussian", "log")
    logistic = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    assert kind(logistic, np.where(counts > 0, "yes", "no")) == ("binomial", "logit")
    with pytest.raises(ValueError, match="no model of probabilities"):
        kind(RidgeClassifier(), counts > 0)


def test_a_penalty_is_said(data):
    X, y = data
    found = summary(Ridge(alpha=1000.0).fit(X, y), X, y)
    assert "standard errors from the maximum" in found.notes[0]
    assert found.notes[0] in str(found)


# ---------------------------------------------------------------------------- flat directions


def test_collinear_columns_are_named(data):
    X, y = data
    wide = np.c_[X, 2 * X[:, 0] - X[:, 1], np.full(len(y), 7.0)]
    model = LinearRegression().fit(wide, y)
    names = ["age", "dose", "size", "time", "mixed", "always"]
    with pytest.warns(UserWarning, match=r"collinear.*age.*mixed.*|always is constant"):
        found = summary(model, wide, y, feature_names=names)
    expected = summary(LinearRegression().fit(X, y), X, y)
    assert found.rank == 5
    assert {frozenset(d) for d in found.flat_directions} == {
        frozenset({"age", "dose", "mixed"}), frozenset({"always"}),
    }  # fmt: skip
    for d in found.flat_directions:
        combined = sum(weight * wide[:, names.index(name)] for name, weight in d.items())
        assert np.ptp(combined) < 1e-10
    assert np.isnan(found.std_error).tolist() == [True, True, True, False, False, True, True]
    same(found.std_error[3:5], expected.std_error[3:5])
    for name in ("r2", "f_value", "aic", "df_residual", "df_model", "residual_standard_error"):
        same(getattr(found, name), getattr(expected, name))
    same(found.predict(wide[:9]).std_error, expected.predict(X[:9]).std_error)
    same(found.influence(wide, y).cooks_distance, expected.influence(X, y).cooks_distance)
    assert found.condition_number == np.inf


def test_nearly_collinear_columns_keep_their_digits(rng):
    """Longley's kind of data: squaring the columns would cost all but a few digits."""
    base = rng.normal(size=(3000, 3))
    X = np.c_[base, base[:, 0] + 1e-6 * rng.normal(size=3000)] + 100.0
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=3000)
    theirs = sm.OLS(y, sm.add_constant(X)).fit()  # by singular values
    found = summary(Fitted(theirs.params), X, y)
    assert found.rank == 5
    same(found.std_error, theirs.bse, 1e-7)
    assert not np.allclose(theirs.bse, sm.OLS(y, sm.add_constant(X)).fit("qr").bse, rtol=1e-2)


def test_columns_far_from_zero(rng):
    X = rng.normal(loc=[1e8, 0.0], size=(500, 2))
    y = X[:, 0] - 1e8 + rng.normal(size=500)
    moved = X - [1e8, 0.0]
    found = summary(LinearRegression().fit(X, y), X, y)
    expected = summary(LinearRegression().fit(moved, y), moved, y)
    same(found.std_error[1:], expected.std_error[1:], 1e-7)
    sorted_ = np.sort(X, axis=0)  # no row is typical
    center = summary(Fitted(np.zeros(3)), sorted_, y).design.center
    same(center, sorted_.mean(axis=0), 1e-12)


# ---------------------------------------------------------------------------- rows


def test_blocks_sparse_and_single_precision(data, monkeypatch):
    X, y = data
    model = LinearRegression().fit(X, y)
    whole = summary(model, X, y, covariance="HC3")
    monkeypatch.setattr(_design, "ROWS_AT_ONCE", 37)
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        found = summary(model, rows, y, covariance="HC3")
        same(found.std_error, whole.std_error, 1e-10)
        same(found.white(rows, y)[1], whole.white(X, y)[1], 1e-9)
    same(summary(model, X.astype(np.float32), y).std_error, summary(model, X, y).std_error, 1e-4)


def test_no_rows_are_kept(rng):
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] + rng.normal(size=20_000)
    found = summary(LinearRegression().fit(X, y), X, y)
    stored = pickle.dumps(found)
    assert len(stored) < 6000
    same(pickle.loads(stored).predict(X[:3]).lower, found.predict(X[:3]).lower)


def test_prints_as_a_table(data):
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(X, columns=["age", "dose", "size", "time"])
    found = summary(LinearRegression().fit(frame, y), frame, y, confidence=0.9)
    text = str(found)
    for part in ("age", "90 % from", "std error", "F(4, 395)", "AIC", "durbin watson"):
        assert part in text
    table = pd.DataFrame(found.to_dict()).set_index("name")
    same(table.loc["dose", "std_error"], found.std_error[2])
    assert list(table.index) == found.names == ["intercept", "age", "dose", "size", "time"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sample_weight": np.zeros(400)}, ValueError, "not all zero"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight must have shape"),
        ({"covariance": "HC9"}, ValueError, "covariance"),
        ({"covariance": "cluster"}, ValueError, "go together"),
        ({"groups": np.ones(400)}, ValueError, "go together"),
        ({"groups": np.ones(400), "covariance": "cluster"}, ValueError, "at least two"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"feature_names": ["a"]}, ValueError, "names were given"),
        ({"family": "gamma", "link": "log"}, ValueError, "y must be positive"),
        ({"y": np.full(400, np.nan)}, ValueError, "y contains NaN"),
        ({"X": np.ones((400, 2))}, ValueError, "2 columns"),
        ({"model": LinearRegression()}, ValueError, "not fitted"),
        ({"model": LinearRegression().fit(np.eye(4), np.eye(4))}, ValueError, "one target"),
    ],
)
def test_bad_input(data, change, error, message):
    X, y = data
    given = {"model": LinearRegression().fit(X, y), "X": X, "y": y - y.mean(), **change}
    with pytest.raises(error, match=message):
        summary(**given)


def test_no_degree_of_freedom_is_left(rng):
    X = rng.normal(size=(4, 3))
    y = rng.normal(size=4)
    found = summary(LinearRegression().fit(X, y), X, y)
    assert found.df_residual == 0
    assert np.isnan(found.std_error).all()
    assert "no degree of freedom" in str(found)
    small = summary(
        LinearRegression().fit(X[:, :1], y), X[:, :1], y,
        sample_weight=np.full(4, 0.1), weight_kind="frequency",
    )  # fmt: skip
    assert small.df_residual == 0
    assert np.isnan(small.std_error).all()


# ---------------------------------------------------------------------------- as a method


@pytest.mark.parametrize("kind", [True, "HC0", "HC3"])
def test_kept_summary_is_that_of_the_rows(kind):
    from fastml.linear_model import Lasso, LinearRegression, PoissonRegressor, Ridge

    rng = np.random.default_rng(0)
    X, weights, offset = rng.normal(size=(400, 3)), rng.uniform(1, 3, 400), rng.normal(size=400)
    y = rng.poisson(np.exp(0.3 * X[:, 0] + offset)).astype(float)
    name = "classic" if kind is True else kind
    plain = LinearRegression(keep_summary=kind).fit(X, y, weights)
    counts = PoissonRegressor(alpha=0.0, tol=1e-9, keep_summary=kind).fit(X, y, offset=offset)
    others = [model.fit(X, y) for model in (Ridge(keep_summary=kind), Lasso(keep_summary=kind))]
    for model, options in (
        (plain, {"sample_weight": weights}), (counts, {"offset": offset}),
        *((model, {}) for model in others),
    ):  # fmt: skip
        found = model.summary()
        expected = summary(model, X, y, covariance=name, **options)
        assert str(found) == str(expected) == str(model.summary(X, y, covariance=name, **options))
        np.testing.assert_array_equal(found.std_error, expected.std_error)
        assert found.covariance_kind == name
        assert len(pickle.dumps(model)) < 20_000  # p × p numbers, not the rows
        assert str(pickle.loads(pickle.dumps(model)).summary()) == str(found)


def test_summary_that_was_not_kept():
    from fastml.linear_model import Lasso, LinearRegression

    X, y = np.arange(10.0)[:, None], np.arange(10.0) % 4
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="kept no summary"):
        model.summary()
    with pytest.raises(ValueError, match="X and y, or neither"):
        model.summary(X)
    assert np.isfinite(Lasso(0.1).fit(X, y).summary(X, y).std_error).all()
    kept = LinearRegression(keep_summary=True).fit(X, y)
    kept.set_params(keep_summary=False).fit(X, y)
    with pytest.raises(ValueError, match="kept no summary"):
        kept.summary()


@pytest.mark.parametrize(
    ("name", "family"), [("PoissonRegressor", "Poisson"), ("GammaRegressor", "Gamma")]
)
@pytest.mark.parametrize("weighted", [None, "frequency", "variance"])
def test_offsets_as_statsmodels(name, family, weighted):
    sm = pytest.importorskip("statsmodels.api")
    from fastml import linear_model

    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(300, 3)), rng.normal(size=300)
    mean = np.exp(X @ [0.3, -0.2, 0.1] + 0.5 + offset)
    y = rng.poisson(mean).astype(float) if family == "Poisson" else mean * rng.gamma(2, 0.5, 300)
    weights = None if weighted is None else rng.integers(1, 4, 300).astype(float)
    given = {} if weighted is None else {f"{weighted[: 3 + (weighted[0] == 'f')]}_weights": weights}
    link = {} if family == "Poisson" else {"link": sm.families.links.Log()}
    theirs = sm.GLM(
        y, sm.add_constant(X), offset=offset, family=getattr(sm.families, family)(**link), **given
    ).fit(tol=1e-14)
    model = getattr(linear_model, name)(alpha=0.0, tol=1e-10).fit(X, y, weights, offset=offset)
    options = {} if weighted is None else {"sample_weight": weights, "weight_kind": weighted}
    found = model.summary(X, y, offset=offset, **options)
    np.testing.assert_allclose(found.coef, theirs.params, atol=1e-8)
    np.testing.assert_allclose(found.std_error, theirs.bse, rtol=1e-8)
    np.testing.assert_allclose(found.p_value, theirs.pvalues, atol=1e-8)
    assert found.deviance == pytest.approx(theirs.deviance, rel=1e-8)
    np.testing.assert_allclose(model.predict(X, offset=offset), theirs.predict(), rtol=1e-8)
    score = model.score(X, y, weights, offset=offset)
    assert score == pytest.approx(1.0 - theirs.deviance / theirs.null_deviance, abs=1e-8)
    if family == "Poisson":
        assert found.log_likelihood == pytest.approx(theirs.llf, rel=1e-8)


def test_offsets_of_many_rows_begin_with_a_sample():
    from fastml.linear_model import PoissonRegressor

    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(70_000, 2)), rng.normal(size=70_000)
    y = rng.poisson(np.exp(0.2 * X[:, 0] + offset)).astype(float)
    model = PoissonRegressor(alpha=0.0, tol=1e-9).fit(X, y, offset=offset)
    residual = y - model.predict(X, offset=offset)
    assert np.abs(np.r_[residual.mean(), X.T @ residual / len(y)]).max() < 1e-8
    with pytest.raises(ValueError, match="offset must have shape"):
        model.predict(X, offset=offset[:5])


@pytest.mark.filterwarnings("ignore:Columns are collinear")
def test_no_degree_of_freedom_leaves_robust_errors_unknown():
    """HC1 multiplies by n / (n - rank): NaN with as many columns as rows, no error."""
    X = np.random.default_rng(0).normal(size=(3, 9))
    from fastml.linear_model import GammaRegressor

    model = GammaRegressor(alpha=1000.0, keep_summary="HC1").fit(X, np.abs(X[:, 0]) + 1.0)
    assert np.isnan(model.summary().std_error).all()


@pytest.mark.parametrize(
    "name",
    ["BayesianRidge", "ARDRegression", "ElasticNetCV", "LassoCV", "RidgeCV", "HuberRegressor",
     "L0Regressor", "Lars", "LassoLars", "LassoLarsIC", "LarsCV", "LassoLarsCV",
     "QuantileRegressor", "LeastAbsoluteDeviations", "OrthogonalMatchingPursuit",
     "OrthogonalMatchingPursuitCV"],
)  # fmt: skip
def test_every_regressor_keeps_its_summary(name, rng):
    """Chosen by folds, robust or Bayesian: the summary of the rows, at the model's weights."""
    X = rng.normal(size=(80, 4))
    y = X @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=80) + 3.0
    cls = getattr(linear_model, name)
    more = [{}, {"cv": 3}] if name == "RidgeCV" else [{}]
    for options in more:
        model = cls(keep_summary="HC1", **options).fit(X, y)
        found, expected = model.summary(), summary(model, X, y, covariance="HC1")
        assert found.covariance_kind == "HC1"
        np.testing.assert_allclose(found.std_error, expected.std_error, rtol=1e-9)
        np.testing.assert_allclose(found.coef, np.r_[model.intercept_, model.coef_], rtol=1e-12)
        assert model.set_params(keep_summary=False).fit(X, y) is model
        with pytest.raises(ValueError, match="kept no summary"):
            model.summary()
    if name in ("BayesianRidge", "ElasticNetCV", "LassoCV", "RidgeCV", "HuberRegressor",
                "L0Regressor", "QuantileRegressor"):  # fmt: skip
        u = rng.uniform(0.5, 2.0, 80)
        model = cls(keep_summary=True).fit(X, y, sample_weight=u)
        expected = summary(model, X, y, sample_weight=u)
        np.testing.assert_allclose(model.summary().std_error, expected.std_error, rtol=1e-9)


@pytest.mark.parametrize("name", ["LinearRegression", "PoissonRegressor", "LogisticRegression"])
def test_robust_errors_take_no_copy_of_the_rows(name):
    """Leverages are made a block of rows at a time: 16 numbers per row, where X has 20."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    y = rng.poisson(np.exp(0.1 * X[:, 0])).astype(float)
    y = (y > 0).astype(int) if name == "LogisticRegression" else y
    free = {"PoissonRegressor": {"alpha": 0.0}, "LogisticRegression": {"C": np.inf}}
    model = getattr(linear_model, name)(**free.get(name, {})).fit(X, y)
    summary(model, X[:1000], y[:1000], covariance="HC3")  # compiles
    tracemalloc.start()
    found = summary(model, X, y, covariance="HC3")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(found.std_error).all()
    assert peak < 16 * 8 * len(X)


@pytest.mark.parametrize("power", [-900, -500, 500, 900])
def test_the_shape_of_errors_has_no_unit(power):
    errors = np.random.default_rng(0).exponential(size=50)
    plain, scaled = moments(errors, None), moments(np.ldexp(errors, power), None)
    assert plain == scaled
    assert np.isfinite(plain).all()
    assert np.isnan(moments(np.zeros(5), None).skewness)
