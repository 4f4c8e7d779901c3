"""Tests whether two models are equally good."""

from __future__ import annotations

import warnings

import numpy as np

from fastml.model_selection._test_result import (
    ModelTest,
    check_data,
    finished,
    is_model,
    pair_of_kinds,
    says,
    scores_of_splits,
)


def _side(difference: float) -> str:
    return f": the {'first' if difference > 0 else 'second'} has the higher score"


def resampled_t_test(
    first,
    second,
    X=None,
    y=None,
    *,
    n_splits=30,
    test_size=0.3,
    scoring=None,
    correction=True,
    level=0.05,
    random_state=None,
):
    """Paired t test of the scores of two models on random splits.

    With differences :math:`d_1, …, d_k`, their mean and variance,

    .. math:: t = \\bar d \\Big/ \\sqrt{\\Big(\\frac1k + \\frac{n_{test}}{n_{train}}\\Big) s^2},
        \\qquad k - 1 \\text{ degrees of freedom.}

    The second term corrects for training rows that the splits share (Nadeau and Bengio). Without
    it the test finds differences far too often.

    Parameters
    ----------
    first, second : estimator or array-like of shape (n_splits,)
        Two models, or their scores on the same splits.
    X : array-like of shape (n_samples, n_features), default=None
        Rows, for estimators.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators.
    n_splits : int, default=30
        Number of random splits, for estimators.
    test_size : float, default=0.3
        Share of the rows to test on. For finished scores of k folds it is 1 / k.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimators' own score.
    correction : bool, default=True
        Whether to use Nadeau's and Bengio's variance.
    level : float, default=0.05
        For the sentence: where p becomes a difference.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits.

    Returns
    -------
    result : ModelTest

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).

    Examples
    --------
    >>> from fastml.model_selection import resampled_t_test
    >>> found = resampled_t_test([0.9, 0.8, 0.9, 0.85], [0.7, 0.7, 0.75, 0.7], test_size=0.25)
    >>> round(found.statistic, 3), found.degrees_of_freedom, round(found.p_value, 4)
    (4.811, 3, 0.0171)
    """
    from scipy.stats import t as student

    if not 0.0 < test_size < 1.0:
        raise ValueError(f"test_size must be a share in (0, 1), got {test_size!r}")
    ratio = test_size / (1.0 - test_size)
    if pair_of_kinds(first, second):
        from sklearn.model_selection import ShuffleSplit

        check_data(X, y)
        splits = ShuffleSplit(n_splits, test_size=test_size, random_state=random_state).split(X)
        scores, ratios = scores_of_splits((first, second), X, y, splits, scoring)
        differences, ratio = scores[:, 0] - scores[:, 1], float(np.mean(ratios))
    else:
        a, b = finished(first, "first"), finished(second, "second")
        if a.shape != b.shape or a.ndim != 1:
            raise ValueError(f"scores must be two lists of one length: {a.shape}, {b.shape}")
        differences = a - b
    k = len(differences)
    if k < 2:
        raise ValueError(f"at least two scores of each model are needed, got {k}")
    if not correction:
        warnings.warn(
            "without the correction the test takes the splits for independent, although they share "
            "training rows: it finds differences far too often",
            UserWarning,
            stacklevel=2,
        )
    spread = (1.0 / k + (ratio if correction else 0.0)) * np.var(differences, ddof=1)
    mean = float(np.mean(differences))
    statistic = _quotient(mean, float(np.sqrt(spread)))
    p = float(2.0 * student.sf(abs(statistic), k - 1))
    name = "corrected resampled t test" if correction else "resampled t test"
    told = f"{says(p, level, _side(mean))}. Mean difference {mean:.4g} over {k} splits."
    return ModelTest(name, statistic, k - 1, p, told)


def _quotient(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return float("nan") if a == 0.0 else float(np.copysign(np.inf, a))


def _five_by_two(first, second, X, y, scoring, random_state):
    """(5, 2) differences of the scores of two models, each half learned from and tested on."""
    if not pair_of_kinds(first, second):
        return finished(first, "first", (5, 2)) - finished(second, "second", (5, 2))
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils import check_random_state

    check_data(X, y)
    generator = check_random_state(random_state)
    kind = StratifiedKFold if is_classifier(first) else KFold
    splits = []
    for _ in range(5):
        seed = generator.randint(2**31 - 1)
        splits += list(kind(2, shuffle=True, random_state=seed).split(X, y))
    scores, _ = scores_of_splits((first, second), X, y, splits, scoring)
    return (scores[:, 0] - scores[:, 1]).reshape(5, 2)


def _variances(differences):
    """s_i² = (d_i1 - mean)² + (d_i2 - mean)² of every repetition."""
    return ((differences - differences.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


def paired_5x2cv_t_test(
    first, second, X=None, y=None, *, scoring=None, level=0.05, random_state=None
):
    """Dietterich's t test on five repetitions of two-fold cross-validation.

    .. math:: t = d_{11} \\Big/ \\sqrt{\\tfrac15 \\textstyle\\sum_i s_i^2}, \\qquad
        s_i^2 = (d_{i1} - \\bar d_i)^2 + (d_{i2} - \\bar d_i)^2, \\quad 5 \\text{ df}

    Parameters
    ----------
    first, second : estimator or array-like of shape (5, 2)
        Two models, or their scores on the folds of five repetitions.
    X : array-like of shape (n_samples, n_features), default=None
        Rows, for estimators.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimators' own score.
    level : float, default=0.05
        For the sentence: where p becomes a difference.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits. Folds of classifiers are stratified.

    Returns
    -------
    result : ModelTest

    References
    ----------
    T. G. Dietterich, "Approximate statistical tests for comparing supervised classification
    learning algorithms", Neural Computation 10 (1998).

    Examples
    --------
    >>> from fastml.model_selection import paired_5x2cv_t_test
    >>> a = [[0.9, 0.8], [0.85, 0.9], [0.9, 0.9], [0.8, 0.85], [0.9, 0.95]]
    >>> b = [[0.7, 0.7], [0.75, 0.7], [0.7, 0.75], [0.7, 0.7], [0.7, 0.75]]
    >>> found = paired_5x2cv_t_test(a, b)
    >>> round(found.statistic, 3), found.degrees_of_freedom, round(found.p_value, 3)
    (4.0, 5, 0.01)
    """
    from scipy.stats import t as student

    d = _five_by_two(first, second, X, y, scoring, random_state)
    statistic = _quotient(float(d[0, 0]), float(np.sqrt(_variances(d).mean())))
    p = float(2.0 * student.sf(abs(statistic), 5))
    told = f"{says(p, level, _side(d.mean()))}. Mean difference {d.mean():.4g} over 5 × 2 folds."
    return ModelTest("5x2cv t test", statistic, 5, p, told)


def combined_5x2cv_f_test(
    first, second, X=None, y=None, *, scoring=None, level=0.05, random_state=None
):
    """Alpaydin's F test on five repetitions of two-fold cross-validation.

    It uses all ten differences, where Dietterich's t test takes one of them:

    .. math:: F = \\sum_{i,j} d_{ij}^2 \\Big/ 2 \\sum_i s_i^2, \\qquad (10, 5) \\text{ df}

    Parameters
    ----------
    first, second : estimator or array-like of shape (5, 2)
        Two models, or their scores on the folds of five repetitions.
    X : array-like of shape (n_samples, n_features), default=None
        Rows, for estimators.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimators' own score.
    level : float, default=0.05
        For the sentence: where p becomes a difference.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits. Folds of classifiers are stratified.

    Returns
    -------
    result : ModelTest

    References
    ----------
    E. Alpaydin, "Combined 5 × 2 cv F test for comparing supervised classification learning
    algorithms", Neural Computation 11 (1999).

    Examples
    --------
    >>> from fastml.model_selection import combined_5x2cv_f_test
    >>> a = [[0.9, 0.8], [0.85, 0.9], [0.9, 0.9], [0.8, 0.85], [0.9, 0.95]]
    >>> b = [[0.7, 0.7], [0.75, 0.7], [0.7, 0.75], [0.7, 0.7], [0.7, 0.75]]
    >>> found = combined_5x2cv_f_test(a, b)
    >>> round(found.statistic, 3), found.degrees_of_freedom, round(found.p_value, 3)
    (11.0, (10, 5), 0.008)
    """
    from scipy.stats import f as fisher

    d = _five_by_two(first, second, X, y, scoring, random_state)
    statistic = _quotient(float((d * d).sum()), float(2.0 * _variances(d).sum()))
    p = float(fisher.sf(statistic, 10, 5))
    told = f"{says(p, level, _side(d.mean()))}. Mean difference {d.mean():.4g} over 5 × 2 folds."
    return ModelTest("combined 5x2cv F test", statistic, (10, 5), p, told)


def predictions(model, X, y_true):
    """A fitted model's predictions for X, or the predictions given."""
    if is_model(model):
        if X is None:
            raise ValueError("X is needed to predict with the models")
        model = model.predict(X)
    found = np.asarray(model)
    if found.shape != np.shape(y_true):
        raise ValueError(f"predictions have shape {found.shape}, y_true {np.shape(y_true)}")
    return found


def mcnemar_test(y_true, first, second, X=None, *, exact=None, correction=True, level=0.05):
    """McNemar's test whether two classifiers err equally often on the same rows.

    With b rows that only the first has right and c rows that only the second has right,

    .. math:: \\chi^2 = (|b - c| - 1)^2 / (b + c), \\quad 1 \\text{ df,}

    or the exact binomial chance of such a split of b + c rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels.
    first, second : fitted estimator or array-like of shape (n_samples,)
        Two models, or what they predict.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to predict for, with estimators.
    exact : bool, default=None
        Whether to use the binomial distribution; None: if b + c < 25.
    correction : bool, default=True
        Whether to subtract 1 for continuity (Edwards, 1948).
    level : float, default=0.05
        For the sentence: where p becomes a difference.

    Returns
    -------
    result : ModelTest
        The statistic is min(b, c) where the test is exact.

    References
    ----------
    Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947).

    Examples
    --------
    >>> from fastml.model_selection import mcnemar_test
    >>> found = mcnemar_test([1] * 40, [1] * 35 + [0] * 5, [0] * 25 + [1] * 15)
    >>> found.statistic, found.degrees_of_freedom, round(found.p_value, 4)
    (12.033..., 1, 0.0005)
    """
    from scipy.stats import binom, chi2

    y = np.asarray(y_true)
    hits = [predictions(model, X, y) == y for model in (first, second)]
    b, c = int(np.sum(hits[0] & ~hits[1])), int(np.sum(~hits[0] & hits[1]))
    if exact is None:
        exact = b + c < 25
    if exact:
        statistic, df = float(min(b, c)), None
        p = min(1.0, 2.0 * float(binom.cdf(min(b, c), b + c, 0.5)))
    else:
        gap = max(abs(b - c) - (1 if correction else 0), 0)
        statistic, df = (gap * gap / (b + c) if b + c else 0.0), 1
        p = float(chi2.sf(statistic, 1))
    more = ": the first" if b > c else ": the second"
    told = f"{says(p, level, more + ' is right more often')}. "
    told += f"Only the first is right on {b} rows, only the second on {c}."
    return ModelTest("exact McNemar test" if exact else "McNemar test", statistic, df, p, told)
