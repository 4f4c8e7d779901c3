"""Distances and similarities of all pairs of rows, under scikit-learn's names.

`_distances` holds the metrics, `_nearest` keeps only a row's nearest, `_paired` measures row by
row, `_similarity` and `_kernel_matrix` hold the kernels of kernel methods. The matrices are made in
`_engines.distances` and `_engines.gram`.
"""

from __future__ import annotations

from fastml._engines.distances.checks import check_paired_arrays, check_pairwise_arrays
from fastml._engines.gram.similarities import KERNEL_PARAMS
from fastml.metrics._pairwise._distances import (
    PAIRWISE_BOOLEAN_FUNCTIONS,
    PAIRWISE_DISTANCE_FUNCTIONS,
    cosine_distances,
    distance_metrics,
    euclidean_distances,
    haversine_distances,
    manhattan_distances,
    nan_euclidean_distances,
    pairwise_distances,
)
from fastml.metrics._pairwise._kernel_matrix import (
    PAIRWISE_KERNEL_FUNCTIONS,
    kernel_metrics,
    make_kernel,
    normalized_kernel,
    pairwise_kernels,
)
from fastml.metrics._pairwise._nearest import (
    pairwise_distances_argmin,
    pairwise_distances_argmin_min,
    pairwise_distances_chunked,
)
from fastml.metrics._pairwise._paired import (
    PAIRED_DISTANCES,
    paired_cosine_distances,
    paired_distances,
    paired_euclidean_distances,
    paired_manhattan_distances,
)
from fastml.metrics._pairwise._similarity import (
    additive_chi2_kernel,
    chi2_kernel,
    cosine_similarity,
    exponential_kernel,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

__all__ = [
    "KERNEL_PARAMS",
    "PAIRED_DISTANCES",
    "PAIRWISE_BOOLEAN_FUNCTIONS",
    "PAIRWISE_DISTANCE_FUNCTIONS",
    "PAIRWISE_KERNEL_FUNCTIONS",
    "additive_chi2_kernel",
    "check_paired_arrays",
    "check_pairwise_arrays",
    "chi2_kernel",
    "cosine_distances",
    "cosine_similarity",
    "distance_metrics",
    "euclidean_distances",
    "exponential_kernel",
    "haversine_distances",
    "kernel_metrics",
    "laplacian_kernel",
    "linear_kernel",
    "make_kernel",
    "manhattan_distances",
    "nan_euclidean_distances",
    "normalized_kernel",
    "paired_cosine_distances",
    "paired_distances",
    "paired_euclidean_distances",
    "paired_manhattan_distances",
    "pairwise_distances",
    "pairwise_distances_argmin",
    "pairwise_distances_argmin_min",
    "pairwise_distances_chunked",
    "pairwise_kernels",
    "polynomial_kernel",
    "rbf_kernel",
    "sigmoid_kernel",
]
