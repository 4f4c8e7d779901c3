"""Descent methods on problems whose minimum is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def least_squares(n, d):
    """½ ‖Xw − y‖² / n, its gradient and where it is least."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 0.2, d)
    y = X.sum(axis=1) + rng.normal(size=n)
    gram, sums = X.T @ X / n, X.T @ y / n
    best = np.linalg.solve(gram, sums)
    return SimpleNamespace(
        X=X, best=best, start=np.zeros(d), arguments=("loss", "start", "gradient"),
        loss=lambda w: 0.5 * float(np.mean((X @ w - y) ** 2)),
        gradient=lambda w: X.T @ (X @ w - y) / n,
    )  # fmt: skip


def _scipy(data):
    minimize = find("scipy.optimize.minimize")

    def call():
        options = {"gtol": 1e-8, "maxiter": 1000}
        found = minimize(data.loss, data.start, jac=data.gradient, method="CG", options=options)
        return SimpleNamespace(point=found.x)

    return call


def _distance(data, found) -> float:
    return float(np.abs(found.point - data.best).max())


def usual(make, data):
    """Nesterov's momentum with a step of one over the largest curvature."""
    Gradient, Steps = find("fastml.optimize.GradientBelow"), find("fastml.optimize.Steps")
    largest = np.linalg.eigvalsh(data.X.T @ data.X / len(data.X))[-1]
    chosen = {"step": 1.0 / float(largest), "momentum": 0.5, "nesterov": True}
    stop = Gradient(1e-8) | Steps(2000)
    return lambda: make(data.loss, data.start, data.gradient, stop=stop, **chosen)


CASES = (
    Case(
        "gradient-descent", "optimize.gradient_descent", "gradient descent, {n:,} × {d}",
        least_squares, sizes(n=(200, 5_000, 50_000), d=(4, 20, 20)),
        Quality("distance to the minimum", _distance, "error", 1e-5),
        step=usual, peers={"scipy": _scipy},
    ),
)  # fmt: skip
