"""Trees that predict numbers."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import StrOptions

from fastml.tree._base import BaseDecisionTree


class DecisionTreeRegressor(RegressorMixin, BaseDecisionTree):
    """A decision tree that predicts numbers.

    Every node takes the split :math:`x_j \\le t` that lowers the impurity most; a leaf predicts the
    mean of its targets, or the median for absolute error. Columns are sorted once and partitioned
    from node to node; medians of all splits of a column come from one pass of deletions.

    Missing values (NaN) go to the side that suits the training rows better; where a node saw none,
    to the side with more rows. A column of missing values only is never split. Rows are compared in
    float32, as in scikit-learn.

    Parameters
    ----------
    criterion : {'squared_error', 'friedman_mse', 'absolute_error', 'poisson'}, \
            default='squared_error'
        The impurity: variance around the mean (two names: Friedman's improvement ranks splits
        alike), mean absolute deviation from the median, or half the mean Poisson deviance.
    splitter : {'best', 'random'}, default='best'
        The best threshold of every column, or one at random between its smallest and largest value.
    max_depth : int, default=None
        Most splits from the root to a leaf; None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer rows is a leaf; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Splits that leave fewer rows on a side are not considered; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The same for the share of the weight.
    max_features : int, float, {'sqrt', 'log2'} or None, default=None
        Columns drawn at every node; a float is a share of them, None and more than there are mean
        all. Further columns are drawn until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Randomness of the columns drawn, of random thresholds and of ties between columns.
    max_leaf_nodes : int, default=None
        Grow best first until there are this many leaves.
    min_impurity_decrease : float, default=0.0
        A node is split if that lowers the impurity, weighted by its share of the rows, at least so
        much.
    ccp_alpha : non-negative float, default=0.0
        Cost-complexity pruning: the smallest tree that minimises impurity + ccp_alpha · leaves.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, 0, -1: the prediction rises with the column, is free, falls. One output only.
    categorical_features : array-like of bool, int or str, default=None
        Columns (mask, indices or names) that hold category codes 0, 1, ... below 1024. They are
        split by subsets of categories. A category that a node has not seen goes to the side with
        more rows. Not in scikit-learn.
    n_jobs : int, default=None
        Threads; None means all cores. The tree does not depend on it.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of impurity.
    max_features_ : int
        Columns drawn at a node.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree under scikit-learn's array names.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees" (1984).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.tree import DecisionTreeRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> tree = DecisionTreeRegressor(max_depth=1).fit(X, [1, 1, 1, 5, 5, 8])
    >>> tree.predict([[0.0], [4.0]])
    array([1., 6.])
    """

    _parameter_constraints: dict = {
        **BaseDecisionTree._parameter_constraints,
        "criterion": [StrOptions({"squared_error", "friedman_mse", "absolute_error", "poisson"})],
    }

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32, sparse ones to dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight zero take no part.
        check_input : bool, default=True
            Whether to check the input.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, check_input)

    def predict(self, X, check_input=True):
        """Predict the value of every row's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.
        check_input : bool, default=True
            Whether to check the rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Means or medians.
        """
        values = self._values(X, check_input)[:, :, 0]
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """What scikit-learn's `partial_dependence` calls: one mean per row of ``grid``."""
        mean = np.zeros(len(grid))
        self.tree_.compute_partial_dependence(grid, target_features, mean)
        return mean


class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree that predicts numbers: one random threshold per column.

    Meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {'squared_error', 'friedman_mse', 'absolute_error', 'poisson'}, \
            default='squared_error'
        The impurity: variance around the mean (two names: Friedman's improvement ranks splits
        alike), mean absolute deviation from the median, or half the mean Poisson deviance.
    splitter : {'best', 'random'}, default='random'
        The best threshold of every column, or one at random between its smallest and largest value.
    max_depth : int, default=None
        Most splits from the root to a leaf; None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer rows is a leaf; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Splits that leave fewer rows on a side are not considered; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The same for the share of the weight.
    max_features : int, float, {'sqrt', 'log2'} or None, default=1.0
        Columns drawn at every node; a float is a share of them, None and more than there are mean
        all. Further columns are drawn until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Randomness of the columns drawn, of random thresholds and of ties between columns.
    max_leaf_nodes : int, default=None
        Grow best first until there are this many leaves.
    min_impurity_decrease : float, default=0.0
        A node is split if that lowers the impurity, weighted by its share of the rows, at least so
        much.
    ccp_alpha : non-negative float, default=0.0
        Cost-complexity pruning: the smallest tree that minimises impurity + ccp_alpha · leaves.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, 0, -1: the prediction rises with the column, is free, falls. One output only.
    categorical_features : array-like of bool, int or str, default=None
        Columns (mask, indices or names) that hold category codes 0, 1, ... below 1024. They are
        split by subsets of categories. A category that a node has not seen goes to the side with
        more rows. Not in scikit-learn.
    n_jobs : int, default=None
        Threads; None means all cores. The tree does not depend on it.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of impurity.
    max_features_ : int
        Columns drawn at a node.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree under scikit-learn's array names.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.tree import ExtraTreeRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> ExtraTreeRegressor(random_state=0).fit(X, [1, 1, 1, 5, 5, 8]).predict([[5.0]])
    array([8.])
    """

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        random_state=None,
        min_impurity_decrease=0.0,
        max_leaf_nodes=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.min_impurity_decrease = min_impurity_decrease
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
