"""Linear models, as in scikit-learn, and what statistics say about them."""

from fastml.linear_model._bayes import ARDRegression, BayesianRidge
from fastml.linear_model._coordinate import (
    ElasticNet,
    Lasso,
    MultiTaskElasticNet,
    MultiTaskLasso,
)
from fastml.linear_model._coordinate_cv import (
    ElasticNetCV,
    LassoCV,
    MultiTaskElasticNetCV,
    MultiTaskLassoCV,
)
from fastml.linear_model._glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from fastml.linear_model._huber import HuberRegressor
from fastml.linear_model._l0 import L0Regressor
from fastml.linear_model._least_angle import Lars, LassoLars, LassoLarsIC
from fastml.linear_model._least_squares import LinearRegression
from fastml.linear_model._logistic._cv import LogisticRegressionCV
from fastml.linear_model._logistic._estimator import LogisticRegression, SeparationWarning
from fastml.linear_model._path import enet_path, lasso_path
from fastml.linear_model._pursuit import (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
)
from fastml.linear_model._quantile import LeastAbsoluteDeviations, QuantileRegressor
from fastml.linear_model._ridge import Ridge
from fastml.linear_model._ridge_classifier import RidgeClassifier, RidgeClassifierCV
from fastml.linear_model._ridge_cv import RidgeCV
from fastml.linear_model._sgd import SGDRegressor
from fastml.linear_model._summary._checks import AssumptionCheck
from fastml.linear_model._summary._result import LinearSummary, Prediction, RowInfluence
from fastml.linear_model._summary._summary import summary

__all__ = [
    "ARDRegression",
    "AssumptionCheck",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "HuberRegressor",
    "L0Regressor",
    "Lars",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsIC",
    "LeastAbsoluteDeviations",
    "LinearRegression",
    "LinearSummary",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PoissonRegressor",
    "Prediction",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RowInfluence",
    "SGDRegressor",
    "SeparationWarning",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
    "summary",
]
