"""KernelRidge against scikit-learn's; its path of penalties against one fit for each."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from fastml import kernel_ridge
from fastml._engines import ridge_path
from fastml.kernel_ridge import KernelRidge
from fastml.metrics.pairwise import make_kernel, pairwise_kernels

KERNELS = ["linear", "rbf", "poly", "laplacian", "sigmoid", "cosine", "chi2"]
ALPHAS = np.geomspace(1e-2, 1e2, 5)


def rows(n=70, d=4, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1.0, (n, d))


def targets(X):
    return np.column_stack([np.sin(4 * X[:, 0]), X[:, 1] - X[:, 2] ** 2])


def weights_of(X):
    return np.random.default_rng(1).uniform(0.0, 2.0, len(X))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, [0.5, 2.0]])
def test_ridge_is_scikit_learns(kernel, weighted, alpha):
    X = rows()
    Y, weights = targets(X), weights_of(X) if weighted else None
    gamma = 1.0 if kernel == "chi2" else None  # scikit-learn's chi2 has no default here
    ours = KernelRidge(alpha, kernel=kernel, gamma=gamma).fit(X, Y, weights)
    theirs = TheirRidge(alpha, kernel=kernel, gamma=gamma).fit(X, Y, weights)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X[:9]), theirs.predict(X[:9]), rtol=1e-7, atol=1e-9)


def test_ridge_of_one_target_sparse_rows_and_functions():
    X = rows()
    y = targets(X)[:, 0]
    expected = TheirRidge(kernel="rbf").fit(X, y)
    sparse = KernelRidge(kernel="rbf").fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.dual_coef_, expected.dual_coef_)
    K = pairwise_kernels(X, metric="rbf")
    given = KernelRidge(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.predict(K[:5]), expected.predict(X[:5]))
    function = KernelRidge(kernel=lambda a, b, s: np.exp(-s * ((a - b) ** 2).sum()))
    function.set_params(kernel_params={"s": 0.25}).fit(X, y)
    np.testing.assert_allclose(function.dual_coef_, expected.dual_coef_)
    scaled = KernelRidge(kernel="rbf").fit(X, y, 2.0)
    np.testing.assert_allclose(
        scaled.dual_coef_, TheirRidge(kernel="rbf").fit(X, y, 2.0).dual_coef_
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("select_by", ["loo", "gcv"])
def test_path_holds_every_fit(select_by, weighted):
    X = rows()
    Y, weights = targets(X), weights_of(X) if weighted else None
    model = KernelRidge(kernel="rbf", alphas=ALPHAS, select_by=select_by).fit(X, Y, weights)
    for alpha, coefficients in zip(ALPHAS, model.dual_coefs_):
        single = KernelRidge(alpha, kernel="rbf").fit(X, Y, weights)
        np.testing.assert_allclose(coefficients, single.dual_coef_, rtol=1e-7, atol=1e-9)
    best = KernelRidge(model.alpha_, kernel="rbf").fit(X, Y, weights)
    np.testing.assert_allclose(model.predict(X), best.predict(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_error_is_exact(weighted):
    X = rows(40)
    y, weights = targets(X)[:, 0], weights_of(X) + 0.1 if weighted else np.ones(40)
    model = KernelRidge(kernel="rbf", alphas=ALPHAS).fit(X, y, weights)
    for alpha, error in zip(ALPHAS, model.loo_errors_):
        residuals = []
        for i in range(40):
            others = np.arange(40) != i
            left = KernelRidge(alpha, kernel="rbf").fit(X[others], y[others], weights[others])
            residuals.append(y[i] - left.predict(X[[i]])[0])
        assert error == pytest.approx(np.average(np.square(residuals), weights=weights))
    assert model.alpha_ == ALPHAS[model.loo_errors_.argmin()]


def test_generalised_validation_from_a_band(monkeypatch):
    """The band reduction and the eigenvectors tell the same."""
    X = rows(200)
    Y = targets(X)
    model = KernelRidge(kernel="rbf", gamma=3.0, alphas=ALPHAS, select_by="gcv")
    expected = model.fit(X, Y).gcv_errors_, model.dual_coefs_
    K = pairwise_kernels(X, metric="rbf", gamma=3.0)
    for alpha, error in zip(ALPHAS, expected[0]):
        inverse = np.linalg.inv(K + alpha * np.eye(200))
        direct = ((inverse @ Y) ** 2).mean(axis=0) / (np.trace(inverse) / 200) ** 2
        np.testing.assert_allclose(error, direct, rtol=1e-8)
    for block in (256, 48):
        monkeypatch.setattr(ridge_path, "SMALL", 10)
        monkeypatch.setattr(ridge_path, "COLUMNS_AT_ONCE", block)
        model.fit(X, Y)
        np.testing.assert_allclose(model.gcv_errors_, expected[0], rtol=1e-9)
        np.testing.assert_allclose(model.dual_coefs_, expected[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("select_by", ["loo", "gcv"])
def test_path_does_not_depend_on_threads(select_by):
    X = rows(1100)
    models = [
        KernelRidge(kernel="rbf", alphas=[0.1, 1.0], select_by=select_by, n_jobs=n) for n in (1, 2)
    ]
    one, two = (model.fit(X[:, :2], targets(X)) for model in models)
    np.testing.assert_array_equal(one.dual_coefs_, two.dual_coefs_)


def test_ridge_refuses():
    X = rows()
    y = targets(X)[:, 0]
    with pytest.raises(ValueError, match="square"):
        KernelRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="features"):
        KernelRidge(kernel="precomputed").fit(X @ X.T, y).predict(X)
    with pytest.raises(ValueError, match="alphas"):
        KernelRidge(alphas=[1.0, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        KernelRidge(alpha=[1.0, 2.0, 3.0]).fit(X, targets(X))
    negative = -np.eye(len(X))
    with pytest.raises(ValueError, match="eigenvalue"):
        KernelRidge(kernel="precomputed", alphas=[0.5]).fit(negative, y)


def test_singular_kernel_falls_back():
    X = rows()
    with pytest.warns(UserWarning, match="Singular"):
        model = KernelRidge(alpha=0.0).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), X[:, 0], atol=1e-8)


def test_refit_without_alphas_forgets_them():
    X = rows()
    model = KernelRidge(alphas=[1.0]).fit(X, X[:, 0])
    assert model.set_params(alphas=None).fit(X, X[:, 0]).dual_coef_.shape == (70,)
    assert not hasattr(model, "alpha_")


@pytest.mark.parametrize("singular", [False, True])
def test_large_problems_are_solved_by_steps_to_the_same(singular, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = rng.normal(size=150)
    model = KernelRidge(alpha=0.0 if singular else 0.1, kernel="linear" if singular else "rbf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.fit(X, y).predict(X)
        monkeypatch.setattr(kernel_ridge, "AT_ONCE", 0)
        found = model.fit(X, y).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("n", [5, 64, 300])
def test_penalties_by_cholesky_equal_those_by_eigenvectors(n, monkeypatch):
    rng = np.random.default_rng(n)
    K = pairwise_kernels(rng.normal(size=(n, 3)), metric="rbf")
    targets, alphas = rng.normal(size=(n, 2)), np.array([0.01, 1.0, 30.0])
    expected = ridge_path.by_eigenvectors(K, targets, alphas, float(n))
    monkeypatch.setattr(ridge_path, "COLUMNS_AT_ONCE", 50)
    monkeypatch.setattr(ridge_path, "AT_ONCE", 0)
    for found in (
        ridge_path.by_cholesky(K, targets, alphas, float(n)),
        ridge_path.by_eigenvectors(K, targets, alphas, float(n)),
    ):
        np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
    with pytest.raises(ValueError, match="alphas must be larger"):
        ridge_path.by_cholesky(-K, targets, alphas, float(n))


def test_kernels_made_of_kernels_and_normalised():
    X = rows() - 0.5
    X[3] = 0.0
    Y = targets(X)
    kernel = make_kernel("rbf", gamma=2.0) + make_kernel("linear") * make_kernel("cosine")
    ours = KernelRidge(0.1, kernel=kernel).fit(X, Y)
    theirs = TheirRidge(0.1, kernel="precomputed").fit(kernel(X), Y)
    np.testing.assert_allclose(ours.predict(X[:9]), theirs.predict(kernel(X[:9], X)), rtol=1e-8)
    sparse = KernelRidge(0.1, kernel=kernel).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), ours.predict(X), rtol=1e-8)
    for name, plain in (
        ("exponential", lambda A, B: np.exp(A @ B.T / 4)),
        ("poly", lambda A, B: (A @ B.T / 4) ** 3),
        ("linear", lambda A, B: A @ B.T),
    ):
        own = np.diagonal(plain(X, X))
        unit = np.sqrt(np.outer(own, own))
        K = np.divide(plain(X, X), unit, out=np.zeros_like(unit), where=unit > 0)
        assert name == "exponential" or not K[3].any()
        ours = KernelRidge(0.1, kernel=name, coef0=0.0, normalize=True).fit(X, Y)
        theirs = TheirRidge(0.1, kernel="precomputed").fit(K, Y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(K), rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="needs a kernel"):
        KernelRidge(kernel="precomputed", normalize=True).fit(K, Y)
