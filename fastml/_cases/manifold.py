"""Embeddings: t-SNE, scaling, Isomap."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, sizes


def groups(n, d):
    """Twenty overlapping groups."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(20, d))
    y = rng.integers(0, 20, size=n)
    return SimpleNamespace(X=centres[y] + rng.normal(size=(n, d)), labels=y)


def _divergence(data, answer) -> float:
    return float(getattr(answer, "kl_divergence_", getattr(answer, "kl_divergence", np.nan)))


def _opentsne(data):
    import openTSNE

    def embed():
        return openTSNE.TSNE(
            n_iter=data.iterations - 250, initialization="pca", negative_gradient_method="fft",
            random_state=0, n_jobs=-1,
        ).fit(data.X)  # fmt: skip

    return embed


def _tsne(library):
    def prepare(data):
        import importlib

        cls = importlib.import_module(f"{library}.manifold").TSNE
        return lambda: cls(max_iter=data.iterations, random_state=0).fit(data.X)

    return prepare


def embedding(axes, TSNE) -> None:
    """Groups in ten dimensions, embedded in the plane."""
    data = groups(400, 10)
    Y = TSNE(perplexity=15, random_state=0).fit_transform(data.X)
    axes.scatter(*Y.T, c=data.labels, cmap="tab20", s=8)
    axes.set(xticks=[], yticks=[])


def normal_rows(n, d):
    """Rows without any structure."""
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=(n, d)))


def swiss_roll(n):
    """A sheet, rolled up."""
    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    return SimpleNamespace(X=np.c_[t * np.cos(t), 21.0 * rng.random(n), t * np.sin(t)])


def _stress(data, model) -> float:
    return float(model.stress_)


def _spread(data, model) -> float:
    return float(np.linalg.norm(model.embedding_))


def _isomap_error(data, model) -> float:
    return float(model.reconstruction_error())


def _mds(id, work, sizes, **params):
    given = {"init": "random", "max_iter": 100, "eps": 0.0, "random_state": 0, **params}
    return Case(
        id, "manifold.MDS", f"MDS, {work}, {{n:,}} rows, 100 iterations", normal_rows, sizes,
        Quality("stress", _stress, "less", 1e-6), given, peers=SKLEARN,
        variants=({"metric_mds": False, "n_components": 3, "init": "classical_mds"},),
        settings={"init": "random", "max_iter": 30},
    )  # fmt: skip


SMALL = {"max_iter": 250, "perplexity": 5.0}
CASES = (
    Case(
        "tsne", "manifold.TSNE", "TSNE, {n:,} × {d}, {iterations} iterations",
        groups, sizes(n=(300, 2_000, 20_000), d=(6, 50, 50), iterations=(300, 750, 750)),
        Quality("divergence", _divergence, "less", 0.005, tiny=0.1),
        params={"random_state": 0, "max_iter": 750},
        peers={"sklearn": _tsne("sklearn"), "sklearnex": _tsne("sklearnex"), "openTSNE": _opentsne},
        variants=(
            {"repulsion": "grid", "degrees_of_freedom": 0.5},
            {"repulsion": "grid", "n_components": 1},
            {"repulsion": "tree", "n_components": 3, "init": "random"},
            {"method": "exact", "affinities": "uniform"},
        ),
        settings=SMALL, dtypes=BOTH, draw=embedding,
    ),
    _mds("mds", "metric", sizes(n=(60, 500, 1_500), d=20)),
    _mds("mds-order", "non-metric", sizes(n=(60, 300, 1_500), d=20), metric_mds=False),
    Case(
        "classical-mds", "manifold.ClassicalMDS", "ClassicalMDS, {n:,} × {d}", normal_rows,
        sizes(n=(60, 1_000, 4_000), d=20), Quality("spread", _spread, "same", 1e-6), peers=SKLEARN,
    ),
    Case(
        "isomap", "manifold.Isomap", "Isomap, swiss roll, {n:,} rows", swiss_roll,
        sizes(n=(100, 1_000, 5_000)), Quality("error", _isomap_error, "less", 1e-5),
        {"n_neighbors": 10}, peers={"sklearn": {"n_jobs": -1}},
        variants=({"n_landmarks": 30},), settings={"n_neighbors": None, "radius": 1e4},
    ),
    Case(
        "sammon", "manifold.SammonMapping", "SammonMapping, {n:,} × {d}", groups,
        sizes(n=(60, 500, 1_500), d=10), Quality("stress", _stress, "less", 0.01),
        {"max_iter": 20, "tol": 0.0}, variants=({"weighting": "squared", "init": "random"},),
        settings={"tol": 1e-3},
    ),
    Case(
        "sne", "manifold.SNE", "SNE, {n:,} × {d}", groups, sizes(n=(60, 300, 1_000), d=10),
        Quality("divergence", _divergence, "less", 0.01), {"max_iter": 50},
        variants=({"sigma": 2.0},), settings={"perplexity": 10.0, "max_iter": 20},
    ),
)  # fmt: skip


def odd_branches():
    from fastml import manifold

    X = groups(320, 6).X

    def weighted():
        manifold.smacof(np.abs(X[:20] @ X[:20].T), weights=np.ones((20, 20)), max_iter=2)

    yield "weighted scaling", weighted
