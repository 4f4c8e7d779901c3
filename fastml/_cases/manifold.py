"""Embeddings: t-SNE."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, Case, Quality, sizes


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
)  # fmt: skip
