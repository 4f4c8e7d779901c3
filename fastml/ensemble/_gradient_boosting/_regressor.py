"""Gradient boosting after Friedman: the regressor."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin

from fastml._docs import documented
from fastml._sklearn import HasMethods, Interval, StrOptions
from fastml.ensemble._gradient_boosting._base import BaseGradientBoosting
from fastml.ensemble._gradient_boosting._docs import STAGE_ENTRIES
from fastml.ensemble._gradient_boosting._loss import StageLoss


@documented(STAGE_ENTRIES)
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
    {n_estimators}
    {subsample}
    {criterion}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    {max_depth}
    {min_impurity_decrease}
    init : estimator, 'zero' or None, default=None
        What the first stage starts from: an estimator with ``predict``, zero, or the best constant.
    {random_state}
    {max_features}
    alpha : float, default=0.9
        The quantile of 'quantile', the share of 'huber'.
    {verbose}
    {max_leaf_nodes}
    {warm_start}
    {validation_fraction}
    {n_iter_no_change}
    {tol}
    {ccp_alpha}
    {n_jobs}
    {line_search}

    Attributes
    ----------
    {n_estimators_}
    n_trees_per_iteration_ : int
        Trees per stage: 1.
    {feature_importances_}
    {train_score_}
    {oob_improvement_}
    {oob_score_}
    {init_}
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees.
    {max_features_}
    {n_features_in_}
    {feature_names_in_}

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
        line_search="leaf",
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
        self.line_search = line_search

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
