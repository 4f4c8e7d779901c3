"""KernelLogisticRegression, KernelPerceptron."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fastml.metrics.pairwise import make_kernel, pairwise_kernels
from fastml.svm import KernelLogisticRegression, KernelPerceptron


def rows(n=70, d=4, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1.0, (n, d))


def weights_of(X):
    return np.random.default_rng(1).uniform(0.0, 2.0, len(X))


# ---------------------------------------------------------------------------- logistic regression


def classes(X, n_classes=2):
    score = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * np.sin(50 * X[:, 2])
    return np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_kernel_is_logistic_regression(n_classes):
    X, weights = rows(), weights_of(rows())
    y = classes(X, n_classes)
    ours = KernelLogisticRegression(C=3.0, kernel="linear", tol=1e-11).fit(X, y, weights)
    for k in range(n_classes if n_classes > 2 else 1):
        theirs = LogisticRegression(C=3.0, tol=1e-12, max_iter=10_000)
        theirs.fit(X, y == (k if n_classes > 2 else 1), weights)
        scores = ours.decision_function(X).reshape(len(X), -1)[:, k]
        np.testing.assert_allclose(scores, theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_minimum_of_the_objective(kernel, fit_intercept):
    """As found by a general optimiser; and the conditions of the docstring hold."""
    X = rows(50)
    y = classes(X)
    model = KernelLogisticRegression(2.0, kernel=kernel, fit_intercept=fit_intercept, tol=1e-10)
    model.fit(X, y)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=model._gamma, coef0=0.0)
    signs = 2.0 * y - 1.0

    def objective(v):
        c, b = v[:-1], v[-1] * fit_intercept
        f = K @ c + b
        pull = 2.0 * signs * expit(-signs * f)
        value = 0.5 * c @ K @ c + 2.0 * np.logaddexp(0.0, -signs * f).sum()
        return value, np.append(K @ (c - pull), -pull.sum() * fit_intercept)

    found = np.append(model.dual_coef_[0], model.intercept_)
    value, gradient = objective(found)
    assert np.abs(gradient).max() < 1e-6
    general = minimize(objective, np.zeros(51), jac=True, method="BFGS")
    assert value <= general.fun + 1e-8
    f = K @ found[:-1] + found[-1]
    np.testing.assert_allclose(found[:-1], 2.0 * signs * expit(-signs * f), atol=1e-8)
    assert not fit_intercept or abs(found[:-1].sum()) < 1e-7


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities(n_classes):
    X = rows(150)
    y = classes(X, n_classes)
    model = KernelLogisticRegression(C=50.0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities))
    assert model.score(X, y) > 0.8
    model.intercept_ = model.intercept_ - 2000.0  # every class is impossible
    assert np.isfinite(model.predict_proba(X)).all()


def test_precomputed_and_sparse_logistic():
    X = rows()
    y = classes(X)
    expected = KernelLogisticRegression(gamma=2.0).fit(X, y)
    K = pairwise_kernels(X, metric="rbf", gamma=2.0)
    weights = np.ones(70)
    for fit_X, see in ((K, K[:9]), (sp.csr_array(X), sp.csr_array(X[:9]))):
        kernel = "precomputed" if fit_X is K else "rbf"
        model = KernelLogisticRegression(gamma=2.0, kernel=kernel).fit(fit_X, y, weights)
        np.testing.assert_allclose(
            model.decision_function(see), expected.decision_function(X[:9]), atol=1e-8
        )


def test_zero_weights_are_absent_rows():
    X, weights = rows(), np.arange(70) % 2 + 0.0
    y = classes(X, 3)
    left = KernelLogisticRegression().fit(X, y, weights)
    right = KernelLogisticRegression().fit(X[1::2], y[1::2])
    np.testing.assert_allclose(left.predict_proba(X), right.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(left.support_, np.arange(1, 70, 2))


def test_indefinite_kernel_ends_with_a_warning():
    K = np.random.default_rng(0).normal(size=(40, 40))
    model = KernelLogisticRegression(kernel="precomputed", C=10.0)
    with pytest.warns(ConvergenceWarning):
        model.fit(K + K.T, np.arange(40) % 2)
    assert np.isfinite(model.dual_coef_).all()


def test_separable_classes_with_a_huge_cost():
    X = np.r_[rows(20), rows(20) + 3.0]
    y = np.repeat(["a", "b"], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelLogisticRegression(C=1e8).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


# ---------------------------------------------------------------------------- perceptron


def test_mistakes_within_novikoffs_bound(global_random_seed):
    """Any separating function bounds them: here w = (1, -1, 0) / √2, margin at least 0.1."""
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-1, 1, (300, 3))
    w = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
    X = X[np.abs(X @ w) > 0.1]
    model = KernelPerceptron(kernel="linear", max_iter=1000, random_state=global_random_seed)
    model.fit(X, X @ w > 0)
    radius, margin = np.linalg.norm(X, axis=1).max(), np.abs(X @ w).min()
    assert model.converged_
    assert 0 < model.mistakes_[0] <= (radius / margin) ** 2
    assert model.score(X, X @ w > 0) == 1.0
    assert np.abs(model.dual_coef_).sum() == pytest.approx(model.mistakes_[0])


def test_perceptron_without_shuffle_is_the_textbooks():
    X = rows(600, 2)
    signs = np.where(np.sin(9 * X[:, 0]) > 0, 1.0, -1.0)
    K = pairwise_kernels(X, metric="rbf", gamma=5.0)
    c, mistakes = np.zeros(600), 0
    for _ in range(2):
        for i in range(600):
            if signs[i] * (K[i] @ c) <= 0:
                c[i] += signs[i]
                mistakes += 1
    model = KernelPerceptron(gamma=5.0, shuffle=False, max_iter=2).fit(X, signs)
    assert model.mistakes_[0] == mistakes
    np.testing.assert_array_equal(model.dual_coef_[0], c[c != 0])
    np.testing.assert_allclose(model.decision_function(X), K @ c, atol=1e-8)


def test_blocks_of_the_gram_matrix_give_the_same():
    import sklearn

    X = rows(400)
    y = classes(X, 3)
    whole = KernelPerceptron(random_state=0, max_iter=3).fit(X, y)
    with sklearn.config_context(working_memory=0):
        parts = KernelPerceptron(random_state=0, max_iter=3).fit(X, y)
    np.testing.assert_array_equal(whole.mistakes_, parts.mistakes_)
    np.testing.assert_array_equal(whole.dual_coef_, parts.dual_coef_)


def test_average_is_steadier_where_classes_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + rng.normal(size=400) > 0
    scores = [
        np.mean(
            [
                KernelPerceptron(average=average, random_state=seed, max_iter=3)
                .fit(X[:200], y[:200])
                .score(X[200:], y[200:])
                for seed in range(5)
            ]
        )
        for average in (False, True)
    ]
    assert scores[1] > scores[0]


@pytest.mark.parametrize("cls", [KernelLogisticRegression, KernelPerceptron])
def test_classifiers_refuse(cls):
    X = rows()
    y = classes(X)
    with pytest.raises(ValueError, match="one class"):
        cls().fit(X, np.zeros(70))
    with pytest.raises(ValueError, match="square"):
        cls(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="features"):
        cls(kernel="precomputed").fit(X @ X.T, y).predict(X)
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(np.where(X > 0.9, np.nan, X), y)
    with pytest.raises(ValueError, match="kernel"):
        cls(kernel="quadratic").fit(X, y)


@pytest.mark.parametrize("cls", [KernelLogisticRegression, KernelPerceptron])
def test_kernels_made_of_kernels(cls):
    X = rows()
    y = classes(X)
    kernel = make_kernel("rbf", gamma=3.0) + make_kernel("exponential").normalized() ** 2
    whole = {"random_state": 0} if cls is KernelPerceptron else {}
    ours = cls(kernel=kernel, **whole).fit(X, y)
    other = cls(kernel="precomputed", **whole).fit(kernel(X), y)
    expected = other.decision_function(kernel(X))
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=1e-8, atol=1e-10)
    sparse = cls(kernel=kernel, **whole).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), expected, rtol=1e-6, atol=1e-8
    )
