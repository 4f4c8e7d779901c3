"""One pass of k-means in the words of MapReduce, beside one iteration in memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def clouds_and_centers(n, d, k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    return SimpleNamespace(X=X, centers=X[:k].copy(), arguments=("X", "centers"))


def _one_iteration(data):
    """scikit-learn's, which then assigns the rows once more."""
    kmeans = find("sklearn.cluster.KMeans")
    start = {"init": data.centers, "n_init": 1, "max_iter": 1, "algorithm": "lloyd"}
    return lambda: kmeans(len(data.centers), **start).fit(data.X)


def _weighed_centers(data, answer) -> float:
    """All coordinates of the new centres, each with a weight of its own."""
    if hasattr(answer, "output"):
        found = np.stack([center for _, center in sorted(answer.output, key=lambda pair: pair[0])])
    else:
        found = answer.cluster_centers_
    return float(np.abs(found).ravel() @ np.linspace(1.0, 2.0, found.size))


CASES = (
    Case(
        "mapreduce-kmeans", "mapreduce.kmeans_pass", "one pass of k-means, {n:,} × {d}, k = {k}",
        clouds_and_centers, sizes(n=(200, 20_000, 500_000), d=(3, 8, 16), k=(4, 16, 100)),
        Quality("centres", _weighed_centers, "same", 1e-6), {}, "call",
        peers={"sklearn": _one_iteration},
    ),
)  # fmt: skip
