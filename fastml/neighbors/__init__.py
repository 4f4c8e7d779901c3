"""Nearest neighbours: search, classification, regression, graphs, outliers, densities."""

from importlib import import_module

_HOME = {
    "VALID_METRICS": "_metric",
    "VALID_METRICS_SPARSE": "_metric",
    "BallTree": "_trees",
    "KDTree": "_trees",
    "KNeighborsClassifier": "_classification",
    "KNeighborsRegressor": "_regression",
    "KNeighborsTransformer": "_graph",
    "KernelClassifier": "_kernel_classifier",
    "KernelDensity": "_kde",
    "KernelRegressor": "_kernel_regression",
    "LocalOutlierFactor": "_lof",
    "NearestCentroid": "_centroid",
    "NearestNeighbors": "_nearest",
    "RadiusNeighborsClassifier": "_radius",
    "RadiusNeighborsRegressor": "_radius_regression",
    "RadiusNeighborsTransformer": "_graph",
    "ValidationCurve": "_validation_curve",
    "kneighbors_graph": "_graph",
    "knn_validation_curve": "_validation_curve",
    "radius_neighbors_graph": "_graph",
    "sort_graph_by_row_values": "_graph_input",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
