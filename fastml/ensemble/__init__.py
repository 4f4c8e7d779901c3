"""Ensembles of trees, and of any other estimators."""

from fastml.ensemble._adaboost._classifier import AdaBoostClassifier
from fastml.ensemble._adaboost._regressor import AdaBoostRegressor
from fastml.ensemble._bagging._classifier import BaggingClassifier
from fastml.ensemble._bagging._regressor import BaggingRegressor
from fastml.ensemble._blending import BlendingClassifier, BlendingRegressor
from fastml.ensemble._forest._classifiers import ExtraTreesClassifier, RandomForestClassifier
from fastml.ensemble._forest._embedding import RandomTreesEmbedding
from fastml.ensemble._forest._isolation import IsolationForest
from fastml.ensemble._forest._regressors import ExtraTreesRegressor, RandomForestRegressor
from fastml.ensemble._gradient_boosting._classifier import GradientBoostingClassifier
from fastml.ensemble._gradient_boosting._regressor import GradientBoostingRegressor
from fastml.ensemble._hist_gradient_boosting._estimators import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BlendingClassifier",
    "BlendingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
]
