"""From pyspark's names of parameters to fastml's, one table for each algorithm."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Named(NamedTuple):
    """A parameter of pyspark: fastml's name, pyspark's default, and fastml's values for pyspark's.

    Without a name of fastml's it is read by the class itself or, as it says only how Spark is to
    work, by nobody. A dict of ``values`` holds all that are allowed.
    """

    ours: str | None
    default: Any
    values: Mapping[Any, Any] | Callable[[Any], Any] | None = None


class Table(NamedTuple):
    """An algorithm: fastml's classes, the columns that it reads and makes, its parameters."""

    classes: tuple[str, ...]
    columns: tuple[str, ...]
    names: Mapping[str, Named]

    def local_classes(self) -> list[type]:
        return [_class_of(path) for path in self.classes]

    def other_names(self) -> list[str]:
        """Parameters of fastml's classes that have no name of pyspark's."""
        taken = {row.ours for row in self.names.values()} | NOT_OFFERED
        found = [name for local in self.local_classes() for name in parameters_of(local)]
        return [name for name in dict.fromkeys(found) if name not in taken | set(self.names)]

    def renamed(self, name: str) -> str:
        """Pyspark's name for one of fastml's, where there is one."""
        return next((known for known, row in self.names.items() if row.ours == name), name)


NOT_OFFERED = {"n_jobs", "verbose", "verbose_interval", "warm_start", "copy", "copy_x", "copy_X"}
"""What says how a fit in one process works."""


def _class_of(path: str) -> type:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"fastml.{module}"), name)


def parameters_of(local: type) -> list[str]:
    """Names that the class takes."""
    return [name for name in inspect.signature(local.__init__).parameters if name != "self"]  # type: ignore[misc]


def _share_of_features(value: Any) -> Any:
    """``featureSubsetStrategy`` as a number of features, a share of them, or a word."""
    words = {"all": 1.0, "sqrt": "sqrt", "log2": "log2", "onethird": 1.0 / 3.0}
    if value in words:
        return words[value]
    try:
        return int(value) if str(value).lstrip("+").isdigit() else float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"featureSubsetStrategy must be a number or one of 'auto', "
            f"{', '.join(map(repr, words))}, got {value!r}"
        ) from None


def _of_all(value: Any) -> Any:
    share = 1.0 if value == "auto" else _share_of_features(value)
    if not isinstance(share, float):
        raise ValueError(f"featureSubsetStrategy must be 'all' or a share here, got {value!r}")
    return share


def _sqrt_if_auto(value: Any) -> Any:
    return "sqrt" if value == "auto" else _share_of_features(value)


def _third_if_auto(value: Any) -> Any:
    return 1.0 / 3.0 if value == "auto" else _share_of_features(value)


def _unless_all(value: float) -> float | None:
    return None if value == 1.0 else value


PREDICTOR = ("featuresCol", "labelCol", "predictionCol", "weightCol")
CLASSIFIER = (*PREDICTOR, "probabilityCol", "rawPredictionCol")

BY_SPARK = {"aggregationDepth": Named(None, 2), "maxBlockSizeInMB": Named(None, 0.0)}
SEED = {"seed": Named("random_state", 0)}
LINEAR = {
    "maxIter": Named("max_iter", 100),
    "regParam": Named(None, 0.0),
    "elasticNetParam": Named(None, 0.0),
    "tol": Named("tol", 1e-6),
    "fitIntercept": Named("fit_intercept", True),
    "standardization": Named(None, True),
    **BY_SPARK,
}
THRESHOLDS = {"thresholds": Named(None, None)}

KMEANS = Table(
    ("cluster.KMeans",),
    ("featuresCol", "predictionCol", "weightCol"),
    {
        "k": Named("n_clusters", 2),
        "initMode": Named("init", "k-means||", {"k-means||": "k-means++", "random": "random"}),
        "initSteps": Named(None, 2),
        "tol": Named("tol", 1e-4),
        "maxIter": Named("max_iter", 20),
        "distanceMeasure": Named(None, "euclidean", {"euclidean": None}),
        "solver": Named(None, "auto"),
        **SEED,
        "maxBlockSizeInMB": Named(None, 0.0),
    },
)

GAUSSIAN_MIXTURE = Table(
    ("mixture.GaussianMixture",),
    ("featuresCol", "predictionCol", "probabilityCol", "weightCol"),
    {
        "k": Named("n_components", 2),
        "tol": Named("tol", 0.01),
        "maxIter": Named("max_iter", 100),
        **SEED,
        "aggregationDepth": Named(None, 2),
    },
)

LINEAR_REGRESSION = Table(
    ("linear_model.LinearRegression", "linear_model.Ridge", "linear_model.ElasticNet"),
    PREDICTOR,
    {
        **LINEAR,
        "solver": Named(None, "auto"),
        "loss": Named(None, "squaredError", {"squaredError": None}),
        "epsilon": Named(None, 1.35),
    },
)

LOGISTIC_REGRESSION = Table(
    ("linear_model.LogisticRegression",),
    CLASSIFIER,
    {**LINEAR, "threshold": Named(None, None), **THRESHOLDS,
     "family": Named(None, "auto", {"auto": None, "binomial": None, "multinomial": None})},
)  # fmt: skip

TREES = {
    "maxDepth": Named("max_depth", 5),
    "minInstancesPerNode": Named("min_samples_leaf", 1),
    "minInfoGain": Named(None, 0.0, {0.0: None}),
    **SEED,
    "maxMemoryInMB": Named(None, 256),
    "cacheNodeIds": Named(None, False),
    "checkpointInterval": Named(None, 10),
}
FOREST = {
    **TREES,
    "maxBins": Named(None, 32),
    "numTrees": Named("n_estimators", 20),
    "subsamplingRate": Named("max_samples", 1.0, _unless_all),
    "minWeightFractionPerNode": Named("min_weight_fraction_leaf", 0.0),
    "bootstrap": Named("bootstrap", True),
}

FOREST_CLASSIFIER = Table(
    ("ensemble.RandomForestClassifier",),
    (*CLASSIFIER, "leafCol"),
    {
        **FOREST,
        **THRESHOLDS,
        "impurity": Named("criterion", "gini", {"gini": "gini", "entropy": "entropy"}),
        "featureSubsetStrategy": Named("max_features", "auto", _sqrt_if_auto),
    },
)

FOREST_REGRESSOR = Table(
    ("ensemble.RandomForestRegressor",),
    (*PREDICTOR, "leafCol"),
    {
        **FOREST,
        "impurity": Named("criterion", "variance", {"variance": "squared_error"}),
        "featureSubsetStrategy": Named("max_features", "auto", _third_if_auto),
    },
)

BOOSTING = {
    **TREES,
    "maxIter": Named("max_iter", 20),
    "maxBins": Named("max_bins", 32),
    "stepSize": Named("learning_rate", 0.1),
    "subsamplingRate": Named("subsample", 1.0),
    "featureSubsetStrategy": Named("max_features", "all", _of_all),
    "impurity": Named(None, "variance"),
}

GBT_CLASSIFIER = Table(
    ("ensemble.HistGradientBoostingClassifier",),
    CLASSIFIER,
    {**BOOSTING, **THRESHOLDS, "lossType": Named("loss", "logistic", {"logistic": "log_loss"})},
)

GBT_REGRESSOR = Table(
    ("ensemble.HistGradientBoostingRegressor",),
    PREDICTOR,
    {**BOOSTING, "lossType": Named("loss", "squared", {"squared": "squared_error"})},
)

PRINCIPAL_COMPONENTS = Table(
    ("decomposition.PCA",), ("inputCol", "outputCol"), {"k": Named("n_components", None)}
)

SCALER = Table(
    ("preprocessing.StandardScaler",),
    ("inputCol", "outputCol"),
    {"withMean": Named("with_mean", False), "withStd": Named("with_std", True)},
)

NAIVE_BAYES_TYPES = {
    "multinomial": "naive_bayes.MultinomialNB",
    "complement": "naive_bayes.ComplementNB",
    "bernoulli": "naive_bayes.BernoulliNB",
    "gaussian": "naive_bayes.GaussianNB",
}

NAIVE_BAYES = Table(
    tuple(NAIVE_BAYES_TYPES.values()),
    CLASSIFIER,
    {
        "smoothing": Named("alpha", 1.0),
        "modelType": Named(None, "multinomial", dict.fromkeys(NAIVE_BAYES_TYPES)),
        **THRESHOLDS,
    },
)
