"""Bagging of classifiers."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import estimator_has, raise_for_params
from fastml.ensemble._bagging._base import BaseBagging
from fastml.ensemble._bagging._docs import BAGGING_ENTRIES
from fastml.ensemble._refit import check_same_classes
from fastml.tree import DecisionTreeClassifier


@documented(
    BAGGING_ENTRIES,
    tree="DecisionTreeClassifier",
    score="Accuracy",
    oob="oob_decision_function_",
)
class BaggingClassifier(ClassifierMixin, BaseBagging):
    """Classifiers on random draws of rows and columns; their probabilities are averaged.

    :math:`p_k(x) = \\frac1T \\sum_t p_{tk}(x)`; members without probabilities vote. Rows with
    replacement are bagging, without are pasting; draws of columns are random subspaces, of both
    random patches.

    Parameters
    ----------
    {bagging}

    Attributes
    ----------
    {members}
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_classes_ : int
        Their number.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24 (1996).
    G. Louppe, P. Geurts, "Ensembles on random patches", ECML PKDD (2012).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.ensemble import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=20, max_features=2, random_state=0).fit(X, y)
    >>> model.predict(X[::50]).tolist()
    [0, 1, 2]
    """

    def _get_estimator(self):
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _validate_y(self, y, goes_on):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        found, codes = np.unique(y, return_inverse=True)
        if goes_on:
            check_same_classes(self.classes_, found)
        self.classes_, self.n_classes_ = found, len(found)
        return codes

    def _shares(self, member, X, predict=None, predict_proba=None):
        """Probabilities of a member, or its votes: (n_rows, n_classes)."""
        shares = np.zeros((X.shape[0], self.n_classes_))
        if hasattr(member, "predict_proba"):
            shares[:, _classes_of(member, self.n_classes_)] = member.predict_proba(
                X, **(predict_proba or {})
            )
        else:
            said = member.predict(X, **(predict or {}))
            shares[np.arange(len(shares)), said] = 1.0
        return shares

    def _set_oob_score(self, X, y):
        sums = np.zeros((len(y), self.n_classes_))
        for member, columns, out in self._rows_out():
            rows = np.flatnonzero(out)
            sums[rows] += self._shares(member, X[rows][:, columns])
        seen = sums.sum(axis=1)
        if (seen == 0.0).any():
            self._warn_of_rows_always_seen()
        self.oob_decision_function_ = sums / np.where(seen > 0.0, seen, 1.0)[:, None]
        self.oob_score_ = float(np.mean(y == np.argmax(sums, axis=1)))

    def predict(self, X, **params):
        """The class of the greatest mean probability.

        Parameters
        ----------
        {routed}

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        raise_for_params(params, self, "predict")
        check_is_fitted(self)
        return self.classes_.take(np.argmax(self.predict_proba(X, **params), axis=1), axis=0)

    def predict_proba(self, X, **params):
        """Mean of the members' probabilities, or shares of their votes.

        Parameters
        ----------
        {routed}

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        raise_for_params(params, self, "predict_proba")
        X = self._check_X(X)
        routed = self._routed("predict_proba", params).estimator
        total = self._sum_of_trees(X, self.n_classes_)
        if total is None:
            predict, proba = routed.get("predict"), routed.get("predict_proba")
            total = np.zeros((X.shape[0], self.n_classes_))
            for each in self._of_members(lambda m, X: self._shares(m, X, predict, proba), X):
                total += each
        return total / len(self.estimators_)

    def predict_log_proba(self, X, **params):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        {routed}

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        raise_for_params(params, self, "predict_log_proba")
        check_is_fitted(self)
        if self._once_packed() is not None or not hasattr(self.estimator_, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                return np.log(self.predict_proba(X, **params))
        X = self._check_X(X)
        routed = self._routed("predict_log_proba", params).estimator
        more = routed.get("predict_log_proba") or {}
        total = np.full((X.shape[0], self.n_classes_), -np.inf)

        def logarithms(member, X):
            found = np.full((X.shape[0], self.n_classes_), -np.inf)
            found[:, _classes_of(member, self.n_classes_)] = member.predict_log_proba(X, **more)
            return found

        for each in self._of_members(logarithms, X):
            total = np.logaddexp(total, each)
        return total - np.log(len(self.estimators_))

    @available_if(estimator_has("decision_function", delegates=("estimators_", "estimator")))
    def decision_function(self, X, **params):
        """Mean of the members' decision functions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        **params : dict
            For the members' method, with scikit-learn's metadata routing.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        raise_for_params(params, self, "decision_function")
        X = self._check_X(X)
        more = self._routed("decision_function", params).estimator.get("decision_function") or {}
        total = 0.0
        for each in self._of_members(lambda m, X: m.decision_function(X, **more), X):
            total = total + each
        return total / len(self.estimators_)


def _classes_of(member, n_classes):
    """Where the member's classes stand among all: it may have seen some only."""
    known = np.asarray(getattr(member, "classes_", np.arange(n_classes)))
    return slice(None) if len(known) == n_classes else known.astype(np.intp)
