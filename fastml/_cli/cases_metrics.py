"""Pairwise distances. The answer of every library is checked against plain NumPy on a few rows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case

N_CHECKED = 20

PLAIN: dict[str, Callable] = {
    "euclidean": lambda x, Y: np.sqrt(((Y - x) ** 2).sum(axis=1)),
    "manhattan": lambda x, Y: np.abs(Y - x).sum(axis=1),
    "chebyshev": lambda x, Y: np.abs(Y - x).max(axis=1),
    "minkowski": lambda x, Y: (np.abs(Y - x) ** 3).sum(axis=1) ** (1 / 3),
    "jaccard": lambda x, Y: (x ^ Y).sum(axis=1) / (x | Y).sum(axis=1),
    "hamming": lambda x, Y: (x ^ Y).mean(axis=1),
}


def _case(metric: str, libraries: tuple[str, ...], n: int, *, boolean: bool = False) -> Case:
    parameters = {"p": 3} if metric == "minkowski" else {}

    def build(n: int, d: int) -> SimpleNamespace:
        both = np.random.default_rng(0).normal(size=(2, n, d))
        X, Y = both > 0 if boolean else both
        checked = np.linspace(0, n - 1, N_CHECKED).astype(int)
        expected = np.stack([PLAIN[metric](X[i], Y) for i in checked])
        return SimpleNamespace(X=X, Y=Y, checked=checked, expected=expected)

    def fastml(data):
        from fastml.metrics.pairwise import pairwise_distances

        return lambda: pairwise_distances(data.X, data.Y, metric=metric, **parameters)

    def sklearn(data):
        from sklearn.metrics.pairwise import pairwise_distances

        return lambda: pairwise_distances(data.X, data.Y, metric=metric, n_jobs=-1, **parameters)

    def scipy(data):
        from scipy.spatial.distance import cdist

        name = "cityblock" if metric == "manhattan" else metric
        return lambda: cdist(data.X, data.Y, name, **parameters)

    prepare = {"fastml": fastml, "sklearn": sklearn, "scipy": scipy}
    kind = "booleans" if boolean else "float64"
    what = "minkowski p = 3" if parameters else metric
    return Case(
        work=what + " distances, {n:,} × {n:,} × {d} " + kind,
        full={"n": n, "d": 64},
        quick={"n": n // 6, "d": 64},
        build=build,
        libraries={name: prepare[name] for name in ("fastml", *libraries)},
        quality=lambda data, D: np.abs(D[data.checked] - data.expected).max(),
        yardstick="max error",
    )


def _silhouette(module: str):
    def prepare(data):
        from importlib import import_module

        score = import_module(f"{module}.metrics").silhouette_score
        return lambda: score(data.X, data.labels)

    return prepare


def _labelled(n: int, d: int, k: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    X = rng.normal(scale=2.0, size=(k, d))[labels] + rng.normal(size=(n, d))
    return SimpleNamespace(X=X, labels=labels)


CASES = (
    _case("euclidean", ("sklearn", "scipy"), 6000),
    _case("manhattan", ("sklearn", "scipy"), 6000),
    _case("chebyshev", ("sklearn", "scipy"), 6000),
    _case("minkowski", ("scipy",), 3000),
    _case("jaccard", ("sklearn",), 6000, boolean=True),
    _case("hamming", ("sklearn",), 6000, boolean=True),
    Case(
        work="silhouette_score, {n:,} × {d}, {k} clusters",
        full={"n": 30_000, "d": 10, "k": 8},
        quick={"n": 4_000, "d": 10, "k": 8},
        build=_labelled,
        libraries={name: _silhouette(name) for name in ("fastml", "sklearn")},
        quality=lambda data, score: score,
        yardstick="the score",
    ),
)
