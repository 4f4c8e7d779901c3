"""Gradient boosting after Friedman: the classifier."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin

from fastml._docs import documented
from fastml._sklearn import HasMethods, StrOptions
from fastml.ensemble._gradient_boosting._base import BaseGradientBoosting
from fastml.ensemble._gradient_boosting._docs import STAGE_ENTRIES
from fastml.ensemble._gradient_boosting._loss import StageLoss
from fastml.ensemble._refit import check_same_classes


@documented(STAGE_ENTRIES)
class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
    """Gradient boosting that classifies.

    Every stage fits a regression tree (one per class if there are more than two) to the residuals
    :math:`-\\partial L / \\partial F(x_i)`, gives each leaf R the value of one Newton step,
    :math:`\\gamma_R = \\sum_R g_i / \\sum_R h_i`, and adds :math:`\\eta \\gamma_R`. Trees are
    exact: every value may be a threshold. Columns are sorted once for all trees.

    Parameters
    ----------
    loss : {'log_loss', 'exponential'}, default='log_loss'
        The loss; 'exponential' is AdaBoost's, for two classes.
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
        What the first stage starts from: an estimator with ``predict_proba``, zero, or the best
        constant.
    {random_state}
    {max_features}
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
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        Their number.
    {n_estimators_}
    n_trees_per_iteration_ : int
        Trees per stage: 1 for two classes, else the number of classes.
    {feature_importances_}
    {train_score_}
    {oob_improvement_}
    {oob_score_}
    {init_}
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, n_trees_per_iteration_)
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
    >>> from sklearn.datasets import make_hastie_10_2
    >>> from fastml.ensemble import GradientBoostingClassifier
    >>> X, y = make_hastie_10_2(n_samples=3000, random_state=0)
    >>> model = GradientBoostingClassifier(learning_rate=1.0, max_depth=1, random_state=0)
    >>> round(model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]), 2)
    0.91
    """

    _parameter_constraints: dict = {
        **BaseGradientBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss", "exponential"})],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict_proba"])],
    }

    def __init__(
        self,
        *,
        loss="log_loss",
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
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if self._goes_on():
            check_same_classes(self.classes_, classes)
        self.classes_ = classes
        self.n_classes_ = len(self.classes_)
        self.n_trees_per_iteration_ = 1 if self.n_classes_ <= 2 else self.n_classes_
        present = np.bincount(codes) if sample_weight is None else np.bincount(codes, sample_weight)
        if (n_present := np.count_nonzero(present)) < 2:
            raise ValueError(
                f"y contains {n_present} class after sample_weight trimmed classes with zero "
                "weights, while a minimum of 2 classes are required."
            )
        return codes.astype(np.float64)

    def _make_loss(self):
        if self.loss == "exponential" and self.n_classes_ > 2:
            raise ValueError(
                "loss='exponential' is only suitable for a binary classification problem, you "
                f"have n_classes={self.n_classes_}. Please use loss='log_loss' instead."
            )
        return StageLoss(self.loss, self.n_classes_)

    def _labels(self, raw):
        if raw.shape[1] == 1:
            return self.classes_[(raw[:, 0] >= 0).astype(int)]
        return self.classes_[raw.argmax(axis=1)]

    def decision_function(self, X):
        """Compute the raw predictions: log-odds, half of them, or one score per class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column per class if there are more than two.
        """
        raw = self._raw_predict(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_decision_function(self, X):
        """Compute the raw predictions after every stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Yields
        ------
        score : ndarray of shape (n_samples, k)
            k is 1 for two classes, else their number.
        """
        yield from self._staged_raw_predict(X)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels(self._raw_predict(X))

    def staged_predict(self, X):
        """Predict labels after every stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        for raw in self._staged_raw_predict(X):
            yield self._labels(raw)

    def predict_proba(self, X):
        """Predict the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        raw = self._raw_predict(X)
        return self._loss.predict_proba(raw)

    def predict_log_proba(self, X):
        """Predict the logarithm of the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Logarithms of `predict_proba`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_predict_proba(self, X):
        """Predict the probability of every class after every stage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict_proba(raw)
