"""Forests: growth, prediction, one row, outliers, the size of a pickle."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find


def _classes(n: int, d: int, trees: int) -> SimpleNamespace:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2 * n, d, n_informative=d // 2, n_redundant=d // 4, flip_y=0.05, random_state=0
    )
    X = X.astype(np.float32)
    return SimpleNamespace(X=X[:n], y=y[:n], X_test=X[n:], y_test=y[n:], trees=trees)


def _forest(library: str, name: str, data):
    cls = find(f"{library}.ensemble", name)
    return cls(data.trees, random_state=0, n_jobs=-1)


def _accuracy(data, answer) -> float:
    return float(np.mean(answer.predict(data.X_test) == data.y_test))


def _fit(library: str, name: str):
    def prepare(data):
        model = _forest(library, name, data)
        return lambda: model.fit(data.X, data.y)

    return prepare


def _predict(library: str):
    def prepare(data):
        model = _forest(library, "RandomForestClassifier", data).fit(data.X, data.y)
        return lambda: model.predict_proba(data.X_test)

    return prepare


def _one_row(library: str):
    def prepare(data):
        model = _forest(library, "RandomForestClassifier", data).fit(data.X, data.y)
        row = data.X_test[:1]
        return lambda: model.predict_proba(row)

    return prepare


def _store(library: str):
    def prepare(data):
        model = _forest(library, "RandomForestClassifier", data).fit(data.X, data.y)
        return lambda: pickle.dumps(model)

    return prepare


def _outliers(n: int, d: int) -> SimpleNamespace:
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    X[: n // 100] *= 4.0
    return SimpleNamespace(X=X)


def _isolate(library: str):
    def prepare(data):
        model = find(f"{library}.ensemble", "IsolationForest")(random_state=0, n_jobs=-1)
        return lambda: model.fit(data.X).score_samples(data.X)

    return prepare


def _found(data, scores) -> float:
    """Share of the outliers among the lowest scores."""
    k = len(data.X) // 100
    return float(np.mean(np.argsort(scores)[:k] < k))


def _boost(library: str):
    def prepare(data):
        cls = find(f"{library}.ensemble", "AdaBoostClassifier")
        return lambda: cls(n_estimators=data.trees, random_state=0).fit(data.X, data.y)

    return prepare


FULL = {"n": 50_000, "d": 20, "trees": 100}
QUICK = {"n": 5_000, "d": 20, "trees": 30}
SIZES = "{trees} trees, {n:,} × {d}"

CASES = (
    Case(
        work=f"RandomForestClassifier, {SIZES}",
        full=FULL,
        quick=QUICK,
        build=_classes,
        libraries={k: _fit(k, "RandomForestClassifier") for k in ("fastml", "sklearnex")},
        quality=_accuracy,
        yardstick="test accuracy",
    ),
    Case(
        work=f"RandomForestClassifier.predict_proba, {SIZES}",
        full=FULL,
        quick=QUICK,
        build=_classes,
        libraries={k: _predict(k) for k in ("fastml", "sklearnex")},
        quality=lambda data, p: float(np.mean(p.argmax(axis=1) == data.y_test)),
        yardstick="test accuracy",
    ),
    Case(
        work=f"RandomForestClassifier, one row, {SIZES}",
        full=FULL,
        quick=QUICK,
        build=_classes,
        libraries={k: _one_row(k) for k in ("fastml", "sklearn")},
        quality=lambda data, p: float(p[0].argmax() == data.y_test[0]),
        yardstick="right",
    ),
    Case(
        work=f"RandomForestClassifier, pickle, {SIZES}",
        full=FULL,
        quick=QUICK,
        build=_classes,
        libraries={k: _store(k) for k in ("fastml", "sklearn")},
        quality=lambda data, stored: len(stored) / 1e6,
        yardstick="MB",
    ),
    Case(
        work=f"ExtraTreesClassifier, {SIZES}",
        full=FULL,
        quick=QUICK,
        build=_classes,
        libraries={k: _fit(k, "ExtraTreesClassifier") for k in ("fastml", "sklearn")},
        quality=_accuracy,
        yardstick="test accuracy",
    ),
    Case(
        work="AdaBoostClassifier, {trees} stumps, {n:,} × {d}",
        full={**FULL, "trees": 200},
        quick={**QUICK, "trees": 50},
        build=_classes,
        libraries={k: _boost(k) for k in ("fastml", "sklearn")},
        quality=_accuracy,
        yardstick="test accuracy",
    ),
    Case(
        work="IsolationForest, fit + score, {n:,} × {d}",
        full={"n": 200_000, "d": 10},
        quick={"n": 20_000, "d": 10},
        build=_outliers,
        libraries={k: _isolate(k) for k in ("fastml", "sklearn")},
        quality=_found,
        yardstick="outliers found",
    ),
)
