"""What all decision trees share: checks, rules in absolute numbers, growth, prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch, metadata_routing
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from fastml._engines.forests.block_trees import (
    BlockForest,
    TreeRules,
    codes_of_blocks,
    forest_bytes,
    new_name,
    tree_of,
)
from fastml._engines.forests.blocks import ForestSetup, block_class_totals
from fastml._engines.kept import is_much
from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.grow_by_loss import check_loss, grow_by_loss
from fastml._engines.trees.pruning import pruned, pruning_path
from fastml._engines.trees.rules import (
    CRITERIA,
    GROWTH_CONSTRAINTS,
    category_counts,
    columns_drawn,
    least_rows,
    monotonic_signs,
    seed_of,
)
from fastml._engines.trees.sklearn_types import register_with_scikit_learn
from fastml._sklearn import (
    StrOptions,
    assert_all_finite_element_wise,
    check_n_features,
    fit_context,
)
from fastml._threads import effective_n_threads
from fastml._validation import check_sample_weight, scaled_weights, validate_data
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, ERROR


class BaseDecisionTree(MultiOutputMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the four trees."""

    __metadata_request__predict = {"check_input": metadata_routing.UNUSED}
    __metadata_request__fit = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: dict = {
        "splitter": [StrOptions({"best", "random"})],
        **GROWTH_CONSTRAINTS,
        "random_state": ["random_state"],
        "categorical_features": ["array-like", None],
        "n_jobs": [Integral, None],
    }

    @abstractmethod
    def __init__(self):
        raise NotImplementedError

    # ------------------------------------------------------------------ fitting

    def _fit(self, X, y, sample_weight=None, check_input=True):
        by_loss = callable(self.criterion)
        classify = not by_loss and CRITERIA[self.criterion] <= ERROR
        if check_input:
            X, y = validate_data(
                self,
                X,
                y,
                validate_separately=(
                    {"dtype": np.float32, "accept_sparse": "csr", "ensure_all_finite": False},
                    {"ensure_2d": False, "dtype": None},
                ),
            )
            self._check_finite(X)
            if self.criterion == "poisson":
                self._check_counts(y)
        if issparse(X):
            X = X.toarray()
        X = np.ascontiguousarray(X, dtype=np.float32)
        n_samples, self.n_features_in_ = X.shape
        y = np.atleast_1d(y)
        if y.ndim == 1:
            y = y.reshape(-1, 1)
        self.n_outputs_ = y.shape[1]
        if len(y) != n_samples:
            raise ValueError(
                f"Number of labels={len(y)} does not match number of samples={n_samples}"
            )
        classes = values = n_classes = class_weights = None
        if classify:
            classes, n_classes, class_weights = self._encode(y)
        else:
            values = np.ascontiguousarray(y.T, dtype=np.float64)
        weights, unit = self._weights(sample_weight, class_weights, X), 1.0
        if weights is not None:
            weights, unit = scaled_weights(weights)
        rules = self._growth_rules(X, weights)
        if by_loss:
            self.tree_ = self._grown_by_loss(X, values, weights, rules).in_unit(unit)
            register_with_scikit_learn(type(self))
            return self
        column_rules = self._column_rules(X, n_classes)
        n_threads = effective_n_threads(self.n_jobs, X.size * 16.0)
        tree, _ = grow(
            presort(X, n_threads),
            rules,
            classes=classes,
            n_classes=n_classes,
            values=values,
            weights=weights,
            **column_rules,
            seed=seed_of(self.random_state),
            n_threads=n_threads,
        )
        if self.ccp_alpha > 0.0:
            tree = pruned(tree, self.ccp_alpha)
        self.tree_ = tree.in_unit(unit)
        if classify and self.n_outputs_ == 1:
            self.n_classes_ = self.n_classes_[0]
            self.classes_ = self.classes_[0]
        register_with_scikit_learn(type(self))
        return self

    def _fit_blocks(self, passes):
        passes.need_target()
        if callable(self.criterion) or self.criterion == "absolute_error":
            raise ValueError(
                f"criterion={self.criterion!r} does not merge: there is none on blocks"
            )
        for name in ("monotonic_cst", "categorical_features"):
            if getattr(self, name) is not None:
                raise ValueError(f"on blocks {name} must be None")
        if self.splitter != "best":
            raise ValueError("on blocks splitter must be 'best'")
        n, d = passes.n_rows, passes.n_features
        criterion = CRITERIA[self.criterion]
        classes = class_weights = None
        n_classes = np.ones(1, np.intp)
        if criterion <= ERROR:
            classes, class_weights = self._classes_of_blocks(passes)
            n_classes = np.array([len(classes)], np.intp)
        self.max_features_ = columns_drawn(self.max_features, d)
        rules = TreeRules(
            self._absolute_rules(n, d, criterion, 0.0), float(self.min_weight_fraction_leaf),
            n_classes, False,
        )  # fmt: skip
        setup = ForestSetup(
            new_name(), codes_of_blocks(passes), classes, class_weights, criterion,
            np.zeros(1, np.uint64), None, True, is_much(forest_bytes(n, d, 1)),
        )  # fmt: skip
        seeds = [seed_of(self.random_state)]
        (parts,) = BlockForest(passes, setup, rules, seeds, None, self.n_jobs).grown()
        tree = tree_of(parts, d, rules)
        self.tree_ = pruned(tree, self.ccp_alpha) if self.ccp_alpha > 0.0 else tree
        self.n_outputs_ = 1
        if classes is not None:
            self.classes_, self.n_classes_ = classes, len(classes)
        register_with_scikit_learn(type(self))

    def _classes_of_blocks(self, passes):
        """(classes, their weights or None)."""
        from sklearn.utils.class_weight import compute_class_weight
        from sklearn.utils.multiclass import check_classification_targets

        classes = passes.classes()
        check_classification_targets(classes)
        kind = self.class_weight
        if kind is None:
            return classes, None
        if isinstance(kind, list):
            raise ValueError("on blocks trees have one output: class_weight must not be a list")
        if isinstance(kind, str):
            rows, _ = passes.reduced(block_class_totals, np.add, classes, name="classes")
            return classes, rows.sum() / (len(classes) * rows)
        return classes, compute_class_weight(kind, classes=classes, y=classes)

    def _grown_by_loss(self, X, values, weights, rules):
        """The tree of a compiled loss, which the general growers do not know."""
        for name in ("max_features", "max_leaf_nodes", "monotonic_cst", "categorical_features"):
            if getattr(self, name) is not None:
                raise ValueError(f"a loss as criterion needs {name}=None")
        if self.splitter != "best":
            raise ValueError("a loss as criterion needs splitter='best'")
        if len(values) > 1:
            raise ValueError(f"a loss as criterion needs one output, y has {len(values)}")
        assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
        check_loss(self.criterion)
        tree = grow_by_loss(X, values[0], weights, self.criterion, rules, self.n_jobs)
        return pruned(tree, self.ccp_alpha) if self.ccp_alpha > 0.0 else tree

    def _check_finite(self, X):
        """Missing values are allowed in dense arrays, infinite ones nowhere."""
        names = {"estimator_name": type(self).__name__, "input_name": "X"}
        if issparse(X) or not self._allows_missing():
            assert_all_finite(X, **names)
            return
        with np.errstate(over="ignore"):
            total = np.sum(X)
        if not np.isfinite(total):
            assert_all_finite_element_wise(X, xp=np, allow_nan=True, **names)

    def _allows_missing(self) -> bool:
        return self.__sklearn_tags__().input_tags.allow_nan

    @staticmethod
    def _check_counts(y):
        if np.any(y < 0):
            raise ValueError(
                "Some value(s) of y are negative which is not allowed for Poisson regression."
            )
        if np.sum(y) <= 0:
            raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")

    def _encode(self, y):
        """Class codes (n_outputs, n), numbers of classes, and weights by class."""
        from sklearn.utils.class_weight import compute_sample_weight
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
        codes = np.empty((y.shape[1], y.shape[0]), np.int32)
        self.classes_ = []
        for o in range(y.shape[1]):
            found, codes[o] = np.unique(y[:, o], return_inverse=True)
            self.classes_.append(found)
        self.n_classes_ = np.array([len(found) for found in self.classes_], dtype=np.intp)
        weights = None
        if self.class_weight is not None:
            weights = compute_sample_weight(self.class_weight, y)
        return codes, self.n_classes_.copy(), weights

    @staticmethod
    def _weights(sample_weight, class_weights, X):
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if class_weights is not None:
                sample_weight = sample_weight * class_weights
        else:
            sample_weight = class_weights
        if sample_weight is None:
            return None
        if not np.any(sample_weight):
            raise ValueError("sample_weight must hold at least one weight that is not zero")
        return np.ascontiguousarray(sample_weight, dtype=np.float64)

    def _growth_rules(self, X, weights) -> GrowthRules:
        """The parameters as absolute numbers."""
        n, d = X.shape
        whole = n if weights is None else np.sum(weights)
        self.max_features_ = columns_drawn(self.max_features, d)
        criterion = ABSOLUTE_ERROR if callable(self.criterion) else CRITERIA[self.criterion]
        return self._absolute_rules(n, d, criterion, float(self.min_weight_fraction_leaf * whole))

    def _absolute_rules(self, n: int, d: int, criterion: int, min_weight: float) -> GrowthRules:
        """The same, for n rows of d columns."""
        min_split, min_leaf = least_rows(self.min_samples_split, self.min_samples_leaf, n)
        return GrowthRules(
            criterion=criterion,
            random=self.splitter == "random",
            max_depth=2**31 - 1 if self.max_depth is None else int(self.max_depth),
            min_split=min_split,
            min_leaf=min_leaf,
            min_weight=min_weight,
            min_decrease=float(self.min_impurity_decrease),
            max_features=min(self.max_features_, d),
            max_leaves=int(self.max_leaf_nodes or 0),
        )

    def _column_rules(self, X, n_classes) -> dict:
        """What `grow` must know of single columns."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "signs": self._signs(X.shape[1], n_classes),
            "n_categories": category_counts(self.categorical_features, X, names),
        }

    def _signs(self, d: int, n_classes):
        signs = monotonic_signs(self.monotonic_cst, d, self.n_outputs_, n_classes)
        if signs is None or n_classes is None:
            return signs
        return -signs  # the kernels bound the share of the first class

    # ------------------------------------------------------------------ prediction

    def _validate_X_predict(self, X, check_input):
        if check_input:
            finite = "allow-nan" if not issparse(X) and self._allows_missing() else True
            X = validate_data(
                self,
                X,
                dtype=np.float32,
                accept_sparse="csr",
                reset=False,
                ensure_all_finite=finite,
            )
        else:
            check_n_features(self, X, reset=False)
        return X.toarray() if issparse(X) else X

    def _values(self, X, check_input=True):
        """(n, n_outputs, n_columns) of leaf values."""
        check_is_fitted(self)
        X = self._validate_X_predict(X, check_input)
        flat = self.tree_.predict_flat(X, effective_n_threads(self.n_jobs, X.shape[0] * 128.0))
        return flat.reshape(X.shape[0], self.tree_.n_outputs, -1)

    def _rows(self, X):
        """User input as float32 rows."""
        return self._validate_X_predict(X, True)

    def _parts_of_answer(self):
        """For `fastml.inspection`: the tree, what its sum is divided by, and the method whose
        answer that is."""
        check_is_fitted(self)
        return self.tree_.packed, 1, "_values"

    def apply(self, X, check_input=True):
        """Return the index of the leaf of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.
        check_input : bool, default=True
            Whether to check the rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Indices into the arrays of ``tree_``.
        """
        check_is_fitted(self)
        X = self._validate_X_predict(X, check_input)
        return self.tree_.apply(X, effective_n_threads(self.n_jobs, X.shape[0] * 128.0))

    def decision_path(self, X, check_input=True):
        """Return which nodes every row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.
        check_input : bool, default=True
            Whether to check the rows.

        Returns
        -------
        indicator : CSR matrix of shape (n_samples, n_nodes)
            Ones where a row passes a node.
        """
        check_is_fitted(self)
        return self.tree_.decision_path(self._validate_X_predict(X, check_input))

    def get_depth(self):
        """Return the depth: the largest number of splits from the root to a leaf.

        Returns
        -------
        depth : int
            The depth.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self):
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
            The number of leaves.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self):
        """Each column's share of the decrease of impurity; sums to one."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()

    @fit_context(prefer_skip_nested_validation=True)
    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """Compute the path of nested trees that weakest-link pruning gives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : Bunch
            ``ccp_alphas``, at which the next node collapses, and ``impurities``, the total impurity
            of the leaves from there on.
        """
        whole = clone(self).set_params(ccp_alpha=0.0)
        whole.fit(X, y, sample_weight=sample_weight)
        alphas, impurities, _ = pruning_path(whole.tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
