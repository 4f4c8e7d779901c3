"""Cross-validation of a search: parameters are chosen inside, quality is measured outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fastml._sklearn import HasMethods, safe_indexing, validate_params


@dataclass(frozen=True)
class NestedScores:
    """Scores of the outer folds and what was chosen in each.

    Attributes
    ----------
    scores : ndarray of shape (n_folds,)
        Of the chosen model, on rows that the search did not see.
    inner_scores : ndarray of shape (n_folds,)
        Best score inside the search: too high, as it was chosen by.
    mean, standard_deviation : float
        Of the scores.
    best_params : list of dict
        What was chosen.
    estimators : list of estimator
        The fitted searches.
    splits : list of (train, test)
        Rows of the outer folds.

    Examples
    --------
    >>> from fastml.model_selection import nested_cv
    >>> from fastml.neighbors import KNeighborsClassifier
    >>> X, y = [[i] for i in range(40)], [0] * 20 + [1] * 20
    >>> found = nested_cv(
    ...     KNeighborsClassifier(), X, y, param_grid={"n_neighbors": [1, 3]}, outer_cv=4, inner_cv=3
    ... )
    >>> len(found.scores), found.mean > 0.8
    (4, True)
    """

    scores: NDArray
    inner_scores: NDArray
    mean: float
    standard_deviation: float
    best_params: list[dict]
    estimators: list = field(repr=False)
    splits: list = field(repr=False)


@validate_params(
    {
        "search": [HasMethods(["fit"])],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like", None],
        "param_grid": [dict, list, None],
        "groups": ["array-like", None],
        "outer_cv": ["cv_object"],
        "inner_cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def nested_cv(
    search,
    X,
    y,
    *,
    param_grid=None,
    groups=None,
    outer_cv=5,
    inner_cv=None,
    scoring=None,
    n_jobs=None,
):
    """Cross-validate a search for parameters, with groups kept together inside and outside.

    scikit-learn's `cross_val_score` of a `GridSearchCV` gives the inner search no groups.

    Parameters
    ----------
    search : estimator
        A search such as scikit-learn's `GridSearchCV`; or any estimator, with ``param_grid``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    param_grid : dict or list of dict, default=None
        Parameters to try, for an estimator that is no search.
    groups : array-like of shape (n_samples,), default=None
        Rows that must not be separated, neither by outer nor by inner folds.
    outer_cv : int or splitter, default=5
        Outer folds; with groups a number means `GroupKFold`.
    inner_cv : int or splitter, default=None
        Inner folds; None takes the search's own. With groups a number means `GroupKFold`.
    scoring : str or callable, default=None
        scikit-learn's, outside and, with ``param_grid``, inside; None means the search's own.
    n_jobs : int, default=None
        Searches at a time, on threads.

    Returns
    -------
    result : NestedScores

    References
    ----------
    G. C. Cawley, N. L. C. Talbot, "On over-fitting in model selection and subsequent selection bias
    in performance evaluation", JMLR 11 (2010).

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fastml.model_selection import nested_cv
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y, patient = [[i] for i in range(40)], [0, 1] * 20, [i // 4 for i in range(40)]
    >>> search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=3)
    >>> found = nested_cv(search, X, y, groups=patient, outer_cv=5)
    >>> len(found.best_params)
    5
    """
    from sklearn.base import is_classifier
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import GridSearchCV, GroupKFold, check_cv
    from sklearn.utils import indexable
    from sklearn.utils.parallel import Parallel, delayed

    X, y, groups = indexable(X, y, groups)
    if param_grid is not None:
        search = GridSearchCV(search, param_grid, scoring=scoring)
    elif not hasattr(search, "cv"):
        raise ValueError("search has no cv: hand over a search, or param_grid with an estimator")
    search = clone(search)
    inner = search.cv if inner_cv is None else inner_cv
    if groups is not None and (inner is None or isinstance(inner, Integral)):
        inner = GroupKFold(5 if inner is None else int(inner))
    search.cv = inner
    if groups is not None and isinstance(outer_cv, Integral):
        outer_cv = GroupKFold(int(outer_cv))
    classifies = is_classifier(getattr(search, "estimator", search))
    splits = list(check_cv(outer_cv, y, classifier=classifies).split(X, y, groups))
    scorer = check_scoring(search, scoring=scoring)
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    found = run(delayed(_outer)(search, X, y, groups, *split, scorer) for split in splits)
    models, scores = [model for model, _ in found], np.array([score for _, score in found])
    return NestedScores(
        scores=scores,
        inner_scores=np.array([getattr(model, "best_score_", np.nan) for model in models]),
        mean=float(scores.mean()),
        standard_deviation=float(scores.std(ddof=1)) if len(scores) > 1 else float("nan"),
        best_params=[dict(model.best_params_) for model in models],
        estimators=models,
        splits=splits,
    )


def _outer(search, X, y, groups, train, test, scorer):
    more = {} if groups is None else {"groups": safe_indexing(groups, train)}
    given = [safe_indexing(a, train) if a is not None else None for a in (X, y)]
    model = clone(search).fit(*given, **more)
    judged = [safe_indexing(a, test) if a is not None else None for a in (X, y)]
    return model, scorer(model, *judged)
