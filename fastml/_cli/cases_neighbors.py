"""Neighbour search: brute force, kd-trees, outliers, and every k of a validation curve at once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find

K = 10
N_CHECKED = 100


# ------------------------------------------------------------------- k nearest neighbours


def _points(n: int, n_queries: int, d: int, dtype) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    Q = rng.normal(size=(n_queries, d)).astype(dtype)
    checked = np.linspace(0, n_queries - 1, N_CHECKED).astype(int)
    kth = [np.partition(_distances(Q[i], X), K - 1)[K - 1] for i in checked]
    return SimpleNamespace(X=X, Q=Q, checked=checked, kth=np.array(kth))


def _distances(x, Y) -> np.ndarray:
    return np.sqrt(((Y.astype(np.float64) - x.astype(np.float64)) ** 2).sum(axis=1))


def _recall(data, answer) -> float:
    """Share of the neighbours found that are no farther than the true k-th, on a few queries."""
    indices = np.asarray(answer[1])[data.checked].astype(np.intp)
    near = [
        _distances(data.Q[i], data.X[found]) <= kth * (1 + 1e-5)
        for i, found, kth in zip(data.checked, indices, data.kth)
    ]
    return float(np.mean(near))


def _nearest_neighbors(module: str, algorithm: str, **parameters):
    def prepare(data):
        NearestNeighbors = find(f"{module}.neighbors", "NearestNeighbors")
        search = NearestNeighbors(n_neighbors=K, algorithm=algorithm, **parameters).fit(data.X)
        return lambda: search.kneighbors(data.Q)

    return prepare


def _faiss_flat(data):
    import faiss

    index = faiss.IndexFlatL2(data.X.shape[1])
    index.add(data.X)
    return lambda: index.search(data.Q, K)


def _scipy_query(data):
    from scipy.spatial import cKDTree

    tree = cKDTree(data.X)
    return lambda: tree.query(data.Q, k=K, workers=-1)


def _pykdtree_query(data):
    from pykdtree.kdtree import KDTree

    tree = KDTree(data.X)
    return lambda: tree.query(data.Q, k=K)


# ------------------------------------------------------------------- building a tree


def _tree(module: str, name: str):
    def prepare(data):
        KDTree = find(module, name)
        return lambda: KDTree(data.X)

    return prepare


def _finds_itself(data, tree) -> float:
    """Share of a few points whose nearest neighbour in the tree is themselves."""
    distances, indices = tree.query(data.X[data.checked], k=1)
    return float(np.mean((np.ravel(distances) == 0) & (np.ravel(indices) == data.checked)))


# ------------------------------------------------------------------- outliers


def _with_outliers(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    is_outlier = np.zeros(n, dtype=bool)
    is_outlier[: n // 100] = True
    X[is_outlier] *= 2.0
    return SimpleNamespace(X=X, is_outlier=is_outlier)


def _local_outlier_factor(module: str, **parameters):
    def prepare(data):
        LocalOutlierFactor = find(f"{module}.neighbors", "LocalOutlierFactor")
        return lambda: LocalOutlierFactor(**parameters).fit(data.X).negative_outlier_factor_

    return prepare


def _auc(data, scores) -> float:
    """Probability that an outlier scores below an inlier."""
    ranks = np.argsort(np.argsort(-scores))
    n_out = int(data.is_outlier.sum())
    above = ranks[data.is_outlier].sum() - n_out * (n_out - 1) / 2
    return float(above / (n_out * (scores.size - n_out)))


# ------------------------------------------------------------------- choosing k


def _labelled(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)
    return SimpleNamespace(X=X, y=y, ks=list(range(1, 31)))


def _curve(data):
    from fastml.neighbors import knn_validation_curve

    return lambda: knn_validation_curve(data.X, data.y, n_neighbors=data.ks, cv=10).best_score


def _grid_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier

    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": data.ks}, cv=10, n_jobs=-1)
    return lambda: search.fit(data.X, data.y).best_score_


CASES = (
    Case(
        work="brute k-NN, {n_queries:,} queries of {n:,} × {d} float32, k = 10",
        full={"n": 100_000, "n_queries": 5_000, "d": 64},
        quick={"n": 20_000, "n_queries": 1_000, "d": 64},
        build=lambda **sizes: _points(**sizes, dtype=np.float32),
        libraries={
            "fastml": _nearest_neighbors("fastml", "brute"),
            "faiss": _faiss_flat,
            "sklearnex": _nearest_neighbors("sklearnex", "brute", n_jobs=-1),
            "sklearn": _nearest_neighbors("sklearn", "brute", n_jobs=-1),
        },
        quality=_recall,
        yardstick="recall",
    ),
    Case(
        work="kd-tree query, {n_queries:,} queries of {n:,} × {d}, k = 10",
        full={"n": 500_000, "n_queries": 200_000, "d": 3},
        quick={"n": 50_000, "n_queries": 20_000, "d": 3},
        build=lambda **sizes: _points(**sizes, dtype=np.float64),
        libraries={
            "fastml": _nearest_neighbors("fastml", "kd_tree"),
            "scipy": _scipy_query,
            "pykdtree": _pykdtree_query,
            "sklearn": _nearest_neighbors("sklearn", "kd_tree", n_jobs=-1),
        },
        quality=_recall,
        yardstick="recall",
    ),
    Case(
        work="kd-tree build, {n:,} × {d}",
        full={"n": 500_000, "n_queries": 1_000, "d": 3},
        quick={"n": 50_000, "n_queries": 1_000, "d": 3},
        build=lambda **sizes: _points(**sizes, dtype=np.float64),
        libraries={
            "fastml": _tree("fastml.neighbors", "KDTree"),
            "scipy": _tree("scipy.spatial", "cKDTree"),
            "pykdtree": _tree("pykdtree.kdtree", "KDTree"),
            "sklearn": _tree("sklearn.neighbors", "KDTree"),
        },
        quality=_finds_itself,
        yardstick="found",
    ),
    Case(
        work="LocalOutlierFactor, {n:,} × {d}",
        full={"n": 50_000, "d": 10},
        quick={"n": 5_000, "d": 10},
        build=_with_outliers,
        libraries={
            "fastml": _local_outlier_factor("fastml"),
            "sklearn": _local_outlier_factor("sklearn", n_jobs=-1),
            "sklearnex": _local_outlier_factor("sklearnex", n_jobs=-1),
        },
        quality=_auc,
        yardstick="AUC",
    ),
    Case(
        work="30 values of k by 10-fold validation, {n:,} × {d}",
        full={"n": 20_000, "d": 20},
        quick={"n": 2_000, "d": 20},
        build=_labelled,
        libraries={"fastml": _curve, "sklearn": _grid_search},
        quality=lambda data, best_score: best_score,
        yardstick="accuracy",
    ),
)
