"""All subsets of columns, or as many as a bound leaves over."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import HasMethods, Interval, StrOptions, fit_context
from fastml._validation import validate_data
from fastml.feature_selection._base import SelectorMixin
from fastml.feature_selection._docs import ENTRIES
from fastml.feature_selection._subsets import mean_score


@documented(ENTRIES)
class ExhaustiveFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Search over all subsets of columns.

    Two goals: the best K columns (``n_features_to_select``), or as few as possible with a score of
    at least Q (``min_score``). Where a score cannot fall if a column is added (R² of least squares
    on its own rows), ``monotone=True`` searches by branch and bound: a set that is not good enough
    rules out all its subsets, and the answer is the same.

    Parameters
    ----------
    {estimator}
    n_features_to_select : int or "best", default="best"
        Number of columns; "best": the smallest set of the highest score.
    min_score : float, default=None
        With "best": the smallest set with at least this score; of several, the one that scores
        highest.
    monotone : bool, default=False
        Whether more columns never score lower.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimator's own score.
    cv : int, splitter or None, default=5
        Folds; None scores on the rows that were learned from.
    max_subsets : int, default=100000
        More are refused before the first fit, unless ``monotone``.

    Attributes
    ----------
    {n_features_in_}
    {feature_names_in_}
    {support_}
    score_ : float
        Score of the selected columns.
    n_scored_ : int
        Number of subsets that were fitted.

    References
    ----------
    P. M. Narendra, K. Fukunaga, "A branch and bound algorithm for feature subset selection", IEEE
    Transactions on Computers 26 (1977).

    Examples
    --------
    >>> from fastml.feature_selection import ExhaustiveFeatureSelector
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[float(i), float(i % 3), float(i % 5)] for i in range(15)]
    >>> y = [2.0 * i + i % 5 for i in range(15)]
    >>> ExhaustiveFeatureSelector(LinearRegression(), min_score=0.999, cv=3).fit(X, y).support_
    array([ True, False,  True])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [
            StrOptions({"best"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "min_score": [None, Interval(Real, None, None, closed="neither")],
        "monotone": ["boolean"],
        "scoring": [None, str, callable],
        "cv": ["cv_object"],
        "max_subsets": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        *,
        n_features_to_select="best",
        min_score=None,
        monotone=False,
        scoring=None,
        cv=5,
        max_subsets=100_000,
    ):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.min_score = min_score
        self.monotone = monotone
        self.scoring = scoring
        self.cv = cv
        self.max_subsets = max_subsets

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Search."""
        from sklearn.model_selection import check_cv

        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
            multi_output=True,
        )
        n_features, wanted = X.shape[1], self.n_features_to_select
        if wanted != "best" and wanted > n_features:
            raise ValueError(f"n_features_to_select={wanted} must be <= n_features={n_features}")
        cv = self.cv
        if cv is not None:
            cv = check_cv(cv, y, classifier=is_classifier(self.estimator))
            cv = list(cv.split(X, y))
        search = _Subsets(clone(self.estimator), X, y, cv, self.scoring)
        if self.monotone:
            found = search.bounded(wanted, self.min_score)
        else:
            found = search.plain(wanted, self.min_score, self.max_subsets)
        if found is None:
            raise ValueError(
                f"no set of columns scores {self.min_score}; the best has {search.best_score:.6g}"
            )
        self.support_ = np.zeros(n_features, dtype=bool)
        self.support_[list(found)] = True
        self.score_ = search.scores[found]
        self.n_scored_ = len(search.scores)
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        tags.target_tags.required = True
        return tags


class _Subsets:
    """Scores of subsets, each asked for once; ties go to the columns that come first."""

    def __init__(self, estimator, X, y, cv, scoring):
        self.given = (estimator, X, y)
        self.how = (cv, scoring)
        self.n_features = X.shape[1]
        self.scores: dict[tuple[int, ...], float] = {}

    @property
    def best_score(self) -> float:
        return max(self.scores.values())

    def score(self, columns: tuple[int, ...]) -> float:
        if columns not in self.scores:
            mask = np.zeros(self.n_features, dtype=bool)
            mask[list(columns)] = True
            estimator, X, y = self.given
            self.scores[columns] = mean_score(estimator, X, y, mask, *self.how)
        return self.scores[columns]

    def plain(self, wanted, min_score, most) -> tuple[int, ...] | None:
        from math import comb

        sizes = range(1, self.n_features + 1) if wanted == "best" else [wanted]
        n_subsets = sum(comb(self.n_features, k) for k in sizes)
        if n_subsets > most:
            raise ValueError(f"{n_subsets} subsets are more than max_subsets={most}")
        best, highest = None, -np.inf
        for k in sizes:
            for columns in combinations(range(self.n_features), k):
                if self.score(columns) > highest:
                    best, highest = columns, self.score(columns)
            if wanted == "best" and min_score is not None and highest >= min_score:
                return best
        return best if wanted != "best" or min_score is None else None

    def bounded(self, wanted, min_score) -> tuple[int, ...] | None:
        """From all columns down: no subset scores more than a set that contains it."""
        everything = tuple(range(self.n_features))
        if wanted != "best":
            return self._best_of(wanted, -np.inf)
        goal = self.score(everything) if min_score is None else min_score
        if self.score(everything) < goal:
            return None
        best = everything
        for k in range(self.n_features - 1, 0, -1):
            found = self._best_of(k, goal)
            if found is None:
                break
            best = found
        return best

    def _best_of(self, k: int, goal: float) -> tuple[int, ...] | None:
        """The best set of k columns among those that reach the goal.

        A branch is a set and the first column that may still leave it, so that each subset is on
        one branch; the branches of the higher scores come first.
        """
        best, reached = None, goal
        waiting = [(tuple(range(self.n_features)), 0)]
        while waiting:
            columns, first = waiting.pop()
            score = self.score(columns)
            if score < reached:
                continue
            if len(columns) == k:
                if best is None or score > reached or columns < best:
                    best, reached = columns, score
                continue
            last = min(k, len(columns) - 1)  # enough others must be left to leave
            children = [(columns[:at] + columns[at + 1 :], at) for at in range(first, last + 1)]
            waiting += sorted(children, key=lambda child: (self.score(child[0]), -child[1]))
        return best
