"""Rows as the leaves they fall into."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._sklearn import check_feature_names_in, fit_context, num_samples
from fastml.ensemble._forest._base import BaseForest
from fastml.kernels.tree.nodes import LEAF


class RandomTreesEmbedding(TransformerMixin, BaseForest):
    """Coding of rows by the leaves of totally random trees.

    Every tree is grown on a random target: each node takes one column and one threshold at random.
    A row becomes, per tree, a one in the place of its leaf and zeros elsewhere, so rows that are
    close share many ones.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int, default=5
        Greatest depth of a tree; None: until leaves are pure.
    min_samples_split : int or float, default=2
        Rows (or their share) that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Least number (or share) of rows of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_leaf_nodes : int, default=None
        Most leaves; the node that improves most is split first.
    min_impurity_decrease : float, default=0.0
        Least decrease of the random target's variance, weighted by the node's share.
    sparse_output : bool, default=True
        Whether the coding is a sparse matrix.
    n_jobs : int, default=None
        Threads; None means all cores. The coding does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Randomness of the target and of the trees.
    verbose : int, default=0
        Print the number of trees and the time after every block of trees.
    warm_start : bool, default=False
        Whether `fit` adds trees to those there are.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        An unfitted tree.
    estimators_ : list of ExtraTreeRegressor
        The trees.
    estimators_samples_ : list of arrays
        Rows of every tree: all.
    estimators_features_ : list of arrays
        Columns of every tree: all. Not in scikit-learn.
    one_hot_encoder_ : OneHotEncoder
        What turns leaves into columns.
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of the random target's variance.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_outputs_ : int
        One.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees" (2006); F. Moosmann, B. Triggs,
    F. Jurie, "Fast discriminative visual codebooks using randomized clustering forests" (2007).

    Examples
    --------
    >>> from fastml.ensemble import RandomTreesEmbedding
    >>> X = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    >>> coded = RandomTreesEmbedding(5, random_state=0, max_depth=1).fit_transform(X)
    >>> coded.shape, coded.sum(axis=1).tolist()
    ((5, 10), [[5.0], [5.0], [5.0], [5.0], [5.0]])
    """

    _random_thresholds = True
    _parameter_constraints: dict = {
        name: BaseForest._parameter_constraints[name]
        for name in (
            "n_estimators", "max_depth", "min_samples_split", "min_samples_leaf",
            "min_weight_fraction_leaf", "max_leaf_nodes", "min_impurity_decrease", "n_jobs",
            "random_state", "verbose", "warm_start",
        )
    } | {"sparse_output": ["boolean"]}  # fmt: skip

    # What other forests have as parameters.
    criterion = "squared_error"
    max_features = 1
    bootstrap = False
    oob_score = False
    max_samples = None
    ccp_alpha = 0.0
    monotonic_cst = None
    splitter = "auto"
    n_iter_no_change = None
    replace = True
    features_per_tree = None

    def __init__(
        self,
        n_estimators=100,
        *,
        max_depth=5,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        sparse_output=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _tree_estimator(self):
        from fastml.tree import ExtraTreeRegressor

        return ExtraTreeRegressor(**self._tree_parameters())

    def _validate_y_class_weight(self, y, sample_weight):
        return y, None

    def _set_oob_score_and_attributes(self, X, y, scoring_function=None):
        raise NotImplementedError("OOB score not supported by tree embedding")

    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        self.fit_transform(X, y, sample_weight=sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, sample_weight=None):
        """Grow the trees and code the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        coded : sparse matrix or ndarray of shape (n_samples, n_out)
        """
        target = check_random_state(self.random_state).uniform(size=num_samples(X))
        super().fit(X, target, sample_weight=sample_weight)
        self._set_encoder()
        return self._coded(self.apply(X))

    def _set_encoder(self):
        """scikit-learn's encoder of the leaves, as a fitted attribute; `_coded` does the encoding.

        Every leaf holds a training row, so its categories are the leaves.
        """
        from sklearn.preprocessing import OneHotEncoder

        is_leaf = self._trees.nodes["feature"] == LEAF
        self._n_features_out = int(is_leaf.sum())
        leaves = [np.flatnonzero(part) for part in np.split(is_leaf, self._trees.starts[1:-1])]
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output)
        self.one_hot_encoder_ = encoder.fit([[part[0] for part in leaves]])

    def _coded(self, leaves):
        """A one per row and tree: the columns are all leaves, counted through the trees."""
        n, n_trees = leaves.shape
        column = np.cumsum(self._trees.nodes["feature"] == LEAF) - 1
        indices = column[leaves + self._trees.starts[:-1]].ravel()
        indptr = np.arange(n + 1) * n_trees
        coded = csr_matrix((np.ones(n * n_trees), indices, indptr), (n, self._n_features_out))
        return coded if self.sparse_output else coded.toarray()

    def transform(self, X):
        """Code rows by their leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        coded : sparse matrix or ndarray of shape (n_samples, n_out)
        """
        check_is_fitted(self)
        return self._coded(self.apply(X))

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: ``randomtreesembedding_{tree}_{leaf}``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Compared with the names seen in `fit`.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self, "_n_features_out")
        check_feature_names_in(self, input_features=input_features, generate_names=False)
        names = [
            f"randomtreesembedding_{tree}_{leaf}"
            for tree, leaves in enumerate(self.one_hot_encoder_.categories_)
            for leaf in leaves
        ]
        return np.asarray(names, dtype=object)
