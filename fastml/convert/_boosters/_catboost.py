"""CatBoost's JSON → trees.

Rows and borders are float32; a row goes right if its value is above the border. All nodes of one
level of an oblivious tree have the same split: bit i of a leaf's number says whether split i sent
the row right. Values of the leaves stand leaf by leaf, in each of them output by output.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fastml._engines.boosted.assemble import GrownTree
from fastml.convert._boosters._model import (
    TrainedElsewhere,
    converted,
)

LINKS = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MultiQuantile", "MAPE", "Lq"), "identity"),
    **dict.fromkeys(("Huber", "Expectile", "LogCosh", "LogLinQuantile"), "identity"),
    **dict.fromkeys(("MultiRMSE", "MultiRMSEWithMissingValues", "GroupQuantile"), "identity"),
    **dict.fromkeys(("QueryRMSE", "QuerySoftMax", "PairLogit", "PairLogitPairwise"), "identity"),
    **dict.fromkeys(("YetiRank", "YetiRankPairwise", "StochasticRank", "LambdaMart"), "identity"),
    **dict.fromkeys(("Poisson", "Tweedie"), "exp"),
    **dict.fromkeys(("Logloss", "CrossEntropy", "Focal", "MultiClassOneVsAll"), "sigmoid"),
    "MultiClass": "softmax",
}

FAST_LEAVES = 31
"""Trees of so many leaves are summed fastest, for rows of float32."""

MOST_CUT = 64
"""Trees of more leaves are walked node by node, which cutting them would only make longer."""

BINARY = ("Logloss", "CrossEntropy", "Focal")
REFUSED = {
    "categorical_features": "categories",
    "text_features": "texts",
    "embedding_features": "embeddings",
}


def from_catboost(model, *, classes=None):
    """A model that CatBoost trained, predicting on fastml's kernels.

    Rows are rounded to float32 before they are compared, missing values count as the smallest or
    largest, as in training, and the link of the loss is applied, as CatBoostClassifier and
    CatBoostRegressor do. Columns of categories, texts and embeddings are refused.

    Parameters
    ----------
    model : catboost.CatBoost, CatBoostClassifier, CatBoostRegressor, CatBoostRanker, path or str
        The trained model, a file of ``save_model(..., format="json")``, or its text.
    classes : array-like, default=None
        Labels of the classes; by default those of the model.

    Returns
    -------
    model : estimator
        A classifier with ``predict_proba`` for losses of classification, else a regressor;
        both have ``raw_predict``.

    Examples
    --------
    >>> import json
    >>> from fastml.convert import from_catboost
    >>> split = {"split_type": "FloatFeature", "float_feature_index": 0, "border": 1.5}
    >>> column = {"feature_index": 0, "flat_feature_index": 0, "nan_value_treatment": "AsIs"}
    >>> text = json.dumps({
    ...     "features_info": {"float_features": [column]},
    ...     "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
    ...     "oblivious_trees": [{"leaf_values": [-1.0, 2.0], "splits": [split]}],
    ...     "scale_and_bias": [1, [10.0]],
    ... })
    >>> from_catboost(text).predict([[1.0], [2.0]])
    array([ 9., 12.])
    """
    content = _content(model)
    try:
        source = read(content)
        labels = _labels(content, source.n_classes)
    except (KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"this is not a model of CatBoost: {error!r}") from error
    return converted(source, model, labels if classes is None else classes)


def _content(model) -> dict:
    if hasattr(model, "save_model"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            model.save_model(str(file), format="json")
            return json.loads(file.read_bytes())
    given = isinstance(model, str) and model.lstrip().startswith("{")
    try:
        return json.loads(model if given else Path(model).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not a model of CatBoost saved as JSON: {error}") from error


def read(content: dict) -> TrainedElsewhere:
    """What a model says."""
    features = content["features_info"]
    for name, word in REFUSED.items():
        if features.get(name):
            raise ValueError(f"CatBoost's models with columns of {word} cannot be converted")
    loss = content["model_info"]["params"]["loss_function"]["type"]
    if loss not in LINKS:
        raise ValueError(f"CatBoost's loss {loss!r} cannot be converted")
    if float(content["model_info"].get("binclass_probability_threshold", 0.5)) != 0.5:
        raise ValueError(
            "CatBoost's models with a probability threshold (set_probability_threshold) other than "
            "0.5 cannot be converted"
        )
    scale, bias = content["scale_and_bias"]
    baseline = np.array(bias, np.float64).reshape(-1)
    n_outputs = len(baseline)
    columns = sorted(features["float_features"], key=lambda column: column["flat_feature_index"])
    if [column["flat_feature_index"] for column in columns] != list(range(len(columns))):
        raise ValueError("CatBoost's models whose columns are not all numbers cannot be converted")
    splits = _Splits(columns)
    iterations = [splits.oblivious(t, n_outputs, scale) for t in content.get("oblivious_trees", [])]
    iterations += [splits.any_shape(t, n_outputs, scale) for t in content.get("trees", [])]
    nested = _small(iterations or [[NOTHING] * n_outputs])
    names = [column.get("feature_id", "") for column in columns]
    made_up = any(name in ("", str(i)) for i, name in enumerate(names))
    return TrainedElsewhere(
        "catboost",
        loss,
        [splits.grown(tree) for trees in nested for tree in trees],
        baseline,
        len(columns),
        LINKS[loss],
        n_classes=2 if loss in BINARY else n_outputs if loss.startswith("MultiClass") else 0,
        n_iterations=len(iterations),
        row_type=np.float32,
        feature_names=None if made_up else names,
    )


def _labels(content: dict, n_classes: int):
    """Labels that the model knows; None if it knows none."""
    facts = content["model_info"].get("class_params", {})
    names = facts.get("class_names", [])
    if n_classes and max(len(names), facts.get("classes_count", 0)) > n_classes:
        raise ValueError(
            "CatBoost's models with classes that training did not see cannot be converted"
        )
    return np.array(names) if n_classes and names else None


class _Leaf(NamedTuple):
    value: float
    cover: float  # weight of the training rows; 0 where the model does not say


NOTHING = _Leaf(0.0, 1.0)


class _Splits:
    """CatBoost's trees → (column, border, left, right), or a leaf, → `GrownTree`."""

    def __init__(self, columns: list[dict]):
        self.columns = {column["feature_index"]: column for column in columns}
        self.missing_left = {
            column["flat_feature_index"]: column["nan_value_treatment"] != "AsTrue"
            for column in columns
        }

    def condition(self, split: dict) -> tuple[int, float]:
        """The column and the border."""
        kind = split["split_type"]
        if kind != "FloatFeature":
            raise ValueError(f"CatBoost's splits by {kind} cannot be converted")
        column = self.columns[split["float_feature_index"]]
        return column["flat_feature_index"], float(np.float32(split["border"]))

    def oblivious(self, table: dict, n_outputs: int, scale: float) -> list:
        """A tree per output, without branches that no row can reach and splits that change
        nothing."""
        conditions = [self.condition(split) for split in table["splits"] or []]
        values = scale * np.array(table["leaf_values"], np.float64)
        values = values.reshape(1 << len(conditions), n_outputs)
        covers = table.get("leaf_weights") or [0.0] * len(values)
        return [
            _unfolded(conditions, [_Leaf(*leaf) for leaf in zip(column.tolist(), covers)], 0, 0, {})
            for column in values.T
        ]

    def any_shape(self, table: dict, n_outputs: int, scale: float) -> list:
        """A tree per output of one whose branches differ (Depthwise, Lossguide)."""

        def nested(node, output):
            if "split" in node:
                left, right = (nested(node[side], output) for side in ("left", "right"))
                return (*self.condition(node["split"]), left, right)
            value = scale * float(np.reshape(node["value"], n_outputs)[output])
            return _Leaf(value, float(node.get("weight", 0.0)))

        return [nested(table, output) for output in range(n_outputs)]

    def grown(self, root) -> GrownTree:
        nodes, table = [root], []
        for node in nodes:  # grows meanwhile
            if isinstance(node, _Leaf):
                table.append((-1, -1, -1, 0.0, False, node.value, node.cover))
            else:
                column, border, left, right = node
                at, missing_left = len(nodes), self.missing_left[column]
                table.append((at, at + 1, column, border, missing_left, 0.0, _cover(node)))
                nodes += [left, right]
        left, right, feature, threshold, missing_left, value, cover = zip(*table)
        return GrownTree(
            np.array(left, np.intp),
            np.array(right, np.intp),
            np.array(feature, np.intp),
            np.array(threshold, np.float64),
            np.array(missing_left, bool),
            np.array(value, np.float64),
            sets={},
            cover=np.array(cover, np.float64),
        )


def _unfolded(conditions: list, leaves: list, level: int, leaf: int, known: dict):
    """The nodes below a place of an oblivious tree, whose last split is the root, as CatBoost's
    Shapley values have it; ``known``: column → its values are above the first and not above the
    second number there."""
    if level == len(conditions):
        return leaves[leaf]
    bit = len(conditions) - 1 - level
    column, border = conditions[bit]
    low, high = known.get(column, (-np.inf, np.inf))

    def child(right: bool, known: dict):
        return _unfolded(conditions, leaves, level + 1, leaf | right << bit, known)

    if not low < border < high:
        return child(border <= low, known)
    left = child(False, {**known, column: (low, border)})
    right = child(True, {**known, column: (border, high)})
    if isinstance(left, _Leaf) and isinstance(right, _Leaf) and left.value == right.value:
        return _Leaf(left.value, left.cover + right.cover)
    if left == right and _cover(left) == 0.0:
        return left
    return column, border, left, right


def _small(iterations: list[list]) -> list[list]:
    """Trees of depth 6, CatBoost's default, cut into smaller ones of the same sum."""
    if not FAST_LEAVES < max(_n_leaves(tree) for trees in iterations for tree in trees) <= MOST_CUT:
        return iterations
    return [
        list(row)
        for trees in iterations
        for row in itertools.zip_longest(*(_cut(t, FAST_LEAVES) for t in trees), fillvalue=NOTHING)
    ]


def _n_leaves(node) -> int:
    return 1 if isinstance(node, _Leaf) else _n_leaves(node[2]) + _n_leaves(node[3])


def _cover(node) -> float:
    return node.cover if isinstance(node, _Leaf) else _cover(node[2]) + _cover(node[3])


def _cut(node, most: int) -> list:
    """Trees of at most so many leaves; every row has its value in one and zero in the others."""
    if _n_leaves(node) <= most:
        return [node]
    column, border, left, right = node
    no_left, no_right = (_Leaf(0.0, _cover(side)) for side in (left, right))
    return [
        *((column, border, part, no_right) for part in _cut(left, most - 1)),
        *((column, border, no_left, part) for part in _cut(right, most - 1)),
    ]
