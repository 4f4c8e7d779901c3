"""Pairwise distances, reductions of them, and kernels."""

import numpy as np

from .common import Benchmark, find, size
from .datasets import booleans, points

N = size(quick=1_000, full=6_000)


class PairwiseDistances(Benchmark):
    param_names = ("metric", "dtype")
    params = (
        size(
            quick=["euclidean", "manhattan", "chebyshev", "minkowski", "jaccard", "hamming"],
            full=[
                "euclidean",
                "manhattan",
                "chebyshev",
                "cosine",
                "minkowski",
                "jaccard",
                "hamming",
            ],
        ),
        size(quick=["float64"], full=["float32", "float64"]),
    )

    def prepare(self, metric, dtype):
        self.function = find("metrics.pairwise", "pairwise_distances")
        if metric in ("jaccard", "hamming"):
            self.X, self.Y = booleans(N, 64)
        else:
            self.X, self.Y = points(N, N, 64, dtype)
        self.options = {"metric": metric, **({"p": 3} if metric == "minkowski" else {})}

    def warm_up(self, metric, dtype):
        self.function(self.X[:50], self.Y[:50], **self.options)
        self.function(self.X, self.Y, **self.options)

    def time_distances(self, metric, dtype):
        self.function(self.X, self.Y, **self.options)

    def peakmem_distances(self, metric, dtype):
        self.function(self.X, self.Y, **self.options)

    def track_error(self, metric, dtype):
        """Largest difference to SciPy's distances on a few rows."""
        from scipy.spatial.distance import cdist

        name = "cityblock" if metric == "manhattan" else metric
        options = {"p": 3} if metric == "minkowski" else {}
        expected = cdist(self.X[:20], self.Y, name, **options)
        return float(np.abs(self.function(self.X, self.Y, **self.options)[:20] - expected).max())


class ArgminMin(Benchmark):
    param_names = ("metric",)
    params = (size(quick=["euclidean"], full=["euclidean", "manhattan"]),)

    def prepare(self, metric):
        self.function = find("metrics.pairwise", "pairwise_distances_argmin_min")
        n = size(quick=5_000, full=50_000)
        self.X, self.Y = points(n, n // 5, 32, "float64")

    def warm_up(self, metric):
        self.function(self.X[:50], self.Y[:50], metric=metric)
        self.function(self.X, self.Y, metric=metric)

    def time_argmin_min(self, metric):
        self.function(self.X, self.Y, metric=metric)


class PairwiseKernels(Benchmark):
    param_names = ("kernel",)
    params = (size(quick=["rbf"], full=["rbf", "laplacian", "polynomial"]),)

    def prepare(self, kernel):
        self.function = find("metrics.pairwise", "pairwise_kernels")
        self.X, self.Y = points(N, N, 32, "float64")

    def warm_up(self, kernel):
        self.function(self.X[:50], self.Y[:50], metric=kernel)
        self.function(self.X, self.Y, metric=kernel)

    def time_kernel(self, kernel):
        self.function(self.X, self.Y, metric=kernel)
