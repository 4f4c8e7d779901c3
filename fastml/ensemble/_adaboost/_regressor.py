"""AdaBoost for numbers: AdaBoost.R2."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.packed import Forest, pack
from fastml._sklearn import StrOptions, num_samples
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.ensemble._adaboost._base import BaseAdaBoost
from fastml.ensemble._adaboost._trainers import float_rows, regressor_trainer
from fastml.kernels.boosting.median import tree_values, weighted_medians
from fastml.tree import DecisionTreeRegressor

VALUES_AT_ONCE = 1 << 23
"""Rows times members whose predictions are held at a time."""


class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):
    """AdaBoost for regression (AdaBoost.R2).

    Round t draws rows by their weights, trains a member on them and takes the losses
    :math:`L_i = |h_t(x_i) - y_i| / \\max_j |h_t(x_j) - y_j|` (linear; or :math:`L_i^2`, or
    :math:`1 - e^{-L_i}`). With :math:`\\bar L = \\sum_i w_i L_i` and
    :math:`\\beta = \\bar L / (1 - \\bar L)`, the member weighs :math:`\\nu\\log(1/\\beta)` and
    :math:`w_i \\leftarrow w_i \\beta^{\\nu(1 - L_i)}`. The prediction is the members' weighted
    median.

    Columns are sorted once for all rounds if the members are fastml's trees: a draw keeps their
    order.

    Parameters
    ----------
    estimator : object, default=None
        What is boosted. None means fastml's ``DecisionTreeRegressor(max_depth=3)``.
    n_estimators : int, default=50
        Most rounds; a member without errors ends them, and so does one with a mean loss of one half
        or more.
    learning_rate : float, default=1.0
        The factor :math:`\\nu` of every member's weight.
    loss : {'linear', 'square', 'exponential'}, default='linear'
        How a row's error becomes its loss.
    random_state : int, RandomState instance or None, default=None
        The draws, and seeds of the members, where they have a ``random_state``.
    n_jobs : int, default=None
        Threads for members that are fastml's trees, and for medians; None means all cores. The
        model does not depend on it.

    Attributes
    ----------
    estimator_ : estimator
        What was boosted.
    estimators_ : list of regressors
        The members.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Weights of the members; zero for rounds that did not take place.
    estimator_errors_ : ndarray of shape (n_estimators,)
        Their mean losses; one for rounds that did not take place.
    feature_importances_ : ndarray of shape (n_features,)
        Importances, where the members have them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    H. Drucker, "Improving regressors using boosting techniques" (1997).

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from fastml.ensemble import AdaBoostRegressor
    >>> X, y = make_regression(n_features=4, n_informative=2, random_state=0, shuffle=False)
    >>> model = AdaBoostRegressor(random_state=0, n_estimators=100).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **BaseAdaBoost._parameter_constraints,
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        loss="linear",
        random_state=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.n_jobs = n_jobs

    @staticmethod
    def _default_estimator():
        return DecisionTreeRegressor(max_depth=3)

    def _trainer(self, X, y, weights):
        return regressor_trainer(self, X, y)

    def _boost(self, turn, trainer, y, weights, generator):
        member, predicted = trainer.fit(weights, generator)
        self.estimators_.append(member)
        present = weights > 0.0
        losses = np.abs(predicted - y)[present]
        largest = losses.max()
        if largest != 0.0:
            losses /= largest
        if self.loss == "square":
            losses **= 2
        elif self.loss == "exponential":
            losses = 1.0 - np.exp(-losses)
        error = float((weights[present] * losses).sum())
        if error <= 0.0:
            return 1.0, 0.0
        if error >= 0.5:
            if len(self.estimators_) > 1:
                self.estimators_.pop()
            return None, None
        beta = error / (1.0 - error)
        if turn < self.n_estimators - 1:
            weights[present] *= np.power(beta, (1.0 - losses) * self.learning_rate)
        return self.learning_rate * np.log(1.0 / beta), error

    # ------------------------------------------------------------------ prediction

    @staticmethod
    def _pack(members) -> Forest:
        return pack([member.tree_ for member in members])

    def _blocks(self, X):
        """Rows, a block at a time, as (where, predictions of all members)."""
        X = self._check_X(X)
        packed = self._once_packed()
        X = X if packed is None else kernel_view(float_rows(X))
        n, n_members = num_samples(X), len(self.estimators_)
        size = max(1, VALUES_AT_ONCE // n_members)
        for start in range(0, n, size):
            here = slice(start, min(start + size, n))
            if packed is None:
                values = np.column_stack([member.predict(X[here]) for member in self.estimators_])
                yield here, np.ascontiguousarray(values, dtype=np.float64)
                continue
            values = np.empty((here.stop - start, n_members))
            chunks = self._chunks(len(values), 16.0 * n_members)
            tree_values(
                *chunks[:2], packed.nodes, packed.starts, packed.bitsets, X[here], values,
                n_threads=chunks[2],
            )  # fmt: skip
            yield here, values

    def _chunks(self, n, work):
        rows = chunk_rows(n, work, at_least=64)
        return -(-n // rows), rows, effective_n_threads(self.n_jobs, n * work)

    def _medians(self, values, n_members):
        out = np.empty(len(values))
        n_chunks, rows, n_threads = self._chunks(len(out), 32.0 * n_members)
        scales = kernel_view(self.estimator_weights_[:n_members])
        weighted_medians(n_chunks, rows, kernel_view(values), scales, out, n_threads=n_threads)
        return out

    def predict(self, X):
        """Weighted median of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        n_members = len(self.estimators_)
        return np.concatenate([self._medians(values, n_members) for _, values in self._blocks(X)])

    def staged_predict(self, X):
        """`predict` after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        values = np.concatenate([values for _, values in self._blocks(X)])
        for n_members in range(1, len(self.estimators_) + 1):
            yield self._medians(values, n_members)
