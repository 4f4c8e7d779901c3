"""Odds ratios, the softmax against a reference class and its summary, Firth's penalty."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax

from fastml._engines.smooth_linear import net, softmax
from fastml.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OddsRatios,
    SoftmaxSummary,
    odds_ratios,
    summary,
)


def rows_of_classes(k=3, n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 50.0, 3.0]
    raw = (X - X.mean(axis=0)) @ (rng.normal(size=(3, k)) / [[1.0], [10.0], [0.1]])
    return X, (raw + rng.gumbel(size=(n, k))).argmax(axis=1)


def information(X, P):
    """Σ x x' ⊗ (diag(p) − p p'), the last class left out."""
    p = P[:, :-1]
    C = np.einsum("ia,ab->iab", p, np.eye(p.shape[1])) - np.einsum("ia,ib->iab", p, p)
    U = np.column_stack([X, np.ones(len(X))])
    H = np.einsum("iab,ij,il->ajbl", C, U, U)
    return H.reshape(H.shape[0] * H.shape[1], -1)


# ---------------------------------------------------------------------------- the summary


@pytest.mark.parametrize("intercept", [True, False])
def test_summary_of_several_classes_is_statsmodels(intercept):
    statsmodels = pytest.importorskip("statsmodels.api")
    X, y = rows_of_classes()
    model = LogisticRegression(C=np.inf, tol=1e-11, fit_intercept=intercept, keep_summary=True)
    found = model.fit(X, y).summary()
    design = statsmodels.add_constant(X) if intercept else X
    expected = statsmodels.MNLogit(y, design).fit(disp=0, maxiter=200, tol=1e-9, method="newton")
    assert np.abs(expected.model.score(expected.params.ravel("F"))).max() < 1e-6
    assert isinstance(found, SoftmaxSummary)
    assert_allclose(found.coef.T, expected.params, rtol=1e-8)
    assert_allclose(found.std_error.T, expected.bse, rtol=1e-8)
    assert_allclose(found.p_value.T, expected.pvalues, rtol=1e-6, atol=1e-12)
    assert_allclose(found.interval, expected.conf_int(), rtol=1e-7)
    for ours, theirs in (
        ("log_likelihood", "llf"), ("aic", "aic"), ("bic", "bic"), ("df_residual", "df_resid"),
    ):  # fmt: skip
        assert_allclose(getattr(found, ours), getattr(expected, theirs), rtol=1e-8)
    assert_allclose(found.deviance, -2.0 * expected.llf)
    counts = np.bincount(y)
    shares = counts / len(y) if intercept else np.full(3, 1 / 3)
    assert_allclose(found.null_log_likelihood, counts @ np.log(shares))
    assert_allclose(found.r2, 1.0 - expected.llf / found.null_log_likelihood)
    assert found.df_model == 6
    assert not found.notes


@pytest.mark.parametrize("kind", ["HC0", "HC1", "cluster"])
def test_robust_errors_of_several_classes_are_statsmodels(kind):
    statsmodels = pytest.importorskip("statsmodels.api")
    X, y = rows_of_classes()
    groups = np.arange(len(y)) % 23
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y)
    more = {"groups": groups} if kind == "cluster" else {}
    found = model.summary(X, y, covariance=kind, **more)
    given = {"cov_type": kind, "cov_kwds": more} if more else {"cov_type": kind}
    plain = statsmodels.MNLogit(y, statsmodels.add_constant(X))
    expected = plain.fit(disp=0, maxiter=200, tol=1e-9, method="newton", **given)
    # Statsmodels has no factor n / (n − k) for HC1 of this model.
    wanted = 1.0 - found.coef.size / len(y) if kind == "HC1" else 1.0
    assert_allclose((expected.bse / found.std_error.T) ** 2, wanted, rtol=1e-6)
    assert kind in str(found)


@pytest.mark.parametrize("kind", ["HC0", "HC2", "HC3"])
@pytest.mark.parametrize("weight_kind", ["variance", "frequency"])
def test_robust_errors_of_several_classes_row_by_row(kind, weight_kind):
    from scipy.linalg import fractional_matrix_power

    X, y = rows_of_classes()
    X, y = X[:60], y[:60]
    u = np.arange(60) % 3 + 1.0
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y, u)
    found = model.summary(X, y, sample_weight=u, weight_kind=weight_kind, covariance=kind)
    P = model.predict_proba(X)[:, [1, 2, 0]]  # the reference, class 0, last
    U = np.column_stack([np.ones(60), X])
    m = U.shape[1]
    H, M = np.zeros((2 * m, 2 * m)), np.zeros((2 * m, 2 * m))
    for i in range(60):
        W = np.diag(P[i, :2]) - np.outer(P[i, :2], P[i, :2])
        H += u[i] * np.kron(W, np.outer(U[i], U[i]))
    B = np.linalg.inv(H)
    for i in range(60):
        W = np.diag(P[i, :2]) - np.outer(P[i, :2], P[i, :2])
        J = np.kron(np.eye(2), U[i])
        A = J @ B @ J.T * (u[i] if weight_kind == "variance" else 1.0)
        e = (np.array([1, 2]) == y[i]) - P[i, :2]
        power = {"HC0": 0.0, "HC2": -0.5, "HC3": -1.0}[kind]
        e = np.real(fractional_matrix_power(np.eye(2) - W @ A, power)) @ e
        g = np.kron(e, U[i])
        M += np.outer(g, g) * (u[i] ** 2 if weight_kind == "variance" else u[i])
    assert_allclose(found.covariance, B @ M @ B, rtol=1e-6, atol=1e-9)
    if kind == "HC0" and weight_kind == "frequency":
        often = np.repeat(np.arange(60), u.astype(int))
        repeated = model.summary(X[often], y[often], covariance=kind)
        assert_allclose(found.covariance, repeated.covariance, rtol=1e-8)
    if kind == "HC3":
        kept = LogisticRegression(C=np.inf, tol=1e-11, keep_summary="HC3").fit(X, y, u)
        assert kept.summary().std_error.shape == found.std_error.shape


def test_any_reference_tells_the_same():
    X, y = rows_of_classes()
    labels = np.array(["low", "mid", "top"])[y]
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, labels)
    first = summary(model, X, labels)
    for reference in ("mid", "top"):
        turned, direct = first.against(reference), summary(model, X, labels, reference=reference)
        assert turned.classes == direct.classes
        for name in ("coef", "std_error", "interval", "covariance"):
            assert_allclose(getattr(turned, name), getattr(direct, name), rtol=1e-6, atol=1e-9)
        assert str(turned) == str(direct)
        assert turned.aic == first.aic
    assert "mid against low" in str(first)
    assert_allclose(first.to_dict()["coef"], first.coef.ravel())
    with pytest.raises(ValueError, match="'none' is not one of the classes"):
        first.against("none")


def test_weights_sparse_rows_and_dependent_columns():
    X, y = rows_of_classes()
    repeats = np.random.default_rng(1).integers(0, 3, len(y))
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y, sample_weight=repeats)
    weighted = summary(model, X, y, sample_weight=repeats, weight_kind="frequency")
    rows = np.repeat(np.arange(len(y)), repeats)
    repeated = summary(model, sp.csr_array(X[rows]), y[rows])
    for name in ("std_error", "aic", "bic", "r2", "n_samples", "likelihood_ratio_p_value"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-30)
    twice = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = LogisticRegression(C=1e6).fit(twice, y)
    with pytest.warns(UserWarning, match="collinear"):
        found = summary(model, twice, y, feature_names=list("abcd"))
    assert np.isnan(found.std_error[:, [1, 2, 4]]).all()
    assert np.isfinite(found.std_error[:, 3]).all()
    assert found.df_model == 6


def test_a_penalty_is_said_of_several_classes():
    X, y = rows_of_classes()
    found = LogisticRegression(C=0.01, keep_summary=True).fit(X, y).summary()
    assert "standard errors from the maximum" in found.notes[0]
    for options in ({"offset": y},):
        with pytest.raises(ValueError, match="has no offset"):
            summary(LogisticRegression().fit(X, y), X, y, **options)
    with pytest.raises(ValueError, match="not a class of the model"):
        summary(LogisticRegression().fit(X, y), X, y + 1)


def test_cross_validated_models_have_a_summary_too():
    X, y = rows_of_classes(2)
    model = LogisticRegressionCV(
        Cs=2, cv=2, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False
    ).fit(X, y)
    assert str(model.summary(X, y)) == str(summary(model, X, y))


# ---------------------------------------------------------------------------- odds ratios


def test_ratios_of_a_table():
    """Exposed 10 ill of 20, others 4 of 20: 10/10 : 4/16, and Woolf's interval."""
    X = np.repeat([[1.0], [0.0]], 20, axis=0)
    y = np.r_[np.arange(20) < 10, np.arange(20) < 4].astype(int)
    model = LogisticRegression(C=np.inf, tol=1e-11, keep_summary=True).fit(X, y)
    found = odds_ratios(model, confidence=0.9)
    error = np.sqrt(1 / 10 + 1 / 10 + 1 / 4 + 1 / 16)
    assert isinstance(found, OddsRatios)
    assert_allclose(found.ratio, [4.0])
    assert_allclose(found.lower, [4.0 * np.exp(-1.6448536269514722 * error)])
    assert_allclose(found.upper, [4.0 * np.exp(1.6448536269514722 * error)])
    back = odds_ratios(model, reference=1, confidence=0.9)
    assert_allclose(back.ratio, [0.25])
    assert_allclose(back.lower, 1.0 / found.upper)
    assert back.classes == [0]
    assert_array_equal(odds_ratios(model, X, y, confidence=0.9).lower, found.lower)
    assert_array_equal(odds_ratios(model.summary(), confidence=0.9).lower, found.lower)


def test_ratios_of_several_classes():
    X, y = rows_of_classes()
    model = LogisticRegression(C=np.inf, tol=1e-11).fit(X, y)
    found = odds_ratios(model, X, y, reference=2, feature_names=["a", "b", "c"])
    assert found.names == ["a", "b", "c"] * 2
    assert found.classes == [0] * 3 + [1] * 3
    assert_allclose(found.ratio, np.exp(model.coef_[:2] - model.coef_[2]).ravel())
    table = found.to_dict()
    assert list(table) == ["name", "class", "ratio", "lower", "upper", "p_value"]
    assert (found.lower < found.ratio).all()
    assert (found.ratio < found.upper).all()
    assert "1: c" in str(found)


def test_ratios_refuse():
    X, y = rows_of_classes(2)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="keep_summary=True"):
        odds_ratios(model)
    with pytest.raises(ValueError, match="confidence must be between"):
        odds_ratios(model, X, y, confidence=95)
    with pytest.raises(ValueError, match="not one of the classes"):
        odds_ratios(model, X, y, reference=7)
    with pytest.raises(ValueError, match="of logistic regression"):
        odds_ratios(LinearRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="rows in it"):
        odds_ratios(summary(model, X, y), X, y)


# ---------------------------------------------------------------------------- a reference class


def minimum_against(X, y, reference, C, l1_ratio):
    """The smallest objective of all weights against the reference, by SciPy."""
    k, d = y.max() + 1, X.shape[1]
    others = [c for c in range(k) if c != reference]

    def value(v):
        # Weights as differences of two non-negative ones, so that the l1 norm is smooth.
        W = v[: d * (k - 1)].reshape(d, -1) - v[d * (k - 1) : 2 * d * (k - 1)].reshape(d, -1)
        raw = np.zeros((len(X), k))
        raw[:, others] = X @ W + v[2 * d * (k - 1) :]
        loss = -log_softmax(raw, axis=1)[np.arange(len(y)), y].sum()
        return (
            loss + (l1_ratio * v[: 2 * d * (k - 1)].sum() + 0.5 * (1 - l1_ratio) * (W**2).sum()) / C
        )

    m = 2 * d * (k - 1)
    bounds = [(0, None)] * m + [(None, None)] * (k - 1)
    found = minimize(value, np.zeros(m + k - 1), bounds=bounds, options={"maxfun": 10**6,
                     "maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    return found.fun


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("route", ["newton", "lbfgs", "diagonal"])
def test_weights_against_a_reference_are_the_minimum(l1_ratio, route, monkeypatch):
    if route != "newton":
        monkeypatch.setattr(softmax, "NEWTON_WEIGHTS", 0)
        monkeypatch.setattr(net, "MATRIX_WEIGHTS", 0)
    if route == "diagonal":
        monkeypatch.setattr(softmax, "KRONECKER_COLUMNS", 0)
    X, y = rows_of_classes(n=80)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = np.array(["a", "b", "c"])[y]
    model = LogisticRegression(
        C=0.3, l1_ratio=l1_ratio, solver="saga", reference_class="b", tol=1e-10
    ).fit(X, labels)
    assert_array_equal(model.coef_[1], 0.0)
    assert model.intercept_[1] == 0.0
    P = model.predict_log_proba(X)
    W = model.coef_
    penalty = l1_ratio * np.abs(W).sum() + 0.5 * (1 - l1_ratio) * (W**2).sum()
    reached = -P[np.arange(len(y)), y].sum() + penalty / 0.3
    assert reached <= minimum_against(X, y, 1, 0.3, l1_ratio) * (1 + 1e-9)
    again = LogisticRegression(
        C=0.3, l1_ratio=l1_ratio, solver="saga", reference_class="b", tol=1e-10, n_jobs=1
    ).fit(X, labels)
    assert_array_equal(again.coef_, W)


def test_without_a_penalty_the_reference_changes_no_probability():
    X, y = rows_of_classes()
    plain = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    model = LogisticRegression(C=np.inf, tol=1e-10, reference_class=2, warm_start=True)
    assert_allclose(model.fit(X, y).predict_proba(X), plain.predict_proba(X), atol=1e-8)
    assert_allclose(model.coef_, plain.coef_ - plain.coef_[2], rtol=1e-6)
    assert model.fit(X, y).n_iter_[0] == 0  # begins where it was
    with pytest.raises(ValueError, match="reference_class=9 is not one of the classes"):
        LogisticRegression(reference_class=9).fit(X, y)
    two = LogisticRegression(reference_class=1).fit(X, y == 0)
    assert_array_equal(two.coef_, LogisticRegression().fit(X, y == 0).coef_)


# ---------------------------------------------------------------------------- Firth's penalty


def test_tables_get_half_a_row_in_each_cell():
    """Jeffreys' prior of a saturated model: counts + ½, also where a cell is empty."""
    x = np.repeat([0, 1], [5, 7])[:, None]
    y = np.array([0, 0, 1, 2, 2, 1, 1, 1, 1, 2, 2, 2])
    model = LogisticRegression(firth=True, tol=1e-10).fit(x, y)
    counts = np.array([[2.0, 1.0, 2.0], [0.0, 4.0, 3.0]])
    expected = (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba([[0], [1]]), expected, rtol=1e-8)
    assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10)
    against = LogisticRegression(firth=True, tol=1e-10, reference_class=0).fit(x, y)
    assert_allclose(against.coef_, model.coef_ - model.coef_[0], atol=1e-8)
    assert model.solver_ == "fisher-scoring"


@pytest.mark.parametrize("k", [2, 3])
def test_firth_is_the_minimum_with_jeffreys_prior(k):
    X, y = rows_of_classes(k, n=40, seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    repeats = np.random.default_rng(0).integers(0, 3, len(y))
    model = LogisticRegression(firth=True, tol=1e-9).fit(X, y, sample_weight=repeats)
    rows = np.repeat(np.arange(len(y)), repeats)
    U, labels = np.column_stack([X, np.ones(len(X))])[rows], y[rows]

    def value(w):
        raw = np.column_stack([U @ w.reshape(k - 1, -1).T, np.zeros(len(U))])
        logs = log_softmax(raw, axis=1)
        half = 0.5 * np.linalg.slogdet(information(U[:, :-1], np.exp(logs)))[1]
        return -logs[np.arange(len(labels)), labels].sum() - half

    W = np.column_stack([model.coef_, model.intercept_])
    ours = -W if k == 2 else (W - W[-1])[:-1]  # against the last class
    found = minimize(value, np.zeros(ours.size), options={"gtol": 1e-8})
    assert_allclose(ours.ravel(), found.x, atol=1e-4)
    assert value(ours.ravel()) <= found.fun * (1 + 1e-10)
    sparse = LogisticRegression(firth=True, tol=1e-9).fit(sp.csr_array(X), y, sample_weight=repeats)
    assert_allclose(sparse.coef_, model.coef_, rtol=1e-7)


def test_firth_of_separable_classes():
    """statsmodels 39, 1705, 2282: weights run away, or the fit fails."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for y in ([0, 0, 1, 1], [0, 0, 1, 2]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LogisticRegression(firth=True, keep_summary=True).fit(X, y)
        assert np.abs(model.coef_).max() < 20.0
        assert np.isfinite(odds_ratios(model).upper).all()
    with pytest.warns(UserWarning, match="takes the place"):
        LogisticRegression(firth=True, C=0.1).fit(X, y)
    for bad in (np.ones((4, 1)), np.hstack([X, X])):
        with pytest.raises(ValueError, match="constant, collinear"):
            LogisticRegression(firth=True).fit(bad, y)


def test_firth_on_any_number_of_threads():
    X, y = rows_of_classes(3, n=9000)
    fits = [LogisticRegression(firth=True, n_jobs=n).fit(X, y) for n in (1, 2)]
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    with pytest.warns(UserWarning, match="failed to converge"):
        LogisticRegression(firth=True, max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
def test_a_choice_by_folds_keeps_its_summary(classes, refit):
    """That of the rows at the weights chosen, class weights included; a fit without forgets it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int) + (classes == 3) * (X[:, 1] > 0.3)
    u = rng.uniform(0.5, 2.0, 150)
    options = {"Cs": [0.1, 10.0], "l1_ratios": (0,), "scoring": "neg_log_loss", "refit": refit}
    model = LogisticRegressionCV(
        **options, use_legacy_attributes=False, keep_summary="HC1", class_weight={0: 1.0, 1: 2.0}
    ).fit(X, y, sample_weight=u)
    weights = np.where(y == 1, 2.0 * u, u)
    expected = summary(model, X, y, covariance="HC1", sample_weight=weights)
    found = model.summary()
    assert type(found) is type(expected)
    np.testing.assert_allclose(found.std_error, expected.std_error, rtol=1e-9)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-12)
    model.set_params(keep_summary=False).fit(X, y)
    with pytest.raises(ValueError, match="kept no summary"):
        model.summary()
