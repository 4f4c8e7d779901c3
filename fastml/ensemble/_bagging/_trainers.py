"""How bagging trains its members: trees on the forest's engine, others on threads.

A trainer is made once per fit. ``fit(seeds)`` yields (member, columns) for every seed, in order.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from fastml._engines.forests.growth import ForestGrower
from fastml._engines.trees.pruning import pruned
from fastml._engines.trees.rules import CRITERIA, columns_drawn, monotonic_signs, seed_of
from fastml._engines.trees.sklearn_types import register_with_scikit_learn
from fastml._engines.trees.tree import Tree
from fastml._sklearn import (
    check_method_params,
    routing_enabled,
    safe_indexing,
)
from fastml._validation import check_array
from fastml.ensemble._members import on_threads
from fastml.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

TREES = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)


def is_tree(estimator) -> bool:
    """Whether it is one of fastml's trees; classes derived from them may do something else."""
    return type(estimator) in TREES


def trainer_of(bagging, X, y, fit_params):
    """The trainer for the members of ``bagging``."""
    member = bagging.estimator_
    engine = (
        is_tree(member)
        and is_classifier(member) == is_classifier(bagging)
        and isinstance(member.criterion, str)
        and member.criterion != "absolute_error"
        and member.categorical_features is None
        and not fit_params
    )
    return TreeTrainer(bagging, X, y) if engine else AnyTrainer(bagging, X, y, fit_params)


class AnyTrainer:
    """Members of any kind: weights count the draws of a row, or the rows are taken out."""

    def __init__(self, bagging, X, y, fit_params):
        self.bagging, self.X, self.y, self.fit_params = bagging, X, y, fit_params
        member = bagging.estimator_
        if routing_enabled():
            request = get_routing_for_object(member)
            self.by_weight = request.consumes("fit", ("sample_weight",))
        else:
            self.by_weight = has_fit_parameter(member, "sample_weight")

    def fit(self, seeds):
        yield from on_threads(
            self._fit_one, [(seed,) for seed in seeds], self.bagging.n_jobs, self.bagging.verbose
        )

    def _fit_one(self, seed):
        bagging, X, y = self.bagging, self.X, self.y
        from fastml._sklearn import set_random_states

        member = clone(bagging.estimator_)
        set_random_states(member, seed)
        columns, rows = bagging._draws(seed)
        params = dict(self.fit_params)
        if self.by_weight:
            params["sample_weight"] = np.bincount(rows, minlength=X.shape[0])
        else:
            params = check_method_params(X, params=params, indices=rows)
            X, y = safe_indexing(X, rows), safe_indexing(y, rows)
        member.fit(X if bagging._all_columns else X[:, columns], y, **params)
        return member, columns


class TreeTrainer:
    """fastml's trees, as a forest grows them: values are coded once for all of them."""

    def __init__(self, bagging, X, y):
        self.bagging, self.member = bagging, bagging.estimator_
        self.member._validate_params()
        register_with_scikit_learn(type(self.member))
        with np.errstate(over="ignore"):  # infinite values are refused below
            X = check_array(
                X, accept_sparse="csr", dtype=np.float32, ensure_all_finite=False, input_name="X"
            )
        self.member._check_finite(X)
        X = np.ascontiguousarray(X.toarray() if issparse(X) else X)
        y = np.asarray(y).reshape(len(X), -1)
        self.model = copy(self.member)
        self.model.n_outputs_ = y.shape[1]
        self.n_classes = np.ones(y.shape[1], np.intp)
        self.class_weights = None
        if is_classifier(bagging):
            codes, self.n_classes, self.class_weights = self.model._encode(y)
            self.model.classes_ = self.model.classes_[0]
            self.model.n_classes_ = int(self.n_classes[0])
            y = codes.T
        elif self.member.criterion == "poisson":
            self.model._check_counts(y)
        width = bagging._max_features
        self.model.n_features_in_ = width
        rules = self.model._growth_rules(X, None)._replace(
            max_features=min(columns_drawn(self.member.max_features, width), width)
        )
        self.model.max_features_ = columns_drawn(self.member.max_features, width)
        signs = monotonic_signs(
            self.member.monotonic_cst,
            width,
            y.shape[1],
            self.n_classes if is_classifier(bagging) else None,
        )
        whole = bagging._all_columns
        self.signs = None if signs is None or not signs.any() else signs
        self.grower = ForestGrower(
            X, np.ascontiguousarray(y, np.float64), self.n_classes, rules,
            float(self.member.min_weight_fraction_leaf), self.signs if whole else None, "exact",
            bagging.n_jobs,
        )  # fmt: skip

    def fit(self, seeds):
        if self.bagging._all_columns:
            yield from self._all_at_once(seeds)
        else:
            self.grower.encode()  # before threads share it
            yield from on_threads(self._fit_one, [(seed,) for seed in seeds], self.bagging.n_jobs)

    def _weights(self, rows):
        weights = np.bincount(rows, minlength=len(self.grower.X)).astype(np.float64)
        return weights if self.class_weights is None else weights * self.class_weights

    def _all_at_once(self, seeds):
        """Trees of all columns: a launch grows a block of them."""
        grower = self.grower
        n_threads = grower.threads(len(seeds))
        size = grower.block_size(n_threads)
        for first in range(0, len(seeds), size):
            block = seeds[first : first + size]
            drawn = [self.bagging._draws(seed) for seed in block]
            weights = np.array([self._weights(rows) for _, rows in drawn])
            states = [self._state(seed) for seed in block]
            own = np.array([seed_of(state) for state in states], np.uint64)
            grown = grower.grow(own, weights, min(n_threads, len(block)))
            for state, (columns, _), parts in zip(states, drawn, grown):
                yield self._member(state, parts), columns

    def _fit_one(self, seed):
        """A tree of some columns, on one thread."""
        columns, rows = self.bagging._draws(seed)
        state = self._state(seed)
        own = np.array([seed_of(state)], np.uint64)
        grower = self.grower.of_columns(columns, self.signs)
        (parts,) = grower.grow(own, self._weights(rows)[None], 1)
        return self._member(state, parts), columns

    def _state(self, seed) -> int:
        """The member's ``random_state``, as scikit-learn makes it from the seed."""
        return int(np.random.RandomState(seed).randint(np.iinfo(np.int32).max))

    def _member(self, state, parts):
        nodes, samples, weights, impurities, table, _ = parts
        tree = Tree(
            nodes,
            samples,
            weights,
            table,
            n_features=self.model.n_features_in_,
            n_classes=self.n_classes,
            criterion=CRITERIA[self.member.criterion],
            leaf_impurity=impurities,
        )
        made = copy(self.model)
        made.random_state = state
        made.tree_ = pruned(tree, made.ccp_alpha) if made.ccp_alpha > 0.0 else tree
        return made
