"""Single decision trees, grown to the end."""

import numpy as np

from .common import Predictor, find, size


def rows(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


class DecisionTreeClassifier(Predictor):
    param_names = ("criterion",)
    params = (["gini", "entropy"],)

    def data(self, criterion):
        X, signal = rows(*size(quick=(10_000, 20), full=(100_000, 20)))
        return X, (signal > 0).astype(int)

    def estimator(self, criterion):
        return find("tree", "DecisionTreeClassifier")(criterion=criterion, random_state=0)


class DecisionTreeRegressor(Predictor):
    param_names = ("criterion",)
    params = (["squared_error", "absolute_error"],)

    def data(self, criterion):
        full = (100_000, 20) if criterion == "squared_error" else (20_000, 10)
        return rows(*size(quick=(5_000, 10), full=full))

    def estimator(self, criterion):
        return find("tree", "DecisionTreeRegressor")(criterion=criterion, random_state=0)
