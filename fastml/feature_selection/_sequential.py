"""One column at a time, forward or backward, judged by cross-validation."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    fit_context,
    raise_for_params,
    routing_enabled,
)
from fastml._validation import validate_data
from fastml.feature_selection._base import SelectorMixin
from fastml.feature_selection._docs import ENTRIES
from fastml.feature_selection._subsets import mean_score


@documented(ENTRIES)
class SequentialFeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Add the best column, or remove the worst, again and again.

    Two goals: the best K columns (``n_features_to_select``), or as few as possible with a score of
    at least Q (``min_score``).

    Parameters
    ----------
    {estimator}
    n_features_to_select : "auto", int or float, default="auto"
        How many columns to keep; a share. "auto": as ``min_score`` or ``tol`` say, or half.
    tol : float, default=None
        With "auto": stop where a step raises the score by less. Negative, backward: how much may be
        lost.
    direction : {"forward", "backward"}, default="forward"
        Whether to add or to remove.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimator's own score.
    cv : int, splitter or iterable, default=5
        Folds.
    n_jobs : int, default=None
        Candidates at a time, by joblib. fastml's estimators use all cores themselves.
    min_score : float, default=None
        With "auto": forward, stop as soon as the score is reached; backward, as long as it is kept.

    Attributes
    ----------
    {n_features_in_}
    {feature_names_in_}
    n_features_to_select_ : int
        Number of selected columns.
    {support_}

    Examples
    --------
    >>> from fastml.feature_selection import SequentialFeatureSelector
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[float(i), float(i % 3), float(i % 5)] for i in range(15)]
    >>> y = [2.0 * i + i % 5 for i in range(15)]
    >>> choose = SequentialFeatureSelector(LinearRegression(), min_score=0.999, cv=3)
    >>> choose.fit(X, y).support_
    array([ True, False,  True])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [
            StrOptions({"auto"}),
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 0, None, closed="neither"),
        ],
        "tol": [None, Interval(Real, None, None, closed="neither")],
        "direction": [StrOptions({"forward", "backward"})],
        "scoring": [None, str, callable],
        "cv": ["cv_object"],
        "n_jobs": [None, Integral],
        "min_score": [None, Interval(Real, None, None, closed="neither")],
    }

    def __init__(
        self,
        estimator,
        *,
        n_features_to_select="auto",
        tol=None,
        direction="forward",
        scoring=None,
        cv=5,
        n_jobs=None,
        min_score=None,
    ):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.direction = direction
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.min_score = min_score

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Search; ``params`` go to the model, the folds and the scorer."""
        from sklearn.model_selection import check_cv

        raise_for_params(params, self, "fit")
        X = validate_data(
            self,
            X,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
        )
        n_steps = self._steps(X.shape[1])
        if self.tol is not None and self.tol < 0 and self.direction == "forward":
            raise ValueError("tol must be strictly positive when doing forward selection")
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        if routing_enabled():
            process_routing(self, "fit", **params)
        backward = self.direction == "backward"
        auto = self.n_features_to_select == "auto"
        moved = np.zeros(X.shape[1], dtype=bool)
        before = -np.inf
        for _ in range(n_steps):
            best, score = self._best_step(X, y, cv, moved, params)
            if auto and self.min_score is not None:
                if backward and score < self.min_score:
                    break
            elif auto and self.tol is not None and score - before < self.tol:
                break
            before = score
            moved[best] = True
            if auto and not backward and self.min_score is not None and score >= self.min_score:
                break
        self.support_ = ~moved if backward else moved
        self.n_features_to_select_ = self.support_.sum()
        return self

    def _steps(self, n_features: int) -> int:
        wanted = self.n_features_to_select
        if wanted == "auto":
            if self.min_score is not None:
                return n_features - (self.direction == "backward")
            return n_features - 1 if self.tol is not None else n_features // 2
        if isinstance(wanted, Integral):
            if int(wanted) >= n_features:
                raise ValueError("n_features_to_select must be < n_features.")
        else:
            wanted = int(n_features * wanted)
        return wanted if self.direction == "forward" else n_features - wanted

    def _best_step(self, X, y, cv, moved, params) -> tuple[int, float]:
        from sklearn.utils.parallel import Parallel, delayed

        candidates = np.flatnonzero(~moved)
        masks = []
        for j in candidates:
            mask = moved.copy()
            mask[j] = True
            masks.append(~mask if self.direction == "backward" else mask)
        model = clone(self.estimator)
        run = Parallel(n_jobs=self.n_jobs)
        scores = run(
            delayed(mean_score)(model, X, y, mask, cv, self.scoring, params) for mask in masks
        )
        best = max(range(len(scores)), key=scores.__getitem__)
        return candidates[best], scores[best]

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def get_metadata_routing(self):
        """What is handed to the model, the folds and the scorer."""
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        def called(callee):
            return MethodMapping().add(caller="fit", callee=callee)

        router = MetadataRouter(owner=self)
        router.add(estimator=self.estimator, method_mapping=called("fit"))
        folds = check_cv(self.cv, classifier=is_classifier(self.estimator))
        router.add(splitter=folds, method_mapping=called("split"))
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        router.add(scorer=scorer, method_mapping=called("score"))
        return router
