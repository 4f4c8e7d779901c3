"""Names → integer codes, one table per kind. Kernels branch on the codes outside their inner loops.

The codes themselves are constants of the kernel file that branches on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fastml.kernels import metrics, smoothing

Value = TypeVar("Value")


def lookup(table: Mapping[str, Value], name: object, parameter: str) -> Value:
    """``table[name]``, or a ValueError that names the parameter and what it may be."""
    if isinstance(name, str) and name in table:
        return table[name]
    allowed = ", ".join(repr(key) for key in sorted(table))
    raise ValueError(f"unknown {parameter} {name!r}; it must be one of {allowed}")


METRICS: dict[str, int] = {
    "euclidean": metrics.EUCLIDEAN,
    "l2": metrics.EUCLIDEAN,
    "sqeuclidean": metrics.SQEUCLIDEAN,
    "manhattan": metrics.MANHATTAN,
    "cityblock": metrics.MANHATTAN,
    "l1": metrics.MANHATTAN,
    "chebyshev": metrics.CHEBYSHEV,
    "minkowski": metrics.POWER,
    "seuclidean": metrics.WEIGHTED_SQUARES,
    "mahalanobis": metrics.MAHALANOBIS,
    "cosine": metrics.COSINE,
    "correlation": metrics.CORRELATION,
    "hamming": metrics.HAMMING,
    "canberra": metrics.CANBERRA,
    "braycurtis": metrics.BRAYCURTIS,
    "haversine": metrics.HAVERSINE,
    "jaccard": metrics.JACCARD,
    "dice": metrics.DICE,
    "matching": metrics.MATCHING,
    "rogerstanimoto": metrics.ROGERSTANIMOTO,
    "russellrao": metrics.RUSSELLRAO,
    "sokalmichener": metrics.ROGERSTANIMOTO,
    "sokalsneath": metrics.SOKALSNEATH,
    "yule": metrics.YULE,
    "weighted_jaccard": metrics.WEIGHTED_JACCARD,
}
"""Distances with SciPy's formulas; `metric_code` refines "minkowski" by p and weights."""

NOT_FOR_TREES = ("cosine", "correlation", "yule", "weighted_jaccard")
TREE_METRICS: dict[str, int] = {
    **{name: code for name, code in METRICS.items() if name not in NOT_FOR_TREES},
    "p": metrics.POWER,
    "infinity": metrics.CHEBYSHEV,
    "braycurtis": metrics.BRAYCURTIS_ABSOLUTE,
    "kulsinski": metrics.KULSINSKI,
}
"""scikit-learn's DistanceMetric: what trees take (a kd-tree: codes <= LAST_GAP_METRIC only)."""


def metric_code(code: int, p: float = 2.0, *, weighted: bool = False) -> int:
    """``code``, or for Minkowski the cheapest code for this p: no pow for p = 1, 2, 3, 4, ∞."""
    if code != metrics.POWER:
        return code
    if weighted:
        special = {1.0: metrics.WEIGHTED_ABSOLUTE, 2.0: metrics.WEIGHTED_SQUARES}
        return special.get(float(p), metrics.WEIGHTED_POWER)
    special = {
        1.0: metrics.MANHATTAN,
        2.0: metrics.EUCLIDEAN,
        3.0: metrics.CUBIC,
        4.0: metrics.QUARTIC,
        float("inf"): metrics.CHEBYSHEV,
    }
    return special.get(float(p), metrics.POWER)


SMOOTHING_KERNELS: dict[str, int] = {
    "gaussian": smoothing.GAUSSIAN,
    "tophat": smoothing.TOPHAT,
    "epanechnikov": smoothing.EPANECHNIKOV,
    "exponential": smoothing.EXPONENTIAL,
    "linear": smoothing.LINEAR,
    "cosine": smoothing.COSINE,
}
"""Kernels of densities and of local regression."""
