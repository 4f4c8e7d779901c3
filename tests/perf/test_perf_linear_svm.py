"""Linear machines and kernel ridge regression beside scikit-learn."""

import importlib

import numpy as np
import pytest
from scipy.sparse import csr_array

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)


def objective(model, X, y):
    w, b = model.coef_[0], model.intercept_[0]
    short = np.maximum(0.0, 1.0 - (2.0 * y - 1.0) * (X @ w + b))
    return 0.5 * (w @ w + b * b) + short @ short


@LIBRARIES
def test_linear_svc_dense(measure, size, library):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(size(small=500, full=200_000), 50))
    y = (X @ rng.normal(size=50) + 2.0 * rng.normal(size=len(X)) > 0).astype(np.intp)
    machine = importlib.import_module(f"{library}.svm").LinearSVC
    model = measure(machine(random_state=0).fit, X, y)
    assert objective(model, X, y) < 0.5 * len(X)


@LIBRARIES
def test_linear_svc_sparse(measure, size, library):
    rng = np.random.default_rng(0)
    n, d, k = size(small=(300, 200, 10), full=(50_000, 20_000, 50))
    columns = (d * rng.random(n * k) ** 2).astype(np.int32)
    starts = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = csr_array((rng.random(n * k), columns, starts), shape=(n, d))
    X.sum_duplicates()
    y = (X @ rng.normal(size=d) > 0).astype(np.intp)
    machine = importlib.import_module(f"{library}.svm").LinearSVC
    model = measure(machine(random_state=0).fit, X, y)
    assert objective(model, X, y) < 0.5 * n


@LIBRARIES
def test_kernel_ridge_for_20_penalties(measure, size, library):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(size(small=200, full=5_000), 20))
    y = np.sin(X[:, 0])
    alphas = np.geomspace(1e-3, 1e2, 20)
    ridge = importlib.import_module(f"{library}.kernel_ridge").KernelRidge

    def path():
        if library == "fastml":
            model = ridge(kernel="rbf", alphas=alphas, select_by="gcv").fit(X, y)
            return model.dual_coefs_
        return np.array([ridge(alpha=a, kernel="rbf").fit(X, y).dual_coef_ for a in alphas])

    found = measure(path)
    assert found.shape == (20, len(X))
    assert (np.diff(np.abs(found).sum(axis=1)) < 0).all()
