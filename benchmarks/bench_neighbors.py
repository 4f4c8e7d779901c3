"""Neighbour search and the estimators over it."""

import numpy as np

from .common import Benchmark, Estimator, Predictor, find, size
from .datasets import blobs, points


class KNeighborsClassifier(Predictor):
    param_names = ("algorithm", "n_features")
    params = (["brute", "kd_tree", "ball_tree"], size(quick=[8], full=[3, 16]))
    n_predicted = size(quick=2_000, full=20_000)

    def data(self, algorithm, n_features):
        return blobs(size(quick=10_000, full=100_000), n_features, 10, "float64")

    def estimator(self, algorithm, n_features):
        return find("neighbors", "KNeighborsClassifier")(n_neighbors=10, algorithm=algorithm)

    def warm_up(self, *params):
        super().warm_up(*params)
        self.model.predict(self.X_predicted)


class KNeighborsRegressor(Predictor):
    n_predicted = size(quick=2_000, full=20_000)

    def data(self):
        X, _ = blobs(size(quick=10_000, full=100_000), 8, 10, "float64")
        return X, np.sin(X[:, 0]) + X[:, 1]

    def estimator(self):
        return find("neighbors", "KNeighborsRegressor")(n_neighbors=10, weights="distance")

    def warm_up(self, *params):
        super().warm_up(*params)
        self.model.predict(self.X_predicted)


class BruteSearch(Benchmark):
    """float32, 64 features: the row that faiss and scikit-learn-intelex are measured by."""

    def prepare(self):
        n, n_queries = size(quick=(20_000, 1_000), full=(100_000, 5_000))
        self.X, self.Q = points(n, n_queries, 64, "float32")
        self.search = find("neighbors", "NearestNeighbors")(n_neighbors=10, algorithm="brute")

    def warm_up(self):
        self.search.fit(self.X[:200]).kneighbors(self.Q[:20])
        self.search.fit(self.X).kneighbors(self.Q)

    def time_kneighbors(self):
        self.search.kneighbors(self.Q)

    def peakmem_kneighbors(self):
        self.search.kneighbors(self.Q)

    def track_recall(self):
        """Share of neighbours no farther than the true tenth, on a few queries."""
        _, found = self.search.kneighbors(self.Q[:50])
        distances = np.linalg.norm(self.X[None].astype("f8") - self.Q[:50, None], axis=2)
        tenth = np.partition(distances, 9, axis=1)[:, 9:10]
        return float(np.mean(np.take_along_axis(distances, found, 1) <= tenth * (1 + 1e-5)))


class KDTree(Benchmark):
    def prepare(self):
        n, n_queries = size(quick=(50_000, 20_000), full=(500_000, 200_000))
        self.X, self.Q = points(n, n_queries, 3, "float64")
        self.KDTree = find("neighbors", "KDTree")

    def warm_up(self):
        self.KDTree(self.X[:200]).query(self.Q[:20], k=10)
        self.tree = self.KDTree(self.X)
        self.tree.query(self.Q, k=10)

    def time_build(self):
        self.KDTree(self.X)

    def time_query(self):
        self.tree.query(self.Q, k=10)


class LocalOutlierFactor(Estimator):
    def data(self):
        return blobs(size(quick=5_000, full=50_000), 10, 3, "float64")

    def estimator(self):
        return find("neighbors", "LocalOutlierFactor")()


class ValidationCurve(Benchmark):
    def prepare(self):
        self.X, self.y = blobs(size(quick=2_000, full=20_000), 20, 3, "float64")
        self.function = find("neighbors", "knn_validation_curve")

    def warm_up(self):
        self.function(self.X[:300], self.y[:300], n_neighbors=range(1, 31), cv=10)
        self.function(self.X, self.y, n_neighbors=range(1, 31), cv=10)

    def time_thirty_k(self):
        self.function(self.X, self.y, n_neighbors=range(1, 31), cv=10)
