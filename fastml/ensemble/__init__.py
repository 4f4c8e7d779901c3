"""Ensembles of trees."""

from fastml.ensemble._adaboost_classifier import AdaBoostClassifier
from fastml.ensemble._adaboost_regressor import AdaBoostRegressor
from fastml.ensemble._forest_classifiers import ExtraTreesClassifier, RandomForestClassifier
from fastml.ensemble._forest_regressors import ExtraTreesRegressor, RandomForestRegressor
from fastml.ensemble._gradient_boosting import GradientBoostingClassifier
from fastml.ensemble._gradient_boosting_regressor import GradientBoostingRegressor
from fastml.ensemble._hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from fastml.ensemble._isolation_forest import IsolationForest
from fastml.ensemble._trees_embedding import RandomTreesEmbedding

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
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
