"""Every public class and function of fastml, found by a walk, with data and arguments to try it.

A new estimator is found by itself; the parameters to try it with come from its cases
(``fastml/_cases``). A function needs an entry here only if it has a required argument that
`arguments` does not know.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import json
import warnings
from dataclasses import is_dataclass

import numpy as np
import scipy.sparse as sp
import sklearn.experimental.enable_iterative_imputer  # noqa: F401  (else it is not there)
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector, is_regressor
from sklearn.utils import get_tags
from upstream.plugin import public_modules

from fastml._cases import _case

# ---------------------------------------------------------------------------- what there is

SWITCHES = ("accelerate",)
"""Modules whose functions change the process: tried in folders of their own."""


def public_objects() -> dict[str, object]:
    """``cluster.KMeans`` → class, for every name in the ``__all__`` of a public submodule.

    An object exported twice (``metrics.x``, ``metrics.pairwise.x``) is listed under both paths.
    """
    found = {}
    for module in public_modules("fastml"):
        below = module.__name__.partition(".")[2]
        if below and below not in SWITCHES:
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


def public_objects_once() -> dict[str, object]:
    return _once(lambda value: True)


def estimators() -> dict[str, type]:
    """Those that learn from rows; see `label_transformers` and `kernel_transformers` for others."""
    return _once(lambda value: _is_estimator(value) and _learns_from(value) not in ("y", "K"))


def label_transformers() -> dict[str, type]:
    """Estimators that learn from labels alone."""
    return _once(lambda value: _is_estimator(value) and _learns_from(value) == "y")


def kernel_transformers() -> dict[str, type]:
    """Estimators that learn from a square matrix."""
    return _once(lambda value: _is_estimator(value) and _learns_from(value) == "K")


def _is_estimator(value) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseEstimator)


def _learns_from(cls) -> str | None:
    """Name of the first argument of its ``fit``."""
    names = list(inspect.signature(cls.fit).parameters) if hasattr(cls, "fit") else []
    return names[1] if len(names) > 1 else None


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

VARIANTS = {path.rpartition(".")[2]: found for path, found in _case.variants().items()}
"""Parameter sets of the cases; the first is the plain one."""


def settings(cls: type, names=_case.SETTINGS) -> dict:
    accepted = inspect.signature(cls).parameters
    return {name: _case.SETTINGS[name] for name in names if name in accepted}


def variants(cls: type) -> list[dict]:
    """Parameter sets to try the class with; the first is the plain one."""
    return VARIANTS[cls.__name__]


def make(cls: type, **parameters):
    return _case.trial(cls, **parameters)


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
    if hasattr(estimator, "score_func"):  # may do without, but its default may not
        return np.arange(n_rows) % 3
    if hasattr(estimator, "fit_resample"):
        return np.minimum(np.arange(n_rows) % 3, 1)
    if hasattr(estimator, "get_support") and hasattr(estimator, "estimator"):
        return target(estimator.estimator, n_rows)
    if is_regressor(estimator):
        y = np.sin(np.arange(n_rows))
        tags = get_tags(estimator).target_tags
        y = 1.5 + y if tags.positive_only else y
        return y if tags.single_output else np.c_[y, np.cos(2.0 * y)]
    if is_classifier(estimator) or get_tags(estimator).target_tags.required:
        return np.arange(n_rows) % 3
    return None


# ---------------------------------------------------------------------------- results


def fitted(estimator, X, n_rows=None):
    return estimator.fit(X, target(estimator, n_rows or len(X)))


def attributes(estimator) -> dict:
    """Public fitted attributes as plain values."""
    names = [n for n in dir(type(estimator)) if isinstance(getattr(type(estimator), n), property)]
    names = {*vars(estimator), *names}
    names = [n for n in names if n.endswith("_") and not n.startswith("_")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # attributes that scikit-learn deprecates
        return {n: plain(getattr(estimator, n)) for n in sorted(names) if hasattr(estimator, n)}


def outputs(estimator, X, n_rows=None) -> dict:
    """What each method of the fitted estimator returns for ``X``."""
    found = {}
    for name in _case.METHODS:
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
    if hasattr(value, "to_numpy"):  # a dataframe that stayed one
        return value.to_numpy()
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


@functools.cache
def grown_tree():
    """A fitted tree for functions that take one."""
    return decision_tree().set_params(n_jobs=1).fit(rows(60), np.arange(60) % 3)


def agreement(y_true, y_pred):
    """A metric for functions that take one."""
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred)))


@functools.cache
def search():
    """A search over two small trees, not fitted."""
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(decision_tree(), {"max_depth": [1, 2]}, cv=2)


@functools.cache
def line():
    """A fitted linear model for functions that take one."""
    from sklearn.linear_model import Ridge

    return Ridge().fit(rows(60), np.arange(60) % 3)


@functools.cache
def log_odds():
    """A fitted logistic regression for functions that take one."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(rows(60), np.arange(60) % 3)


def to_one(start):
    from fastml.optimize import gradient_descent

    return gradient_descent(lambda w: float((w - 1.0) @ (w - 1.0)), start)


def arguments(dtype=np.float64) -> dict:
    """A value for every required argument of a public function, by its name."""
    from fastml.inspection import shapley_values
    from fastml.penalties import L1Penalty

    X, Y = rows(60, dtype=dtype), rows(60, seed=1, dtype=dtype)
    labels = np.arange(60) % 3
    graph = sp.csr_array(np.where(np.abs(X @ X.T) > 100, X @ X.T, 0.0))
    return {
        "X": X,
        "Y": Y,
        "table": X,
        "factor": 0,
        "factors": [0, 1],
        "target": labels,
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
        "y_true": (labels > 0).astype(int),
        "y_pred": (X[:, 0] > 6).astype(int),
        "y_score": X[:, 0].copy(),
        "y_proba": X[:, 0] / 32,
        "y_prob": X[:, 0] / 32,
        "pred_decision": X[:, 0] - 6,
        "y1": labels,
        "y2": (np.arange(60) // 2) % 3,
        "beta": 2.0,
        "n_features": 2,
        "rejection": 0.5,
        "metric_func": agreement,
        "scoring": "accuracy",
        "score_func": agreement,
        "log_likelihood": -10.0,
        "n_parameters": 3,
        "costs": {1: 9.0, 2: 4.0, 3: 1.0, 4: 0.5},
        "estimator": machine(),
        "machine": machine(),
        "decision_tree": grown_tree(),
        "metric": "accuracy",
        "n_successes": 9.0,
        "n_trials": 10.0,
        "first": np.linspace(0.5, 0.9, 10) ** 2,
        "second": np.linspace(0.5, 0.8, 10),
        "n_models": 4,
        "n_blocks": 14,
        "features": [0],
        "other_score": X[:, 1].copy(),
        "scores": X[:12],
        "models": [labels, (np.arange(60) // 2) % 3],
        "search": search(),
        "model": line(),
        "p": np.array([0.25, 0.75]),
        "q": np.array([0.5, 0.5]),
        "joint": np.array([[0.5, 0.25], [0.0, 0.25]]),
        "loss": lambda w: float((w - 1.0) @ (w - 1.0)),
        "start": np.array([3.0, -2.0]),
        "point": np.array([3.0, -2.0]),
        "prox": lambda z, eta: z / (1.0 + eta),
        "row_loss": lambda w, rows: float(np.mean((X[rows, 0] / 16 - w[0]) ** 2)),
        "n_rows": 60,
        "matrix": np.array([[2.0, 0.8], [0.8, 0.6]]),
        "z": X[:, 0] - 6.0,
        "amount": 1.0,
        "minimise": to_one,
        "draw": lambda random: random.normal(size=2),
        "X_embedded": rows(60, 2, seed=3, dtype=dtype),
        "dissimilarities": np.abs(X[:, :1] - X[:, 0]),
        "n_components": 2,
        "adjacency": np.exp(-0.1 * np.abs(X[:, :1] - X[:, 0])),
        "Xy": X.T @ labels,
        "Gram": X.T @ X,
        "alpha": 1.0,
        "explanation": shapley_values(line(), X),
        "penalties": [L1Penalty(0.1), L1Penalty(0.01)],
    }


def decision_tree():
    from fastml.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def regression_tree():
    from fastml.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(random_state=0).fit(rows(60), np.sin(np.arange(60)))


POSITIVE_TARGETS = {"y_true": rows(60)[:, 0] + 1, "y_pred": rows(60)[:, 1] + 1}
INDICATORS = (rows(60, 5, seed=2) > 8).astype(int)
RANKED = {"y_true": INDICATORS, "y_score": rows(60, 5)}


def stump_of_xgboost() -> str:
    """A model of XGBoost: one split."""
    tree = {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0],
        "split_conditions": [6.0, -0.5, 0.5],
        "default_left": [1, 0, 0],
        "tree_param": {},
    }
    facts = {"num_feature": "4", "num_class": "0", "base_score": "5E-1"}
    model = {"trees": [tree], "tree_info": [0]}
    learner = {
        "learner_model_param": facts,
        "gradient_booster": {"name": "gbtree", "model": model},
        "objective": {"name": "reg:squarederror"},
    }
    return json.dumps({"learner": learner})


def stump_of_catboost() -> str:
    """A model of CatBoost: one split."""
    columns = [
        {"feature_index": f, "flat_feature_index": f, "nan_value_treatment": "AsIs"}
        for f in range(4)
    ]
    split = {"split_type": "FloatFeature", "float_feature_index": 0, "border": 6.0}
    model = {
        "features_info": {"float_features": columns},
        "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        "oblivious_trees": [{"leaf_values": [-0.5, 0.5], "splits": [split]}],
        "scale_and_bias": [1, [0.5]],
    }
    return json.dumps(model)


@functools.cache
def function_settings() -> dict[str, dict]:
    """What single functions need instead."""
    from fastml._cases.convert import lightgbm_text
    from fastml.blocks import Blocks
    from fastml.convert import save
    from fastml.naive_bayes import GaussianNB
    from fastml.optimize import Steps
    from fastml.preprocessing import StandardScaler

    saved = io.BytesIO()
    save(grown_tree(), saved)
    blocks = Blocks.from_npy(rows(60), np.arange(60) % 2, block_rows=25)
    bayes = GaussianNB().fit(rows(60), np.arange(60) % 2)
    return {
        "blocks.fit": {"estimator": GaussianNB(), "blocks": blocks},
        "blocks.histogram_density": {"blocks": blocks},
        "blocks.kneighbors": {"blocks": blocks, "Q": rows(5)},
        "blocks.predict": {"model": bayes, "blocks": blocks, "method": "predict_proba"},
        "blocks.report": {"model": bayes, "blocks": blocks},
        "blocks.score": {"model": bayes, "blocks": blocks},
        "blocks.transform": {"model": StandardScaler().fit(rows(60)), "blocks": blocks},
        "from_catboost": {"model": stump_of_catboost()},
        "from_lightgbm": {"model": lightgbm_text(2, 4, 4)},
        "from_xgboost": {"model": stump_of_xgboost()},
        "from_sklearn": {"model": line()},
        "to_sklearn": {"model": grown_tree()},
        "load": {"file": saved},
        "save": {"model": grown_tree(), "file": io.BytesIO()},
        "mapreduce.inverted_index": {"documents": {"d1": "map reduce", "d2": "map"}},
        "mapreduce.kmeans_pass": {"centers": rows(60)[:5], "block_rows": 25},
        "mapreduce.mean_by_key": {"pairs": [(i % 3, i / 7) for i in range(30)]},
        "mapreduce.natural_join": {"left": [{"a": 1, "b": 2}], "right": [{"a": 1, "c": 3}]},
        "mapreduce.run": {
            "data": [3, 1, 2],
            "map": lambda n: [(n % 2, n / 3)],
            "reduce": lambda key, values: [(key, sum(values))],
        },
        "mapreduce.word_count": {"lines": ["a b", "a"]},
        "orthogonal_mp_gram": {"n_nonzero_coefs": 2},  # a tenth of four columns is none
        "label_binarize": {"classes": np.arange(3)},
        "quantile_transform": {"n_quantiles": 20},
        "auc": {"x": np.arange(60.0), "y": rows(60)[:, 0]},
        "coverage_error": RANKED,
        "dcg_score": RANKED,
        "label_ranking_average_precision_score": RANKED,
        "label_ranking_loss": RANKED,
        "log_loss": {"y_proba": rows(60)[:, 0] / 32},
        "d2_log_loss_score": {"y_proba": rows(60)[:, 0] / 32},
        "mean_gamma_deviance": POSITIVE_TARGETS,
        "mean_poisson_deviance": POSITIVE_TARGETS,
        "ndcg_score": RANKED,
        "report": {"y_pred": rows(60)[:, 0] / 32},
        "class_likelihood_ratios": {"y_pred": np.arange(60) % 2},
        "check_scoring": {"scoring": "accuracy"},
        "top_k_accuracy_score": {"k": 1},
        "improvement": {"first": 0.5, "second": 0.75},
        "bootstrap_validate": {"estimator": decision_tree(), "n_resamples": 3},
        "bias_variance": {"estimator": decision_tree(), "n_resamples": 3},
        "drop_column_importance": {"estimator": decision_tree(), "cv": 2},
        "permutation_importance": {"estimator": regression_tree()},
        "partial_dependence": {"estimator": regression_tree(), "kind": "both"},
        "delong_interval": {"y_true": np.arange(60) % 2},
        "delong_test": {"y_true": np.arange(60) % 2},
        "mcnemar_test": {"first": np.arange(60) % 2, "second": np.arange(60) % 3},
        "bootstrap_metric": {"n_resamples": 30},
        "odds_ratios": {"model": log_odds(), "X": rows(60), "y": np.arange(60) % 3},
        "prune_by_cv": {"estimator": decision_tree()},
        "density_contours": {"X": rows(60, 2)},
        "haversine_distances": {"X": rows(60, 2) / 8, "Y": rows(60, 2, seed=1) / 8},
        "linkage": {"y": rows(45, 1)[:, 0]},  # distances of ten points, condensed
        "stochastic_gradient": {"stop": Steps(3)},
        "sort_graph_by_row_values": {"warn_when_not_sorted": False},
    }


def call_arguments(path: str, function, dtype=np.float64) -> dict:
    """Keyword arguments with which to try the function."""
    known = arguments(dtype)
    settings = function_settings()
    special = settings.get(path, settings.get(path.rpartition(".")[2], {}))
    needed = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        required = parameter.default is parameter.empty
        if required and name not in known and name not in special:
            raise LookupError(f"tests/specimens.py: no value for argument {name!r} of {path}")
        if (required and name in known) or name in ("Y", "random_state"):
            needed[name] = known[name]
    arrays = {k: v.astype(dtype) if isinstance(v, np.ndarray) else v for k, v in special.items()}
    return {**needed, **arrays}


# ---------------------------------------------------------------------------- kernels


def compiled_signatures() -> dict[str, set[str]]:
    """Every registered kernel → the signatures that it has in this process."""
    from fastml._jit import REGISTRY, ParallelKernel

    found = {}
    for key, kernel in REGISTRY.items():
        functions = kernel.functions if isinstance(kernel, ParallelKernel) else {"": kernel}
        for suffix, function in functions.items():
            views = [function, getattr(function, "inner", None)]  # Python's and other kernels'
            found[key + suffix] = {str(s) for view in views if view for s in view.signatures}
    return found
