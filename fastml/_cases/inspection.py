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


def boosted(n, d, trees):
    """Boosting of fastml, and of lightgbm with the same settings, where it is installed."""
    X, y = _rows(4 * n, d)
    boosting = find("fastml.ensemble.HistGradientBoostingClassifier")
    model = boosting(max_iter=trees, early_stopping=False).fit(X, y)
    return SimpleNamespace(model=model, X=X[:n], all=X, labels=y, arguments=("model", "X"))


def _of_lightgbm(data):
    model = find("lightgbm.LGBMClassifier")(n_estimators=data.trees, verbose=-1, n_jobs=-1)
    booster = model.fit(data.all, data.labels).booster_
    return lambda: _Booster(booster, booster.predict(data.X, pred_contrib=True))


def _of_shap(data):
    """Of scikit-learn's boosting, which shap reads as fastml does: by shares of training rows."""
    boosting = find("sklearn.ensemble.HistGradientBoostingClassifier")
    model = boosting(max_iter=data.trees, early_stopping=False).fit(data.all, data.labels)
    explainer = find("shap.TreeExplainer")(model)
    start = np.full(len(data.X), explainer.expected_value)
    return lambda: _Booster(model, np.c_[explainer.shap_values(data.X), start])


class _Booster:
    """Its contributions, and how far their sums are from its answers."""

    def __init__(self, booster, contributions):
        self.booster, self.contributions = booster, contributions


def _gap(data, found) -> float:
    """Largest difference between an answer and what its columns add up to."""
    if isinstance(found, _Booster):
        if hasattr(found.booster, "decision_function"):
            answers = found.booster.decision_function(data.X)
        else:
            answers = found.booster.predict(data.X, raw_score=True)
        return float(np.abs(found.contributions.sum(axis=1) - answers).max())
    answers = data.model.decision_function(data.X)
    return float(np.abs(found.values.sum(axis=1) + found.base_values - answers).max())


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
    Case(
        "shapley", "inspection.shapley_values",
        "Shapley values, boosting of {trees}, {n:,} × {d}", boosted,
        sizes(n=(60, 1_000, 5_000), d=(5, 30, 30), trees=(3, N_TREES, N_TREES)),
        Quality("gap of the sums", _gap, "error", 1e-6, peers={"shap": 1e-2}),
        {}, "call", peers={"lightgbm": _of_lightgbm, "shap": _of_shap},
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

    def pairs():
        from fastml.inspection import shapley_values
        from fastml.tree import DecisionTreeRegressor

        X, _ = few_rows(np.float64)
        model = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
        shapley_values(model, X, interactions=True)

    yield "trees of numbers", numbers
    yield "pairs of columns", pairs
