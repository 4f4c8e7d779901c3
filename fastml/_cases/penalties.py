"""Proximal maps of penalties."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, sizes


def points(n):
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=(n, 1)))


def _evaluate(make, data):
    penalty = make()
    return lambda: penalty.prox(data.X[:, 0], 0.5)


def _error(data, answer) -> float:
    """Against soft thresholding by NumPy."""
    z = data.X[:, 0].astype(np.float64)
    return float(np.abs(answer - np.sign(z) * np.maximum(np.abs(z) - 0.5, 0.0)).max())


CASES = (
    Case(
        "prox-l1", "penalties.L1Penalty", "proximal map of the l1 norm, {n:,} weights",
        points, sizes(n=(300, 100_000, 1_000_000)),
        Quality("max error", _error, "error", 1e-12), step=_evaluate,
    ),
)  # fmt: skip


def odd_branches():
    from fastml import penalties

    yield "groups", lambda: penalties.GroupPenalty(1.0).prox(np.ones((2, 3)))
