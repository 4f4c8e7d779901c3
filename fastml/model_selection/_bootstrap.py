"""Validation on the rows that a bootstrap sample leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from fastml._sklearn import HasMethods, Interval, safe_indexing, validate_params
from fastml.model_selection._splits import BootstrapSplit

SHARE = 0.632
"""Of the rows, drawn into a bootstrap sample: 1 - 1/e."""

SHUFFLES = 10


@dataclass(frozen=True)
class BootstrapValidation:
    """Quality of a model by the bootstrap.

    Attributes
    ----------
    out_of_bag : float
        Mean score on the rows that were not drawn: too low, as few different rows were learned.
    apparent : float
        Score of the model fitted on all rows, on the same rows: too high.
    score_632 : float
        0.368 · apparent + 0.632 · out of bag.
    score_632_plus : float
        The same with more weight on out of bag, the more the model overfits.
    no_information : float
        Score on the same rows if targets had nothing to do with them.
    overfitting : float
        Relative rate from 0, out of bag as good as apparent, to 1, as bad as no information.
    standard_deviation : float
        Of the resamples' scores.
    scores : ndarray of shape (n_resamples,)
        Score of each resample on the rows that it left out.

    Examples
    --------
    >>> from fastml.model_selection import bootstrap_validate
    >>> from fastml.neighbors import KNeighborsClassifier
    >>> X, y = [[i] for i in range(20)], [0] * 10 + [1] * 10
    >>> found = bootstrap_validate(KNeighborsClassifier(1), X, y, n_resamples=20, random_state=0)
    >>> found.apparent, found.out_of_bag < found.score_632 < 1.0
    (1.0, True)
    """

    out_of_bag: float
    apparent: float
    score_632: float
    score_632_plus: float
    no_information: float
    overfitting: float
    standard_deviation: float
    scores: NDArray = field(repr=False)


@validate_params(
    {
        "estimator": [HasMethods(["fit"])],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str, callable, None],
        "groups": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def bootstrap_validate(
    estimator, X, y, *, n_resamples=100, scoring=None, groups=None, random_state=None, n_jobs=None
):
    """Fit on bootstrap samples, score on the rows they leave out; .632 and .632+.

    With the apparent score :math:`a`, the mean out-of-bag score :math:`o` and the score without
    information :math:`g`,

    .. math:: s_{.632} = 0.368\\, a + 0.632\\, o, \\qquad
        R = \\frac{a - o}{a - g} \\in [0, 1], \\quad w = \\frac{0.632}{1 - 0.368 R}, \\quad
        s_{.632+} = (1 - w)\\, a + w\\, o.

    Parameters
    ----------
    estimator : estimator
        The model; clones of it are fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    n_resamples : int, default=100
        Number of bootstrap samples.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimator's own score.
    groups : array-like of shape (n_samples,), default=None
        Rows that are drawn, or left out, together.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_jobs : int, default=None
        Fits at a time, on threads. fastml's estimators use all cores themselves.

    Returns
    -------
    result : BootstrapValidation

    References
    ----------
    B. Efron, R. Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method", JASA 92
    (1997). The score without information is the mean over ten shuffles of y, but exact for the
    accuracy of classifiers.

    Examples
    --------
    >>> from fastml.model_selection import bootstrap_validate
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y = [[i, i % 3] for i in range(30)], [0] * 15 + [1] * 15
    >>> model = DecisionTreeClassifier(random_state=0)
    >>> found = bootstrap_validate(model, X, y, n_resamples=20, random_state=0)
    >>> 0.8 < found.out_of_bag <= found.score_632_plus <= found.score_632 <= 1.0
    True
    """
    from sklearn.metrics import check_scoring
    from sklearn.utils import indexable
    from sklearn.utils.parallel import Parallel, delayed

    X, y = indexable(X, y)
    scorer = check_scoring(estimator, scoring=scoring)
    generator = check_random_state(random_state)
    splits = BootstrapSplit(n_resamples, random_state=generator).split(X, y, groups)
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    scores = np.array(
        run(delayed(_one)(estimator, X, y, train, test, scorer) for train, test in splits),
        dtype=np.float64,
    )
    whole = clone(estimator).fit(X, y)
    apparent = float(scorer(whole, X, y))
    nothing = _no_information(whole, X, y, scoring, scorer, generator)
    out = float(np.nanmean(scores))
    low = min(out, apparent) if nothing <= apparent else max(out, apparent)
    span = apparent - nothing
    kept = max(low, nothing) if span > 0 else min(low, nothing)
    overfitting = float(np.clip((apparent - kept) / span, 0.0, 1.0)) if span != 0.0 else 0.0
    weight = SHARE / (1.0 - (1.0 - SHARE) * overfitting)
    return BootstrapValidation(
        out_of_bag=out,
        apparent=apparent,
        score_632=(1.0 - SHARE) * apparent + SHARE * out,
        score_632_plus=(1.0 - weight) * apparent + weight * kept,
        no_information=nothing,
        overfitting=overfitting,
        standard_deviation=float(np.nanstd(scores, ddof=1)) if n_resamples > 1 else float("nan"),
        scores=scores,
    )


def _one(estimator, X, y, train, test, scorer) -> float:
    parts = [safe_indexing(a, rows) for rows in (train, test) for a in (X, y)]
    return scorer(clone(estimator).fit(*parts[:2]), *parts[2:])


def _no_information(model, X, y, scoring, scorer, generator) -> float:
    """Score if targets and rows were independent."""
    from sklearn.base import is_classifier

    if scoring in (None, "accuracy") and is_classifier(model) and np.ndim(y) == 1:
        predicted = np.asarray(model.predict(X))
        classes, counts = np.unique(np.asarray(y), return_counts=True)
        return float(sum(c * np.mean(predicted == k) for k, c in zip(classes, counts)) / len(y))
    n = len(y)
    shuffled = (safe_indexing(y, generator.permutation(n)) for _ in range(SHUFFLES))
    return float(np.mean([scorer(model, X, other) for other in shuffled]))
