"""Shapley values of models trained elsewhere are those that their libraries give."""

import io
import pickle

import numpy as np
import pytest
import sklearn.ensemble as their_ensembles
import sklearn.tree as their_trees
from numpy.testing import assert_allclose, assert_array_equal

from fastml.convert import from_catboost, from_lightgbm, from_sklearn, from_xgboost, load, save
from fastml.inspection import shapley_values

N, D = 300, 4


def table(categories=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    if categories:
        X[:, 2], X[:, 3] = rng.integers(0, 30, N), rng.integers(0, 4, N)
    X[rng.random((N, D)) < 0.1] = np.nan
    s = np.nan_to_num(X[:, 0] * X[:, 1]) + 0.1 * np.nan_to_num(X[:, 2]) + 0.2 * rng.normal(size=N)
    return X, s


def same(model, X, expected, tolerance=1e-8):
    """``expected``: (rows, columns and base) or (rows, outputs, columns and base)."""
    found = shapley_values(model, X)
    expected = np.asarray(expected, dtype=np.float64)
    if expected.ndim == 3:
        expected = np.moveaxis(expected, 1, 2)
    assert_allclose(found.values, expected[:, :-1], rtol=0, atol=tolerance)
    assert_allclose(found.base_values, expected[:, -1], rtol=0, atol=tolerance)
    return found


def adds_up(model, found, X):
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.raw_predict(X), atol=1e-10)


LIGHTGBM = [
    ("regression", {}),
    ("binary", {}),
    ("multiclass", {"num_class": 3}),
    ("regression", {"max_bin": 2000, "min_data_in_leaf": 1, "min_data_in_bin": 1}),
    ("regression", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
    ("binary", {"categories": [2, 3], "min_data_per_group": 5}),
]


@pytest.mark.parametrize(("objective", "more"), LIGHTGBM)
def test_lightgbm(objective, more):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, s = table("categories" in more)
    y = {"binary": s > 0, "multiclass": np.digitize(s, [-0.3, 0.3])}.get(objective, s)
    parameters = {"objective": objective, "verbose": -1, "num_threads": 1, **more}
    parameters.pop("categories", None)
    data = lightgbm.Dataset(X, y, categorical_feature=more.get("categories", "auto"))
    booster = lightgbm.train(parameters, data, 12)
    expected = booster.predict(X, pred_contrib=True)
    if objective == "multiclass":
        expected = expected.reshape(N, 3, D + 1)
    model = from_lightgbm(booster)
    found = same(model, X, expected)
    adds_up(model, found, X)
    save(model, file := io.BytesIO())
    for copy in (load(file), pickle.loads(pickle.dumps(model))):
        assert_array_equal(shapley_values(copy, X).values, found.values)


def test_a_background_and_pairs():
    """The other columns are a background's; pairs add up to columns."""
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    rng = np.random.default_rng(1)
    X, s = rng.normal(size=(600, 2)), rng.normal(size=600)  # many places are thresholds
    parameters = {"verbose": -1, "num_threads": 1, "max_bin": 2000, "num_leaves": 60}
    parameters |= {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0}
    model = from_lightgbm(lightgbm.train(parameters, lightgbm.Dataset(X, s), 40))
    assert model._mapper.sources is not None  # a column has more thresholds than a byte numbers
    back, x = X[:7], X[50]
    found = shapley_values(model, x[None], background=back)
    adds_up(model, found, x[None])

    def game(S):
        rows = back.copy()
        rows[:, S] = x[S]
        return model.raw_predict(rows).mean()

    for j in range(2):
        alone, last = game([j]) - game([]), game([0, 1]) - game([1 - j])
        assert_allclose(found.values[0, j], (alone + last) / 2, atol=1e-12)
    pairs = shapley_values(model, X[:9], interactions=True).values
    assert_allclose(pairs.sum(axis=2), shapley_values(model, X[:9]).values, atol=1e-12)


XGBOOST = [
    ("reg:squarederror", {}),
    ("binary:logistic", {}),
    ("multi:softprob", {"num_class": 3}),
    ("reg:squarederror", {"booster": "dart", "rate_drop": 0.3}),
    ("binary:logistic", {"enable_categorical": True}),
]


@pytest.mark.parametrize(("objective", "more"), XGBOOST)
def test_xgboost(objective, more):
    """Whose sums are of float32."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    more = dict(more)
    categories = more.pop("enable_categorical", False)
    X, s = table(categories)
    kinds = ["q", "q", "c", "c"] if categories else None
    y = {"binary": s > 0, "multi": np.digitize(s, [-0.3, 0.3])}.get(objective.partition(":")[0], s)
    data = xgboost.DMatrix(X, y, feature_types=kinds, enable_categorical=categories)
    booster = xgboost.train({"objective": objective, "nthread": 1, "seed": 0, **more}, data, 12)
    model = from_xgboost(booster)
    found = same(model, X, booster.predict(data, pred_contribs=True), 5e-6)
    adds_up(model, found, X)


CATBOOST = [
    ("RMSE", {"depth": 6}),
    ("RMSE", {"depth": 3, "one_hot_max_size": 4}),
    ("Logloss", {"depth": 7}),
    ("MultiClass", {"depth": 6}),
    ("RMSE", {"depth": 3, "grow_policy": "Depthwise"}),
    ("RMSE", {"depth": 3, "grow_policy": "Lossguide"}),
]


@pytest.mark.parametrize(("loss", "more"), CATBOOST)
def test_catboost(loss, more):
    """Also of trees that are stored in parts. Its own do not add up where branches of a tree
    end early, as in a ninth one here."""
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    X, s = table()
    y = {"Logloss": s > 0, "MultiClass": np.digitize(s, [-0.3, 0.3])}.get(loss, s)
    maker = catboost.CatBoostRegressor if loss == "RMSE" else catboost.CatBoostClassifier
    trained = maker(
        iterations=8, thread_count=1, verbose=0, allow_writing_files=False, **more
    ).fit(X, y)  # fmt: skip
    expected = trained.get_feature_importance(catboost.Pool(X, y), type="ShapValues")
    model = from_catboost(trained)
    found = same(model, X, expected)
    adds_up(model, found, X)


SKLEARN = [
    their_trees.DecisionTreeRegressor(max_depth=4, random_state=0),
    their_ensembles.RandomForestClassifier(5, random_state=0),
    their_ensembles.ExtraTreesRegressor(5, random_state=0),
    their_ensembles.GradientBoostingRegressor(n_estimators=5, random_state=0),
    their_ensembles.HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    their_ensembles.HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
]


@pytest.mark.parametrize("theirs", SKLEARN, ids=lambda model: type(model).__name__)
def test_scikit_learn(theirs):
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    X, s = table()
    X = np.nan_to_num(X).astype(np.float32)
    theirs.fit(X, s > 0 if hasattr(theirs, "predict_proba") else s)
    explainer = shap.TreeExplainer(theirs)
    expected = np.asarray(explainer.shap_values(X, check_additivity=False))
    found = shapley_values(from_sklearn(theirs), X)
    assert_allclose(found.values, expected, rtol=0, atol=1e-6)
    assert_allclose(found.base_values[0], np.ravel(explainer.expected_value), rtol=0, atol=1e-6)


def test_a_model_that_says_no_counts_needs_a_background():
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    X, s = table()
    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, s), 3)
    lines = booster.model_to_string().split("\n")
    model = from_lightgbm("\n".join(line for line in lines if "_count=" not in line))
    with pytest.raises(ValueError, match="give a background"):
        shapley_values(model, X)
    adds_up(model, shapley_values(model, X, background=X[:5]), X)
