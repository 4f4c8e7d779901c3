"""AdaBoost for classes: SAMME."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fastml._engines.trees.packed import Forest, pack
from fastml._sklearn import num_samples
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.ensemble._adaboost._base import BaseAdaBoost, with_class_leaves
from fastml.ensemble._adaboost._trainers import classifier_trainer, float_rows
from fastml.kernels.boosting.reweight import raise_weights
from fastml.kernels.tree.stump_votes import stump_votes
from fastml.tree import DecisionTreeClassifier


class Stumps(NamedTuple):
    """Trees of one split: column, threshold, class at or below it, class above it."""

    features: NDArray
    thresholds: NDArray
    lefts: NDArray
    rights: NDArray


class AdaBoostClassifier(ClassifierMixin, BaseAdaBoost):
    """AdaBoost for classification (SAMME).

    Round t trains a member :math:`h_t` on weights w, takes its error
    :math:`\\epsilon_t = \\sum_{h_t(x_i) \\ne y_i} w_i / \\sum_i w_i` and gives it the weight
    :math:`\\alpha_t = \\nu (\\log\\frac{1 - \\epsilon_t}{\\epsilon_t} + \\log(K - 1))`; then
    :math:`w_i \\leftarrow w_i e^{\\alpha_t}` for the rows it has wrong. The class with the most
    votes :math:`\\sum_t \\alpha_t [h_t(x) = k]` wins.

    Columns are sorted once for all rounds if the members are fastml's trees, and a stump then takes
    one pass over the rows.

    Parameters
    ----------
    estimator : object, default=None
        What is boosted: a classifier whose ``fit`` takes ``sample_weight``. None means fastml's
        ``DecisionTreeClassifier(max_depth=1)``.
    n_estimators : int, default=50
        Most rounds; a member without errors ends them.
    learning_rate : float, default=1.0
        The factor :math:`\\nu` of every member's weight.
    random_state : int, RandomState instance or None, default=None
        Seeds of the members, where they have a ``random_state``.
    n_jobs : int, default=None
        Threads for members that are fastml's trees; None means all cores. The model does not depend
        on it.

    Attributes
    ----------
    estimator_ : estimator
        What was boosted.
    estimators_ : list of classifiers
        The members.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        Their number.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Weights of the members; zero for rounds that did not take place.
    estimator_errors_ : ndarray of shape (n_estimators,)
        Their errors; one for rounds that did not take place.
    feature_importances_ : ndarray of shape (n_features,)
        Importances, where the members have them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line learning and an
    application to boosting" (1997); J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost"
    (2009).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fastml.ensemble import AdaBoostClassifier
    >>> X, y = make_classification(1000, 4, n_informative=2, n_redundant=0, random_state=0)
    >>> model = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    """

    def __init__(
        self,
        estimator=None,
        *,
        n_estimators=50,
        learning_rate=1.0,
        random_state=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs

    @staticmethod
    def _default_estimator():
        return DecisionTreeClassifier(max_depth=1)

    def _set_estimator(self):
        super()._set_estimator()
        if not has_fit_parameter(self.estimator_, "sample_weight"):
            raise ValueError(f"{type(self.estimator_).__name__} doesn't support sample_weight.")

    def _trainer(self, X, y, weights):
        return classifier_trainer(self, X, y, weights)

    def _boost(self, turn, trainer, y, weights, generator):
        member, wrong = trainer.fit(weights, generator)
        if turn == 0:
            self.classes_ = getattr(member, "classes_", None)
            self.n_classes_ = len(self.classes_)
        self.estimators_.append(member)
        error = float(np.average(wrong, weights=weights))
        if error <= 0.0:
            return 1.0, 0.0
        if error >= 1.0 - 1.0 / self.n_classes_:
            self.estimators_.pop()
            if not self.estimators_:
                raise ValueError(
                    "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble "
                    "can not be fit."
                )
            return None, None
        odds = np.log((1.0 - error) / error) + np.log(self.n_classes_ - 1.0)
        scale = self.learning_rate * odds
        if turn < self.n_estimators - 1:
            with np.errstate(over="ignore"):  # the caller warns of infinite weights
                factor = np.exp(0.5 * scale)  # twice: exp(scale) alone may be too large
            raise_weights(np.ascontiguousarray(wrong, dtype=bool), factor, weights)
        return scale, error

    # ------------------------------------------------------------------ prediction

    @staticmethod
    def _pack(members) -> Stumps | Forest:
        """Members with one class per leaf, in the form that predicts fastest."""
        trees = [with_class_leaves(member.tree_) for member in members]
        if any(tree.node_count != 3 or tree.is_categorical[0] for tree in trees):
            return pack(trees)
        nodes = np.array([tree.nodes for tree in trees])
        features = np.array([tree.feature[0] for tree in trees], np.intp)
        said = ~nodes["right"][:, 1:].astype(np.intp)
        return Stumps(
            kernel_view(features),
            kernel_view(nodes["threshold"][:, 0]),
            kernel_view(said[:, 0]),
            kernel_view(said[:, 1]),
        )

    def _votes(self, X, first, last):
        """Weights of members first..last by the class that they predict: (n, n_classes)."""
        scales = self.estimator_weights_[first:last]
        packed = self._once_packed()
        if packed is None:
            votes = np.zeros((num_samples(X), self.n_classes_))
            for member, scale in zip(self.estimators_[first:last], scales):
                votes += scale * (member.predict(X)[:, None] == self.classes_)
            return votes
        n = X.shape[0]
        if isinstance(packed, Forest):
            n_threads = effective_n_threads(self.n_jobs, n * len(scales) * 16.0)
            return packed.part(first, last).sum(X, scales, n_threads)
        votes = np.empty((n, self.n_classes_))
        each = X.shape[1] + 2.0 * len(scales)
        rows = chunk_rows(n, each, at_least=256)
        stump_votes(
            -(-n // rows), rows, kernel_view(X), *(part[first:last] for part in packed),
            kernel_view(scales), votes, n_threads=effective_n_threads(self.n_jobs, n * each),
        )  # fmt: skip
        return votes

    def _members_rows(self, X):
        """Rows as the members take them."""
        X = self._check_X(X)
        return X if self._once_packed() is None else float_rows(X)

    def _decision(self, votes, total):
        if self.n_classes_ == 1:
            return np.zeros((len(votes), 1))
        if self.n_classes_ == 2:
            return 2.0 * (votes[:, 1] - votes[:, 0]) / total
        return (votes - (total - votes) / (self.n_classes_ - 1)) / total

    def decision_function(self, X):
        """Mean vote of the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: from -2 for the first to 2 for the second. More: per class 1 for all votes,
            :math:`-1/(K-1)` for none.
        """
        check_is_fitted(self)
        X = self._members_rows(X)
        votes = self._votes(X, 0, len(self.estimators_))
        return self._decision(votes, self.estimator_weights_.sum())

    def staged_decision_function(self, X):
        """`decision_function` after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._members_rows(X)
        rounds = range(len(self.estimators_))
        votes = accumulate((self._votes(X, t, t + 1) for t in rounds), np.add)
        totals = np.cumsum(self.estimator_weights_)
        for so_far, total in zip(votes, totals):
            yield self._decision(so_far, total)

    def _winners(self, decision):
        if self.n_classes_ == 2:
            return self.classes_.take(decision > 0, axis=0)
        return self.classes_.take(np.argmax(decision, axis=1), axis=0)

    def predict(self, X):
        """Class with the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._winners(self.decision_function(X))

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
        for decision in self.staged_decision_function(X):
            yield self._winners(decision)

    def _shares(self, decision):
        """Softmax of the decision over K - 1."""
        from sklearn.utils.extmath import softmax

        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return softmax(np.column_stack([-decision, decision]) / 2.0, copy=False)
        return softmax(decision / (self.n_classes_ - 1), copy=False)

    def predict_proba(self, X):
        """Shares of the classes: softmax of the decision over K - 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return self._shares(self.decision_function(X))

    def staged_predict_proba(self, X):
        """`predict_proba` after every round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        yield from map(self._shares, self.staged_decision_function(X))

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))
