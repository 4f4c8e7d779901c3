"""Compile ahead of time: tiny calls of every family, both float types, both twins of every kernel.

A family is a generator of ``(what, call)`` pairs; running all calls must leave no registered kernel
uncompiled (a test checks that).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

Call = tuple[str, Callable[[], object]]


def _data(dtype, n_rows: int = 60, n_features: int = 3):
    """Three blobs on a deterministic grid: (X, y)."""
    grid = np.arange(n_rows * n_features, dtype=np.float64).reshape(n_rows, n_features)
    labels = np.arange(n_rows) % 3
    return (np.sin(grid * 12.9898) + 4.0 * labels[:, None]).astype(dtype), labels


def _mixture() -> Iterator[Call]:
    from fastml.mixture import GaussianMixture

    for dtype in (np.float32, np.float64):
        X, _ = _data(dtype)
        for shape in ("full", "tied", "diag"):

            def fit(X=X, shape=shape):
                model = GaussianMixture(3, covariance_type=shape, random_state=0).fit(X)
                model.predict_proba(X)
                model.predict(X)

            yield f"GaussianMixture {shape} {dtype.__name__}", fit


def _cluster_metrics() -> Iterator[Call]:
    from fastml.metrics import adjusted_mutual_info_score, dunn_index, silhouette_samples
    from fastml.metrics._cluster_sizes import Clusters
    from fastml.metrics._silhouette import euclidean_coefficients

    X, labels = _data(np.float64)
    yield "silhouette", lambda: silhouette_samples(X, labels)
    yield (
        "silhouette of many clusters",
        lambda: euclidean_coefficients(X, Clusters(labels), budget=0),
    )
    yield "silhouette, any metric", lambda: silhouette_samples(X, labels, metric="manhattan")
    yield "Dunn index", lambda: dunn_index(X, labels)
    yield "expected information", lambda: adjusted_mutual_info_score(labels, labels[::-1])


def _metrics() -> Iterator[Call]:
    from scipy.sparse import csr_array

    from fastml.kernels.user_metric import sample_metric
    from fastml.metrics.pairwise import pairwise_distances, pairwise_distances_argmin

    for dtype in (np.float32, np.float64):
        narrow, wide = np.abs(_data(dtype)[0]), np.abs(_data(dtype, n_features=12)[0])
        calls = {
            "euclidean": lambda X=wide: pairwise_distances(X),
            "manhattan": lambda X=narrow: pairwise_distances(X, metric="manhattan"),
            "canberra": lambda X=narrow: pairwise_distances(X, metric="canberra"),
            "sparse euclidean": lambda X=narrow: pairwise_distances(csr_array(X)),
            "sparse manhattan": lambda X=narrow: pairwise_distances(csr_array(X), metric="l1"),
            "jaccard": lambda X=narrow: pairwise_distances(X > 1, metric="jaccard"),
            "a function": lambda X=narrow: pairwise_distances(X, metric=sample_metric),
            "nearest": lambda X=wide: pairwise_distances_argmin(X, X),
            "nearest manhattan": lambda X=narrow: pairwise_distances_argmin(X, X, metric="l1"),
        }
        for what, call in calls.items():
            yield f"{what} {dtype.__name__}", call
    yield from _cluster_metrics()


def _neighbors() -> Iterator[Call]:
    from fastml import neighbors

    for dtype in (np.float32, np.float64):
        X, y = _data(dtype, 600, 6)
        name = dtype.__name__
        for algorithm in ("brute", "kd_tree", "ball_tree"):

            def search(X=X, algorithm=algorithm):
                model = neighbors.NearestNeighbors(algorithm=algorithm, radius=0.5).fit(X)
                model.kneighbors()
                model.kneighbors(X[:3], 40)
                model.radius_neighbors(sort_results=True)
                model.radius_neighbors(X[:3])

            yield f"NearestNeighbors {algorithm} {name}", search

        def in_panels(X=X):
            X = np.tile(X, (20, 1))
            model = neighbors.NearestNeighbors(algorithm="brute", radius=0.1).fit(X)
            model.kneighbors(X[:300])
            model.radius_neighbors(X[:300])

        def other_metric(X=X):
            for metric in ("manhattan", "canberra"):
                model = neighbors.NearestNeighbors(metric=metric, algorithm="brute").fit(X)
                model.kneighbors()
                model.radius_neighbors(radius=0.5)

        def distance_matrix(X=X):
            D = np.abs(X[:, :1] - X[:, 0])
            model = neighbors.NearestNeighbors(metric="precomputed").fit(D)
            model.kneighbors()
            model.radius_neighbors(radius=0.5)

        yield f"NearestNeighbors brute, many points, {name}", in_panels
        yield f"any metric {name}", other_metric
        yield f"distance matrix {name}", distance_matrix
    X, y = _data(np.float64)

    def on_the_globe():
        neighbors.BallTree(X[:, :2], metric="haversine").query(X[:, :2], 2)

    yield "BallTree haversine", on_the_globe

    def votes():
        for weights in ("uniform", "distance"):
            for on_tie in ("smallest", "nearest"):
                model = neighbors.KNeighborsClassifier(weights=weights, on_tie=on_tie).fit(X, y)
                model.predict(X)
            model.predict_proba(X)
            neighbors.KNeighborsRegressor(weights=weights).fit(X, X).predict(X)
            neighbors.RadiusNeighborsClassifier(8.0, weights=weights).fit(X, y).predict(X)
            neighbors.RadiusNeighborsRegressor(8.0, weights=weights).fit(X, X).predict(X)

    yield "votes and means", votes


def _cluster() -> Iterator[Call]:
    import scipy.sparse as sp

    from fastml.cluster import BisectingKMeans, KMeans, MiniBatchKMeans

    for dtype in (np.float32, np.float64):
        X, _ = _data(dtype)
        for kind, rows in (("dense", X), ("CSR", sp.csr_array(X))):

            def fit(rows=rows):
                for algorithm in ("lloyd", "elkan"):
                    model = KMeans(3, n_init=2, random_state=0, algorithm=algorithm).fit(rows)
                model.predict(rows)
                model.transform(rows)
                KMeans(7, n_init=10, init="random", random_state=0, max_iter=2).fit(rows)
                # A centre far away stays empty: the rule of empty clusters.
                far = np.vstack([np.zeros((2, 3)), np.full((1, 3), 1e3)])
                KMeans(3, init=far).fit(rows)
                MiniBatchKMeans(3, random_state=0).fit(rows)
                BisectingKMeans(3, random_state=0).fit(rows).predict(rows)

            yield f"k-means {kind} {dtype.__name__}", fit


def _density() -> Iterator[Call]:
    from fastml.neighbors import KernelClassifier, KernelDensity, KernelRegressor

    X, y = _data(np.float64)
    line = np.repeat(X[:, :1], 3, axis=0)

    def densities():
        KernelDensity().fit(X).score_samples(X)
        for columns in (1, 2):
            KernelDensity().fit(X[:, :columns]).score_grid(8)

    yield "KernelDensity", densities
    yield "KernelDensity on a line", lambda: KernelDensity(bandwidth=9.0).fit(line).score(line)
    yield "KernelDensity manhattan", lambda: KernelDensity(metric="manhattan").fit(X).score(X)
    yield "least squares", lambda: KernelDensity(bandwidth="lscv", kernel="cosine").fit(X)
    yield "KernelClassifier", lambda: KernelClassifier().fit(X, y).predict(X)
    yield "KernelRegressor", lambda: KernelRegressor(local="linear").fit(X, y).predict(X)


def _clusterings() -> Iterator[Call]:
    """The clusterings beside k-means."""
    from scipy.sparse import diags_array
    from scipy.spatial.distance import pdist

    from fastml import cluster

    X, _ = _data(np.float64)
    path = diags_array([np.ones(59)], offsets=[1], shape=(60, 60)).tocsr()

    def trees():
        for method in ("single", "complete", "ward", "centroid"):
            cluster.linkage(X, method)
            cluster.linkage(pdist(X), method)
        cluster.linkage(X, "average", "canberra")
        for method in ("ward", "average", "single"):
            options = {"linkage": method, "connectivity": path}
            cluster.AgglomerativeClustering(2, **options).fit(X)
            cluster.AgglomerativeClustering(3, compute_full_tree=False, **options).fit(X)

    yield "hierarchies", trees
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)

        def fit(rows=rows):
            for algorithm in ("kd_tree", "brute"):
                dbscan = cluster.DBSCAN(eps=1.0, min_samples=3, algorithm=algorithm)
                dbscan.fit(rows).fit(rows, sample_weight=np.ones(len(rows)))
            for init in ("random", "build"):
                D = np.abs(rows[:, :1] - rows[:, 0])
                cluster.KMedoids(3, init=init, metric="precomputed", random_state=0).fit(D)
                cluster.KMedoids(3, init=init, random_state=0).fit(rows).predict(rows)
            cluster.KMedians(3, random_state=0).fit(rows).predict(rows)
            for method in ("soft", "fuzzy"):
                cluster.SoftKMeans(3, method=method, random_state=0).fit(rows).predict(rows)
            cluster.SphericalKMeans(3, random_state=0).fit(rows).predict(rows)
            cluster.BFR(3, random_state=0, chunk_size=30).fit(rows)

        yield f"DBSCAN, medoids, medians, soft means {dtype.__name__}", fit


def _linear_svm() -> Iterator[Call]:
    """Linear machines, and kernel classifiers other than by SMO."""
    from scipy.sparse import csr_array

    from fastml import svm

    X, y = _data(np.float64)

    def fit():
        for rows in (X, csr_array(X)):
            svm.LinearSVC().fit(rows, y)
            svm.LinearSVC(dual=True).fit(rows, y)
            svm.LinearSVC(penalty="l1").fit(rows, y)
            svm.LinearSVC(multi_class="crammer_singer").fit(rows, y)
            svm.LinearSVR().fit(rows, y)

    yield "linear machines", fit
    yield "KernelPerceptron", lambda: svm.KernelPerceptron().fit(X, y).predict(X)
    yield "KernelLogisticRegression", lambda: svm.KernelLogisticRegression().fit(X, y).predict(X)


def _kernel_ridge() -> Iterator[Call]:
    from fastml._ridge_path import inverse_trace
    from fastml.kernel_ridge import KernelRidge

    X, y = _data(np.float64)
    yield "KernelRidge", lambda: KernelRidge(kernel="rbf").fit(X, y).predict(X)
    yield "trace of an inverse", lambda: inverse_trace(np.ones((4, 3)), np.zeros((3, 3)))


def _svm() -> Iterator[Call]:
    """Machines by SMO: whole matrices, working sets in both precisions, sums of any kernel."""
    from scipy.sparse import csr_array

    from fastml import svm
    from fastml.svm import _decision, _smo, _sources

    X, y = _data(np.float64)
    machines = (svm.SVC(), svm.NuSVC(nu=0.1), svm.SVR(), svm.NuSVR(), svm.OneClassSVM())

    def small():
        for machine in machines:
            machine.fit(X, y).predict(X)
        svm.SVC(kernel="laplacian").fit(csr_array(X), y).predict(csr_array(X))

    def by_rounds():
        whole, many, single = _smo.WHOLE, _decision.MANY_VALUES, _sources.SINGLE_FROM
        _sources.SINGLE_FROM = 0
        try:
            svm.SVC().fit(X, y)
            _smo.WHOLE = 10
            for C in (1.0, 1e9):  # float32 and float64 rows
                svm.SVR(C=C, max_iter=100).fit(X, y)
            _decision.MANY_VALUES = 0
            svm.SVR().fit(X, y).predict(X)
        finally:
            _smo.WHOLE, _decision.MANY_VALUES, _sources.SINGLE_FROM = whole, many, single

    yield "SVC, SVR, OneClassSVM", small
    yield "SVR by working sets", by_rounds


def _tree() -> Iterator[Call]:
    from fastml import tree
    from fastml.kernels.tree_nodes import ABSOLUTE_ERROR, GINI, SQUARED_ERROR
    from fastml.tree._grow import Options, grow, presort

    many, labels = _data(np.float32, 12_000, 6)
    orders = presort(many, 2)

    def side_by_side(criterion):
        if criterion == GINI:
            target = {"classes": labels[None].astype(np.int32), "n_classes": [3]}
        else:
            target = {"values": labels[None].astype(np.float64)}
        grow(orders, Options(criterion), n_threads=2, **target)

    for name, criterion in (
        ("DecisionTreeClassifier", GINI),
        ("DecisionTreeRegressor", SQUARED_ERROR),
        ("absolute error", ABSOLUTE_ERROR),
    ):
        yield f"{name}, in parallel", partial(side_by_side, criterion)
    X, y = many[:60], labels[:60]

    def classify():
        for targets in (y, np.column_stack([y, y])):
            model = tree.DecisionTreeClassifier(ccp_alpha=0.4).fit(X, targets)
            model.predict(X)
            model.decision_path(X)
            model.feature_importances_  # noqa: B018
        tree.DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y)
        codes = (X[:, :1] > 0).astype(np.float32)
        tree.DecisionTreeClassifier(categorical_features=[0]).fit(codes, y)

    def regress():
        for targets in (y * 1.0, np.column_stack([y, y])):
            for criterion in ("squared_error", "absolute_error"):
                model = tree.DecisionTreeRegressor(criterion=criterion).fit(X, targets)
                model.feature_importances_  # noqa: B018
        model = tree.DecisionTreeRegressor(max_leaf_nodes=3).fit(X, y)
        model._compute_partial_dependence_recursion(X[:1, :1], [0])

    yield "DecisionTreeClassifier", classify
    yield "DecisionTreeRegressor", regress


def _boosting() -> Iterator[Call]:
    from fastml.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from fastml.kernels.boost_loss import sample_loss

    few = {"max_iter": 2, "min_samples_leaf": 2, "max_leaf_nodes": 4, "random_state": 0}
    for dtype in (np.float32, np.float64):
        X, y = _data(dtype)

        def fit(X=X, y=y):
            HistGradientBoostingClassifier(early_stopping=True, **few).fit(X, y).predict_proba(X)

        yield f"HistGradientBoosting {dtype.__name__}", fit
    X, y = _data(np.float64)
    codes = np.round(np.abs(X[:, :1]))

    def others():  # two classes, categories
        few_categories = {"categorical_features": [0], "early_stopping": False, **few}
        HistGradientBoostingClassifier(**few_categories).fit(codes, y > 0)

    yield "HistGradientBoosting with categories", others
    yield (
        "a loss of one's own",
        lambda: HistGradientBoostingRegressor(loss=sample_loss, **few).fit(X, X[:, 0]),
    )


def _exact_boosting() -> Iterator[Call]:
    from fastml.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    X, y = _data(np.float32)

    def fit():
        for labels, weights in ((y, None), (y == 1, y + 1.0)):
            for share in (1.0, 0.5):
                model = GradientBoostingClassifier(
                    n_estimators=2, subsample=share, min_impurity_decrease=1e-9
                )
                model.fit(X, labels, sample_weight=weights).predict_proba(X)
        model.feature_importances_  # noqa: B018
        model.apply(X)
        for more in ({"loss": "huber"}, {"max_leaf_nodes": 4}, {"max_features": 1}):
            GradientBoostingRegressor(n_estimators=2, **more).fit(X, y)

    yield "GradientBoosting", fit


def _forests() -> Iterator[Call]:
    from fastml import ensemble

    rows, labels = _data(np.float32, 600)
    for name, X, y in (("few values", rows[:60], labels[:60]), ("many values", rows, labels)):

        def classify(X=X, y=y):
            for target in (y, y == 1):
                model = ensemble.RandomForestClassifier(8, oob_score=True, ccp_alpha=0.01)
                model.fit(X, target)
                model.feature_importances_  # noqa: B018
                model.predict(X)
                model.predict(X[:1])
                model.apply(X)
                model.decision_path(X)

        def regress(X=X, y=y):
            for target in (y * 1.0, np.column_stack([y, y])):
                ensemble.RandomForestRegressor(4).fit(X, target)
            large = ensemble.RandomForestRegressor(4).fit(X, X[:, 0])
            large.predict(X[:1])  # few rows through large trees go another way than many
            ensemble.RandomForestRegressor(4, criterion="absolute_error").fit(X, y).predict(X)
            model = ensemble.RandomForestRegressor(4, max_leaf_nodes=9).fit(X, y)
            model.predict_quantiles(X)

        yield f"RandomForestClassifier, {name}", classify
        yield f"RandomForestRegressor, {name}", regress

    def extra():
        for target in (labels, labels == 1):
            ensemble.ExtraTreesClassifier(4).fit(rows, target).predict(rows)
        for target in (labels, np.column_stack([labels, labels])):
            ensemble.ExtraTreesRegressor(4).fit(rows, target).predict(rows)

    yield "ExtraTrees", extra
    yield "IsolationForest", lambda: ensemble.IsolationForest().fit(rows).predict(rows)
    yield "RandomTreesEmbedding", lambda: ensemble.RandomTreesEmbedding(4).fit_transform(rows)


def _adaboost() -> Iterator[Call]:
    from fastml import ensemble, tree

    X, y = _data(np.float32)

    def classify():
        for depth in (1, 2):
            base = tree.DecisionTreeClassifier(max_depth=depth)
            ensemble.AdaBoostClassifier(base, n_estimators=3).fit(X, y).predict(X)

    yield "AdaBoostClassifier", classify
    regressor = ensemble.AdaBoostRegressor(n_estimators=3)
    yield "AdaBoostRegressor", lambda: regressor.fit(X, X[:, 0]).predict(X)


FAMILIES: dict[str, Callable[[], Iterator[Call]]] = {
    "density": _density,
    "ensemble": lambda: chain(_boosting(), _exact_boosting(), _forests(), _adaboost()),
    "neighbors": _neighbors,
    "metrics": _metrics,
    "mixture": _mixture,
    "cluster": lambda: chain(_cluster(), _clusterings()),
    "svm": lambda: chain(_linear_svm(), _svm()),
    "kernel_ridge": _kernel_ridge,
    "tree": _tree,
}


def warmup(only: str | None = None, progress: Callable[[str, int, int], None] | None = None) -> int:
    """Compile the kernels of every family, or of the family ``only``, into the on-disk cache.

    Parameters
    ----------
    only : str, default=None
        A family's name: one of the submodules. None means all.
    progress : callable, default=None
        Called as ``progress(what, done, total)`` before each step.

    Returns
    -------
    n_compiled : int
        Functions compiled now; those found in the cache do not count.

    Examples
    --------
    >>> import fastml
    >>> fastml.warmup()  # doctest: +SKIP
    """
    from fastml._jit import compile_both_twins, statistics
    from fastml._registry import lookup

    families = FAMILIES if only is None else {only: lookup(FAMILIES, only, "family")}
    calls = [
        (f"{name}: {what}", call) for name, family in families.items() for what, call in family()
    ]
    before = statistics.compiled
    with compile_both_twins(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for done, (what, call) in enumerate(calls):
            if progress is not None:
                progress(what, done, len(calls))
            call()
    return statistics.compiled - before
