"""Columns predicted from the other ones, in turn."""

from __future__ import annotations

import warnings
from collections import namedtuple
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, check_random_state

from fastml._docs import documented
from fastml._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_feature_names_in,
    fit_context,
    get_mask,
    num_samples,
    raise_for_params,
)
from fastml._validation import check_array, validate_data
from fastml.impute._indicator import ENTRIES, Imputer, check_kinds
from fastml.impute._simple import SimpleImputer

FLOATS_AND_HALF = (np.float64, np.float32, np.float16)
LEAST_CORRELATION = 1e-6

ImputerTriplet = namedtuple("ImputerTriplet", ["feat_idx", "neighbor_feat_idx", "estimator"])


@documented(ENTRIES)
class IterativeImputer(Imputer):
    """Predict each column from the others, and go round until little changes.

    Columns are filled in with simple values first. Then each column in turn is learned from the
    rows in which it is there and predicted where it is not (van Buuren & Groothuis-Oudshoorn,
    2011).

    Parameters
    ----------
    estimator : estimator object, default=None
        Regressor; None: `fastml.linear_model.BayesianRidge`. With ``sample_posterior`` its
        ``predict`` must take ``return_std``.
    {missing_values}
    sample_posterior : bool, default=False
        Draw from the normal distribution of each prediction: for several imputations.
    max_iter : int, default=10
        Rounds.
    tol : float, default=1e-3
        Stop where no value changed by this share of the largest absolute one.
    n_nearest_features : int, default=None
        Columns to predict from, drawn by their correlation; None: all.
    initial_strategy : {'mean', 'median', 'most_frequent', 'constant'}, default='mean'
        Of the first values.
    fill_value : str or number, default=None
        The constant.
    imputation_order : {'ascending', 'descending', 'roman', 'arabic', 'random'}, default='ascending'
        By the number of missing values, from left to right, from right to left, or drawn.
    skip_complete : bool, default=False
        Learn nothing of columns in which fit sees all values.
    min_value : float or array-like of shape (n_features,), default=-np.inf
        What is filled in is not less.
    max_value : float or array-like of shape (n_features,), default=np.inf
        What is filled in is not more.
    verbose : int, default=0
        1: what changes in each round; 2: with times.
    random_state : int, RandomState instance or None, default=None
        Draws columns, order and values.
    {add_indicator}
    {keep_empty_features}

    Attributes
    ----------
    initial_imputer_ : SimpleImputer
        Made the first values.
    imputation_sequence_ : list of tuples
        (column, columns that it is predicted from, estimator), in the order of use.
    n_iter_ : int
        Rounds.
    {n_features_in_}
    {feature_names_in_}
    n_features_with_missing_ : int
        Columns with missing values.
    {indicator_}
    random_state_ : RandomState
        The generator used.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.impute import IterativeImputer
    >>> X = [[1.0, 2.0], [3.0, 6.0], [4.0, 8.0], [np.nan, 3.0], [7.0, np.nan]]
    >>> IterativeImputer(random_state=0).fit_transform(X).round()
    array([[ 1.,  2.],
           [ 3.,  6.],
           [ 4.,  8.],
           [ 2.,  3.],
           [ 7., 14.]])
    """

    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "estimator": [None, HasMethods(["fit", "predict"])],
        "sample_posterior": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_nearest_features": [None, Interval(Integral, 1, None, closed="left")],
        "initial_strategy": [StrOptions({"mean", "median", "most_frequent", "constant"})],
        "fill_value": "no_validation",
        "imputation_order": [StrOptions({"ascending", "descending", "roman", "arabic", "random"})],
        "skip_complete": ["boolean"],
        "min_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "max_value": [None, Interval(Real, None, None, closed="both"), "array-like"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        missing_values=np.nan,
        sample_posterior=False,
        max_iter=10,
        tol=1e-3,
        n_nearest_features=None,
        initial_strategy="mean",
        fill_value=None,
        imputation_order="ascending",
        skip_complete=False,
        min_value=-np.inf,
        max_value=np.inf,
        verbose=0,
        random_state=None,
        add_indicator=False,
        keep_empty_features=False,
    ):
        super().__init__(
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
        )
        self.estimator = estimator
        self.sample_posterior = sample_posterior
        self.max_iter = max_iter
        self.tol = tol
        self.n_nearest_features = n_nearest_features
        self.initial_strategy = initial_strategy
        self.fill_value = fill_value
        self.imputation_order = imputation_order
        self.skip_complete = skip_complete
        self.min_value = min_value
        self.max_value = max_value
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y=None, **fit_params):
        """Learn the columns from each other.

        Parameters
        ----------
        {X}
        {y}
        **fit_params : dict
            For the estimator's fit, with metadata routing.

        Returns
        -------
        {self}
        """
        self.fit_transform(X, **fit_params)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y=None, **params):
        """Learn the columns from each other and fill in what is missing.

        Parameters
        ----------
        {X}
        {y}
        **params : dict
            For the estimator's fit, with metadata routing.

        Returns
        -------
        {X_imputed}
        """
        from sklearn.utils.metadata_routing import process_routing

        raise_for_params(params, self, "fit")
        routed = process_routing(self, "fit", **params)
        self.random_state_ = getattr(self, "random_state_", check_random_state(self.random_state))
        self.imputation_sequence_ = []
        self.initial_imputer_ = None
        X, filled, absent, all_absent = self._first_values(X, in_fit=True)
        self._fit_indicator(all_absent)
        if self.max_iter == 0 or absent.all() or filled.shape[1] == 1:
            self.n_iter_ = 0
            return self._with_indicator(filled, all_absent)
        self._min_value = self._limit(self.min_value, "min", X.shape[1])
        self._max_value = self._limit(self.max_value, "max", X.shape[1])
        if not (self._max_value > self._min_value).all():
            raise ValueError("One (or more) features have min_value >= max_value.")
        order = self._order(absent)
        self.n_features_with_missing_ = len(order)
        self._rounds(X, filled, absent, order, routed.estimator.fit)
        filled[~absent] = X[~absent]
        return self._with_indicator(filled, all_absent)

    def _rounds(self, X, filled, absent, order, params):
        """Go round until little changes."""
        shares = self._correlation_shares(filled)
        if self.verbose > 0:
            print(f"[IterativeImputer] Completing matrix with shape {X.shape}")  # noqa: T201
        started = perf_counter()
        before = filled.copy()
        tolerance = self.tol * np.max(np.abs(X[~absent]))
        for number in range(1, self.max_iter + 1):
            self.n_iter_ = number
            if self.imputation_order == "random":
                order = self._order(absent)
            for j in order:
                others = self._predictors(filled.shape[1], j, shares)
                model = clone(self._regressor())
                self._impute(filled, absent[:, j], j, others, model, params)
                self.imputation_sequence_.append(ImputerTriplet(j, others, model))
            if self.verbose > 1:
                print(  # noqa: T201
                    f"[IterativeImputer] Ending imputation round {self.n_iter_}/{self.max_iter}, "
                    f"elapsed time {perf_counter() - started:0.2f}"
                )
            if self.sample_posterior:
                continue
            change = np.linalg.norm(filled - before, ord=np.inf, axis=None)
            if self.verbose > 0:
                print(f"[IterativeImputer] Change: {change}, scaled tolerance: {tolerance} ")  # noqa: T201
            if change < tolerance:
                if self.verbose > 0:
                    print("[IterativeImputer] Early stopping criterion reached.")  # noqa: T201
                return
            before = filled.copy()
        if not self.sample_posterior:
            warnings.warn(
                "[IterativeImputer] Early stopping criterion not reached.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _regressor(self):
        if self.estimator is not None:
            return self.estimator
        from fastml.linear_model import BayesianRidge

        return BayesianRidge()

    def _first_values(self, X, in_fit):
        """(X, filled in simply, where it was missing, the same of all columns of the input)."""
        X = validate_data(
            self, X, dtype=FLOATS_AND_HALF, order="F", reset=in_fit, copy=True,
            ensure_all_finite=self._finite,
        )  # fmt: skip
        check_kinds(X, self.missing_values)
        absent = get_mask(X, self.missing_values)
        all_absent = absent.copy()
        if self.initial_imputer_ is None:
            self.initial_imputer_ = SimpleImputer(
                missing_values=self.missing_values,
                strategy=self.initial_strategy,
                fill_value=self.fill_value,
                keep_empty_features=self.keep_empty_features,
            ).set_output(transform="default")
            filled = self.initial_imputer_.fit_transform(X)
        else:
            filled = self.initial_imputer_.transform(X)
        if in_fit:
            self._is_empty_feature = absent.all(axis=0)
        empty = self._is_empty_feature
        if self.keep_empty_features:
            absent[:, empty] = False
            X[:, empty] = filled[:, empty]
        else:
            X, absent = X[:, ~empty], absent[:, ~empty]
        return X, np.asfortranarray(filled), absent, all_absent

    def _limit(self, limit, which, d):
        n_in = len(self._is_empty_feature)
        if limit is not None and not np.isscalar(limit) and num_samples(limit) != n_in:
            raise ValueError(
                f"'{which}_value' should be of shape ({n_in},) when an array-like is provided. Got "
                f"{len(limit)}, instead."
            )
        if limit is None:
            limit = np.inf if which == "max" else -np.inf
        if np.isscalar(limit):
            limit = np.full(d, limit)
        limit = check_array(limit, ensure_all_finite=False, copy=False, ensure_2d=False)
        if not self.keep_empty_features and len(limit) == n_in:
            limit = limit[~self._is_empty_feature]
        return limit

    def _order(self, absent):
        share = absent.mean(axis=0)
        chosen = np.flatnonzero(share) if self.skip_complete else np.arange(len(share))
        if self.imputation_order == "roman":
            return chosen
        if self.imputation_order == "arabic":
            return chosen[::-1]
        if self.imputation_order == "random":
            self.random_state_.shuffle(chosen)
            return chosen
        ascending = np.argsort(share, kind="stable")[len(share) - len(chosen) :]
        return ascending if self.imputation_order == "ascending" else ascending[::-1]

    def _correlation_shares(self, filled):
        """Probability of each column as a predictor of each other; None: all are used."""
        d = filled.shape[1]
        if self.n_nearest_features is None or self.n_nearest_features >= d:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.abs(np.corrcoef(filled.T))
        size[np.isnan(size)] = LEAST_CORRELATION
        np.clip(size, LEAST_CORRELATION, None, out=size)
        np.fill_diagonal(size, 0.0)
        return size / size.sum(axis=0)

    def _predictors(self, d, j, shares):
        if shares is not None:
            return self.random_state_.choice(
                np.arange(d), self.n_nearest_features, replace=False, p=shares[:, j]
            )
        return np.delete(np.arange(d), j)

    def _impute(self, filled, absent, j, others, model, params=None):
        """Learn column j, unless ``params`` is None, and predict it where it is ``absent``."""
        predictors = filled[:, others]
        if params is not None:
            model.fit(predictors[~absent], filled[~absent, j], **params)
        if not absent.any():
            return
        low, high = self._min_value[j], self._max_value[j]
        if self.sample_posterior:
            mean, spread = model.predict(predictors[absent], return_std=True)
            filled[absent, j] = self._drawn(mean, spread, low, high)
        else:
            filled[absent, j] = np.clip(model.predict(predictors[absent]), low, high)

    def _drawn(self, mean, spread, low, high):
        """From normal distributions that are cut off at the limits."""
        from scipy.stats import truncnorm

        drawn = np.clip(mean.astype(np.float64), low, high)
        inside = (spread > 0) & (mean >= low) & (mean <= high)
        mean, spread = mean[inside], spread[inside]
        normal = truncnorm(
            a=(low - mean) / spread, b=(high - mean) / spread, loc=mean, scale=spread
        )
        drawn[inside] = normal.rvs(random_state=self.random_state_)
        return drawn

    def _take_sequence(self, steps):
        """For `fastml.convert`: fill in by these (column, other columns, model)."""
        self.imputation_sequence_ = [ImputerTriplet(*step) for step in steps]

    def transform(self, X):
        """Fill in what is missing, as at the end of fit.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_imputed}
        """
        check_is_fitted(self)
        X, filled, absent, all_absent = self._first_values(X, in_fit=False)
        if self.n_iter_ == 0 or absent.all():
            return self._with_indicator(filled, all_absent)
        if self.verbose > 0:
            print(f"[IterativeImputer] Completing matrix with shape {X.shape}")  # noqa: T201
        started = perf_counter()
        per_round = len(self.imputation_sequence_) // self.n_iter_
        for step, (j, others, model) in enumerate(self.imputation_sequence_, 1):
            self._impute(filled, absent[:, j], j, others, model)
            if self.verbose > 1 and step % per_round == 0:
                print(  # noqa: T201
                    f"[IterativeImputer] Ending imputation round {step // per_round}/"
                    f"{self.n_iter_}, elapsed time {perf_counter() - started:0.2f}"
                )
        filled[~absent] = X[~absent]
        return self._with_indicator(filled, all_absent)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns.

        Parameters
        ----------
        {input_features}

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        kept = self.initial_imputer_.get_feature_names_out(names)
        return self._names_with_indicator(kept, names)

    def get_metadata_routing(self):
        """What metadata goes where (scikit-learn's metadata routing).

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        mapping = MethodMapping().add(callee="fit", caller="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)
