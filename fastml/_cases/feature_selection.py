"""Choosing columns: scores of single columns, and searches with a linear model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, find, sizes


def labelled(n, d, classes):
    """Columns that matter less and less."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=n)
    X = rng.normal(size=(n, d)) + y[:, None] * np.linspace(1.0, 0.0, d)
    return SimpleNamespace(X=X, y=y, arguments=("X", "y"))


def counted(n, d, classes):
    data = labelled(n, d, classes)
    data.X = np.floor(np.abs(4.0 * data.X))
    return data


def measured(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ np.linspace(2.0, 0.0, d) + rng.normal(size=n)
    return SimpleNamespace(X=X, y=y, arguments=("X", "y"))


def _total(data, found) -> float:
    return float(np.sum(found[0] if isinstance(found, tuple) else found))


def _selected(data, found) -> float:
    """The selected columns as one number."""
    return float(found.get_support(indices=True) @ np.arange(1.0, 1.0 + found.get_support().sum()))


def _subsets_one_by_one(data):
    """All pairs of columns by the least squares of scikit-learn."""
    from itertools import combinations

    least_squares = find("sklearn.linear_model.LinearRegression")

    def search():
        pairs = combinations(range(data.X.shape[1]), 2)
        scores = {
            p: least_squares().fit(data.X[:, p], data.y).score(data.X[:, p], data.y) for p in pairs
        }
        return _Chosen(max(scores, key=scores.__getitem__), data.X.shape[1])

    return search


class _Chosen:
    def __init__(self, columns, d):
        self.mask = np.isin(np.arange(d), columns)

    def get_support(self, indices=False):
        return np.flatnonzero(self.mask) if indices else self.mask


def linear():
    """A model to select with: the same for all libraries."""
    return find("fastml.linear_model.LinearRegression")()


def _score(name, work, data, shape, tolerance=1e-9, **more):
    return Case(
        "select-by-chi2" if name == "chi2" else name.replace("_", "-"),
        f"feature_selection.{name}", f"{name}, {work}", data,
        sizes(**shape), Quality("sum of scores", _total, tolerance=tolerance), step="call",
        peers=SKLEARN, **more,
    )  # fmt: skip


def _selector(id, name, data, shape, **more):
    return Case(
        id, f"feature_selection.{name}", f"{name}, {{n:,}} × {{d}}", data, sizes(**shape),
        Quality("selected columns", _selected, tolerance=0.0), peers=SKLEARN, **more,
    )  # fmt: skip


CLASSES = {"n": (200, 50_000, 50_000), "d": (4, 20, 20), "classes": 3}
LARGE = {"n": (200, 50_000, 500_000), "d": (4, 50, 50), "classes": (3, 5, 5)}
NUMBERS = {"n": (200, 5_000, 50_000), "d": (4, 10, 10)}
FEW = {"n": (60, 2_000, 20_000), "d": (4, 12, 20)}
SEEDED = {"random_state": 0}


def line_between_classes():
    return find("fastml.linear_model.RidgeClassifier")()


def fit_with_model(make, data):
    model = linear()
    return lambda: make(model).fit(data.X, data.y)


BY_MODEL: dict[str, Any] = {"step": fit_with_model, "settings": {"estimator": linear}}
BY_CLASSES = {**BY_MODEL, "settings": {"estimator": line_between_classes}}

CASES = (
    _score("mutual_info_classif", "{n:,} × {d}", labelled, CLASSES, params=SEEDED),
    _score("mutual_info_regression", "{n:,} × {d}", measured, NUMBERS, params=SEEDED),
    _score("f_classif", "{n:,} × {d}", labelled, LARGE, dtypes=BOTH),
    _score("chi2", "{n:,} × {d}", counted, LARGE),
    _score("f_regression", "{n:,} × {d}", measured, {**NUMBERS, "n": (200, 50_000, 500_000)}),
    _selector("select-k-best", "SelectKBest", labelled, LARGE, params={"k": 2},
              settings={"k": 2}),
    _selector("select-percentile", "SelectPercentile", labelled, LARGE,
              params={"percentile": 50}, settings={"percentile": 50}),
    _selector("select-fpr", "SelectFpr", labelled, LARGE),
    _selector("select-fdr", "SelectFdr", labelled, LARGE),
    _selector("select-fwe", "SelectFwe", labelled, LARGE),
    _selector("select-generic", "GenericUnivariateSelect", labelled, LARGE,
              params={"mode": "k_best", "param": 2}, settings={"mode": "k_best", "param": 2}),
    _selector("variance-threshold", "VarianceThreshold", labelled, LARGE,
              params={"threshold": 1.2}),
    _selector("select-from-model", "SelectFromModel", measured, FEW, **BY_MODEL,
              variants=({"max_features": 2},)),
    _selector("rfe", "RFE", measured, FEW, **BY_CLASSES),
    _selector("rfecv", "RFECV", measured, FEW, **BY_CLASSES),
    _selector("sequential-selection", "SequentialFeatureSelector", measured, FEW, **BY_MODEL),
    Case(
        "exhaustive-selection", "feature_selection.ExhaustiveFeatureSelector",
        "best 2 of {d} columns by branch and bound, {n:,} rows", measured, sizes(**FEW),
        Quality("selected columns", _selected, tolerance=0.0),
        {"n_features_to_select": 2, "monotone": True, "cv": None},
        peers={"sklearn": _subsets_one_by_one},
        variants=({"n_features_to_select": "best", "min_score": -9.0, "cv": 2},), **BY_MODEL,
    ),
)  # fmt: skip
