"""fastml: scikit-learn's estimators on Numba-jitted parallel kernels.

``import fastml`` is instant: it loads neither Numba nor scikit-learn. Submodules load on first use
and carry scikit-learn's names, so ``from fastml.cluster import KMeans`` replaces
``from sklearn.cluster import KMeans``.

How to read the code: find the estimator in its module; it validates, allocates, calls kernels and
sets attributes. Algorithms that several estimators share are in ``fastml/_engines``. All loops are
in ``fastml/kernels``, one folder for each family:

==================  ============================================  ==========================
module              what it holds                                 kernels
==================  ============================================  ==========================
cluster             KMeans, KMedoids, linkage, DBSCAN, choose_k   cluster, distances
mixture             GaussianMixture                               mixture
neighbors           nearest neighbours, LocalOutlierFactor        neighbors, distances
neighbors, density  KernelDensity, KernelRegressor, bandwidths    density
tree                DecisionTree*, ExtraTree*, prune_by_cv        tree
ensemble            RandomForest*, ExtraTrees*, IsolationForest   forest, tree
ensemble            HistGradientBoosting*                         hist, losses
ensemble            GradientBoosting*, AdaBoost*                  boosting, losses, tree
svm                 SVC, NuSVC, SVR, NuSVR, OneClassSVM           svm
svm                 LinearSVC, LinearSVR                          linear
linear_model        LinearRegression, Ridge, Lasso, ElasticNet    linear
linear_model        Poisson, Huber, Quantile, SGDRegressor, ...   linear, losses
losses, penalties   values and gradients; proximal maps           losses
svm, kernel_ridge   KernelLogisticRegression, KernelRidge, ...    svm, distances, linalg
linear_model        summary: errors, tests, checks                ·
naive_bayes         GaussianNB, MultinomialNB, ComplementNB, ...  bayes
discriminant_...    LinearDiscriminantAnalysis, Quadratic...      ·
decomposition       PCA, TruncatedSVD, KernelPCA, ...             decomposition
information         entropy, divergence, mutual information       ·
optimize            descent methods, stopping rules, traces       ·
metrics             distances, kernels, scores of clusterings     distances, scores
metrics             bootstrap_metric, delong_test                 scores
manifold            TSNE, MDS, Isomap, embeddings and measures    manifold
model_selection     bootstrap_validate, tests between models      (none)
accelerate          scikit-learn served by fastml, and a report   (none)
convert             save, load; models of other libraries         hist
inspection          permutation_importance, shapley_values, ...   forest, tree
feature_selection   SelectKBest, mutual information, RFE, ...     selection
imbalance           SMOTE, RandomOverSampler, TomekLinks, ...     (none)
preprocessing       scalers, encoders, bins, new columns          preprocessing
explore             describe: a table of data at a glance         explore
blocks              data larger than memory                       (none)
mapreduce           run: map, combine, shuffle, reduce            cluster
spark               estimators and models of pyspark.ml           (none)
==================  ============================================  ==========================

The README has the same list for every single estimator.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

_SUBMODULES = (
    "accelerate",
    "blocks",
    "cluster",
    "convert",
    "decomposition",
    "density",
    "discriminant_analysis",
    "ensemble",
    "explore",
    "feature_selection",
    "imbalance",
    "impute",
    "information",
    "inspection",
    "kernel_ridge",
    "linear_model",
    "losses",
    "manifold",
    "mapreduce",
    "metrics",
    "mixture",
    "model_selection",
    "naive_bayes",
    "neighbors",
    "optimize",
    "outliers",
    "penalties",
    "plot",
    "preprocessing",
    "svm",
    "tree",
)
_FUNCTIONS = {
    "set_num_threads": "fastml._threads",
    "thread_limit": "fastml._threads",
    "warmup": "fastml._warmup",
}

_WITH_EXTRAS = ("spark",)
"""Submodules that need more than fastml does: `pip install "fastml[spark]"`."""

__all__ = ["__version__", *_SUBMODULES, *_FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or name in _WITH_EXTRAS:
        return importlib.import_module(f"fastml.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'fastml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_WITH_EXTRAS])
