"""Columns that a model gives weight to."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_scalar, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    HasMethods,
    Interval,
    Options,
    check_feature_names,
    estimator_has,
    fit_context,
    routing_enabled,
)
from fastml.feature_selection._base import SelectorMixin, importances_of
from fastml.feature_selection._docs import ENTRIES

STATISTICS: dict[str, Any] = {"mean": np.mean, "median": np.median}


def _is_sparse_model(estimator) -> bool:
    """Whether its penalty makes weights zero."""
    name = type(estimator).__name__
    if "Lasso" in name or getattr(estimator, "penalty", None) == "l1":
        return True
    attribute = {
        "ElasticNet": "l1_ratio",
        "LogisticRegression": "l1_ratio",
        "ElasticNetCV": "l1_ratio_",
        "LogisticRegressionCV": "l1_ratio_",
    }.get(name)
    ratio = getattr(estimator, attribute, None) if attribute else None
    return ratio is not None and bool(np.all(np.isclose(ratio, 1.0)))


def threshold_of(estimator, importances, threshold) -> float:
    """A number, from "mean", "median", "1.5*mean", None or a number."""
    if threshold is None:
        threshold = 1e-5 if _is_sparse_model(estimator) else "mean"
    if not isinstance(threshold, str):
        return float(threshold)
    factor, times, name = threshold.rpartition("*")
    name = name.strip()
    if name not in STATISTICS:
        if times:
            raise ValueError("Unknown reference: " + name)
        raise ValueError(f"Expected threshold='mean' or threshold='median' got {threshold}")
    return (float(factor) if times else 1.0) * STATISTICS[name](importances)


@documented(ENTRIES)
class SelectFromModel(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Keep columns whose importance in a model reaches a threshold.

    Parameters
    ----------
    estimator : estimator
        The model; fitted already if ``prefit``.
    threshold : str or float, default=None
        "mean", "median", a multiple ("1.25*mean") or a number. None: 1e-5 for models with an l1
        penalty, else "mean".
    prefit : bool, default=False
        Whether the estimator is fitted.
    norm_order : non-zero int, inf or -inf, default=1
        Norm over the rows of weights, where there are several.
    max_features : int or callable, default=None
        Most columns to keep; a function of X.
    {importance_getter}

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    {n_features_in_}
    max_features_ : int
        Most columns to keep, where ``max_features`` is given.
    {feature_names_in_}
    threshold_ : float
        The threshold as a number.

    Examples
    --------
    >>> from fastml.feature_selection import SelectFromModel
    >>> from fastml.linear_model import Lasso
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> SelectFromModel(Lasso(0.1)).fit(X, [0.0, 1.0, 2.0, 3.0]).get_support()
    array([ True, False])
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit")],
        "threshold": [Interval(Real, None, None, closed="both"), str, None],
        "prefit": ["boolean"],
        "norm_order": [
            Interval(Integral, None, -1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
            Options(Real, {np.inf, -np.inf}),
        ],
        "max_features": [Interval(Integral, 0, None, closed="left"), callable, None],
        "importance_getter": [str, callable],
    }

    def __init__(
        self,
        estimator,
        *,
        threshold=None,
        prefit=False,
        norm_order=1,
        max_features=None,
        importance_getter="auto",
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.prefit = prefit
        self.importance_getter = importance_getter
        self.norm_order = norm_order
        self.max_features = max_features

    def _check_prefit(self) -> None:
        try:
            check_is_fitted(self.estimator)
        except NotFittedError as error:
            raise NotFittedError(
                "When `prefit=True`, `estimator` is expected to be a fitted estimator."
            ) from error

    def _scores(self, estimator):
        return importances_of(estimator, self.importance_getter, "norm", self.norm_order)

    def _get_support_mask(self):
        estimator = getattr(self, "estimator_", self.estimator)
        most = getattr(self, "max_features_", self.max_features)
        if self.prefit:
            self._check_prefit()
        if callable(most):
            raise NotFittedError(
                "When `prefit=True` and `max_features` is a callable, call `fit` before calling "
                "`transform`."
            )
        if most is not None and not isinstance(most, Integral):
            raise ValueError(
                f"`max_features` must be an integer. Got `max_features={most}` instead."
            )
        scores = self._scores(estimator)
        mask = scores >= threshold_of(estimator, scores, self.threshold)
        if self.max_features is not None:
            mask[np.argsort(-scores, kind="stable")[most:]] = False
        return mask

    def _take_max_features(self, X) -> None:
        if self.max_features is not None:
            most = self.max_features(X) if callable(self.max_features) else self.max_features
            check_scalar(most, "max_features", Integral, min_val=0, max_val=None)
            self.max_features_ = most

    def _take_names(self, X, *, first: bool) -> None:
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        else:
            check_feature_names(self, X, reset=first)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **fit_params):
        """Fit a clone of the model, or copy one that is fitted."""
        self._take_max_features(X)
        if self.prefit:
            self._check_prefit()
            self.estimator_ = deepcopy(self.estimator)
        else:
            if routing_enabled():
                fit_params = process_routing(self, "fit", **fit_params).estimator.fit
            self.estimator_ = clone(self.estimator)
            self.estimator_.fit(X, y, **fit_params)
        self._take_names(X, first=True)
        return self

    @property
    def threshold_(self):
        return threshold_of(self.estimator, self._scores(self.estimator_), self.threshold)

    @available_if(estimator_has("partial_fit"))
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y=None, **partial_fit_params):
        """Fit the model on further rows."""
        first = not hasattr(self, "estimator_")
        if first:
            self._take_max_features(X)
            if self.prefit:
                self._check_prefit()
                self.estimator_ = deepcopy(self.estimator)
            else:
                self.estimator_ = clone(self.estimator)
        if self.prefit:
            return self
        if routing_enabled():
            routed = process_routing(self, "partial_fit", **partial_fit_params)
            partial_fit_params = routed.estimator.partial_fit
        self.estimator_.partial_fit(X, y, **partial_fit_params)
        self._take_names(X, first=first)
        return self

    @property
    def n_features_in_(self):
        """Number of columns that the model has seen."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(
                f"{type(self).__name__} object has no n_features_in_ attribute."
            ) from error
        return self.estimator_.n_features_in_

    def get_metadata_routing(self):
        """What is handed to the model's fit and partial_fit."""
        mapping = MethodMapping().add(caller="partial_fit", callee="partial_fit")
        mapping = mapping.add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
