"""Forests of a fixed number of trees, and isolation forests."""

import pickle

import numpy as np

from .common import Predictor, find, size


def classes(n, d):
    from sklearn.datasets import make_classification

    X, y = make_classification(n, d, n_informative=10, n_redundant=5, flip_y=0.05, random_state=0)
    return X.astype(np.float32), y


class Forest(Predictor):
    param_names = ("name",)
    params = (["RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor"],)

    def data(self, name):
        return classes(*size(quick=(3_000, 20), full=(50_000, 20)))

    def estimator(self, name):
        return find("ensemble", name)(size(quick=10, full=100), random_state=0)

    def warm_up(self, name):
        super().warm_up(name)
        self.model.predict(self.X[:1])

    def time_predict_one_row(self, name):
        self.model.predict(self.X[:1])

    def track_pickle_bytes(self, name):
        return len(pickle.dumps(self.model))


class AdaBoost(Predictor):
    param_names = ("name",)
    params = (["AdaBoostClassifier", "AdaBoostRegressor"],)

    def data(self, name):
        return classes(*size(quick=(3_000, 20), full=(50_000, 20)))

    def estimator(self, name):
        n_rounds = size(quick=10, full=200 if name == "AdaBoostClassifier" else 50)
        return find("ensemble", name)(n_estimators=n_rounds, random_state=0)


class IsolationForest(Predictor):
    def data(self):
        n, d = size(quick=(10_000, 10), full=(200_000, 10))
        X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
        X[: n // 100] *= 4.0
        return X, np.arange(n) < n // 100

    def estimator(self):
        return find("ensemble", "IsolationForest")(random_state=0)

    def score(self):
        """Share of the outliers among the lowest scores."""
        k = int(self.y.sum())
        return float(np.mean(self.y[np.argsort(self.model.score_samples(self.X))[:k]]))
