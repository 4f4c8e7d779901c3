"""Hierarchies, medoids and density clusters; judged by what each minimises."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find


def _blobs(n: int, d: int, k: int = 20, scale: float = 3.0) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=scale, size=(k, d))
    return SimpleNamespace(X=centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)), k=k)


def _linkage(module: str, method: str):
    def prepare(data):
        linkage = find(module, "linkage")
        return lambda: linkage(data.X, method)

    return prepare


def _genie(data):
    Genie = find("genieclust", "Genie")

    def fit():
        model = Genie(n_clusters=2, gini_threshold=1.0, coarser=False).fit(data.X)
        return np.column_stack([model.children_, model.distances_])

    return fit


def _heights(data, Z) -> float:
    return float(np.sum(np.asarray(Z)[:, 2]))


def _linkage_case(method: str, peers: dict) -> Case:
    return Case(
        work=f"{method} linkage, {{n:,}} × {{d}}",
        full={"n": 10_000, "d": 10},
        quick={"n": 2_000, "d": 10},
        build=_blobs,
        libraries={"fastml": _linkage("fastml.cluster", method), **peers},
        quality=_heights,
        yardstick="sum of heights",
    )


def _distances(n: int, d: int, k: int) -> SimpleNamespace:
    from scipy.spatial.distance import pdist, squareform

    data = _blobs(n, d, k, scale=1.0)
    data.D = squareform(pdist(data.X))
    data.start = np.random.default_rng(0).choice(n, k, replace=False)
    return data


def _our_medoids(data):
    KMedoids = find("fastml.cluster", "KMedoids")
    return lambda: KMedoids(data.k, metric="precomputed", init=data.start).fit(data.D).inertia_


def _rust_medoids(data):
    fasterpam = find("kmedoids", "fasterpam")
    return lambda: fasterpam(data.D, data.start.astype(np.uint64), n_cpu=1).loss


def _dbscan(module: str, **options):
    def prepare(data):
        DBSCAN = find(f"{module}.cluster", "DBSCAN")
        return lambda: DBSCAN(eps=0.05, min_samples=10, **options).fit(data.X).labels_

    return prepare


def _noise(data, labels) -> float:
    return float(np.mean(np.asarray(labels) < 0))


CASES = (
    *(
        _linkage_case(method, {name: _linkage(name, method) for name in ("fastcluster",)} | extra)
        for method, extra in (("average", {}), ("ward", {}), ("single", {"genieclust": _genie}))
    ),
    Case(
        work="KMedoids, {n:,} × {d}, k = {k}, precomputed",
        full={"n": 5_000, "d": 10, "k": 20},
        quick={"n": 1_000, "d": 10, "k": 20},
        build=_distances,
        libraries={"fastml": _our_medoids, "kmedoids": _rust_medoids},
        quality=lambda data, loss: float(loss),
        yardstick="loss",
    ),
    Case(
        work="DBSCAN, {n:,} × {d}",
        full={"n": 200_000, "d": 2},
        quick={"n": 20_000, "d": 2},
        build=_blobs,
        libraries={"fastml": _dbscan("fastml"), "sklearn": _dbscan("sklearn", n_jobs=2)},
        quality=_noise,
        yardstick="share of noise",
    ),
)
