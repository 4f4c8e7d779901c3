"""Pairwise distances and kernels, checked by plain NumPy on a few rows; measures of clusterings,
of labels, scores and predictions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, find, sizes
from fastml._cases._data import blobs, few_rows
from fastml._cases._panels import matrix

N_CHECKED = 20
PLAIN: dict[str, Callable] = {
    "euclidean": lambda x, Y: np.sqrt(((Y - x) ** 2).sum(axis=1)),
    "manhattan": lambda x, Y: np.abs(Y - x).sum(axis=1),
    "chebyshev": lambda x, Y: np.abs(Y - x).max(axis=1),
    "minkowski": lambda x, Y: (np.abs(Y - x) ** 3).sum(axis=1) ** (1 / 3),
    "cosine": lambda x, Y: 1 - Y @ x / np.linalg.norm(x) / np.linalg.norm(Y, axis=1),
    "jaccard": lambda x, Y: (x ^ Y).sum(axis=1) / (x | Y).sum(axis=1),
    "hamming": lambda x, Y: (x ^ Y).mean(axis=1),
    "rbf": lambda x, Y: np.exp(-((Y - x) ** 2).mean(axis=1)),
    "laplacian": lambda x, Y: np.exp(-np.abs(Y - x).mean(axis=1)),
    "polynomial": lambda x, Y: (Y @ x / x.size + 1.0) ** 3,
    "chi2": lambda x, Y: np.exp(-((Y - x) ** 2 / (Y + x)).sum(axis=1)),
}


def two_matrices(n, d, metric, kind="float64"):
    """And the distances, or kernels, of a few rows of the first to all of the second."""
    both = np.random.default_rng(0).normal(size=(2, n, d))
    both = both > 0 if kind == "booleans" else np.abs(both) if metric == "chi2" else both
    if kind == "CSR":
        both = np.where(both > 2.0, both, 0.0)
        both[:, :, 0] = 1.0
    X, Y = both
    checked = np.linspace(0, n - 1, N_CHECKED).astype(int)
    expected = np.stack([PLAIN[metric](X[i], Y) for i in checked])
    if kind == "CSR":
        from scipy.sparse import csr_array

        X, Y = csr_array(X), csr_array(Y)
    return SimpleNamespace(X=X, Y=Y, checked=checked, expected=expected, arguments=("X", "Y"))


def _error(data, D) -> float:
    return float(np.abs(D[data.checked] - data.expected).max())


def _cdist(metric, **parameters):
    def prepare(data):
        cdist = find("scipy.spatial.distance.cdist")
        name = "cityblock" if metric == "manhattan" else metric
        return lambda: cdist(data.X, data.Y, name, **parameters)

    return prepare


def _pairs(metric, n, peers=("sklearn",), kind="float64", d=64, **more):
    kernel = metric in ("rbf", "laplacian", "polynomial", "chi2")
    parameters = {"p": 3} if metric == "minkowski" else {}
    prepare = {"sklearn": {"n_jobs": -1}, "scipy": _cdist(metric, **parameters)}
    tail = {"CSR": "-csr", "booleans": ""}.get(kind, "" if d == 64 else f"-{d}")
    name = "minkowski p = 3" if parameters else metric
    return Case(
        metric + tail,
        "metrics.pairwise." + ("pairwise_kernels" if kernel else "pairwise_distances"),
        name + (" kernel" if kernel else " distances") + ", {n:,} × {n:,} × {d} " + kind,
        partial(two_matrices, metric=metric, kind=kind), sizes(n=(100, n // 6, n), d=d),
        Quality("max error", _error, "error", 1e-9), {"metric": metric, **parameters}, "call",
        peers={name: prepare[name] for name in peers}, **more,
    )  # fmt: skip


TWO = ("sklearn", "scipy")
PAIRS = (
    _pairs("euclidean", 6000, TWO, dtypes=BOTH),
    _pairs("manhattan", 6000, TWO, dtypes=BOTH, draw=matrix),
    _pairs("chebyshev", 6000, TWO, dtypes=BOTH),
    _pairs("cosine", 6000, TWO, dtypes=BOTH),
    _pairs("minkowski", 3000, ("scipy",)),
    _pairs("jaccard", 6000, kind="booleans"),
    _pairs("hamming", 6000, kind="booleans"),
    _pairs("euclidean", 6000, TWO, d=3),
    _pairs("euclidean", 3000, kind="CSR", dtypes=BOTH),
    _pairs("manhattan", 3000, kind="CSR", dtypes=BOTH),
    _pairs("cosine", 3000, kind="CSR"),
    *(_pairs(kernel, 3000) for kernel in ("rbf", "laplacian", "polynomial", "chi2")),
)

# ---------------------------------------------------------------------------- reductions, scores


def many_and_few(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    return SimpleNamespace(X=X, Y=X[: n // 5] + 0.5, arguments=("X", "Y"))


def _nearest(metric):
    return Case(
        f"nearest-{metric}", "metrics.pairwise.pairwise_distances_argmin_min",
        f"nearest of {{n:,}} / 5 rows for {{n:,}} × {{d}}, {metric}",
        many_and_few, sizes(n=(200, 5_000, 50_000), d=32),
        Quality("mean distance", lambda data, answer: float(np.mean(answer[1])), tolerance=1e-9),
        {"metric": metric}, "call", peers=SKLEARN, dtypes=BOTH,
    )  # fmt: skip


def labelled(n, d, k):
    data = blobs(n, d, k, scale=2.0)
    return SimpleNamespace(X=data.X, labels=data.truth, arguments=("X", "labels"))


def two_labelings(n, k):
    labels = np.random.default_rng(0).integers(k, size=n)
    other = (labels * 7 + labels[::-1]) % k
    return SimpleNamespace(X=labels, other=other, arguments=("X", "other"))


# ---------------------------------------------------------------------------- predictions


def scored_rows(n):
    """Labels 0 and 1, and scores that know something of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=n)
    scores = rng.normal(size=n) + labels
    return SimpleNamespace(X=labels, scores=scores, arguments=("X", "scores"))


def probable_rows(n):
    data = scored_rows(n)
    probabilities = 1 / (1 + np.exp(-data.scores))
    return SimpleNamespace(X=data.X, p=probabilities, arguments=("X", "p"))


def predicted_labels(n, k):
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    predicted = np.where(rng.random(n) < 0.7, labels, rng.integers(k, size=n))
    return SimpleNamespace(X=labels, predicted=predicted, arguments=("X", "predicted"))


def predicted_words(n, k):
    data = predicted_labels(n, k)
    words = np.array([f"class {i}" for i in range(k)])
    return SimpleNamespace(
        X=words[data.X], predicted=words[data.predicted], arguments=("X", "predicted")
    )


def predicted_numbers(n):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    return SimpleNamespace(X=y, p=y + 0.3 * rng.normal(size=n), arguments=("X", "p"))


MILLIONS = {"n": (300, 200_000, 2_000_000)}
EXACT = Quality("the score", lambda data, score: float(score), tolerance=1e-12)
RIGHT = Quality("rows right", lambda data, matrix: float(np.trace(matrix)), tolerance=1e-12)
MACRO = Quality("macro F1", lambda data, report: report["macro avg"]["f1-score"], tolerance=1e-12)


def _measure(name, work, data, quality=EXACT, params=None, k=None, id_=None, **shown):
    more = {} if k is None else {"k": k}
    return Case(
        id_ or name.removesuffix("_score").replace("_", "-"), f"metrics.{name}", work, data,
        sizes(**MILLIONS, **more), quality, params or {}, "call", peers=SKLEARN,
        **shown,
    )  # fmt: skip


MEASURES = (
    _measure("roc_auc_score", "roc_auc_score, {n:,} rows", scored_rows, headline=True),
    _measure("average_precision_score", "average_precision_score, {n:,} rows", scored_rows),
    _measure("confusion_matrix", "confusion_matrix, {n:,} integer labels of {k}",
             predicted_labels, RIGHT, k=10),
    _measure("confusion_matrix", "confusion_matrix, {n:,} words of {k}",
             predicted_words, RIGHT, k=10, id_="confusion-matrix-words"),
    _measure("classification_report", "classification_report, {n:,} labels of {k}",
             predicted_labels, MACRO, {"output_dict": True}, k=10),
    _measure("log_loss", "log_loss, {n:,} probabilities", probable_rows),
    _measure("r2_score", "r2_score, {n:,} rows", predicted_numbers),
    _measure("mean_absolute_error", "mean_absolute_error, {n:,} rows", predicted_numbers),
)  # fmt: skip

# ---------------------------------------------------------------------------- all


def two_classes(n):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    return SimpleNamespace(X=y, score=y + rng.normal(size=n), name="roc_auc",
                           arguments=("name", "X", "score"))  # fmt: skip


def _areas_in_a_loop(data):
    area = find("sklearn.metrics.roc_auc_score")
    rng = np.random.default_rng(0)

    def run():
        n = len(data.X)
        rows = (rng.integers(n, size=n) for _ in range(1000))
        found = [area(data.X[drawn], data.score[drawn]) for drawn in rows]
        return SimpleNamespace(standard_deviation=np.std(found, ddof=1))

    return run


SPREAD = Quality(
    "standard error", lambda data, found: float(found.standard_deviation), tolerance=0.15, tiny=0.5
)
SCORE = Quality("the score", lambda data, score: float(score), tolerance=1e-6)
CASES = (
    *PAIRS,
    _nearest("euclidean"),
    _nearest("manhattan"),
    Case(
        "silhouette", "metrics.silhouette_score", "silhouette_score, {n:,} × {d}, {k} clusters",
        labelled, sizes(n=(300, 4_000, 30_000), d=10, k=8), SCORE, step="call",
        peers=SKLEARN,
    ),
    Case(
        "adjusted-mutual-information", "metrics.adjusted_mutual_info_score",
        "adjusted_mutual_info_score, {n:,} labels of {k}",
        two_labelings, sizes(n=(300, 20_000, 200_000), k=(20, 20, 50)), SCORE, step="call",
        peers=SKLEARN,
    ),
    *MEASURES,
    Case(
        "bootstrap-auc", "metrics.bootstrap_metric",
        "bootstrap of AUC, {n:,} rows, 1,000 resamples",
        two_classes, sizes(n=(100, 2_000, 20_000)), SPREAD,
        {"n_resamples": 1000, "random_state": 0, "stratify": True}, "call",
        peers={"sklearn": _areas_in_a_loop},
    ),
)  # fmt: skip


def odd_branches():
    from scipy.sparse import csr_array

    from fastml import metrics
    from fastml._engines.labels import Clusters
    from fastml.kernels.distances.user_metric import sample_metric
    from fastml.metrics._clustering._silhouette import euclidean_coefficients
    from fastml.metrics.pairwise import pairwise_distances, pairwise_distances_argmin

    def distances(dtype):
        narrow, wide = np.abs(few_rows(dtype)[0]), np.abs(few_rows(dtype, d=12)[0])
        pairwise_distances(wide)
        for metric in ("manhattan", "canberra", sample_metric):
            pairwise_distances(narrow, metric=metric)
        pairwise_distances(narrow > 1, metric="jaccard")
        for metric in ("euclidean", "l1"):
            pairwise_distances(csr_array(narrow), metric=metric)
        pairwise_distances_argmin(wide, wide)
        pairwise_distances_argmin(narrow, narrow, metric="l1")

    for dtype in (np.float32, np.float64):
        yield f"distances {dtype.__name__}", partial(distances, dtype)
    X, labels = few_rows(np.float64)

    def silhouettes():
        metrics.silhouette_samples(X, labels)
        euclidean_coefficients(X, Clusters(labels), budget=0)  # as for many clusters
        metrics.silhouette_samples(X, labels, metric="manhattan")
        metrics.dunn_index(X, labels)

    yield "silhouettes, Dunn index", silhouettes

    def predictions(dtype):
        rows = predicted_numbers(9000)
        metrics.r2_score(rows.X.astype(dtype), rows.p.astype(dtype))  # several chunks
        data = scored_rows(40)
        metrics.roc_curve(data.X, data.scores.astype(dtype))
        metrics.log_loss(data.X, np.full(40, 0.5, dtype))
        data = scored_rows(20_000)
        metrics.roc_auc_score(data.X, data.scores.astype(dtype))  # enough to be sorted by digits
        metrics.log_loss(labels, np.full((labels.shape[0], 3), 1 / 3, dtype))

    for dtype in (np.float32, np.float64):
        name = f"residuals in chunks, curves, log-loss of several classes, {dtype.__name__}"
        yield name, partial(predictions, dtype)

    def resamples():
        y, f = np.arange(20) % 2, np.arange(20) % 3 % 2
        for metric in ("accuracy", "f1", "average_precision", lambda a, b: float(np.mean(a == b))):
            metrics.bootstrap_metric(metric, y, f, 5, stratify=True, random_state=0)

    yield "bootstrap of metrics", resamples
