"""Friedman's gradient boosting: stages of exact trees on columns that are sorted once."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.packed import Forest, pack
from fastml._engines.trees.rules import GROWTH_CONSTRAINTS
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context
from fastml._threads import effective_n_threads
from fastml._validation import check_sample_weight, scaled_weights, validate_data
from fastml.ensemble._gradient_boosting._stages import (
    Reporter,
    Stages,
    split_off_validation,
    start_values,
)
from fastml.ensemble._members import MembersMixin
from fastml.ensemble._refit import check_columns
from fastml.tree import DecisionTreeRegressor

TREE_PARAMETERS = tuple(name for name in GROWTH_CONSTRAINTS if name != "monotonic_cst")
OUT_OF_BAG = ("oob_improvement_", "oob_scores_")


class BaseGradientBoosting(CallbackSupport, MembersMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the classifier and the regressor."""

    _parameter_constraints: dict = {
        **{name: GROWTH_CONSTRAINTS[name] for name in TREE_PARAMETERS},
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "learning_rate": [Interval(Real, 0.0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [
            StrOptions({"squared_error"}),
            Hidden(StrOptions({"deprecated", "friedman_mse"})),
        ],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "line_search": [StrOptions({"leaf", "tree"})],
    }

    @abstractmethod
    def _encode_y(self, y, sample_weight):
        """Targets as float64; sets n_trees_per_iteration_ and what describes classes."""

    @abstractmethod
    def _make_loss(self):
        """The loss of the stages."""

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=False)  # init is an estimator of the user's
    def fit(self, X, y, sample_weight=None, monitor=None):
        """Fit the stages.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32, sparse ones to dense.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        monitor : callable, default=None
            Called after every stage as ``monitor(i, self, locals())``; fitting stops if it returns
            True.

        Returns
        -------
        self : object
        """
        if self.criterion != "deprecated":
            warnings.warn(
                "The parameter criterion is deprecated as in scikit-learn 1.9 and has no effect: "
                "all its values rank splits alike.",
                FutureWarning,
                stacklevel=3,
            )
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc", "coo"],
            dtype=np.float32,
            multi_output=True,
            reset=not self._goes_on(),
        )
        X = np.ascontiguousarray(X.toarray() if issparse(X) else X)
        weights = None
        if sample_weight is not None:
            weights = np.array(check_sample_weight(sample_weight, X, dtype=np.float64))
        y = self._encode_y(column_or_1d(y, warn=True), weights)
        loss = self._make_loss()
        if not self.warm_start:
            self._forget()
        grown = getattr(self, "estimators_", ())
        if len(grown) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={len(grown)} when warm_start==True"
            )
        kept = None
        if self.n_iter_no_change is not None:
            X, y, weights, kept = split_off_validation(self, X, y, weights)
        if self.subsample < 1.0 and len(X) < 2:
            raise ValueError(f"subsample={self.subsample} needs 2 rows or more, got {len(X)}")
        self._loss = loss
        if len(grown):
            raw = self._raw_rows(X)
        else:
            self._begin()
            raw = start_values(self, X, y, weights, fit=True)
        self._weight_unit = 1.0
        if weights is not None:
            weights, self._weight_unit = scaled_weights(weights)
        self._lengthen(len(grown))
        try:
            with fit_steps(self, self.n_estimators - len(grown), X, y) as steps:
                n_stages = self._fit_stages(X, y, weights, raw, kept, len(grown), monitor, steps)
        except BaseException:
            self._forget()
            raise
        for name in ("estimators_", "train_score_", *OUT_OF_BAG):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name)[:n_stages])
        if hasattr(self, "oob_scores_"):
            self.oob_score_ = self.oob_scores_[-1]
        self.n_estimators_ = n_stages
        self._remember()
        return self

    def _goes_on(self) -> bool:
        """Whether `fit` adds to the stages there are."""
        return self.warm_start and len(getattr(self, "estimators_", ())) > 0

    def _forget(self):
        for name in (
            "estimators_",
            "train_score_",
            *OUT_OF_BAG,
            "oob_score_",
            "init_",
            "_rng",
            "_forests",
        ):
            if hasattr(self, name):
                delattr(self, name)

    def _begin(self):
        self.estimators_ = np.empty((0, self.n_trees_per_iteration_), dtype=object)
        self.train_score_ = np.zeros(0)
        self._rng = check_random_state(self.random_state)  # goes on in a warm start

    def _lengthen(self, n_before: int):
        """Make room for all stages."""
        more = self.n_estimators - n_before
        shape = (more, self.n_trees_per_iteration_)
        self.estimators_ = np.concatenate([self.estimators_, np.empty(shape, dtype=object)])
        self.train_score_ = np.concatenate([self.train_score_, np.zeros(more)])
        if self.subsample < 1.0 or hasattr(self, "oob_scores_"):
            for name in OUT_OF_BAG:
                before = getattr(self, name, np.zeros(n_before))
                setattr(self, name, np.concatenate([before, np.zeros(more)]))
            self.oob_score_ = np.nan

    def _template(self, **more) -> DecisionTreeRegressor:
        parameters = {name: getattr(self, name) for name in TREE_PARAMETERS}
        tree = DecisionTreeRegressor(**parameters, **more)
        tree.n_features_in_, tree.n_outputs_ = self.n_features_in_, 1
        return tree

    def _fit_stages(
        self, X, y, sample_weight, raw_predictions, kept, begin_at_stage, monitor, steps
    ):
        """Returns the number of stages; what has a name here is what a monitor sees."""
        n_threads = effective_n_threads(self.n_jobs, X.size * 16.0)
        template = self._template()
        stages = Stages(X, y, sample_weight, template, self._loss, n_threads, self.n_jobs)
        self.max_features_ = template.max_features_
        reporter = Reporter(self, begin_at_stage) if self.verbose else None
        losses = None if kept is None else np.full(self.n_iter_no_change, np.inf)
        kept_raw = None if kept is None else self._raw_rows(kept[0], begin_at_stage)
        n_inside = max(1, int(self.subsample * X.shape[0]))
        n_stages = begin_at_stage
        for i in range(begin_at_stage, self.n_estimators):
            before, step = None, steps.begin("stage")
            if self.subsample < 1.0:
                stages.draw(self._rng, n_inside)
                before = stages.outside(raw_predictions) if i == 0 else self.oob_scores_[i - 1]
            for k, (tree, seed) in enumerate(stages.trees(raw_predictions, self._rng, self)):
                self.estimators_[i, k] = self._template(random_state=seed)
                self.estimators_[i, k].max_features_ = self.max_features_
                self.estimators_[i, k].tree_ = tree.in_unit(self._weight_unit)
            n_stages = i + 1
            self.train_score_[i] = stages.inside(raw_predictions)
            if before is not None:
                self.oob_scores_[i] = stages.outside(raw_predictions)
                self.oob_improvement_[i] = before - self.oob_scores_[i]
                self.oob_score_ = self.oob_scores_[i]
            if reporter is not None:
                reporter.update(i)
            stop = step.end(lambda i=i: self._so_far(i + 1))
            if stop or (monitor is not None and monitor(i, self, locals())):
                break
            if kept is not None:
                self._add_stage(i, kept[0], kept_raw)
                loss = self._loss.score(kept[1], kept_raw, kept[2], self.n_jobs)
                if not np.any(loss + self.tol < losses):
                    break
                losses[i % len(losses)] = loss
        return n_stages

    def _so_far(self, n_stages: int) -> dict:
        """Attributes of a model of the first stages."""
        return {"estimators_": self.estimators_[:n_stages], "_forests": (None, [])}

    # ------------------------------------------------------------------ prediction

    def __sklearn_is_fitted__(self):
        return len(getattr(self, "estimators_", ())) > 0

    def _check_rows(self, X):
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=np.float32, order="C", accept_sparse=["csr", "csc", "coo"], reset=False
        )
        check_columns(self.estimators_[0, 0].n_features_in_, X.shape[1])
        return X.toarray() if issparse(X) else X

    def _packed(self) -> list[Forest]:
        """Per class the trees of all stages in one piece; the user may have cut ``estimators_``."""
        trees, forests = self._forests
        if trees is self.estimators_:
            return forests
        return [pack([tree.tree_ for tree in column]) for column in self.estimators_.T]

    def _remember(self):
        self._forests = None, []
        self._forests = self.estimators_, self._packed()

    def _add(self, forests, X, raw):
        rate = float(self.learning_rate)
        for forest, row in zip(forests, raw):
            n_trees = len(forest.starts)
            n_threads = effective_n_threads(self.n_jobs, 8.0 * X.shape[0] * n_trees)
            scales = np.full(n_trees, rate)
            forest.sum(X, scales, n_threads=n_threads, out=row.reshape(-1, 1))

    def _add_stage(self, i, X, raw):
        self._add([pack([tree.tree_]) for tree in self.estimators_[i]], X, raw)

    def _raw_rows(self, X, n_stages=None):
        """Raw predictions, one row per tree of a stage, so that kernels run along rows."""
        raw = start_values(self, X)
        if n_stages is None:
            self._add(self._packed(), X, raw)
        else:
            for i in range(n_stages):
                self._add_stage(i, X, raw)
        return raw

    def _raw_predict(self, X):
        return np.ascontiguousarray(self._raw_rows(self._check_rows(X)).T)

    def _staged_raw_predict(self, X):
        X = self._check_rows(X)
        raw = start_values(self, X)
        for i in range(len(self.estimators_)):
            self._add_stage(i, X, raw)
            yield raw.T.copy()

    def apply(self, X):
        """Return the index of the leaf of every row in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators, n_classes)
            Indices into the arrays of each ``tree_``; n_classes is 1 for two classes. A regressor
            leaves that axis out.
        """
        X = self._check_rows(X)
        n_threads = effective_n_threads(self.n_jobs, 8.0 * X.shape[0] * self.estimators_.size)
        leaves = [forest.apply(X, n_threads) for forest in self._packed()]
        return np.stack(leaves, axis=2).astype(np.float64)

    @property
    def feature_importances_(self):
        """Each column's share of the decrease of squared error over all trees; sums to one."""
        check_is_fitted(self)
        trees = [tree.tree_ for tree in self.estimators_.flat if tree.tree_.node_count > 1]
        if not trees:
            return np.zeros(self.n_features_in_)
        mean = np.mean([tree.compute_feature_importances(normalize=False) for tree in trees], 0)
        return mean / mean.sum()

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """What `partial_dependence` calls: (trees per stage, rows of ``grid``), without the start
        value."""
        if self.init is not None:
            warnings.warn(
                "Using recursion method with a non-constant init predictor will lead to incorrect "
                f"partial dependence values. Got init={self.init}.",
                UserWarning,
                stacklevel=2,
            )
        out = np.zeros((self.estimators_.shape[1], len(grid)))
        for stage in self.estimators_:
            for k, tree in enumerate(stage):
                tree.tree_.compute_partial_dependence(grid, target_features, out[k])
        return out * self.learning_rate

    # ------------------------------------------------------------------ the rest

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_forests"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if hasattr(self, "estimators_"):
            self._forests = None, []
            if all(tree is not None for tree in self.estimators_.flat):  # no copy within a fit
                self._remember()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
