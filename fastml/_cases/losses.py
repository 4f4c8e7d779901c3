"""Values and gradients of losses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, sizes


def raw_predictions(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    return SimpleNamespace(X=X, y=(rng.random(n) < 0.5).astype(np.float64))


def _evaluate(make, data):
    loss = make()
    return lambda: (loss.value(data.y, data.X[:, 0]), loss.gradient(data.y, data.X[:, 0]))


def _error(data, answer) -> float:
    """Of the logistic loss and its gradient, against NumPy."""
    r = data.X[:, 0].astype(np.float64)
    value = np.logaddexp(0.0, r) - data.y * r
    gradient = 1.0 / (1.0 + np.exp(-r)) - data.y
    return float(max(np.abs(answer[0] - value).max(), np.abs(answer[1] - gradient).max()))


CASES = (
    Case(
        "loss-logistic", "losses.Logistic", "logistic loss and gradient, {n:,} rows",
        raw_predictions, sizes(n=(300, 100_000, 1_000_000)),
        Quality("max error", _error, "error", 1e-12), step=_evaluate,
    ),
)  # fmt: skip


def odd_branches():
    from fastml import losses

    yield "softmax", lambda: losses.Multinomial().value([0.0, 1.0], np.zeros((2, 3)))
