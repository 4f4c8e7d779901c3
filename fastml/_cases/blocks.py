"""Rows in blocks: the same models, beside those of all rows in memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def clouds_in_blocks(n, d, k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    model = find("fastml.cluster.KMeans")(k, init=X[:k].copy(), n_init=1, max_iter=10, tol=0.0)
    rows = min(65_536, max(16, n // 4))
    blocks = find("fastml.blocks.Blocks").from_npy(X, block_rows=rows)
    return SimpleNamespace(model=model, blocks=blocks, X=X, arguments=("model", "blocks"))


def votes_in_blocks(n, d, k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.3 * rng.normal(size=n)
    boosting = find("fastml.ensemble.HistGradientBoostingRegressor")
    model = boosting(max_iter=k, early_stopping=False, random_state=0)
    rows = min(65_536, max(16, n // 4))
    blocks = find("fastml.blocks.Blocks").from_npy(X, y, block_rows=rows)
    return SimpleNamespace(model=model, blocks=blocks, X=X, y=y, arguments=("model", "blocks"))


def _boosted_in_memory(data):
    """scikit-learn's on the same rows."""
    boosting = find("sklearn.ensemble.HistGradientBoostingRegressor")
    k = data.model.max_iter
    return lambda: boosting(max_iter=k, early_stopping=False).fit(data.X, data.y)


def woods_in_blocks(n, d, k):
    """More rows than a pass fetches at once: levels are counted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.3 * rng.normal(size=n) > 0.0).astype(int)
    forest = find("fastml.ensemble.RandomForestClassifier")
    model = forest(k, max_depth=8, random_state=0)
    blocks = find("fastml.blocks.Blocks").from_npy(X, y, block_rows=min(65_536, n // 3))
    return SimpleNamespace(model=model, blocks=blocks, X=X, y=y, arguments=("model", "blocks"))


def _forest_in_memory(data):
    """scikit-learn's on the same rows."""
    forest = find("sklearn.ensemble.RandomForestClassifier")
    k = data.model.n_estimators
    return lambda: forest(k, max_depth=8, random_state=0, n_jobs=-1).fit(data.X, data.y)


def odd_branches():
    def shallow():
        """Leaves that no subtree has: their sums take a pass."""
        data = woods_in_blocks(9000, 3, 1)
        tree = find("fastml.tree.DecisionTreeRegressor")(max_depth=1)
        blocks = find("fastml.blocks.Blocks").from_npy(data.X, data.X[:, 0], block_rows=3000)
        find("fastml.blocks.fit")(tree, blocks)

    yield "blocks.fit, a shallow tree", shallow


def _r2(data, model) -> float:
    return float(model.score(data.X, data.y))


def _in_memory(data):
    """scikit-learn's on the same rows."""
    kmeans = find("sklearn.cluster.KMeans")
    parameters = data.model.get_params()
    parameters.pop("n_jobs")
    return lambda: kmeans(**parameters).fit(data.X)


def _inertia(data, model) -> float:
    return float(model.inertia_)


CASES = (
    Case(
        "blocks-kmeans", "blocks.fit", "KMeans of blocks, {n:,} × {d}, {k} clusters, 10 steps",
        clouds_in_blocks, sizes(n=(200, 20_000, 500_000), d=(3, 8, 16), k=(4, 16, 100)),
        Quality("inertia", _inertia, better="less", tolerance=1e-6), {}, "call",
        peers={"sklearn": _in_memory},
    ),
    Case(
        "blocks-forest", "blocks.fit", "forest of blocks, {n:,} × {d}, {k} trees of depth 8",
        woods_in_blocks, sizes(n=(9000, 20_000, 200_000), d=(3, 8, 20), k=(2, 5, 20)),
        Quality("accuracy", _r2, better="more", tolerance=2e-2), {}, "call",
        peers={"sklearn": _forest_in_memory},
    ),
    Case(
        "blocks-boosting", "blocks.fit", "boosting of blocks, {n:,} × {d}, {k} trees",
        votes_in_blocks, sizes(n=(200, 20_000, 500_000), d=(3, 8, 20), k=(2, 10, 50)),
        Quality("R²", _r2, better="more", tolerance=1e-2), {}, "call",
        peers={"sklearn": _boosted_in_memory},
    ),
)  # fmt: skip
