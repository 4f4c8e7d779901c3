"""Neighbour search and what votes on it; densities and regression by kernels, beside exact sums."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import ON_ALL_CORES, SINGLE, SKLEARN, Case, Data, Quality, find, sizes
from fastml._cases._data import few_rows, labelled_blobs, with_outliers
from fastml._cases._judges import SAME_ACCURACY, SAME_R2, rmse
from fastml._cases._panels import regions

K = 10
N_CHECKED = 100
TREES = tuple({"algorithm": name} for name in ("brute", "kd_tree", "ball_tree"))

# ---------------------------------------------------------------------------- search


def points(n, n_queries, d):
    """Normal points and queries, and the distances of the true k-th neighbours of a few."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
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


def _finds_itself(data, tree) -> float:
    """Share of a few points whose nearest neighbour in the tree is themselves."""
    distances, indices = tree.query(data.X[data.checked], k=1)
    return float(np.mean((np.ravel(distances) == 0) & (np.ravel(indices) == data.checked)))


def _faiss_flat(data):
    import faiss

    index = faiss.IndexFlatL2(data.X.shape[1])
    index.add(data.X)
    return lambda: index.search(data.Q, K)


def _tree(path, query=None):
    """Its building or, with the options of a query, that."""

    def prepare(data):
        Tree = find(path)
        if query is None:
            return lambda: Tree(data.X)
        tree = Tree(data.X)
        return lambda: tree.query(data.Q, k=K, **query)

    return prepare


RECALL = Quality("recall", _recall, "more", 0.0, reference=lambda data: 1.0)
FOUND = Quality("found", _finds_itself, "more", 0.0, reference=lambda data: 1.0)
SEARCH = (
    Case(
        "knn-brute", "neighbors.NearestNeighbors",
        "brute k-NN, {n_queries:,} queries of {n:,} × {d} float32, k = 10",
        points, sizes(n=(2_000, 20_000, 100_000), n_queries=(300, 1_000, 5_000), d=64), RECALL,
        {"n_neighbors": K, "algorithm": "brute"}, "kneighbors",
        peers={"faiss": _faiss_flat, "sklearnex": {"n_jobs": -1}, **ON_ALL_CORES},
        variants=TREES, dtypes=SINGLE, headline=True,
    ),
    Case(
        "kd-tree-query", "neighbors.NearestNeighbors",
        "kd-tree query, {n_queries:,} queries of {n:,} × {d}, k = 10",
        points, sizes(n=(2_000, 50_000, 500_000), n_queries=(500, 20_000, 200_000), d=3), RECALL,
        {"n_neighbors": K, "algorithm": "kd_tree"}, "kneighbors",
        peers={
            "scipy": _tree("scipy.spatial.cKDTree", {"workers": -1}),
            "pykdtree": _tree("pykdtree.kdtree.KDTree", {}),
            **ON_ALL_CORES,
        },
    ),
    Case(
        "kd-tree-build", "neighbors.KDTree", "kd-tree build, {n:,} × {d}",
        points, sizes(n=(2_000, 50_000, 500_000), n_queries=1_000, d=3), FOUND, step="call",
        peers={
            "scipy": _tree("scipy.spatial.cKDTree"),
            "pykdtree": _tree("pykdtree.kdtree.KDTree"),
            "sklearn": {},
        },
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- votes and means


def smooth_blobs(n, d):
    """The blobs with values in the place of labels."""
    data = labelled_blobs(n, d, k=10)
    for rows, name in ((data.X, "y"), (data.Q, "y_new")):
        setattr(data, name, np.sin(rows[:, 0]) + rows[:, 1])
    return data


def _auc(data, model) -> float:
    """Probability that an outlier, one of the first rows, scores below an inlier."""
    scores = model.negative_outlier_factor_
    n, n_out = scores.size, scores.size // 100
    ranks = np.argsort(np.argsort(-scores))
    return float((ranks[:n_out].sum() - n_out * (n_out - 1) / 2) / (n_out * (n - n_out)))


def noisy_plane(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)
    return SimpleNamespace(X=X, y=y, arguments=("X", "y"))


def _grid_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier

    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": range(1, 31)}, cv=10, n_jobs=-1)
    return lambda: search.fit(data.X, data.y)


def _best_score(data, answer) -> float:
    return float(getattr(answer, "best_score", None) or answer.best_score_)


N, N_IN_BALLS = sizes(n=(500, 5_000, 50_000), d=8), sizes(n=(500, 2_000, 10_000), d=4)
ten_classes = partial(labelled_blobs, k=10)


def _voting(id, name, params, data=ten_classes, sizes=N, quality=SAME_ACCURACY, **more):
    chosen = ", ".join(str(value) for value in params.values())
    work = f"{name}.predict ({chosen}), {{n:,}} + {{n:,}} × {{d}}"
    more = {"peers": ON_ALL_CORES, **more}
    return Case(id, f"neighbors.{name}", work, data, sizes, quality, params, "predict", **more)


def _graph(id, name, params):
    edges = Quality("edges", lambda data, graph: float(graph.nnz), tolerance=0.0)
    return Case(
        id, f"neighbors.{name}", name + ", {n:,} × {d}", with_outliers, N, edges, params,
        "fit+transform", peers=ON_ALL_CORES, variants=TREES,
    )  # fmt: skip


BY_WEIGHT = ({"weights": "distance"}, {"weights": "gaussian"}, *TREES)
VOTES = (
    _voting("knn-classifier", "KNeighborsClassifier", {"algorithm": "brute", "n_neighbors": K},
            variants=BY_WEIGHT, draw=regions),
    *(
        _voting(f"knn-classifier-{name}", "KNeighborsClassifier",
                {"algorithm": name, "n_neighbors": K})
        for name in ("kd_tree", "ball_tree")
    ),
    _voting("knn-classifier-16", "KNeighborsClassifier", {"n_neighbors": K},
            sizes=sizes(n=(500, 5_000, 50_000), d=16)),
    _voting("knn-regressor", "KNeighborsRegressor", {"weights": "distance", "n_neighbors": K},
            smooth_blobs, quality=SAME_R2,
            variants=({"weights": "distance"}, {"weights": "linear"}, *TREES)),
    _voting("radius-classifier", "RadiusNeighborsClassifier", {"radius": 4.0, "outlier_label": 0},
            sizes=N_IN_BALLS, variants=TREES),
    _voting("radius-regressor", "RadiusNeighborsRegressor", {"radius": 6.0}, smooth_blobs,
            N_IN_BALLS, SAME_R2, variants=TREES),
    _voting("nearest-centroid", "NearestCentroid", {}, peers=SKLEARN),
    _graph("knn-transformer", "KNeighborsTransformer", {"n_neighbors": K}),
    _graph("radius-transformer", "RadiusNeighborsTransformer", {"radius": 1.5}),
    Case(
        "local-outlier-factor", "neighbors.LocalOutlierFactor", "LocalOutlierFactor, {n:,} × {d}",
        with_outliers, sizes(n=(500, 5_000, 50_000), d=10), Quality("AUC", _auc),
        peers={**ON_ALL_CORES, "sklearnex": {"n_jobs": -1}}, variants=({"novelty": True}, *TREES),
    ),
    Case(
        "knn-validation-curve", "neighbors.knn_validation_curve",
        "30 values of k by 10-fold validation, {n:,} × {d}",
        noisy_plane, sizes(n=(400, 2_000, 20_000), d=20), Quality("accuracy", _best_score),
        {"n_neighbors": range(1, 31), "cv": 10}, "call", peers={"sklearn": _grid_search},
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- densities

PROFILES = {  # log of the kernel at distance r, in bandwidths
    "gaussian": lambda r: -0.5 * r**2,
    "exponential": lambda r: -r,
    "epanechnikov": lambda r: np.log(np.maximum(1 - r**2, 0.0)),
}


def _log_volume(kernel, d) -> float:
    """Of the kernel at bandwidth 1: its integral."""
    from math import lgamma, log, pi

    ball = 0.5 * d * log(pi) - lgamma(0.5 * d + 1)
    if kernel == "gaussian":
        return 0.5 * d * log(2 * pi)
    return ball + (lgamma(d + 1) if kernel == "exponential" else log(2 / (d + 2)))


def normal_sample(n, n_queries, d, kernel, h=None):
    """Normal data, and exact log-densities of a few queries.

    SciPy scales the data's covariance by h²; the data are whitened so that all mean the same h.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T).reshape(d, d))).T
    Q = rng.normal(size=(n_queries, d))
    h = h or n ** (-1 / (d + 4))
    checked = np.argsort((Q**2).sum(axis=1))[: n_queries // 2 : max(n_queries // 80, 1)]
    with np.errstate(divide="ignore"):
        logs = np.array([PROFILES[kernel](_distances(Q[i], X) / h) for i in checked])
        highest = np.maximum(logs.max(axis=1, keepdims=True), -1e300)
        sums = np.log(np.exp(logs - highest).sum(axis=1)) + highest[:, 0]
    exact = sums - _log_volume(kernel, d) - d * np.log(h) - np.log(n)
    return SimpleNamespace(X=X, Q=Q, h=h, checked=checked, exact=exact)


def _log_error(data, log_density) -> float:
    found = np.asarray(log_density)[data.checked]
    known = found != data.exact  # both are minus infinity where no point is near
    return float(np.abs(found[known] - data.exact[known]).max(initial=0.0))


def _gaussian_kde(data):
    from scipy.stats import gaussian_kde

    # Its logpdf is several times slower than this.
    return lambda: np.log(gaussian_kde(data.X.T, bw_method=data.h)(data.Q.T))


def _mlpack_kde(data):
    from mlpack import kde

    def run():
        options = {"bandwidth": data.h, "kernel": "gaussian", "rel_error": 1e-4}
        return np.log(kde(reference=data.X, query=data.Q, **options)["predictions"])

    return run


def _density(kernel, d, n, n_queries, h=None, **more):
    return Case(
        f"kde-{kernel}-{d}", "neighbors.KernelDensity",
        f"KernelDensity, {kernel}, {{n:,}} points, {{n_queries:,}} queries, {{d}} features",
        partial(normal_sample, kernel=kernel, h=h), sizes(n=n, n_queries=n_queries, d=d),
        Quality("max error of log", _log_error, "error", 1e-8, peers={"mlpack": 1e-3}),
        {"bandwidth": Data("h"), "kernel": kernel}, "fit+score_samples", **more,
    )  # fmt: skip


ON_TREES = (
    {"algorithm": "ball_tree", "rtol": 1e-3},
    {"kernel": "epanechnikov", "algorithm": "kd_tree"},
)
SCIPY = {"scipy": _gaussian_kde}
DENSITIES = (
    _density("gaussian", 1, (500, 10_000, 100_000), (200, 2_000, 20_000), peers=SCIPY,
             variants=ON_TREES),
    _density("gaussian", 3, (500, 5_000, 50_000), (200, 1_000, 10_000),
             peers={**SCIPY, "mlpack": _mlpack_kde}),
    _density("gaussian", 10, (500, 2_000, 20_000), (200, 500, 5_000), peers=SCIPY),
    _density("epanechnikov", 2, (500, 20_000, 100_000), (200, 4_000, 20_000), h=0.1,
             peers=SKLEARN),
    *(
        _density(kernel, d, (500, 10_000, 50_000), (200, 2_000, 10_000), 5.0 if d == 10 else None)
        for kernel in ("epanechnikov", "exponential")
        for d in (1, 3, 10)
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- kernel regression


def sum_of_sines(n, n_queries, d):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
    h = n ** (-1 / (d + 4))
    y, truth = np.sin(X).sum(axis=1), np.sin(Q).sum(axis=1)
    return SimpleNamespace(X=X, y=y, Q=Q, h=h, y_new=truth)


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


def _rmse_of_means(data) -> float:
    """Lines must do better than means."""
    return rmse(data, _nadaraya_watson(data)())


def _kernel_votes(data):
    """Sums of the Gaussian kernel over each class, in NumPy."""
    members = np.eye(2)[data.y]

    def run():
        r2 = ((data.Q[:, None] - data.X) ** 2).sum(axis=-1)
        return (np.exp(-0.5 * r2) @ members).argmax(axis=1)

    return run


def grid_of_densities(make, data):
    model = make().fit(data.X)
    return lambda: model.score_grid()


def _integral(data, grid) -> float:
    """Of the density over the grid: one, but for what lies beyond its ends."""
    cell = np.prod([axis[1] - axis[0] for axis in grid.axes])
    return float(grid.density.sum() * cell)


QUERIES = sizes(n=(500, 5_000, 50_000), n_queries=(200, 1_000, 10_000), d=3)
SMOOTHING = (
    Case(
        "kde-grid", "neighbors.KernelDensity", "KernelDensity.score_grid, {n:,} × {d}",
        partial(points, n_queries=N_CHECKED), sizes(n=(500, 10_000, 100_000), d=2),
        Quality("integral", _integral, tolerance=0.01, reference=lambda data: 1.0),
        {"bandwidth": 0.2}, grid_of_densities,
    ),
    Case(
        "nadaraya-watson", "neighbors.KernelRegressor",
        "Nadaraya-Watson, {n:,} points, {n_queries:,} queries, {d} features",
        sum_of_sines, QUERIES, Quality("RMSE", rmse),
        {"bandwidth": Data("h")}, "fit+predict", peers={"numpy": _nadaraya_watson},
    ),
    Case(
        "local-linear", "neighbors.KernelRegressor",
        "KernelRegressor, local lines, {n:,} points, {n_queries:,} queries, {d} features",
        sum_of_sines, QUERIES, Quality("RMSE", rmse, "less", reference=_rmse_of_means),
        {"bandwidth": Data("h"), "local": "linear"}, "fit+predict",
    ),
    Case(
        "kernel-classifier", "neighbors.KernelClassifier", "KernelClassifier, {n:,} + {n:,} × {d}",
        labelled_blobs, sizes(n=(500, 2_000, 5_000), d=4), SAME_ACCURACY,
        {"bandwidth": 1.0}, "fit+predict", peers={"numpy": _kernel_votes},
    ),
)  # fmt: skip

CASES = (*SEARCH, *VOTES, *DENSITIES, *SMOOTHING)


def odd_branches():
    from fastml import neighbors

    def search(X, algorithm):
        model = neighbors.NearestNeighbors(algorithm=algorithm, radius=0.5).fit(X)
        model.kneighbors()
        model.kneighbors(X[:3], 40)
        model.radius_neighbors(sort_results=True)
        model.radius_neighbors(X[:3])

    def in_panels(X):
        X = np.tile(X, (20, 1))
        model = neighbors.NearestNeighbors(algorithm="brute", radius=0.1).fit(X)
        model.kneighbors(X[:300])
        model.radius_neighbors(X[:300])

    def other_metrics(X):
        for metric in ("manhattan", "canberra"):
            model = neighbors.NearestNeighbors(metric=metric, algorithm="brute").fit(X)
            model.kneighbors()
            model.radius_neighbors(radius=0.5)
        model = neighbors.NearestNeighbors(metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0]))
        model.kneighbors()
        model.radius_neighbors(radius=0.5)

    for dtype in (np.float32, np.float64):
        X, _ = few_rows(dtype, 600, 6)
        for tree in ("brute", "kd_tree", "ball_tree"):
            yield f"NearestNeighbors {tree} {dtype.__name__}", partial(search, X, tree)
        yield f"many points {dtype.__name__}", partial(in_panels, X)
        yield f"other metrics {dtype.__name__}", partial(other_metrics, X)
    X, y = few_rows(np.float64)
    globe = X[:, :2]
    yield "haversine", lambda: neighbors.BallTree(globe, metric="haversine").query(globe, 2)

    def votes():
        for weights in ("uniform", "distance"):
            nearest = neighbors.KNeighborsClassifier(weights=weights, on_tie="nearest")
            nearest.fit(X, y).predict(X)
            neighbors.KNeighborsRegressor(weights=weights).fit(X, X).predict(X)
            neighbors.RadiusNeighborsClassifier(8.0, weights=weights).fit(X, y).predict(X)
            neighbors.RadiusNeighborsRegressor(8.0, weights=weights).fit(X, X).predict(X)

    def densities():
        line = np.repeat(X[:, :1], 3, axis=0)
        neighbors.KernelDensity(bandwidth=9.0).fit(line).score(line)
        neighbors.KernelDensity(metric="manhattan").fit(X).score(X)
        neighbors.KernelDensity().fit(X[:, :1]).score_grid(8)
        neighbors.KernelRegressor(local="linear").fit(X, y).predict(X)

    yield "votes and means", votes
    yield "densities", densities
