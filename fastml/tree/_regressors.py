"""Trees that predict numbers."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import RegressorMixin

from fastml._docs import documented
from fastml._sklearn import StrOptions, fit_context
from fastml.tree._base import BaseDecisionTree
from fastml.tree._docs import TREE_ENTRIES


def _name_of(criterion):
    """The criterion; 'friedman_mse' is an old name of 'squared_error'."""
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warnings.warn(
        'Value `"friedman_mse"` for `criterion` is deprecated and will be removed in 1.11. '
        'It maps to `"squared_error"` as both were always equivalent. Use '
        '`criterion="squared_error"` to remove this warning.',
        FutureWarning,
        stacklevel=3,
    )
    return "squared_error"


@documented(TREE_ENTRIES)
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
    criterion : {'squared_error', 'friedman_mse', 'absolute_error', 'poisson'} or callable, \
            default='squared_error'
        The impurity: variance around the mean (two names: Friedman's improvement ranks splits
        alike), mean absolute deviation from the median, or half the mean Poisson deviance. Or a
        loss ``L(y, c)`` under Numba's ``njit``, convex in c: the impurity is
        :math:`\\min_c \\frac1{|V|} \\sum_V L(y_i, c)`, and a leaf predicts that c (slower, at
        most 255 cuts of a column and node; one output, no missing values).
    {splitter}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    {max_features}
    {random_state}
    {max_leaf_nodes}
    {min_impurity_decrease}
    {ccp_alpha}
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, 0, -1: the prediction rises with the column, is free, falls. One output only.
    {categorical_features}
    {n_jobs}

    Attributes
    ----------
    {feature_importances_}
    {max_features_}
    {n_features_in_}
    {feature_names_in_}
    {n_outputs_}
    {tree_}

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
        "criterion": [
            StrOptions({"squared_error", "friedman_mse", "absolute_error", "poisson"}),
            callable,
        ],
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
        self.criterion = _name_of(criterion)
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

    @fit_context(prefer_skip_nested_validation=True)
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


@documented(TREE_ENTRIES)
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
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {'sqrt', 'log2'} or None, default=1.0
        Columns drawn at every node; a float is a share of them, None and more than there are mean
        all. Further columns are drawn until one is not constant.
    {random_state}
    {max_leaf_nodes}
    {min_impurity_decrease}
    {ccp_alpha}
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, 0, -1: the prediction rises with the column, is free, falls. One output only.
    {categorical_features}
    {n_jobs}

    Attributes
    ----------
    {feature_importances_}
    {max_features_}
    {n_features_in_}
    {feature_names_in_}
    {n_outputs_}
    {tree_}

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

    # Random thresholds are no matter of histograms.
    _fit_blocks = None  # type: ignore[assignment]

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
        self.criterion = _name_of(criterion)
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
