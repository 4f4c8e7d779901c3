"""Areas under curves."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import combinations
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions
from fastml._validation import kernel_view
from fastml.kernels.scores.score_order import ordered_pairs, precision_area
from fastml.metrics._checks import (
    ARRAYS,
    OPTIONAL_ARRAY,
    check_lengths,
    checked,
    finite_numbers,
    is_indicator_matrix,
    is_plain,
    is_plain_weights,
    one_axis,
    warn_undefined,
)
from fastml.metrics._classification._labels import encode_labels
from fastml.metrics._ranking._curves import SCORED, roc_points
from fastml.metrics._ranking._order import (
    are_sortable,
    check_scores,
    count_thresholds,
    find_positives,
    sort_scores,
    two_labels,
)

_AVERAGE: list = [StrOptions({"micro", "macro", "samples", "weighted"}), None]


@checked(x=ARRAYS, y=ARRAYS)
def auc(x, y):
    """Area under a curve of points, by the trapezoidal rule.

    Parameters
    ----------
    x : array-like of shape (n,)
        Rising or falling.
    y : array-like of shape (n,)
        Heights.

    Returns
    -------
    area : float

    Examples
    --------
    >>> from fastml.metrics import auc
    >>> auc([0, 0.5, 0.5, 1], [0, 0.5, 1, 1])
    0.625
    """
    check_lengths(x, y)
    x, y = one_axis(x), one_axis(y)
    if x.dtype.kind == "b":
        x = x.astype(np.intp)
    if x.shape[0] < 2:
        raise ValueError(
            f"At least 2 points are needed to compute area under curve, but x.shape = {x.shape}"
        )
    steps = np.diff(x)
    direction = 1
    if (steps < 0).any():
        if not (steps <= 0).all():
            raise ValueError(f"x is neither increasing nor decreasing : {x}.")
        direction = -1
    return float(direction * np.sum(steps * (y[1:] + y[:-1])) / 2)


# ---------------------------------------------------------------------------- two classes


FEW_ROWS = 10_000
"""Up to so many rows the area is summed as scikit-learn does, to its last bit: people compare such
areas with thresholds. Of more rows pairs are counted, which is exact and takes half the time."""


def _binary_roc_auc(is_positive, y_score, sample_weight=None, max_fpr=None) -> float:
    n_positives = np.count_nonzero(is_positive)
    if n_positives in (0, is_positive.shape[0]):
        warn_undefined(
            "Only one class is present in y_true. ROC AUC score is not defined in that case.", 4
        )
        return float("nan")
    arrays = check_scores(is_positive, y_score, sample_weight)
    partial_area = max_fpr is not None and max_fpr != 1
    many = is_positive.shape[0] > FEW_ROWS
    if many and arrays[2] is None and not partial_area and are_sortable(arrays[1]):
        ordered = sort_scores(*arrays[:2])
        above, tied = ordered_pairs(*(kernel_view(each) for each in ordered))
        n_pairs = float(ordered.positives.shape[0]) * ordered.negatives.shape[0]
        return (above + tied / 2) / n_pairs
    fpr, tpr, _ = roc_points(count_thresholds(*arrays), True)
    if not partial_area:
        return auc(fpr, tpr)
    stop = np.searchsorted(fpr, max_fpr, "right")
    end = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    area = auc(np.append(fpr[:stop], max_fpr), np.append(tpr[:stop], end))
    least = 0.5 * max_fpr**2
    return 0.5 * (1 + (area - least) / (max_fpr - least))


def _binary_average_precision(is_positive, y_score, sample_weight=None) -> float:
    arrays = check_scores(is_positive, y_score, sample_weight)
    if not arrays[0].any():
        warnings.warn(
            "No positive class found in y_true, recall is set to one for all thresholds.",
            stacklevel=4,
        )
        return 0.0
    if arrays[2] is None and are_sortable(arrays[1]):
        ordered = sort_scores(*arrays[:2])
        area = precision_area(*(kernel_view(each) for each in ordered))
        return float(area / ordered.positives.shape[0])
    fps, tps, _ = count_thresholds(*arrays)
    new = np.diff(tps, prepend=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(tps + fps != 0, tps / (tps + fps), 0.0)
    return float(max(0.0, np.sum(new * precision) / tps[-1]))


# ---------------------------------------------------------------------------- several labels


def _averaged(metric, indicators, y_score, average, sample_weight):
    """A binary metric of every column of an indicator matrix (or row, for 'samples'), averaged."""
    from sklearn.utils.validation import check_array

    check_lengths(indicators, y_score, sample_weight)
    y_true = indicators if is_indicator_matrix(indicators) else check_array(indicators)
    y_score = finite_numbers(y_score, ensure_2d=True)
    of_rows, of_scores = sample_weight, None
    if average == "micro":
        if of_rows is not None:
            of_rows = np.repeat(of_rows, y_true.shape[1])
        return float(metric(y_true.ravel() == 1, y_score.ravel(), of_rows))
    if average == "weighted":
        of_scores = y_true.sum(axis=0) if of_rows is None else of_rows @ y_true
        if np.isclose(of_scores.sum(), 0.0):
            return 0
    elif average == "samples":
        of_rows, of_scores = None, sample_weight
        y_true, y_score = y_true.T, y_score.T
    scores = np.array(
        [
            metric(y_true[:, c] == 1, np.ascontiguousarray(y_score[:, c]), of_rows)
            for c in range(y_score.shape[1])
        ]
    )
    if average is None:
        return scores
    if of_scores is not None:
        scores[np.asarray(of_scores) == 0] = 0
    return float(np.average(scores, weights=of_scores))


def _columns_of_classes(codes: NDArray, n_classes: int) -> NDArray:
    return (codes[:, None] == np.arange(n_classes)).astype(np.intp)


@checked(
    y_true=ARRAYS,
    y_score=ARRAYS,
    average=_AVERAGE,
    sample_weight=OPTIONAL_ARRAY,
    max_fpr=[Interval(Real, 0.0, 1, closed="right"), None],
    multi_class=[StrOptions({"raise", "ovr", "ovo"})],
    labels=OPTIONAL_ARRAY,
)
def roc_auc_score(
    y_true,
    y_score,
    *,
    average="macro",
    sample_weight=None,
    max_fpr=None,
    multi_class="raise",
    labels=None,
):
    """Area under the ROC curve: the share of pairs of a positive and a negative in right order.

    A tied pair counts a half. 0.5 is chance, 0 a perfectly inverted ranking.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Labels, of which the larger is positive, or an indicator matrix.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores; for more than two classes probabilities.
    average : {'micro', 'macro', 'samples', 'weighted'} or None, default='macro'
        How areas of several labels become one: see `precision_score`.
    {sample_weight}
    max_fpr : float, default=None
        If given, the area up to this false positive rate, scaled so that 0.5 is chance and 1 is
        perfect (McClish, 1989).
    multi_class : {'raise', 'ovr', 'ovo'}, default='raise'
        For more than two classes: each against the rest, or all pairs of classes (Hand and Till,
        2001).
    {all_labels}

    Returns
    -------
    area : float, or ndarray of shape (n_classes,) if average is None

    Examples
    --------
    >>> from fastml.metrics import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    pair = two_labels(y_true)
    plain = pair is not None and is_plain(y_true, y_score) and y_score.dtype.kind in "fiub"
    if pair is not None and plain and is_plain_weights(sample_weight, y_true):
        positives = (y_true == pair[1]) & (pair[0] != pair[1])
        return float(_binary_roc_auc(positives, y_score, sample_weight, max_fpr))
    return _roc_auc_of_any(y_true, y_score, average, sample_weight, max_fpr, multi_class, labels)


def _roc_auc_of_any(y_true, y_score, average, sample_weight, max_fpr, multi_class, labels):
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_array, column_or_1d

    kind = type_of_target(y_true, input_name="y_true")
    y_true = check_array(y_true, ensure_2d=False, dtype=None)
    y_score = check_array(y_score, ensure_2d=False)
    if sample_weight is not None:
        sample_weight = column_or_1d(sample_weight)
    many_columns = y_score.ndim == 2 and y_score.shape[1] > 2
    if kind == "multiclass" or (kind == "binary" and many_columns):
        if max_fpr is not None and max_fpr != 1.0:
            raise ValueError(
                "Partial AUC computation not available in multiclass setting, 'max_fpr' must be "
                f"set to `None`, received `max_fpr={max_fpr}` instead"
            )
        if multi_class == "raise":
            raise ValueError("multi_class must be in ('ovo', 'ovr')")
        return _multiclass_roc_auc(y_true, y_score, labels, multi_class, average, sample_weight)
    metric = partial(_binary_roc_auc, max_fpr=max_fpr)
    if kind == "binary":
        y_true = column_or_1d(y_true)
        encoded = encode_labels(y_true)
        return float(metric(encoded.codes == 1, column_or_1d(y_score), sample_weight))
    if kind != "multilabel-indicator":
        raise ValueError(f"{kind} format is not supported")
    return _averaged(metric, y_true, y_score, average, sample_weight)


def _multiclass_roc_auc(y_true, y_score, labels, multi_class, average, sample_weight):
    if y_score.ndim != 2:
        raise ValueError(
            "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains "
            f"multiple classes. Got `y_score.shape={y_score.shape}`."
        )
    if not np.allclose(1, y_score.sum(axis=1)):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum "
            "up to 1.0 over classes"
        )
    allowed = ("macro", "weighted", None)
    if multi_class == "ovr":
        allowed = ("micro", *allowed)
    if average not in allowed:
        raise ValueError(f"average must be one of {allowed} for multiclass problems")
    if average is None and multi_class == "ovo":
        raise NotImplementedError("average=None is not implemented for multi_class='ovo'.")
    codes, n_classes = _codes_of_columns(y_true, y_score, labels)
    if multi_class == "ovr":
        indicators = _columns_of_classes(codes, n_classes)
        return _averaged(_binary_roc_auc, indicators, y_score, average, sample_weight)
    if sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' "
            "must be None in this case."
        )
    return _one_against_one(codes, y_score, average)


def _codes_of_columns(y_true, y_score, labels) -> tuple[NDArray, int]:
    """The column of each row's class."""
    from sklearn.utils.validation import check_consistent_length, column_or_1d

    check_consistent_length(y_true, y_score)
    encoded = encode_labels(column_or_1d(y_true))
    if labels is None:
        if encoded.labels.shape[0] != y_score.shape[1]:
            raise ValueError(
                "Number of classes in y_true not equal to the number of columns in 'y_score'"
            )
        return encoded.codes, y_score.shape[1]
    labels = column_or_1d(labels)
    classes = np.unique(labels)
    if len(classes) != len(labels):
        raise ValueError("Parameter 'labels' must be unique")
    if not np.array_equal(classes, labels):
        raise ValueError("Parameter 'labels' must be ordered")
    if len(classes) != y_score.shape[1]:
        raise ValueError(
            f"Number of given labels, {len(classes)}, not equal to the number of columns in "
            f"'y_score', {y_score.shape[1]}"
        )
    if len(np.setdiff1d(encoded.labels, classes)):
        raise ValueError("'y_true' contains labels not in parameter 'labels'")
    return np.searchsorted(classes, encoded.labels)[encoded.codes], y_score.shape[1]


def _one_against_one(codes: NDArray, y_score: NDArray, average) -> float:
    """Mean over pairs of classes of the mean of their two areas."""
    areas, shares = [], []
    for a, b in combinations(np.unique(codes), 2):
        rows = np.flatnonzero((codes == a) | (codes == b))
        is_a = codes[rows] == a
        both = (
            _binary_roc_auc(is_a, y_score[rows, a]),
            _binary_roc_auc(~is_a, y_score[rows, b]),
        )
        areas.append(sum(both) / 2)
        shares.append(rows.shape[0] / codes.shape[0])
    return float(np.average(areas, weights=shares if average == "weighted" else None))


@checked(
    y_true=ARRAYS,
    y_score=ARRAYS,
    average=_AVERAGE,
    pos_label=[Real, str, "boolean"],
    sample_weight=OPTIONAL_ARRAY,
)
def average_precision_score(y_true, y_score, *, average="macro", pos_label=1, sample_weight=None):
    """Area under the precision-recall curve as a step function: sum (R_n - R_(n-1)) P_n.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Labels, or an indicator matrix.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores.
    average : {'micro', 'samples', 'weighted', 'macro'} or None, default='macro'
        How areas of several labels become one: see `precision_score`.
    pos_label : int, float, bool or str, default=1
        The positive label of two.
    {sample_weight}

    Returns
    -------
    area : float, or ndarray of shape (n_classes,) if average is None

    Examples
    --------
    >>> from fastml.metrics import average_precision_score
    >>> average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.83...
    """
    pair = two_labels(y_true)
    if pair is not None and (pos_label in pair or pair[0] == pair[1]):
        return _binary_average_precision(y_true == pos_label, y_score, sample_weight)
    return _average_precision_of_any(y_true, y_score, average, pos_label, sample_weight)


def _average_precision_of_any(y_true, y_score, average, pos_label, sample_weight):
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import column_or_1d

    if sample_weight is not None:
        sample_weight = column_or_1d(sample_weight)
    kind = type_of_target(y_true, input_name="y_true")
    if kind == "binary":
        present = np.unique(y_true)
        if present.shape[0] == 2 and pos_label not in present:
            raise ValueError(
                f"pos_label={pos_label} is not a valid label. It should be one of {present}"
            )
        positives = find_positives(y_true, pos_label)
        return _binary_average_precision(column_or_1d(positives), y_score, sample_weight)
    if kind in ("multilabel-indicator", "multiclass") and pos_label != 1:
        raise ValueError(
            f"Parameter pos_label is fixed to 1 for {kind} y_true. Do not set pos_label or set "
            "pos_label to 1."
        )
    if kind == "multiclass":
        encoded = encode_labels(column_or_1d(y_true))
        y_true = _columns_of_classes(encoded.codes, encoded.labels.shape[0])
        y_score = np.asarray(y_score)
        if y_score.shape != y_true.shape:
            raise ValueError(
                "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains "
                f"multiple classes. Got `y_score.shape={y_score.shape}`."
            )
    elif kind != "multilabel-indicator":
        raise ValueError(f"{kind} format is not supported")
    return _averaged(_binary_average_precision, y_true, y_score, average, sample_weight)


# ---------------------------------------------------------------------------- beyond scikit-learn


class OrderedPairs(NamedTuple):
    """Pairs of a positive and a negative, by the order of their scores."""

    ordered: float
    inversions: float
    ties: float
    share: float
    """Ordered pairs and half of the tied ones, of all: the area under the ROC curve."""


@checked(**SCORED)
def ordered_pair_share(y_true, y_score, *, pos_label=None, sample_weight=None):
    """AUC as a share of ordered pairs, 1 - inversions / (n+ n-), with the inversions.

    Parameters
    ----------
    {y_true}
    {y_score}
    {pos_label}
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; a pair has the product of two.

    Returns
    -------
    pairs : OrderedPairs
        With the fields ordered, inversions, ties (numbers of pairs, or their weights) and share.

    Examples
    --------
    >>> from fastml.metrics import ordered_pair_share
    >>> ordered_pair_share([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    OrderedPairs(ordered=3, inversions=1, ties=0, share=0.75)
    """
    positives = find_positives(y_true, pos_label)
    arrays = check_scores(positives, y_score, sample_weight)
    if arrays[2] is None and are_sortable(arrays[1]):
        ordered = sort_scores(*arrays[:2])
        above, tied = (int(n) for n in ordered_pairs(*(kernel_view(each) for each in ordered)))
        total = ordered.positives.shape[0] * ordered.negatives.shape[0]
    else:
        fps, tps, _ = count_thresholds(*arrays)
        new_tps, new_fps = np.diff(tps, prepend=0.0), np.diff(fps, prepend=0.0)
        above, tied = float(new_tps @ (fps[-1] - fps)), float(new_tps @ new_fps)
        total = float(tps[-1] * fps[-1])
    if total == 0:
        warn_undefined("Only one class is present in y_true. There are no pairs to order.")
        return OrderedPairs(above, total - above - tied, tied, float("nan"))
    return OrderedPairs(above, total - above - tied, tied, (above + tied / 2) / total)
