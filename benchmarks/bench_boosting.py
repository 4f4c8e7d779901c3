"""Gradient boosting: a fixed number of trees."""

import numpy as np

from .common import Predictor, find, size


class HistGradientBoosting(Predictor):
    param_names = ("kind",)
    params = (["binary", "five classes", "missing and categories"],)

    def data(self, kind):
        n, d = size(quick=(10_000, 28), full=(500_000, 28))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)).astype(np.float32)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + rng.logistic(size=n)
        if kind == "five classes":
            return X, np.digitize(signal, np.quantile(signal, [0.2, 0.4, 0.6, 0.8]))
        if kind == "missing and categories":
            X[:, -4:] = rng.integers(0, 50, (n, 4))
            X[:, :-4][rng.random((n, d - 4)) < 0.2] = np.nan
        return X, (signal > 0).astype(int)

    def estimator(self, kind):
        categorical = [24, 25, 26, 27] if kind == "missing and categories" else None
        return find("ensemble", "HistGradientBoostingClassifier")(
            max_iter=size(quick=10, full=100),
            early_stopping=False,
            categorical_features=categorical,
        )


class GradientBoosting(Predictor):
    """Exact trees of depth 3."""

    param_names = ("loss", "subsample")
    params = (["log_loss", "exponential"], [1.0, 0.5])

    def data(self, loss, subsample):
        n, d = size(quick=(2_000, 20), full=(50_000, 20))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)).astype(np.float32)
        return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=n) > 0).astype(int)

    def estimator(self, loss, subsample):
        return find("ensemble", "GradientBoostingClassifier")(
            loss=loss,
            subsample=subsample,
            n_estimators=size(quick=10, full=100),
            random_state=0,
        )
