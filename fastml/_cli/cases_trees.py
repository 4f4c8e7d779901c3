"""Single trees on the same rows; judged by what they predict for new ones."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case, find


def _rows(n: int, d: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3.0 * X[:, 3]) + 0.5 * rng.normal(size=2 * n)
    return SimpleNamespace(
        X=X[:n], signal=signal[:n], labels=(signal[:n] > 0).astype(int),
        new_X=X[n:], new_signal=signal[n:], new_labels=(signal[n:] > 0).astype(int),
    )  # fmt: skip


def _fit(library: str, name: str, target: str, **settings):
    def prepare(data):
        cls = find(f"{library}.tree", name)
        return lambda: cls(random_state=0, **settings).fit(data.X, getattr(data, target))

    return prepare


def _case(title: str, name: str, target: str, sizes: tuple[dict, dict], **settings) -> Case:
    return Case(
        work=title + ", {n:,} × {d} float32",
        full=sizes[0],
        quick=sizes[1],
        build=_rows,
        libraries={
            library: _fit(library, name, target, **settings) for library in ("fastml", "sklearn")
        },
        quality=lambda data, tree: float(tree.score(data.new_X, getattr(data, f"new_{target}"))),
        yardstick="test R²" if target == "signal" else "test accuracy",
    )


LARGE = {"n": 100_000, "d": 20}, {"n": 20_000, "d": 20}
CASES = (
    _case("DecisionTreeClassifier", "DecisionTreeClassifier", "labels", LARGE),
    _case("DecisionTreeRegressor", "DecisionTreeRegressor", "signal", LARGE),
    _case(
        "absolute-error tree",
        "DecisionTreeRegressor",
        "signal",
        ({"n": 20_000, "d": 10}, {"n": 4_000, "d": 10}),
        criterion="absolute_error",
    ),
)
