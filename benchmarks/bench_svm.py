"""Kernel machines by SMO."""

import numpy as np

from .common import Predictor, find, size
from .datasets import kept_on_disk


@kept_on_disk
def noisy_blobs(n, d, k, noise):
    """Four blobs per class, a share of wrong labels."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(4 * k, d))
    blob = rng.integers(4 * k, size=n)
    y = blob % k
    wrong = rng.random(n) < noise
    y[wrong] = rng.integers(k, size=wrong.sum())
    return centres[blob] + rng.normal(scale=2.0, size=(n, d)), y


class SVC(Predictor):
    param_names = ("work",)
    params = (["two classes", "ten classes", "C = 1000", "300 rows"],)

    def data(self, work):
        n, d, k, noise = {
            "two classes": (size(quick=2_000, full=20_000), 30, 2, 0.05),
            "ten classes": (size(quick=2_000, full=10_000), 50, 10, 0.05),
            "C = 1000": (size(quick=1_000, full=10_000), 20, 2, 0.1),
            "300 rows": (300, 4, 2, 0.05),
        }[work]
        return noisy_blobs(n, d, k, noise)

    def estimator(self, work):
        return find("svm", "SVC")(C=1000.0 if work == "C = 1000" else 1.0)


class SVR(Predictor):
    def data(self):
        X, y = noisy_blobs(size(quick=2_000, full=20_000), 20, 2, 0.05)
        return X, np.sin(X[:, 0]) + y

    def estimator(self):
        return find("svm", "SVR")()


class OneClassSVM(Predictor):
    def data(self):
        return noisy_blobs(size(quick=2_000, full=20_000), 10, 2, 0.05)

    def estimator(self):
        return find("svm", "OneClassSVM")(nu=0.1)

    def score(self):
        return float((self.model.predict(self.X) == 1).mean())
