"""Agreement of predicted with true labels, one number for all of them."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np

from fastml._sklearn import Interval, Options, StrOptions
from fastml.metrics._checks import ARRAYS, OPTIONAL_ARRAY, checked, mean, warn_undefined
from fastml.metrics._classification._confusion import counted_labels, warn_of_single_label
from fastml.metrics._classification._targets import (
    LABELS,
    LABELS_OR_SPARSE,
    IndicatorPairs,
    check_labels,
    refuse_indicators,
)


def _weight_of_hits(targets) -> tuple[float, float]:
    """Weight of the rows that are predicted right, and of all rows."""
    weights = targets.weights
    if isinstance(targets, IndicatorPairs):
        right = targets.row_differences() == 0
        n_rows = targets.y_true.shape[0]
    elif weights is None:
        return float(targets.sums.hits.sum()), float(targets.sums.all)
    else:
        right, n_rows = targets.y_true == targets.y_pred, targets.y_true.shape[0]
    if weights is None:
        return float(np.count_nonzero(right)), float(n_rows)
    return float(weights.astype(np.float64) @ right), float(weights.sum())


def _share(hits: float, total: float) -> float:
    if total == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return hits / total


@checked(**LABELS_OR_SPARSE, normalize=["boolean"])
def accuracy_score(y_true, y_pred, *, normalize=True, sample_weight=None):
    """Share of rows that are predicted right; of an indicator matrix, in all labels.

    Parameters
    ----------
    {labels_or_indicators}
    normalize : bool, default=True
        Whether to return the share, not the number.
    {sample_weight}

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import accuracy_score
    >>> accuracy_score([0, 1, 2, 3], [0, 2, 1, 3])
    0.5
    """
    hits, total = _weight_of_hits(check_labels(y_true, y_pred, sample_weight))
    return _share(hits, total) if normalize else hits


@checked(**LABELS_OR_SPARSE, normalize=["boolean"])
def zero_one_loss(y_true, y_pred, *, normalize=True, sample_weight=None):
    """Share of rows that are predicted wrong; of an indicator matrix, in any label.

    Parameters
    ----------
    {labels_or_indicators}
    normalize : bool, default=True
        Whether to return the share, not the number.
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import zero_one_loss
    >>> zero_one_loss([2, 2, 3, 4], [1, 2, 3, 4])
    0.25
    """
    hits, total = _weight_of_hits(check_labels(y_true, y_pred, sample_weight))
    return 1 - _share(hits, total) if normalize else total - hits


@checked(**LABELS_OR_SPARSE)
def hamming_loss(y_true, y_pred, *, sample_weight=None):
    """Share of labels that are predicted wrong; of an indicator matrix, over all its entries.

    Parameters
    ----------
    {labels_or_indicators}
    {sample_weight}

    Returns
    -------
    loss : float

    Examples
    --------
    >>> from fastml.metrics import hamming_loss
    >>> hamming_loss([[0, 1], [1, 1]], [[0, 0], [0, 0]])
    0.75
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    if isinstance(targets, IndicatorPairs):
        shares = targets.row_differences() / targets.y_true.shape[1]
        return float(mean(shares, targets.weights))
    hits, total = _weight_of_hits(targets)
    if targets.weights is None:
        return (total - hits) / total
    return float(mean(targets.y_true != targets.y_pred, targets.weights))


@checked(**LABELS, adjusted=["boolean"])
def balanced_accuracy_score(y_true, y_pred, *, sample_weight=None, adjusted=False):
    """Mean over labels of the share of their rows that are predicted right.

    Parameters
    ----------
    {one_label}
    {sample_weight}
    adjusted : bool, default=False
        Whether to shift and scale: 0 for chance, 1 for perfect.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import balanced_accuracy_score
    >>> balanced_accuracy_score([0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1])
    0.625
    """
    targets = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    warn_of_single_label(targets.labels.shape[0])
    sums = targets.sums
    with np.errstate(divide="ignore", invalid="ignore"):
        recalls = sums.hits / sums.true
    missing = np.isnan(recalls)
    if missing.any():
        warnings.warn("y_pred contains classes not in y_true", stacklevel=3)
        recalls = recalls[~missing]
    score = recalls.mean()
    if adjusted:
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = 1 / recalls.shape[0]
            score = (score - chance) / np.float64(1 - chance)
    return float(score)


@checked(**LABELS)
def matthews_corrcoef(y_true, y_pred, *, sample_weight=None):
    """Matthews' correlation of true and predicted labels; 0 where one of them is constant.

    (c n - t·p) / sqrt((n² - p·p) (n² - t·t)) with c rows right of n, t and p the rows per true and
    predicted label.

    Parameters
    ----------
    {one_label}
    {sample_weight}

    Returns
    -------
    score : float

    Examples
    --------
    >>> from fastml.metrics import matthews_corrcoef
    >>> matthews_corrcoef([1, 1, 1, -1], [1, -1, 1, 1])
    -0.33...
    """
    targets = refuse_indicators(check_labels(y_true, y_pred, sample_weight))
    warn_of_single_label(targets.labels.shape[0])
    sums = targets.sums
    true, predicted = sums.true.astype(np.float64), sums.predicted.astype(np.float64)
    hits, total = float(sums.hits.sum()), float(predicted.sum())
    spreads = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    if spreads == 0:
        return 0.0
    return float((hits * total - true @ predicted) / np.sqrt(spreads))


@checked(
    y1=ARRAYS,
    y2=ARRAYS,
    labels=OPTIONAL_ARRAY,
    weights=[StrOptions({"linear", "quadratic"}), None],
    sample_weight=OPTIONAL_ARRAY,
    replace_undefined_by=[Interval(Real, -1.0, 1.0, closed="both"), np.nan],
)
def cohen_kappa_score(
    y1, y2, *, labels=None, weights=None, sample_weight=None, replace_undefined_by=np.nan
):
    """Cohen's kappa: agreement of two labelings beyond that of chance.

    1 - sum w C / sum w E with the confusion matrix C, what chance would give E (products of its
    margins) and w = 1 off the diagonal, or the distance of the labels.

    Parameters
    ----------
    y1 : array-like of shape (n_samples,)
        Labels of the first rater.
    y2 : array-like of shape (n_samples,)
        Labels of the second rater.
    labels : array-like of shape (n_classes,), default=None
        Labels to count; by default all.
    weights : {'linear', 'quadratic'}, default=None
        Whether disagreement grows with the distance of the labels, or with its square.
    {sample_weight}
    replace_undefined_by : float, default=np.nan
        What to return where kappa has no value, with a warning.

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> from fastml.metrics import cohen_kappa_score
    >>> cohen_kappa_score(["no", "yes", "yes", "no"], ["no", "yes", "no", "no"])
    0.5
    """
    try:
        matrix = counted_labels(y1, y2, labels, sample_weight)[1].astype(np.float64)
    except ValueError as error:
        if "At least one label specified must be in y_true" in str(error):
            raise ValueError(
                "At least one label in `labels` must be present in `y1` (even though "
                "`cohen_kappa_score` is otherwise agnostic to the order of `y1` and `y2`)."
            ) from error
        raise
    columns, rows = matrix.sum(axis=0), matrix.sum(axis=1)
    total = columns.sum()
    undefined = "`cohen_kappa_score` is undefined and set to the value defined by the "
    by = f"`replace_undefined_by` param, which is set to {replace_undefined_by}."
    if total == 0:
        warn_undefined(
            f"`y2` contains no labels that are present in both `y1` and `labels`.{undefined}{by}"
        )
        return replace_undefined_by
    apart = np.abs(np.subtract.outer(np.arange(matrix.shape[0]), np.arange(matrix.shape[0])))
    distances = {None: apart > 0, "linear": apart, "quadratic": apart**2}[weights]
    by_chance = np.sum(distances * (np.outer(columns, rows) / total))
    if by_chance == 0:
        warn_undefined(
            f"`y1`, `y2` and `labels` have only one label in common. {undefined}the {by}"
        )
        return replace_undefined_by
    return float(1 - np.sum(distances * matrix) / by_chance)


def _check_replacement(replace_undefined_by) -> tuple[float, float]:
    """Values for the two ratios where they are undefined."""
    if not isinstance(replace_undefined_by, dict):
        return float(replace_undefined_by), float(replace_undefined_by)
    given: list = [replace_undefined_by.get(key) for key in ("LR+", "LR-")]
    right = all(isinstance(value, Real) for value in given)
    positive, negative = (float(value) for value in given) if right else (np.nan, np.nan)
    right = right and not positive < 1 and not (negative < 0 or negative > 1)
    if not right:
        raise ValueError(
            "The dictionary passed as `replace_undefined_by` needs to be in the form "
            "`{'LR+': `value_1`, 'LR-': `value_2`}` where the value for `LR+` ranges from `1.0` to "
            "`np.inf` or is `np.nan` and the value for `LR-` ranges from `0.0` to `1.0` or is "
            f"`np.nan`; got `{replace_undefined_by}`."
        )
    return positive, negative


_HOW_TO_REPLACE = (
    "Use the `replace_undefined_by` param to control this behavior. To suppress this warning or "
    "turn it into an error, see Python's `warnings` module and `warnings.catch_warnings()`."
)


@checked(
    **LABELS_OR_SPARSE,
    labels=OPTIONAL_ARRAY,
    replace_undefined_by=[Options(Real, {1.0, np.nan}), dict],
)
def class_likelihood_ratios(
    y_true, y_pred, *, labels=None, sample_weight=None, replace_undefined_by=np.nan
):
    """Likelihood ratios of a binary classifier: TPR / FPR and FNR / TNR.

    Parameters
    ----------
    y_true : {array-like, sparse matrix} of shape (n_samples,)
        True labels.
    y_pred : {array-like, sparse matrix} of shape (n_samples,)
        Predicted labels.
    labels : array-like of shape (2,), default=None
        The negative and the positive label; by default sorted.
    {sample_weight}
    replace_undefined_by : {np.nan, 1.0} or dict, default=np.nan
        What stands for a ratio over zero; a dict has the keys "LR+" and "LR-".

    Returns
    -------
    (positive, negative) : tuple of float
        How much more likely a positive, and a negative, prediction is for positives.

    Examples
    --------
    >>> from fastml.metrics import class_likelihood_ratios
    >>> class_likelihood_ratios([0, 1, 0, 1, 0], [1, 1, 0, 0, 0])
    (1.5, 0.75)
    """
    targets = check_labels(y_true, y_pred, sample_weight)
    if targets.kind != "binary":
        raise ValueError(
            "class_likelihood_ratios only supports binary classification problems, got targets of "
            f"type: {targets.kind}"
        )
    positive, negative = _check_replacement(replace_undefined_by)
    matrix = counted_labels(y_true, y_pred, labels, sample_weight)[1]
    tn, fp, fn, tp = matrix.astype(np.float64).ravel()
    if tp + fn == 0:
        warn_undefined(
            "No samples of the positive class are present in `y_true`. `positive_likelihood_ratio` "
            f"and `negative_likelihood_ratio` are both set to `np.nan`. {_HOW_TO_REPLACE}"
        )
    if fp == 0:
        start = "`positive_likelihood_ratio` is ill-defined and "
        if tp == 0:
            start = (
                "No samples were predicted for the positive class and `positive_likelihood_ratio` "
                "is "
            )
        warn_undefined(f"{start}set to `np.nan`. {_HOW_TO_REPLACE}")
    else:
        positive = _quotient(tp * (tn + fp), fp * (tp + fn))
    if tn == 0:
        warn_undefined(
            f"`negative_likelihood_ratio` is ill-defined and set to `np.nan`. {_HOW_TO_REPLACE}"
        )
    else:
        negative = _quotient(fn * (tn + fp), tn * (tp + fn))
    return positive, negative


def _quotient(numerator: float, denominator: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(numerator) / denominator)
