"""Gradient boosting after Friedman: the regressor."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from fastml.ensemble._gradient_boosting_base import BaseGradientBoosting
from fastml.ensemble._gradient_boosting_loss import StageLoss


class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):
    """Gradient boosting that predicts numbers.

    Every stage fits a regression tree to the residuals :math:`-\\partial L / \\partial F(x_i)`,
    gives each leaf the constant that suits its rows best,
    :math:`\\gamma_R = \\arg\\min_\\gamma \\sum_R L(y_i, F(x_i) + \\gamma)`, and adds
    :math:`\\eta \\gamma_R`. Trees are exact: every value may be a threshold. Columns are sorted
    once for all trees.

    Parameters
    ----------
    loss : {'squared_error', 'absolute_error', 'huber', 'quantile'}, default='squared_error'
        The loss. Huber's is quadratic for the share ``alpha`` of the rows with the smallest
        residuals, linear beyond.
    learning_rate : float, default=0.1
        The factor :math:`\\eta` of every tree.
    n_estimators : int, default=100
        Number of stages.
    subsample : float, default=1.0
        Share of the rows that a stage is fitted to; below 1 the rows left out give the out-of-bag
        attributes (Friedman, 2002).
    criterion : {'squared_error', 'friedman_mse'}, default='deprecated'
        Has no effect (both rank splits alike); deprecated, as in scikit-learn 1.9.
    min_samples_split : int or float, default=2
        A node with fewer rows is a leaf; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Splits that leave fewer rows on a side are not considered; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The same for the share of the weight.
    max_depth : int or None, default=3
        Most splits from the root to a leaf.
    min_impurity_decrease : float, default=0.0
        A node is split if that lowers its squared error, weighted by its share of the rows, at
        least so much.
    init : estimator, 'zero' or None, default=None
        What the first stage starts from: an estimator with ``predict``, zero, or the best constant.
    random_state : int, RandomState instance or None, default=None
        Randomness of ``subsample``, of ``max_features``, of ties between columns and of the part
        kept aside.
    max_features : int, float, {'sqrt', 'log2'} or None, default=None
        Columns drawn at every node; a float is a share of them, None means all.
    alpha : float, default=0.9
        The quantile of 'quantile', the share of 'huber'.
    verbose : int, default=0
        1 prints progress now and then, more prints every stage.
    max_leaf_nodes : int, default=None
        Grow best first until there are this many leaves.
    warm_start : bool, default=False
        Whether another call of `fit` adds stages up to ``n_estimators``.
    validation_fraction : float, default=0.1
        Share of the rows kept aside where ``n_iter_no_change`` is set.
    n_iter_no_change : int, default=None
        Stop if the loss of the part kept aside was not lower by ``tol`` than any of the last so
        many.
    tol : float, default=1e-4
        See ``n_iter_no_change``.
    ccp_alpha : non-negative float, default=0.0
        Cost-complexity pruning of every tree, before its leaves get their values.
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.

    Attributes
    ----------
    n_estimators_ : int
        Stages that were fitted.
    n_trees_per_iteration_ : int
        Trees per stage: 1.
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of squared error.
    train_score_ : ndarray of shape (n_estimators_,)
        Loss after every stage on the rows it was fitted to.
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        With ``subsample < 1``: decrease of the loss, and the loss, on the rows left out.
    oob_score_ : float
        The last of ``oob_scores_``.
    init_ : estimator or 'zero'
        What the first stage starts from.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees.
    max_features_ : int
        Columns drawn at a node.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
    29 (2001); "Stochastic gradient boosting", Computational Statistics & Data Analysis 38 (2002).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from fastml.ensemble import GradientBoostingRegressor
    >>> X, y = make_friedman1(n_samples=1200, noise=1.0, random_state=0)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X[:800], y[:800])
    >>> round(model.score(X[800:], y[800:]), 1)
    0.9
    """

    _parameter_constraints: dict = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions({"squared_error", "absolute_error", "huber", "quantile"})],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict"])],
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss="squared_error",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion="deprecated",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_depth=3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        alpha=0.9,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
        n_jobs=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.n_jobs = n_jobs

    def _encode_y(self, y, sample_weight):
        self.n_trees_per_iteration_ = 1
        return np.array(y, dtype=np.float64)

    def _make_loss(self):
        return StageLoss(self.loss, alpha=self.alpha)

    def predict(self, X):
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        return self._raw_predict(X)[:, 0]

    def staged_predict(self, X):
        """Predict targets after every stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        for raw in self._staged_raw_predict(X):
            yield raw[:, 0]

    def apply(self, X):
        """Return the index of the leaf of every row in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Indices into the arrays of each ``tree_``.
        """
        return super().apply(X)[:, :, 0]
