"""What all decision trees share: checks, rules in absolute numbers, growth, prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, _fit_context, clone
from sklearn.utils import Bunch, metadata_routing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import (
    _assert_all_finite_element_wise,
    _check_n_features,
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from fastml._threads import effective_n_threads
from fastml.kernels.tree_nodes import ERROR
from fastml.tree._grow import Options, grow, presort
from fastml.tree._pruning import pruned, pruning_path
from fastml.tree._rules import (
    CRITERIA,
    GROWTH_CONSTRAINTS,
    category_counts,
    columns_drawn,
    least_rows,
    monotonic_signs,
    seed_of,
)


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
        classify = CRITERIA[self.criterion] <= ERROR
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
        weights = self._weights(sample_weight, class_weights, X)
        options = self._options(X, weights, n_classes)
        n_threads = effective_n_threads(self.n_jobs, X.size * 16.0)
        tree, _ = grow(
            presort(X, n_threads),
            options,
            classes=classes,
            n_classes=n_classes,
            values=values,
            weights=weights,
            seed=seed_of(self.random_state),
            n_threads=n_threads,
        )
        if self.ccp_alpha > 0.0:
            tree = pruned(tree, self.ccp_alpha)
        self.tree_ = tree
        if classify and self.n_outputs_ == 1:
            self.n_classes_ = self.n_classes_[0]
            self.classes_ = self.classes_[0]
        be_found_by_scikit_learn(type(self))
        return self

    def _check_finite(self, X):
        """Missing values are allowed in dense arrays, infinite ones nowhere."""
        names = {"estimator_name": type(self).__name__, "input_name": "X"}
        if issparse(X) or not self._allows_missing():
            assert_all_finite(X, **names)
            return
        with np.errstate(over="ignore"):
            total = np.sum(X)
        if not np.isfinite(total):
            _assert_all_finite_element_wise(X, xp=np, allow_nan=True, **names)

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
            sample_weight = _check_sample_weight(
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

    def _options(self, X, weights, n_classes) -> Options:
        n, d = X.shape
        whole = n if weights is None else np.sum(weights)
        min_split, min_leaf = least_rows(self.min_samples_split, self.min_samples_leaf, n)
        self.max_features_ = columns_drawn(self.max_features, d)
        names = getattr(self, "feature_names_in_", None)
        return Options(
            criterion=CRITERIA[self.criterion],
            random=self.splitter == "random",
            max_depth=2**31 - 1 if self.max_depth is None else self.max_depth,
            min_split=min_split,
            min_leaf=min_leaf,
            min_weight=self.min_weight_fraction_leaf * whole,
            min_decrease=self.min_impurity_decrease,
            max_features=min(self.max_features_, d),
            max_leaves=self.max_leaf_nodes,
            signs=self._signs(d, n_classes),
            n_categories=category_counts(self.categorical_features, X, names),
        )

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
            _check_n_features(self, X, reset=False)
        return X.toarray() if issparse(X) else X

    def _values(self, X, check_input=True):
        """(n, n_outputs, n_columns) of leaf values."""
        check_is_fitted(self)
        X = self._validate_X_predict(X, check_input)
        flat = self.tree_.predict_flat(X, effective_n_threads(self.n_jobs, X.shape[0] * 128.0))
        return flat.reshape(X.shape[0], self.tree_.n_outputs, -1)

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

    @_fit_context(prefer_skip_nested_validation=True)
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


def be_found_by_scikit_learn(*classes) -> None:
    """Make ours virtual subclasses of scikit-learn's: its plot_tree and its like check the type."""
    import sklearn.tree

    for own in classes:
        theirs = getattr(sklearn.tree, own.__name__, None)
        if theirs is not None and theirs.__module__.startswith("sklearn."):
            theirs.register(own)
