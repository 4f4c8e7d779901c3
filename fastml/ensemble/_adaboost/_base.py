"""What the two AdaBoosts share: the rounds, and the trees packed for prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import copy
from numbers import Integral, Real
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import (
    HasMethods,
    Interval,
    RoutingNotSupportedMixin,
    fit_context,
    raise_for_unsupported_routing,
)
from fastml._validation import check_sample_weight, validate_data
from fastml.ensemble._members import MembersMixin
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

EPSILON = np.finfo(np.float64).eps
TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
"""Members whose nodes can be packed into one table; `ExtraTree*` are among them."""


class BaseAdaBoost(
    CallbackSupport,
    MembersMixin,
    RoutingNotSupportedMixin,
    MetaEstimatorMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Members trained one after the other, each on weights that the ones before it leave."""

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows at the start; equal ones by default.

        Returns
        -------
        self : object
        """
        raise_for_unsupported_routing(self, "fit", sample_weight=sample_weight)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            ensure_2d=True,
            allow_nd=True,
            dtype=None,
            y_numeric=is_regressor(self),
        )
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
        )
        weights /= weights.sum()
        self._set_estimator()
        trainer = self._trainer(X, y, weights)
        generator = check_random_state(self.random_state)
        self.estimators_ = []
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)
        with fit_steps(self, self.n_estimators, X, y) as steps:
            self._rounds(trainer, y, weights, generator, steps)
        self._packed = None
        self._once_packed()
        return self

    def _rounds(self, trainer, y, weights, generator, steps):
        """Train the members one after the other; changes ``weights``."""
        absent = weights == 0.0
        for turn in range(self.n_estimators):
            step = steps.begin("round")
            np.maximum(weights, EPSILON, out=weights)
            weights[absent] = 0.0
            scale, error = self._boost(turn, trainer, y, weights, generator)
            if scale is None:
                break
            self.estimator_weights_[turn] = scale
            self.estimator_errors_[turn] = error
            if error == 0.0:
                break
            total = weights.sum()
            if not np.isfinite(total):
                warn(
                    f"Sample weights have reached infinite values, at iteration {turn}, causing "
                    "overflow. Iterations stopped. Try lowering the learning rate.",
                    stacklevel=2,
                )
                break
            if total <= 0.0:
                break
            weights /= total
            if step.end(lambda: {"_packed": None, "estimators_": list(self.estimators_)}):
                break

    @abstractmethod
    def _trainer(self, X, y, weights):
        """What trains the members."""

    @abstractmethod
    def _boost(self, turn, trainer, y, weights, generator):
        """One round: the member's weight and error, (None, None) at an early end.

        Changes ``weights``.
        """

    @staticmethod
    @abstractmethod
    def _default_estimator():
        """The member if none is given."""

    def _set_estimator(self):
        given = self.estimator is not None
        self.estimator_ = self.estimator if given else self._default_estimator()

    def _make_estimator(self, append=True, random_state=None):
        """An unfitted member, its randomness set as scikit-learn sets it."""
        from fastml._sklearn import set_random_states

        made = clone(self.estimator_)
        if random_state is not None:
            set_random_states(made, random_state)
        if append:
            self.estimators_.append(made)
        return made

    # ------------------------------------------------------------------ prediction

    def _check_X(self, X):
        check_is_fitted(self)
        return validate_data(
            self,
            X,
            accept_sparse=["csr", "csc"],
            ensure_2d=True,
            allow_nd=True,
            dtype=None,
            reset=False,
        )

    @staticmethod
    @abstractmethod
    def _pack(members):
        """Members that are all fastml's trees, as the kernels take them."""

    def _once_packed(self):
        """The packed members, kept until they change; None if one of them is not fastml's tree.

        Users may shorten ``estimators_``, so it is compared each time.
        """
        members = self.estimators_
        if not all(isinstance(member, TREES) for member in members):
            return None
        kept = self.__dict__.get("_packed")
        if kept is None or list(map(id, kept[0])) != list(map(id, members)):
            kept = self._packed = (list(members), self._pack(members))
        return kept[1]

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_packed"}

    def staged_score(self, X, y, sample_weight=None):
        """Score after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The truth.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Yields
        ------
        score : float
            Accuracy, or R² of a regressor.
        """
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if is_regressor(self) else accuracy_score
        for predicted in self.staged_predict(X):
            yield measure(y, predicted, sample_weight=sample_weight)

    @property
    def feature_importances_(self):
        """Mean of the members' importances, weighted by ``estimator_weights_``."""
        if not self.estimators_:
            raise ValueError("Estimator not fitted, call `fit` before `feature_importances_`.")
        try:
            each = [member.feature_importances_ for member in self.estimators_]
        except AttributeError as error:
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a "
                "feature_importances_ attribute"
            ) from error
        scales = self.estimator_weights_[: len(each)]
        if not scales.any():  # one member, no better than chance: it predicts all the same
            scales = np.ones(len(each))
        return scales @ np.array(each) / scales.sum()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def with_class_leaves(tree):
    """A copy of a tree whose leaves are of one class only: the one that they predict."""
    made = copy(tree)
    made.nodes, leaf = tree.nodes.copy(), tree.is_leaf
    made.nodes["right"][leaf] = ~tree.value[leaf, 0].argmax(axis=1)
    made.table, made._made = tree.table[:0], {}
    return made
