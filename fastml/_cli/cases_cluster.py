"""k-means from the same centres, its seeding, and its defaults; judged by the inertia reached."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find

BLOCK = 20_000


def _blobs(n: int, d: int, k: int, dtype=np.float32) -> SimpleNamespace:
    """Overlapping Gaussian clusters and k of the points to start from."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3.0, size=(k, d))
    X = (centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))).astype(dtype)
    return SimpleNamespace(X=X, k=k, start=X[rng.choice(n, k, replace=False)].copy())


def _inertia(data, centres) -> float:
    """Sum of squared distances to the nearest centre, in float64."""
    C = np.asarray(centres, dtype=np.float64)
    half_norms = (C * C).sum(axis=1) / 2
    total = 0.0
    for first in range(0, data.X.shape[0], BLOCK):
        X = data.X[first : first + BLOCK].astype(np.float64)
        nearest = (half_norms - X @ C.T).argmin(axis=1)
        total += ((X - C[nearest]) ** 2).sum()
    return total


def _kmeans(module: str, **parameters):
    """``init="start"`` stands for the data's own starting centres."""

    def prepare(data):
        KMeans = find(f"{module}.cluster", "KMeans")
        chosen = {"random_state": 0, **parameters}
        if chosen.get("init") == "start":
            chosen["init"] = data.start
        return lambda: KMeans(data.k, **chosen).fit(data.X).cluster_centers_

    return prepare


def _faiss_kmeans(n_iter: int):
    def prepare(data):
        import faiss

        def train():
            model = faiss.Kmeans(
                data.X.shape[1], data.k, niter=n_iter, max_points_per_centroid=data.X.shape[0]
            )
            model.train(data.X, init_centroids=data.start)
            return model.centroids

        return train

    return prepare


def _plusplus(module: str):
    def prepare(data):
        kmeans_plusplus = find(f"{module}.cluster", "kmeans_plusplus")

        def seeded(seed: int):
            return kmeans_plusplus(data.X, data.k, random_state=seed)[0]

        return lambda: (seeded(0), seeded)

    return prepare


def _mean_inertia(data, answer) -> float:
    """Over five seeds: one draw says little about a sampler."""
    centres, seeded = answer
    return float(np.mean([_inertia(data, C) for C in [centres, *map(seeded, range(1, 5))]]))


def _lloyd_case(work: str, full: dict, quick: dict, *, faiss: bool = False, **parameters) -> Case:
    parameters = {"init": "start", "n_init": 1, **parameters}
    libraries = {name: _kmeans(name, **parameters) for name in ("fastml", "sklearn", "sklearnex")}
    if faiss:
        libraries["faiss"] = _faiss_kmeans(parameters["max_iter"])
    return Case(work, full, quick, _blobs, libraries, _inertia, "inertia")


CASES = (
    _lloyd_case(
        "KMeans, {n:,} × {d} float32, k = {k}, 50 iterations",
        {"n": 300_000, "d": 16, "k": 100},
        {"n": 30_000, "d": 16, "k": 100},
        faiss=True,
        max_iter=50,
        tol=0,
    ),
    _lloyd_case(
        "KMeans, {n:,} × {d} float32, k = {k}, to convergence",
        {"n": 100_000, "d": 64, "k": 200},
        {"n": 10_000, "d": 64, "k": 50},
    ),
    _lloyd_case(
        "KMeans, {n:,} × {d} float32, k = {k}, 50 iterations",
        {"n": 500_000, "d": 2, "k": 50},
        {"n": 50_000, "d": 2, "k": 50},
        max_iter=50,
        tol=0,
    ),
    Case(
        work="kmeans_plusplus, {n:,} × {d} float32, k = {k}",
        full={"n": 300_000, "d": 16, "k": 100},
        quick={"n": 30_000, "d": 16, "k": 100},
        build=_blobs,
        libraries={name: _plusplus(name) for name in ("fastml", "sklearn")},
        quality=_mean_inertia,
        yardstick="mean inertia",
    ),
    Case(
        work="KMeans, {n:,} × {d}, k = {k}, best of 10 random starts",
        full={"n": 10_000, "d": 10, "k": 8},
        quick={"n": 2_000, "d": 10, "k": 8},
        build=lambda **sizes: _blobs(**sizes, dtype=np.float64),
        libraries={
            name: _kmeans(name, init="random", n_init=10)
            for name in ("fastml", "sklearn", "sklearnex")
        },
        quality=_inertia,
        yardstick="inertia",
    ),
)
