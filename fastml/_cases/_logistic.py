"""Logistic regression and ridge classifiers: what `linear_model` lists of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, find, sizes
from fastml._cases._data import labelled_blobs, sparse_rows
from fastml._cases._judges import ACCURACY


def two_classes(n, d):
    """Two classes whose log-odds are linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d) * 2.0 / np.sqrt(d)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-X @ w - 0.5))
    return SimpleNamespace(X=X, y=y.astype(np.intp))


def several_classes(n, d, k):
    """Classes whose log-odds are linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    W = rng.normal(size=(d, k)) * 2.0 / np.sqrt(d)
    return SimpleNamespace(X=X, y=(X @ W + rng.gumbel(size=(n, k))).argmax(axis=1))


def _objective(l1_ratio=0.0):
    def judge(data, model) -> float:
        """Mean loss plus the penalty of the weights over the rows, with C = 1."""
        W = np.atleast_2d(model.coef_)
        raw = data.X @ W.T + model.intercept_
        if len(W) == 1:
            loss = np.logaddexp(0.0, raw[:, 0]) - data.y * raw[:, 0]
        else:
            most = raw.max(axis=1)
            loss = np.log(np.exp(raw - most[:, None]).sum(axis=1)) + most
            loss -= raw[np.arange(len(raw)), data.y]
        penalty = l1_ratio * np.abs(W).sum() + (1.0 - l1_ratio) * 0.5 * (W**2).sum()
        return float(np.mean(loss) + penalty / len(raw))

    return judge


def _solved(l1_ratio=0.0):
    return Quality("objective", _objective(l1_ratio), "less", 1e-6)


def _liblinear(data):
    LogisticRegression = find("sklearn.linear_model.LogisticRegression")
    model = LogisticRegression(l1_ratio=1, solver="liblinear", intercept_scaling=1e3)
    return lambda: model.fit(data.X, data.y)


def _celer(data):
    LogisticRegression = find("celer.LogisticRegression")
    model = LogisticRegression(C=1.0, tol=1e-6, fit_intercept=False)
    return lambda: model.fit(data.X, data.y)


def _score_of_folds(data, model) -> float:
    """Of rows left out: weights within tol of the minimum may by chance have the better one."""
    return float(np.max(np.mean(model.scores_, axis=0)))


NEW_API = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}

LOGISTIC = (
    Case(
        "logistic", "linear_model.LogisticRegression", "LogisticRegression, {n:,} × {d}",
        two_classes, sizes(n=(300, 50_000, 500_000), d=(5, 50, 50)), _solved(),
        peers={**SKLEARN, "sklearnex": {}}, also=("predict", "predict_proba"), dtypes=BOTH,
        variants=({"fit_intercept": False}, {"l1_ratio": 1.0, "solver": "saga"},
                  {"class_weight": "balanced"}),
    ),
    Case(
        "logistic-softmax", "linear_model.LogisticRegression",
        "LogisticRegression, {k} classes, {n:,} × {d}",
        several_classes, sizes(n=(300, 10_000, 100_000), d=(5, 50, 100), k=(3, 10, 10)), _solved(),
        peers=SKLEARN, dtypes=BOTH, variants=({"l1_ratio": 0.5, "solver": "saga"},
                                              {"reference_class": 1}, {"firth": True}),
    ),
    Case(
        "logistic-csr", "linear_model.LogisticRegression",
        "LogisticRegression, CSR {n:,} × {d:,}, {k} values a row",
        sparse_rows, sizes(n=(300, 5_000, 20_000), d=(400, 10_000, 50_000), k=(10, 60, 60)),
        _solved(), peers={"sklearn": {"solver": "newton-cg"}},
    ),
    Case(
        "logistic-l1-csr", "linear_model.LogisticRegression",
        "LogisticRegression, l1, CSR {n:,} × {d:,}, {k} values a row",
        sparse_rows, sizes(n=(300, 5_000, 20_000), d=(450, 10_000, 50_000), k=(10, 60, 60)),
        _solved(1.0), {"l1_ratio": 1.0, "solver": "liblinear"},
        peers={"sklearn": _liblinear, "celer": _celer},
    ),
    Case(
        "logistic-cv", "linear_model.LogisticRegressionCV",
        "LogisticRegressionCV, 10 penalties, 5 folds, {n:,} × {d}",
        two_classes, sizes(n=(300, 5_000, 50_000), d=(5, 50, 50)),
        Quality("log-loss of folds", _score_of_folds, "more", 1e-4),
        {"Cs": 10, "cv": 5, **NEW_API}, peers=SKLEARN,
        variants=({"Cs": 3, "l1_ratios": (0.2, 0.9), "solver": "saga", "scoring": "accuracy",
                   "use_legacy_attributes": True},),
        settings={"Cs": 3, "cv": 2, **NEW_API},
    ),
    Case(
        "ridge-classifier", "linear_model.RidgeClassifier",
        "RidgeClassifier, {n:,} × {d}, {k} classes",
        labelled_blobs, sizes(n=(300, 20_000, 200_000), d=(5, 50, 50), k=5), ACCURACY,
        peers=SKLEARN, variants=({"class_weight": "balanced"}, {"alpha": 0.0}),
    ),
    Case(
        "ridge-classifier-cv", "linear_model.RidgeClassifierCV",
        "RidgeClassifierCV, {n:,} × {d}, 20 penalties",
        labelled_blobs, sizes(n=(100, 2_000, 20_000), d=(5, 50, 100)), ACCURACY,
        {"alphas": np.geomspace(1e-3, 1e3, 20)}, peers=SKLEARN,
        variants=({"scoring": "accuracy"}, {"cv": 2}, {"store_cv_results": True}),
    ),
)  # fmt: skip


def logistic_branches():
    from scipy.sparse import csc_array, csr_array

    from fastml._cases._data import few_rows
    from fastml.linear_model import LogisticRegression

    def sparse_and_wide():
        for dtype in (np.float64, np.float32):
            X, y = few_rows(dtype, d=12)
            wide = np.hstack([X] * 40)[:20]
            for rows, classes in (
                (csr_array(X), y), (np.asfortranarray(X), y), (csc_array(wide), y[:20]),
                (wide, y[:20]),
            ):  # fmt: skip
                for l1_ratio in (0.0, 1.0):
                    model = LogisticRegression(l1_ratio=l1_ratio, solver="saga", C=0.01)
                    model.fit(rows, classes)
                    model.fit(rows, classes == 1)

    yield "sparse rows, columns and many weights", sparse_and_wide
