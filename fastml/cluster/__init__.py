"""Clusters by centres, by hierarchies and by density; and how many of them."""

from fastml.cluster._choose_k import ChoiceOfK, choose_k, elbow_ratios
from fastml.cluster._dbscan import DBSCAN, dbscan
from fastml.cluster._hierarchy._agglomerative import (
    AgglomerativeClustering,
    linkage_tree,
    ward_tree,
)
from fastml.cluster._hierarchy._linkage import linkage
from fastml.cluster._kmeans._bisecting import BisectingKMeans
from fastml.cluster._kmeans._kmeans import KMeans, k_means
from fastml.cluster._kmeans._minibatch import MiniBatchKMeans
from fastml.cluster._kmeans._plusplus import kmeans_plusplus
from fastml.cluster._prototypes._bfr import BFR
from fastml.cluster._prototypes._centroids import KCentroids
from fastml.cluster._prototypes._medians import KMedians
from fastml.cluster._prototypes._medoids import KMedoids
from fastml.cluster._prototypes._soft import SoftKMeans
from fastml.cluster._prototypes._spherical import SphericalKMeans

__all__ = [
    "BFR",
    "DBSCAN",
    "AgglomerativeClustering",
    "BisectingKMeans",
    "ChoiceOfK",
    "KCentroids",
    "KMeans",
    "KMedians",
    "KMedoids",
    "MiniBatchKMeans",
    "SoftKMeans",
    "SphericalKMeans",
    "choose_k",
    "dbscan",
    "elbow_ratios",
    "k_means",
    "kmeans_plusplus",
    "linkage",
    "linkage_tree",
    "ward_tree",
]
