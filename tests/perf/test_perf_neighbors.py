"""Neighbour search and what is built on it, beside the fastest peers."""

import numpy as np
import pytest

from fastml.neighbors import KDTree, LocalOutlierFactor, NearestNeighbors, knn_validation_curve


def normal(n, d, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("library", ["fastml", "faiss", "sklearnex", "sklearn"], indirect=True)
def test_brute_kneighbors(measure, size, library):
    Y = normal(size(small=2_000, full=100_000), 64, np.float32)
    Q = normal(size(small=100, full=5_000), 64, np.float32, seed=1)
    if library == "faiss":
        import faiss

        indices = measure(lambda: faiss.knn(Q, Y, 10)[1])
    else:
        if library == "fastml":
            search = NearestNeighbors(n_neighbors=10, algorithm="brute")
        elif library == "sklearnex":
            from sklearnex.neighbors import NearestNeighbors as Peer

            search = Peer(n_neighbors=10, algorithm="brute")
        else:
            from sklearn.neighbors import NearestNeighbors as Peer

            search = Peer(n_neighbors=10, algorithm="brute", n_jobs=2)
        search.fit(Y)
        indices = measure(lambda: search.kneighbors(Q, return_distance=False))
    gaps = Q[:20, None].astype(float) - Y[None].astype(float)
    expected = np.argsort((gaps**2).sum(-1), axis=1, kind="stable")[:, :10]
    assert (np.sort(indices[:20], axis=1) == np.sort(expected, axis=1)).mean() > 0.99


@pytest.mark.parametrize("library", ["fastml", "scipy", "pykdtree", "sklearn"], indirect=True)
def test_kd_tree_build(measure, size, library):
    X = normal(size(small=2_000, full=500_000), 3)
    measure(lambda: _kd_tree(library, X))


@pytest.mark.parametrize("library", ["fastml", "scipy", "pykdtree", "sklearn"], indirect=True)
def test_kd_tree_query(measure, size, library):
    X = normal(size(small=2_000, full=500_000), 3)
    Q = normal(size(small=500, full=200_000), 3, seed=1)
    tree = _kd_tree(library, X)
    if library == "scipy":
        distances, _ = measure(lambda: tree.query(Q, 10, workers=2))
    else:
        distances, _ = measure(lambda: tree.query(Q, 10))
    nearest = np.sqrt(((Q[:5, None] - X[None]) ** 2).sum(-1)).min(axis=1)
    np.testing.assert_allclose(distances[:5, 0], nearest)


def _kd_tree(library, X):
    if library == "fastml":
        return KDTree(X)
    if library == "scipy":
        from scipy.spatial import cKDTree

        return cKDTree(X)
    if library == "pykdtree":
        from pykdtree.kdtree import KDTree as Peer

        return Peer(X)
    from sklearn.neighbors import KDTree as Peer

    return Peer(X)


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
def test_local_outlier_factor(measure, size, library):
    X = normal(size(small=500, full=50_000), 10)
    if library == "fastml":
        model = LocalOutlierFactor()
    else:
        from sklearn.neighbors import LocalOutlierFactor as Peer

        model = Peer(n_jobs=2)
    scores = measure(lambda: model.fit(X).negative_outlier_factor_)
    assert -1.3 < np.median(scores) < -0.9


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
def test_validation_curve(measure, size, library):
    X = normal(size(small=300, full=20_000), 20)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    ks = list(range(1, size(small=6, full=60), 2))
    if library == "fastml":
        best = measure(lambda: knn_validation_curve(X, y, ks, cv=10).best_score)
    else:
        from sklearn.model_selection import GridSearchCV
        from sklearn.neighbors import KNeighborsClassifier

        grid = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": ks}, cv=10, n_jobs=2)
        best = measure(lambda: grid.fit(X, y).best_score_)
    assert best > 0.7
