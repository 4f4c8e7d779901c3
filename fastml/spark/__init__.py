"""Estimators and models of pyspark.ml that fastml's kernels learn and score.

    from fastml.spark import KMeans
    model = KMeans(k=8, featuresCol=["a", "b"]).fit(frame)
    model.transform(frame).groupBy("prediction").count().show()

They stand wherever pyspark.ml's own do: in a Pipeline, in a CrossValidator, in files.
"""

from fastml._engines.spark_jobs import need_pyspark

need_pyspark()

from fastml.spark._estimators import (  # noqa: E402
    PCA,
    GaussianMixture,
    GBTClassifier,
    GBTRegressor,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    RandomForestClassifier,
    RandomForestRegressor,
    StandardScaler,
)
from fastml.spark._models import (  # noqa: E402
    GaussianMixtureModel,
    GBTClassificationModel,
    GBTRegressionModel,
    KMeansModel,
    LinearRegressionModel,
    LogisticRegressionModel,
    NaiveBayesModel,
    PCAModel,
    RandomForestClassificationModel,
    RandomForestRegressionModel,
    StandardScalerModel,
)
from fastml.spark._scoring import transform  # noqa: E402

__all__ = [
    "PCA",
    "GBTClassificationModel",
    "GBTClassifier",
    "GBTRegressionModel",
    "GBTRegressor",
    "GaussianMixture",
    "GaussianMixtureModel",
    "KMeans",
    "KMeansModel",
    "LinearRegression",
    "LinearRegressionModel",
    "LogisticRegression",
    "LogisticRegressionModel",
    "NaiveBayes",
    "NaiveBayesModel",
    "PCAModel",
    "RandomForestClassificationModel",
    "RandomForestClassifier",
    "RandomForestRegressionModel",
    "RandomForestRegressor",
    "StandardScaler",
    "StandardScalerModel",
    "transform",
]
