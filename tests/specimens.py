"""Every public class and function of fastml, found by a walk, with data and arguments to try it.

A new estimator is found by itself. It needs an entry here only if its defaults make no sense on
`rows` (150 x 4), and a function only if it has a required argument that `ARGUMENTS` does not know.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from dataclasses import is_dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from upstream.plugin import public_modules

# ---------------------------------------------------------------------------- what there is


def public_objects() -> dict[str, object]:
    """``cluster.KMeans`` → class, for every name in the ``__all__`` of a public submodule.

    An object exported twice (``metrics.x``, ``metrics.pairwise.x``) is listed under both paths.
    """
    found = {}
    for module in public_modules("fastml"):
        if below := module.__name__.partition(".")[2]:
            for name in getattr(module, "__all__", ()):
                value = getattr(module, name)
                if inspect.isclass(value) or inspect.isroutine(value):
                    found[f"{below}.{name}"] = value
    return found


def _once(kind) -> dict[str, object]:
    """Objects of one kind, each under its shortest path only."""
    kept, seen = {}, set()
    for path, value in sorted(public_objects().items(), key=lambda item: len(item[0])):
        if kind(value) and id(value) not in seen:
            seen.add(id(value))
            kept[path] = value
    return dict(sorted(kept.items()))


def estimators() -> dict[str, type]:
    return _once(lambda value: inspect.isclass(value) and issubclass(value, BaseEstimator))


def is_record(value) -> bool:
    """A tuple or dataclass that a function returns: users read it, they do not make it."""
    return inspect.isclass(value) and (issubclass(value, tuple) or is_dataclass(value))


def other_classes() -> dict[str, type]:
    """Classes such as trees, which are neither estimators nor records."""
    return _once(
        lambda value: (
            inspect.isclass(value) and not issubclass(value, BaseEstimator) and not is_record(value)
        )
    )


def functions() -> dict[str, object]:
    return _once(inspect.isroutine)


def counterpart(path: str):
    """scikit-learn's object of the same path, or None."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(f"sklearn.{module}"), name, None)
    except ImportError:
        return None


# ---------------------------------------------------------------------------- estimators

SETTINGS = {"n_clusters": 3, "random_state": 0, "radius": 3.0}
"""Set wherever an estimator has the parameter."""

VARIANTS: dict[str, list[dict]] = {
    "KMeans": [{"algorithm": "elkan"}, {"init": "random", "n_init": 2}],
    "MiniBatchKMeans": [{"batch_size": 32}],
    "AgglomerativeClustering": [
        {"compute_distances": True},
        *({"linkage": name} for name in ("complete", "average", "single")),
    ],
    "HistGradientBoostingClassifier": [
        {"max_iter": 10, "early_stopping": True, "max_features": 0.5, "subsample": 0.7},
        {"max_iter": 10, "max_leaf_nodes": None},
    ],
    "HistGradientBoostingRegressor": [
        {"max_iter": 10, "loss": "absolute_error"},
        {"max_iter": 10, "interaction_cst": "pairwise"},
        {"max_iter": 10, "loss": "quantile", "quantiles": [0.1, 0.9]},
    ],
    "GradientBoostingClassifier": [
        {"n_estimators": 10, "subsample": 0.7, "max_features": 2},
        {"n_estimators": 10, "max_leaf_nodes": 5, "n_iter_no_change": 3},
    ],
    "GradientBoostingRegressor": [
        {"n_estimators": 10, "loss": "huber", "subsample": 0.7},
        {"n_estimators": 10, "loss": "quantile", "ccp_alpha": 0.001, "init": "zero"},
    ],
    "BisectingKMeans": [{"bisecting_strategy": "largest_cluster"}],
    "GaussianMixture": [
        {"n_components": 3},
        *(
            {"n_components": 3, "covariance_type": shape}
            for shape in ("tied", "diag", "spherical", "tied_spherical")
        ),
    ],
    **{
        name: [
            {"n_estimators": 40, "bootstrap": True, "oob_score": True, "max_depth": 3},
            {"criterion": "entropy", "max_leaf_nodes": 5, "class_weight": "balanced"},
        ]
        for name in ("RandomForestClassifier", "ExtraTreesClassifier")
    },
    **{
        name: [
            {"n_estimators": 40, "bootstrap": True, "oob_score": True, "max_depth": 2},
            {"criterion": "absolute_error", "max_features": 2, "max_depth": 4},
            {"min_samples_leaf": 5},
        ]
        for name in ("RandomForestRegressor", "ExtraTreesRegressor")
    },
    "AdaBoostClassifier": [{"n_estimators": 10, "learning_rate": 0.5}],
    "AdaBoostRegressor": [{"n_estimators": 10, "loss": "exponential"}],
    "IsolationForest": [{"contamination": 0.1, "max_features": 0.5, "bootstrap": True}],
    "DecisionTreeClassifier": [
        {"criterion": "entropy", "max_leaf_nodes": 5},
        {"criterion": "error", "max_depth": 3},
        {"splitter": "random", "max_features": 2},
    ],
    "DecisionTreeRegressor": [
        {"criterion": "absolute_error", "ccp_alpha": 0.01},
        {"max_leaf_nodes": 5},
    ],
    "KernelDensity": [
        {"algorithm": "ball_tree", "rtol": 1e-3},
        {"kernel": "epanechnikov", "algorithm": "kd_tree"},
    ],
    "KNeighborsClassifier": [{"weights": "distance"}, {"weights": "gaussian"}],
    "KNeighborsRegressor": [{"weights": "distance"}, {"weights": "linear"}],
    "KernelLogisticRegression": [{"kernel": "laplacian", "C": 10.0, "class_weight": "balanced"}],
    "KernelPerceptron": [{"average": True, "max_iter": 3}],
    "KernelRidge": [
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "rbf", "gamma": 0.1, "alphas": [0.1, 1.0]},
        {"kernel": "rbf", "gamma": 0.1, "alphas": [0.1, 1.0], "select_by": "gcv"},
    ],
    "LinearSVC": [
        {"dual": True, "C": 1e-6},
        {"dual": True, "C": 1e-7, "loss": "hinge"},
        {"penalty": "l1", "C": 1e-3},
    ],
    "LinearSVR": [{"loss": "squared_epsilon_insensitive", "dual": True}],
    "LocalOutlierFactor": [{"novelty": True}],
    "SVC": [
        {"kernel": "poly", "decision_function_shape": "ovo"},
        {"kernel": "laplacian", "break_ties": True},
    ],
    "NuSVC": [{"kernel": "cosine", "nu": 0.1}],
    "SVR": [{"kernel": "cosine", "C": 10.0}],
    "NuSVR": [{"kernel": "laplacian"}],
    "OneClassSVM": [{"nu": 0.1}],
}
"""Further parameter sets, of which every path through the kernels should be one."""

TREES = ("brute", "kd_tree", "ball_tree")


def settings(cls: type, names=SETTINGS) -> dict:
    return {name: SETTINGS[name] for name in names if name in inspect.signature(cls).parameters}


def variants(cls: type) -> list[dict]:
    """Parameter sets to try the class with; the first is the plain one."""
    extra = VARIANTS.get(cls.__name__, [])
    parameters = inspect.signature(cls).parameters
    if "algorithm" in parameters and "leaf_size" in parameters and "kernel" not in parameters:
        extra = [*extra, *({"algorithm": name} for name in TREES)]
    return [{}, *extra]


FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "IsolationForest")
FORESTS += ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomTreesEmbedding")
FORESTS += ("GradientBoostingClassifier", "GradientBoostingRegressor")
OWN_SETTINGS: dict[str, dict] = {
    **{name: {"n_estimators": 5} for name in FORESTS},
    "LinearSVR": {"C": 1e-6},  # converges on these rows within the default max_iter
}
"""Set for one class, except in scikit-learn's checks."""


def make(cls: type, **parameters):
    return cls(**{**settings(cls), **OWN_SETTINGS.get(cls.__name__, {}), **parameters})


def specimens() -> list[tuple[str, type, dict]]:
    """(readable id, class, parameters) for every estimator and variant."""
    found = []
    for path, cls in estimators().items():
        for parameters in variants(cls):
            suffix = ",".join(f"{key}={value}" for key, value in parameters.items())
            found.append((f"{path}({suffix})", cls, parameters))
    return found


# ---------------------------------------------------------------------------- data


def rows(n_rows: int = 150, n_features: int = 4, seed: int = 0, dtype=np.float64):
    """Three blobs of non-negative numbers that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(4.0 + 4.0 * (np.arange(n_rows) % 3)[:, None], 1.0, (n_rows, n_features))
    return np.abs(np.round(X * 1024) / 1024).astype(dtype)


def target(estimator, n_rows: int = 150):
    if is_regressor(estimator):
        return np.sin(np.arange(n_rows))
    return np.arange(n_rows) % 3 if is_classifier(estimator) else None


# ---------------------------------------------------------------------------- results

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "kneighbors",
    "radius_neighbors",
    "score",
)


def fitted(estimator, X, n_rows=None):
    return estimator.fit(X, target(estimator, n_rows or len(X)))


def attributes(estimator) -> dict:
    """Public fitted attributes as plain values."""
    names = [n for n in dir(type(estimator)) if isinstance(getattr(type(estimator), n), property)]
    names = {*vars(estimator), *names}
    names = [n for n in names if n.endswith("_") and not n.startswith("_")]
    return {n: plain(getattr(estimator, n)) for n in sorted(names) if hasattr(estimator, n)}


def outputs(estimator, X, n_rows=None) -> dict:
    """What each method of the fitted estimator returns for ``X``."""
    found = {}
    for name in METHODS:
        if not hasattr(estimator, name):
            continue
        y = target(estimator, n_rows or len(X)) if name == "score" else None
        if name == "score" and is_outlier_detector(estimator):
            continue
        found[name] = plain(getattr(estimator, name)(X, *([y] if y is not None else [])))
    return found


def everything(estimator, X) -> dict:
    """Attributes and outputs after a fit on ``X``."""
    fitted(estimator, X)
    return {**attributes(estimator), **outputs(estimator, X)}


def plain(value):
    """Arrays, numbers, strings and containers of them; other objects by their type's name."""
    if sp.issparse(value):
        value = value.tocsr()
        return {"data": value.data, "indices": value.indices, "indptr": value.indptr}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple) or getattr(value, "dtype", None) is np.dtype(object):
        return [plain(entry) for entry in value]
    if inspect.isgenerator(value):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic | int | float | str) or value is None:
        return value
    if inspect.isclass(value) or callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return type(value).__name__


# ---------------------------------------------------------------------------- functions


@functools.cache
def machine():
    """A fitted classifier for functions that take one."""
    from fastml.svm import SVC

    return SVC().fit(rows(60), np.arange(60) % 3)


def arguments(dtype=np.float64) -> dict:
    """A value for every required argument of a public function, by its name."""
    X, Y = rows(60, dtype=dtype), rows(60, seed=1, dtype=dtype)
    labels = np.arange(60) % 3
    graph = sp.csr_array(np.where(np.abs(X @ X.T) > 100, X @ X.T, 0.0))
    return {
        "X": X,
        "Y": Y,
        "labels": labels,
        "labels_true": labels,
        "labels_pred": (np.arange(60) // 2) % 3,
        "n_clusters": 3,
        "n_neighbors": 4,
        "radius": 3.0,
        "graph": graph,
        "random_state": 0,
        "y": labels,
        "x": X[:, 0].copy(),
        "contingency": np.array([[9, 1, 0], [2, 8, 1], [0, 3, 6]]),
        "n_samples": 30,
        "K": X @ Y.T,
        "own_x": (X * X).sum(axis=1),
        "own_y": (Y * Y).sum(axis=1),
        "k_range": [2, 3, 4],
        "costs": {1: 9.0, 2: 4.0, 3: 1.0, 4: 0.5},
        "estimator": machine(),
    }


def decision_tree():
    from fastml.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


FUNCTION_SETTINGS: dict[str, dict] = {
    "prune_by_cv": {"estimator": decision_tree()},
    "density_contours": {"X": rows(60, 2)},
    "haversine_distances": {"X": rows(60, 2) / 8, "Y": rows(60, 2, seed=1) / 8},
    "linkage": {"y": rows(45, 1)[:, 0]},  # distances of ten points, condensed
    "sort_graph_by_row_values": {"warn_when_not_sorted": False},
}
"""What single functions need instead."""


def call_arguments(path: str, function, dtype=np.float64) -> dict:
    """Keyword arguments with which to try the function."""
    known = arguments(dtype)
    needed = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        required = parameter.default is parameter.empty
        if required and name not in known:
            raise LookupError(f"tests/specimens.py: no value for argument {name!r} of {path}")
        if required or name in ("Y", "random_state"):
            needed[name] = known[name]
    special = FUNCTION_SETTINGS.get(path.rpartition(".")[2], {})
    arrays = {k: v.astype(dtype) if isinstance(v, np.ndarray) else v for k, v in special.items()}
    return {**needed, **arrays}


# ---------------------------------------------------------------------------- kernels


def compiled_signatures() -> dict[str, set[str]]:
    """Every registered kernel → the signatures that it has in this process."""
    from fastml._jit import REGISTRY, ParallelKernel

    found = {}
    for key, kernel in REGISTRY.items():
        twins = {"": kernel}
        if isinstance(kernel, ParallelKernel):
            twins = {" (parallel)": kernel.parallel, " (serial)": kernel.serial}
        for suffix, twin in twins.items():
            views = [twin, getattr(twin, "inner", None)]  # Python's and other kernels'
            found[key + suffix] = {str(s) for view in views if view for s in view.signatures}
    return found
