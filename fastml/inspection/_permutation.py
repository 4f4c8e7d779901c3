"""Permutation importance: how much worse a model is where a column says nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_array, check_random_state

from fastml._sklearn import HasMethods, Interval, RealNotInt, safe_indexing, validate_params
from fastml.inspection._answers import answering_models, knows_its_trees


@validate_params(
    {
        "estimator": [HasMethods(["fit"])],
        "X": ["array-like"],
        "y": ["array-like", None],
        "scoring": [str, callable, list, tuple, dict, None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "sample_weight": ["array-like", None],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "groups": ["array-like", dict, None],
    },
    prefer_skip_nested_validation=True,
)
def permutation_importance(
    estimator,
    X,
    y,
    *,
    scoring=None,
    n_repeats=5,
    n_jobs=None,
    random_state=None,
    sample_weight=None,
    max_samples=1.0,
    groups=None,
):
    """Fall of a fitted model's score where the values of a column are shuffled.

    .. math:: I_{jr} = s(X, y) - s(X^{(j, r)}, y)

    with column j (or a group of columns) of :math:`X^{(j, r)}` in the r-th random order. The orders
    are scikit-learn's for the same ``random_state``. Trees and forests of fastml walk a row anew
    only where a shuffled column makes it leave its way; for other models the columns are changed in
    one copy of X a thread.

    Parameters
    ----------
    estimator : fitted estimator
        The model.
    X : array-like of shape (n_samples, n_features)
        Rows to score on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Targets.
    scoring : str, callable, list, tuple or dict, default=None
        scikit-learn's, one or several; None means the estimator's own score.
    n_repeats : int, default=5
        Shuffles per column.
    n_jobs : int, default=None
        Columns at a time, on threads. fastml's estimators use all cores themselves.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the scores.
    max_samples : int or float, default=1.0
        Number or share of rows that are drawn, without replacement, to shuffle and score.
    groups : list of lists of columns, or dict, default=None
        Columns, by index or name, that are shuffled together. None means every column for itself.

    Returns
    -------
    result : Bunch, or dict of Bunch with several scores
        ``importances`` of shape (n_features or n_groups, n_repeats), ``importances_mean``,
        ``importances_std``; with groups also ``groups``, their names.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45 (2001).

    Examples
    --------
    >>> from fastml.inspection import permutation_importance
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y = [[i, i % 2] for i in range(20)], [0] * 10 + [1] * 10
    >>> tree = DecisionTreeClassifier().fit(X, y)
    >>> found = permutation_importance(tree, X, y, random_state=0)
    >>> found.importances_mean.round(1)
    array([0.6, 0. ])
    """
    from sklearn.metrics import check_scoring

    if not hasattr(X, "iloc"):
        X = check_array(X, ensure_all_finite="allow-nan", dtype=None)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)
    n = X.shape[0]
    if not isinstance(max_samples, Integral):
        max_samples = int(max_samples * n)
    elif max_samples > n:
        raise ValueError("max_samples must be <= n_samples")
    scorer = check_scoring(estimator, scoring=scoring)
    names, columns = _columns_of(groups, X)

    def scored(model, X, y, weights):
        return scorer(model, X, y, **({} if weights is None else {"sample_weight": weights}))

    score = scored
    base = score(estimator, X, y, sample_weight)
    rows, source = _shuffles(seed, n, max_samples, n_repeats)
    if rows is not None:
        X, y = safe_indexing(X, rows), None if y is None else safe_indexing(y, rows)
        if sample_weight is not None:
            sample_weight = safe_indexing(sample_weight, rows)
    if knows_its_trees(estimator) and _asks_the_model_only(scoring):
        if _is_accuracy(estimator, y, scoring):
            score = _accuracy
        scores = [
            [score(model, X, y, sample_weight) for model in models]
            for models in answering_models(estimator, X, None, source, columns)
        ]
    else:
        scores = _scores(estimator, X, y, sample_weight, score, columns, source, n_jobs)
    if not isinstance(base, dict):
        return _importances(base, np.array(scores), names)
    return {
        name: _importances(
            base[name], np.array([[s[name] for s in each] for each in scores]), names
        )
        for name in base
    }


def _shuffles(seed, n, n_kept, n_repeats) -> tuple[NDArray | None, NDArray]:
    """Rows to keep (None: all), and where each row's values come from in every repeat.

    Every column has scikit-learn's draws: one seed for all, and shuffles of what is shuffled.
    """
    from sklearn.utils.random import sample_without_replacement

    generator = np.random.RandomState(seed)
    rows = None
    if n_kept < n:
        rows = sample_without_replacement(n, n_kept, random_state=generator)
    order = np.arange(n_kept)
    before = np.arange(n_kept)
    source = np.empty((n_repeats, n_kept), np.intp)
    for r in range(n_repeats):
        generator.shuffle(order)
        before = source[r] = before[order]
    return rows, source


def _columns_of(groups, X) -> tuple[list | None, list[NDArray]]:
    """Names of the groups, and the indices of their columns."""
    n_features = X.shape[1]
    if groups is None:
        return None, [np.array([j]) for j in range(n_features)]
    if isinstance(groups, Mapping):
        names, listed = list(groups), list(groups.values())
    else:
        listed = list(groups)
        names = [tuple(np.atleast_1d(np.asarray(g, dtype=object)).tolist()) for g in listed]
    known = list(getattr(X, "columns", []))
    found, seen = [], set()
    for name, group in zip(names, listed):
        places = []
        for column in np.atleast_1d(np.asarray(group, dtype=object)):
            if isinstance(column, str) and column not in known:
                raise ValueError(f"groups: X has no column {column!r}")
            place = known.index(column) if isinstance(column, str) else int(column)
            place = place + n_features if place < 0 else place
            if not 0 <= place < n_features:
                raise ValueError(f"groups: column {column!r} is not one of {n_features}")
            if place in seen:
                raise ValueError(f"groups: column {column!r} is in more than one place")
            seen.add(place)
            places.append(place)
        if not places:
            raise ValueError(f"groups: {name!r} has no columns")
        found.append(np.array(places))
    if not found:
        raise ValueError("groups is empty")
    return names, found


def _asks_the_model_only(scoring) -> bool:
    """Whether the score is made of the model's answers, as scikit-learn's scorers are."""
    from fastml._sklearn import BaseScorer

    if isinstance(scoring, list | tuple | set):
        return all(_asks_the_model_only(one) for one in scoring)
    if isinstance(scoring, dict):
        return all(_asks_the_model_only(one) for one in scoring.values())
    return scoring is None or isinstance(scoring, str | BaseScorer)


def _is_accuracy(estimator, y, scoring) -> bool:
    """Whether the score is the share of right labels, which needs no check of them each time."""
    return scoring in (None, "accuracy") and is_classifier(estimator) and np.ndim(y) == 1


def _accuracy(model, X, y, weights):
    return np.average(model.predict(X) == np.asarray(y), weights=weights)


def _scores(estimator, X, y, weights, score, columns, source, n_jobs) -> list[list]:
    """Scores of every group and repeat; a thread has one copy of X, of which it changes columns."""
    from sklearn.utils.parallel import Parallel, delayed

    local = threading.local()
    frame = hasattr(X, "iloc")

    def one(group) -> list:
        if not hasattr(local, "X"):
            local.X = X.copy(deep=False) if frame else X.copy()
        changed, found = local.X, []
        for order in source:
            for j in group:
                if frame:
                    column = X.iloc[order, j]
                    column.index = X.index
                    changed.isetitem(j, column)
                else:
                    changed[:, j] = X[order, j]
            found.append(score(estimator, changed, y, weights))
        for j in group:
            if frame:
                changed.isetitem(j, X.iloc[:, j])
            else:
                changed[:, j] = X[:, j]
        return found

    run = Parallel(n_jobs=n_jobs, require="sharedmem")
    return run(delayed(one)(group) for group in columns)


def _importances(base, scores: NDArray, names) -> Bunch:
    importances = base - scores
    told = {} if names is None else {"groups": names}
    return Bunch(
        importances_mean=np.mean(importances, axis=1),
        importances_std=np.std(importances, axis=1),
        importances=importances,
        **told,
    )
