"""Metrics of clusterings."""

from .common import Benchmark, find, size
from .datasets import blobs


class Silhouette(Benchmark):
    def prepare(self):
        self.X, self.labels = blobs(*size(quick=(4_000, 10, 8), full=(30_000, 10, 8)), "float64")
        self.function = find("metrics", "silhouette_score")

    def warm_up(self):
        self.function(self.X[:200], self.labels[:200])
        self.function(self.X, self.labels)

    def time_silhouette_score(self):
        self.function(self.X, self.labels)

    def peakmem_silhouette_score(self):
        self.function(self.X, self.labels)


class AdjustedMutualInformation(Benchmark):
    def prepare(self):
        _, self.labels = blobs(*size(quick=(20_000, 2, 20), full=(200_000, 2, 50)), "float64")
        self.other = (self.labels * 7 + self.labels[::-1]) % size(quick=20, full=50)
        self.function = find("metrics", "adjusted_mutual_info_score")

    def warm_up(self):
        self.function(self.labels, self.other)

    def time_adjusted_mutual_info_score(self):
        self.function(self.labels, self.other)
