"""Losses of predicted probabilities and decisions."""

from __future__ import annotations

import warnings
from math import sqrt
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Hidden, StrOptions
from fastml._validation import kernel_view
from fastml.kernels.scores.likelihood import binary_log_likelihood, log_likelihood
from fastml.metrics._checks import (
    ARRAYS,
    OPTIONAL_ARRAY,
    all_finite,
    check_lengths,
    checked,
    finite_numbers,
    is_plain,
    is_plain_weights,
    mean,
    one_axis,
    warn_undefined,
)
from fastml.metrics._classification._labels import check_pos_label, encode_labels, is_plain_labels

POSITIVE: dict = {"pos_label": [Real, str, "boolean", None]}
RENAMED: dict = {
    "y_true": ARRAYS,
    "y_proba": ["array-like", Hidden(None)],
    "sample_weight": OPTIONAL_ARRAY,
    "labels": OPTIONAL_ARRAY,
    "y_pred": ["array-like", str],
}


# ---------------------------------------------------------------------------- checks


def _check_probabilities(y_proba) -> NDArray:
    """float64 or float32, finite, of one or two axes."""
    plain = type(y_proba) is np.ndarray and y_proba.dtype.char in "df" and y_proba.ndim in (1, 2)
    if plain and y_proba.size and all_finite(y_proba):
        return y_proba
    from sklearn.utils.validation import check_array

    return check_array(y_proba, ensure_2d=False, dtype=[np.float64, np.float32])


def _renamed(y_proba, y_pred):
    """scikit-learn 1.9 calls y_pred y_proba."""
    if isinstance(y_pred, str) and y_pred == "deprecated":
        return y_proba
    if y_proba is not None:
        raise ValueError(
            "Cannot use both `y_pred` and `y_proba`. `y_pred` is deprecated, use `y_proba` instead."
        )
    warnings.warn(
        "`y_pred` was renamed to `y_proba` in version 1.9 and will be removed in 1.11. Use "
        "`y_proba` instead.",
        FutureWarning,
        stacklevel=3,
    )
    return y_pred


def _check_range(lowest, highest, below: str) -> None:
    if highest > 1:
        raise ValueError(f"y_prob contains values greater than 1: {highest}")
    if lowest < 0:
        raise ValueError(f"y_prob contains values {below} than 0: {lowest}")


def _check_weights(y_proba, y_true, sample_weight) -> NDArray | None:
    check_lengths(y_proba, y_true, sample_weight)
    if sample_weight is None or is_plain_weights(
        sample_weight, y_proba if y_proba.ndim == 1 else y_proba[:, 0]
    ):
        return sample_weight
    from fastml._sklearn import check_sample_weight

    return check_sample_weight(sample_weight, y_proba)


def _warn_of_sums() -> None:
    warnings.warn(
        "The y_prob values do not sum to one. Make sure to pass probabilities.",
        UserWarning,
        stacklevel=5,
    )


def _indicators(y_true, labels) -> tuple[NDArray, NDArray]:
    """One column per class, 1 in the column of the row's label; and the classes."""
    if labels is None and is_plain(y_true) and is_plain_labels(y_true):
        encoded = encode_labels(y_true)
        if encoded.labels.shape[0] > 1:
            places = np.arange(encoded.labels.shape[0])
            return encoded.codes[:, None] == places, encoded.labels
    from sklearn.preprocessing import LabelBinarizer

    binarizer = LabelBinarizer()
    if labels is not None:
        binarizer.fit(labels)
        if not np.all(binarizer.classes_ == labels):
            warnings.warn(
                f"Labels passed were {labels}. But this function assumes labels are ordered "
                f"lexicographically. Pass the ordered labels={binarizer.classes_.tolist()} and "
                "ensure that the columns of y_prob correspond to this ordering.",
                UserWarning,
                stacklevel=5,
            )
        if not np.isin(np.asarray(y_true), np.asarray(labels)).all():
            undeclared = set(y_true) - set(labels)
            raise ValueError(
                f"y_true contains values {undeclared} not belonging to the passed labels {labels}."
            )
    else:
        binarizer.fit(y_true)
    classes = binarizer.classes_
    if classes.shape[0] == 1:
        if labels is None:
            raise ValueError(
                f"y_true contains only one label ({classes[0]}). Please provide the list of all "
                "expected class labels explicitly through the labels argument."
            )
        raise ValueError(f"The labels array needs to contain at least two labels, got {classes}.")
    found = binarizer.transform(y_true)
    if found.shape[1] == 1:
        found = np.concatenate([1 - found, found], axis=1)
    return found, classes


def _check_classes(n_columns: int, classes: NDArray, n_indicators: int, labels) -> None:
    if classes.shape[0] == n_columns:
        return
    if labels is None:
        raise ValueError(
            "y_true and y_prob contain different number of classes: "
            f"{n_indicators} vs {n_columns}. Please provide the true labels explicitly through the "
            f"labels argument. Classes found in y_true: {classes}"
        )
    raise ValueError(
        "The number of classes in labels is different from that in y_prob. Classes found in "
        f"labels: {classes}"
    )


def _check_multiclass(y_true, y_proba: NDArray, sample_weight, labels):
    """Indicators of the classes, probabilities of as many columns, weights."""
    _check_range(y_proba.min(), y_proba.max(), "lower")
    weights = _check_weights(y_proba, y_true, sample_weight)
    indicators, classes = _indicators(y_true, labels)
    y_proba = _two_columns(y_proba)
    slack = sqrt(np.finfo(y_proba.dtype).eps)
    if (np.abs(y_proba.sum(axis=1) - 1) > slack).any():
        _warn_of_sums()
    _check_classes(y_proba.shape[1], classes, indicators.shape[1], labels)
    return indicators.astype(y_proba.dtype, copy=False), y_proba, weights


def _two_columns(y_proba: NDArray) -> NDArray:
    if y_proba.ndim == 1:
        y_proba = y_proba[:, None]
    if y_proba.shape[1] > 1:
        return y_proba
    return np.concatenate([1 - y_proba, y_proba], axis=1)


def _check_binary(y_true, y_proba: NDArray, sample_weight, pos_label):
    """Whether each row is positive, probabilities of one axis, weights."""
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import type_of_target

    y_true, y_proba = one_axis(y_true), y_proba.reshape(-1)
    plain = is_plain(y_true) and y_true.dtype.kind in "iub"
    if not plain:
        assert_all_finite(y_true)
    weights = _check_weights(y_proba, y_true, sample_weight)
    classes = encode_labels(y_true).labels if plain else None
    kind = "binary" if classes is not None and classes.shape[0] <= 2 else None
    if kind is None and (kind := type_of_target(y_true, input_name="y_true")) != "binary":
        raise ValueError(
            f"The type of the target inferred from y_true is {kind} but should be binary according "
            "to the shape of y_prob."
        )
    _check_range(y_proba.min(), y_proba.max(), "less")
    try:
        labels = np.unique(y_true) if classes is None else classes
        pos_label = check_pos_label(pos_label, y_true, labels)
    except ValueError:
        classes = np.unique(y_true)
        if classes.dtype.kind in "OUS":
            raise
        pos_label = classes[-1]
    return (y_true == pos_label).astype(y_proba.dtype), y_proba, weights


# ---------------------------------------------------------------------------- log-loss


def _sum_of_logs(y_true, y_proba: NDArray) -> float | None:
    """Log-likelihood of plain labels by one pass; None where something has to be looked at."""
    n = y_proba.shape[0]
    if not (is_plain(y_true) and y_true.shape[0] == n and is_plain_labels(y_true)):
        return None
    encoded = encode_labels(y_true)
    n_columns = 2 if y_proba.ndim == 1 else y_proba.shape[1]
    if encoded.labels.shape[0] != n_columns:
        return None
    least = float(np.finfo(y_proba.dtype).eps)
    p, codes = kernel_view(y_proba), kernel_view(encoded.codes, dtype=np.intp)
    if p.ndim == 1:
        total, lowest, highest, p_sum = binary_log_likelihood(codes, p, least)
        n_off = 0
    else:
        total, lowest, highest, p_sum, n_off = log_likelihood(codes, p, least, sqrt(least))
    if not np.isfinite(p_sum) or n_off or lowest < 0 or highest > 1:
        return None
    return total


def _log_losses(indicators: NDArray, y_proba: NDArray) -> NDArray:
    from scipy.special import xlogy

    eps = np.finfo(y_proba.dtype).eps
    return -xlogy(indicators, np.clip(y_proba, eps, 1 - eps)).sum(axis=1)


@checked(**RENAMED, normalize=["boolean"])
def log_loss(
    y_true, y_proba=None, *, normalize=True, sample_weight=None, labels=None, y_pred="deprecated"
):
    """Mean of -log p, with p the predicted probability of the row's label.

    Probabilities are clipped at the machine epsilon of their type and at 1 less that.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities, of the second label or of all, in the order of the sorted labels.
    normalize : bool, default=True
        Whether to return the mean, not the sum.
    {sample_weight}
    {all_labels}
    y_pred : array-like, default="deprecated"
        The former name of ``y_proba``.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import log_loss
    >>> log_loss(["spam", "ham", "ham", "spam"], [[.1, .9], [.9, .1], [.8, .2], [.35, .65]])
    0.216...
    """
    y_proba = _renamed(y_proba, y_pred)
    if labels is None and sample_weight is None and _has_probabilities(y_proba):
        total = _sum_of_logs(y_true, y_proba)
        if total is not None:
            return float(-total / y_proba.shape[0] if normalize else -total)
    y_proba = _check_probabilities(y_proba)
    indicators, y_proba, weights = _check_multiclass(y_true, y_proba, sample_weight, labels)
    losses = _log_losses(indicators, y_proba)
    if normalize:
        return float(mean(losses, weights))
    return float(losses.sum() if weights is None else losses @ weights)


def _has_probabilities(y_proba) -> bool:
    return (
        type(y_proba) is np.ndarray
        and y_proba.dtype.char in "df"
        and (y_proba.ndim == 1 or (y_proba.ndim == 2 and y_proba.shape[1] > 1))
        and y_proba.shape[0] > 0
    )


def _too_few(y_true, y_proba, sample_weight) -> bool:
    from fastml._sklearn import num_samples

    check_lengths(y_proba, y_true, sample_weight)
    if num_samples(y_proba) >= 2:
        return False
    warn_undefined("D^2 score is not well-defined with less than two samples.", stacklevel=4)
    return True


@checked(**RENAMED)
def d2_log_loss_score(
    y_true, y_proba=None, *, sample_weight=None, labels=None, y_pred="deprecated"
):
    """1 - log-loss / log-loss of predicting the shares of the classes.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities, of the second label or of all, in the order of the sorted labels.
    {sample_weight}
    {all_labels}
    y_pred : array-like, default="deprecated"
        The former name of ``y_proba``.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import d2_log_loss_score
    >>> d2_log_loss_score([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.568...
    """
    y_proba = _renamed(y_proba, y_pred)
    if _too_few(y_true, y_proba, sample_weight):
        return float("nan")
    y_proba = _check_probabilities(y_proba)
    indicators, y_proba, weights = _check_multiclass(y_true, y_proba, sample_weight, labels)
    shares = mean(indicators, weights)
    numerator = mean(_log_losses(indicators, y_proba), weights)
    denominator = mean(_log_losses(indicators, np.broadcast_to(shares, y_proba.shape)), weights)
    return float(1 - numerator / denominator)


# ---------------------------------------------------------------------------- Brier score


def _brier(y_true, y_proba, sample_weight, pos_label, labels):
    """Indicators, probabilities (both of one column for binary scores) and weights."""
    y_proba = _check_probabilities(y_proba)
    if y_proba.ndim == 1 or y_proba.shape[1] == 1:
        return _check_binary(y_true, y_proba, sample_weight, pos_label)
    return _check_multiclass(y_true, y_proba, sample_weight, labels)


def _squares(indicators: NDArray, y_proba: NDArray, weights):
    """Mean over rows of the squares summed over two or more classes."""
    squares = (indicators - y_proba) ** 2
    return 2 * mean(squares, weights) if squares.ndim == 1 else mean(squares.sum(axis=1), weights)


@checked(
    y_true=ARRAYS,
    y_proba=ARRAYS,
    sample_weight=OPTIONAL_ARRAY,
    labels=OPTIONAL_ARRAY,
    scale_by_half=["boolean", StrOptions({"auto"})],
    **POSITIVE,
)
def brier_score_loss(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    scale_by_half="auto",
):
    """Brier score: mean square of indicator less probability, summed over the classes.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities, of the positive label or of all, in the order of the sorted labels.
    {sample_weight}
    pos_label : int, float, bool or str, default=None
        The positive label; by default 1 of 0 and 1 or of -1 and 1, else the larger number.
    {all_labels}
    scale_by_half : bool or "auto", default="auto"
        Whether the score lies between 0 and 1, not 2; "auto" for two classes.

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import brier_score_loss
    >>> brier_score_loss([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3])
    0.037...
    """
    indicators, y_proba, weights = _brier(y_true, y_proba, sample_weight, pos_label, labels)
    score = _squares(indicators, y_proba, weights)
    if scale_by_half == "auto":
        scale_by_half = y_proba.ndim == 1 or y_proba.shape[1] < 3
    return float(score * 0.5 if scale_by_half else score)


@checked(
    y_true=ARRAYS,
    y_proba=ARRAYS,
    sample_weight=OPTIONAL_ARRAY,
    labels=OPTIONAL_ARRAY,
    **POSITIVE,
)
def d2_brier_score(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None):
    """1 - Brier score / Brier score of predicting the shares of the classes.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities, of the positive label or of all, in the order of the sorted labels.
    {sample_weight}
    pos_label : int, float, bool or str, default=None
        The positive label; by default 1 of 0 and 1 or of -1 and 1, else the larger number.
    {all_labels}

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import d2_brier_score
    >>> d2_brier_score([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3])
    0.85...
    """
    if _too_few(y_true, y_proba, sample_weight):
        return float("nan")
    indicators, y_proba, weights = _brier(y_true, y_proba, sample_weight, pos_label, labels)
    shares = mean(indicators, weights)
    by_chance = _squares(indicators, np.broadcast_to(shares, y_proba.shape), weights)
    return float(1 - _squares(indicators, y_proba, weights) / by_chance)


# ---------------------------------------------------------------------------- hinge loss


@checked(y_true=ARRAYS, pred_decision=ARRAYS, labels=OPTIONAL_ARRAY, sample_weight=OPTIONAL_ARRAY)
def hinge_loss(y_true, pred_decision, *, labels=None, sample_weight=None):
    """Mean of max(0, 1 - margin).

    The margin is y times the decision for two labels, y = -1 or 1; for more, the label's decision
    less the largest of the others.

    Parameters
    ----------
    {y_true}
    pred_decision : array-like of shape (n_samples,) or (n_samples, n_classes)
        Decisions, in the order of the sorted labels.
    labels : array-like of shape (n_classes,), default=None
        All labels, where some do not occur.
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import hinge_loss
    >>> hinge_loss([-1, 1, 1], [-2.25, 2.0, 0.25])
    0.25
    """
    check_lengths(y_true, pred_decision, sample_weight)
    decisions = finite_numbers(pred_decision)
    y_true = one_axis(y_true)
    encoded = encode_labels(y_true)
    classes = encoded.labels if labels is None else np.unique(labels)
    if classes.size <= 2:
        if not (is_plain(y_true) and is_plain_labels(y_true)):
            from sklearn.preprocessing import LabelBinarizer

            LabelBinarizer().fit(y_true)  # raises for what are no labels
        decisions = one_axis(decisions)
        signs = np.where(encoded.codes == encoded.labels.shape[0] - 1, 1, -1)
        if encoded.labels.shape[0] == 1:
            signs[:] = -1
        margins = signs * decisions
    else:
        _check_decisions(decisions, classes, y_true.shape[0], labels)
        codes = _codes_among(encoded, classes)
        rows = np.arange(y_true.shape[0])
        own = decisions[rows, codes]
        others = decisions.copy()
        others[rows, codes] = -np.inf if decisions.dtype.kind == "f" else np.iinfo(others.dtype).min
        margins = own - others.max(axis=1)
    losses = np.maximum(1 - margins, 0)
    return float(np.average(losses, weights=sample_weight))


def _check_decisions(decisions: NDArray, classes: NDArray, n_rows: int, labels) -> None:
    shape = (
        "pred_decision shape must be (n_samples, n_classes), that is "
        f"({n_rows}, {classes.size}). Got: {decisions.shape}"
    )
    if decisions.ndim <= 1:
        raise ValueError(
            f"The shape of pred_decision cannot be 1d arraywith a multiclass target. {shape}"
        )
    if classes.size == decisions.shape[1]:
        return
    if labels is None:
        raise ValueError("Please include all labels in y_true or pass labels as third argument")
    raise ValueError(
        "The shape of pred_decision is not consistent with the number of classes. With a "
        f"multiclass target, {shape}"
    )


def _codes_among(encoded, classes: NDArray) -> NDArray:
    unknown = np.setdiff1d(encoded.labels, classes)
    if unknown.size:
        raise ValueError(f"y_true contains previously unseen labels: {unknown.tolist()}")
    return np.searchsorted(classes, encoded.labels)[encoded.codes]
