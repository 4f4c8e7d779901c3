"""LightGBM's text format → trees.

A node's ``decision_type`` has bit 0 for a split by categories, bit 1 for missing values to the
left, and bits 2 and 3 for what is missing: nothing (NaN counts as zero), zero (and NaN), or NaN.
Numbers of at most 1e-35 are zero to LightGBM.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from fastml._engines.boosted.assemble import MAX_BINS, GrownTree
from fastml.convert._boosters._model import (
    TINY,
    TrainedElsewhere,
    converted,
)

NOTHING, ZERO, NAN = range(3)

LINKS = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile"), "identity"),
    **dict.fromkeys(("mape", "lambdarank", "rank_xendcg", "custom"), "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("binary", "cross_entropy", "multiclassova"), "sigmoid"),
    "cross_entropy_lambda": "log1p_exp",
    "multiclass": "softmax",
}


def from_lightgbm(model, *, classes=None):
    """A model that LightGBM trained, predicting on fastml's kernels.

    Thresholds are compared in float64, missing values go where each node sends them, and the
    objective's link is applied, as LightGBM does. Training that stopped early is cut at its best
    iteration. Linear trees, and columns with more than 254 categories in use, are refused.

    Parameters
    ----------
    model : lightgbm.Booster, LGBMClassifier, LGBMRegressor, LGBMRanker, path or str
        The trained model, a file of ``save_model``, or its text.
    classes : array-like, default=None
        Labels of the classes; by default those of the LGBMClassifier, else 0, 1, ...

    Returns
    -------
    model : estimator
        A classifier with ``predict_proba`` for objectives of classification, else a regressor;
        both have ``raw_predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMRegressor
    >>> from fastml.convert import from_lightgbm
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> trained = LGBMRegressor(n_estimators=5, verbose=-1).fit(X, X[:, 0])
    >>> bool(np.allclose(from_lightgbm(trained).predict(X), trained.predict(X)))
    True
    """
    return converted(read(_text(model)), model, classes)


def _text(model) -> str:
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "model_to_string"):
        return booster.model_to_string()  # up to the best iteration
    if isinstance(booster, str) and booster.startswith("tree\n"):
        return booster
    return Path(booster).read_text()


def read(text: str) -> TrainedElsewhere:
    """What a model's text says."""
    if not text.startswith("tree\n"):
        raise ValueError("this is not a model of LightGBM")
    head, *parts = text.split("\nTree=")
    facts = _facts(head)
    parts[-1:] = parts[-1].split("\nend of trees")[:1]
    n_outputs = int(facts["num_tree_per_iteration"])
    n_features = int(facts["max_feature_idx"]) + 1
    tables = [_facts(part) for part in parts]
    if any(table.get("is_linear", "0") != "0" for table in tables):
        raise ValueError("linear trees of LightGBM (linear_tree=True) cannot be converted")
    kinds = _missing_kinds(tables, n_features)
    categories = _categories(tables, n_features)
    trees = [_tree(table, categories) for table in tables]
    objective, *words = facts.get("objective", "custom").split()
    if objective not in LINKS:
        raise ValueError(f"LightGBM's objective {objective!r} cannot be converted")
    link = "signed_square" if "sqrt" in words else LINKS[objective]
    slope = next((float(w.partition(":")[2]) for w in words if w.startswith("sigmoid:")), 1.0)
    n_classes = 2 if objective == "binary" else n_outputs if objective.startswith("multi") else 0
    n_categories = np.zeros(n_features, np.intp)
    for f, values in categories.items():
        n_categories[f] = len(values) + 1  # one more for all others
    return TrainedElsewhere(
        "lightgbm", objective, trees, np.zeros(n_outputs), n_features, link, slope,
        n_classes=n_classes,
        scale=n_outputs / len(tables) if "average_output" in facts else 1.0,
        n_categories=n_categories,
        category_values=categories,
        zero_is_missing=[f for f, kind in kinds.items() if kind == ZERO],
        feature_names=_names(facts["feature_names"].split(" "), n_features),
        pandas_categories=_pandas_categories(text),
    )  # fmt: skip


def _facts(part: str) -> dict[str, str]:
    lines = (line.partition("=") for line in part.split("\n"))
    return {key: value for key, _, value in lines if key}


def _names(names: list[str], n_features: int) -> list[str] | None:
    """None if LightGBM made them up."""
    return None if names == [f"Column_{i}" for i in range(n_features)] else names


def _numbers(table: dict, name: str, dtype) -> np.ndarray:
    return np.array(table.get(name, "").split(), dtype=dtype)


def _missing_kinds(tables: list[dict], n_features: int) -> dict[int, int]:
    """What is missing in each column that splits by numbers."""
    kinds: dict[int, int] = {}
    for table in tables:
        types = _numbers(table, "decision_type", np.int64)
        for f, kind in zip(_numbers(table, "split_feature", np.int64), types):
            if not kind & 1 and kinds.setdefault(int(f), kind >> 2 & 3) != kind >> 2 & 3:
                raise ValueError(
                    f"column {f} counts zero as missing in some trees and not in others, which "
                    "cannot be converted"
                )
    return kinds


def _categories(tables: list[dict], n_features: int) -> dict[int, np.ndarray]:
    """Categories that some split of the column names."""
    found: dict[int, set] = {}
    for table in tables:
        types = _numbers(table, "decision_type", np.int64)
        features = _numbers(table, "split_feature", np.int64)
        for node in np.flatnonzero(types & 1).tolist():
            found.setdefault(int(features[node]), set()).update(_set(table, node))
    for f, values in found.items():
        if len(values) >= MAX_BINS:
            raise ValueError(f"column {f} has {len(values)} categories in use; 254 can be had")
    return {f: np.array(sorted(values) or [0]) for f, values in found.items()}


def _set(table: dict, node: int) -> list[int]:
    """Categories that go left at a node."""
    at = int(_numbers(table, "threshold", np.float64)[node])
    bounds = _numbers(table, "cat_boundaries", np.int64)
    words = _numbers(table, "cat_threshold", np.uint32)[bounds[at] : bounds[at + 1]]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def _tree(table: dict, categories: dict) -> GrownTree:
    """Splits first, then leaves; LightGBM numbers a leaf i as child -i - 1."""
    values = _numbers(table, "leaf_value", np.float64)
    left, right = (_numbers(table, f"{side}_child", np.int64) for side in ("left", "right"))
    n_splits, none = len(left), np.full(len(values), -1)
    types = _numbers(table, "decision_type", np.int64)
    features = _numbers(table, "split_feature", np.int64)
    thresholds = _numbers(table, "threshold", np.float64)
    kinds, by_set = types >> 2 & 3, (types & 1).astype(bool)
    # Where nothing is missing, NaN counts as zero.
    to_left = np.where(kinds == NOTHING, thresholds >= 0.0, (types & 2) != 0) & ~by_set
    thresholds = np.where((thresholds >= 0.0) & (thresholds < TINY), TINY, thresholds)
    negative = (thresholds < 0.0) & (thresholds >= -TINY)
    thresholds = np.where(negative, np.nextafter(-TINY, -np.inf), thresholds)
    sets = {}
    for node in np.flatnonzero(by_set).tolist():
        known = categories[int(features[node])]
        sets[node] = np.searchsorted(known, _set(table, node))

    def joined(inner, leaf, dtype):
        return np.concatenate([inner, leaf]).astype(dtype)

    children = [np.where(side < 0, n_splits - side - 1, side) for side in (left, right)]
    return GrownTree(
        left=joined(children[0], none, np.intp),
        right=joined(children[1], none, np.intp),
        feature=joined(features, none, np.intp),
        threshold=joined(thresholds, np.zeros(len(values)), np.float64),
        missing_left=joined(to_left, np.zeros(len(values)), bool),
        value=joined(np.zeros(n_splits), values, np.float64),
        sets=sets,
        cover=_cover(table, len(values)),
    )


def _cover(table: dict, n_leaves: int) -> np.ndarray | None:
    """Training rows of the splits, then of the leaves; old files do not say."""
    counts = [_numbers(table, f"{kind}_count", np.int64) for kind in ("internal", "leaf")]
    if n_leaves == 1:
        return np.ones(1, np.int64)
    known = len(counts[0]) == n_leaves - 1 and len(counts[1]) == n_leaves
    return np.concatenate(counts) if known else None


def _pandas_categories(text: str) -> list | None:
    line = text.rstrip().rpartition("\n")[2]
    name, _, value = line.partition(":")
    return (json.loads(value) or None) if name == "pandas_categorical" else None
