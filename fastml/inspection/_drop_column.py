"""Drop-column importance: how much worse a method is without a column."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch, check_array

from fastml._sklearn import HasMethods, safe_indexing, validate_params
from fastml.inspection._permutation import _columns_of


@validate_params(
    {
        "estimator": [HasMethods(["fit"])],
        "X": ["array-like"],
        "y": ["array-like", None],
        "X_test": ["array-like", None],
        "y_test": ["array-like", None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "groups": ["array-like", dict, None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def drop_column_importance(
    estimator, X, y, *, X_test=None, y_test=None, scoring=None, cv=5, groups=None, n_jobs=None
):
    """Fall of the score where a method learns without a column.

    .. math:: I_{jf} = s_f(\\text{all columns}) - s_f(\\text{all but } j)

    The model is fitted anew for every column, so that others may stand in for it: of two equal
    columns neither matters here, while shuffling either hurts.

    Parameters
    ----------
    estimator : estimator
        The method; clones of it are fitted. Set its random_state: all fits then have the same.
    X : array-like of shape (n_samples, n_features)
        Rows to learn from.
    y : array-like of shape (n_samples,)
        Targets.
    X_test : array-like, default=None
        Rows to score on; None cross-validates.
    y_test : array-like, default=None
        Their targets.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimator's own score.
    cv : int or splitter, default=5
        Folds, the same for all columns, without ``X_test``.
    groups : list of lists of columns, or dict, default=None
        Columns, by index or name, that are left out together. None means every column for itself.
    n_jobs : int, default=None
        Fits at a time, on threads. fastml's estimators use all cores themselves.

    Returns
    -------
    result : Bunch
        ``importances`` of shape (n_features or n_groups, n_folds), ``importances_mean``,
        ``importances_std``, ``baseline`` scores; with groups also ``groups``, their names.

    Examples
    --------
    >>> from fastml.inspection import drop_column_importance
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y = [[i, i % 2] for i in range(20)], [0, 0, 1, 1] * 5
    >>> found = drop_column_importance(DecisionTreeClassifier(random_state=0), X, y, cv=2)
    >>> found.importances.shape
    (2, 2)
    """
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import check_cv
    from sklearn.utils.parallel import Parallel, delayed

    if not hasattr(X, "iloc"):
        X = check_array(X, ensure_all_finite="allow-nan", dtype=None)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together")
    scorer = check_scoring(estimator, scoring=scoring)
    names, columns = _columns_of(groups, X)
    if max(len(c) for c in columns) == X.shape[1]:
        raise ValueError("without the columns of a group nothing is left to learn from")
    if X_test is None:
        splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
        folds = [tuple(safe_indexing(a, r) for r in split for a in (X, y)) for split in splits]
    else:
        if not hasattr(X_test, "iloc"):
            X_test = check_array(X_test, ensure_all_finite="allow-nan", dtype=None)
        folds = [(X, y, X_test, y_test)]
    everything = np.arange(X.shape[1])
    kept = [everything, *(np.setdiff1d(everything, c) for c in columns)]
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    scores = run(delayed(_score)(estimator, fold, k, scorer) for k in kept for fold in folds)
    table = np.array(scores, dtype=np.float64).reshape(len(kept), len(folds))
    importances = table[0] - table[1:]
    told = {} if names is None else {"groups": names}
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
        baseline=table[0],
        **told,
    )


def _score(estimator, fold, columns, scorer) -> float:
    X, y, X_test, y_test = fold
    model = clone(estimator).fit(safe_indexing(X, columns, axis=1), y)
    return scorer(model, safe_indexing(X_test, columns, axis=1), y_test)
