"""Shapley values: by definition, beside shap where it is installed, and what must add up."""

import numpy as np
import pytest
from naive_shapley import of_game, pairs_of_game
from numpy.testing import assert_allclose, assert_array_equal

from fastml.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from fastml.inspection import Explanation, shapley_values, weight_importance
from fastml.linear_model import LinearRegression, LogisticRegression
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor


def table(missing=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[:, 3] = rng.integers(0, 5, size=120)
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 2)
    if missing:
        X[::7, 1] = np.nan
    return X, y


MODELS = [
    (DecisionTreeClassifier(max_depth=4, random_state=0), "predict_proba"),
    (DecisionTreeRegressor(max_depth=4, categorical_features=[3], random_state=0), "predict"),
    (RandomForestClassifier(4, random_state=0), "predict_proba"),
    (ExtraTreesRegressor(4, random_state=0), "predict"),
    (GradientBoostingClassifier(n_estimators=4, random_state=0), "decision_function"),
    (GradientBoostingRegressor(n_estimators=4, random_state=0), "predict"),
    (HistGradientBoostingClassifier(max_iter=4, categorical_features=[3]), "decision_function"),
    (HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3), "predict"),
]


@pytest.mark.parametrize(("model", "method"), MODELS, ids=lambda m: type(m).__name__)
def test_trees_add_up_and_are_the_mean_over_a_background(model, method):
    X, y = table("Hist" in type(model).__name__)
    model.fit(X, np.digitize(y, [0.0, 1.0]) if method != "predict" else y)
    answer = getattr(model, method)
    found = shapley_values(model, X)
    assert_allclose(found.values.sum(axis=1) + found.base_values, answer(X), atol=1e-10)
    pairs = shapley_values(model, X[:5], interactions=True)
    assert_allclose(pairs.values.sum(axis=2), found.values[:5], atol=1e-12)
    assert_allclose(pairs.values, np.swapaxes(pairs.values, 1, 2), atol=1e-12)
    back, x = X[:6], X[50]
    one = shapley_values(model, x[None], background=back)

    def game(S, k=0):
        rows = back.copy()
        rows[:, list(S)] = x[list(S)]
        return answer(rows).reshape(len(rows), -1)[:, k].mean()

    assert_allclose(one.values.reshape(4, -1)[:, 0], of_game(game, 4), atol=1e-10)
    assert_allclose(np.ravel(one.base_values)[0], game(set()), atol=1e-10)


def test_any_model_by_sampling():
    X, _ = table()

    def answer(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    found = shapley_values(answer, X[:3], background=X[:8], n_permutations=3, random_state=0)
    assert_allclose(found.values.sum(axis=1) + found.base_values, answer(X[:3]), atol=1e-10)
    for i in range(3):  # of two columns, an order and its reverse are all orders

        def game(S, i=i):
            rows = X[:8].copy()
            rows[:, list(S)] = X[i, list(S)]
            return answer(rows).mean()

        assert_allclose(found.values[i], of_game(game, 4), atol=1e-10)


def test_linear_models_are_exact():
    X, y = table()
    model = LinearRegression().fit(X, y)
    found = shapley_values(model, X[:4], background=X)
    assert_allclose(found.values, (X[:4] - X.mean(axis=0)) * model.coef_)
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:4]))
    classes = LogisticRegression().fit(X, np.digitize(y, [0.0, 1.0]))
    found = shapley_values(classes, X)
    assert found.values.shape == (120, 4, 3)
    assert found.output_names == [0, 1, 2]
    assert_allclose(found.values.sum(axis=1) + found.base_values, classes.decision_function(X))
    assert_allclose(weight_importance(model, X), np.abs(model.coef_) * X.std(axis=0))


def test_as_shap():
    shap = pytest.importorskip("shap")
    from sklearn.ensemble import RandomForestClassifier as Theirs

    X, y = table()
    model = Theirs(5, random_state=0).fit(X, (y > 0).astype(int))
    found = shapley_values(model, X[:10])
    explainer = shap.TreeExplainer(model)
    assert_allclose(found.values, explainer.shap_values(X[:10]), atol=1e-10)
    assert_allclose(found.base_values[0], explainer.expected_value, atol=1e-10)
    pairs = shapley_values(model, X[:4], interactions=True)
    assert_allclose(pairs.values, explainer.shap_interaction_values(X[:4]), atol=1e-10)
    both = shapley_values(model, X[:10], background=X[20:40])
    explainer = shap.TreeExplainer(model, X[20:40])
    assert_allclose(both.values, explainer.shap_values(X[:10]), atol=1e-6)
    assert isinstance(
        shap.Explanation(found.values, found.base_values, found.data), shap.Explanation
    )


def test_rows_of_an_explanation():
    import pandas as pd

    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = shapley_values(DecisionTreeClassifier(max_depth=3).fit(frame, y > 0), frame)
    assert isinstance(found, Explanation)
    assert found.feature_names == list("abcd")
    assert found.shape == (120, 4, 2)
    assert len(found) == 120
    assert_array_equal(found[..., 1].values, found.values[:, :, 1])
    assert_array_equal(found[3].base_values, found.base_values[3])


def test_a_rounding_of_many_trees_is_none():
    """shap#2777, #4239: sums that do not add up."""
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=60, learning_rate=1.0, random_state=0)
    model.fit(1e6 * X, 1e9 * y)
    found = shapley_values(model, 1e6 * X)
    gap = found.values.sum(axis=1) + found.base_values - model.predict(1e6 * X)
    assert np.abs(gap).max() < 1e-12 * 1e9 * np.abs(y).max() * 60


def test_what_is_refused():
    X, y = table()
    line = LinearRegression().fit(X, y)
    tree = DecisionTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="interactions are of trees"):
        shapley_values(line, X, interactions=True)
    with pytest.raises(ValueError, match="leave the background out"):
        shapley_values(tree, X, interactions=True, background=X)
    with pytest.raises(ValueError, match="several outputs"):
        shapley_values(DecisionTreeRegressor().fit(X, np.c_[y, y]), X)
    with pytest.raises(ValueError, match="no fixed start"):
        shapley_values(GradientBoostingRegressor(n_estimators=2, init=line).fit(X, y), X)
    with pytest.raises(ValueError, match="has no coef_"):
        weight_importance(tree, X)
    with pytest.raises(ValueError, match="columns"):
        shapley_values(line, X[:, :2])


def test_pairs_by_definition():
    X, y = table()
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    from naive_shapley import mean_of_tree

    found = shapley_values(tree, X[:2], interactions=True)
    for i in range(2):
        expected = pairs_of_game(lambda S, i=i: mean_of_tree(tree.tree_, X[i], S)[0], 4)
        assert_allclose(found.values[i], expected, atol=1e-10)
