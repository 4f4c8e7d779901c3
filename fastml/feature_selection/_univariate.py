"""Selectors by scores of single columns."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import validate_data
from fastml.feature_selection._base import SelectorMixin
from fastml.feature_selection._docs import ENTRIES
from fastml.feature_selection._scores import f_classif


class _Filter(SelectorMixin, BaseEstimator):
    """Scores columns; those below choose among them."""

    _parameter_constraints: dict = {"score_func": [callable]}

    def __init__(self, score_func):
        self.score_func = score_func

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Score the columns of X."""
        if y is None:
            X = validate_data(self, X, accept_sparse=["csr", "csc"])
        else:
            X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], multi_output=True)
        self._check_params(X)
        found = self.score_func(X, y)
        scores, p = found if isinstance(found, list | tuple) else (found, None)
        self.scores_ = np.asarray(scores)
        self.pvalues_ = None if p is None else np.asarray(p)
        return self

    def _check_params(self, X) -> None:
        pass

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


class _ByScore(_Filter):
    """Filters that may do without a target."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def _ordered(scores) -> NDArray:
    """Scores with the lowest number in the place of NaN."""
    scores = np.array(scores, dtype=scores.dtype if scores.dtype.kind == "f" else np.float64)
    scores[np.isnan(scores)] = np.finfo(scores.dtype).min
    return scores


@documented(ENTRIES)
class SelectKBest(_ByScore):
    """Keep the k columns of the highest scores.

    Parameters
    ----------
    {score_func}
    k : int or "all", default=10
        How many.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import SelectKBest
    >>> X = [[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 4.0]]
    >>> SelectKBest(k=1).fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    _parameter_constraints: dict = {
        **_Filter._parameter_constraints,
        "k": [StrOptions({"all"}), Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, score_func=f_classif, *, k=10):
        super().__init__(score_func=score_func)
        self.k = k

    def _check_params(self, X):
        if not isinstance(self.k, str) and self.k > X.shape[1]:
            warnings.warn(
                f"k={self.k} is greater than n_features={X.shape[1]}. All the features will be "
                "returned.",
                stacklevel=3,
            )

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.full(self.scores_.shape, self.k == "all")
        if self.k != "all" and self.k > 0:
            mask[np.argsort(_ordered(self.scores_), kind="stable")[-self.k :]] = True
        return mask


@documented(ENTRIES)
class SelectPercentile(_ByScore):
    """Keep a share of the columns, those of the highest scores.

    Parameters
    ----------
    {score_func}
    percentile : int, default=10
        The share, in percent.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import SelectPercentile
    >>> X = [[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 4.0]]
    >>> SelectPercentile(percentile=50).fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    _parameter_constraints: dict = {
        **_Filter._parameter_constraints,
        "percentile": [Interval(Real, 0, 100, closed="both")],
    }

    def __init__(self, score_func=f_classif, *, percentile=10):
        super().__init__(score_func=score_func)
        self.percentile = percentile

    def _get_support_mask(self):
        check_is_fitted(self)
        if self.percentile in (0, 100):
            return np.full(len(self.scores_), self.percentile == 100)
        scores = _ordered(self.scores_)
        threshold = np.percentile(scores, 100 - self.percentile)
        mask = scores > threshold
        places = int(len(scores) * self.percentile / 100) - mask.sum()
        mask[np.flatnonzero(scores == threshold)[:places]] = True
        return mask


class _ByPValue(_Filter):
    """Filters with a level of significance."""

    _parameter_constraints: dict = {
        **_Filter._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, score_func=f_classif, *, alpha=5e-2):
        super().__init__(score_func=score_func)
        self.alpha = alpha


@documented(ENTRIES)
class SelectFpr(_ByPValue):
    """Keep columns whose p-value is below alpha: bounds the rate of false positives.

    Parameters
    ----------
    {score_func}
    alpha : float, default=5e-2
        Level of significance of a column.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import SelectFpr
    >>> X = [[1.0, 5.0], [1.1, 3.0], [3.0, 4.0], [3.1, 4.0]]
    >>> SelectFpr().fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.pvalues_ < self.alpha


@documented(ENTRIES)
class SelectFdr(_ByPValue):
    """Keep columns by the rule of Benjamini and Hochberg: bounds the share of false discoveries.

    Parameters
    ----------
    {score_func}
    alpha : float, default=5e-2
        Share of false ones among those kept, at most, on average.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import SelectFdr
    >>> X = [[1.0, 5.0], [1.1, 3.0], [3.0, 4.0], [3.1, 4.0]]
    >>> SelectFdr().fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    def _get_support_mask(self):
        check_is_fitted(self)
        p = np.sort(self.pvalues_)
        passed = p[p <= float(self.alpha) / len(p) * np.arange(1, len(p) + 1)]
        return self.pvalues_ <= (passed.max() if passed.size else -1.0)


@documented(ENTRIES)
class SelectFwe(_ByPValue):
    """Keep columns by Bonferroni's rule: bounds the chance of any false one.

    Parameters
    ----------
    {score_func}
    alpha : float, default=5e-2
        That chance.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import SelectFwe
    >>> X = [[1.0, 5.0], [1.1, 3.0], [3.0, 4.0], [3.1, 4.0]]
    >>> SelectFwe().fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.pvalues_ < self.alpha / len(self.pvalues_)


@documented(ENTRIES)
class GenericUnivariateSelect(_Filter):
    """Any of the five filters by name.

    Parameters
    ----------
    {score_func}
    mode : {"percentile", "k_best", "fpr", "fdr", "fwe"}, default="percentile"
        Which.
    param : "all", float or int, default=1e-5
        Its parameter.

    Attributes
    ----------
    {scores_}
    {pvalues_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.feature_selection import GenericUnivariateSelect
    >>> X = [[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 4.0]]
    >>> GenericUnivariateSelect(mode="k_best", param=1).fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    _selection_modes: dict = {
        "percentile": (SelectPercentile, "percentile"),
        "k_best": (SelectKBest, "k"),
        "fpr": (SelectFpr, "alpha"),
        "fdr": (SelectFdr, "alpha"),
        "fwe": (SelectFwe, "alpha"),
    }
    _parameter_constraints: dict = {
        **_Filter._parameter_constraints,
        "mode": [StrOptions(set(_selection_modes))],
        "param": [Interval(Real, 0, None, closed="left"), StrOptions({"all"})],
    }

    def __init__(self, score_func=f_classif, *, mode="percentile", param=1e-5):
        super().__init__(score_func=score_func)
        self.mode = mode
        self.param = param

    def _chosen(self):
        cls, name = self._selection_modes[self.mode]
        return cls(self.score_func, **{name: self.param})

    def _check_params(self, X):
        self._chosen()._check_params(X)

    def _get_support_mask(self):
        check_is_fitted(self)
        chosen = self._chosen()
        chosen.scores_, chosen.pvalues_ = self.scores_, self.pvalues_
        return chosen._get_support_mask()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
