"""k-means and its relatives, hierarchies, medoids and density clusters; judged by what they
minimise."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SINGLE_FIRST, SKLEARN, Case, Data, Peers, Quality, find, sizes
from fastml._cases._data import blobs, few_rows, sparse_rows
from fastml._cases._judges import inertia
from fastml._cases._panels import clusters

# ---------------------------------------------------------------------------- k-means


def _faiss_kmeans(data):
    import faiss

    n, d = data.X.shape

    def train():
        model = faiss.Kmeans(d, data.k, niter=50, max_points_per_centroid=n)
        model.train(data.X, init_centroids=data.start)
        return model.centroids

    return train


def seed_centres(make, data):
    """Also returns how to draw with other seeds: one draw says little about a sampler."""

    def draw(seed=0):
        return make(data.X, random_state=seed)[0]

    return lambda: (draw(), draw)


def _mean_inertia(data, answer) -> float:
    centres, draw = answer
    return float(np.mean([inertia(data, C) for C in [centres, *map(draw, range(1, 5))]]))


def sparse_start(n, d, k):
    data = sparse_rows(n, d, 20)
    return SimpleNamespace(X=data.X, start=data.X[:k].toarray())


INERTIA = Quality("inertia", inertia, "less", 1e-3)
FROM_START = {"n_clusters": Data("k"), "init": Data("start"), "n_init": 1}
FIXED = {**FROM_START, "max_iter": 50, "tol": 0}
SEEDED = {"n_clusters": Data("k"), "random_state": 0}
PEERS: Peers = {**SKLEARN, "sklearnex": {}}

K_MEANS = (
    Case(
        "kmeans-16", "cluster.KMeans", "KMeans, {n:,} × {d} float32, k = {k}, 50 iterations",
        blobs, sizes(n=(300, 30_000, 300_000), d=16, k=(5, 100, 100)), INERTIA, FIXED,
        also=("predict", "transform"), peers={**PEERS, "faiss": _faiss_kmeans},
        variants=({"algorithm": "elkan"}, {"init": "random", "n_init": 2}),
        dtypes=SINGLE_FIRST, draw=clusters, headline=True,
    ),
    Case(
        "kmeans-64", "cluster.KMeans", "KMeans, {n:,} × {d} float32, k = {k}, to convergence",
        blobs, sizes(n=(300, 10_000, 100_000), d=64, k=(5, 50, 200)), INERTIA, FROM_START,
        peers=PEERS, dtypes=SINGLE_FIRST,
    ),
    Case(
        "kmeans-2", "cluster.KMeans", "KMeans, {n:,} × {d} float32, k = {k}, 50 iterations",
        blobs, sizes(n=(300, 50_000, 500_000), d=2, k=(5, 50, 50)), INERTIA, FIXED,
        peers=PEERS, dtypes=SINGLE_FIRST,
    ),
    Case(
        "kmeans-lloyd", "cluster.KMeans",
        "KMeans without bounds, {n:,} × {d} float32, k = {k}, 20 iterations",
        blobs, sizes(n=(300, 20_000, 300_000), d=16, k=(5, 50, 100)), INERTIA,
        {**FIXED, "max_iter": 20, "algorithm": "lloyd"}, peers=SKLEARN, dtypes=SINGLE_FIRST,
    ),
    Case(
        "kmeans-csr", "cluster.KMeans",
        "KMeans, CSR {n:,} × {d:,}, 20 values a row, k = {k}, 20 iterations",
        sparse_start, sizes(n=(300, 5_000, 50_000), d=(50, 500, 1_000), k=(5, 20, 50)), INERTIA,
        {**FIXED, "max_iter": 20}, peers=SKLEARN, dtypes=BOTH,
    ),
    Case(
        "kmeans-plusplus", "cluster.kmeans_plusplus",
        "kmeans_plusplus, {n:,} × {d} float32, k = {k}",
        blobs, sizes(n=(300, 30_000, 300_000), d=16, k=(5, 100, 100)),
        Quality("mean inertia", _mean_inertia, "less", 0.03, tiny=0.3),
        {"n_clusters": Data("k")}, seed_centres, peers=SKLEARN, dtypes=SINGLE_FIRST,
    ),
    Case(
        "kmeans-random-starts", "cluster.KMeans",
        "KMeans, {n:,} × {d}, k = {k}, best of 10 random starts",
        blobs, sizes(n=(300, 2_000, 10_000), d=10, k=(4, 8, 8)),
        Quality("inertia", inertia, "less", 0.02, tiny=0.3),
        {**SEEDED, "init": "random", "n_init": 10}, peers=PEERS, dtypes=BOTH,
    ),
    Case(
        "minibatch-kmeans", "cluster.MiniBatchKMeans",
        "MiniBatchKMeans, {n:,} × {d} float32, k = {k}, 5 epochs",
        blobs, sizes(n=(2_000, 20_000, 300_000), d=16, k=(5, 50, 100)),
        Quality("inertia", inertia, "less", 0.05, tiny=0.3),
        {**FIXED, "max_iter": 5, "max_no_improvement": None, "random_state": 0}, peers=SKLEARN,
        variants=({"batch_size": 32},), dtypes=SINGLE_FIRST,
    ),
    Case(
        "bisecting-kmeans", "cluster.BisectingKMeans",
        "BisectingKMeans, {n:,} × {d} float32, k = {k}",
        blobs, sizes(n=(300, 20_000, 200_000), d=8, k=(5, 20, 20)),
        Quality("inertia", inertia, "less", 0.1, tiny=0.3), SEEDED, peers=SKLEARN,
        variants=({"bisecting_strategy": "largest_cluster"},), dtypes=SINGLE_FIRST,
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- other centres


def _angle(X, C):
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(C, axis=1)
    return 1.0 - X @ C.T / lengths


def _straight(X, C):
    return np.stack([np.linalg.norm(X - c, axis=1) for c in C], axis=1)


DISTANCES = {
    "KMedians": lambda X, C: np.stack([np.abs(X - c).sum(axis=1) for c in C], axis=1),
    "SphericalKMeans": _angle,
}


def one_row_of_each(n, d, k):
    data = blobs(n, d, k)
    data.start = data.X[[int(np.flatnonzero(data.truth == j)[0]) for j in range(k)]]
    return data


def _centres(name, variants=(), **params):
    """As near to the rows as the true centres of the blobs are."""

    def judge(data, model) -> float:
        C = np.asarray(getattr(model, "cluster_centers_", model))
        return float(DISTANCES.get(name, _straight)(data.X, C).min(axis=1).mean())

    def reference(data) -> float:
        return judge(data, data.centres)

    return Case(
        name.lower(), f"cluster.{name}", name + ", {n:,} × {d}, k = {k}",
        one_row_of_each, sizes(n=(500, 10_000, 200_000), d=8, k=(4, 10, 10)),
        Quality("mean distance", judge, "less", 0.01, reference=reference),
        {"n_clusters": Data("k"), **params}, also=("predict",), dtypes=BOTH, variants=variants,
    )  # fmt: skip


FROM_ROWS = {"init": Data("start"), "max_iter": 10, "tol": 0}
OTHER_CENTRES = (
    *(_centres(name, **FROM_ROWS) for name in ("KMedians", "SphericalKMeans", "SoftKMeans")),
    _centres("BFR", random_state=0, chunk_size=20_000),
    _centres(
        "KCentroids",
        metric="euclidean",
        **FROM_ROWS,
        variants=(
            {"metric": "manhattan"},
            {"metric": "canberra"},
        ),
    ),
)

# ---------------------------------------------------------------------------- hierarchies


def _linkage(module: str, method: str):
    def prepare(data):
        linkage = find(f"{module}.linkage")
        return lambda: linkage(data.X, method)

    return prepare


def _genie(data):
    model = find("genieclust.Genie")(n_clusters=2, gini_threshold=1.0, coarser=False)

    def fit():
        model.fit(data.X)
        return np.column_stack([model.children_, model.distances_])

    return fit


def _heights(data, Z) -> float:
    return float(np.sum(np.asarray(Z)[:, 2]))


def _linkage_case(method: str, **more) -> Case:
    libraries = {"fastcluster": "fastcluster", "scipy": "scipy.cluster.hierarchy"}
    return Case(
        f"linkage-{method}", "cluster.linkage", f"{method} linkage, {{n:,}} × {{d}}",
        blobs, sizes(n=(200, 2_000, 10_000), d=10, k=20),
        Quality("sum of heights", _heights, tolerance=1e-6), {"method": method}, "call",
        peers={**{name: _linkage(path, method) for name, path in libraries.items()}, **more},
    )  # fmt: skip


def grid_of_points(side):
    from sklearn.feature_extraction.image import grid_to_graph

    X = blobs(side * side, 3, 20).X
    return SimpleNamespace(X=X, graph=grid_to_graph(side, side), k=min(20, side))


def _within(data, model) -> float:
    """Sum of squares within clusters over the sum of all."""
    X, labels = data.X - data.X.mean(axis=0), model.labels_
    inside = sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in set(labels))
    return float(inside / (X**2).sum())


# ---------------------------------------------------------------------------- medoids, density


def distance_matrix(n, d, k):
    from scipy.spatial.distance import pdist, squareform

    start = np.random.default_rng(0).choice(n, k, replace=False)
    return SimpleNamespace(X=squareform(pdist(blobs(n, d, k, scale=1.0).X)), start=start)


def _rust_medoids(data):
    fasterpam, start = find("kmedoids.fasterpam"), data.start.astype(np.uint64)
    return lambda: fasterpam(data.X, start, n_cpu=1).loss


LOSS = Quality(
    "loss",
    lambda data, answer: float(getattr(answer, "inertia_", answer)),
    "less",
    1e-6,
    reference=lambda data: data.X[data.start].min(axis=0).sum(),
)
CASES = (
    *K_MEANS,
    *OTHER_CENTRES,
    _linkage_case("average"),
    _linkage_case("ward"),
    _linkage_case("single", genieclust=_genie),
    Case(
        "agglomerative-grid", "cluster.AgglomerativeClustering",
        "AgglomerativeClustering, Ward along a grid of {side} × {side}",
        grid_of_points, sizes(side=(12, 30, 200)), Quality("share within", _within),
        {"n_clusters": Data("k"), "connectivity": Data("graph")}, peers=SKLEARN,
        variants=(
            {"compute_distances": True},
            *({"linkage": name} for name in ("complete", "average", "single")),
        ),
    ),
    Case(
        "kmedoids", "cluster.KMedoids", "KMedoids, {n:,} × {d}, k = {k}, precomputed",
        distance_matrix, sizes(n=(200, 1_000, 5_000), d=10, k=(8, 20, 20)), LOSS,
        {"n_clusters": Data("k"), "metric": "precomputed", "init": Data("start")},
        peers={"kmedoids": _rust_medoids}, dtypes=BOTH,
    ),
    Case(
        "dbscan-one-ball", "cluster.DBSCAN", "DBSCAN, all rows near each other, {n:,} × {d}",
        partial(blobs, k=1), sizes(n=(300, 2_000, 8_000), d=30),
        Quality("share of noise", lambda data, model: float(np.mean(model.labels_ < 0))),
        {"eps": 1e3, "min_samples": 10}, peers={"sklearn": {"n_jobs": 2}},
    ),
    Case(
        "dbscan", "cluster.DBSCAN", "DBSCAN, {n:,} × {d}",
        partial(blobs, k=20), sizes(n=(1_000, 20_000, 200_000), d=2),
        Quality("share of noise", lambda data, model: float(np.mean(model.labels_ < 0))),
        {"eps": 0.05, "min_samples": 10}, peers={"sklearn": {"n_jobs": 2}},
        variants=tuple({"algorithm": name} for name in ("brute", "kd_tree", "ball_tree")),
        dtypes=BOTH,
    ),
)  # fmt: skip


def odd_branches():
    from scipy.sparse import csr_array, diags_array
    from scipy.spatial.distance import pdist

    from fastml import cluster

    X, _ = few_rows(np.float64)
    path = diags_array([np.ones(59)], offsets=[1], shape=(60, 60)).tocsr()

    def kmeans(rows):
        for algorithm in ("lloyd", "elkan"):
            model = cluster.KMeans(3, n_init=2, random_state=0, algorithm=algorithm).fit(rows)
        model.predict(rows)
        model.transform(rows)
        cluster.KMeans(7, n_init=10, init="random", random_state=0, max_iter=2).fit(rows)
        # A centre far away stays empty: the rule of empty clusters.
        far = np.vstack([np.zeros((2, 3)), np.full((1, 3), 1e3)])
        cluster.KMeans(3, init=far).fit(rows)
        cluster.MiniBatchKMeans(3, random_state=0).fit(rows)
        cluster.BisectingKMeans(3, random_state=0).fit(rows).predict(rows)

    def trees():
        for method in ("single", "complete", "ward", "centroid"):
            cluster.linkage(X, method)
            cluster.linkage(pdist(X), method)
        cluster.linkage(X, "average", "canberra")
        for method in ("ward", "average", "single"):
            options = {"linkage": method, "connectivity": path}
            cluster.AgglomerativeClustering(2, **options).fit(X)
            cluster.AgglomerativeClustering(3, compute_full_tree=False, **options).fit(X)

    def others(rows):
        for algorithm in ("kd_tree", "brute"):
            dbscan = cluster.DBSCAN(eps=1.0, min_samples=3, algorithm=algorithm)
            dbscan.fit(rows, sample_weight=np.ones(len(rows)))
        D = np.abs(rows[:, :1] - rows[:, 0])
        for weights in (None, np.ones(len(rows))):
            cluster.DBSCAN(eps=1.0, metric="precomputed").fit(D, sample_weight=weights)
        for init in ("random", "build"):
            cluster.KMedoids(3, init=init, metric="precomputed", random_state=0).fit(D)
            cluster.KMedoids(3, init=init, random_state=0).fit(rows).predict(rows)
        cluster.SoftKMeans(3, method="fuzzy", random_state=0).fit(rows).predict(rows)
        cluster.BFR(3, random_state=0, chunk_size=30).fit(rows)

    yield "hierarchies", trees
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        yield f"k-means {dtype.__name__}", partial(kmeans, rows)
        yield f"k-means CSR {dtype.__name__}", partial(kmeans, csr_array(rows))
        yield f"weights, medoids, fuzzy means {dtype.__name__}", partial(others, rows)
