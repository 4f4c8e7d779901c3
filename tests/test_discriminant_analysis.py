"""Discriminant analysis equals scikit-learn's, draws what it has learned, says what is singular."""

import numpy as np
import pytest
import sklearn.discriminant_analysis as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import LedoitWolf, empirical_covariance, ledoit_wolf

import fastml.discriminant_analysis as ours
from fastml.discriminant_analysis import _scatter

LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=600)
    X = rng.normal(size=(600, 5)) * np.array([[1, 1, 1, 1, 1], [2, 1, 1, 1, 3], [1, 1, 2, 1, 1]])[y]
    return X @ rng.normal(size=(5, 5)) + y[:, None] + 50.0, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        (LDA, {}),
        (LDA, {"store_covariance": True, "priors": [0.5, 0.2, 0.3]}),
        (LDA, {"n_components": 1}),
        (LDA, {"solver": "lsqr"}),
        (LDA, {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.5, 0.2, 0.3]}),
        (LDA, {"solver": "lsqr", "shrinkage": "auto"}),
        (LDA, {"solver": "eigen"}),
        (LDA, {"solver": "eigen", "shrinkage": 0.2, "priors": [0.5, 0.2, 0.3]}),
        (LDA, {"solver": "eigen", "shrinkage": "auto"}),
        (LDA, {"solver": "eigen", "covariance_estimator": LedoitWolf()}),
        (QDA, {"store_covariance": True}),
        (QDA, {"reg_param": 0.2, "store_covariance": True}),
        (QDA, {"priors": [0.5, 0.2, 0.3]}),
        (QDA, {"solver": "eigen", "store_covariance": True}),
        (QDA, {"solver": "eigen", "shrinkage": 0.2}),
        (QDA, {"solver": "eigen", "shrinkage": "auto"}),
        (QDA, {"solver": "eigen", "covariance_estimator": LedoitWolf()}),
    ],
)
def test_as_scikit_learn(data, name, options, n_classes):
    X, y = data
    if n_classes == 2:
        X, y = X[y != "c"], y[y != "c"]
        if "priors" in options:
            options = {**options, "priors": [0.4, 0.6]}
    mine, other = (getattr(module, name)(**options).fit(X, y) for module in (ours, theirs))
    for attribute in ("means_", "priors_", "coef_", "intercept_", "xbar_", "covariance_",
                      "explained_variance_ratio_", "scalings_"):  # fmt: skip
        assert hasattr(mine, attribute) == hasattr(other, attribute), attribute
        if hasattr(other, attribute) and not (name == LDA and attribute == "scalings_"):
            found, expected = getattr(mine, attribute), getattr(other, attribute)
            assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=attribute)
    for method in ("decision_function", "predict_log_proba", "predict_proba"):
        found, expected = (getattr(model, method)(X) for model in (mine, other))
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=method)
    assert_array_equal(mine.predict(X), other.predict(X))
    if name == LDA and options.get("solver") != "lsqr":
        found, expected = mine.transform(X), other.transform(X)
        signs = np.sign((found * expected).sum(axis=0))
        assert_allclose(found * signs, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("n", [1, 2, 30, 100])
def test_scatter_in_blocks(monkeypatch, by_class, n):
    monkeypatch.setattr(_scatter, "ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) + 1e4
    codes = np.sort(rng.integers(0, 4, size=n))
    found = _scatter.class_scatter(X, codes, 5, by_class)
    assert_array_equal(found.counts, np.bincount(codes, minlength=5))
    parts = []
    for k in range(5):
        own = X[codes == k]
        parts.append(empirical_covariance(own) * len(own) if len(own) > 1 else np.zeros((3, 3)))
        if len(own):
            assert_allclose(found.means[k], own.mean(axis=0), rtol=1e-12)
    expected = np.array(parts) if by_class else np.sum(parts, axis=0)
    assert_allclose(found.scatter, expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(40, 3), (5, 20), (30, 1)])
def test_ledoit_and_wolf(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.arange(1, shape[1] + 1)
    scale = X.std(axis=0)
    expected = ledoit_wolf(X / scale)[0] * np.outer(scale, scale)
    assert_allclose(_scatter.ledoit_wolf_covariance(X), expected, rtol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 80))
    y = np.arange(30) % 3
    X[:, 0] += y
    mine, other = (m.LinearDiscriminantAnalysis().fit(X, y) for m in (ours, theirs))
    assert_allclose(mine.decision_function(X), other.decision_function(X), rtol=1e-6)


def test_columns_without_variance_and_collinear_ones(data):
    X, y = data
    wide = np.c_[X, np.full(len(X), 3.7), X[:, 0] + X[:, 1]]
    mine = ours.LinearDiscriminantAnalysis().fit(wide, y)
    plain = ours.LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(mine.predict_proba(wide), plain.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_every_solver_gives_the_same(data, solver):
    X, y = data
    for unbiased in (False, True):
        models = [
            ours.LinearDiscriminantAnalysis(solver=s, unbiased=unbiased).fit(X, y)
            for s in (solver, "svd")
        ]
        assert_allclose(*(model.predict_proba(X) for model in models), atol=1e-10)


def test_divisors(data):
    X, y = data
    n, k = len(X), 3
    small, large = (
        ours.LinearDiscriminantAnalysis(store_covariance=True, unbiased=u).fit(X, y).covariance_
        for u in (False, True)
    )
    assert_allclose(small * n / (n - k), large)
    own = ours.QuadraticDiscriminantAnalysis(store_covariance=True, unbiased=True).fit(X, y)
    assert_allclose(own.covariance_[1], np.cov(X[y == "b"].T))


@pytest.mark.parametrize(("name", "options"), [(LDA, {}), (LDA, {"solver": "lsqr"}), (QDA, {})])
def test_what_is_drawn_is_what_was_learned(data, name, options):
    X, y = data
    model = getattr(ours, name)(**options).fit(X, y)
    drawn, labels = model.sample(60_000, random_state=0)
    assert_array_equal(drawn, model.sample(60_000, random_state=0)[0])
    again = getattr(ours, name)(**options).fit(drawn, labels)
    assert_allclose(again.priors_, model.priors_, atol=0.01)
    assert_allclose(again.means_, model.means_, atol=0.15)
    covariance = {
        LDA: lambda m, _: sum(p * np.cov(X[y == c].T, bias=True) for c, p in zip("abc", m.priors_)),
        QDA: lambda m, k: m.rotations_[k] * m.scalings_[k] @ m.rotations_[k].T,
    }[name]  # fmt: skip
    for k, label in enumerate("abc"):
        expected = covariance(model, k)
        found = np.cov(drawn[labels == label].T)
        assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_nothing_varies_within_classes():
    y = np.arange(12) % 3
    with pytest.raises(ValueError, match="no column of X varies within a class"):
        ours.LinearDiscriminantAnalysis().fit(np.eye(3)[y], y)


def test_singular_classes_are_named(data):
    X, y = data
    flat = X.copy()
    flat[y == "b", 0] = 1.0
    with pytest.raises(np.linalg.LinAlgError, match=r"class b is not full rank.*reg_param"):
        ours.QuadraticDiscriminantAnalysis().fit(flat, y)
    with pytest.raises(np.linalg.LinAlgError, match=r"class b is not full rank.*shrinkage"):
        ours.QuadraticDiscriminantAnalysis(solver="eigen").fit(flat, y)
    few = np.r_[np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:3]]
    with pytest.raises(np.linalg.LinAlgError, match="class c has 3 samples and 5 features"):
        ours.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[few], y[few])


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        (LDA, {"shrinkage": 0.1}, NotImplementedError, "shrinkage not supported"),
        (LDA, {"covariance_estimator": LedoitWolf()}, ValueError, "svd solver"),
        (LDA, {"n_components": 3}, ValueError, "n_components cannot"),
        (LDA, {"priors": [0.5, 0.5]}, ValueError, "3 entries"),
        (LDA, {"priors": [1.5, -0.5, 0.0]}, ValueError, "non-negative"),
        (QDA, {"shrinkage": 0.1}, NotImplementedError, "shrinkage not supported"),
        (QDA, {"covariance_estimator": LedoitWolf()}, ValueError, "solver='svd'"),
        (QDA, {"priors": [0.5, 0.5]}, ValueError, "3 entries"),
    ],
)
def test_bad_input(data, name, options, error, message):
    with pytest.raises(error, match=message):
        getattr(ours, name)(**options).fit(*data)
    with pytest.raises(ValueError, match="class"):
        getattr(ours, QDA)().fit(data[0], np.zeros(600))
