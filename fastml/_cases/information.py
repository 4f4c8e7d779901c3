"""Entropy of many distributions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def distributions(n, d):
    X = np.random.default_rng(0).dirichlet(np.ones(d), size=n)
    return SimpleNamespace(X=X, expected=-(X * np.log(X)).sum(axis=1))


def _scipy(data):
    entropy = find("scipy.stats.entropy")
    return lambda: entropy(data.X, axis=1)


def _error(data, found) -> float:
    return float(np.abs(found - data.expected).max())


CASES = (
    Case(
        "entropy", "information.entropy", "entropy of {n:,} distributions of {d}",
        distributions, sizes(n=(50, 20_000, 200_000), d=20),
        Quality("max error", _error, "error", 1e-9), step="call", peers={"scipy": _scipy},
    ),
)  # fmt: skip
