"""Trees whose sample weights are huge or tiny are those of the same weights near 1, to the bit."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from fastml.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

MODELS = [
    DecisionTreeClassifier(ccp_alpha=0.01),
    DecisionTreeRegressor(max_depth=4),
    DecisionTreeRegressor(max_depth=3, criterion="poisson"),
    RandomForestClassifier(3, bootstrap=False, class_weight="balanced"),
    RandomForestRegressor(3, bootstrap=False, criterion="absolute_error"),
    ExtraTreesRegressor(3),
    GradientBoostingRegressor(n_estimators=3),
]


@pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.criterion}"
)
@pytest.mark.parametrize("power", [-1000, 1000])
def test_only_ratios_of_weights_count(model, power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 4.0
    y = (y > 4.5).astype(int) if is_classifier(model) else y
    weights = rng.uniform(0.5, 2.0, 80)
    found = []
    for factor in (1.0, 2.0**power):
        model.set_params(random_state=0).fit(X, y, sample_weight=weights * factor)
        tree = (
            np.ravel(model.estimators_)[0].tree_ if hasattr(model, "estimators_") else model.tree_
        )
        assert tree.node_count > 3
        whole = tree.weighted_n_node_samples / factor
        found.append((model.predict(X), whole, tree.impurity, model.feature_importances_))
    assert found[0][1][0] == pytest.approx(found[0][1][tree.is_leaf].sum())
    for near, far in zip(*found):
        np.testing.assert_array_equal(near, far)
