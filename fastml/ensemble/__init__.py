"""Ensembles of trees."""

from fastml.ensemble._forest_classes import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.ensemble._gradient_boosting import GradientBoostingClassifier
from fastml.ensemble._gradient_boosting_regressor import GradientBoostingRegressor
from fastml.ensemble._hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from fastml.ensemble._isolation_forest import IsolationForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
