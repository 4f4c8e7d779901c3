"""Recursive elimination: fit, leave out the columns that matter least, repeat."""

from __future__ import annotations

import warnings
from copy import deepcopy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    HasMethods,
    Interval,
    RealNotInt,
    check_method_params,
    estimator_has,
    fit_context,
    manual_routing,
    raise_for_params,
    routing_enabled,
    safe_split,
)
from fastml._validation import validate_data
from fastml.feature_selection._base import SelectorMixin, importances_of
from fastml.feature_selection._docs import ENTRIES


class Elimination(NamedTuple):
    """What is left after every step, from all columns down; the last model."""

    sizes: list[int]
    scores: list[float]
    supports: list[NDArray]
    rankings: list[NDArray]
    estimator: Any


def eliminate(selector, X, y, n_left: int, score=None, **fit_params) -> Elimination:
    """Fit and leave out columns until ``n_left`` are there; ``score(model, columns)`` each time."""
    n_features = X.shape[1]
    step = selector.step
    step = int(max(1, step * n_features)) if 0.0 < step < 1.0 else int(step)
    support = np.ones(n_features, dtype=bool)
    ranking = np.ones(n_features, dtype=int)
    found = Elimination([], [], [], [], None)
    while True:
        columns = np.flatnonzero(support)
        going_on = len(columns) > n_left
        if going_on and selector.verbose > 0:
            print(f"Fitting estimator with {len(columns)} features.")  # noqa: T201
        model = clone(selector.estimator)
        model.fit(X[:, columns], y, **fit_params)
        found.sizes.append(len(columns))
        found.supports.append(support.copy())
        found.rankings.append(ranking.copy())
        if score is not None:
            found.scores.append(score(model, columns))
        if not going_on:
            return found._replace(estimator=model)
        importances = importances_of(model, selector.importance_getter, "square")
        order = np.argsort(importances, kind="stable")
        support[columns[order[: min(step, len(columns) - n_left)]]] = False
        ranking[~support] += 1


@documented(ENTRIES)
class RFE(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Recursive feature elimination.

    The model is fitted, the columns of the smallest squared weights are left out, and so on.

    Parameters
    ----------
    {estimator}
    n_features_to_select : int or float, default=None
        How many columns to keep; a share; None is half of them.
    step : int or float, default=1
        How many to leave out at a time; a share of all.
    verbose : int, default=0
        Whether to tell the number of columns at each fit.
    {importance_getter}

    Attributes
    ----------
    {classes_}
    {estimator_}
    {n_features_}
    {n_features_in_}
    {feature_names_in_}
    {ranking_}
    {support_}

    Examples
    --------
    >>> from fastml.feature_selection import RFE
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> RFE(LinearRegression()).fit(X, [0.0, 1.0, 2.0, 3.0]).ranking_
    array([1, 2])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit"])],
        "n_features_to_select": [
            None,
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 0, None, closed="neither"),
        ],
        "step": [
            Interval(Integral, 0, None, closed="neither"),
            Interval(RealNotInt, 0, 1, closed="neither"),
        ],
        "verbose": ["verbose"],
        "importance_getter": [str, callable],
    }

    def __init__(
        self,
        estimator,
        *,
        n_features_to_select=None,
        step=1,
        verbose=0,
        importance_getter="auto",
    ):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.importance_getter = importance_getter
        self.verbose = verbose

    @property
    def classes_(self):
        return self.estimator_.classes_

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **fit_params):
        """Eliminate columns, then fit on those that are left."""
        if routing_enabled():
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        return self._fit(X, y, **fit_params)

    def _fit(self, X, y, **fit_params):
        X, y = _checked(self, X, y, "csc")
        n_features, wanted = X.shape[1], self.n_features_to_select
        if wanted is None:
            wanted = n_features // 2
        elif not isinstance(wanted, Integral):
            wanted = int(n_features * wanted)
        elif wanted > n_features:
            _warn_of_no_selection("n_features_to_select", wanted, n_features)
        self._take(eliminate(self, X, y, wanted, **fit_params))
        return self

    def _take(self, found: Elimination) -> None:
        self.estimator_ = found.estimator
        self.support_, self.ranking_ = found.supports[-1], found.rankings[-1]
        self.n_features_ = self.support_.sum()

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _routed(self, method, params):
        if routing_enabled():
            return process_routing(self, method, **params).estimator[method]
        return params

    @available_if(estimator_has("predict"))
    def predict(self, X, **predict_params):
        """What the model of the selected columns predicts."""
        raise_for_params(predict_params, self, "predict")
        check_is_fitted(self)
        given = self._routed("predict", predict_params)
        return self.estimator_.predict(self.transform(X), **given)

    @available_if(estimator_has("score"))
    def score(self, X, y, **score_params):
        """The score of the model of the selected columns."""
        check_is_fitted(self)
        given = self._routed("score", score_params)
        return self.estimator_.score(self.transform(X), y, **given)

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X):
        """The decision function of the model of the selected columns."""
        check_is_fitted(self)
        return self.estimator_.decision_function(self.transform(X))

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities by the model of the selected columns."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self.transform(X))

    @available_if(estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Their logarithms."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(self.transform(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def get_metadata_routing(self):
        """What is handed to the model's methods."""
        mapping = MethodMapping()
        for method in ("fit", "predict", "score"):
            mapping = mapping.add(caller=method, callee=method)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)


def _checked(selector, X, y, layout):
    return validate_data(
        selector,
        X,
        y,
        accept_sparse=layout,
        ensure_min_features=2,
        ensure_all_finite=False,
        multi_output=True,
    )


def _warn_of_no_selection(name, wanted, n_features) -> None:
    warnings.warn(
        f"Found {name}={wanted!r} > n_features={n_features!r}. There will be no feature selection "
        "and all features will be kept.",
        UserWarning,
        stacklevel=4,
    )


@documented(ENTRIES)
class RFECV(RFE):
    """Recursive feature elimination, the number of columns by cross-validation.

    Parameters
    ----------
    {estimator}
    step : int or float, default=1
        How many columns to leave out at a time; a share of all.
    min_features_to_select : int, default=1
        Where to stop.
    cv : int, splitter or iterable, default=None
        Folds; None is 5.
    scoring : str or callable, default=None
        scikit-learn's; None is accuracy or R².
    verbose : int, default=0
        Whether to tell the number of columns at each fit.
    n_jobs : int, default=None
        Folds at a time, by joblib. fastml's estimators use all cores themselves.
    {importance_getter}

    Attributes
    ----------
    {classes_}
    {estimator_}
    cv_results_ : dict of arrays
        Scores, rankings and supports by number of columns, from few to many.
    {n_features_}
    {n_features_in_}
    {feature_names_in_}
    {ranking_}
    {support_}

    Examples
    --------
    >>> from fastml.feature_selection import RFECV
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[float(i), float(i % 3)] for i in range(12)]
    >>> RFECV(LinearRegression(), cv=3).fit(X, [2.0 * i for i in range(12)]).support_
    array([ True, False])
    """

    _parameter_constraints: dict = {
        **{k: v for k, v in RFE._parameter_constraints.items() if k != "n_features_to_select"},
        "min_features_to_select": [Interval(Integral, 0, None, closed="neither")],
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
        "n_jobs": [None, Integral],
    }
    __metadata_request__fit = {"groups": UNUSED}

    def __init__(
        self,
        estimator,
        *,
        step=1,
        min_features_to_select=1,
        cv=None,
        scoring=None,
        verbose=0,
        n_jobs=None,
        importance_getter="auto",
    ):
        self.estimator = estimator
        self.step = step
        self.importance_getter = importance_getter
        self.cv = cv
        self.scoring = scoring
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.min_features_to_select = min_features_to_select

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, **params):
        """Eliminate columns in every fold, choose their number, eliminate on all rows."""
        from sklearn.model_selection import check_cv
        from sklearn.utils.parallel import Parallel, delayed

        raise_for_params(params, self, "fit", allow=["groups"])
        X, y = _checked(self, X, y, "csr")
        if routing_enabled():
            routed = process_routing(self, "fit", **params)
        else:
            split = {"groups": params.pop("groups", None)}
            routed = manual_routing({"estimator": {}, "splitter": {"split": split}, "scorer": {}})
        n_features, least = X.shape[1], self.min_features_to_select
        if least > n_features:
            _warn_of_no_selection("min_features_to_select", least, n_features)
        folds = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = folds.split(X, y, **routed.splitter.split)
        least, scorer = min(least, n_features), self._get_scorer()
        run = Parallel(n_jobs=self.n_jobs)
        found = run(
            delayed(_eliminate_in_fold)(self, X, y, fold, least, scorer, routed) for fold in folds
        )
        sizes = np.array(found[0].sizes)[::-1]
        scores = np.array([fold.scores for fold in found])[:, ::-1]
        best = sizes[np.argmax(scores.sum(axis=0))]
        self._take(eliminate(self, X, y, best, **routed.estimator.fit))
        self.cv_results_ = {
            "mean_test_score": scores.mean(axis=0),
            "std_test_score": scores.std(axis=0),
            **{f"split{i}_test_score": fold for i, fold in enumerate(scores)},
            **{f"split{i}_ranking": np.array(f.rankings)[::-1] for i, f in enumerate(found)},
            **{f"split{i}_support": np.array(f.supports)[::-1] for i, f in enumerate(found)},
            "n_features": sizes,
        }
        return self

    def score(self, X, y, **score_params):
        """The score, by ``scoring``, of the model of the selected columns."""
        raise_for_params(score_params, self, "score")
        if routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return self._get_scorer()(self, X, y, **score_params)

    def _get_scorer(self):
        from sklearn.metrics import get_scorer

        default = "accuracy" if is_classifier(self.estimator) else "r2"
        return get_scorer(default if self.scoring is None else self.scoring)

    def get_metadata_routing(self):
        """What is handed to the model, the folds and the scorer."""
        from sklearn.model_selection import check_cv

        def mapping(*pairs):
            found = MethodMapping()
            for caller, callee in pairs:
                found = found.add(caller=caller, callee=callee)
            return found

        router = MetadataRouter(owner=self)
        router.add(
            estimator=self.estimator, method_mapping=mapping(("fit", "fit"), ("predict", "predict"))
        )
        router.add(splitter=check_cv(self.cv), method_mapping=mapping(("fit", "split")))
        router.add(
            scorer=self._get_scorer(), method_mapping=mapping(("fit", "score"), ("score", "score"))
        )
        return router


def _eliminate_in_fold(selector, X, y, fold, least, scorer, routed) -> Elimination:
    train, test = fold
    X_train, y_train = safe_split(selector.estimator, X, y, train)
    X_test, y_test = safe_split(selector.estimator, X, y, test, train)
    fitting = check_method_params(X, params=routed.estimator.fit, indices=train)
    scoring = check_method_params(X, params=routed.scorer.get("score", {}), indices=test)

    def score(model, columns) -> float:
        return float(scorer(model, X_test[:, columns], y_test, **scoring))

    return eliminate(selector, X_train, y_train, least, score, **fitting)
