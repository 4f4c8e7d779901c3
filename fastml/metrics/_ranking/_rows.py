"""Rankings row by row: labels of an indicator matrix, documents of a query, classes.

All rows are sorted at once; of equal scores each has the rank of the last.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval
from fastml.metrics._checks import (
    ARRAYS,
    ARRAYS_OR_SPARSE,
    OPTIONAL_ARRAY,
    check_lengths,
    checked,
    finite_numbers,
    is_indicator_matrix,
    is_plain,
    one_axis,
    warn_undefined,
)
from fastml.metrics._classification._labels import Encoded, encode_labels, is_plain_labels

RANKED: dict = {"y_true": ARRAYS, "y_score": ARRAYS, "sample_weight": OPTIONAL_ARRAY}
RANKED_OR_SPARSE: dict = {**RANKED, "y_true": ARRAYS_OR_SPARSE}
TOP: dict = {"k": [Interval(Integral, 1, None, closed="left"), None], "ignore_ties": ["boolean"]}


class RankedRows(NamedTuple):
    """Rows sorted by falling score."""

    values: NDArray  # of y_true
    first: NDArray  # place of the first of equal scores
    last: NDArray  # and of the last


def _rank_rows(values: NDArray, scores: NDArray) -> RankedRows:
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    places = np.arange(scores.shape[1])
    step = ranked[:, 1:] != ranked[:, :-1]
    starts = np.concatenate([np.ones((scores.shape[0], 1), dtype=bool), step], axis=1)
    ends = np.concatenate([step, np.ones((scores.shape[0], 1), dtype=bool)], axis=1)
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    behind = np.where(ends, places, scores.shape[1])[:, ::-1]
    last = np.minimum.accumulate(behind, axis=1)[:, ::-1]
    return RankedRows(np.take_along_axis(values, order, axis=1), first, last)


# ---------------------------------------------------------------------------- labels


def _check_indicators(y_true, y_score, sample_weight, *, two_axes: bool, one_column: bool):
    """A dense boolean indicator matrix and scores of the same shape."""
    from scipy.sparse import issparse
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_array

    plain = is_indicator_matrix(y_true)
    if not plain:
        sparse = False if two_axes else "csr"
        y_true = check_array(y_true, ensure_2d=two_axes, accept_sparse=sparse)
    y_score = finite_numbers(y_score, ensure_2d=two_axes)
    check_lengths(y_true, y_score, sample_weight)
    if plain and y_true.shape == y_score.shape:
        return y_true != 0, y_score
    kind = type_of_target(y_true, input_name="y_true")
    allowed = kind == "multilabel-indicator" or (
        one_column and kind == "binary" and y_true.ndim == 2
    )
    if one_column and y_true.shape != y_score.shape:
        raise ValueError("y_true and y_score have different shape")
    if not allowed:
        raise ValueError(f"{kind} format is not supported")
    if y_true.shape != y_score.shape:
        raise ValueError("y_true and y_score have different shape")
    return (y_true.toarray() if issparse(y_true) else y_true) != 0, y_score


def _hits_and_ranks(relevant: NDArray, y_score: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Of the ranked labels: whether relevant, relevant ones up to the rank, and the rank."""
    ranking = _rank_rows(relevant, y_score)
    counts = np.cumsum(ranking.values, axis=1)
    return ranking.values, np.take_along_axis(counts, ranking.last, axis=1), ranking.last + 1


@checked(**RANKED_OR_SPARSE)
def label_ranking_average_precision_score(y_true, y_score, *, sample_weight=None):
    """Mean, over rows and their relevant labels, of the share of relevant labels up to its rank.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Indicator matrix.
    y_score : array-like of shape (n_samples, n_labels)
        Scores.
    {sample_weight}

    Returns
    -------
    score : float
        1 for rows in which all labels, or none, are relevant.

    Examples
    --------
    >>> from fastml.metrics import label_ranking_average_precision_score
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[3, 2, 4], [9, 2, 1]])
    0.41...
    """
    relevant, y_score = _check_indicators(
        y_true, y_score, sample_weight, two_axes=False, one_column=True
    )
    is_hit, hits, ranks = _hits_and_ranks(relevant, y_score)
    n_relevant = relevant.sum(axis=1)
    sums = np.where(is_hit, hits / ranks, 0.0).sum(axis=1)
    trivial = (n_relevant == 0) | (n_relevant == relevant.shape[1])
    precisions = np.where(trivial, 1.0, sums / np.maximum(n_relevant, 1))
    if sample_weight is None:
        return float(precisions.mean())
    return float(np.dot(precisions, sample_weight) / np.sum(sample_weight))


@checked(**RANKED)
def coverage_error(y_true, y_score, *, sample_weight=None):
    """Mean number of labels, by falling score, that cover all relevant ones.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        Indicator matrix.
    y_score : array-like of shape (n_samples, n_labels)
        Scores.
    {sample_weight}

    Returns
    -------
    error : float
        0 for a row without relevant labels.

    Examples
    --------
    >>> from fastml.metrics import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 1]])
    1.5
    """
    relevant, y_score = _check_indicators(
        y_true, y_score, sample_weight, two_axes=True, one_column=False
    )
    least = np.where(relevant, y_score, np.inf).min(axis=1, keepdims=True)
    return float(np.average((y_score >= least).sum(axis=1), weights=sample_weight))


@checked(**RANKED_OR_SPARSE)
def label_ranking_loss(y_true, y_score, *, sample_weight=None):
    """Mean share of pairs of a relevant and another label that are not in right order.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples, n_labels)
        Indicator matrix.
    y_score : array-like of shape (n_samples, n_labels)
        Scores; equal scores are in wrong order.
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import label_ranking_loss
    >>> label_ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    0.75
    """
    relevant, y_score = _check_indicators(
        y_true, y_score, sample_weight, two_axes=False, one_column=False
    )
    is_hit, hits, ranks = _hits_and_ranks(relevant, y_score)
    wrong = np.where(is_hit, ranks - hits, 0).sum(axis=1)
    n_relevant = relevant.sum(axis=1)
    n_pairs = (relevant.shape[1] - n_relevant) * n_relevant
    losses = np.where(n_pairs > 0, wrong / np.maximum(n_pairs, 1), 0.0)
    return float(np.average(losses, weights=sample_weight))


# ---------------------------------------------------------------------------- gains


def _gains(y_true: NDArray, y_score: NDArray, k, log_base, ignore_ties: bool) -> NDArray:
    """Discounted gains of the rows; equal scores share their discounts."""
    discount = np.log(log_base) / np.log(np.arange(y_true.shape[1]) + 2)
    if k is not None:
        discount[k:] = 0
    if ignore_ties:
        order = np.argsort(y_score, axis=1)[:, ::-1]
        return np.take_along_axis(y_true, order, axis=1) @ discount
    values, first, last = _rank_rows(y_true, y_score)
    sums = np.concatenate([[0.0], np.cumsum(discount)])
    shared = (sums[last + 1] - sums[first]) / (last + 1 - first)
    return (values * shared).sum(axis=1)


def _check_documents(y_true, y_score, sample_weight) -> tuple[NDArray, NDArray]:
    y_true, y_score = finite_numbers(y_true), finite_numbers(y_score)
    check_lengths(y_true, y_score, sample_weight)
    return y_true, y_score


def _check_relevance(y_true: NDArray, y_score: NDArray) -> None:
    from sklearn.utils.multiclass import type_of_target

    kind = type_of_target(y_true, input_name="y_true")
    allowed = ("multilabel-indicator", "continuous-multioutput", "multiclass-multioutput")
    if kind not in allowed:
        raise ValueError(f"Only {allowed} formats are supported. Got {kind} instead")
    if y_true.shape != y_score.shape:
        raise ValueError("y_true and y_score have different shape")


@checked(**RANKED, **TOP, log_base=[Interval(Real, 0.0, None, closed="neither")])
def dcg_score(y_true, y_score, *, k=None, log_base=2, sample_weight=None, ignore_ties=False):
    """Discounted cumulative gain: mean over rows of sum_r y_(r) / log(r + 1), r the rank.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        Relevance.
    y_score : array-like of shape (n_samples, n_labels)
        Scores.
    k : int, default=None
        Highest ranks that count; by default all.
    log_base : float, default=2
        Base of the logarithm.
    {sample_weight}
    ignore_ties : bool, default=False
        Whether there are no equal scores; else these share their discounts.

    Returns
    -------
    gain : float

    Examples
    --------
    >>> from fastml.metrics import dcg_score
    >>> dcg_score([[10, 0, 0, 1, 5]], [[.1, .2, .3, 4, 70]])
    9.49...
    """
    y_true, y_score = _check_documents(y_true, y_score, sample_weight)
    _check_relevance(y_true, y_score)
    gains = _gains(y_true, y_score, k, log_base, ignore_ties)
    return float(np.average(gains, weights=sample_weight))


@checked(**RANKED, **TOP)
def ndcg_score(y_true, y_score, *, k=None, sample_weight=None, ignore_ties=False):
    """Discounted cumulative gain as a share of that of the true order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples, n_labels)
        Relevance, not negative.
    y_score : array-like of shape (n_samples, n_labels)
        Scores.
    k : int, default=None
        Highest ranks that count; by default all.
    {sample_weight}
    ignore_ties : bool, default=False
        Whether there are no equal scores; else these share their discounts.

    Returns
    -------
    share : float
        0 for rows without relevant entries.

    Examples
    --------
    >>> from fastml.metrics import ndcg_score
    >>> ndcg_score([[10, 0, 0, 1, 5]], [[.1, .2, .3, 4, 70]])
    0.69...
    """
    y_true, y_score = _check_documents(y_true, y_score, sample_weight)
    if y_true.min() < 0:
        raise ValueError("ndcg_score should not be used on negative y_true values.")
    if y_true.ndim > 1 and y_true.shape[1] <= 1:
        raise ValueError(
            "Computing NDCG is only meaningful when there is more than 1 document. Got "
            f"{y_true.shape[1]} instead."
        )
    _check_relevance(y_true, y_score)
    gains = _gains(y_true, y_score, k, 2, ignore_ties)
    most = _gains(y_true, y_true, k, 2, True)
    shares = np.where(most == 0, 0.0, gains / np.where(most == 0, 1.0, most))
    return float(np.average(shares, weights=sample_weight))


# ---------------------------------------------------------------------------- classes


@checked(
    **RANKED,
    k=[Interval(Integral, 1, None, closed="left")],
    normalize=["boolean"],
    labels=OPTIONAL_ARRAY,
)
def top_k_accuracy_score(y_true, y_score, *, k=2, normalize=True, sample_weight=None, labels=None):
    """Share of rows whose label is among the k with the highest scores.

    Of equal scores the later columns are higher.

    Parameters
    ----------
    {y_true}
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores, in the order of the sorted labels.
    k : int, default=2
        How many labels are guessed.
    normalize : bool, default=True
        Whether to return the share, not the number.
    {sample_weight}
    {all_labels}

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import top_k_accuracy_score
    >>> top_k_accuracy_score([0, 1, 2, 2], [[.5, .2, .2], [.3, .4, .2], [.2, .4, .3], [.7, .2, .1]])
    0.75
    """
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_array

    if is_plain(y_true) and is_plain_labels(y_true):
        encoded = encode_labels(y_true)
        kind = "binary" if encoded.labels.shape[0] <= 2 else "multiclass"
    else:
        y_true = one_axis(check_array(y_true, ensure_2d=False, dtype=None))
        kind = type_of_target(y_true, input_name="y_true")
        encoded = encode_labels(y_true)
    if kind == "binary" and labels is not None and len(labels) > 2:
        kind = "multiclass"
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y type must be 'binary' or 'multiclass', got '{kind}' instead.")
    y_score = finite_numbers(y_score)
    if kind == "binary":
        if y_score.ndim == 2 and y_score.shape[1] != 1:
            raise ValueError(
                f"`y_true` is binary while y_score is 2d with {y_score.shape[1]} classes. If "
                "`y_true` does not contain all the labels, `labels` must be provided."
            )
        y_score = one_axis(y_score)
    elif y_score.ndim != 2:
        raise ValueError(
            "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains "
            f"multiple classes. Got `y_score.shape={y_score.shape}`."
        )
    check_lengths(y_true, y_score, sample_weight)
    codes, n_classes = _codes_of_scores(encoded, y_score, labels)
    if k >= n_classes:
        warn_undefined(
            f"'k' ({k}) greater than or equal to 'n_classes' ({n_classes}) will result in a "
            "perfect score and is therefore meaningless."
        )
    hits = _binary_hits(codes, y_score, k) if kind == "binary" else _hits(codes, y_score, k)
    if normalize:
        return float(np.average(hits, weights=sample_weight))
    return float(np.sum(hits) if sample_weight is None else np.dot(hits, sample_weight))


def _codes_of_scores(encoded: Encoded, y_score: NDArray, labels) -> tuple[NDArray, int]:
    n_scores = y_score.shape[1] if y_score.ndim == 2 else 2
    if labels is None:
        n_classes = encoded.labels.shape[0]
        if n_classes != n_scores:
            raise ValueError(
                f"Number of classes in 'y_true' ({n_classes}) not equal to the number of classes "
                f"in 'y_score' ({n_scores}).You can provide a list of all known classes by "
                "assigning it to the `labels` parameter."
            )
        return encoded.codes, n_classes
    labels = one_axis(labels)
    classes = np.unique(labels)
    if len(classes) != len(labels):
        raise ValueError("Parameter 'labels' must be unique.")
    if not np.array_equal(classes, labels):
        raise ValueError("Parameter 'labels' must be ordered.")
    if len(classes) != n_scores:
        raise ValueError(
            f"Number of given labels ({len(classes)}) not equal to the number of classes in "
            f"'y_score' ({n_scores})."
        )
    if len(np.setdiff1d(encoded.labels, classes)):
        raise ValueError("'y_true' contains labels not in parameter 'labels'.")
    return np.searchsorted(classes, encoded.labels)[encoded.codes], len(classes)


def _binary_hits(codes: NDArray, y_score: NDArray, k: int) -> NDArray:
    if k > 1:
        return np.ones(y_score.shape, dtype=bool)
    threshold = 0.5 if y_score.min() >= 0 and y_score.max() <= 1 else 0
    return (y_score > threshold) == codes


def _hits(codes: NDArray, y_score: NDArray, k: int) -> NDArray:
    """Whether fewer than k classes are above the row's own."""
    own = np.take_along_axis(y_score, codes[:, None], axis=1)
    later = np.arange(y_score.shape[1]) > codes[:, None]
    above = (y_score > own) | ((y_score == own) & later)
    return above.sum(axis=1) < k
