"""Kernel densities, their bandwidths, and kernel regression."""

import numpy as np

from .common import Benchmark, Predictor, find, size
from .datasets import points


class KernelDensity(Benchmark):
    """The rows of the comparison: a line (series), 3 and 10 features (tiles), bounded support."""

    param_names = ("kernel", "n_features")
    params = (["gaussian", "epanechnikov", "exponential"], [1, 3, 10])

    def prepare(self, kernel, n_features):
        n, n_queries = size(quick=(10_000, 2_000), full=(50_000, 10_000))
        self.X, self.Q = points(n, n_queries, n_features, "float64")
        self.model = find("neighbors", "KernelDensity")(
            kernel=kernel, bandwidth=n ** (-1 / (n_features + 4))
        )

    def warm_up(self, *params):
        self.model.fit(self.X).score_samples(self.Q[:100])
        self.model.score_samples(self.Q)

    def time_fit(self, *params):
        self.model.fit(self.X)

    def time_score_samples(self, *params):
        self.model.score_samples(self.Q)

    def peakmem_score_samples(self, *params):
        self.model.score_samples(self.Q)

    def track_log_likelihood(self, *params):
        found = self.model.score_samples(self.Q)
        return float(np.mean(found[np.isfinite(found)]))


class Grid(Benchmark):
    def prepare(self):
        self.X, _ = points(size(quick=10_000, full=100_000), 10, 2, "float64")
        self.model = find("neighbors", "KernelDensity")(bandwidth=0.2).fit(self.X)

    def warm_up(self):
        self.model.score_grid(32)

    def time_score_grid(self):
        self.model.score_grid()


class Bandwidth(Benchmark):
    """30 candidates by leave-one-out likelihood, two features."""

    def prepare(self):
        self.X, _ = points(size(quick=1_000, full=10_000), 10, 2, "float64")
        self.candidates = np.geomspace(0.05, 2.0, 30)
        self.select = find("density", "bandwidth_loo")

    def warm_up(self):
        self.select(self.X[:300], self.candidates[:2])

    def time_bandwidth_loo(self):
        self.select(self.X, self.candidates)

    def track_bandwidth(self):
        return self.select(self.X, self.candidates)


class KernelRegressor(Predictor):
    param_names = ("local",)
    params = (["constant", "linear"],)
    n_predicted = size(quick=1_000, full=10_000)

    def data(self, local):
        X, _ = points(size(quick=5_000, full=50_000), 10, 3, "float64")
        return X, np.sin(X).sum(axis=1)

    def estimator(self, local):
        return find("neighbors", "KernelRegressor")(0.3, local=local)

    def warm_up(self, *params):
        super().warm_up(*params)
        self.model.predict(self.X_predicted)
