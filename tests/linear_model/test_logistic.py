"""Logistic regression against scikit-learn, and cases that other libraries got wrong."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model as sk
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

import fastml
from fastml._engines.smooth_linear import logistic, net, softmax, solvers
from fastml.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
    SeparationWarning,
)

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
LABELS = {2: np.where(Y_IRIS == 1, "yes", "no"), 3: Y_IRIS * 3 - 4}


def blurred(n=300, d=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = (X @ rng.normal(size=(d, k)) + 0.5 * np.arange(k) + rng.gumbel(size=(n, k))).argmax(axis=1)
    return X, y, rng.integers(0, 4, size=n).astype(float)


def objective(model, X, y, C=1.0, l1_ratio=0.0, weights=None):
    """Σ losses + penalty."""
    u = np.ones(len(y)) if weights is None else weights
    P = model.predict_proba(X)
    codes = np.searchsorted(model.classes_, y)
    W = model.coef_
    penalty = l1_ratio * np.abs(W).sum() + 0.5 * (1 - l1_ratio) * (W**2).sum()
    return -(u * np.log(P[np.arange(len(y)), codes])).sum() + penalty / C


# ---------------------------------------------------------------------------- the same answers


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 0.1, "class_weight": "balanced"},
        {"fit_intercept": False},
        {"C": np.inf},
        {"l1_ratio": 1.0, "solver": "saga", "C": 0.1},
        {"l1_ratio": 0.4, "solver": "saga", "C": 0.05, "class_weight": {0: 2.0}},
    ],
)
def test_as_in_scikit_learn(k, parameters):
    X, y, weights = blurred(k=k)
    ours = LogisticRegression(tol=1e-9, **parameters).fit(X, y, sample_weight=weights)
    theirs = sk.LogisticRegression(tol=1e-9, max_iter=5000, **parameters)
    theirs.fit(X, y, sample_weight=weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)))
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)
    assert ours.n_iter_.shape == (1,)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("route", ["few", "many"])
@pytest.mark.parametrize("layout", [np.asfortranarray, sp.csr_array, sp.csc_array])
def test_every_route_has_the_same_minimum(k, l1_ratio, route, layout, monkeypatch):
    X, y, weights = blurred(k=k)
    given = {"l1_ratio": l1_ratio, "solver": "saga", "tol": 1e-8, "C": 0.3}
    plain = LogisticRegression(**given).fit(X, y, sample_weight=weights)
    if route == "many":
        monkeypatch.setattr(logistic, "MOST_COLUMNS", 3)
        monkeypatch.setattr(softmax, "NEWTON_WEIGHTS", 3)
        monkeypatch.setattr(net, "MATRIX_WEIGHTS", 3)
        monkeypatch.setattr("fastml._engines.smooth_linear.design.LEAST_CHUNKS", 10**9)
    other = LogisticRegression(**given, max_iter=1000).fit(layout(X), y, sample_weight=weights)
    expected = {("few", 0.0): "newton-cholesky", ("many", 0.0): "newton-cg" if k == 2 else "lbfgs"}
    assert other.solver_ == expected.get((route, l1_ratio), "newton-descent")
    assert_allclose(other.coef_, plain.coef_, atol=1e-6)
    assert_allclose(other.intercept_, plain.intercept_, atol=1e-6)
    single = LogisticRegression(**given, max_iter=1000).fit(
        layout(X.astype(np.float32)), y, weights
    )
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, plain.coef_, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])  # of an even number, l1 has several minima
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_start_from_some_rows_and_any_number_of_threads(k, l1_ratio, monkeypatch):
    X, y, _ = blurred(4000, 8, k)
    given = {"l1_ratio": l1_ratio, "solver": "saga", "C": 0.1, "tol": 1e-9}
    plain = LogisticRegression(**given).fit(X, y)
    for module in (solvers, softmax):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 500)
    monkeypatch.setattr(solvers, "ROWS_PER_WEIGHT", 1)
    monkeypatch.setattr(softmax, "NEWTON_WORK", 0)
    sampled = [LogisticRegression(**given, n_jobs=jobs).fit(X, y) for jobs in (1, 2)]
    assert_allclose(sampled[0].coef_, plain.coef_, atol=1e-6)
    assert_array_equal(sampled[0].coef_, sampled[1].coef_)
    assert_array_equal(sampled[0].intercept_, sampled[1].intercept_)


def test_weights_are_repeated_rows():
    X, y, weights = blurred()
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    a = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=weights)
    b = LogisticRegression(tol=1e-10).fit(X[rows], y[rows])
    assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_warm_start_sparsify_and_names():
    X, y, _ = blurred()
    model = LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    first = model.coef_
    assert model.fit(X, y).n_iter_[0] == 0
    assert_allclose(model.coef_, first)
    scores = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    assert_allclose(model.decision_function(X), scores)
    assert_allclose(model.densify().coef_, first)
    with pytest.raises(ValueError, match="expected shape"):
        model.fit(X[:, :2], y)
    for k, labels in LABELS.items():
        found = LogisticRegression().fit(X_IRIS, labels)
        assert_array_equal(found.classes_, np.unique(labels))
        assert found.coef_.shape == ((1 if k == 2 else 3), 4)


def test_the_two_spellings_of_penalties():
    X, y, _ = blurred(k=2)
    for old, new in (
        ({"penalty": "l1"}, {"l1_ratio": 1}),
        ({"penalty": None}, {"C": np.inf}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = LogisticRegression(solver="saga", **old).fit(X, y)
        assert_array_equal(before.coef_, LogisticRegression(solver="saga", **new).fit(X, y).coef_)
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        LogisticRegression(penalty="l2").fit(X, y)
    with pytest.raises(ValueError, match="supports only 'l2'"):
        LogisticRegression(l1_ratio=1).fit(X, y)


def test_errors_and_warnings():
    X, y, _ = blurred()
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="does not support multiclass"):
        LogisticRegression(solver="liblinear").fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        LogisticRegression().fit(X, y, sample_weight=-np.ones(len(X)))
    with pytest.warns(ConvergenceWarning, match="failed to converge after 1 iterations"):
        assert LogisticRegression(max_iter=1, tol=1e-9).fit(X, y).n_iter_[0] == 1


# ---------------------------------------------------------------------------- what others got wrong


def test_the_intercept_is_never_shrunk():
    """scikit-learn 9979: with C = 1e-7, liblinear's intercept went to 0."""
    X, y, _ = blurred(k=2)
    for solver in ("liblinear", "lbfgs", "saga"):
        model = LogisticRegression(C=1e-7, solver=solver, tol=1e-8).fit(X, y)
        assert_allclose(model.intercept_, np.log(y.mean() / (1 - y.mean())), atol=1e-4)
        assert_allclose(model.coef_, 0.0, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
def test_folds_are_scored_by_the_softmax(k):
    """scikit-learn 8720: multinomial models were scored as one-versus-rest ones."""
    X, y, _ = blurred(k=k)
    model = LogisticRegressionCV(
        Cs=[0.5], cv=2, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
    ).fit(X, y)
    from sklearn.model_selection import StratifiedKFold

    for f, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        part = LogisticRegression(C=0.5).fit(X[train], y[train])
        expected = -log_loss(y[test], part.predict_proba(X[test]))
        assert_allclose(model.scores_[f, 0, 0], expected, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_scores_by_name_are_those_of_scikit_learns_scorer(k, scoring):
    from sklearn.metrics import get_scorer

    X, y, weights = blurred(k=k)
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    options = {"Cs": [1e-3, 1e6], "cv": folds, "l1_ratios": (0,), "use_legacy_attributes": False}
    own = LogisticRegressionCV(scoring=scoring, **options).fit(60 * X, y, sample_weight=weights)
    scorer = get_scorer(scoring)
    judged = LogisticRegression().fit(X, y)
    for f, (_, test) in enumerate(folds):
        for c in range(2):
            judged._set_weights(own.coefs_paths_[f, 0, c], np.float64)
            expected = scorer(judged, 60 * X[test], y[test], sample_weight=weights[test])
            assert_allclose(own.scores_[f, 0, c], expected, rtol=1e-12)


def test_probabilities_of_very_negative_scores():
    """scikit-learn 5134, 17978: NaN where all classes are very unlikely on their own."""
    for k in (2, 3):
        X, y, _ = blurred(k=k)
        model = LogisticRegression().fit(X, y)
        model.intercept_ = np.full_like(model.intercept_, -1e6)
        P = model.predict_proba(1e5 * X)
        assert np.isfinite(P).all()
        assert_allclose(P.sum(axis=1), 1.0)
        assert np.isfinite(model.predict_log_proba(X)).all()


def test_columns_of_very_different_scale():
    """scikit-learn 15556: L-BFGS does not converge on columns that are not scaled."""
    X, y, _ = blurred(k=2)
    scale = 10.0 ** np.arange(-3, 3)
    shift = 100.0 * scale
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = LogisticRegression(C=1e12, tol=1e-8).fit(X * scale + shift, y)
        plain = LogisticRegression(C=1e12, tol=1e-8).fit(X, y)
        LogisticRegression().fit(X * scale + shift, y)
    assert_allclose(free.predict_proba(X * scale + shift), plain.predict_proba(X), atol=1e-4)


def test_separable_classes_are_told_of():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for y in ([0, 0, 1, 1], [0, 1, 1, 2]):
        if y[-1] == 2:
            y, X = [0, 0, 1, 2], np.column_stack([X, X**2])
        with pytest.warns(SeparationWarning, match="finite C"):
            LogisticRegression(C=np.inf).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            LogisticRegression().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(C=np.inf).fit(X[:, :1], [0, 1, 0, 1])


# ---------------------------------------------------------------------------- cross-validation


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [
        {"Cs": 4},
        {"Cs": [0.1, 1.0], "refit": False, "fit_intercept": False},
        {"Cs": [0.02, 0.1], "l1_ratios": (0.3, 0.9), "solver": "saga"},
        {"Cs": [0.1, 1.0], "scoring": "neg_brier_score", "use_legacy_attributes": False,
         "l1_ratios": (0,), "class_weight": "balanced"},
    ],
)  # fmt: skip
def test_cv_as_in_scikit_learn(k, parameters):
    X, y, weights = blurred(200, k=k)
    weights += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = LogisticRegressionCV(cv=3, tol=1e-9, **parameters).fit(X, y, sample_weight=weights)
        theirs = sk.LogisticRegressionCV(cv=3, tol=1e-9, max_iter=3000, **parameters)
        theirs.fit(X, y, sample_weight=weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert_array_equal(ours.C_, theirs.C_)
    assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    if parameters.get("use_legacy_attributes", True):
        for label in theirs.scores_:
            assert_allclose(ours.scores_[label], theirs.scores_[label], atol=1e-6)
            assert_allclose(ours.coefs_paths_[label], theirs.coefs_paths_[label], atol=1e-4)
    else:
        assert_allclose(ours.scores_, theirs.scores_, atol=1e-6)
        assert_allclose(ours.coefs_paths_, theirs.coefs_paths_, atol=1e-4)
    assert_allclose(ours.score(X, y), theirs.score(X, y), atol=1e-6)


def test_cv_on_any_number_of_threads():
    X, y, _ = blurred(3000, 20)
    given = {"Cs": 3, "l1_ratios": (0.5,), "solver": "saga", "scoring": "accuracy"}
    one, two = (
        LogisticRegressionCV(**given, use_legacy_attributes=False, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2)
    )
    assert_array_equal(one.coefs_paths_, two.coefs_paths_)
    assert_array_equal(one.coef_, two.coef_)


# ---------------------------------------------------------------------------- ridge classifiers


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "parameters", [{}, {"class_weight": "balanced"}, {"fit_intercept": False, "alpha": 10.0}]
)
def test_ridge_classifier_as_in_scikit_learn(k, parameters):
    X, y, weights = blurred(k=k)
    weights += 0.5
    ours = RidgeClassifier(**parameters).fit(X, y, weights)
    theirs = sk.RidgeClassifier(**parameters).fit(X, y, weights)
    assert_allclose(ours.coef_, theirs.coef_)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)


def test_ridge_classifier_of_labels_and_without_penalty():
    X, y, _ = blurred()
    sets = np.column_stack([y == 0, y != 1]).astype(int)
    for model in (RidgeClassifier, RidgeClassifierCV):
        ours, theirs = model().fit(X, sets), getattr(sk, model.__name__)().fit(X, sets)
        assert_array_equal(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match="Multioutput target"):
        RidgeClassifier().fit(X, np.column_stack([y, y]))
    two = RidgeClassifier(alpha=0.0).fit(X, y == 1)
    by_least_squares = sk.LinearRegression().fit(X, np.where(y == 1, 1.0, -1.0))
    assert_allclose(two.coef_, by_least_squares.coef_, atol=1e-10)


@pytest.mark.parametrize("parameters", [{}, {"cv": 3}, {"scoring": "accuracy"}])
def test_ridge_classifier_cv(parameters):
    X, y, _ = blurred()
    ours = RidgeClassifierCV(alphas=[0.1, 10.0, 300.0], **parameters).fit(X, y)
    theirs = sk.RidgeClassifierCV(alphas=[0.1, 10.0, 300.0], **parameters).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.best_score_, theirs.best_score_)
    assert_allclose(ours.coef_, theirs.coef_)
    # Of two classes too, whose scores scikit-learn takes for those of one class.
    two = RidgeClassifierCV(alphas=[0.1], scoring="accuracy").fit(X, y == 0)
    assert 0.6 < two.best_score_ <= 1.0


# ---------------------------------------------------------------------------- inside scikit-learn's


WRAPPED = {
    "threshold": lambda model: TunedThresholdClassifierCV(model, cv=2, thresholds=10),
    "calibrated": lambda model: CalibratedClassifierCV(model, cv=3, n_jobs=2),
    "one-vs-rest": lambda model: OneVsRestClassifier(model, n_jobs=2),
    "one-vs-one": lambda model: OneVsOneClassifier(model, n_jobs=2),
    "codes": lambda model: OutputCodeClassifier(model, code_size=3, random_state=0, n_jobs=2),
    "outputs": lambda model: MultiOutputClassifier(model, n_jobs=2),
    "chain": lambda model: ClassifierChain(model, random_state=0),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("model", [LogisticRegression, RidgeClassifier])
def test_inside_scikit_learns_meta_estimators(name, model):
    from joblib import parallel_backend

    X, y, _ = blurred(150)
    if name == "threshold":
        y = y == 0
    if name in ("outputs", "chain"):
        y = np.column_stack([y == 0, y == 2]).astype(int)
    with parallel_backend("threading"):
        ours = WRAPPED[name](model(tol=1e-8)).fit(X, y)
    theirs = WRAPPED[name](getattr(sk, model.__name__)(tol=1e-8, max_iter=1000)).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert ours.score(X, y) > 0.4


def test_serial_and_limited_threads_agree():
    X, y, _ = blurred(5000, 10, 2)
    free = LogisticRegression().fit(X, y)
    with fastml.thread_limit(1):
        assert_array_equal(LogisticRegression().fit(X, y).coef_, free.coef_)
    assert objective(free, X, y) <= objective(sk.LogisticRegression().fit(X, y), X, y) * (1 + 1e-6)


def test_a_start_that_is_not_finite_is_refused():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])
    model = LogisticRegression(warm_start=True).fit(X, y)
    model.coef_[:] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.fit(X, y)


@pytest.mark.parametrize("model", [RidgeClassifier(), RidgeClassifierCV(alphas=[0.9])], ids=repr)
def test_ridge_of_one_class_says_it_for_every_row(model):
    """Also for rows on the other side of the plane."""
    X = np.c_[np.random.default_rng(0).normal(size=70), np.ones(70)]
    model.set_params(fit_intercept=False).fit(X, np.full(70, 3))
    assert (model.decision_function(-X) > 0.0).any()
    assert (model.predict(-X) == 3).all()
