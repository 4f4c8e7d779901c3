"""Gaussian mixtures: twenty EM steps from given parameters."""

import numpy as np

from .common import Predictor, find, size
from .datasets import blobs

K = 10


class GaussianMixture(Predictor):
    param_names = ("covariance_type",)
    params = (size(quick=["full", "diag"], full=["full", "tied", "diag", "spherical"]),)

    def data(self, covariance_type):
        return blobs(*size(quick=(10_000, 10, K), full=(100_000, 10, K)), "float64")

    def estimator(self, covariance_type):
        d = self.X.shape[1]
        precisions = {"full": [np.eye(d)] * K, "tied": np.eye(d), "diag": np.ones((K, d))}
        return find("mixture", "GaussianMixture")(
            K,
            covariance_type=covariance_type,
            weights_init=np.full(K, 1 / K),
            means_init=self.X[:K].copy(),
            precisions_init=np.array(precisions.get(covariance_type, np.ones(K))),
            max_iter=20,
            tol=0.0,
        )
