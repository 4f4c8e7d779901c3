"""Kernel densities and kernel regression. Every answer is checked against exact sums."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case

N_CHECKED = 40
N_CANDIDATES = 30


def _normal(n: int, n_queries: int, d: int) -> SimpleNamespace:
    """Standard normal data, h = n^(-1/(d + 4)), exact log-densities of a few queries.

    SciPy scales the data's covariance by h^2; the data are whitened so that all mean the same h.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T).reshape(d, d))).T
    Q = rng.normal(size=(n_queries, d))
    h = n ** (-1 / (d + 4))
    checked = np.linspace(0, n_queries - 1, N_CHECKED).astype(int)
    exponents = [-0.5 * ((X - Q[i]) ** 2).sum(axis=1) / h**2 for i in checked]
    constant = 0.5 * d * np.log(2 * np.pi) + d * np.log(h) + np.log(n)
    exact = np.array([np.log(np.exp(e - e.max()).sum()) + e.max() for e in exponents]) - constant
    return SimpleNamespace(X=X, Q=Q, h=h, checked=checked, exact=exact)


def _log_error(data, log_density) -> float:
    return float(np.max(np.abs(np.asarray(log_density)[data.checked] - data.exact)))


def _kernel_density(module: str, **parameters):
    def prepare(data):
        from importlib import import_module

        KernelDensity = import_module(f"{module}.neighbors").KernelDensity
        chosen = {"bandwidth": data.h, **parameters}
        return lambda: KernelDensity(**chosen).fit(data.X).score_samples(data.Q)

    return prepare


def _gaussian_kde(data):
    from scipy.stats import gaussian_kde

    # Its logpdf is several times slower than this.
    return lambda: np.log(gaussian_kde(data.X.T, bw_method=data.h)(data.Q.T))


def _mlpack_kde(data):
    from mlpack import kde

    def run():
        found = kde(
            reference=data.X, query=data.Q, bandwidth=data.h, kernel="gaussian", rel_error=1e-4
        )
        return np.log(found["predictions"])

    return run


def _gaussian_case(full: tuple[int, int, int], *, mlpack: bool = False) -> Case:
    n, n_queries, d = full
    libraries = {"fastml": _kernel_density("fastml"), "scipy": _gaussian_kde}
    if mlpack:
        libraries["mlpack"] = _mlpack_kde
    return Case(
        work="KernelDensity, gaussian, {n:,} points, {n_queries:,} queries, {d} features",
        full={"n": n, "n_queries": n_queries, "d": d},
        quick={"n": n // 10, "n_queries": n_queries // 10, "d": d},
        build=_normal,
        libraries=libraries,
        quality=_log_error,
        yardstick="max error of log",
    )


# ------------------------------------------------------------------- kernels that end


def _epanechnikov(n: int, n_queries: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
    h = 0.1
    checked = np.flatnonzero((Q**2).sum(axis=1) < 1.0)[:N_CHECKED]
    with np.errstate(divide="ignore"):
        sums = [np.maximum(1 - ((X - Q[i]) ** 2).sum(axis=1) / h**2, 0).sum() for i in checked]
        exact = np.log(sums) - np.log(n * h**d * np.pi / 2)
    return SimpleNamespace(X=X, Q=Q, h=h, checked=checked, exact=exact)


# ------------------------------------------------------------------- choosing a bandwidth


def _blobs(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4.0 * rng.integers(3, size=(n, 1))
    return SimpleNamespace(X=X, candidates=np.geomspace(0.05, 2.0, N_CANDIDATES))


def _bandwidth_loo(data):
    from fastml.density import bandwidth_loo

    return lambda: bandwidth_loo(data.X, data.candidates)


def _grid_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    search = GridSearchCV(KernelDensity(), {"bandwidth": data.candidates}, cv=10, n_jobs=-1)
    return lambda: search.fit(data.X).best_params_["bandwidth"]


# ------------------------------------------------------------------- regression


def _curve(n: int, n_queries: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
    return SimpleNamespace(X=X, y=np.sin(X).sum(axis=1), Q=Q, h=n ** (-1 / (d + 4)))


def _kernel_regressor(data):
    from fastml.neighbors import KernelRegressor

    return lambda: KernelRegressor(data.h).fit(data.X, data.y).predict(data.Q)


def _nadaraya_watson(data):
    """The formula in NumPy, 200 queries at a time."""
    squares = (data.X**2).sum(axis=1)

    def run():
        out = np.empty(data.Q.shape[0])
        for first in range(0, data.Q.shape[0], 200):
            Q = data.Q[first : first + 200]
            r2 = squares - 2.0 * (Q @ data.X.T) + (Q**2).sum(axis=1)[:, None]
            K = np.exp(r2 * (-0.5 / data.h**2))
            out[first : first + 200] = K @ data.y / K.sum(axis=1)
        return out

    return run


CASES = (
    _gaussian_case((100_000, 20_000, 1)),
    _gaussian_case((50_000, 10_000, 3), mlpack=True),
    _gaussian_case((20_000, 5_000, 10)),
    Case(
        work="KernelDensity, epanechnikov, {n:,} points, {n_queries:,} queries, {d} features",
        full={"n": 100_000, "n_queries": 20_000, "d": 2},
        quick={"n": 20_000, "n_queries": 4_000, "d": 2},
        build=_epanechnikov,
        libraries={
            name: _kernel_density(name, kernel="epanechnikov") for name in ("fastml", "sklearn")
        },
        quality=_log_error,
        yardstick="max error of log",
    ),
    Case(
        work="leave-one-out bandwidth of 30, {n:,} × {d}",
        full={"n": 10_000, "d": 2},
        quick={"n": 1_000, "d": 2},
        build=_blobs,
        libraries={"fastml": _bandwidth_loo, "sklearn": _grid_search},
        quality=lambda data, bandwidth: float(bandwidth),
        yardstick="bandwidth",
    ),
    Case(
        work="Nadaraya-Watson, {n:,} points, {n_queries:,} queries, {d} features",
        full={"n": 50_000, "n_queries": 10_000, "d": 3},
        quick={"n": 5_000, "n_queries": 1_000, "d": 3},
        build=_curve,
        libraries={"fastml": _kernel_regressor, "numpy": _nadaraya_watson},
        quality=lambda data, predicted: float(
            np.sqrt(np.mean((predicted - np.sin(data.Q).sum(axis=1)) ** 2))
        ),
        yardstick="RMSE",
    ),
)
