"""A metric's name and parameters → the `Metric` that kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml._engines.distances.names import COUNTING, METRICS, TREE_METRICS, metric_code
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.distances.metrics import Metric

NO_VALUES = kernel_view(np.empty((0, 0)))

CODES = {**METRICS, **TREE_METRICS}
KD_TREE_METRICS = sorted(
    name
    for name, code in TREE_METRICS.items()
    if code <= metrics.LAST_GAP_METRIC and name not in ("sqeuclidean", "seuclidean")
)
BALL_TREE_METRICS = sorted({*TREE_METRICS, "pyfunc"} - {"sqeuclidean", "kulsinski", "matching"})
BRUTE_METRICS = sorted(
    {*METRICS, *COUNTING, "nan_euclidean", "precomputed"} - {"matching", "sokalmichener"}
)

VALID_METRICS = {
    "ball_tree": BALL_TREE_METRICS,
    "kd_tree": KD_TREE_METRICS,
    "brute": BRUTE_METRICS,
}
VALID_METRICS_SPARSE: dict[str, list[str]] = {
    "ball_tree": [],
    "kd_tree": [],
    "brute": ["cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "precomputed"],
}


EUCLIDEAN = Metric(metrics.EUCLIDEAN, 2.0, NO_VALUES)


def resolve_metric(
    name: str, params: dict[str, Any], X: NDArray, codes: dict[str, int] = CODES
) -> Metric:
    """The kernel arguments of a named metric on data like X."""
    n_features = X.shape[1]
    code = codes[name]
    check_haversine(code, n_features)
    p = float(params.get("p", 2.0))
    values = NO_VALUES
    if code == metrics.POWER:
        weights = params.get("w")
        if not p > 0:
            raise ValueError(f"p must be greater than 0, got {p}")
        code = metric_code(code, p, weighted=weights is not None)
        if weights is not None:
            values = _row(weights, n_features, "w")
            if (values < 0).any():
                raise ValueError("w must be non-negative")
            if np.isinf(p):
                values, code = NO_VALUES, metrics.CHEBYSHEV
    elif code == metrics.WEIGHTED_SQUARES:
        variances = params.get("V")
        if variances is None:
            variances = np.var(X, axis=0, ddof=1, dtype=np.float64)
        values = 1.0 / _row(variances, n_features, "V")
    elif code == metrics.MAHALANOBIS:
        values = _inverse_covariance(params, X)
    return Metric(code, p, kernel_view(values, np.float64))


def every_metric(code: int) -> tuple[bool | None] | None:
    """The argument ``every`` of kernels (`metrics.chosen_rdist`): what they are compiled for."""
    if code <= metrics.SQEUCLIDEAN:
        return None
    return (None if code <= metrics.LAST_GAP_METRIC else True,)


def check_haversine(code: int, n_features: int) -> None:
    if code == metrics.HAVERSINE and n_features != 2:
        raise ValueError(
            "Haversine distance only valid in 2 dimensions (latitude and longitude in radians), "
            f"got {n_features} columns"
        )


def _row(values, n_features: int, name: str) -> NDArray:
    row = np.asarray(values, dtype=np.float64)
    if row.shape != (n_features,):
        raise ValueError(f"{name} must have one entry per column ({n_features}), got {row.shape}")
    return row.reshape(1, -1)


def _inverse_covariance(params, X) -> NDArray:
    inverse = params.get("VI")
    if inverse is None:
        covariance = params.get("V")
        if covariance is None:
            covariance = np.cov(np.asarray(X, dtype=np.float64).T)
        inverse = np.linalg.inv(np.atleast_2d(covariance))
    inverse = np.asarray(inverse, dtype=np.float64)
    if inverse.shape != (X.shape[1], X.shape[1]):
        raise ValueError(
            f"V or VI must be square with {X.shape[1]} rows, got shape {inverse.shape}"
        )
    return inverse
