"""Estimators and models of pyspark.ml that fastml's kernels learn and score.

    from fastml.spark import KMeans
    model = KMeans(k=8, featuresCol=["a", "b"]).fit(frame)
    model.transform(frame).groupBy("prediction").count().show()

They stand wherever pyspark.ml's own do: in a Pipeline, in a CrossValidator, in files. `plan` says
on paper what a fit on a cluster takes; it alone needs no pyspark.
"""

from __future__ import annotations

import importlib
from typing import Any

from fastml._engines.spark_jobs import need_pyspark
from fastml.spark._plan import ClusterPlan, executors, plan

_ESTIMATORS = (
    "PCA",
    "GaussianMixture",
    "GBTClassifier",
    "GBTRegressor",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayes",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StandardScaler",
)
_MODELS = (
    "GaussianMixtureModel",
    "GBTClassificationModel",
    "GBTRegressionModel",
    "KMeansModel",
    "LinearRegressionModel",
    "LogisticRegressionModel",
    "NaiveBayesModel",
    "PCAModel",
    "RandomForestClassificationModel",
    "RandomForestRegressionModel",
    "StandardScalerModel",
)
_HOMES = {
    **dict.fromkeys(_ESTIMATORS, "fastml.spark._estimators"),
    **dict.fromkeys(_MODELS, "fastml.spark._models"),
    "transform": "fastml.spark._scoring",
}

__all__ = ["ClusterPlan", "executors", "plan", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fastml.spark' has no attribute {name!r}")
    need_pyspark()
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
