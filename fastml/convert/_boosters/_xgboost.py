"""XGBoost's models (JSON or its binary form) → trees.

Rows and thresholds are float32; a row goes left if its value is below the threshold. At a split by
categories those of the node's set go right, and so unseen ones go left.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np

from fastml._engines.boosted.assemble import MAX_BINS, GrownTree
from fastml.convert._boosters import _ubjson
from fastml.convert._boosters._model import (
    TrainedElsewhere,
    converted,
)

LINKS = {
    **dict.fromkeys(("reg:squarederror", "reg:linear", "reg:squaredlogerror"), "identity"),
    **dict.fromkeys(("reg:pseudohubererror", "reg:absoluteerror"), "identity"),
    **dict.fromkeys(("reg:quantileerror", "binary:logitraw"), "identity"),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), "identity"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
    **dict.fromkeys(("survival:cox", "survival:aft"), "exp"),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "sigmoid"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
    "binary:hinge": "step",
}

LOGIT = ("reg:logistic", "binary:logistic")
"""Objectives whose ``base_score`` is a probability."""


def from_xgboost(model, *, classes=None):
    """A model that XGBoost trained, predicting on fastml's kernels.

    Rows are rounded to float32 before they are compared, as XGBoost's; ``base_score`` and the
    objective's link are applied. Training that stopped early is cut at its best iteration (a
    Booster's own ``predict`` is not, an XGBClassifier's is). Linear boosters, trees with a vector
    in each leaf, and columns with more than 254 categories in use are refused.

    Parameters
    ----------
    model : xgboost.Booster, XGBClassifier, XGBRegressor, XGBRanker, path or str
        The trained model, a file of ``save_model`` (.json or .ubj), or the text of a .json one.
    classes : array-like, default=None
        Labels of the classes; by default those of the XGBClassifier, else 0, 1, ...

    Returns
    -------
    model : estimator
        A classifier with ``predict_proba`` for objectives of classification, else a regressor;
        both have ``raw_predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from xgboost import XGBRegressor
    >>> from fastml.convert import from_xgboost
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> trained = XGBRegressor(n_estimators=5).fit(X, X[:, 0])
    >>> bool(np.allclose(from_xgboost(trained).predict(X), trained.predict(X)))
    True
    """
    return converted(read(_content(model)), model, classes)


def _content(model) -> dict:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if hasattr(booster, "save_raw"):
        return json.loads(bytes(booster.save_raw("json")))
    given = isinstance(booster, str) and booster.startswith("{")
    data = booster.encode() if given else Path(booster).read_bytes()
    try:
        found = json.loads(data) if data[1:2] in b'"\n\r\t ' else _ubjson.loads(data)
    except ValueError as error:
        raise ValueError(f"this is not a model of XGBoost: {error}") from error
    return found


def read(content: dict) -> TrainedElsewhere:
    """What a model says."""
    try:
        learner = content["learner"]
        facts, booster = learner["learner_model_param"], learner["gradient_booster"]
    except (KeyError, TypeError):
        raise ValueError("this is not a model of XGBoost") from None
    objective = learner["objective"]["name"]
    if objective not in LINKS:
        raise ValueError(f"XGBoost's objective {objective!r} cannot be converted")
    weights = None
    if booster["name"] == "dart":
        weights = booster["weight_drop"]
        booster = booster["gbtree"]
    elif booster["name"] != "gbtree":
        raise ValueError(f"XGBoost's booster {booster['name']!r} cannot be converted; trees can")
    n_features = int(facts["num_feature"])
    n_outputs = max(1, int(facts["num_class"]), int(facts.get("num_target", 1)))
    kept, outputs = _kept(booster["model"], learner.get("attributes", {}), weights)
    parallel = booster["model"].get("gbtree_model_param", {}).get("num_parallel_tree", 1)
    per_iteration = max(1, n_outputs * int(parallel))
    categories = _categories([table for table, _ in kept])
    trees = _by_output(
        [_tree(table, weight, categories) for table, weight in kept], outputs, n_outputs
    )
    n_categories = np.zeros(n_features, np.intp)
    for f, values in categories.items():
        n_categories[f] = len(values) + 1  # one more for all others
    names = learner.get("feature_names") or None
    n_classes = {"binary": 2, "multi": n_outputs}.get(objective.partition(":")[0], 0)
    if objective == "binary:logitraw":
        n_classes = 0
    return TrainedElsewhere(
        "xgboost",
        objective,
        trees,
        _baseline(facts["base_score"], objective, n_outputs),
        n_features,
        LINKS[objective],
        n_classes=n_classes,
        n_iterations=-(-len(kept) // per_iteration),
        n_categories=n_categories,
        category_values=categories,
        category_rounding="floor",
        row_type=np.float32,
        absent=np.nan,
        feature_names=names,
        pandas_categories=_pandas_categories(booster["model"]),
    )


def _kept(model: dict, attributes: dict, weights) -> tuple[list, list[int]]:
    """(Tree, its weight) and its output, up to the best iteration."""
    tables, outputs = model["trees"], model["tree_info"]
    weights = [1.0] * len(tables) if weights is None else weights
    last = len(tables)
    if "best_iteration" in attributes and "iteration_indptr" in model:
        last = model["iteration_indptr"][int(attributes["best_iteration"]) + 1]
    if any(int(table["tree_param"].get("size_leaf_vector", 1)) > 1 for table in tables):
        raise ValueError("trees with a vector in each leaf (multi_output_tree) cannot be converted")
    return list(zip(tables[:last], weights[:last])), outputs[:last]


def _by_output(trees: list[GrownTree], outputs: list[int], n_outputs: int) -> list[GrownTree]:
    """In turn for each output; where one has fewer, trees that add nothing."""
    lines: list[list[GrownTree]] = [[] for _ in range(n_outputs)]
    for tree, output in zip(trees, outputs):
        lines[output].append(tree)
    longest = max(1, *(len(line) for line in lines))
    for line in lines:
        line += [GrownTree.constant(0.0)] * (longest - len(line))
    return [line[i] for i in range(longest) for line in lines]


def _baseline(text, objective: str, n_outputs: int) -> np.ndarray:
    """``base_score`` before the link; a list since version 3.1."""
    scores = np.array(json.loads(text) if isinstance(text, str) else text, dtype=np.float64)
    scores = np.broadcast_to(scores.reshape(-1), n_outputs).copy()
    if objective in LOGIT:
        return -np.log(1.0 / scores - 1.0)
    return np.log(scores) if LINKS[objective] == "exp" else scores


def _sets(table: dict) -> dict[int, list[int]]:
    """Categories that go right, per node that splits by them."""
    if not table.get("categories_nodes"):
        return {}
    parts = zip(table["categories_nodes"], table["categories_segments"], table["categories_sizes"])
    return {node: table["categories"][first : first + size] for node, first, size in parts}


def _categories(tables: list[dict]) -> dict[int, np.ndarray]:
    """Categories that some split of the column names."""
    found: dict[int, set] = {}
    for table in tables:
        for node, chosen in _sets(table).items():
            found.setdefault(int(table["split_indices"][node]), set()).update(chosen)
    for f, values in found.items():
        if len(values) >= MAX_BINS:
            raise ValueError(f"column {f} has {len(values)} categories in use; 254 can be had")
    return {f: np.array(sorted(values)) for f, values in found.items()}


def _tree(table: dict, weight: float, categories: dict) -> GrownTree:
    left = np.array(table["left_children"], np.intp)
    conditions = np.array(table["split_conditions"], np.float32)
    inner = left >= 0
    features = np.array(table["split_indices"], np.intp)
    sets = {}
    for node, right in _sets(table).items():
        known = categories[int(features[node])]
        codes = np.arange(len(known) + 1)
        sets[int(node)] = np.setdiff1d(codes, np.searchsorted(known, right))
    below = np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64)
    return GrownTree(
        left=left,
        right=np.array(table["right_children"], np.intp),
        feature=np.where(inner, features, -1),
        threshold=np.where(inner, below, 0.0),
        missing_left=np.array(table["default_left"]).astype(bool) & inner,
        value=np.where(inner, 0.0, conditions.astype(np.float64) * float(np.float32(weight))),
        sets=sets,
        cover=np.array(table["sum_hessian"], np.float64) if "sum_hessian" in table else None,
    )


def _pandas_categories(model: dict) -> list | None:
    """Values of the columns of categories, where a table of them was given in training."""
    enc = (model.get("cats") or {}).get("enc") or []
    values = []
    for column in enc:
        known = column.get("values", [])
        if "offsets" in column:
            data = bytes(v & 255 for v in known)
            ends = column["offsets"]
            known = [data[a:b].decode("utf-8") for a, b in itertools.pairwise(ends)]
        if len(known):
            values.append(known)
    return values or None
