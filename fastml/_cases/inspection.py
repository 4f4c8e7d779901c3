"""Importance of columns and partial dependence, of a forest that is there already."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import SKLEARN, Case, Quality, find, sizes
from fastml._cases._data import few_rows

N_TREES = 100


def _rows(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.5 * rng.normal(size=n) > 0
    return X, y.astype(np.intp)


def grown_forest(n, d, trees):
    X, y = _rows(n, d)
    model = find("fastml.ensemble.RandomForestClassifier")(trees, random_state=0).fit(X, y)
    return SimpleNamespace(model=model, X=X, y=y, arguments=("model", "X", "y"))


def forest_and_column(n, d, trees):
    data = grown_forest(n, d, trees)
    data.column, data.arguments = [0], ("model", "X", "column")
    return data


def _sklearns_own(data):
    forest = find("sklearn.ensemble.RandomForestClassifier")
    own = forest(data.trees, random_state=0, n_jobs=-1).fit(data.X, data.y)
    importance = find("sklearn.inspection.permutation_importance")
    return lambda: importance(own, data.X, data.y, n_repeats=5, random_state=0)


def _total(data, found) -> float:
    return float(found.importances_mean.sum())


def _mean_height(data, found) -> float:
    return float(found.average.mean())


SIZES = sizes(n=(100, 2_000, 20_000), d=(5, 30, 30), trees=(5, N_TREES, N_TREES))
CASES = (
    Case(
        "permutation-importance", "inspection.permutation_importance",
        "permutation_importance, forest of {trees}, {n:,} × {d}, 5 repeats",
        grown_forest, SIZES, Quality("sum of importances", _total, tolerance=1e-9),
        {"n_repeats": 5, "random_state": 0}, "call", peers=SKLEARN,
    ),
    Case(
        "permutation-importance-own", "inspection.permutation_importance",
        "permutation_importance of its own forest of {trees}, {n:,} × {d}, 5 repeats",
        grown_forest, SIZES, Quality("sum of importances", _total, tolerance=0.1, tiny=1.0),
        {"n_repeats": 5, "random_state": 0}, "call", peers={"sklearn": _sklearns_own},
    ),
    Case(
        "partial-dependence", "inspection.partial_dependence",
        "partial_dependence of a column, forest of {trees}, {n:,} × {d}, 100 points",
        forest_and_column, SIZES, Quality("mean height", _mean_height, tolerance=1e-9),
        {}, "call", peers=SKLEARN,
    ),
)  # fmt: skip


def odd_branches():
    def numbers():
        from fastml.inspection import partial_dependence, permutation_importance
        from fastml.tree import DecisionTreeRegressor

        X, _ = few_rows(np.float64)
        model = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
        permutation_importance(model, X, X[:, 0], n_repeats=1, random_state=0)
        partial_dependence(model, X, [0], method="brute", grid_resolution=3)
        holes = np.where(np.eye(*X.shape) > 0, np.nan, X)
        permutation_importance(model, holes, X[:, 0], n_repeats=1, random_state=0)

    yield "trees of numbers", numbers
