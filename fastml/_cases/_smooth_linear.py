"""Linear models of smooth losses and by stochastic gradients: what `linear_model` lists of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, find, sizes
from fastml._cases._data import with_test
from fastml._cases._judges import accuracy, r2


def counts(n, d):
    """Poisson counts whose logarithmic mean is linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d) / np.sqrt(4.0 * d)
    return SimpleNamespace(X=X, y=rng.poisson(np.exp(X @ w + 0.5)).astype(np.float64) + 0.0)


def amounts(n, d):
    """Positive amounts: counts with gamma noise."""
    data = counts(n, d)
    noise = np.random.default_rng(1).gamma(2.0, 0.5, size=n)
    return SimpleNamespace(X=data.X, y=(data.y + 0.5) * noise + 1e-3)


def plane_with_outliers(n, d):
    """A plane with noise, and five percent of the targets far off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    y[: n // 20] += rng.normal(scale=50.0, size=n // 20)
    return SimpleNamespace(X=X, y=y)


def noisy_plane(n, d):
    """A plane with heavy-tailed noise; as many new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    y = X @ rng.normal(size=d) + rng.standard_t(3, size=2 * n) + 1.0
    return with_test(X, y, n)


def two_sides(n, d):
    """Two classes about a plane, one label in ten wrong near it; as many new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    y = (X @ rng.normal(size=d) + rng.normal(size=2 * n) > 0.0).astype(np.intp)
    return with_test(X, y, n)


def two_sides_apart(n, d):
    """The same without wrong labels, and no row near the plane."""
    data = two_sides(n, d)
    w = np.random.default_rng(1).normal(size=d)
    for X, y in ((data.X, data.y), (data.Q, data.y_new)):
        sides = np.where(X @ w > 0.0, 1.0, -1.0)
        X += 0.5 * sides[:, None] * w / np.linalg.norm(w)
        y[:] = sides > 0.0
    return data


def _raw(data, model):
    return data.X @ model.coef_ + model.intercept_


def _poisson_objective(data, model) -> float:
    raw = _raw(data, model)
    return float(np.mean(np.exp(raw) - data.y * raw) + 0.5 * model.coef_ @ model.coef_)


def _gamma_objective(data, model) -> float:
    raw = _raw(data, model)
    return float(np.mean(raw + data.y * np.exp(-raw)) + 0.5 * model.coef_ @ model.coef_)


def _tweedie_objective(data, model) -> float:
    raw = _raw(data, model)
    loss = 2.0 * (np.exp(0.5 * raw) + data.y * np.exp(-0.5 * raw))
    return float(np.mean(loss) + 0.5 * model.coef_ @ model.coef_)


def _huber_objective(data, model) -> float:
    z = np.abs(data.y - _raw(data, model)) / model.scale_
    loss = np.where(z <= 1.35, z * z, 2.7 * z - 1.35**2)
    return float(np.mean(model.scale_ * (1.0 + loss)))


def _pinball_objective(alpha):
    def judge(data, model) -> float:
        residuals = data.y - _raw(data, model)
        return float(np.mean(np.abs(residuals)) / 2.0 + alpha * np.abs(model.coef_).sum())

    return judge


def _median_regression(data):
    QuantileRegressor = find("sklearn.linear_model.QuantileRegressor")
    return lambda: QuantileRegressor(alpha=0.0).fit(data.X, data.y)


def _offset(data, model) -> float:
    return float(model.offset_[0])


def _squared_objective(data, model) -> float:
    return float(np.mean((data.y - _raw(data, model)) ** 2))


def _smooth(id, name, what, data, n, d, judge, tolerance=1e-6, better="less", **more) -> Case:
    return Case(
        id, f"linear_model.{name}", f"{name}{what}, {{n:,}} × {{d}}", data, sizes(n=n, d=d),
        Quality("objective", judge, better, tolerance), **{"peers": SKLEARN, **more},
    )  # fmt: skip


SMOOTH = (
    _smooth("poisson", "PoissonRegressor", "", counts, (300, 50_000, 500_000), 30,
            _poisson_objective, dtypes=BOTH,
            variants=({"solver": "newton-cholesky", "fit_intercept": False},)),
    _smooth("gamma", "GammaRegressor", "", amounts, (300, 50_000, 500_000), 30, _gamma_objective),
    _smooth("tweedie", "TweedieRegressor", " 1.5", amounts, (300, 20_000, 200_000), 30,
            _tweedie_objective, params={"power": 1.5},
            variants=({"power": 1.5}, {"power": 3.0, "tol": 1e-3})),
    _smooth("huber", "HuberRegressor", ", 5 % outliers", plane_with_outliers,
            (300, 10_000, 100_000), 50, _huber_objective, dtypes=BOTH),
    _smooth("quantile", "QuantileRegressor", "", noisy_plane, (200, 1_000, 10_000), 20,
            _pinball_objective(0.01), 1e-9, params={"alpha": 0.01},
            variants=({"alpha": 0.01, "quantile": 0.8},)),
    _smooth("least-absolute", "LeastAbsoluteDeviations", "", noisy_plane,
            (200, 1_000, 10_000), 20, _pinball_objective(0.0), 1e-9,
            peers={"sklearn": _median_regression}),
    _smooth("bayesian-ridge", "BayesianRidge", "", noisy_plane, (300, 20_000, 200_000), 50,
            _squared_objective, variants=({"compute_score": True},)),
    _smooth("ard", "ARDRegression", "", noisy_plane, (300, 5_000, 20_000), 50,
            _squared_objective, variants=({"compute_score": True},)),
    Case(
        "sgd-regressor", "linear_model.SGDRegressor", "SGDRegressor, 5 epochs, {n:,} × {d}",
        noisy_plane, sizes(n=(300, 50_000, 500_000), d=50),
        Quality("test R²", r2, "more", 1e-6),
        {"max_iter": 5, "tol": None, "random_state": 0}, peers=SKLEARN, dtypes=BOTH,
        variants=(
            {"penalty": "elasticnet", "average": True},
            {"loss": "huber", "early_stopping": True, "learning_rate": "adaptive"},
        ),
        settings={"eta0": 1e-4, "max_iter": 3, "tol": None},  # the few rows are not scaled
    ),
    Case(
        "sgd-classifier", "linear_model.SGDClassifier", "SGDClassifier, 5 epochs, {n:,} × {d}",
        two_sides, sizes(n=(300, 50_000, 500_000), d=50),
        Quality("accuracy", accuracy, "more", 1e-6),
        {"max_iter": 5, "tol": None, "random_state": 0}, peers=SKLEARN, dtypes=BOTH,
        variants=(
            {"loss": "log_loss", "penalty": "elasticnet", "average": True, "alpha": 0.1},
            {"loss": "modified_huber", "class_weight": "balanced", "learning_rate": "adaptive",
             "eta0": 1e-3},
        ),
        settings={"max_iter": 3, "tol": None},
    ),
    Case(
        "perceptron", "linear_model.Perceptron", "Perceptron, {n:,} × {d}",
        two_sides_apart, sizes(n=(300, 20_000, 200_000), d=20),
        Quality("accuracy", accuracy, "more", 1e-6), peers=SKLEARN,
        variants=({"batch": True, "max_iter": 20},), settings={"max_iter": 3, "tol": None},
    ),
    Case(
        "passive-aggressive", "linear_model.PassiveAggressiveClassifier",
        "PassiveAggressiveClassifier, {n:,} × {d}",
        two_sides, sizes(n=(300, 20_000, 200_000), d=20),
        Quality("accuracy", accuracy, "more", 1e-6), {"random_state": 0, "max_iter": 10,
                                                      "tol": None},
        peers={"sklearn": {}},
        variants=({"loss": "squared_hinge"},), settings={"max_iter": 3, "tol": None},
    ),
    Case(
        "passive-aggressive-regressor", "linear_model.PassiveAggressiveRegressor",
        "PassiveAggressiveRegressor, {n:,} × {d}",
        noisy_plane, sizes(n=(300, 20_000, 200_000), d=20),
        Quality("test R²", r2, "more", 1e-6),
        {"random_state": 0, "max_iter": 10, "tol": None, "C": 1e-3}, peers={"sklearn": {}},
        settings={"max_iter": 3, "tol": None, "C": 1e-4},
    ),
    Case(
        "sgd-one-class", "linear_model.SGDOneClassSVM", "SGDOneClassSVM, {n:,} × {d}",
        noisy_plane, sizes(n=(300, 20_000, 200_000), d=20),
        Quality("offset", _offset, "same", 1e-6),
        {"random_state": 0, "max_iter": 10, "tol": None, "nu": 0.1}, peers=SKLEARN,
        variants=({"average": True},), settings={"max_iter": 3, "tol": None},
    ),
)  # fmt: skip


def smooth_branches():
    from scipy.sparse import csr_array

    from fastml import linear_model
    from fastml._cases._data import few_rows

    def sparse_and_wide():
        for dtype in (np.float64, np.float32):
            X, y = few_rows(dtype)
            for rows in (csr_array(X), np.asfortranarray(X)):
                linear_model.PoissonRegressor().fit(rows, y)
                linear_model.SGDRegressor(max_iter=2, tol=None).fit(rows, y)
                linear_model.SGDClassifier(max_iter=2, tol=None).fit(rows, y > np.median(y))

    yield "sparse rows and columns", sparse_and_wide
