"""Agreement of two partitions by pairs of rows, and purity."""

from __future__ import annotations

from math import sqrt

import numpy as np

from fastml._sklearn import StrOptions, validate_params
from fastml.metrics._clustering._contingency import BETA, TWO_LABELINGS, checked_table


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def pair_confusion_matrix(labels_true, labels_pred):
    """Ordered pairs of rows by whether they are together in the classes and in the clusters.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    C : ndarray of shape (2, 2), dtype=np.int64
        ``C[1, 1]`` pairs are together in both, ``C[1, 0]`` in the classes only, ``C[0, 1]`` in the
        clusters only, ``C[0, 0]`` in neither.

    Examples
    --------
    >>> from fastml.metrics.cluster import pair_confusion_matrix
    >>> pair_confusion_matrix([0, 0, 1, 2], [0, 0, 1, 1])
    array([[8, 2],
           [0, 2]])
    """
    table = checked_table(labels_true, labels_pred)
    n = table.row_sums.sum()
    squares = (table.counts**2).sum()
    same_class = (table.row_sums**2).sum()
    same_cluster = (table.column_sums**2).sum()
    both = squares - n
    clusters_only = same_cluster - squares
    classes_only = same_class - squares
    neither = n**2 - same_cluster - classes_only
    return np.array([[neither, clusters_only], [classes_only, both]], dtype=np.int64)


def _pairs(labels_true, labels_pred) -> tuple[int, int, int, int]:
    """tn, fp, fn, tp as Python integers, which do not overflow."""
    (tn, fp), (fn, tp) = pair_confusion_matrix(labels_true, labels_pred)
    return int(tn), int(fp), int(fn), int(tp)


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def rand_score(labels_true, labels_pred):
    """Rand index: share of the pairs on which both partitions agree, (TP + TN) / all.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from fastml.metrics import rand_score
    >>> rand_score([0, 0, 1, 2], [0, 0, 1, 1])
    0.83...
    """
    tn, fp, fn, tp = _pairs(labels_true, labels_pred)
    if fp + fn == 0:
        return 1.0
    return (tp + tn) / (tp + tn + fp + fn)


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def adjusted_rand_score(labels_true, labels_pred):
    """Rand index, adjusted for chance: (RI - E RI) / (max RI - E RI).

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float
        At most 1; 0 on average for random labels.

    References
    ----------
    L. Hubert, P. Arabie, "Comparing partitions", J. Classification 2 (1985).

    Examples
    --------
    >>> from fastml.metrics import adjusted_rand_score
    >>> adjusted_rand_score([0, 0, 1, 2], [0, 0, 1, 1])
    0.57...
    """
    tn, fp, fn, tp = _pairs(labels_true, labels_pred)
    if fn == 0 and fp == 0:
        return 1.0
    return 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def pair_precision_score(labels_true, labels_pred):
    """Share of the pairs in one cluster that are in one class: TP / (TP + FP).

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float
        1 where no two rows are in one cluster.

    Examples
    --------
    >>> from fastml.metrics import pair_precision_score
    >>> pair_precision_score([0, 0, 1, 2], [0, 0, 1, 1])
    0.5
    """
    _, fp, _, tp = _pairs(labels_true, labels_pred)
    return tp / (tp + fp) if tp + fp else 1.0


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def pair_recall_score(labels_true, labels_pred):
    """Share of the pairs in one class that are in one cluster: TP / (TP + FN).

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float
        1 where no two rows are in one class.

    Examples
    --------
    >>> from fastml.metrics import pair_recall_score
    >>> pair_recall_score([0, 0, 1, 2], [0, 0, 1, 1])
    1.0
    """
    _, _, fn, tp = _pairs(labels_true, labels_pred)
    return tp / (tp + fn) if tp + fn else 1.0


@validate_params({**TWO_LABELINGS, **BETA}, prefer_skip_nested_validation=True)
def pair_fbeta_score(labels_true, labels_pred, *, beta=1.0):
    """Weighted harmonic mean of pair precision and pair recall.

    :math:`F_\\beta = (1 + \\beta^2) P R / (\\beta^2 P + R)`.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    beta : float, default=1.0
        How much more recall counts than precision.

    Returns
    -------
    score : float
        0 where both are 0.

    Examples
    --------
    >>> from fastml.metrics import pair_fbeta_score
    >>> pair_fbeta_score([0, 0, 1, 2], [0, 0, 1, 1])
    0.66...
    """
    _, fp, fn, tp = _pairs(labels_true, labels_pred)
    denominator = (1.0 + beta**2) * tp + beta**2 * fn + fp
    return float((1.0 + beta**2) * tp / denominator) if denominator else 1.0


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def fowlkes_mallows_score(labels_true, labels_pred):
    """Geometric mean of pair precision and pair recall.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float
        Between 0 and 1.

    References
    ----------
    E. Fowlkes, C. Mallows, "A method for comparing two hierarchical clusterings", J. American
    Statistical Association 78 (1983).

    Examples
    --------
    >>> from fastml.metrics import fowlkes_mallows_score
    >>> fowlkes_mallows_score([0, 0, 1, 2], [0, 0, 1, 1])
    0.70...
    """
    _, fp, fn, tp = _pairs(labels_true, labels_pred)
    return sqrt(tp / (tp + fp)) * sqrt(tp / (tp + fn)) if tp else 0.0


@validate_params(
    {**TWO_LABELINGS, "average": [StrOptions({"weighted", "macro"})]},
    prefer_skip_nested_validation=True,
)
def purity_score(labels_true, labels_pred, *, average="weighted"):
    """Share of the most frequent class in a cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    average : {'weighted', 'macro'}, default='weighted'
        Clusters count by their size, :math:`\\frac1n \\sum_j \\max_i n_{ij}`, or all alike.

    Returns
    -------
    score : float
        Between 0 and 1; 1 if every cluster holds one class.

    Examples
    --------
    >>> from fastml.metrics import purity_score
    >>> purity_score([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])
    0.8
    """
    table = checked_table(labels_true, labels_pred)
    if not table.counts.size:
        return 1.0
    largest = np.zeros(table.column_sums.size, dtype=np.int64)
    np.maximum.at(largest, table.columns, table.counts)
    if average == "macro":
        return float((largest / table.column_sums).mean())
    return float(largest.sum() / table.column_sums.sum())
