"""Discriminant analysis: classes with one covariance and with their own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import SKLEARN, Case, Quality, sizes
from fastml._cases._panels import regions


def ellipses(n, d, classes):
    """Normal classes that share axes, each stretched in its own way."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=n)
    stretch = rng.uniform(0.5, 1.5, size=(classes, d))
    X = rng.normal(size=(n, d)) * stretch[y] + 0.5 * rng.normal(size=(classes, d))[y]
    return SimpleNamespace(X=X @ rng.normal(size=(d, d)), y=y)


def _accuracy(data, found) -> float:
    labels = found.predict(data.X[:5000]) if hasattr(found, "predict") else found[:5000]
    return float(np.mean(labels == data.y[:5000]))


def _case(id, name, work, **more):
    return Case(
        id, f"discriminant_analysis.{name}", f"{name}, {work}",
        ellipses, sizes(n=(300, 20_000, 200_000), d=(4, 50, 50), classes=(3, 5, 5)),
        Quality("accuracy", _accuracy, "same", 1e-9), peers=SKLEARN, **more,
    )  # fmt: skip


LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
CASES = (
    _case("lda", LDA, "{n:,} × {d}", params={"solver": "eigen"}, draw=regions, variants=(
        {"solver": "eigen", "shrinkage": "auto"},
        {"store_covariance": True, "unbiased": True},
    )),
    _case("lda-svd", LDA, "singular values, {n:,} × {d}"),
    _case("qda", QDA, "{n:,} × {d}", variants=(
        {"reg_param": 0.1, "store_covariance": True},
        {"solver": "eigen", "shrinkage": "auto"},
    )),
    _case("qda-predict", QDA, "predict {n:,} × {d}", step="predict"),
)  # fmt: skip
