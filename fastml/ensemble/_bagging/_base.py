"""What the two baggings share: draws, training, members packed for prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.packed import pack, with_columns
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import (
    HasMethods,
    Interval,
    RealNotInt,
    fit_context,
    manual_routing,
    raise_for_params,
    routing_enabled,
)
from fastml._threads import effective_n_threads, thread_limit
from fastml._validation import check_array, check_sample_weight, validate_data
from fastml.ensemble._bagging._trainers import is_tree, trainer_of
from fastml.ensemble._draws import chances, check_distinct, distinct_rows, n_rows_drawn
from fastml.ensemble._members import MembersMixin, on_threads

MAX_SEED = np.iinfo(np.int32).max
SMALL = 1 << 14
"""Values of rows times members: fewer are not worth threads."""


class BaseBagging(
    CallbackSupport, MembersMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta
):
    """Members of one kind, each on its own draw of rows and columns."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Chances of the rows to be drawn.
        **fit_params : dict
            For the members' ``fit``, with scikit-learn's metadata routing.

        Returns
        -------
        self : object
        """
        raise_for_params(fit_params, self, "fit")
        goes_on = self.warm_start and hasattr(self, "estimators_")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
            multi_output=True,
            reset=not goes_on,
        )
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=None)
            if not self.bootstrap:
                warn(
                    f"When fitting {type(self).__name__} with sample_weight it is recommended to "
                    f"use bootstrap=True, got {self.bootstrap}.",
                    stacklevel=2,
                )
        y = self._validate_y(y, goes_on)
        self.estimator_ = self._get_estimator()
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
        else:
            routed = manual_routing({"estimator": {"fit": fit_params}})
        self._set_draws(X, sample_weight)
        if self.warm_start:
            vars(self).pop("oob_score_", None)
        if not goes_on:
            self.estimators_, self.estimators_features_ = [], []
            self._seeds = np.empty(0, np.int64)
        n_there = len(self.estimators_)
        if self.n_estimators < n_there:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_there} when warm_start==True"
            )
        if self.n_estimators == n_there:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=2,
            )
            return self
        generator = check_random_state(self.random_state)
        if n_there:
            generator.randint(MAX_SEED, size=n_there)
        seeds = generator.randint(MAX_SEED, size=self.n_estimators - n_there)
        trained = []
        trainer = trainer_of(self, X, y, routed.estimator.fit)
        with fit_steps(self, len(seeds), X, y) as steps:
            for member in trainer.fit(seeds):  # they are made side by side
                trained.append(member)
                if steps.begin("member").end():
                    break
        seeds = seeds[: len(trained)]
        self.estimators_ = self.estimators_ + [member for member, _ in trained]
        self.estimators_features_ = self.estimators_features_ + [columns for _, columns in trained]
        self._seeds = np.concatenate([self._seeds, seeds])
        self._once_packed()
        if self.oob_score:
            with thread_limit(effective_n_threads(self.n_jobs)):
                self._set_oob_score(X, y)
        return self

    def _validate_y(self, y, goes_on):
        """Targets as members learn them; one column is made flat."""
        return column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y

    @abstractmethod
    def _get_estimator(self):
        """The member, given or default."""

    @abstractmethod
    def _set_oob_score(self, X, y):
        """Score on rows out of bag."""

    # ------------------------------------------------------------------ draws

    def _set_draws(self, X, weights):
        """How many rows and columns a member gets, checked."""
        n, d = X.shape
        self._n_samples, self._sample_weight = n, weights
        self._max_samples = n_rows_drawn(self.max_samples, n, weights)
        if not self.bootstrap:
            check_distinct(self._max_samples, n)
            if self.oob_score:
                raise ValueError("Out of bag estimation only available if bootstrap=True")
        if self.warm_start and self.oob_score:
            raise ValueError("Out of bag estimate only available if warm_start=False")
        width = self.max_features
        self._max_features = int(width) if isinstance(width, Integral) else max(1, int(width * d))
        if self._max_features > d:
            raise ValueError(f"max_features must be <= n_features, got {self._max_features} of {d}")

    @property
    def _all_columns(self) -> bool:
        """Whether members see X as it is."""
        return self._max_features == self.n_features_in_ and not self.bootstrap_features

    def _draws(self, seed):
        """Columns and rows of a member, as scikit-learn draws them."""
        generator = np.random.RandomState(seed)
        d, n, n_drawn = self.n_features_in_, self._n_samples, self._max_samples
        if self.bootstrap_features:
            columns = generator.randint(0, d, self._max_features)
        else:
            columns = distinct_rows(generator, d, self._max_features, None)
        p = chances(self._sample_weight)
        if not self.bootstrap:
            rows = distinct_rows(generator, n, n_drawn, p)
        elif p is None:
            rows = generator.randint(0, n, n_drawn)
        else:
            rows = generator.choice(n, n_drawn, replace=True, p=p)
        return columns, rows

    @property
    def estimators_samples_(self):
        """Rows drawn for each member; drawn again each time."""
        check_is_fitted(self)
        return [self._draws(seed)[1] for seed in self._seeds]

    def _rows_out(self):
        """Of every member: itself, its columns, and the rows that it did not see."""
        members = zip(self.estimators_, self.estimators_features_, self.estimators_samples_)
        none = True
        for member, columns, rows in members:
            out = np.ones(self._n_samples, bool)
            out[rows] = False
            if out.any():
                none = False
                yield member, columns, out
        if none:
            raise ValueError(
                f"oob_score needs rows that a member did not see: n_samples={self._n_samples}, and "
                "every member saw all"
            )

    def _warn_of_rows_always_seen(self):
        warn(
            "Some inputs do not have OOB scores. This probably means too few estimators were used "
            "to compute any reliable oob estimates.",
            stacklevel=4,
        )

    # ------------------------------------------------------------------ prediction

    def _check_X(self, X):
        check_is_fitted(self)
        return validate_data(
            self,
            X,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
            reset=False,
        )

    def _routed(self, method, params):
        if routing_enabled():
            return process_routing(self, method, **params)
        return manual_routing({"estimator": {}})

    def _of_members(self, answer, X):
        """``answer(member, its columns of X)`` of every member, in order."""
        whole = self._all_columns
        small = X.shape[0] * X.shape[1] * len(self.estimators_) < SMALL
        tasks = (
            (answer, member, X, None if whole else columns)
            for member, columns in zip(self.estimators_, self.estimators_features_)
        )
        return on_threads(_ask, tasks, 1 if small else self.n_jobs, self.verbose)

    def _sum_of_trees(self, X, n_columns):
        """Sum of the leaf values, (n_rows, n_columns); None unless all members are fastml's trees
        with so many."""
        trees = self._once_packed()
        if trees is None or trees.n_columns != n_columns:
            return None
        with np.errstate(over="ignore"):  # refused by the next line
            rows = check_array(
                X, accept_sparse="csr", dtype=np.float32, ensure_all_finite=False, input_name="X"
            )
        self.estimators_[0]._check_finite(rows)
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        work = len(rows) * len(self.estimators_) * 100.0
        return trees.sum(rows, n_threads=effective_n_threads(self.n_jobs, work))

    def _once_packed(self):
        """All trees in a few arrays, kept until ``estimators_`` changes; None for other members."""
        members = self.estimators_
        if not members or not all(is_tree(member) for member in members):
            return None
        kept = self.__dict__.get("_packed")
        trees = [member.tree_ for member in members]
        whole = [*trees, *self.estimators_features_]
        if kept is None or list(map(id, kept[0])) != list(map(id, whole)):
            if len({tree.n_columns for tree in trees}) > 1:
                return None
            packed = pack(trees)
            if not self._all_columns:
                packed = with_columns(packed, self.estimators_features_, self.n_features_in_)
            kept = self._packed = (whole, packed)
        return kept[1]

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_packed"}

    # ------------------------------------------------------------------ routing and tags

    def get_metadata_routing(self):
        """What the members' methods are asked for.

        Returns
        -------
        routing : MetadataRouter
            scikit-learn's description of where parameters go.
        """
        member = self._get_estimator()
        proba = "predict_proba" if hasattr(member, "predict_proba") else "predict"
        log = "predict_log_proba" if hasattr(member, "predict_log_proba") else proba
        mapping = MethodMapping()
        mapping.add(caller="fit", callee="fit")
        mapping.add(caller="decision_function", callee="decision_function")
        mapping.add(caller="predict", callee=proba)
        mapping.add(caller="predict_proba", callee=proba)
        mapping.add(caller="predict_log_proba", callee=log)
        return MetadataRouter(owner=self).add(estimator=member, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_member = get_tags(self._get_estimator()).input_tags
        tags.input_tags.sparse = of_member.sparse
        tags.input_tags.allow_nan = of_member.allow_nan
        return tags


def _ask(answer, member, X, columns):
    return answer(member, X if columns is None else X[:, columns])
