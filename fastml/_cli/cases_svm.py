"""Kernel machines by SMO to the same gap; judged by score and by distance from scikit-learn's."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case

INTELEX = "sklearnex"


def _classes(n: int, d: int, k: int = 2, noise: float = 0.05) -> SimpleNamespace:
    """Gaussian blobs, four per class, with a share of wrong labels; half as many rows to test."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(4 * k, d))
    blob = rng.integers(4 * k, size=2 * n)
    X = centres[blob] + rng.normal(scale=2.0, size=(2 * n, d))
    y = blob % k
    wrong = rng.random(2 * n) < noise
    y[wrong] = rng.integers(k, size=wrong.sum())
    return SimpleNamespace(X=X[:n], y=y[:n], X_test=X[n:], y_test=y[n:])


def _values(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.5 * X[:, 2] * X[:, 3]
    y += rng.normal(scale=0.2, size=2 * n)
    return SimpleNamespace(X=X[:n], y=y[:n], X_test=X[n:], y_test=y[n:])


def _fit(library: str, name: str, **parameters):
    def prepare(data):
        machine = getattr(importlib.import_module(f"{library}.svm"), name)(**parameters)
        return lambda: machine.fit(data.X, data.y)

    return prepare


def _predict(library: str):
    def prepare(data):
        machine = importlib.import_module(f"{library}.svm").SVC().fit(data.X, data.y)
        return lambda: machine.predict(data.X_test)

    return prepare


def _score(data, machine) -> float:
    return float(machine.score(data.X_test[:5000], data.y_test[:5000]))


def _share_inside(data, machine) -> float:
    return float((machine.predict(data.X_test[:5000]) == 1).mean())


def _case(name, what, full, quick, build, peers, parameters, quality=_score, yardstick="score"):
    return Case(
        work=f"{name} {what}, " + "{n:,} × {d}",
        full=full,
        quick=quick,
        build=build,
        libraries={lib: _fit(lib, name, **parameters) for lib in ("fastml", *peers)},
        quality=quality,
        yardstick=yardstick,
    )


SIZES = {"n": 20_000, "d": 30}, {"n": 2_000, "d": 30}

CASES = (
    _case("SVC", "rbf", *SIZES, _classes, [INTELEX, "sklearn"], {}),
    Case(
        work="SVC predict, {n:,} × {d}",
        full=SIZES[0],
        quick=SIZES[1],
        build=_classes,
        libraries={lib: _predict(lib) for lib in ("fastml", INTELEX, "sklearn")},
        quality=lambda data, labels: float((labels == data.y_test).mean()),
        yardstick="accuracy",
    ),
    _case(
        "SVC",
        "rbf, {k} classes",
        {"n": 10_000, "d": 50, "k": 10},
        {"n": 2_000, "d": 50, "k": 10},
        _classes,
        ["sklearn"],
        {},
    ),
    _case(
        "SVC",
        "rbf, C = 1000, noisy",
        {"n": 10_000, "d": 20},
        {"n": 1_000, "d": 20},
        lambda n, d: _classes(n, d, noise=0.1),
        ["sklearn"],
        {"C": 1000.0},
    ),
    _case("SVR", "rbf", {"n": 20_000, "d": 20}, {"n": 2_000, "d": 20}, _values, [INTELEX], {}),
    _case(
        "OneClassSVM",
        "nu = 0.1",
        {"n": 20_000, "d": 10},
        {"n": 2_000, "d": 10},
        _classes,
        ["sklearn"],
        {"nu": 0.1},
        _share_inside,
        "share inside",
    ),
    _case("SVC", "small", {"n": 300, "d": 4}, {"n": 300, "d": 4}, _classes, ["sklearn"], {}),
)
