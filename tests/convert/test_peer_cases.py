"""Conversions that other libraries got wrong (the threads are named), each as its own case."""

import json

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier

from fastml.convert import from_lightgbm, from_sklearn, from_xgboost, to_sklearn

N = 300
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] - 2.0 * (X[:, 1] > 0.3) + 0.1 * X[:, 2]
CLASSES = np.digitize(Y, [-1.5, 0.0])


def lightgbm_of(X, y, trees=8, categories="auto", **parameters):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    settings = {"verbose": -1, "min_data_in_leaf": 3, "num_threads": 1, **parameters}
    data = lightgbm.Dataset(X, y, categorical_feature=categories)
    return lightgbm.train(settings, data, trees)


def xgboost_of(X, y, trees=8, types=None, **parameters):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    data = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True)
    return xgboost.train({"nthread": 1, **parameters}, data, trees)


def predicted(booster, rows, types=None):
    import xgboost

    return booster.predict(xgboost.DMatrix(rows, feature_types=types, enable_categorical=True))


# ---------------------------------------------------------------------------- LightGBM


def test_nan_is_zero_where_lightgbm_saw_none():
    """lgb#6139: in spite of default_left."""
    booster = lightgbm_of(X, Y)
    assert "missing" not in booster.model_to_string().partition("Tree=")[0]
    model = from_lightgbm(booster)
    for f in range(3):
        lost, zero = X.copy(), X.copy()
        lost[:, f], zero[:, f] = np.nan, 0.0
        np.testing.assert_allclose(model.predict(lost), booster.predict(lost), atol=1e-12)
        np.testing.assert_array_equal(model.predict(lost), model.predict(zero))


def test_nan_and_fractions_among_lightgbms_categories():
    """tl#277, lgb#4468, cuml#4421: NaN goes right, −0.5 is category 0, others go right."""
    table = np.column_stack([RNG.integers(0, 12, N), X[:, 0]]).astype(float)
    y = np.isin(table[:, 0], [0, 3, 7]) + 0.1 * X[:, 0]
    booster = lightgbm_of(table, y, categories=[0], min_data_per_group=1, cat_smooth=0)
    model = from_lightgbm(booster)
    odd = np.array([np.nan, -0.5, -0.999, -1.0, -3.0, 0.5, 2.999, 11.5, 12.0, 31.0, 1e6, np.inf])
    rows = np.column_stack([odd, np.zeros(len(odd))])
    np.testing.assert_allclose(model.predict(rows), booster.predict(rows), atol=1e-12)
    assert model.predict(rows[:1]) == pytest.approx(model.predict(rows[3:4]))  # right, both
    assert model.predict(rows[1:2]) == model.predict(np.array([[0.0, 0.0]]))


@pytest.mark.parametrize("zero", [0.0, -0.0, 1e-36, -1e-36, 1e-30])
def test_zero_is_missing_where_lightgbm_was_told_so(zero):
    """tl#376."""
    table = np.where(RNG.random(X.shape) < 0.4, 0.0, X)
    booster = lightgbm_of(table, Y, zero_as_missing=True)
    model = from_lightgbm(booster)
    rows = np.vstack([table, np.full((1, 3), np.nan)])
    rows[:, 1] = zero
    np.testing.assert_allclose(model.predict(rows), booster.predict(rows), atol=1e-12)


def test_random_forests_of_lightgbm_are_means():
    """tl#133, lleaves#14: of several classes too."""
    booster = lightgbm_of(
        X, CLASSES, objective="multiclass", num_class=3, boosting="rf",
        bagging_freq=1, bagging_fraction=0.6,
    )  # fmt: skip
    model = from_lightgbm(booster)
    np.testing.assert_allclose(model.predict_proba(X), booster.predict(X), atol=1e-12)


def test_a_file_of_lightgbm_without_pandas_categories():
    """lgb#4014."""
    booster = lightgbm_of(X, Y)
    text = booster.model_to_string()
    assert "pandas_categorical:null" in text
    for version in (text, text.replace("pandas_categorical:null", "pandas_categorical:[]")):
        np.testing.assert_allclose(from_lightgbm(version).predict(X), booster.predict(X))


# ---------------------------------------------------------------------------- XGBoost


def test_xgboost_compares_in_single_precision():
    """m2c#188: 0.671 and the threshold 0.671000004 are one number there."""
    values = np.array([0.5, 0.671, 0.8])
    booster = xgboost_of(values[:, None].repeat(20, 0), np.repeat([0.0, 1.0, 1.0], 20), max_depth=1)
    content = json.loads(booster.save_raw("json"))
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        if len(tree["left_children"]) > 1:
            tree["split_conditions"][0] = 0.671000004
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps(content).encode()))
    model = from_xgboost(booster)
    exact = [0.671, 0.671000004, np.nextafter(np.float32(0.671), np.float32(0)), 0.6710001, 0.67]
    rows = np.array(exact, np.float64)[:, None]
    np.testing.assert_allclose(model.predict(rows), predicted(booster, rows), rtol=1e-6)
    assert model.predict(rows[:1]) == model.predict(rows[1:2]) != model.predict(rows[4:5])


def test_integers_beyond_single_precision():
    """xgb#3960: 2^24 + 1 is 2^24 for XGBoost."""
    base = 1 << 24
    whole = (base + np.arange(-4, 8)).astype(np.float64)
    booster = xgboost_of(whole[:, None], np.arange(12.0), tree_method="exact", min_child_weight=0)
    model = from_xgboost(booster)
    np.testing.assert_allclose(
        model.predict(whole[:, None]), predicted(booster, whole[:, None]), rtol=1e-6
    )
    assert model.predict([[base + 1.0]]) == model.predict([[float(base)]])


@pytest.mark.parametrize("base", [0.5, 0.1, 0.93])
@pytest.mark.parametrize("objective", ["binary:logistic", "reg:logistic", "reg:squarederror"])
def test_base_scores_of_xgboost(base, objective):
    """xgb#4682, omt#510: the link's inverse of it is what trees are added to."""
    y = (CLASSES > 0).astype(float)
    booster = xgboost_of(X, y, objective=objective, base_score=base)
    model = from_xgboost(booster)
    found = model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)
    np.testing.assert_allclose(found, predicted(booster, X), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("form", ["5E-1", "[5E-1]", "[2.5E-1,5E-1,-1E0]"])
def test_base_scores_of_xgboost_as_text(form):
    """omt#736, omt#771: version 3 writes a vector, one number per class."""
    import xgboost

    booster = xgboost_of(X, CLASSES, objective="multi:softprob", num_class=3)
    content = json.loads(booster.save_raw("json"))
    content["learner"]["learner_model_param"]["base_score"] = form
    text = json.dumps(content).encode()
    changed = xgboost.Booster()
    try:
        changed.load_model(bytearray(text))
    except xgboost.core.XGBoostError:
        pytest.skip("this XGBoost does not read such a base score")
    model = from_xgboost(changed)
    np.testing.assert_allclose(model.predict_proba(X), predicted(changed, X), rtol=1e-5, atol=1e-6)


def test_regressor_of_xgboost_with_a_logistic_objective():
    """omt#771: it predicts probabilities."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    trained = xgboost.XGBRegressor(objective="binary:logistic", n_estimators=5, n_jobs=1)
    trained.fit(X, CLASSES > 0)
    model = from_xgboost(trained)
    found = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    np.testing.assert_allclose(found, trained.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalize", ["tree", "forest"])
def test_dropped_trees_of_xgboost_are_scaled(normalize):
    """m2c#132."""
    booster = xgboost_of(
        X, Y, 12, booster="dart", rate_drop=0.5, normalize_type=normalize, seed=3
    )  # fmt: skip
    weights = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["weight_drop"]
    assert len(set(weights)) > 1
    np.testing.assert_allclose(
        from_xgboost(booster).predict(X), predicted(booster, X), rtol=1e-5, atol=1e-6
    )


def test_sets_of_categories_of_both_libraries():
    """tl#251, tl#232, xgb#8573: XGBoost's sets go right, LightGBM's left; {0, 3, 31}."""
    table = np.column_stack([np.arange(N) % 40, X[:, 0]]).astype(float)
    y = 5.0 * np.isin(table[:, 0], [0, 3, 31]) + 0.1 * X[:, 0]
    rows = np.column_stack([np.r_[np.arange(40.0), 40.0, 64.0, np.nan], np.zeros(43)])
    types = ["c", "q"]
    theirs = xgboost_of(table, y, types=types, max_cat_to_onehot=1, min_child_weight=0)
    found = from_xgboost(theirs).predict(rows)
    np.testing.assert_allclose(found, predicted(theirs, rows, types), rtol=1e-5, atol=1e-6)
    other = lightgbm_of(table, y, categories=[0], min_data_per_group=1, cat_smooth=0)
    second = from_lightgbm(other).predict(rows)
    np.testing.assert_allclose(second, other.predict(rows), atol=1e-12)
    for answer in (found, second):
        assert set(np.argsort(answer[:40])[-3:]) == {0, 3, 31}


@pytest.mark.parametrize("parallel", [1, 4])
def test_the_best_iteration_counts_from_zero_and_each_has_several_trees(parallel):
    """sklex#1350, xgb#599."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    train, test = xgboost.DMatrix(X[:200], CLASSES[:200]), xgboost.DMatrix(X[200:], CLASSES[200:])
    booster = xgboost.train(
        {"objective": "multi:softprob", "num_class": 3, "eta": 1.0, "nthread": 1, "subsample": 0.5,
         "num_parallel_tree": parallel},
        train, 40, evals=[(test, "test")], early_stopping_rounds=3, verbose_eval=False,
    )  # fmt: skip
    best = booster.best_iteration
    assert best + 1 < booster.num_boosted_rounds()
    model = from_xgboost(booster)
    assert model.n_iter_ == best + 1
    expected = booster.predict(xgboost.DMatrix(X), iteration_range=(0, best + 1))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesRegressor])
def test_forests_of_scikit_learn_fitted_with_nan(cls):
    """tl#690, tl#706: the side of missing values is one of the node."""
    lost = np.where(RNG.random(X.shape) < 0.25, np.nan, X)
    y = CLASSES if cls is RandomForestClassifier else Y
    model = cls(8, random_state=0).fit(lost, y)
    ours = from_sklearn(model)
    rows = np.vstack([lost, X, np.full((1, 3), np.nan)])
    say = "predict_proba" if cls is RandomForestClassifier else "predict"
    np.testing.assert_allclose(getattr(ours, say)(rows), getattr(model, say)(rows), atol=1e-12)
    again = to_sklearn(ours)
    np.testing.assert_allclose(getattr(again, say)(rows), getattr(model, say)(rows), atol=1e-12)
