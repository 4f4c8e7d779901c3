"""What all naive Bayes classifiers do with the joint log probabilities of rows and classes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from fastml._validation import check_is_fitted


class NaiveBayesBase(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """log P(y) + Σ log P(x_j ∣ y), and what follows from it."""

    @abstractmethod
    def _check_rows(self, X):
        """Rows to predict."""

    @abstractmethod
    def _joint_log_likelihood(self, X) -> NDArray:
        """Of rows that were checked: (n_samples, n_classes)."""

    def predict_joint_log_proba(self, X):
        """Joint log probabilities log P(x, y) of rows and classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self._joint_log_likelihood(self._check_rows(X))

    def predict(self, X):
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        joint = self.predict_joint_log_proba(X)
        return self.classes_[np.argmax(joint, axis=1)]

    def predict_log_proba(self, X):
        """Log probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        from scipy.special import logsumexp

        joint = self.predict_joint_log_proba(X)
        largest = joint.max(axis=1, keepdims=True)
        # first, as beside 10^300 the logarithm of the number of equal classes is nothing
        joint = joint - np.where(np.isfinite(largest), largest, 0.0)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))


def class_codes(y, classes: NDArray) -> NDArray:
    """Positions of labels among the sorted classes; a ValueError for one that is not there."""
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"The target label(s) {np.unique(y[unknown])} in y do not exist in the initial "
            f"classes {classes}"
        )
    return np.searchsorted(classes, y).astype(np.intp, copy=False)


def check_priors(priors, n_classes: int) -> NDArray:
    priors = np.asarray(priors, dtype=np.float64)
    if len(priors) != n_classes:
        raise ValueError("Number of priors must match number of classes.")
    if not np.isclose(priors.sum(), 1.0):
        raise ValueError("The sum of the priors should be 1.")
    if (priors < 0.0).any():
        raise ValueError("Priors must be non-negative.")
    return priors
