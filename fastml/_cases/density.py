"""Bandwidths of kernel densities; the densities are with the neighbours, as their class is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, sizes
from fastml._cases._panels import density


def three_heaps(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4.0 * rng.integers(3, size=(n, 1))
    candidates = np.geomspace(0.05, 2.0, 30)
    return SimpleNamespace(X=X, candidates=candidates, arguments=("X", "candidates"))


def normal_line(n):
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=n))


def _grid_search(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    search = GridSearchCV(KernelDensity(), {"bandwidth": data.candidates}, cv=10, n_jobs=-1)
    return lambda: search.fit(data.X).best_params_["bandwidth"]


def _width(data, h) -> float:
    return float(h)


def _rule_of_thumb(data) -> float:
    """Silverman's, which is right for normal data."""
    return (4 / (3 * data.n)) ** 0.2


CASES = (
    Case(
        "bandwidth-loo", "density.bandwidth_loo", "leave-one-out bandwidth of 30, {n:,} × {d}",
        three_heaps, sizes(n=(300, 1_000, 10_000), d=2),
        Quality("bandwidth", _width, tolerance=0.01, tiny=0.15),  # 0.15: the next candidate
        step="call", peers={"sklearn": _grid_search}, draw=density, headline=True,
    ),
    Case(
        "bandwidth-isj", "density.bandwidth_isj",
        "bandwidth by improved Sheather-Jones, {n:,} points",
        normal_line, sizes(n=(1_000, 100_000, 1_000_000)),
        Quality("bandwidth", _width, tolerance=0.2, reference=_rule_of_thumb), step="call",
    ),
)  # fmt: skip


def odd_branches():
    from fastml._cases._data import few_rows
    from fastml.density import bandwidth_lscv

    X, _ = few_rows(np.float64)
    yield "least squares", lambda: bandwidth_lscv(X, kernel="cosine")
    column = np.linspace(0.0, 1.0, 300) ** 2
    yield "least squares of one column", lambda: bandwidth_lscv(column)
