"""Indices from the means of clusters: Calinski-Harabasz, Davies-Bouldin, distance within."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array, check_X_y

from fastml._engines.labels import Clusters
from fastml._sklearn import StrOptions, validate_params
from fastml.metrics._clustering._checks import check_number_of_labels

_ROWS_AND_LABELS = {"X": ["array-like"], "labels": ["array-like"]}


def _rows_and_clusters(X, labels) -> tuple[np.ndarray, Clusters]:
    """Rows in float64, sorted by cluster."""
    X, labels = check_X_y(X, labels)
    clusters = Clusters(labels)
    check_number_of_labels(clusters.n_clusters, X.shape[0])
    return clusters.sort(X), clusters


@validate_params(_ROWS_AND_LABELS, prefer_skip_nested_validation=True)
def calinski_harabasz_score(X, labels):
    """Ratio of the dispersion between clusters to that within them.

    :math:`\\frac{n - K}{K - 1} \\sum_k n_k |m_k - m|^2 / \\sum_k \\sum_{x \\in k} |x - m_k|^2`,
    also called variance ratio criterion.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.

    Returns
    -------
    score : float
        The larger, the better; 1 where the dispersion within is zero.

    References
    ----------
    T. Caliński, J. Harabasz, "A dendrite method for cluster analysis", Communications in Statistics
    3 (1974).

    Examples
    --------
    >>> from fastml.metrics import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    50.0
    """
    rows, clusters = _rows_and_clusters(X, labels)
    means = clusters.means(rows)
    between = (clusters.sizes * ((means - rows.mean(axis=0)) ** 2).sum(axis=1)).sum()
    within = ((rows - means[clusters.sorted_codes]) ** 2).sum()
    if within == 0.0:
        return 1.0
    n, k = rows.shape[0], clusters.n_clusters
    return float(between * (n - k) / (within * (k - 1.0)))


@validate_params(_ROWS_AND_LABELS, prefer_skip_nested_validation=True)
def davies_bouldin_score(X, labels):
    """Mean over clusters of the likeness to the most similar other cluster.

    The likeness of i and j is :math:`(s_i + s_j) / |m_i - m_j|`, with s the mean distance of a
    cluster's rows to its mean.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.

    Returns
    -------
    score : float
        The smaller, the better; zero is the least.

    References
    ----------
    D. Davies, D. Bouldin, "A cluster separation measure", IEEE Trans. Pattern Analysis and Machine
    Intelligence 1 (1979).

    Examples
    --------
    >>> from fastml.metrics import davies_bouldin_score
    >>> davies_bouldin_score([[0, 1], [1, 1], [3, 4]], [0, 0, 1])
    0.12...
    """
    from fastml.metrics.pairwise import euclidean_distances

    rows, clusters = _rows_and_clusters(X, labels)
    means = clusters.means(rows)
    gaps = np.sqrt(((rows - means[clusters.sorted_codes]) ** 2).sum(axis=1))
    spread = np.add.reduceat(gaps, clusters.bounds[:-1]) / clusters.sizes
    distances = euclidean_distances(means)
    if np.allclose(spread, 0.0) or np.allclose(distances, 0.0):
        return 0.0
    distances[distances == 0.0] = np.inf
    return float(((spread[:, None] + spread) / distances).max(axis=1).mean())


@validate_params(
    {
        **_ROWS_AND_LABELS,
        "centers": ["array-like", None],
        "metric": [StrOptions({"sqeuclidean", "euclidean", "manhattan"})],
        "sample_weight": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
def within_cluster_distance(X, labels, *, centers=None, metric="sqeuclidean", sample_weight=None):
    """Sum of the distances of rows to their centres, Q(K).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.
    centers : array-like of shape (n_clusters, n_features), default=None
        Centres in the order of the sorted labels. None means what minimises Q: weighted means
        (for 'euclidean' too), or medians of the coordinates for 'manhattan'.
    metric : {'sqeuclidean', 'euclidean', 'manhattan'}, default='sqeuclidean'
        The distance; with squares, Q is the inertia of k-means.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    distance : float

    Examples
    --------
    >>> from fastml.metrics import within_cluster_distance
    >>> within_cluster_distance([[0.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1])
    2.5
    """
    from fastml._validation import check_weights

    X, labels = check_X_y(X, labels)
    clusters = Clusters(labels)
    weights = check_weights(sample_weight, X, dtype=np.float64)[clusters.order]
    rows = clusters.sort(X)
    if centers is None:
        centers = _centers(rows, weights, clusters, metric)
    else:
        centers = check_array(centers, dtype=np.float64)
        if centers.shape != (clusters.n_clusters, X.shape[1]):
            raise ValueError(
                f"centers must have the shape {(clusters.n_clusters, X.shape[1])} "
                f"(clusters, features), got {centers.shape}"
            )
    gaps = rows - centers[clusters.sorted_codes]
    if metric == "manhattan":
        distances = np.abs(gaps).sum(axis=1)
    else:
        distances = (gaps**2).sum(axis=1)
        if metric == "euclidean":
            distances = np.sqrt(distances)
    return float(weights @ distances)


def _centers(rows, weights, clusters, metric):
    if metric == "manhattan":
        parts = np.split(np.arange(rows.shape[0]), clusters.bounds[1:-1])
        return np.stack([_weighted_medians(rows[part], weights[part]) for part in parts])
    masses = np.add.reduceat(weights, clusters.bounds[:-1])
    sums = np.add.reduceat(weights[:, None] * rows, clusters.bounds[:-1], axis=0)
    return sums / np.where(masses > 0.0, masses, 1.0)[:, None]


def _weighted_medians(rows, weights):
    """Per column, a value with at most half of the weight on either side."""
    order = np.argsort(rows, axis=0, kind="stable")
    cumulated = np.cumsum(weights[order], axis=0)
    middle = (cumulated < 0.5 * cumulated[-1]).sum(axis=0)
    columns = np.arange(rows.shape[1])
    return rows[order[middle, columns], columns]
