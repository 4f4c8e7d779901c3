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
from fastml.linear_model._path import enet_path, lasso_path
from fastml.linear_model._pursuit import (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
)
from fastml.linear_model._quantile import LeastAbsoluteDeviations, QuantileRegressor
from fastml.linear_model._ridge import Ridge
from fastml.linear_model._ridge_cv import RidgeCV
from fastml.linear_model._sgd._classification import SGDClassifier
from fastml.linear_model._sgd._one_class import SGDOneClassSVM
from fastml.linear_model._sgd._passive_aggressive import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from fastml.linear_model._sgd._perceptron import Perceptron
from fastml.linear_model._sgd._regression import SGDRegressor
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
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "PoissonRegressor",
    "Prediction",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RowInfluence",
    "SGDClassifier",
    "SGDOneClassSVM",
    "SGDRegressor",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
    "summary",
]
