"""Boosted trees and forests beside the boosting libraries; judged on rows kept aside."""

from __future__ import annotations

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import (
    ON_ALL_CORES,
    SINGLE,
    SINGLE_FIRST,
    SKLEARN,
    Case,
    Data,
    Peers,
    Quality,
    find,
    sizes,
)
from fastml._cases._data import few_rows, with_outliers, with_test
from fastml._cases._judges import ACCURACY, LOG_LOSS, R2, rmse
from fastml._cases._panels import regions

# ---------------------------------------------------------------------------- histogram boosting

RATE = 0.1


def mixed_signal(n, d, kind):
    """Sines, products and squares of normal features as two or five classes or values; a ninth more
    rows to test. Kind "mixed" has holes, and categories in the last four columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n * 10 // 9, d)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * X[:, 4] ** 2 - 0.5
    signal = signal + 0.3 * X[:, 5:].sum(axis=1) / np.sqrt(d)
    more = {}
    if kind == "mixed":
        X[:, -4:] = rng.integers(0, 50, (len(X), 4))
        signal = signal + np.sin(X[:, -4:]).sum(axis=1)
        X[:, :-4][rng.random((len(X), d - 4)) < 0.2] = np.nan
        more = {"categorical": list(range(d - 4, d))}
    if kind == "values":
        y = signal + rng.normal(size=len(X))
    elif kind == "five classes":
        noisy = signal + rng.normal(scale=0.5, size=len(X))
        y = np.digitize(noisy, np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]))
    else:
        y = (signal + rng.logistic(size=len(X)) > 0).astype(int)
    test = np.arange(len(X)) % 10 == 0
    return SimpleNamespace(X=X[~test], y=y[~test], Q=X[test], y_new=y[test], **more)


def _boosted(library, kind, rows=None):
    """The other library's fit or, after it, its predict_proba."""
    lightgbm = library == "lightgbm"
    params = {"num_leaves": 31, "max_bin": 255, "verbose": -1}
    if not lightgbm:
        params = {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "max_bin": 256}
        params["tree_method"] = "hist"

    def prepare(data):
        cls = find(f"lightgbm.LGBM{kind}" if lightgbm else f"xgboost.XGB{kind}")
        model = cls(n_estimators=data.trees, learning_rate=RATE, **params)
        if rows is not None:
            return rows(lambda: model, data)
        categories = {"categorical_feature": getattr(data, "categorical", "auto")}
        return lambda: model.fit(data.X, data.y, **(categories if lightgbm else {}))

    return prepare


def proba_of_all_rows(make, data, rows=None):
    model, rows = make().fit(data.X, data.y), data.X if rows is None else rows

    def predict():
        model.predict_proba(rows)
        return model

    return predict


def proba_of_one_row(make, data):
    return proba_of_all_rows(make, data, data.Q[:1])


RMSE = Quality("root mean square error", rmse, "less", 0.02, tiny=0.1)
BOTH_BOOSTERS = ("lightgbm", "xgboost")


def _hist(id, what, kind, n, d, trees, peers=BOTH_BOOSTERS, rows=None, **more):
    name = "Regressor" if kind == "values" else "Classifier"
    params = {"max_iter": Data("trees"), "learning_rate": RATE, "early_stopping": False}
    if kind == "mixed":
        params["categorical_features"] = Data("categorical")
    others = {library: _boosted(library, name, rows) for library in peers}
    return Case(
        id, f"ensemble.HistGradientBoosting{name}",
        f"boosting, {what}, {{n:,}} × {{d}}, {{trees}} trees",
        partial(mixed_signal, kind=kind), sizes(n=n, d=d, trees=trees),
        RMSE if kind == "values" else LOG_LOSS, params, rows or "fit",
        peers={**others, "sklearn": {}}, dtypes=SINGLE, settings={"max_iter": 20}, **more,
    )  # fmt: skip


N, TREES = (900, 20_000, 500_000), (10, 20, 100)
HISTOGRAMS = (
    _hist("boosting", "two classes", "two classes", N, 28, TREES, headline=True,
          also=("predict",), variants=(
              {"max_iter": 10, "early_stopping": True, "max_features": 0.5, "subsample": 0.7},
              {"max_iter": 10, "max_leaf_nodes": None},
          )),
    _hist("boosting-wide", "two classes", "two classes", (900, 20_000, 300_000), 40, TREES),
    _hist("boosting-regression", "regression", "values", (900, 20_000, 200_000), 50,
          (10, 20, 200), variants=(
              {"max_iter": 10, "loss": "absolute_error"},
              {"max_iter": 10, "interaction_cst": "pairwise"},
              {"max_iter": 10, "loss": "quantile", "quantiles": [0.1, 0.9]},
          )),
    _hist("boosting-five-classes", "five classes", "five classes", (900, 10_000, 100_000), 30,
          (5, 10, 50)),
    _hist("boosting-mixed", "missing values and categories", "mixed", (900, 20_000, 200_000), 20,
          TREES, ("lightgbm",)),
    _hist("boosting-small", "small data", "two classes", 1_000, 10, (20, 100, 100), ()),
    _hist("boosting-predict", "predict_proba of all rows", "two classes", N, 28, TREES,
          ("xgboost",), proba_of_all_rows),
    _hist("boosting-one-row", "predict_proba of one row", "two classes", N, 28, TREES,
          ("lightgbm",), proba_of_one_row),
)  # fmt: skip

# ---------------------------------------------------------------------------- exact boosting

FEW = {"n_estimators": 5}


def _exact(id, what="", kind="two classes", variants=(), **params):
    name = "Regressor" if kind == "values" else "Classifier"
    return Case(
        id, f"ensemble.GradientBoosting{name}",
        f"boosting, exact trees of depth 3{what}, {{n:,}} × {{d}}, {{trees}} trees",
        partial(mixed_signal, kind=kind), sizes(n=(900, 5_000, 50_000), d=20, trees=TREES),
        RMSE if kind == "values" else LOG_LOSS,
        {"n_estimators": Data("trees"), "learning_rate": RATE, "random_state": 0, **params},
        also=("predict",), peers=SKLEARN, dtypes=SINGLE, settings=FEW, variants=variants,
    )  # fmt: skip


EXACT = (
    _exact("boosting-exact", variants=(
        {"n_estimators": 10, "subsample": 0.7, "max_features": 2},
        {"n_estimators": 10, "max_leaf_nodes": 5, "n_iter_no_change": 3},
        {"n_estimators": 10, "line_search": "tree"},
    )),
    _exact("boosting-exact-exponential", ", exponential loss", loss="exponential"),
    _exact("boosting-exact-half", ", half the rows each", subsample=0.5),
    _exact("boosting-exact-regression", ", regression", "values", variants=(
        {"n_estimators": 10, "loss": "huber", "subsample": 0.7},
        {"n_estimators": 10, "loss": "quantile", "ccp_alpha": 0.001, "init": "zero"},
    )),
)  # fmt: skip

# ---------------------------------------------------------------------------- forests


def hard_classes(n, d):
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2 * n, d, n_informative=d // 2, n_redundant=d // 4, flip_y=0.05, random_state=0
    )
    return with_test(X.astype(np.float32), y, n)


def _found(data, scores) -> float:
    """Share of the outliers among the lowest scores."""
    k = len(data.X) // 100
    return float(np.mean(np.argsort(scores)[:k] < k))


def stored(make, data):
    model = make().fit(data.X, data.y)
    return lambda: pickle.dumps(model)


def _megabytes(data, pickled) -> float:
    return len(pickled) / 1e6


WITH_INTEL: Peers = {"sklearnex": {"n_jobs": -1}, **ON_ALL_CORES}


def _forest(id, name, what="", peers=ON_ALL_CORES, trees=(10, 30, 100), **more):
    chosen = {"quality": R2 if name.endswith("Regressor") else ACCURACY, "dtypes": SINGLE, **more}
    return Case(
        id, f"ensemble.{name}", f"{name}{what}, {{trees}} trees, {{n:,}} × {{d}}",
        hard_classes, sizes(n=(500, 5_000, 50_000), d=20, trees=trees),
        params={"n_estimators": Data("trees"), "random_state": 0}, peers=peers, **chosen,
    )  # fmt: skip


OF_CLASSES = (
    {"n_estimators": 40, "bootstrap": True, "oob_score": True, "max_depth": 3},
    {"criterion": "entropy", "max_leaf_nodes": 5, "class_weight": "balanced"},
    {"bootstrap": True, "replace": False, "max_samples": 0.5, "features_per_tree": 2},
)
OF_VALUES = (
    {"n_estimators": 40, "bootstrap": True, "oob_score": True, "max_depth": 2},
    {"criterion": "absolute_error", "max_features": 2, "max_depth": 4},
    {"min_samples_leaf": 5},
)
SMALLER = Quality("MB", _megabytes, "less", -0.7)
FORESTS = (
    _forest("forest", "RandomForestClassifier", peers=WITH_INTEL, settings=FEW,
            variants=OF_CLASSES, draw=regions, headline=True),
    _forest("forest-predict", "RandomForestClassifier", ".predict_proba", WITH_INTEL,
            step="predict_proba"),
    _forest("forest-one-row", "RandomForestClassifier", ", one row", step=proba_of_one_row),
    _forest("forest-pickle", "RandomForestClassifier", ", pickle", step=stored, quality=SMALLER),
    _forest("forest-regressor", "RandomForestRegressor", settings=FEW, variants=OF_VALUES,
            also=("predict",)),
    _forest("extra-trees", "ExtraTreesClassifier", settings=FEW, variants=OF_CLASSES,
            also=("predict",)),
    _forest("extra-trees-regressor", "ExtraTreesRegressor", settings=FEW, variants=OF_VALUES),
    _forest("adaboost", "AdaBoostClassifier", " of stumps", {"sklearn": {}}, (20, 50, 200),
            also=("predict",), variants=({"n_estimators": 10, "learning_rate": 0.5},)),
    _forest("adaboost-regressor", "AdaBoostRegressor", "", {"sklearn": {}}, (10, 10, 50),
            also=("predict",), variants=({"n_estimators": 10, "loss": "exponential"},)),
    Case(
        "isolation-forest", "ensemble.IsolationForest",
        "IsolationForest, fit + score, {n:,} × {d}",
        partial(with_outliers, factor=4.0), sizes(n=(1_000, 20_000, 200_000), d=10),
        Quality("outliers found", _found, "more", 0.02, tiny=0.2), {"random_state": 0},
        "fit+score_samples", peers=ON_ALL_CORES, dtypes=SINGLE_FIRST, settings=FEW,
        variants=({"contamination": 0.1, "max_features": 0.5, "bootstrap": True},),
    ),
    Case(
        "trees-embedding", "ensemble.RandomTreesEmbedding",
        "RandomTreesEmbedding, {trees} trees, {n:,} × {d}",
        with_outliers, sizes(n=(500, 5_000, 50_000), d=10, trees=(10, 30, 100)),
        Quality("leaves used", lambda data, codes: float(codes.shape[1]), tolerance=0.2),
        {"n_estimators": Data("trees"), "random_state": 0},
        "fit_transform", peers=ON_ALL_CORES, dtypes=SINGLE, settings=FEW,
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------- members of any kind

OF_PATCHES = (
    {"n_estimators": 15, "max_features": 0.5, "max_samples": 0.2, "oob_score": True},
    {"bootstrap": False, "max_samples": 0.5, "bootstrap_features": True},
)


def _two_members(kind):
    """A small forest and short boosting."""
    from fastml import ensemble

    forest = getattr(ensemble, f"RandomForest{kind}")(5, max_depth=3, random_state=0)
    boosting = getattr(ensemble, f"HistGradientBoosting{kind}")(max_iter=5, random_state=0)
    return [("forest", forest), ("boosting", boosting)]


def _blending(id, kind, quality, **variant):
    return Case(
        id, f"ensemble.Blending{kind}", f"Blending{kind} of a forest and boosting, {{n:,}} × {{d}}",
        hard_classes, sizes(n=(500, 5_000, 50_000), d=20), quality, {"random_state": 0},
        peers={"sklearn": partial(_stacked, kind=kind)}, dtypes=SINGLE,
        settings={"estimators": partial(_two_members, kind)},
        variants=({"refit": True, **variant},),
    )  # fmt: skip


def _stacked(data, kind):
    """scikit-learn's stacking of its members of those kinds: six fits where blending has one."""
    of = find(f"sklearn.ensemble.Stacking{kind}")
    members = [
        ("forest", find(f"sklearn.ensemble.RandomForest{kind}")(random_state=0, n_jobs=-1)),
        ("boosting", find(f"sklearn.ensemble.HistGradientBoosting{kind}")(random_state=0)),
    ]
    return lambda: of(members).fit(data.X, data.y)


MEMBERS = (
    _forest("bagging", "BaggingClassifier", settings=FEW, variants=OF_PATCHES, also=("predict",)),
    _forest("bagging-regressor", "BaggingRegressor", settings=FEW, variants=OF_PATCHES),
    _blending("blending", "Classifier", ACCURACY),
    _blending("blending-regressor", "Regressor", R2, passthrough=True),
)

CASES = (*HISTOGRAMS, *EXACT, *FORESTS, *MEMBERS)


def odd_branches():
    from fastml import ensemble, tree
    from fastml.kernels.losses.pointwise import sample_loss, sample_loss_and_value

    rows, labels = few_rows(np.float32, 600)
    X, y = rows[:60], labels[:60]
    few = {"max_iter": 2, "min_samples_leaf": 2, "max_leaf_nodes": 4, "random_state": 0}

    def boosting():
        codes = np.round(np.abs(few_rows(np.float64)[0][:, :1]))
        categories = {"categorical_features": [0], "early_stopping": False, **few}
        ensemble.HistGradientBoostingClassifier(**categories).fit(codes, y > 0)
        for loss in (sample_loss, sample_loss_and_value):
            model = ensemble.HistGradientBoostingRegressor(loss=loss, early_stopping=True, **few)
            model.fit(X.astype(np.float64), X[:, 0])
        for dtype in (np.float32, np.float64):
            model = ensemble.HistGradientBoostingClassifier(early_stopping=True, **few)
            model.fit(X.astype(dtype), y).predict_proba(X)

    def exact_boosting():
        for target, weights in ((y, None), (y == 1, y + 1.0)):
            for share in (1.0, 0.5):
                model = ensemble.GradientBoostingClassifier(
                    n_estimators=2, subsample=share, min_impurity_decrease=1e-9
                )
                model.fit(X, target, sample_weight=weights).predict_proba(X)
        for more in ({"loss": "huber"}, {"max_leaf_nodes": 4}, {"max_features": 1}):
            ensemble.GradientBoostingRegressor(n_estimators=2, **more).fit(X, y)

    def forests(X, y):
        for target in (y, y == 1):
            model = ensemble.RandomForestClassifier(8, oob_score=True, ccp_alpha=0.01)
            model.fit(X, target).predict(X[:1])
            ensemble.ExtraTreesClassifier(4).fit(X, target).predict(X)
        for target in (y * 1.0, np.column_stack([y, y])):
            ensemble.RandomForestRegressor(4).fit(X, target)
            ensemble.ExtraTreesRegressor(4).fit(X, target).predict(X)
        # Few rows through large trees go another way than many.
        ensemble.RandomForestRegressor(4).fit(X, X[:, 0]).predict(X[:1])
        ensemble.RandomForestRegressor(4, criterion="absolute_error").fit(X, y).predict(X)
        model = ensemble.RandomForestRegressor(4, max_leaf_nodes=9).fit(X, y)
        model.predict_quantiles(X)

    def adaboost():
        for depth in (1, 2):
            base = tree.DecisionTreeClassifier(max_depth=depth)
            ensemble.AdaBoostClassifier(base, n_estimators=3).fit(X, y).predict(X)

    yield "histogram boosting", boosting
    yield "exact boosting", exact_boosting
    yield "forests on few values", partial(forests, X, y)
    yield "forests on many values", partial(forests, rows, labels)
    yield "AdaBoost", adaboost
