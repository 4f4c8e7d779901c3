"""Names of metrics → integer codes. Kernels branch on the codes outside their inner loops."""

from __future__ import annotations

from fastml.kernels.distances import metrics

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

COUNTING = frozenset({"l0", "discrete"})
"""Made from "hamming": how many coordinates differ, and whether any does."""

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
