"""Linear machines with default settings, judged by their objective; ridge for many penalties."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find

ALPHAS = np.geomspace(1e-3, 1e2, 20)


def _dense(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n) > 0
    return SimpleNamespace(X=X, y=y.astype(np.intp))


def _sparse(n: int, d: int, k: int) -> SimpleNamespace:
    """Rows of ``k`` values; low columns are used more often."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    columns = (d * rng.random(n * k) ** 2).astype(np.int32)
    starts = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = csr_array((rng.random(n * k), columns, starts), shape=(n, d))
    X.sum_duplicates()
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0
    return SimpleNamespace(X=X, y=y.astype(np.intp))


def _classify(module: str):
    def prepare(data):
        LinearSVC = find(f"{module}.svm", "LinearSVC")

        def fit():
            return LinearSVC(random_state=0).fit(data.X, data.y)

        return fit

    return prepare


def _objective(data, model) -> float:
    """½ \\|w\\|² + Σ max(0, 1 − y w · x)², per row."""
    w, b = model.coef_[0], model.intercept_[0]
    short = np.maximum(0.0, 1.0 - (2.0 * data.y - 1.0) * (data.X @ w + b))
    return float((0.5 * (w @ w + b * b) + short @ short) / len(short))


def _smooth(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return SimpleNamespace(X=X, y=np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n))


def _path(data):
    KernelRidge = find("fastml.kernel_ridge", "KernelRidge")

    def fit():
        model = KernelRidge(kernel="rbf", alphas=ALPHAS, select_by="gcv")
        return model.fit(data.X, data.y).dual_coefs_

    return fit


def _loop(data):
    KernelRidge = find("sklearn.kernel_ridge", "KernelRidge")

    def fit():
        return [KernelRidge(alpha=a, kernel="rbf").fit(data.X, data.y).dual_coef_ for a in ALPHAS]

    return fit


def _residual(data, coefficients) -> float:
    """Largest error of (K + alpha) c = y over the penalties."""
    from fastml.metrics.pairwise import rbf_kernel

    K = rbf_kernel(data.X)
    errors = [np.abs(K @ c + a * c - data.y).max() for a, c in zip(ALPHAS, coefficients)]
    return float(max(errors))


CASES = (
    Case(
        work="LinearSVC, {n:,} × {d}",
        full={"n": 200_000, "d": 50},
        quick={"n": 20_000, "d": 50},
        build=_dense,
        libraries={name: _classify(name) for name in ("fastml", "sklearn")},
        quality=_objective,
        yardstick="objective per row",
    ),
    Case(
        work="LinearSVC, CSR {n:,} × {d:,}, {k} values a row",
        full={"n": 50_000, "d": 20_000, "k": 50},
        quick={"n": 10_000, "d": 5_000, "k": 50},
        build=_sparse,
        libraries={name: _classify(name) for name in ("fastml", "sklearn")},
        quality=_objective,
        yardstick="objective per row",
    ),
    Case(
        work="KernelRidge, {n:,} × {d}, 20 penalties",
        full={"n": 5_000, "d": 20},
        quick={"n": 1_500, "d": 20},
        build=_smooth,
        libraries={"fastml": _path, "sklearn": _loop},
        quality=_residual,
        yardstick="max error of the equations",
    ),
)
