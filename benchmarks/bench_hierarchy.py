"""Hierarchies, medoids and density clusters."""

import numpy as np

from .common import Benchmark, Estimator, find, size
from .datasets import blobs


class Linkage(Benchmark):
    param_names = ("method",)
    params = (["average", "ward", "single"],)

    def prepare(self, method):
        self.X, _ = blobs(*size(quick=(1_500, 10, 20), full=(10_000, 10, 20)), "float64")
        self.function = find("cluster", "linkage")

    def warm_up(self, method):
        self.function(self.X[:300], method)
        self.function(self.X, method)

    def time_linkage(self, method):
        self.function(self.X, method)

    def peakmem_linkage(self, method):
        self.function(self.X, method)

    def track_heights(self, method):
        return float(self.function(self.X, method)[:, 2].sum())


class GraphHierarchy(Estimator):
    """Ward along the edges of a grid."""

    def data(self):
        side = size(quick=30, full=200)
        return blobs(side * side, 3, 20, "float64")

    def estimator(self):
        from sklearn.feature_extraction.image import grid_to_graph

        side = size(quick=30, full=200)
        return find("cluster", "AgglomerativeClustering")(
            20, connectivity=grid_to_graph(side, side)
        )

    def warm_up(self):
        self.model.fit(self.X)


class Medoids(Benchmark):
    """FasterPAM on a distance matrix, from the first rows."""

    def prepare(self):
        X, _ = blobs(*size(quick=(600, 10, 20), full=(5_000, 10, 20)), "float64")
        squares = (X**2).sum(axis=1)
        self.D = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0))
        np.fill_diagonal(self.D, 0.0)
        self.model = find("cluster", "KMedoids")(20, metric="precomputed", init=np.arange(20))

    def warm_up(self):
        self.model.fit(self.D)

    def time_fit(self):
        self.model.fit(self.D)

    def track_loss(self):
        return float(self.model.fit(self.D).inertia_)


class DBSCAN(Estimator):
    def data(self):
        return blobs(*size(quick=(20_000, 2, 20), full=(200_000, 2, 20)), "float64")

    def estimator(self):
        return find("cluster", "DBSCAN")(eps=0.05, min_samples=10)

    def track_noise(self):
        return float(np.mean(self.model.fit_predict(self.X) < 0))
