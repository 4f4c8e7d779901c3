"""Models of CatBoost predict the same here, at every border and beside it.

The stored models were made by CatBoost 1.2.10 (data/make_catboost.py), with what it predicts.
"""

import copy
import io
import json
from pathlib import Path

import numpy as np
import pytest

from fastml.convert import from_catboost, load, save

DATA = Path(__file__).parent / "data"
STORED = {
    "regression": ("Poisson", None),
    "classes": ("MultiClass", ["a", "b", "c"]),
    "lossguide": ("Logloss", [3, 7]),
}


def stored(name) -> dict:
    return json.loads((DATA / f"catboost_{name}.json").read_text())


@pytest.mark.parametrize("name", STORED)
def test_stored_models_predict_as_catboost_did(name):
    objective, labels = STORED[name]
    expected = stored(name)["expected"]
    rows = np.array(expected["rows"])
    model = from_catboost(DATA / f"catboost_{name}.json")
    assert (model.library_, model.objective_) == ("catboost", objective)
    np.testing.assert_allclose(model.raw_predict(rows), expected["raw"], rtol=0, atol=1e-12)
    if labels is None:
        np.testing.assert_allclose(model.predict(rows), expected["predict"], rtol=1e-12)
    else:
        assert model.classes_.tolist() == labels
        assert model.predict(rows).tolist() == expected["predict"]
    np.testing.assert_array_equal(
        from_catboost(json.dumps(stored(name))).raw_predict(rows), model.raw_predict(rows)
    )
    save(model, file := io.BytesIO())
    np.testing.assert_array_equal(load(file).predict(rows), model.predict(rows))


def test_scale_names_labels_and_models_without_trees():
    content = stored("classes")
    rows = np.array(content["expected"]["rows"])
    content["scale_and_bias"] = [2.0, [1.0, 0.0, -1.0]]
    raw = np.array(content["expected"]["raw"])
    found = from_catboost(json.dumps(content), classes=[5, 6, 7])
    np.testing.assert_allclose(found.raw_predict(rows), 2.0 * raw + [1.0, 0.0, -1.0], atol=1e-12)
    assert found.classes_.tolist() == [5, 6, 7]
    content["oblivious_trees"] = []
    bare = from_catboost(json.dumps(content))
    np.testing.assert_array_equal(bare.raw_predict(rows[:2]), [[1.0, 0.0, -1.0]] * 2)
    for name, column in zip("xyz", content["features_info"]["float_features"]):
        column["feature_id"] = name
    assert from_catboost(json.dumps(content)).feature_names_in_.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(("depth", "stored_trees"), [(4, 1), (6, 4), (7, 1)])
def test_every_leaf_is_found_where_trees_are_cut_and_where_not(depth, stored_trees):
    numbers = np.arange(1 << depth)
    right = numbers[:, None] >> np.arange(depth) & 1
    values = np.column_stack([numbers + 1.0, numbers % 2])  # the second has two leaves
    columns = [
        {"feature_index": f, "flat_feature_index": f, "nan_value_treatment": "AsIs"}
        for f in range(depth)
    ]
    splits = [
        {"split_type": "FloatFeature", "float_feature_index": f, "border": 0.5}
        for f in range(depth)
    ]
    model = from_catboost(
        json.dumps({
            "features_info": {"float_features": columns},
            "model_info": {"params": {"loss_function": {"type": "MultiRMSE"}}},
            "oblivious_trees": [{"leaf_values": values.ravel().tolist(), "splits": splits}],
            "scale_and_bias": [1, [0.0, 0.0]],
        })
    )  # fmt: skip
    assert (len(model._trees), model.n_iter_) == (stored_trees, 1)
    np.testing.assert_array_equal(model.predict(right.astype(float)), values)


def changed(name, *path, to):
    content = copy.deepcopy(stored(name))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        (("model_info", "params", "loss_function", "type"), "RMSEWithUncertainty", "loss 'RMSEWi"),
        (("model_info", "binclass_probability_threshold"), "0.7", "probability threshold"),
        (("model_info", "class_params", "classes_count"), 5, "training did not see"),
        (("features_info", "categorical_features"), [{"feature_index": 0}], "of categories"),
        (("features_info", "text_features"), [{"feature_index": 0}], "of texts"),
        (("features_info", "embedding_features"), [{"feature_index": 0}], "of embeddings"),
        (("features_info", "float_features", 0, "flat_feature_index"), 3, "not all numbers"),
        (("oblivious_trees", 0, "splits", 0, "split_type"), "OnlineCtr", "OnlineCtr"),
        (("oblivious_trees", 0, "leaf_values"), [1.0], "reshape"),
        (("oblivious_trees", 0, "splits", 0, "float_feature_index"), 9, "not a model of CatBoost"),
        (("oblivious_trees",), 5, "not a model of CatBoost"),
    ],
)
def test_refuses_by_name(path, to, said):
    with pytest.raises(ValueError, match=said):
        from_catboost(changed("classes", *path, to=to))


@pytest.mark.parametrize("text", ["{}", '{"features_info": []}', "{", "{" * 10_000])
def test_refuses_what_is_no_model(text):
    with pytest.raises(ValueError, match="not a model of CatBoost"):
        from_catboost(text)


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="saved as JSON"):
        from_catboost(__file__)


LIVE = [
    ("RMSE", {"border_count": 400, "depth": 6, "iterations": 60}),
    ("RMSE", {"grow_policy": "Depthwise", "nan_mode": "Max"}),
    ("Tweedie:variance_power=1.5", {}),
    ("MultiQuantile:alpha=0.2,0.8", {}),
    ("Logloss", {}),
    ("CrossEntropy", {"nan_mode": "Max"}),
    ("MultiClass", {"grow_policy": "Lossguide"}),
    ("MultiClassOneVsAll", {"depth": 6, "iterations": 20}),  # trees that are cut
    ("Logloss", {"depth": 8}),  # and that are not
]


@pytest.mark.parametrize(("loss", "more"), LIVE)
def test_trained_models(loss, more):
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    s = X[:, 0] + 0.5 * X[:, 1] ** 2
    X[:, :2][rng.random((300, 2)) < 0.1] = np.nan
    targets = {
        "Logloss": s > 0.3, "CrossEntropy": 1 / (1 + np.exp(-s)), "Tweedie": np.exp(s),
        "Multi": np.digitize(s, [0.0, 1.0]),
    }  # fmt: skip
    kind = "Multi" if loss.startswith("MultiClass") else loss.partition(":")[0]
    classifies = kind in ("Logloss", "CrossEntropy", "Multi")
    maker = catboost.CatBoostClassifier if classifies else catboost.CatBoostRegressor
    settings = {"iterations": 8, "depth": 4, "thread_count": 1, "allow_writing_files": False}
    trained = maker(loss_function=loss, verbose=0, **{**settings, **more})
    trained.fit(X, targets.get(kind, s))
    model = from_catboost(trained)
    assert model.n_iter_ == trained.tree_count_
    largest = np.finfo(np.float32).max
    T = [X, *(np.full((1, 4), v) for v in (np.nan, np.inf, -np.inf, largest, -largest))]
    for f, borders in trained.get_borders().items():
        at = np.array(borders, np.float32)
        with np.errstate(over="ignore"):
            steps = [np.nextafter(at, np.float32(way)) for way in (np.inf, -np.inf)]
        for values in (at, *steps):
            near = X[np.arange(len(at)) % 300].copy()
            near[:, f] = values
            T.append(near)
    T = np.concatenate(T)
    raw = trained.predict(T, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(model.raw_predict(T), raw, rtol=0, atol=1e-10)
    if classifies:
        np.testing.assert_array_equal(model.classes_, trained.classes_)
        np.testing.assert_array_equal(model.predict(T), np.ravel(trained.predict(T)))
        np.testing.assert_allclose(model.predict_proba(T), trained.predict_proba(T), atol=1e-10)
    else:
        np.testing.assert_allclose(model.predict(T), trained.predict(T), rtol=1e-10, atol=1e-10)


def test_trained_models_with_categories_are_refused():
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    rows = [["a", float(i)] if i % 2 else ["b", float(i)] for i in range(40)]
    trained = catboost.CatBoostRegressor(
        iterations=2, verbose=0, cat_features=[0], allow_writing_files=False
    ).fit(rows, np.arange(40) % 2)
    with pytest.raises(ValueError, match="columns of categories"):
        from_catboost(trained)
