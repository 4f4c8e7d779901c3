"""The loop of gradient boosting, shared by classifier and regressor."""

from __future__ import annotations

import contextlib
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state, resample
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import (
    Packed,
    bins_by_columns,
    loaded_trees,
    plain_boosted,
    stored_trees,
)
from fastml._engines.kept import is_much
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, RealNotInt, StrOptions, check_y, fit_context
from fastml._validation import relative_weights, scaled_weights
from fastml.ensemble._hist_gradient_boosting import _input as given
from fastml.ensemble._hist_gradient_boosting._block_fit import (
    BlockBoosting,
    bins_of_blocks,
    new_name,
)
from fastml.ensemble._hist_gradient_boosting._blocks import BoostingSetup
from fastml.ensemble._hist_gradient_boosting._dependence import add_dependence_of_tree
from fastml.ensemble._hist_gradient_boosting._export import BoostingExport
from fastml.ensemble._hist_gradient_boosting._grower import BoostedTreeGrower, counts_of
from fastml.ensemble._hist_gradient_boosting._kept_bins import mapper_of_folder
from fastml.ensemble._hist_gradient_boosting._loss import Loss
from fastml.kernels.hist.split import BEST_FIRST, LEVEL_FIRST, BoostingRules

ANY_DEPTH = 2**31 - 1
MOST_PENALTY = 1e300


class BaseHistGradientBoosting(CallbackSupport, BoostingExport, BaseEstimator):
    """Boosting on bins: gradients, a tree per output, early stopping, prediction."""

    _parameter_constraints: dict = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "warm_start": ["boolean"],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "scoring": [str, callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "l1_regularization": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, None, None, closed="neither")],
        "grow_policy": [StrOptions({"leaf-wise", "depth-wise"})],
        "keep_best": ["boolean"],
        "init": [Interval(Real, None, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Fit the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows to judge early stopping by, instead of a part of ``X``.

        Returns
        -------
        self : object
        """
        began = perf_counter()
        more = self.warm_start and self._is_fitted()
        X, n_categories = given.more_rows(self, X) if more else given.learn_rows(self, X)
        given.check_number_of_features(X.shape[1])
        y = self._encode_y(check_y(y, estimator=self), more)
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight, unit = relative_weights(sample_weight, X, dtype=np.float64)
            sample_weight = np.array(sample_weight)
        else:
            unit = 1.0
        self._fitted_with_sw = sample_weight is not None
        sample_weight = self._finalize_sample_weight(sample_weight, y)
        if sample_weight is not None:  # weights of classes may be as far from 1
            sample_weight, more_units = scaled_weights(sample_weight)
            unit *= more_units
        validation = self._check_validation(X_val, y_val, sample_weight_val)
        self._draw_seeds()
        trends = given.check_trends(self)
        sets = self._check_interaction_cst(X.shape[1])
        self._loss = self._get_loss(sample_weight)
        if self.early_stopping == "auto":
            self.do_early_stopping_ = X.shape[0] > 10_000 or validation is not None
        else:
            self.do_early_stopping_ = self.early_stopping
        train = X, y, sample_weight
        if self.do_early_stopping_ and validation is None and self.validation_fraction is not None:
            train, validation = self._part(*train)
        self._use_validation_data = validation is not None

        if more:
            mapper = self._bin_mapper  # the trees know its bins
        else:
            mapper = BinMapper(
                self.max_bins,
                n_categories=n_categories,
                random_state=self._random_seed,
                n_jobs=self.n_jobs,
            ).fit(train[0], train[2])
        bins = mapper.transform(train[0])
        if validation is not None:
            validation = (mapper.transform(validation[0]), *validation[1:])
        if self.verbose:
            print(f"Fitting gradient boosted rounds on {X.shape[0]} rows:")  # noqa: T201
        if more and self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True"
            )
        counts = counts_of(train[2])
        grower = BoostedTreeGrower(
            bins,
            mapper,
            self._rules(unit),
            learning_rate=self.learning_rate,
            trends=trends,
            groups=given.interaction_groups(sets, X.shape[1]),
            root_counts=self._loss.root_counts or self.init is not None,
            constant_hessian=self._loss.constant_hessian
            and (train[2] is None or counts is not None),
            weights=counts,
            n_jobs=self.n_jobs,
        )
        self._in_fit = True  # rows that a scorer hands back are bins
        try:
            with fit_steps(self, self.max_iter, train[0], train[1]) as steps:
                self._boost(grower, mapper, bins, *train[1:], validation, more, steps)
        finally:
            del self._in_fit
        self._pack()
        self.train_score_ = np.asarray(self.train_score_)
        self.validation_score_ = np.asarray(self.validation_score_)
        if self.verbose:
            n_trees = sum(len(trees) for trees in self._predictors)
            print(f"Fit {n_trees} trees in {perf_counter() - began:.3f} s")  # noqa: T201
        return self

    def _fit_blocks(self, passes):
        passes.need_target()
        given.check_number_of_features(passes.n_features)
        if not (self.categorical_features is None or self.categorical_features == "from_dtype"):
            raise ValueError(
                "on blocks all features are numbers: categorical_features must be None"
            )
        self._preprocessor = self.is_categorical_ = None
        self._fitted_with_sw = passes.has_weights
        classes = self._begin_blocks(passes)
        self._loss = self._get_loss(None)
        if type(self._loss) is not Loss or not self._loss.differentiable:
            raise ValueError(f"on blocks there is no loss={self.loss!r}: its values are quantiles")
        if self.scoring not in ("loss", None):
            raise ValueError(f"on blocks, scoring must be 'loss', got {self.scoring!r}")
        self._draw_seeds()
        trends = given.check_trends(self)
        groups = given.interaction_groups(
            self._check_interaction_cst(passes.n_features), passes.n_features
        )
        self.do_early_stopping_ = (
            passes.n_rows > 10_000 if self.early_stopping == "auto" else self.early_stopping
        )
        share = self.validation_fraction if self.do_early_stopping_ else None
        share = 0.0 if share is None else share if share < 1 else share / passes.n_rows
        n_rows = passes.n_rows - int(share * passes.n_rows)
        self._use_validation_data = n_rows < passes.n_rows
        of_classes = None if classes is None else self._weights_of_classes(passes, classes)

        def made():
            return bins_of_blocks(passes, self.max_bins, self._random_seed, classes, of_classes)

        folder = passes.bins
        if folder is None:
            mapper = made()
        else:
            mapper = mapper_of_folder(folder, passes.rows_name, self.max_bins, made)
        n_trees = self.n_trees_per_iteration_
        setup = BoostingSetup(
            new_name(), mapper, self._loss, classes, of_classes, share, self.subsample,
            (self._random_seed % (1 << 32), self._feature_seed % (1 << 32)),
            is_much(passes.n_rows * (2.0 * passes.n_features + 40.0 * n_trees)), folder,
        )  # fmt: skip
        weighted = passes.has_weights or of_classes is not None
        boosting = BlockBoosting(
            passes, setup, self._rules(), n_rows, learning_rate=self.learning_rate,
            constant_hessian=self._loss.constant_hessian and not weighted,
            root_counts=self.init is not None, trends=trends, groups=groups,
        )  # fmt: skip
        try:
            self._boost_blocks(boosting, n_trees)
        finally:
            boosting.end()
        self._bin_mapper, self._predictors, self._packed = mapper, boosting.iterations, None
        if self.keep_best and self.do_early_stopping_:
            judged = self.validation_score_ if self._use_validation_data else self.train_score_
            best = max(1, int(np.argmax(judged)))
            del self._predictors[best:]
            del self.train_score_[best + 1 :], self.validation_score_[best + 1 :]
        self._pack()
        self.train_score_ = np.asarray(self.train_score_)
        self.validation_score_ = np.asarray(self.validation_score_)

    def _boost_blocks(self, boosting, n_trees):
        """The iterations."""
        totals = boosting.targets()
        if self.init is not None:
            baseline = np.full(n_trees, float(self.init))
        elif boosting.setup.classes is not None:
            baseline = self._loss.baseline(np.arange(float(len(totals))), totals)
        else:
            self._check_totals(totals)
            baseline = self._loss.baseline(np.array([totals[1] / totals[2]]), None)
        self._baseline_prediction = boosting.baseline = baseline.reshape(1, -1)
        self.train_score_, self.validation_score_ = [], []
        trees: list = []
        for iteration in range(self.max_iter + 1):
            last = iteration == self.max_iter
            if last and not self.do_early_stopping_:
                boosting.iterations += trees
                break
            losses = boosting.raised(trees, self.do_early_stopping_)
            if losses is not None:
                means = -losses[:, 0] / np.maximum(losses[:, 1], np.finfo(float).tiny)
                self.train_score_.append(float(means[0]))
                if self._use_validation_data:
                    self.validation_score_.append(float(means[1]))
                judged = self.validation_score_ if self._use_validation_data else self.train_score_
                if iteration and self._should_stop(judged):
                    break
            if last:
                break
            first = self._feature_seed + iteration * n_trees
            trees = [boosting.grown([(first + k) % (1 << 62) for k in range(n_trees)])]

    def _begin_blocks(self, passes):
        """The classes, None of a regression; sets the number of trees of an iteration."""
        self._encode_y(np.ones(1), False)

    def _weights_of_classes(self, passes, classes):
        return None

    def _check_totals(self, totals):
        """Whether the loss may be asked of such targets; (least, sum, weight) is known of them."""

    def _rules(self, unit: float = 1.0) -> BoostingRules:
        """The parameters that say how a tree grows; weights were divided by ``unit``."""
        least, most = -MOST_PENALTY, MOST_PENALTY
        penalties = self.l2_regularization, self.l1_regularization, 2.0 * float(self.gamma)
        l2, l1, min_gain = (min(max(float(p) / unit, least), most) if p else 0.0 for p in penalties)
        return BoostingRules(
            l2=l2,
            l1=l1,
            min_leaf=int(self.min_samples_leaf),
            min_gain=min_gain,
            max_depth=ANY_DEPTH if self.max_depth is None else min(int(self.max_depth), ANY_DEPTH),
            max_leaves=0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            order=LEVEL_FIRST if self.grow_policy == "depth-wise" else BEST_FIRST,
            features_drawn=int(np.ceil(1000 * self.max_features - 1e-9)),
        )

    def _boost(self, grower, mapper, bins, y, weights, validation, more, steps):
        """The iterations."""
        n_rows, n_trees = bins.shape[0], self.n_trees_per_iteration_
        scores = StoppingScores(self, bins, y, weights, validation)
        if more:
            self.train_score_ = list(self.train_score_)
            self.validation_score_ = list(self.validation_score_)
            raw = np.ascontiguousarray(self._sum_trees(bins).T)
            self._loss.set_origin(y, self._baseline_prediction[0])
            scores.start(raw, validation, more=True)
        else:
            if self.init is None:
                self._baseline_prediction = self._loss.baseline(y, weights).reshape(1, -1)
            else:
                self._baseline_prediction = np.full((1, n_trees), float(self.init))
            self._bin_mapper, self._predictors, self._packed = mapper, [], None
            self.train_score_, self.validation_score_ = [], []
            raw = np.repeat(self._baseline_prediction.T, n_rows, axis=1)
            self._loss.set_origin(y, self._baseline_prediction[0])
            scores.start(raw, validation, more=False)
        gradients = np.empty((n_trees, n_rows), dtype=np.float32)
        hessians = np.empty((n_trees, n_rows), dtype=np.float32)
        for iteration in range(len(self._predictors), self.max_iter):
            began, step = perf_counter(), steps.begin()
            of_rows = weights if len(grower.data.weights) == 0 else None  # the grower multiplies
            statistics = self._loss.gradients(
                y, raw, of_rows, gradients, hessians, n_jobs=self.n_jobs
            )
            rows = self._draw_rows(iteration, n_rows)
            trees = []
            for k in range(n_trees):
                seed = (self._feature_seed + iteration * n_trees + k) % (1 << 62)
                tree = grower.grow(gradients[k], hessians[k], statistics[k], seed, rows)
                if not self._loss.differentiable and len(tree.nodes) > 1:
                    self._refit_leaves(grower, tree, k, y, raw[k], weights)
                trees.append(tree)
                if rows is None:
                    grower.add_values(tree, raw[k])
                else:
                    Packed([tree], grower.data.missing_bin).add_to(
                        bins, raw[k].reshape(-1, 1), self.n_jobs
                    )
            self._predictors.append(trees)
            self._packed = None
            stop = scores.update(raw, trees)
            if self.verbose >= 2:
                leaves = sum(tree.get_n_leaf_nodes() for tree in trees)
                line = f"[{iteration + 1}/{self.max_iter}] {len(trees)} trees, {leaves} leaves, "
                print(f"{line}{scores.words()}in {perf_counter() - began:.3f}s")  # noqa: T201
            stop = step.end(lambda: {"_in_fit": False}) or stop
            if stop:
                break
        if self.keep_best and self.do_early_stopping_:
            judged = self.validation_score_ if self._use_validation_data else self.train_score_
            best = max(1, int(np.argmax(judged)))
            del self._predictors[best:]
            del self.train_score_[best + 1 :], self.validation_score_[best + 1 :]
            self._packed = None

    def _refit_leaves(self, grower, tree, k, y, raw, weights):
        """Leaf values of a loss without curvature: the best constant for the residuals."""
        for node, rows in grower.leaves():
            residuals = y[rows] - raw[rows]
            value = self._leaf_value(k, residuals, None if weights is None else weights[rows])
            tree.nodes["value"][node] = self.learning_rate * value

    def _leaf_value(self, k, residuals, weights):
        return self._loss.leaf_value(residuals, weights)

    def _draw_rows(self, iteration, n_rows):
        """Rows of this iteration, ascending, or None for all."""
        if self.subsample >= 1.0:
            return None
        rng = np.random.default_rng([self._feature_seed % (1 << 32), iteration])
        n_drawn = max(1, round(self.subsample * n_rows))
        return np.sort(rng.choice(n_rows, n_drawn, replace=False)).astype(np.uint32)

    def _draw_seeds(self):
        """Seeds of binning, split and trees; a warm start keeps those of the first fit."""
        if self.warm_start and self._is_fitted():
            return
        rng = check_random_state(self.random_state)
        self._random_seed = int(rng.randint(np.iinfo(np.uint32).max, dtype="u8"))
        self._feature_seed = int(rng.randint(np.iinfo(np.uint32).max, dtype="u8"))

    def _part(self, X, y, weights):
        """Training and validation rows; classes keep their shares."""
        from sklearn.model_selection import train_test_split

        rows = np.arange(X.shape[0])
        train, test = train_test_split(
            rows,
            test_size=self.validation_fraction,
            stratify=y if self._loss.classifies else None,
            random_state=self._random_seed,
        )
        return tuple(
            tuple(None if values is None else values[part] for values in (X, y, weights))
            for part in (train, test)
        )

    def _check_validation(self, X_val, y_val, sample_weight_val):
        """Given validation rows as (rows, targets, weights), or None."""
        if X_val is None and y_val is None:
            return None
        if y_val is None:
            raise ValueError("X_val is provided, but y_val was not provided.")
        if X_val is None:
            raise ValueError("y_val is provided, but X_val was not provided.")
        X_val = given.check_new_rows(self, X_val)
        y_val = self._encode_y_val(check_y(y_val, estimator=self))
        check_consistent_length(X_val, y_val)
        if sample_weight_val is not None:
            sample_weight_val, _ = relative_weights(sample_weight_val, X_val, dtype=np.float64)
            sample_weight_val = np.array(sample_weight_val)
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "When passing X_val and y_val to fit, early_stopping should be set to either "
                "'auto' or True."
            )
        return X_val, y_val, sample_weight_val

    def _finalize_sample_weight(self, sample_weight, y):
        return sample_weight

    def _check_interaction_cst(self, n_features):
        return given.interaction_sets(self.interaction_cst, n_features)

    def _is_fitted(self):
        return len(getattr(self, "_predictors", [])) > 0

    def _should_stop(self, scores):
        """Whether none of the last scores is better than the one before them, by ``tol``."""
        if len(scores) < self.n_iter_no_change + 1:
            return False
        recent = scores[-self.n_iter_no_change :]
        return not any(s > scores[-self.n_iter_no_change - 1] + self.tol for s in recent)

    def _get_small_trainset(self, X_binned_train, y_train, sample_weight_train, seed):
        """At most 10,000 training rows for scorers: (bins, targets, weights, their indices)."""
        if X_binned_train.shape[0] <= 10_000:
            return X_binned_train, y_train, sample_weight_train, slice(None)
        chosen = resample(
            np.arange(X_binned_train.shape[0]),
            n_samples=10_000,
            replace=False,
            random_state=seed,
            stratify=y_train if is_classifier(self) else None,
        )
        weights = None if sample_weight_train is None else sample_weight_train[chosen]
        return X_binned_train[chosen], y_train[chosen], weights, chosen

    def _take_preprocessor(self, encoder):
        """For `fastml.convert`: a copy of scikit-learn's encoder of categories, or None."""
        self._preprocessor = None if encoder is None else given.adopted_preprocessor(encoder)

    # ------------------------------------------------------------------ prediction

    def _raw_predict(self, X):
        """Raw predictions (rows x trees per iteration)."""
        check_is_fitted(self)
        if getattr(self, "_in_fit", False):
            return self._sum_trees(X)
        X = given.check_new_rows(self, X)
        self._bin_mapper.check_width(X)
        raw = np.repeat(self._baseline_prediction, X.shape[0], axis=0)
        self._pack().add_rows(X, self._bin_mapper, raw, self.n_jobs)
        return raw

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """What `partial_dependence` calls: (trees per iteration, rows of ``grid``)."""
        if getattr(self, "_fitted_with_sw", False):
            raise NotImplementedError(
                f"{type(self).__name__} does not support partial dependence plots with the "
                "'recursion' method when sample weights were given during fit time."
            )
        fixed = np.zeros(len(self._bin_mapper.bin_thresholds_), bool)
        fixed[target_features] = True
        rows = np.zeros((len(grid), len(fixed)))
        rows[:, target_features] = grid
        bins = self._bin(rows)
        out = np.zeros((self.n_trees_per_iteration_, len(grid)))
        for trees in self._predictors:
            for k, tree in enumerate(trees):
                missing = self._bin_mapper.missing_values_bin_idx_
                add_dependence_of_tree(tree, bins, fixed, missing, out[k])
        return out

    def _trees_for_inspection(self, X):
        """For `fastml.inspection`: (bins of X with NaN where they are missing, trees, start)."""
        check_is_fitted(self)
        rows = None
        if X is not None:
            X = given.check_new_rows(self, X)
            self._bin_mapper.check_width(X)
            rows = bins_by_columns(self._bin(X), self._bin_mapper)
        trees = [
            plain_boosted(tree, k, len(stage))
            for stage in self._predictors
            for k, tree in enumerate(stage)
        ]
        return rows, trees, self._baseline_prediction.ravel()

    def _bin(self, X):
        return self._bin_mapper.transform(X, self.n_jobs)

    def _sum_trees(self, bins):
        raw = np.repeat(self._baseline_prediction, bins.shape[0], axis=0)
        if self._predictors:
            self._pack().add_to(np.ascontiguousarray(bins), raw, self.n_jobs)
        return raw

    def _pack(self):
        packed = getattr(self, "_packed", None)
        if packed is None:
            trees = [tree for trees in self._predictors for tree in trees]
            packed = self._packed = Packed(trees, self._bin_mapper.missing_values_bin_idx_)
        return packed

    def _staged_raw_predict(self, X):
        """Raw predictions after every iteration."""
        check_is_fitted(self)
        X = given.check_new_rows(self, X)
        bins = self._bin(X)
        raw = np.repeat(self._baseline_prediction, X.shape[0], axis=0)
        for trees in self._predictors:
            packed = Packed(trees, self._bin_mapper.missing_values_bin_idx_)
            packed.add_to(bins, raw, self.n_jobs)
            yield raw.copy()

    @property
    def n_iter_(self):
        """Number of iterations."""
        check_is_fitted(self)
        return len(self._predictors)

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_packed", None)
        if "_predictors" in state:
            state["_predictors"] = stored_trees(state["_predictors"])
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "_predictors" in state:
            mapper = state["_bin_mapper"]
            mapper.check_tables()
            state["_predictors"] = loaded_trees(state["_predictors"], mapper)
        super().__setstate__(state)

    def __sklearn_is_fitted__(self):
        return self._is_fitted() or getattr(self, "_in_fit", False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class StoppingScores:
    """Scores of training and validation rows after every iteration."""

    def __init__(self, estimator, bins, y, weights, validation):
        self.estimator, self.y, self.weights = estimator, y, weights
        self.bins, self.validation = bins, validation
        self.raw_val = None
        self.scorer = None

    def start(self, raw, validation, *, more):
        """Before the first iteration of this fit."""
        est = self.estimator
        if not est.do_early_stopping_:
            return
        if est.scoring != "loss":
            from sklearn.metrics import check_scoring, get_scorer_names

            self.named = est.scoring in get_scorer_names()
            self.scorer = est._scorer = check_scoring(est, est.scoring)
            small = est._get_small_trainset(self.bins, self.y, self.weights, est._random_seed)
            self.small, self.chosen = small[:3], small[3]
        if validation is not None:
            self.raw_val = est._sum_trees(validation[0]) if more else None
            if self.raw_val is None:
                self.raw_val = np.repeat(est._baseline_prediction, validation[0].shape[0], axis=0)
        if not more:
            self._note(raw)

    def update(self, raw, trees) -> bool:
        """After an iteration; whether to stop."""
        est = self.estimator
        if not est.do_early_stopping_:
            return False
        if self.raw_val is not None:
            packed = Packed(trees, est._bin_mapper.missing_values_bin_idx_)
            packed.add_to(self.validation[0], self.raw_val, est.n_jobs)
        self._note(raw)
        return est._should_stop(
            est.validation_score_ if self.raw_val is not None else est.train_score_
        )

    def words(self) -> str:
        est = self.estimator
        parts = [
            f"{name} score: {values[-1]:.5f}, "
            for name, values in (("train", est.train_score_), ("val", est.validation_score_))
            if len(values)
        ]
        return "".join(parts)

    def _note(self, raw):
        est = self.estimator
        if self.scorer is None:
            est.train_score_.append(-est._loss.mean(self.y, raw, self.weights, est.n_jobs))
            if self.raw_val is not None:
                _, y_val, weights_val = self.validation
                raw_val = np.ascontiguousarray(self.raw_val.T)
                est.validation_score_.append(
                    -est._loss.mean(y_val, raw_val, weights_val, est.n_jobs)
                )
            return
        known = raw.T[self.chosen] if self.named else None
        est.train_score_.append(self._score(*self.small, known))
        if self.raw_val is not None:
            known = self.raw_val if self.named else None
            est.validation_score_.append(self._score(*self.validation, known))

    def _score(self, bins, y, weights, raw):
        est = self.estimator
        if is_classifier(est):
            y = est.classes_[y.astype(np.intp)]
        arguments = {} if weights is None else {"sample_weight": weights}
        with _known_raw(est, raw):
            return self.scorer(est, bins, y, **arguments)


@contextlib.contextmanager
def _known_raw(estimator, raw):
    """Within it, the estimator's raw predictions are these."""
    if raw is None:
        yield
        return
    own = vars(estimator).get("_raw_predict")
    estimator._raw_predict = lambda X: raw
    try:
        yield
    finally:
        del estimator._raw_predict
        if own is not None:
            estimator._raw_predict = own
