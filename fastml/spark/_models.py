"""Models, with pyspark's names for what they have learned."""

from __future__ import annotations

import numpy as np
from pyspark.ml.linalg import DenseMatrix, DenseVector, Vectors

from fastml.spark import _tables
from fastml.spark._base import FrameModel


def _vector(values) -> DenseVector:
    return Vectors.dense(np.asarray(values, dtype=np.float64).ravel())


def _matrix(rows) -> DenseMatrix:
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    return DenseMatrix(rows.shape[0], rows.shape[1], rows.ravel(), isTransposed=True)


class _Regression(FrameModel):
    makes = {"predictionCol": "prediction"}


class _Classification(FrameModel):
    makes = {
        "probabilityCol": "predict_proba",
        "rawPredictionCol": "raw",
        "predictionCol": "prediction",
    }

    @property
    def numClasses(self) -> int:
        """Classes that were seen."""
        return len(self._local.classes_)

    def _says(self) -> str:
        return "prediction"

    def _thresholds(self):
        """A number a class: the class of the greatest p / threshold is predicted."""
        several = self._value("thresholds")
        if several is None:
            return None
        if len(several) != self.numClasses or min(several) < 0 or several.count(0.0) > 1:
            raise ValueError(
                f"thresholds must be {self.numClasses} numbers from 0, one of them 0 at most, "
                f"got {several}"
            )
        return several


class KMeansModel(FrameModel, table=_tables.KMEANS):
    """Centres learned by `KMeans`.

    Examples
    --------
    >>> from fastml.spark import KMeansModel
    >>> def centres(path):  # with a session of Spark
    ...     return KMeansModel.load(path).clusterCenters()
    """

    makes = {"predictionCol": "prediction"}

    def clusterCenters(self) -> list:
        """An array for each cluster."""
        return list(self._local.cluster_centers_)


class GaussianMixtureModel(FrameModel, table=_tables.GAUSSIAN_MIXTURE):
    """Components learned by `GaussianMixture`.

    Examples
    --------
    >>> from fastml.spark import GaussianMixtureModel
    >>> def weights(path):  # with a session of Spark
    ...     return GaussianMixtureModel.load(path).weights
    """

    makes = {"probabilityCol": "predict_proba", "predictionCol": "predict"}

    @property
    def weights(self) -> list[float]:
        """Of the components."""
        return self._local.weights_.tolist()

    def _says(self) -> str:
        return "predict"


class LinearRegressionModel(_Regression, table=_tables.LINEAR_REGRESSION):
    """Weights learned by `LinearRegression`.

    Examples
    --------
    >>> from fastml.spark import LinearRegressionModel
    >>> def weights(path):  # with a session of Spark
    ...     return LinearRegressionModel.load(path).coefficients
    """

    @property
    def coefficients(self) -> DenseVector:
        """Weights of the features."""
        return _vector(self._local.coef_)

    @property
    def intercept(self) -> float:
        """Weight of the constant."""
        return float(np.ravel(self._local.intercept_)[0])


class LogisticRegressionModel(_Classification, table=_tables.LOGISTIC_REGRESSION):
    """Weights learned by `LogisticRegression`.

    Examples
    --------
    >>> from fastml.spark import LogisticRegressionModel
    >>> def weights(path):  # with a session of Spark
    ...     return LogisticRegressionModel.load(path).coefficients
    """

    def _thresholds(self):
        one = self._value("threshold")
        if one is None or self.isSet("thresholds"):
            return super()._thresholds()
        if self.numClasses != 2 or not 0 <= one <= 1:
            raise ValueError(f"threshold must be from 0 to 1 and is of two classes, got {one}")
        return [1.0 - one, one]

    @property
    def coefficientMatrix(self) -> DenseMatrix:
        """A line of weights for each class; one line for two classes."""
        return _matrix(self._local.coef_)

    @property
    def interceptVector(self) -> DenseVector:
        """The constants."""
        return _vector(self._local.intercept_)

    @property
    def coefficients(self) -> DenseVector:
        """The weights, of two classes."""
        return _vector(self._of_two(self._local.coef_))

    @property
    def intercept(self) -> float:
        """The constant, of two classes."""
        return float(self._of_two(self._local.intercept_)[0])

    def _of_two(self, values):
        if self.numClasses != 2:
            raise ValueError("of several classes there are coefficientMatrix and interceptVector")
        return np.ravel(values)


class _Forest(FrameModel):
    @property
    def featureImportances(self) -> DenseVector:
        """Shares of the impurity that splits on each feature removed."""
        return _vector(self._local.feature_importances_)

    @property
    def getNumTrees(self) -> int:
        """Trees of the forest."""
        return int(self._local.n_estimators)


class RandomForestClassificationModel(_Forest, _Classification, table=_tables.FOREST_CLASSIFIER):
    """Trees grown by `RandomForestClassifier`; leaves of ``leafCol`` are numbered as by `apply`.

    Examples
    --------
    >>> from fastml.spark import RandomForestClassificationModel
    >>> def importances(path):  # with a session of Spark
    ...     return RandomForestClassificationModel.load(path).featureImportances
    """

    makes = {**_Classification.makes, "leafCol": "apply"}


class RandomForestRegressionModel(_Forest, _Regression, table=_tables.FOREST_REGRESSOR):
    """Trees grown by `RandomForestRegressor`; leaves of ``leafCol`` are numbered as by `apply`.

    Examples
    --------
    >>> from fastml.spark import RandomForestRegressionModel
    >>> def importances(path):  # with a session of Spark
    ...     return RandomForestRegressionModel.load(path).featureImportances
    """

    makes = {**_Regression.makes, "leafCol": "apply"}


class _Boosted(FrameModel):
    @property
    def getNumTrees(self) -> int:
        """Trees that were added up."""
        return int(self._local.n_iter_) * int(self._local.n_trees_per_iteration_)


class GBTClassificationModel(_Boosted, _Classification, table=_tables.GBT_CLASSIFIER):
    """Trees grown by `GBTClassifier`.

    Examples
    --------
    >>> from fastml.spark import GBTClassificationModel
    >>> def loaded(path):  # with a session of Spark
    ...     return GBTClassificationModel.load(path).to_local()
    """


class GBTRegressionModel(_Boosted, _Regression, table=_tables.GBT_REGRESSOR):
    """Trees grown by `GBTRegressor`.

    Examples
    --------
    >>> from fastml.spark import GBTRegressionModel
    >>> def loaded(path):  # with a session of Spark
    ...     return GBTRegressionModel.load(path).to_local()
    """


class PCAModel(FrameModel, table=_tables.PRINCIPAL_COMPONENTS):
    """Directions learned by `PCA`; `transform` does not take off the mean, as in pyspark.ml.

    Examples
    --------
    >>> from fastml.spark import PCAModel
    >>> def directions(path):  # with a session of Spark
    ...     return PCAModel.load(path).pc
    """

    makes = {"outputCol": "projected"}

    @property
    def pc(self) -> DenseMatrix:
        """Directions, one a column."""
        return _matrix(self._local.components_.T)

    @property
    def explainedVariance(self) -> DenseVector:
        """Shares of the variance."""
        return _vector(self._local.explained_variance_ratio_)


class StandardScalerModel(FrameModel, table=_tables.SCALER):
    """Means and deviations learned by `StandardScaler`.

    Examples
    --------
    >>> from fastml.spark import StandardScalerModel
    >>> def deviations(path):  # with a session of Spark
    ...     return StandardScalerModel.load(path).std
    """

    makes = {"outputCol": "transform"}

    @property
    def mean(self) -> DenseVector:
        """Of the features."""
        return _vector(self._local.mean_)

    @property
    def std(self) -> DenseVector:
        """Of the features, with n - 1."""
        return _vector(np.sqrt(self._local.var_))


class NaiveBayesModel(_Classification, table=_tables.NAIVE_BAYES):
    """Shares learned by `NaiveBayes`.

    Examples
    --------
    >>> from fastml.spark import NaiveBayesModel
    >>> def shares(path):  # with a session of Spark
    ...     return NaiveBayesModel.load(path).theta
    """

    @property
    def pi(self) -> DenseVector:
        """Logarithms of the classes' shares."""
        if hasattr(self._local, "class_prior_"):
            return _vector(np.log(self._local.class_prior_))
        return _vector(self._local.class_log_prior_)

    @property
    def theta(self) -> DenseMatrix:
        """Logarithms of the features' shares in each class; of normal features, their means."""
        if hasattr(self._local, "theta_"):
            return _matrix(self._local.theta_)
        return _matrix(self._local.feature_log_prob_)

    @property
    def sigma(self) -> DenseMatrix:
        """Variances of normal features in each class."""
        return _matrix(self._local.var_)
