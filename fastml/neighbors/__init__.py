"""Nearest neighbours: search, classification, regression, graphs, outliers, densities."""

from fastml._engines.search.metric import VALID_METRICS, VALID_METRICS_SPARSE
from fastml.neighbors._centroid import NearestCentroid
from fastml.neighbors._classification import KNeighborsClassifier
from fastml.neighbors._graph import (
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
)
from fastml.neighbors._graph_input import sort_graph_by_row_values
from fastml.neighbors._lof import LocalOutlierFactor
from fastml.neighbors._nearest import NearestNeighbors
from fastml.neighbors._radius import RadiusNeighborsClassifier
from fastml.neighbors._radius_regression import RadiusNeighborsRegressor
from fastml.neighbors._regression import KNeighborsRegressor
from fastml.neighbors._smoothers._classifier import KernelClassifier
from fastml.neighbors._smoothers._density import KernelDensity
from fastml.neighbors._smoothers._regressor import KernelRegressor
from fastml.neighbors._space_trees._trees import BallTree, KDTree
from fastml.neighbors._validation_curve import ValidationCurve, knn_validation_curve

__all__ = [
    "VALID_METRICS",
    "VALID_METRICS_SPARSE",
    "BallTree",
    "KDTree",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "KernelClassifier",
    "KernelDensity",
    "KernelRegressor",
    "LocalOutlierFactor",
    "NearestCentroid",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "ValidationCurve",
    "kneighbors_graph",
    "knn_validation_curve",
    "radius_neighbors_graph",
    "sort_graph_by_row_values",
]
