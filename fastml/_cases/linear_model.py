"""Linear models: least squares, penalties, paths, selection; judged by what they minimise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Data, Quality, find, sizes
from fastml._cases._logistic import LOGISTIC, logistic_branches
from fastml._cases._panels import line
from fastml._cases._smooth_linear import SMOOTH, smooth_branches

# ---------------------------------------------------------------------------- squared loss


def rows(n, d, targets=0):
    """Correlated columns around means of their own; a tenth of them, at most a hundred, matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.3 * X[:, :-1]
    X += rng.normal(size=d)
    w = np.where(np.arange(d) % max(10, d // 100) == 0, rng.normal(size=d), 0.0)
    y = X @ w + 0.5 * rng.normal(size=n)
    if targets:
        y = np.stack([y + rng.normal(size=n) for _ in range(targets)], axis=1)
    return SimpleNamespace(X=X, y=y)


def columns(n, d):
    """As `rows`, wide and one column after the other in memory."""
    data = rows(n, d)
    return SimpleNamespace(X=np.asfortranarray(data.X), y=data.y)


def tasks(n, d):
    return rows(n, d, 3)


def sparse_columns(n, d):
    """CSC columns of about 20 values a row."""
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    X = random_array((n, d), density=min(0.3, 20.0 / d), format="csc", rng=rng)
    w = np.where(np.arange(d) % 50 == 0, rng.normal(size=d), 0.0)
    return SimpleNamespace(X=X, y=X @ w + 0.1 * rng.normal(size=n))


def _residuals(data, model):
    return data.y - model.predict(data.X)


def _mean_square(data, model) -> float:
    return float(np.mean(_residuals(data, model) ** 2))


def _ridge_objective(data, model) -> float:
    return float(np.sum(_residuals(data, model) ** 2) + np.sum(np.square(model.coef_)))


def _net_objective(l1_ratio, alpha=None):
    def judge(data, model) -> float:
        a = model.alpha if alpha is None else alpha
        w = np.asarray(model.coef_)
        penalty = l1_ratio * np.abs(w).sum() + 0.5 * (1.0 - l1_ratio) * (w**2).sum()
        return 0.5 * _mean_square(data, model) + a * float(penalty)

    return judge


def _path_objective(data, answer) -> float:
    """Mean objective of the path; its own penalties."""
    alphas, coefs, _ = answer
    residuals = data.y[:, None] - data.X @ coefs
    values = 0.5 * (residuals**2).mean(axis=0) + alphas * np.abs(coefs).sum(axis=0)
    return float(values.mean())


def _error_of_choice(data, model) -> float:
    return float(np.min(model.mse_path_.mean(axis=-1)))


def _loo_error(data, model) -> float:
    return -float(np.mean(model.best_score_))


def targets_first(n, d):
    """As `columns`, centred, since paths have no intercept; the arguments of a path."""
    data = columns(n, d)
    X, y = data.X - data.X.mean(axis=0), data.y - data.y.mean()
    return SimpleNamespace(X=X, y=y, arguments=("X", "y"))


def sums_of_products(n, d):
    """X'y and X'X of `targets_first`, and the squares of y; the arguments of `lars_path_gram`."""
    data = targets_first(n, d)
    X, y = data.X, data.y
    return SimpleNamespace(
        X=X, y=y, Xy=X.T @ y, Gram=X.T @ X, squares=np.array([y @ y]), arguments=("Xy", "Gram")
    )


def products_and_sums(n, d):
    """As `sums_of_products`; the arguments of `orthogonal_mp_gram`."""
    return SimpleNamespace(**{**vars(sums_of_products(n, d)), "arguments": ("Gram", "Xy")})


def _error_of_weights(data, answer) -> float:
    """Mean squared error of weights, or of the last weights of a path of least angles."""
    w = answer[2][:, -1] if isinstance(answer, tuple) else answer
    return float(np.mean((data.y - data.X @ w) ** 2))


def _celer_path(data):
    path = find("celer.celer_path")
    largest = np.abs(data.X.T @ data.y).max() / len(data.y)
    alphas = np.geomspace(largest, largest * 1e-3, 100)
    return lambda: path(data.X, data.y, "lasso", alphas=alphas, tol=1e-6)


def _celer(alpha):
    def prepare(data):
        Lasso = find("celer.Lasso")
        return lambda: Lasso(alpha=alpha, tol=1e-7).fit(data.X, data.y)

    return prepare


def _skglm(alpha):
    def prepare(data):
        Lasso = find("skglm.Lasso")
        return lambda: Lasso(alpha=alpha, tol=1e-7).fit(data.X, data.y)

    return prepare


def _objective(name, judge, tolerance=1e-6):
    return Quality(name, judge, "less", tolerance)


TIGHT = {"tol": 1e-7, "max_iter": 20_000}
ALPHAS = np.geomspace(1e-3, 1e3, 50)
SMALL = sizes(n=(60, 300, 2_000), d=(5, 30, 100))

SQUARED = (
    Case(
        "ols", "linear_model.LinearRegression", "LinearRegression, {n:,} × {d}",
        rows, sizes(n=(200, 50_000, 500_000), d=(5, 50, 50)),
        _objective("mean squared error", _mean_square), peers={**SKLEARN, "sklearnex": {}},
        also=("predict",), dtypes=BOTH, draw=line, headline=True,
        variants=({"positive": True}, {"fit_intercept": False}),
    ),
    Case(
        "ridge-tall", "linear_model.Ridge", "Ridge, {n:,} × {d}",
        rows, sizes(n=(200, 50_000, 500_000), d=(5, 50, 50)),
        _objective("objective", _ridge_objective), peers={**SKLEARN, "sklearnex": {}},
        dtypes=BOTH,
        variants=({"solver": "svd"}, {"solver": "lsqr"}, {"solver": "sparse_cg"},
                   {"positive": True}, {"scaling": "mean"}),
    ),
    Case(
        "ridge-cv", "linear_model.RidgeCV", "RidgeCV, {n:,} × {d}, 50 penalties",
        rows, sizes(n=(60, 2_000, 20_000), d=(5, 100, 300)),
        _objective("leave-one-out error", _loo_error), {"alphas": ALPHAS}, peers=SKLEARN,
        variants=({"alphas": [0.1, 1.0], "store_cv_results": True},
                  {"alphas": [0.1, 1.0], "gcv_mode": "svd"}, {"alphas": [0.1, 1.0], "cv": 3}),
    ),
    Case(
        "lasso-path", "linear_model.lasso_path", "lasso path, {n:,} × {d:,}, 100 penalties",
        targets_first, sizes(n=(60, 500, 2_000), d=(20, 1_000, 5_000)),
        _objective("mean objective", _path_objective, 1e-5), {"tol": 1e-6, "max_iter": 20_000},
        step="call", peers={**SKLEARN, "celer": _celer_path},
    ),
    Case(
        "lasso-wide", "linear_model.Lasso", "Lasso, {n:,} × {d:,}",
        columns, sizes(n=(60, 500, 2_000), d=(100, 2_000, 20_000)),
        _objective("objective", _net_objective(1.0)), {"alpha": 0.1, **TIGHT},
        peers={**SKLEARN, "celer": _celer(0.1), "skglm": _skglm(0.1)},
        dtypes=BOTH,
        variants=({"alpha": 0.1}, {"alpha": 0.1, "positive": True},
                  {"alpha": 0.1, "selection": "random", "random_state": 0}, {"constraint": 0.5}),
    ),
    Case(
        "lasso-sparse", "linear_model.Lasso", "Lasso, CSC {n:,} × {d:,}, 20 values a row",
        sparse_columns, sizes(n=(100, 2_000, 20_000), d=(60, 5_000, 50_000)),
        _objective("objective", _net_objective(1.0)), {"alpha": 1e-4, **TIGHT},
        peers={**SKLEARN, "celer": _celer(1e-4)},
    ),
    Case(
        "elastic-net", "linear_model.ElasticNet", "ElasticNet, {n:,} × {d:,}",
        rows, SMALL, _objective("objective", _net_objective(0.5)), {"alpha": 0.1, **TIGHT},
        peers=SKLEARN, variants=({"alpha": 0.1}, {"l1_ratio": 0.0}, {"constraint": 0.5}),
    ),
    Case(
        "elastic-net-cv", "linear_model.ElasticNetCV",
        "ElasticNetCV, {n:,} × {d:,}, 5 folds, 100 penalties",
        rows, sizes(n=(60, 1_000, 5_000), d=(5, 100, 500)),
        Quality("error of folds", _error_of_choice, "less", 1e-4), peers=SKLEARN,
        variants=({"alphas": 5, "l1_ratio": [0.5, 0.9]},),
    ),
    Case(
        "lasso-cv", "linear_model.LassoCV", "LassoCV, {n:,} × {d:,}",
        rows, SMALL, Quality("error of folds", _error_of_choice, "less", 1e-4),
        TIGHT,  # at scikit-learn's default of 1e-4 its folds end early, and differ by 2e-4
        peers=SKLEARN, variants=({"alphas": 5},),
    ),
    *(
        Case(
            id, f"linear_model.{name}", name + ", {n:,} × {d:,}, 3 targets",
            tasks, SMALL, quality, params, peers=SKLEARN, variants=variants,
        )
        for id, name, quality, params, variants in (
            ("multitask-lasso", "MultiTaskLasso",
             _objective("mean squared error", _mean_square, 1e-4), {"alpha": 0.1, **TIGHT}, ()),
            ("multitask-net", "MultiTaskElasticNet",
             _objective("mean squared error", _mean_square, 1e-4), {"alpha": 0.1, **TIGHT}, ()),
            ("multitask-lasso-cv", "MultiTaskLassoCV",
             Quality("error of folds", _error_of_choice, "less", 1e-4), {"alphas": 20}, ()),
            ("multitask-net-cv", "MultiTaskElasticNetCV",
             Quality("error of folds", _error_of_choice, "less", 1e-4), {"alphas": 20}, ()),
        )
    ),
    *(
        Case(
            id, f"linear_model.{name}", name + ", {n:,} × {d:,}",
            rows, SMALL, _objective("mean squared error", _mean_square, 1e-6), params,
            peers=SKLEARN, variants=variants,
        )
        for id, name, params, variants in (
            ("lars", "Lars", {}, ({"fit_path": False}, {"jitter": 1e-6, "random_state": 0})),
            ("lasso-lars", "LassoLars", {"alpha": 0.01}, ()),
            ("lasso-lars-ic", "LassoLarsIC", {}, ({"criterion": "bic"},)),
            ("omp", "OrthogonalMatchingPursuit", {}, ({"tol": 1.0},)),
            ("omp-cv", "OrthogonalMatchingPursuitCV", {}, ()),
        )
    ),
    *(
        Case(
            id, f"linear_model.{name}", name + ", {n:,} × {d:,}",
            rows, SMALL, Quality("error of folds", _error_of_choice, "less", 1e-6), peers=SKLEARN,
        )
        for id, name in (("lars-cv", "LarsCV"), ("lasso-lars-cv", "LassoLarsCV"))
    ),
    *(
        Case(
            id, f"linear_model.{name}", name + ", {n:,} × {d:,}", data, SMALL,
            _objective("mean squared error", _error_of_weights), params, step="call",
            peers=SKLEARN,
        )
        for id, name, data, params in (
            ("lars-path", "lars_path", targets_first, {}),
            ("lars-path-gram", "lars_path_gram", sums_of_products, {"n_samples": Data("n")}),
            ("omp-path", "orthogonal_mp", targets_first, {}),
            ("omp-path-gram", "orthogonal_mp_gram", products_and_sums,
             {"tol": 1.0, "norms_squared": Data("squares")}),
            ("ridge-function", "ridge_regression", targets_first, {"alpha": 1.0}),
        )
    ),
)  # fmt: skip


def _pursuit(data):
    """The greedy way to as many weights."""
    OrthogonalMatchingPursuit = find("sklearn.linear_model.OrthogonalMatchingPursuit")
    return lambda: OrthogonalMatchingPursuit(n_nonzero_coefs=5).fit(data.X, data.y)


FEW_WEIGHTS = Case(
    "l0", "linear_model.L0Regressor", "L0Regressor, {n:,} × {d:,}, 5 weights",
    rows, SMALL, _objective("mean squared error", _mean_square), {"n_nonzero_coefs": 5},
    peers={"sklearn": _pursuit}, variants=({"alpha": 0.01},),
)  # fmt: skip


def _path_of_classes(make, data):
    """Logistic losses with an l1 penalty."""
    Logistic, L1Penalty = find("fastml.losses.Logistic"), find("fastml.penalties.L1Penalty")
    return lambda: make(data.X, data.y, [L1Penalty(0.02)], loss=Logistic())


def classes(n, d):
    """Two classes by the sign of the centred target of `rows`; centred columns."""
    data = rows(n, d)
    return SimpleNamespace(X=data.X - data.X.mean(axis=0), y=(data.y > data.y.mean()).astype(float))


def _saga(data):
    LogisticRegression = find("sklearn.linear_model.LogisticRegression")
    model = {"l1_ratio": 1.0, "solver": "saga", "C": 1.0 / (0.02 * len(data.y)), "tol": 1e-6}
    return lambda: LogisticRegression(**model, max_iter=10_000).fit(data.X, data.y)


def _logistic_objective(data, answer) -> float:
    if hasattr(answer, "coefs"):
        w, level = answer.coefs[0], answer.intercepts[0]
    else:
        w, level = answer.coef_[0], answer.intercept_[0]
    raw = data.X @ w + level
    return float(np.mean(np.logaddexp(0.0, raw) - data.y * raw) + 0.02 * np.abs(w).sum())


ANY_PENALTY = Case(
    "penalty-path", "linear_model.penalty_path", "logistic loss with an l1 penalty, {n:,} × {d}",
    classes, sizes(n=(60, 2_000, 20_000), d=(5, 30, 50)),
    _objective("objective", _logistic_objective), step=_path_of_classes, peers={"sklearn": _saga},
)  # fmt: skip

# ---------------------------------------------------------------------------- summaries


def lines(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + np.arange(d)
    return SimpleNamespace(X=X, y=X[:, ::2].sum(axis=1) + rng.normal(size=n))


def fit_and_summary(make, data):
    """Least squares, then the summary of it."""
    LinearRegression = find("fastml.linear_model.LinearRegression")

    def call():
        return make(LinearRegression().fit(data.X, data.y), data.X, data.y)

    return call


def _statsmodels(data):
    sm = find("statsmodels.api.OLS")
    add_constant = find("statsmodels.api.add_constant")

    def call():
        found = sm(data.y, add_constant(data.X)).fit()
        found.summary()
        return SimpleNamespace(std_error=found.bse)

    return call


def _error(data, found) -> float:
    """Of the standard errors, against those of the normal equations in extended precision."""
    centred = data.X.astype(np.longdouble) - data.X.mean(axis=0, dtype=np.longdouble)
    gram = (centred.T @ centred).astype(np.float64)
    targets = data.y - data.y.mean()
    coef = np.linalg.solve(gram, (centred.T @ targets).astype(np.float64))
    left = targets - (centred @ coef).astype(np.float64)
    variance = left @ left / (len(targets) - len(coef) - 1)
    expected = np.sqrt(variance * np.diag(np.linalg.inv(gram)))
    return float(np.abs(found.std_error[1:] / expected - 1.0).max())


SUMMARIES = (
    Case(
        "linear-summary", "linear_model.summary", "least squares and its summary, {n:,} × {d}",
        lines, sizes(n=(200, 20_000, 200_000), d=(4, 30, 30)),
        Quality("max relative error of standard errors", _error, "error", 1e-8),
        step=fit_and_summary, peers={"statsmodels": _statsmodels},
    ),
)  # fmt: skip


CASES = (*SQUARED, FEW_WEIGHTS, ANY_PENALTY, *SMOOTH, *LOGISTIC, *SUMMARIES)


def odd_branches():
    from fastml.linear_model import Lasso, MultiTaskLasso

    wide = rows(20, 40, 2)
    yield "working sets of several targets", lambda: MultiTaskLasso(alpha=0.1).fit(wide.X, wide.y)
    sparse = sparse_columns(30, 60)
    yield "working sets of sparse columns", lambda: Lasso(alpha=0.01).fit(sparse.X, sparse.y)
    yield from smooth_branches()
    yield from logistic_branches()
