"""Models of LightGBM and XGBoost predict the same here, at every threshold and beside it."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fastml.convert import from_lightgbm, from_xgboost, load, save
from fastml.convert._boosters import _ubjson

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

N, D = 400, 4
CATEGORIES = [2, 3]


def rows(kind="plain", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X[:, 1] = np.round(X[:, 1], 1)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    if kind == "zeros":
        X[rng.random(X.shape) < 0.3] = 0.0
    if kind == "categories":
        X[:, 2], X[:, 3] = rng.integers(0, 30, N), rng.integers(0, 4, N)
        X[::9, 2] = np.nan
    return X


def target(X, objective):
    rng = np.random.default_rng(1)
    s = np.nan_to_num(X[:, 0]) + 0.1 * np.nan_to_num(X[:, 2]) + 0.3 * rng.normal(size=N)
    if objective in ("binary", "binary:logistic", "binary:hinge", "binary:logitraw"):
        return (s > 0).astype(float)
    if "multi" in objective or "rank" in objective:
        return np.digitize(s, [-0.5, 0.5]).astype(float)
    if objective.startswith("cross_entropy") or objective == "reg:logistic":
        return 1.0 / (1.0 + np.exp(-s))
    positive = ("poisson", "gamma", "tweedie", "cox", "squaredlogerror")
    return np.exp(s) if objective.rpartition(":")[2] in positive else s


def probes(X, model, dtype, numeric=range(D)):
    """The rows, odd ones, and rows at each threshold and one step beside it."""
    odd = [np.nan, 0.0, -0.0, 1e-36, -1e-36, 999.0, 2.7]
    parts = [X, *(np.full((1, D), v) for v in odd)]
    mapper = model._mapper
    sources = np.arange(D) if mapper.sources is None else mapper.sources
    for f in numeric:
        own = [mapper.bin_thresholds_[i] for i in np.flatnonzero(sources == f)]
        at = np.concatenate(own)[:200].astype(dtype)
        inf = dtype(np.inf)
        for values in (at, np.nextafter(at, inf), np.nextafter(at, -inf)):
            near = X[np.arange(len(at)) % N].copy()
            near[:, f] = values
            parts.append(near)
    return np.concatenate(parts)


def assert_one_row_is_a_batch(model, T):
    """One row takes another way through the trees; not a bit differs."""
    found = [model.raw_predict, *([model.predict_proba] if hasattr(model, "classes_") else [])]
    for predict in (*found, model.predict):
        whole = predict(T)
        for i in range(0, len(T), 29):
            np.testing.assert_array_equal(predict(T[i : i + 1]), whole[i : i + 1])
        np.testing.assert_array_equal(predict(T[-7:]), whole[-7:])  # and so do a few


LIGHTGBM = [
    *((name, "plain", {}) for name in (
        "regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "gamma",
        "tweedie", "binary", "cross_entropy", "cross_entropy_lambda", "multiclass",
        "multiclassova", "lambdarank")),
    ("regression", "missing", {}),
    ("binary", "missing", {"use_missing": False}),
    ("regression", "zeros", {"zero_as_missing": True}),
    ("multiclass", "categories", {"min_data_per_group": 5}),
    ("regression", "plain", {"reg_sqrt": True}),
    ("binary", "plain", {"sigmoid": 2.0}),
    ("regression", "plain", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
    ("regression", "plain", {"num_leaves": 150, "min_data_in_leaf": 1}),
    ("regression", "plain", {"max_bin": 2000, "min_data_in_leaf": 1, "min_data_in_bin": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("objective", "kind", "more"), LIGHTGBM)
def test_lightgbm(objective, kind, more):
    X = rows(kind)
    parameters = {
        "objective": objective,
        "verbose": -1,
        "min_data_in_leaf": 5,
        "num_threads": 1,
        **more,
    }
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    data = lightgbm.Dataset(
        X, target(X, objective),
        categorical_feature=CATEGORIES if kind == "categories" else "auto",
        group=[100] * 4 if objective == "lambdarank" else None,
    )  # fmt: skip
    booster = lightgbm.train(parameters, data, 12)
    model = from_lightgbm(booster)
    T = probes(X, model, np.float64)
    raw, expected = booster.predict(T, raw_score=True), booster.predict(T)
    np.testing.assert_allclose(model.raw_predict(T), raw, rtol=0, atol=1e-10)
    found = model.predict_proba(T) if hasattr(model, "classes_") else model.predict(T)
    found = found[:, 1] if objective == "binary" else found
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert_one_row_is_a_batch(model, T)
    single = T.astype(np.float32)
    assert_one_row_is_a_batch(model, single)
    np.testing.assert_allclose(model.raw_predict(single), booster.predict(single, raw_score=True))
    save(model, file := io.BytesIO())
    for copy in (load(file), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.raw_predict(T), model.raw_predict(T))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_lightgbm_stops_at_the_best_iteration_and_knows_its_labels(tmp_path):
    X = rows()
    y = np.array(["a", "b"])[target(X, "binary").astype(int)]
    trained = lightgbm.LGBMClassifier(n_estimators=60, verbose=-1, min_child_samples=5).fit(
        X[:200], y[:200], eval_set=[(X[200:], y[200:])],
        callbacks=[lightgbm.early_stopping(2, verbose=False)],
    )  # fmt: skip
    assert trained.best_iteration_ < 60
    model = from_lightgbm(trained)
    assert model.n_iter_ == trained.best_iteration_
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(X), trained.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), trained.predict_proba(X), atol=1e-12)
    trained.booster_.save_model(tmp_path / "model.txt")
    np.testing.assert_allclose(
        from_lightgbm(tmp_path / "model.txt").raw_predict(X), model.raw_predict(X)
    )
    thin = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    np.testing.assert_allclose(model.predict_proba(thin), trained.predict_proba(thin), atol=1e-12)


def test_lightgbm_recodes_pandas_categories():
    table = pd.DataFrame(rows(), columns=list("abcd"))
    table["c"] = pd.Categorical(np.array(["x", "y", "z"])[np.arange(N) % 3])
    trained = lightgbm.LGBMRegressor(
        n_estimators=5, verbose=-1, cat_smooth=0.1, min_data_per_group=5
    )
    trained.fit(table, (table.c == "y") + 0.1 * table.a)
    model = from_lightgbm(trained)
    new = table.assign(c=pd.Categorical(table.c.astype(str), categories=["z", "y", "w", "x"]))
    np.testing.assert_allclose(model.predict(new), trained.predict(new), atol=1e-12)


def test_lightgbm_refuses_by_name():
    X = rows()
    linear = lightgbm.train(
        {"objective": "regression", "linear_tree": True, "verbose": -1},
        lightgbm.Dataset(X, X[:, 0], params={"linear_tree": True}), 2,
    )  # fmt: skip
    with pytest.raises(ValueError, match="linear trees"):
        from_lightgbm(linear)
    with pytest.raises(ValueError, match="not a model of LightGBM"):
        from_lightgbm(__file__)
    many = np.column_stack([np.arange(3000) % 1000, np.zeros(3000)])
    effect = np.random.default_rng(0).normal(size=1000)[np.arange(3000) % 1000]
    wide = lightgbm.train(
        {"verbose": -1, "min_data_per_group": 1, "cat_smooth": 0, "max_cat_threshold": 900,
         "max_bin": 1100, "min_data_in_bin": 1, "min_data_in_leaf": 1},
        lightgbm.Dataset(many, effect, categorical_feature=[0]), 3,
    )  # fmt: skip
    with pytest.raises(ValueError, match="categories in use"):
        from_lightgbm(wide)


XGBOOST = [
    *((name, "plain", {}) for name in (
        "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
        "reg:logistic", "binary:logistic", "binary:logitraw", "binary:hinge", "count:poisson",
        "reg:gamma", "reg:tweedie", "survival:cox", "multi:softprob", "multi:softmax",
        "rank:ndcg")),
    ("reg:quantileerror", "plain", {"quantile_alpha": [0.1, 0.5]}),
    ("binary:logistic", "missing", {}),
    ("multi:softprob", "categories", {"max_cat_to_onehot": 2}),
    ("reg:squarederror", "plain", {"booster": "dart", "rate_drop": 0.5}),
    ("multi:softprob", "plain", {"num_parallel_tree": 3, "subsample": 0.6}),
    ("reg:squarederror", "plain", {"max_depth": 9}),
    ("reg:squarederror", "plain", {"tree_method": "exact", "max_depth": 8}),
    ("binary:logistic", "plain", {"base_score": 0.2}),
    ("count:poisson", "plain", {"base_score": 3.0}),
]  # fmt: skip


@pytest.mark.parametrize(("objective", "kind", "more"), XGBOOST)
def test_xgboost(objective, kind, more, tmp_path):
    X = rows(kind)
    types = ["q", "q", "c", "c"] if kind == "categories" else ["q"] * D
    parameters = {"objective": objective, "max_depth": 5, "nthread": 1, **more}
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    matrix = {"feature_types": types, "enable_categorical": True}
    data = xgboost.DMatrix(X, target(X, objective), **matrix)
    if objective.startswith("rank"):
        data.set_group([100] * 4)
    booster = xgboost.train(parameters, data, 10)
    model = from_xgboost(booster)
    T = probes(X, model, np.float32, [f for f in range(D) if types[f] == "q"])
    new = xgboost.DMatrix(T, **matrix)
    margins, expected = booster.predict(new, output_margin=True), booster.predict(new)
    np.testing.assert_allclose(model.raw_predict(T), margins, rtol=2e-5, atol=2e-6)
    classifies = hasattr(model, "classes_") and objective != "multi:softmax"
    found = model.predict_proba(T) if classifies else model.predict(T)
    found = found[:, 1] if objective.startswith("binary") and found.ndim == 2 else found
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert_one_row_is_a_batch(model, T)
    for name in ("model.json", "model.ubj"):
        booster.save_model(tmp_path / name)
        np.testing.assert_array_equal(
            from_xgboost(tmp_path / name).raw_predict(T), model.raw_predict(T)
        )


def test_xgboost_stops_at_the_best_iteration_and_knows_its_labels():
    X, y = rows("missing"), target(rows("missing"), "multi").astype(int)
    trained = xgboost.XGBClassifier(n_estimators=50, early_stopping_rounds=2, n_jobs=1)
    trained.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert trained.best_iteration + 1 < 50
    model = from_xgboost(trained)
    assert model.n_iter_ == trained.best_iteration + 1
    np.testing.assert_array_equal(model.predict(X), trained.predict(X))
    thin = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))  # what is left out is missing
    np.testing.assert_allclose(model.predict_proba(thin), trained.predict_proba(thin), atol=1e-6)
    assert from_xgboost(trained, classes=list("xyz")).predict(X[:5]).dtype.kind == "U"


def test_xgboost_refuses_by_name(tmp_path):
    X = rows()
    data = xgboost.DMatrix(X, X[:, 0])
    with pytest.raises(ValueError, match="gblinear"):
        from_xgboost(xgboost.train({"booster": "gblinear"}, data, 2))
    both = xgboost.DMatrix(X, X[:, :2])
    vectors = xgboost.train({"multi_strategy": "multi_output_tree", "tree_method": "hist"}, both, 2)
    with pytest.raises(ValueError, match="multi_output_tree"):
        from_xgboost(vectors)
    (tmp_path / "other.json").write_text(json.dumps({"a": 1}))
    with pytest.raises(ValueError, match="not a model of XGBoost"):
        from_xgboost(tmp_path / "other.json")
    with pytest.raises(ValueError, match="not a model of XGBoost"):
        from_xgboost(__file__)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"Z", None),
        (b"{i\x01aTi\x01bFi\x01ci\xff}", {"a": True, "b": False, "c": -1}),
        (b"[$l#i\x02\x00\x00\x00\x01\x00\x00\x00\x02", [1, 2]),
        (b"[SU\x02hid\x3f\x80\x00\x00]", ["hi", 1.0]),
    ],
)
def test_universal_binary_json(data, value):
    assert _ubjson.loads(data) == value
    with pytest.raises(ValueError, match="Universal Binary JSON"):
        _ubjson.loads(data[:-1])


def test_no_thread_changes_a_bit():
    X = np.tile(rows("missing"), (20, 1))
    model = from_lightgbm(
        lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(X, np.arange(len(X)))
    )
    one = model.set_params(n_jobs=1).predict(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict(X), one)


def test_rows_that_are_not_checked_are_plain_ones():
    from fastml._cases.convert import lightgbm_text

    model = from_lightgbm(lightgbm_text(3, 4, 4))
    X = np.random.default_rng(0).normal(size=(5, 4))
    expected = model.predict_proba(X.tolist())
    for rows in (X, np.asfortranarray(X), X[::-1][::-1], X.astype(object)):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)
    np.testing.assert_array_equal(model.predict_proba(X[2:3]), expected[2:3])
    for bad in (X[:, :3], X[:1, :3], X[0], X[:0], X.astype(complex), X[:1].astype(complex)):
        with pytest.raises(ValueError, match=r"features|2D array|minimum|[Cc]omplex"):
            model.predict_proba(bad)
    with pytest.raises(ValueError, match="could not convert"):
        model.predict_proba(np.array([["a", "b", "c", "d"]]))
    for one in (X[2:3].tolist(), X[2:3].astype(object), np.asfortranarray(X)[2:3], X[2:1:-1]):
        np.testing.assert_array_equal(model.predict_proba(one), expected[2:3])
    row = X[2:3].copy()
    row.flags.writeable = False
    np.testing.assert_array_equal(model.predict_proba(row), expected[2:3])
