"""Agreement of two partitions by entropy and mutual information."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import scipy.sparse as sp

from fastml._sklearn import StrOptions, validate_params
from fastml._validation import check_array
from fastml.kernels.scores.contingency import expected_information
from fastml.metrics._clustering._contingency import BETA, TWO_LABELINGS, Table, checked_table

AVERAGE: dict = {"average_method": [StrOptions({"arithmetic", "max", "min", "geometric"})]}


def _entropy(sizes) -> float:
    """- sum p log p of cluster sizes; 0 for a single cluster, 1 for none."""
    if sizes.size == 0:
        return 1.0
    if sizes.size == 1:
        return 0.0
    total = float(sizes.sum())
    return float(-np.sum((sizes / total) * (np.log(sizes) - log(total))))


def _information(table: Table) -> float:
    """Mutual information, with terms of rounding size dropped."""
    if not table.counts.size or table.row_sums.size == 1 or table.column_sums.size == 1:
        return 0.0
    total = table.counts.sum()
    share = table.counts / total
    outer = table.row_sums[table.rows] * table.column_sums[table.columns]
    log_outer = -np.log(outer) + log(table.row_sums.sum()) + log(table.column_sums.sum())
    terms = share * (np.log(table.counts) - log(total)) + share * log_outer
    terms = np.where(np.abs(terms) < np.finfo(np.float64).eps, 0.0, terms)
    return float(max(terms.sum(), 0.0))


def _expected(row_sums, column_sums) -> float:
    """Expected mutual information of random partitions with these sizes."""
    if row_sums.size == 1 or column_sums.size == 1:
        return 0.0
    from scipy.special import gammaln

    numbers = np.arange(row_sums.sum() + 1, dtype=np.float64)
    logs = np.log(np.maximum(numbers, 1.0))
    sizes, counts = np.unique(row_sums, return_counts=True)
    others, other_counts = np.unique(column_sums, return_counts=True)
    return float(
        expected_information(sizes, counts, others, other_counts, gammaln(numbers + 1.0), logs)
    )


def expected_mutual_information(contingency, n_samples):
    """Expected mutual information of two random partitions with the given margins.

    Parameters
    ----------
    contingency : {ndarray, sparse matrix} of shape (n_classes, n_clusters)
        A contingency table of whole numbers.
    n_samples : int
        Its sum.

    Returns
    -------
    expected : float

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.metrics.cluster import expected_mutual_information
    >>> expected_mutual_information(np.array([[2, 0], [0, 2]]), 4)
    0.23...
    """
    row_sums = np.ravel(contingency.sum(axis=1)).astype(np.int64)
    column_sums = np.ravel(contingency.sum(axis=0)).astype(np.int64)
    if int(row_sums.sum()) != int(n_samples):
        raise ValueError(f"contingency sums up to {row_sums.sum()}, but n_samples={n_samples}")
    return _expected(row_sums, column_sums)


def _average(a: float, b: float, method: str) -> float:
    averages = {
        "min": min(a, b),
        "max": max(a, b),
        "arithmetic": (a + b) / 2,
        "geometric": sqrt(a * b),
    }
    return averages[method]


@validate_params({**TWO_LABELINGS, **BETA}, prefer_skip_nested_validation=True)
def homogeneity_completeness_v_measure(labels_true, labels_pred, *, beta=1.0):
    """Homogeneity, completeness and their weighted harmonic mean.

    Homogeneity MI / H(classes) is 1 if clusters hold one class each, completeness MI / H(clusters)
    if classes lie in one cluster each.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    beta : float, default=1.0
        Above 1, completeness counts more.

    Returns
    -------
    homogeneity, completeness, v_measure : float
        Between 0 and 1.

    References
    ----------
    A. Rosenberg, J. Hirschberg, "V-Measure: a conditional entropy-based external cluster evaluation
    measure", EMNLP-CoNLL (2007).

    Examples
    --------
    >>> from fastml.metrics import homogeneity_completeness_v_measure
    >>> homogeneity_completeness_v_measure([0, 0, 1, 1], [0, 0, 1, 1])
    (1.0, 1.0, 1.0)
    """
    table = checked_table(labels_true, labels_pred)
    if not table.counts.size:
        return 1.0, 1.0, 1.0
    information = _information(table)
    of_classes, of_clusters = _entropy(table.row_sums), _entropy(table.column_sums)
    homogeneity = information / of_classes if of_classes else 1.0
    completeness = information / of_clusters if of_clusters else 1.0
    if homogeneity + completeness == 0.0:
        return homogeneity, completeness, 0.0
    v_measure = (1 + beta) * homogeneity * completeness / (beta * homogeneity + completeness)
    return float(homogeneity), float(completeness), float(v_measure)


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def homogeneity_score(labels_true, labels_pred):
    """MI / H(classes): 1 if every cluster holds one class.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import homogeneity_score
    >>> homogeneity_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[0]


@validate_params(TWO_LABELINGS, prefer_skip_nested_validation=True)
def completeness_score(labels_true, labels_pred):
    """MI / H(clusters): 1 if every class lies in one cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import completeness_score
    >>> completeness_score([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[1]


@validate_params({**TWO_LABELINGS, **BETA}, prefer_skip_nested_validation=True)
def v_measure_score(labels_true, labels_pred, *, beta=1.0):
    """Weighted harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    beta : float, default=1.0
        Above 1, completeness counts more.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import v_measure_score
    >>> round(v_measure_score([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.8
    """
    return homogeneity_completeness_v_measure(labels_true, labels_pred, beta=beta)[2]


@validate_params(
    {
        "labels_true": ["array-like", None],
        "labels_pred": ["array-like", None],
        "contingency": ["array-like", "sparse matrix", None],
    },
    prefer_skip_nested_validation=True,
)
def mutual_info_score(labels_true, labels_pred, *, contingency=None):
    """Mutual information in nats, :math:`\\sum_{ij} p_{ij} \\log (p_{ij} / (p_i p_j))`.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    contingency : {array-like, sparse matrix} of shape (n_classes, n_clusters), default=None
        The contingency table instead of labels.

    Returns
    -------
    information : float
        Not negative.

    Examples
    --------
    >>> from fastml.metrics import mutual_info_score
    >>> mutual_info_score([0, 0, 1, 1], [0, 0, 1, 1])
    0.69...
    """
    if contingency is None:
        return _information(checked_table(labels_true, labels_pred))
    contingency = check_array(
        contingency, accept_sparse=["csr", "csc", "coo"], dtype=[int, np.int32, np.int64]
    )
    if isinstance(contingency, np.ndarray):
        rows, columns = np.nonzero(contingency)
        counts = contingency[rows, columns]
    else:
        rows, columns, counts = sp.find(contingency)
    margins = (np.ravel(contingency.sum(axis=axis)).astype(np.int64) for axis in (1, 0))
    return _information(Table(rows, columns, counts, *margins))


@validate_params({**TWO_LABELINGS, **AVERAGE}, prefer_skip_nested_validation=True)
def adjusted_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information, adjusted for chance: (MI - E MI) / (average H - E MI).

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    average_method : {'arithmetic', 'geometric', 'min', 'max'}, default='arithmetic'
        Average of the two entropies.

    Returns
    -------
    score : float
        At most 1; 0 on average for random labels.

    References
    ----------
    N. Vinh, J. Epps, J. Bailey, "Information theoretic measures for clusterings comparison",
    J. Machine Learning Research 11 (2010).

    Examples
    --------
    >>> from fastml.metrics import adjusted_mutual_info_score
    >>> adjusted_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    """
    table = checked_table(labels_true, labels_pred)
    n_classes, n_clusters = table.row_sums.size, table.column_sums.size
    if n_classes == n_clusters <= 1:
        return 1.0
    if n_classes == 1 or n_clusters == 1:
        return 0.0
    expected = _expected(table.row_sums, table.column_sums)
    average = _average(_entropy(table.row_sums), _entropy(table.column_sums), average_method)
    return float(
        _away_from_zero(_information(table) - expected) / _away_from_zero(average - expected)
    )


def _away_from_zero(value: float) -> float:
    """``value``, at least eps in size: where MI and its bound are equal, 0 / 0 should be 1."""
    eps = np.finfo(np.float64).eps
    return min(value, -eps) if value < 0 else max(value, eps)


@validate_params({**TWO_LABELINGS, **AVERAGE}, prefer_skip_nested_validation=True)
def normalized_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information over an average of the two entropies.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    average_method : {'arithmetic', 'geometric', 'min', 'max'}, default='arithmetic'
        Average of the two entropies.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from fastml.metrics import normalized_mutual_info_score
    >>> normalized_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    """
    table = checked_table(labels_true, labels_pred)
    if table.row_sums.size == table.column_sums.size <= 1:
        return 1.0
    information = _information(table)
    if information == 0.0:
        return 0.0
    average = _average(_entropy(table.row_sums), _entropy(table.column_sums), average_method)
    return float(information / average)
