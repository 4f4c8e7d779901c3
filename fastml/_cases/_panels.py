"""Panels of the demo's figure: each draws what fastml's object makes of points in the plane."""

from __future__ import annotations

import numpy as np

COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb",
    "#222255", "#ee8866", "#999933", "#882255",
)  # fmt: skip
RESOLUTION = 200


def clusters(axes, Clusters) -> None:
    """Points coloured by cluster, and the centres."""
    X = _corners()
    model = Clusters(6, n_init=5, random_state=0).fit(X)
    centres = model.cluster_centers_ if hasattr(model, "cluster_centers_") else model.means_
    axes.scatter(*X.T, c=np.take(COLOURS, model.predict(X)), s=6, linewidths=0)
    axes.scatter(*centres.T, c="black", marker="x", s=60)
    axes.set_title(f"clusters: {Clusters.__name__}")


def regions(axes, Classifier) -> None:
    """Two half-moons, and the plane coloured by predicted class."""
    X, y = _moons(600)
    model = Classifier().fit(X, y)
    x1, x2, grid = _grid(X)
    predicted = model.predict(grid).reshape(x1.shape)
    axes.contourf(x1, x2, predicted, levels=[-0.5, 0.5, 1.5], colors=COLOURS[:2], alpha=0.25)
    axes.scatter(*X.T, c=np.take(COLOURS, y), s=8, linewidths=0)
    axes.set_title(f"decision regions: {Classifier.__name__}")


def density(axes, bandwidth_of) -> None:
    """Contours of a density estimate with the bandwidth chosen, and the points behind it."""
    from fastml.neighbors import KernelDensity

    X, _ = _moons(600)
    x1, x2, grid = _grid(X)
    h = bandwidth_of(X, np.geomspace(0.05, 1.0, 20))
    values = np.exp(KernelDensity(bandwidth=h).fit(X).score_samples(grid)).reshape(x1.shape)
    axes.contourf(x1, x2, values, levels=12, cmap="Blues")
    axes.scatter(*X.T, c="black", s=2, linewidths=0)
    axes.set_title(f"density: {bandwidth_of.__name__}, h = {h:.2f}")


def curve(axes, Regressor) -> None:
    """Noisy points of a sine, and the curve through them."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 6, 200))
    y = np.sin(2 * x) + rng.normal(scale=0.3, size=x.size)
    model = Regressor(alpha=0.1, kernel="rbf", gamma=1.0).fit(x[:, None], y)
    axes.scatter(x, y, c=COLOURS[6], s=8, linewidths=0)
    axes.plot(x, model.predict(x[:, None]), c=COLOURS[0])
    axes.set_title(f"regression: {Regressor.__name__}")


def line(axes, Regressor) -> None:
    """Noisy points of a line, and the line through them."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0, 6, 200))
    y = 0.5 * x + rng.normal(scale=0.5, size=x.size)
    model = Regressor().fit(x[:, None], y)
    axes.scatter(x, y, c=COLOURS[6], s=8, linewidths=0)
    axes.plot(x, model.predict(x[:, None]), c=COLOURS[0])
    axes.set_title(f"regression: {Regressor.__name__}")


def matrix(axes, distances) -> None:
    """Distances of points that are sorted by cluster."""
    X = _corners()[:300]
    order = np.lexsort(np.round(X / 4).T)
    axes.imshow(distances(X[order], metric="manhattan"), cmap="Blues_r", aspect="auto")
    axes.set_title(f"distances: {distances.__name__}")


def _corners() -> np.ndarray:
    rng = np.random.default_rng(1)
    corners = rng.uniform(-10, 10, size=(6, 2))
    return corners[rng.integers(6, size=1500)] + rng.normal(size=(1500, 2))


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


def axes_of_cloud(axes, Components) -> None:
    """A cloud of points, and its components as long as they vary."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2)) @ np.array([[3.0, 1.5], [0.0, 1.0]])
    model = Components(n_components=2).fit(X)
    axes.scatter(*X.T, c=COLOURS[6], s=6, linewidths=0)
    for direction, variance in zip(model.components_, model.explained_variance_):
        axes.plot(*np.outer(direction, [0.0, 2.0 * np.sqrt(variance)]), c=COLOURS[0], linewidth=3)
    axes.set_aspect("equal")
    axes.set_title(f"components: {Components.__name__}")
