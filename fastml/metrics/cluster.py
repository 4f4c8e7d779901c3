"""How good a clustering is: by its shape, or beside known classes."""

from fastml.metrics._clustering._contingency import contingency_matrix
from fastml.metrics._clustering._information import (
    adjusted_mutual_info_score,
    completeness_score,
    expected_mutual_information,
    homogeneity_completeness_v_measure,
    homogeneity_score,
    mutual_info_score,
    normalized_mutual_info_score,
    v_measure_score,
)
from fastml.metrics._clustering._pair_counts import (
    adjusted_rand_score,
    fowlkes_mallows_score,
    pair_confusion_matrix,
    pair_fbeta_score,
    pair_precision_score,
    pair_recall_score,
    purity_score,
    rand_score,
)
from fastml.metrics._clustering._silhouette import dunn_index, silhouette_samples, silhouette_score
from fastml.metrics._clustering._spread import (
    calinski_harabasz_score,
    davies_bouldin_score,
    within_cluster_distance,
)

__all__ = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "calinski_harabasz_score",
    "completeness_score",
    "contingency_matrix",
    "davies_bouldin_score",
    "dunn_index",
    "expected_mutual_information",
    "fowlkes_mallows_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "pair_confusion_matrix",
    "pair_fbeta_score",
    "pair_precision_score",
    "pair_recall_score",
    "purity_score",
    "rand_score",
    "silhouette_samples",
    "silhouette_score",
    "v_measure_score",
    "within_cluster_distance",
]
