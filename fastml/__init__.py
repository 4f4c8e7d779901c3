"""fastml: scikit-learn's estimators on Numba-jitted parallel kernels.

``import fastml`` is instant: it loads neither Numba nor scikit-learn. Submodules load on first use
and carry scikit-learn's names, so ``from fastml.cluster import KMeans`` replaces
``from sklearn.cluster import KMeans``.

How to read the code: find the estimator in its module; it validates, allocates, calls kernels and
sets attributes. The loops are in the kernel files named beside it.

===============================================  =================  ================================
estimators and functions                         wrapper            kernels
===============================================  =================  ================================
KMeans, MiniBatchKMeans, BisectingKMeans         cluster            lloyd, bounds, kmeans_plusplus
KMedians, KMedoids, SphericalKMeans, SoftKMeans  cluster            medians, pam, lloyd, soft_means
AgglomerativeClustering, linkage                 cluster            linkage, ward_chain, mst
DBSCAN, BFR, choose_k                            cluster            dbscan, lloyd
GaussianMixture                                  mixture            gaussian_mixture
NearestNeighbors, KNeighbors*, LOF               neighbors          argkmin, kdtree, balltree, votes
RadiusNeighbors*, graphs                         neighbors          radius, kdtree, balltree
KernelDensity, KernelRegressor, -Classifier      neighbors          tiles, smoothing, density
histogram_density, bandwidth_*                   density            density, binning_linear
SVC, NuSVC, SVR, NuSVR, OneClassSVM              svm                smo, kernel_rows, kernel_sums
LinearSVC, LinearSVR                             svm                coordinate_descent*, newton_*
KernelLogisticRegression, KernelPerceptron       svm                gram, perceptron
KernelRidge                                      kernel_ridge       gram, band_inverse
DecisionTree*, ExtraTree*, prune_by_cv           tree               presort, *_split, tree_*
HistGradientBoosting*                            ensemble           binning, hist*, boost_*
GradientBoosting*                                ensemble           level_grow, boost_stage
RandomForest*, ExtraTrees*                       ensemble           forest_*, tree_predict
IsolationForest                                  ensemble           isolation
AdaBoost*                                        ensemble           stump_*, reweight, boost_median
pairwise_distances, pairwise_kernels             metrics.pairwise   metrics, pairwise, gram, bits
silhouette_score, rand_score, ...                metrics.cluster    silhouette, contingency
===============================================  =================  ================================
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

_SUBMODULES = (
    "cluster",
    "density",
    "ensemble",
    "kernel_ridge",
    "metrics",
    "mixture",
    "neighbors",
    "plot",
    "svm",
    "tree",
)
_FUNCTIONS = {
    "set_num_threads": "fastml._threads",
    "thread_limit": "fastml._threads",
    "warmup": "fastml._warmup",
}

__all__ = ["__version__", *_SUBMODULES, *_FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"fastml.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'fastml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
