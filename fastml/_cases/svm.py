"""Kernel machines by SMO to the same gap, judged by score; linear machines, by their objective."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import SKLEARN, Case, Peers, Quality, sizes
from fastml._cases._data import curve, few_rows, labelled_blobs, sparse_rows
from fastml._cases._judges import SAME_ACCURACY, SAME_R2, accuracy, predicted, r2
from fastml._cases._panels import regions

# ---------------------------------------------------------------------------- by SMO

INTELEX: Peers = {"sklearnex": {}, **SKLEARN}


def _share_inside(data, machine) -> float:
    return float((predicted(data, machine) == 1).mean())


def _beside_svc(tolerance):
    def accuracy_of_svc(data) -> float:
        from sklearn.svm import SVC

        return accuracy(data, SVC().fit(data.X, data.y))

    return Quality("test accuracy", accuracy, "more", tolerance, reference=accuracy_of_svc)


def _machine(
    id, name, what, n, d, peers=SKLEARN, data=labelled_blobs, quality=SAME_ACCURACY, **more
):
    size = more.pop("size", {})
    work = f"{name} {what}, {{n:,}} × {{d}}"
    return Case(
        id, f"svm.{name}", work, data, sizes(n=n, d=d, **size), quality, peers=peers, **more
    )


LARGE, MEDIUM = (300, 2_000, 20_000), (300, 2_000, 10_000)
MACHINES = (
    _machine("svc", "SVC", "rbf", LARGE, 30, INTELEX, draw=regions, headline=True, variants=(
        {"kernel": "poly", "decision_function_shape": "ovo"},
        {"kernel": "laplacian", "break_ties": True},
    )),
    _machine("svc-predict", "SVC", "predict", LARGE, 30, INTELEX, step="predict"),
    _machine("svc-10-classes", "SVC", "rbf, {k} classes", MEDIUM, 50, size={"k": 10}),
    _machine("svc-noisy", "SVC", "rbf, C = 1000, noisy", (300, 1_000, 10_000), 20,
             data=partial(labelled_blobs, noise=0.1), params={"C": 1000.0}),
    _machine("svc-overlapping", "SVC", "rbf, 30 % of labels flipped", (300, 2_000, 12_000), 20,
             INTELEX, partial(labelled_blobs, noise=0.6)),  # relabelled at random: half of 60 %
    _machine("svr", "SVR", "rbf", LARGE, 20, INTELEX, curve, SAME_R2,
             variants=({"kernel": "cosine", "C": 10.0},)),
    _machine("one-class-svm", "OneClassSVM", "nu = 0.1", LARGE, 10, params={"nu": 0.1},
             quality=Quality("share inside", _share_inside, tolerance=5e-3),
             variants=({"nu": 0.1},)),
    _machine("svc-small", "SVC", "small", 300, 4),
    _machine("nu-svc", "NuSVC", "rbf, nu = 0.2", LARGE, 30, params={"nu": 0.2},
             variants=({"kernel": "cosine", "nu": 0.1},)),
    _machine("nu-svr", "NuSVR", "rbf", (300, 1_000, 10_000), 20, SKLEARN, curve, SAME_R2,
             variants=({"kernel": "laplacian"},)),
    _machine("kernel-logistic", "KernelLogisticRegression", "rbf", (300, 600, 4_000), 10, {},
             quality=_beside_svc(0.03),
             variants=({"kernel": "laplacian", "C": 10.0, "class_weight": "balanced"},),
             also=("predict",)),
    _machine("kernel-perceptron", "KernelPerceptron", "5 epochs", (300, 1_000, 8_000), 10, {},
             quality=_beside_svc(0.1),
             params={"max_iter": 5, "random_state": 0},
             variants=({"average": True, "max_iter": 3},), also=("predict",)),
)  # fmt: skip

# ---------------------------------------------------------------------------- linear


def plane(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n) > 0
    return SimpleNamespace(X=X, y=y.astype(np.intp))


def slope(n, d):
    data = plane(2 * n, d)
    y = data.X[:, 0] + data.y
    return SimpleNamespace(X=data.X[:n], y=y[:n], Q=data.X[n:], y_new=y[n:])


def _objective(penalty):
    def judge(data, model) -> float:
        """Penalty of (w, b) + Σ max(0, 1 − y w · x)², per row."""
        w = np.append(model.coef_[0], model.intercept_[0])
        short = np.maximum(0.0, 1.0 - (2.0 * data.y - 1.0) * (data.X @ w[:-1] + w[-1]))
        size = np.abs(w).sum() if penalty == "l1" else 0.5 * w @ w
        return float((size + short @ short) / len(short))

    return judge


def _linear(id, rows, solver=None, tolerance=1e-3, **more) -> Case:
    dense = rows == "dense"
    what = "{n:,} × {d}" if dense else "CSR {n:,} × {d:,}, {k} values a row"
    epochs = {"max_iter": 20} if solver else {}  # fixed work
    by_solver: dict = {"dual": {"dual": True}, "l1": {"penalty": "l1"}}
    params = by_solver.get(solver, {})
    n = sizes(n=(300, 10_000, 50_000), d=(200, 5_000, 20_000), k=(10, 50, 50))
    return Case(
        id, "svm.LinearSVC",
        "LinearSVC, " + (f"{solver}, 20 epochs, " if solver else "") + what,
        plane if dense else sparse_rows, sizes(n=(500, 20_000, 200_000), d=50) if dense else n,
        Quality("objective per row", _objective(solver), "less", tolerance),
        {"random_state": 0, **params, **epochs}, peers=SKLEARN, **more,
    )  # fmt: skip


LINEAR = (
    _linear("linear-svc", "dense", also=("predict",), variants=(
        {"dual": True, "C": 1e-6},
        {"dual": True, "C": 1e-7, "loss": "hinge"},
        {"penalty": "l1", "C": 1e-3},
    )),
    _linear("linear-svc-csr", "CSR"),
    _linear("linear-svc-dual", "dense", "dual", 0.05),
    _linear("linear-svc-dual-csr", "CSR", "dual", 0.05),
    _linear("linear-svc-l1", "dense", "l1", 0.05),
    _linear("linear-svc-l1-csr", "CSR", "l1", 0.05),
    Case(
        "linear-svr", "svm.LinearSVR", "LinearSVR, 20 epochs, {n:,} × {d}",
        slope, sizes(n=(500, 10_000, 100_000), d=50),
        Quality("test R²", r2, "more", 0.02), {"max_iter": 20, "random_state": 0}, peers=SKLEARN,
        variants=({"loss": "squared_epsilon_insensitive", "dual": True},),
        settings={"C": 1e-6},  # converges on the few rows within the default max_iter
    ),
)  # fmt: skip

CASES = (*MACHINES, *LINEAR)


def odd_branches():
    from scipy.sparse import csr_array

    from fastml import svm
    from fastml._engines import smo
    from fastml._engines.gram import sources
    from fastml.svm import _decision

    X, y = few_rows(np.float64)

    def linear():
        for rows in (X, csr_array(X)):
            svm.LinearSVC().fit(rows, y)
            svm.LinearSVC(dual=True).fit(rows, y)
            svm.LinearSVC(penalty="l1").fit(rows, y)
            svm.LinearSVC(multi_class="crammer_singer").fit(rows, y)
            svm.LinearSVR().fit(rows, y)

    def by_rounds():
        """Working sets in both precisions and sums of many values, whatever the size."""
        whole, many, single = smo.WHOLE, _decision.MANY_VALUES, sources.SINGLE_FROM
        sources.SINGLE_FROM = 0
        try:
            svm.SVC().fit(X, y)
            smo.WHOLE = 10
            for C in (1.0, 1e9):  # float32 and float64 rows
                svm.SVR(C=C, max_iter=100).fit(X, y)
            _decision.MANY_VALUES = 0
            svm.SVR().fit(X, y).predict(X)
        finally:
            smo.WHOLE, _decision.MANY_VALUES, sources.SINGLE_FROM = whole, many, single

    yield "linear machines", linear
    yield (
        "sparse rows",
        lambda: svm.SVC(kernel="laplacian").fit(csr_array(X), y).predict(csr_array(X)),
    )
    yield "working sets", by_rounds
