"""Panels of the demo's figure: each draws what an estimator learned from points in the plane."""

from __future__ import annotations

import numpy as np

from fastml._cli.chart import COLOURS

RESOLUTION = 200


def clusters(axes, KMeans) -> None:
    """Points coloured by cluster, and the centres."""
    rng = np.random.default_rng(1)
    corners = rng.uniform(-10, 10, size=(6, 2))
    X = corners[rng.integers(6, size=1500)] + rng.normal(size=(1500, 2))
    model = KMeans(6, n_init=5, random_state=0).fit(X)
    axes.scatter(*X.T, c=np.take(COLOURS, model.labels_), s=6, linewidths=0)
    axes.scatter(*model.cluster_centers_.T, c="black", marker="x", s=60)
    axes.set_title("clusters: KMeans")


def decision_regions(axes, Classifier) -> None:
    """Two half-moons, and the plane coloured by predicted class."""
    X, y = _moons(600)
    model = Classifier(n_neighbors=15).fit(X, y)
    x1, x2, grid = _grid(X)
    predicted = model.predict(grid).reshape(x1.shape)
    axes.contourf(x1, x2, predicted, levels=[-0.5, 0.5, 1.5], colors=COLOURS[:2], alpha=0.25)
    axes.scatter(*X.T, c=np.take(COLOURS, y), s=8, linewidths=0)
    axes.set_title("decision regions: 15 nearest neighbours")


def density(axes, Density) -> None:
    """Contours of a density estimate, and the points behind it."""
    X, _ = _moons(600)
    x1, x2, grid = _grid(X)
    values = np.exp(Density(bandwidth=0.15).fit(X).score_samples(grid)).reshape(x1.shape)
    axes.contourf(x1, x2, values, levels=12, cmap="Blues")
    axes.scatter(*X.T, c="black", s=2, linewidths=0)
    axes.set_title("density: Gaussian kernels")


def _moons(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, size=n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    return np.where(y[:, None] == 0, upper, lower) + rng.normal(scale=0.2, size=(n, 2)), y


def _grid(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of a lattice around the points: two matrices, and as rows of one."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    x1, x2 = np.meshgrid(*(np.linspace(a, b, RESOLUTION) for a, b in zip(low, high)))
    return x1, x2, np.column_stack([x1.ravel(), x2.ravel()])
