"""Gradient boosting beside the boosting libraries; judged on rows kept aside."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case

RATE = 0.1


def _rows(n: int, d: int, seed: int = 0):
    """Gaussian rows and a signal of sines, products and squares."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * X[:, 4] ** 2 - 0.5
    return X, signal + 0.3 * X[:, 5:].sum(axis=1) / np.sqrt(d), rng


def _parted(X, y, **more) -> SimpleNamespace:
    test = np.arange(len(X)) % 10 == 0
    return SimpleNamespace(X=X[~test], y=y[~test], X_test=X[test], y_test=y[test], **more)


def _binary(n, d, trees):
    X, signal, rng = _rows(n * 10 // 9, d)
    return _parted(X, (signal + rng.logistic(size=len(X)) > 0).astype(int), trees=trees)


def _regression(n, d, trees):
    X, signal, rng = _rows(n * 10 // 9, d)
    return _parted(X, signal + rng.normal(size=len(X)), trees=trees)


def _classes(n, d, trees):
    X, signal, rng = _rows(n * 10 // 9, d)
    noisy = signal + rng.normal(scale=0.5, size=len(X))
    return _parted(X, np.digitize(noisy, np.quantile(noisy, [0.2, 0.4, 0.6, 0.8])), trees=trees)


def _mixed(n, d, trees):
    X, signal, rng = _rows(n * 10 // 9, d)
    X[:, -4:] = rng.integers(0, 50, (len(X), 4))
    signal = signal + np.sin(X[:, -4:]).sum(axis=1)
    X[:, :-4][rng.random((len(X), d - 4)) < 0.2] = np.nan
    y = (signal + rng.logistic(size=len(X)) > 0).astype(int)
    return _parted(X, y, trees=trees, categorical=list(range(d - 4, d)))


def _fastml(data, kind):
    from fastml import ensemble

    cls = getattr(ensemble, f"HistGradientBoosting{kind}")
    return cls(
        max_iter=data.trees,
        learning_rate=RATE,
        early_stopping=False,
        categorical_features=getattr(data, "categorical", None),
    )


def _sklearn(data, kind):
    from sklearn import ensemble

    cls = getattr(ensemble, f"HistGradientBoosting{kind}")
    return cls(max_iter=data.trees, learning_rate=RATE, early_stopping=False)


def _lightgbm(data, kind):
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=data.trees, num_leaves=31, learning_rate=RATE, max_bin=255, verbose=-1
    )


def _xgboost(data, kind):
    import xgboost

    return getattr(xgboost, f"XGB{kind}")(
        n_estimators=data.trees,
        max_leaves=31,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        max_bin=256,
        learning_rate=RATE,
    )


MAKERS = {"fastml": _fastml, "sklearn": _sklearn, "lightgbm": _lightgbm, "xgboost": _xgboost}


def _fit(library, kind):
    def prepare(data):
        model = MAKERS[library](data, kind)
        more = {}
        if library == "lightgbm" and hasattr(data, "categorical"):
            more = {"categorical_feature": data.categorical}
        return lambda: model.fit(data.X, data.y, **more)

    return prepare


def _fit_exact(library):
    """Friedman's machine: exact trees of depth 3."""

    def prepare(data):
        from importlib import import_module

        cls = import_module(f"{library}.ensemble").GradientBoostingClassifier
        model = cls(n_estimators=data.trees, learning_rate=RATE, random_state=0)
        return lambda: model.fit(data.X, data.y)

    return prepare


def _predict(library, one_row=False):
    def prepare(data):
        model = MAKERS[library](data, "Classifier").fit(data.X, data.y)
        rows = data.X[:1] if one_row else data.X

        def predict():
            model.predict_proba(rows)
            return model

        return predict

    return prepare


def _log_loss(data, model) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(data.y_test, model.predict_proba(data.X_test)))


def _error(data, model) -> float:
    return float(np.sqrt(np.mean((model.predict(data.X_test) - data.y_test) ** 2)))


def _case(work, full, quick, build, kind, peers):
    return Case(
        work=work + ", {n:,} × {d}, {trees} trees",
        full=full,
        quick=quick,
        build=build,
        libraries={name: _fit(name, kind) for name in ("fastml", *peers)},
        quality=_error if kind == "Regressor" else _log_loss,
        yardstick="root mean square error" if kind == "Regressor" else "mean log-loss",
    )


BOTH = ("lightgbm", "xgboost")
FIRST = {"n": 500_000, "d": 28, "trees": 100}
QUICK = {"n": 20_000, "d": 28, "trees": 20}
CASES = (
    _case("boosting, two classes", FIRST, QUICK, _binary, "Classifier", BOTH),
    _case(
        "boosting, regression",
        {"n": 200_000, "d": 50, "trees": 200},
        {"n": 20_000, "d": 50, "trees": 20},
        _regression,
        "Regressor",
        BOTH,
    ),
    _case(
        "boosting, five classes",
        {"n": 100_000, "d": 30, "trees": 50},
        {"n": 10_000, "d": 30, "trees": 10},
        _classes,
        "Classifier",
        BOTH,
    ),
    _case(
        "boosting, missing values and categories",
        {"n": 200_000, "d": 20, "trees": 100},
        {"n": 20_000, "d": 20, "trees": 20},
        _mixed,
        "Classifier",
        ("lightgbm",),
    ),
    _case(
        "boosting, small data",
        {"n": 1_000, "d": 10, "trees": 100},
        {"n": 1_000, "d": 10, "trees": 100},
        _binary,
        "Classifier",
        ("sklearn",),
    ),
    Case(
        work="boosting, exact trees of depth 3, {n:,} × {d}, {trees} trees",
        full={"n": 50_000, "d": 20, "trees": 100},
        quick={"n": 5_000, "d": 20, "trees": 20},
        build=_binary,
        libraries={name: _fit_exact(name) for name in ("fastml", "sklearn")},
        quality=_log_loss,
        yardstick="mean log-loss",
    ),
    *(
        Case(
            work="boosting, predict_proba of " + what + ", {n:,} × {d}, {trees} trees",
            full=FIRST,
            quick=QUICK,
            build=_binary,
            libraries={name: _predict(name, one_row) for name in ("fastml", peer)},
            quality=_log_loss,
            yardstick="mean log-loss",
        )
        for what, one_row, peer in (("all rows", False, "xgboost"), ("one row", True, "lightgbm"))
    ),
)
