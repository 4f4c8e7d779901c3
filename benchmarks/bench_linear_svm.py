"""Linear machines, kernel ridge regression for many penalties, kernel classifiers."""

import numpy as np

from .common import Predictor, find, size
from .datasets import blobs, kept_on_disk


@kept_on_disk
def linear_classes(n, d):
    """Two classes on either side of a plane, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + 2.0 * rng.normal(size=n) > 0).astype(np.intp)


def sparse_rows(n, d, k):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    columns = (d * rng.random(n * k) ** 2).astype(np.int32)
    starts = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = csr_array((rng.random(n * k), columns, starts), shape=(n, d))
    X.sum_duplicates()
    return X, (X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0).astype(np.intp)


class LinearSVC(Predictor):
    param_names = ("rows", "solver")
    params = (["dense", "CSR"], ["primal", "dual", "l1"])

    def data(self, rows, solver):
        if rows == "CSR":
            return sparse_rows(*size(quick=(5_000, 2_000, 20), full=(50_000, 20_000, 50)))
        return linear_classes(*size(quick=(10_000, 20), full=(200_000, 50)))

    def estimator(self, rows, solver):
        penalty = "l1" if solver == "l1" else "l2"
        max_iter = 1000 if solver == "primal" else 20  # epochs: fixed work
        return find("svm", "LinearSVC")(
            penalty, dual=solver == "dual", max_iter=max_iter, random_state=0
        )


class LinearSVR(Predictor):
    def data(self):
        X, y = linear_classes(*size(quick=(10_000, 20), full=(200_000, 50)))
        return X, X[:, 0] + y

    def estimator(self):
        return find("svm", "LinearSVR")(max_iter=20, random_state=0)


class KernelRidge(Predictor):
    param_names = ("penalties",)
    params = (["one", "20, gcv", "20, leave one out"],)

    def data(self, penalties):
        X, y = linear_classes(size(quick=1_200, full=5_000), 20)
        return X, np.sin(X[:, 0]) + 0.1 * y

    def estimator(self, penalties):
        alphas = None if penalties == "one" else np.geomspace(1e-3, 1e2, 20)
        select_by = "gcv" if penalties == "20, gcv" else "loo"
        return find("kernel_ridge", "KernelRidge")(kernel="rbf", alphas=alphas, select_by=select_by)


class KernelLogisticRegression(Predictor):
    def data(self):
        return blobs(size(quick=600, full=4_000), 10, 3, "float64")

    def estimator(self):
        return find("svm", "KernelLogisticRegression")()


class KernelPerceptron(Predictor):
    def data(self):
        return linear_classes(size(quick=1_000, full=8_000), 10)

    def estimator(self):
        return find("svm", "KernelPerceptron")(max_iter=5, random_state=0)
