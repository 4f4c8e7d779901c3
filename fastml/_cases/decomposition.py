"""Decompositions: principal components, singular vectors, factors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Data, Peers, Quality, sizes
from fastml._cases._panels import axes_of_cloud

SKLEARNEX: Peers = {"sklearn": {}, "sklearnex": {}}


def factors_and_noise(n, d):
    """Rows of 40 directions of falling variance, and noise."""
    rng = np.random.default_rng(0)
    r = min(40, d)
    W = rng.normal(size=(r, d)) * np.linspace(3.0, 0.5, r)[:, None]
    return SimpleNamespace(X=rng.normal(size=(n, r)) @ W + rng.normal(size=(n, d)) + 1.0)


def few_factors(n, d, k):
    """Rows of k factors, and noise that differs by column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, k)) @ rng.normal(size=(k, d))
    return SimpleNamespace(X=X + rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d))


def documents(n, d):
    """Counts of words in CSR: topics have words of their own, common words are common."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    per_row = min(60, d // 2)
    topics = rng.integers(0, 100, size=n)
    common = (d * rng.random(size=(n, per_row)) ** 3).astype(np.int64)
    own = (topics[:, None] * 199 + (60 * rng.random((n, per_row))).astype(np.int64)) % d
    columns = np.where(rng.random((n, per_row)) < 0.4, own, common)
    counts = rng.integers(1, 4, size=n * per_row).astype(np.float64)
    X = csr_array((counts, columns.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    return SimpleNamespace(X=X)


def _explained(data, model) -> float:
    """Variance of the rows along the components together."""
    return float(np.var(data.X @ model.components_.T, axis=0).sum())


def _projected(data, Z) -> float:
    """Variance of projected rows together."""
    return float(np.var(Z, axis=0).sum())


def _likelihood(data, model) -> float:
    return float(model.score(data.X[:5000]))


def _fit_transform(make, data):
    return lambda: make().fit_transform(data.X)


def _case(id, name, work, data, shape, quality, **more):
    more.setdefault("peers", SKLEARN)
    return Case(
        id, f"decomposition.{name}", f"{name}, {work}", data, sizes(**shape), quality, **more
    )


TALL = {"n": (300, 20_000, 200_000), "d": (6, 200, 200), "k": (3, 20, 20)}
SQUARE = {"n": (200, 2_000, 5_000), "d": (150, 800, 2_000), "k": (3, 20, 20)}
TEXT = {"n": (200, 20_000, 100_000), "d": (80, 20_000, 20_000), "k": (3, 50, 50)}
ROWS = {"n": (260, 2_000, 5_000), "d": (5, 20, 20), "k": (2, 10, 10)}
FACTORS = {"n": (200, 20_000, 100_000), "d": (6, 50, 50), "k": (2, 8, 8)}


def _components(**more):
    return {"n_components": Data("k"), **more}


SAME = Quality("variance", _projected, "more", 1e-4)
CASES = (
    _case(
        "pca", "PCA", "{n:,} × {d}, {k} components, fit and transform", factors_and_noise, TALL,
        SAME, params=_components(), step=_fit_transform, peers=SKLEARNEX, dtypes=BOTH,
        variants=(
            {"svd_solver": "full", "whiten": True},
            {"svd_solver": "arpack", "n_components": 2},
            {"svd_solver": "randomized", "n_components": 2},
            {"svd_solver": "power", "n_components": 2},
            {"svd_solver": "covariance_eigh", "ddof": 0},
            {"n_components": 0.9},
            {"n_components": 2, "missing": "em"},
        ),
    ),
    _case(
        "pca-square", "PCA", "{n:,} × {d:,}, {k} components", factors_and_noise, SQUARE,
        Quality("variance", _explained, "more", 1e-4), params=_components(random_state=0),
        draw=axes_of_cloud,
    ),
    _case(
        "incremental-pca", "IncrementalPCA", "{n:,} × {d}, {k} components", factors_and_noise, TALL,
        Quality("variance", _explained, "more", 1e-4), params=_components(),
        variants=({"whiten": True, "n_components": 2},),
    ),
    _case(
        "truncated-svd", "TruncatedSVD", "CSR {n:,} × {d:,}, {k} components", documents, TEXT,
        Quality("variance", _projected, "more", 1e-3), params=_components(random_state=0),
        step=_fit_transform, variants=({"algorithm": "arpack"},),
    ),
    _case(
        "kernel-pca", "KernelPCA", "rbf, {n:,} × {d}, {k} components", factors_and_noise, ROWS,
        Quality("variance", _projected, "same", 1e-6),
        params=_components(kernel="rbf", gamma=0.001, eigen_solver="arpack", random_state=0),
        step=_fit_transform,
        variants=(
            {"n_components": 2, "kernel": "rbf", "fit_inverse_transform": True},
            {"n_components": 2, "kernel": "poly", "eigen_solver": "randomized"},
        ),
    ),
    _case(
        "factor-analysis", "FactorAnalysis", "{n:,} × {d}, {k} factors", few_factors, FACTORS,
        Quality("log likelihood", _likelihood, "more", 1e-4), params=_components(),
        variants=({"n_components": 2, "svd_method": "lapack", "rotation": "varimax"},),
    ),
)  # fmt: skip
