"""What the forests share: fitting in blocks of trees, out-of-bag estimates, prediction."""

from __future__ import annotations

from numbers import Integral, Real
from time import perf_counter
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from fastml._engines.forests.growth import CRITERIA, LARGEST, ForestGrower
from fastml._engines.trees.packed import renumbered
from fastml._engines.trees.rules import (
    GROWTH_CONSTRAINTS,
    columns_drawn,
    least_rows,
    monotonic_signs,
    seed_of,
)
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, RealNotInt, StrOptions, fit_context
from fastml._threads import effective_n_threads
from fastml._validation import check_sample_weight, scaled_weights, validate_data
from fastml.ensemble._draws import (
    chances,
    check_distinct,
    columns_of_tree,
    distinct_rows,
    n_rows_drawn,
)
from fastml.ensemble._forest._absolute import AbsoluteGrower, MedianTrees, parts_of, pruned_parts
from fastml.ensemble._forest._out_of_bag import OutOfBag
from fastml.ensemble._forest._quantiles import LeafTargets, kept_targets
from fastml.ensemble._forest._trees import Trees
from fastml.ensemble._members import MembersMixin, on_threads
from fastml.ensemble._refit import check_columns, check_same_outputs, check_same_rows
from fastml.kernels.tree.exact_split import GrowthRules

MAX_SEED = np.iinfo(np.int32).max


def draws(seed: int, n: int, n_draws: int, p, replace: bool = True) -> np.ndarray:
    """The bootstrap rows of a tree, as scikit-learn draws them."""
    generator = np.random.RandomState(seed)
    if not replace:
        return distinct_rows(generator, n, n_draws, p)
    if p is None:
        return generator.randint(0, n, n_draws, dtype=np.int32)
    return generator.choice(n, n_draws, replace=True, p=p)


class BaseForest(CallbackSupport, MembersMixin, MultiOutputMixin, BaseEstimator):
    """Trees grown independently, each on its own draw of rows and with its own seed."""

    _random_thresholds = False

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        **GROWTH_CONSTRAINTS,
        "splitter": [StrOptions({"auto", "exact", "hist"})],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "replace": ["boolean"],
        "features_per_tree": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
    }

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, as float32; NaN is a missing value. Sparse input is made dense inside.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: the chances to be drawn with ``bootstrap``, weights in the trees
            without.

        Returns
        -------
        self : object
        """
        if sp.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        goes_on = self._goes_on()
        X, y = validate_data(
            self,
            X,
            y,
            multi_output=True,
            accept_sparse="csc",
            dtype=np.float32,
            ensure_all_finite=False,
            reset=not goes_on,
        )
        self._check_finite(X)
        X = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        y = np.atleast_1d(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=2,
            )
        if y.ndim == 1:
            y = y.reshape(-1, 1)
        if self.criterion == "poisson":
            if np.any(y < 0):
                raise ValueError(
                    "Some value(s) of y are negative which is not allowed for Poisson regression."
                )
            if np.sum(y) <= 0:
                raise ValueError(
                    "Sum of y is not strictly positive which is necessary for Poisson regression."
                )
        if goes_on:
            self._check_goes_on(y)
        self._n_samples, self.n_outputs_ = y.shape
        y, class_weights = self._validate_y_class_weight(y, sample_weight)
        y = np.ascontiguousarray(y, dtype=np.float64)
        weights = sample_weight
        if class_weights is not None:
            weights = class_weights if weights is None else weights * class_weights
            if not (weights > 0.0).any():
                raise ValueError("class_weight and sample_weight leave no row a positive weight")
        self._check_bootstrap(weights)
        self._sample_weight, self._weight_unit = weights, 1.0
        if weights is not None:
            self._sample_weight, self._weight_unit = scaled_weights(weights)
        n_classes = np.ones(self.n_outputs_, np.intp)
        if is_classifier(self):
            n_classes = np.array(self.n_classes_)
            if self.n_outputs_ == 1:
                self.n_classes_, self.classes_ = self.n_classes_[0], self.classes_[0]
        self._fit_trees(X, y, n_classes)
        return self

    def _goes_on(self) -> bool:
        """Whether `fit` adds to the trees there are."""
        return self.warm_start and hasattr(self, "_trees")

    def _check_goes_on(self, y):
        """Refuse what the trees there are were not grown for, before anything changes."""
        check_same_outputs(self.n_outputs_, y.shape[1])
        if self._watches():
            check_same_rows(self._drawn_from, len(y))
        if (self.criterion == "absolute_error") != isinstance(self._trees, MedianTrees):
            raise ValueError(
                "warm_start goes on with the trees there are: criterion='absolute_error' cannot be "
                "mixed with others"
            )

    def _watches(self) -> bool:
        """Whether out-of-bag scores are followed while trees grow."""
        return bool(self.oob_score) or (self.bootstrap and self.n_iter_no_change is not None)

    def _check_finite(self, X):
        allow_nan = self.__sklearn_tags__().input_tags.allow_nan and not sp.issparse(X)
        assert_all_finite(
            X.data if sp.issparse(X) else X,
            allow_nan=allow_nan,
            estimator_name=type(self).__name__,
            input_name="X",
        )

    def _check_bootstrap(self, weights):
        self._n_samples_bootstrap = None
        if not self.bootstrap:
            if self.max_samples is not None:
                raise ValueError(
                    "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                    "`bootstrap=True` or set `max_sample=None`."
                )
            if self.oob_score:
                raise ValueError("Out of bag estimation only available if bootstrap=True")
            return
        n = self._n_samples
        self._n_samples_bootstrap = n_rows_drawn(self.max_samples, n, weights, stacklevel=4)
        if not self.replace:
            check_distinct(self._n_samples_bootstrap, n)

    def _growth_rules(self, n: int, d: int) -> GrowthRules:
        """The parameters as absolute numbers, for n rows of d columns."""
        d = self._columns_per_tree(d)
        split, leaf = least_rows(self.min_samples_split, self.min_samples_leaf, n)
        return GrowthRules(
            CRITERIA[self.criterion],
            random=self._random_thresholds,
            max_depth=LARGEST if self.max_depth is None else int(self.max_depth),
            min_split=int(split),
            min_leaf=int(leaf),
            min_decrease=float(self.min_impurity_decrease),
            max_features=int(min(columns_drawn(self.max_features, d), d)),
            max_leaves=int(self.max_leaf_nodes or 0),
        )

    def _columns_per_tree(self, d: int) -> int:
        """How many columns a tree may split by."""
        wanted = self.features_per_tree
        return d if wanted is None else min(columns_drawn(wanted, d), d)

    def _signs(self, X, n_classes):
        """Directions of the columns, or None."""
        n_classes = n_classes if is_classifier(self) else None
        signs = monotonic_signs(self.monotonic_cst, X.shape[1], self.n_outputs_, n_classes)
        return signs if signs is not None and signs.any() else None

    def _fit_trees(self, X, y, n_classes):
        generator = check_random_state(self.random_state)
        rules, signs = self._growth_rules(*X.shape), self._signs(X, n_classes)
        if not self._goes_on():
            kind = MedianTrees if self.criterion == "absolute_error" else Trees
            self._trees = kind.empty(X.shape[1], n_classes, CRITERIA[self.criterion])
            self._seeds = np.empty(0, np.int64)
            self._leaf_targets = LeafTargets.empty()
            self._oob = None
            self._of_blocks = False
            self._drawn_from: set[int] = set()
            for name in ("oob_score_", "oob_curve_", "oob_decision_function_", "oob_prediction_"):
                vars(self).pop(name, None)
        self._estimators = None
        n_more = self.n_estimators - len(self._trees)
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(self._trees)} when warm_start==True"
            )
        if n_more == 0:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=3,
            )
        else:
            if len(self._trees):
                generator.randint(MAX_SEED, size=len(self._trees))
            seeds = generator.randint(MAX_SEED, size=n_more)
            self._drawn_from = self._drawn_from | {len(X)}
            self._grow(X, y, n_classes, rules, signs, seeds)
        if self.oob_score and (n_more > 0 or not hasattr(self, "oob_score_")):
            self._watch(X, y)
            scoring = self.oob_score if callable(self.oob_score) else None
            self._set_oob_score_and_attributes(X, y, scoring_function=scoring)
        self._oob = None if not self.warm_start else self._oob

    def _watch(self, X, y):
        """Out-of-bag sums of all trees so far."""
        self._check_oob_target(y)
        if self._oob is None or not self._oob.is_of(X, y, len(self._trees)):
            self._oob = OutOfBag(self, X, y)
            self._oob.add(0, len(self._trees))
        self._oob.X, self._oob.y = X, y

    def _n_leaf_targets(self) -> int:
        """How many targets a leaf keeps."""
        return 0

    def _grow(self, X, y, n_classes, rules, signs, seeds):
        """`_grow_blocks`, told to callbacks; how many blocks there will be depends on threads."""
        with fit_steps(self, None, X, y) as steps:
            self._grow_blocks(X, y, n_classes, rules, signs, seeds, steps)

    def _grow_blocks(self, X, y, n_classes, rules, signs, seeds, steps):
        """Grow a tree per seed, block by block; watch the out-of-bag score if asked to."""
        n_kept = self._n_leaf_targets()
        leaf_share = float(self.min_weight_fraction_leaf)
        if self.criterion == "absolute_error":
            grower = AbsoluteGrower(X, y, rules, leaf_share, signs, self.n_jobs)
        else:
            grower = ForestGrower(
                X, y, n_classes, rules, leaf_share, signs, self.splitter, self.n_jobs, n_kept > 0
            )
        watch = self._watches()
        if watch:
            self._watch(X, y)
        started, total = perf_counter(), len(self._trees) + len(seeds)
        n_threads = grower.threads(len(seeds))
        size = grower.block_size(n_threads)
        if watch or steps.told:
            size = min(size, max(n_threads, 8))
        done, new, kept, stop = 0, [], [], False
        while done < len(seeds) and not stop:
            step = steps.begin("trees")
            block = seeds[done : done + size]
            weights = self._tree_weights(block, y)
            own = np.array([seed_of(seed) for seed in block], np.uint64)
            grown = self._grow_block(grower, block, own, weights, signs, n_threads)
            for t, (*parts, rows) in enumerate(grown):
                if self.ccp_alpha > 0.0:
                    parts = pruned_parts(self._trees_of([parts]).tree(0), self.ccp_alpha)
                new.append(self._in_unit(parts))
                if n_kept:
                    mine = weights[t % len(weights)]
                    kept.append(kept_targets(rows, parts[1], y[:, 0], mine, n_kept, block[t]))
            done += len(block)
            if watch or steps.told or done >= len(seeds):
                first = len(self._trees)
                self._trees = self._trees.extended(new)
                self._leaf_targets = self._leaf_targets.extended(kept)
                self._seeds = np.concatenate([self._seeds, seeds[done - len(new) : done]])
                self._estimators, new, kept = None, [], []
                if watch:
                    self._oob.add(first, len(self._trees))
                    stop = self._no_change()
            stop = step.end(dict) or stop
            if self.verbose:
                seconds = perf_counter() - started
                print(f"tree {total - len(seeds) + done} of {total}, {seconds:.1f} s")  # noqa: T201

    def _in_unit(self, parts):
        """Parts of a tree in which the weights of leaves are those that the user gave."""
        unit = getattr(self, "_weight_unit", 1.0)
        if self.bootstrap or unit == 1.0:
            return parts
        nodes, samples, weights, *others = parts
        return nodes, samples, weights * unit, *others

    def _grow_block(self, grower, seeds, own, weights, signs, n_threads):
        """Trees of a block; where each has its own columns, on Python threads."""
        d = self.n_features_in_
        width = self._columns_per_tree(d)
        if width == d:
            return grower.grow(own, weights, min(n_threads, len(seeds)))
        grower.encode()  # before threads share it

        def grow_one(t):
            columns = columns_of_tree(seeds[t], d, width)
            mine = grower.of_columns(columns, None if signs is None else signs[columns])
            row = t % len(weights)
            ((nodes, *parts),) = mine.grow(own[t : t + 1], weights[row : row + 1], 1)
            nodes["feature"] = renumbered(nodes["feature"], columns, d)
            return (nodes, *parts)

        return list(on_threads(grow_one, [(t,) for t in range(len(seeds))], n_threads))

    @property
    def estimators_features_(self):
        """Columns that each tree may split by."""
        check_is_fitted(self)
        d = self.n_features_in_
        width = self._columns_per_tree(d)
        if width == d:
            return [np.arange(d) for _ in self._seeds]
        return [columns_of_tree(seed, d, width) for seed in self._seeds]

    def _take_trees(self, trees, seeds):
        """For `fastml.convert`: be made of these trees, grown elsewhere."""
        kind = MedianTrees if self.criterion == "absolute_error" else Trees
        first = trees[0]
        none = kind.empty(first.n_features, first.n_classes, first.criterion)
        n_parts = 7 if kind is MedianTrees else 5
        self._trees = none.extended([parts_of(tree)[:n_parts] for tree in trees])
        self._seeds = np.array([0 if seed is None else seed for seed in seeds], np.int64)
        self._leaf_targets = LeafTargets.empty()
        self._estimators = self._oob = None
        self._drawn_from = {self._n_samples}

    def _trees_of(self, parts):
        """Trees of the forest's kind from their parts."""
        trees = self._trees
        return type(trees).empty(trees.n_features, trees.n_classes, trees.criterion).extended(parts)

    def _no_change(self) -> bool:
        """Whether the out-of-bag score has stopped rising; the trees after that are dropped."""
        if self.n_iter_no_change is None:
            return False
        best, since = -np.inf, 0
        for t, score in enumerate(self._oob.curve):
            if score > best + self.tol:
                best, since = score, 0
            else:
                since += 1
            if since >= self.n_iter_no_change:
                self._keep(t + 1)
                return True
        return False

    def _keep(self, n_trees):
        """Only the first trees."""
        self._trees = self._trees_of([self._trees.parts(t) for t in range(n_trees)])
        self._seeds = self._seeds[:n_trees]
        self._leaf_targets = self._leaf_targets.first(self._trees.leaf_starts[-1])
        oob = OutOfBag(self, self._oob.X, self._oob.y)
        oob.add(0, n_trees)
        self._oob = oob

    # ------------------------------------------------------------------ draws of rows

    def _chances(self):
        return chances(self._sample_weight)

    def _draws(self, seed):
        if getattr(self, "_of_blocks", False):
            raise AttributeError("which rows of blocks a tree has drawn is not kept")
        n, n_drawn = self._n_samples, self._n_samples_bootstrap
        return draws(seed, n, n_drawn, self._chances(), self.replace)

    def _tree_weights(self, seeds, y):
        """Weights of the rows in every tree, or one row for all trees."""
        if not self.bootstrap:
            if self._sample_weight is None:
                return np.ones((1, self._n_samples))
            return self._sample_weight.astype(np.float64).reshape(1, -1)
        weights = np.empty((len(seeds), self._n_samples))
        for t, seed in enumerate(seeds):
            rows = self._draws(seed)
            weights[t] = np.bincount(rows, minlength=self._n_samples)
            if getattr(self, "class_weight", None) == "balanced_subsample":
                for o in range(y.shape[1]):
                    codes = y[:, o].astype(np.intp)
                    drawn = np.bincount(codes[rows], minlength=1)
                    present = np.count_nonzero(drawn)
                    with np.errstate(divide="ignore"):
                        factor = len(rows) / (present * drawn)
                    weights[t] *= np.append(factor, 0.0)[np.minimum(codes, len(factor))]
        return weights

    @property
    def estimators_samples_(self):
        """Rows drawn for each tree."""
        check_is_fitted(self)
        if not self.bootstrap:
            return [np.arange(self._n_samples, dtype=np.int32) for _ in self._seeds]
        return [self._draws(seed) for seed in self._seeds]

    # ------------------------------------------------------------------ out of bag

    def _check_oob_target(self, y):
        from sklearn.utils.multiclass import type_of_target

        kind = type_of_target(y)
        if kind == "unknown" or (is_classifier(self) and kind == "multiclass-multioutput"):
            raise ValueError(
                "The type of target cannot be used to compute OOB estimates. Got "
                f"{kind} while only the following are supported: continuous, "
                "continuous-multioutput, binary, multiclass, multilabel-indicator."
            )

    # ------------------------------------------------------------------ prediction

    def _rows(self, X):
        """User input as float32 rows."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            dtype=np.float32,
            accept_sparse="csr",
            reset=False,
            ensure_all_finite=False,
        )
        check_columns(self._trees.n_features, X.shape[1])
        self._check_finite(X)
        if sp.issparse(X):
            if X.indices.dtype != np.intc or X.indptr.dtype != np.intc:
                raise ValueError("No support for np.int64 index based sparse matrices")
            X = X.toarray()
        return X

    def _mean(self, X):
        """Mean leaf value: (n_rows, outputs * classes)."""
        X = self._rows(X)
        trees = self._trees
        work = X.shape[0] * len(trees) * 100.0
        out = trees.sum(X, effective_n_threads(self.n_jobs, work))
        out /= len(trees)
        return out

    def _parts_of_answer(self):
        """For `fastml.inspection`: the trees, what their sum is divided by, and the method whose
        answer that is."""
        check_is_fitted(self)
        return self._trees.packed(), len(self._trees), "_mean"

    def apply(self, X):
        """Index of the leaf that each row falls into, in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
        """
        X = self._rows(X)
        work = X.shape[0] * len(self._trees) * 100.0
        return self._trees.packed().apply(X, effective_n_threads(self.n_jobs, work))

    def decision_path(self, X):
        """Nodes that each row passes, in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            Ones where a row passes a node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns of tree i are ``n_nodes_ptr[i]:n_nodes_ptr[i + 1]``.
        """
        X = self._rows(X)
        paths = [self._trees.tree(t).decision_path(X) for t in range(len(self._trees))]
        return sp.hstack(paths).tocsr(), self._trees.starts.copy()

    @property
    def feature_importances_(self):
        """Mean share of the impurity that each column's splits take away."""
        check_is_fitted(self)
        shares = [self._trees.tree(t) for t in range(len(self._trees))]
        each = [t.compute_feature_importances() for t in shares if t.node_count > 1]
        if not each:
            return np.zeros(self.n_features_in_)
        mean = np.mean(each, axis=0, dtype=np.float64)
        return mean / mean.sum() if mean.sum() > 0.0 else mean

    # ------------------------------------------------------------------ trees as estimators

    @property
    def estimator(self):
        """An unfitted tree."""
        return self._tree_estimator()

    @property
    def estimator_(self):
        """An unfitted tree with the parameters of the trees."""
        check_is_fitted(self)
        return self._tree_estimator()

    @property
    def estimators_(self):
        """The trees, as estimators; made on first use, on the forest's own arrays."""
        if not hasattr(self, "_trees"):
            raise AttributeError(f"this {type(self).__name__} is not fitted: it has no estimators_")
        if self._estimators is None:
            self._estimators = [self._as_estimator(t) for t in range(len(self._trees))]
        return self._estimators

    def _as_estimator(self, t):
        made = self._tree_estimator()
        made.random_state = int(self._seeds[t])
        made.tree_ = self._trees.tree(t)
        made.n_features_in_ = self.n_features_in_
        made.n_outputs_ = self.n_outputs_
        made.max_features_ = columns_drawn(self.max_features, self.n_features_in_)
        if is_classifier(self):
            # A tree of a forest predicts class codes, as scikit-learn's do.
            codes = [np.arange(k, dtype=np.float64) for k in np.atleast_1d(self.n_classes_)]
            single = self.n_outputs_ == 1
            made.classes_ = codes[0] if single else codes
            made.n_classes_ = self.n_classes_
        return made

    def _tree_parameters(self):
        return {name: getattr(self, name) for name in ("criterion", *GROWTH_CONSTRAINTS)}

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "_estimators": None, "_oob": None} if "_trees" in state else state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
