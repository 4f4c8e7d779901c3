"""k-means and its relatives, from given centres, a fixed number of iterations."""

import numpy as np

from .common import Benchmark, Estimator, Predictor, Transformer, find, size
from .datasets import blobs


class KMeans(Predictor, Transformer):
    param_names = ("algorithm", "shape", "dtype")
    params = (
        size(quick=["auto"], full=["lloyd", "auto"]),
        size(
            quick=[(20_000, 16, 50), (50_000, 2, 20)],
            full=[(300_000, 16, 100), (100_000, 64, 200), (500_000, 2, 50)],
        ),
        size(quick=["float32"], full=["float32", "float64"]),
    )

    def data(self, algorithm, shape, dtype):
        return blobs(*shape, dtype)

    def estimator(self, algorithm, shape, dtype):
        k = shape[2]
        return find("cluster", "KMeans")(
            k, init=self.X[:k].copy(), n_init=1, max_iter=20, tol=0, algorithm=algorithm
        )

    def score(self):
        """Minus the mean squared distance to the nearest centre."""
        return self.model.score(self.X) / len(self.X)


class RandomStarts(Estimator):
    """The best of ten runs from random rows."""

    def data(self):
        return blobs(*size(quick=(2_000, 10, 8), full=(10_000, 10, 8)), "float64")

    def estimator(self):
        return find("cluster", "KMeans")(8, init="random", n_init=10, random_state=0)


class MiniBatchKMeans(Estimator):
    def data(self):
        return blobs(*size(quick=(20_000, 16, 50), full=(300_000, 16, 100)), "float32")

    def estimator(self):
        return find("cluster", "MiniBatchKMeans")(
            50, init=self.X[:50].copy(), n_init=1, max_iter=5, tol=0, max_no_improvement=None
        )


class BisectingKMeans(Estimator):
    def data(self):
        return blobs(*size(quick=(20_000, 8, 20), full=(200_000, 8, 20)), "float32")

    def estimator(self):
        return find("cluster", "BisectingKMeans")(20, random_state=0)


class OtherCenters(Predictor):
    """Medians, directions, shares, and chunks of a stream."""

    param_names = ("name",)
    params = (["KMedians", "SphericalKMeans", "SoftKMeans", "BFR"],)

    def data(self, name):
        return blobs(*size(quick=(10_000, 8, 10), full=(200_000, 8, 10)), "float64")

    def estimator(self, name):
        by_steps = {"init": self.X[:10].copy(), "max_iter": 10, "tol": 0}
        options = {"random_state": 0, "chunk_size": 20_000} if name == "BFR" else by_steps
        return find("cluster", name)(10, **options)

    def score(self):
        """Minus the mean distance to the nearest centre."""
        return -float(np.min(self.model.transform(self.X), axis=1).mean())


class KMeansPlusPlus(Benchmark):
    def prepare(self):
        self.X, _ = blobs(*size(quick=(30_000, 16, 50), full=(300_000, 16, 100)), "float32")
        self.function = find("cluster", "kmeans_plusplus")

    def warm_up(self):
        self.function(self.X[:200], 20, random_state=0)
        self.function(self.X, 20, random_state=0)

    def time_kmeans_plusplus(self):
        self.function(self.X, size(quick=50, full=100), random_state=0)

    def track_potential(self):
        """Mean squared distance to the nearest of the centres drawn."""
        centres, _ = self.function(self.X, size(quick=50, full=100), random_state=0)
        nearest = np.full(len(self.X), np.inf)
        for centre in centres:
            np.minimum(nearest, ((self.X - centre) ** 2).sum(axis=1), out=nearest)
        return float(nearest.mean())
