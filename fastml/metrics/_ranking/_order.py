"""Scores of positives and negatives in order: what areas and curves are made of.

Without weights the scores themselves are sorted, positives and negatives apart; no indices are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.numeric.radix import sort_floats
from fastml.kernels.scores.score_order import split_scores, threshold_counts
from fastml.metrics._checks import (
    all_finite,
    check_lengths,
    is_plain,
    is_plain_weights,
    one_axis,
)
from fastml.metrics._classification._labels import label_range

MANY_SCORES = 1 << 12
_SORT_OPERATIONS = 8  # of a row, for the number of threads
_LARGEST_WHOLE = 1 << 53


class Sorted(NamedTuple):
    """Scores of positives and of negatives, both ascending, float64."""

    positives: NDArray
    negatives: NDArray


class Thresholds(NamedTuple):
    """Weight of positives and negatives with at least this score, by falling scores."""

    false_positives: NDArray
    true_positives: NDArray
    thresholds: NDArray


# ---------------------------------------------------------------------------- binary labels


def two_labels(y: object) -> tuple[int, int] | None:
    """The two integers (perhaps equal) that a plain array holds; None if it holds anything else."""
    if not is_plain(y) or not (y.dtype.kind in "ib" or y.dtype.char in "BHI"):  # type: ignore[attr-defined]
        return None
    array: NDArray = y  # type: ignore[assignment]
    low, high = label_range(array.astype(np.int64, copy=False))
    if high - low > 1 and not ((array == low) | (array == high)).all():
        return None
    return low, high


def find_positives(y_true, pos_label) -> NDArray:
    """Whether each row has the positive label; errors as of scikit-learn's curves."""
    from sklearn.utils.multiclass import type_of_target

    from fastml._sklearn import check_pos_label_consistency

    labels = two_labels(y_true)
    if labels is None:
        kind = type_of_target(y_true, input_name="y_true")
        if not (kind == "binary" or (kind == "multiclass" and pos_label is not None)):
            raise ValueError(f"{kind} format is not supported")
        pos_label = check_pos_label_consistency(pos_label, y_true)
    elif pos_label is None:
        usual = labels in ((0, 1), (-1, 1), (0, 0), (-1, -1), (1, 1))
        pos_label = 1 if usual else check_pos_label_consistency(None, y_true)
    return np.asarray(np.asarray(y_true) == pos_label)


# ---------------------------------------------------------------------------- order


def check_scores(is_positive, y_score, sample_weight):
    """Arrays of one axis and length, finite; rows of weight zero are left out."""
    plain = is_plain(y_score, is_positive) and y_score.dtype.char in "dfilqbBh?"
    if plain and sample_weight is None and all_finite(y_score):
        return is_positive, y_score, None
    from sklearn.utils import assert_all_finite

    from fastml._sklearn import check_sample_weight

    check_lengths(is_positive, y_score, sample_weight)
    is_positive, y_score = one_axis(is_positive), one_axis(y_score)
    if y_score.dtype.kind in "OUScV":
        from sklearn.utils.validation import check_array

        y_score = check_array(y_score, ensure_2d=False)  # numbers, or an error
    if not plain or not all_finite(y_score):
        assert_all_finite(y_score)
    if sample_weight is None:
        return is_positive, y_score, None
    weights = one_axis(sample_weight)
    if not is_plain_weights(weights, is_positive):
        weights = check_sample_weight(weights, is_positive)
    used = weights != 0
    if used.all():
        return is_positive, y_score, weights
    return is_positive[used], y_score[used], weights[used]


def are_sortable(y_score: NDArray) -> bool:
    """Whether float64 holds all scores exactly, by their type and size."""
    if y_score.dtype.char in "dfbBh?":
        return True
    if y_score.dtype.kind not in "iu" or not y_score.size:
        return False
    return int(y_score.min()) >= -_LARGEST_WHOLE and int(y_score.max()) <= _LARGEST_WHOLE


def sort_scores(is_positive: NDArray, y_score: NDArray) -> Sorted:
    """Positives and negatives apart; two threads for many rows."""
    scores = kernel_view(y_score, None if y_score.dtype == np.float32 else np.float64)
    split = np.empty(scores.shape[0])
    n_positives = split_scores(kernel_view(is_positive), scores, split)
    found = Sorted(split[:n_positives], split[n_positives:])
    if effective_n_threads(None, scores.shape[0] * _SORT_OPERATIONS) > 1:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(_sort, found.negatives)
            _sort(found.positives)
            other.result()
    else:
        _sort(found.positives)
        _sort(found.negatives)
    return found


def _sort(scores: NDArray) -> None:
    """In place: many by their digits, few by NumPy."""
    if scores.shape[0] < MANY_SCORES:
        scores.sort()
    else:
        sort_floats(scores, np.empty(scores.shape[0], dtype=np.uint64))


def count_thresholds(is_positive: NDArray, y_score: NDArray, weights) -> Thresholds:
    """Counts at every distinct score."""
    if weights is None and are_sortable(y_score):
        ordered = sort_scores(is_positive, y_score)
        n = y_score.shape[0]
        thresholds, hits, misses = np.empty(n), np.empty(n), np.empty(n)
        n = threshold_counts(
            kernel_view(ordered.positives), kernel_view(ordered.negatives), thresholds, hits, misses
        )
        return Thresholds(misses[:n], hits[:n], thresholds[:n].astype(y_score.dtype, copy=False))
    order = np.argsort(y_score, kind="stable")[::-1]
    scores, positive = y_score[order], is_positive[order]
    last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), scores.shape[0] - 1)
    of_rows = np.ones(scores.shape[0]) if weights is None else weights[order]
    return Thresholds(
        np.cumsum(of_rows * ~positive)[last], np.cumsum(of_rows * positive)[last], scores[last]
    )


def thresholds_of(y_true, y_score, pos_label=None, sample_weight=None) -> Thresholds:
    """Checks and counts for a curve."""
    is_positive = find_positives(y_true, pos_label)
    return count_thresholds(*check_scores(is_positive, y_score, sample_weight))
