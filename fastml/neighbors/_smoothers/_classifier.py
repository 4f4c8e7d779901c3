"""Classification by class-conditional kernel densities."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import relative_weights
from fastml.neighbors._smoothers._density import KernelDensity


class KernelClassifier(ClassifierMixin, BaseEstimator):
    r"""Parzen classifier: a kernel density per class, and Bayes' rule.

    .. math:: P(c \mid x) = \frac{\pi_c \hat f_c(x)}{\sum_k \pi_k \hat f_k(x)}

    Everything is computed with logarithms, so far from all data the nearest class still wins.

    Parameters
    ----------
    bandwidth : float, array-like or str, default=1.0
        As in :class:`KernelDensity`; rules and selectors are applied to each class by itself.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
            default="gaussian"
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None takes the (weighted) class frequencies. Where a kernel of bounded
        support reaches no point of any class, the answer is the priors.
    n_jobs : int, default=None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
    densities_ : list of KernelDensity
        One per class; None for a class without weight.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> from fastml.neighbors import KernelClassifier
    >>> model = KernelClassifier(bandwidth=0.5).fit([[0.0], [1.0], [4.0], [5.0]], list("aabb"))
    >>> print(*model.predict([[0.5], [100.0]]))
    a b
    >>> model.predict_proba([[2.5]])
    array([[0.5, 0.5]])
    """

    _parameter_constraints: dict = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "silverman", "isj", "loo", "lscv"}),
            "array-like",
        ],
        "kernel": [StrOptions(set(SMOOTHING_KERNELS))],
        "priors": [None, "array-like"],
        "n_jobs": [None, Integral],
    }

    def __init__(self, bandwidth=1.0, *, kernel="gaussian", priors=None, n_jobs=None):
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.priors = priors
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Keep the points of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative, not all zero.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights, _ = relative_weights(sample_weight, X, dtype=np.float64)
        classes, codes = np.unique(y, return_inverse=True)
        class_weight = np.bincount(codes, weights=weights, minlength=classes.shape[0])
        priors = self._check_priors(class_weight)
        densities = []
        for c in range(classes.shape[0]):
            density = None
            if class_weight[c] > 0.0:
                rows = codes == c
                density = KernelDensity(
                    bandwidth=self.bandwidth, kernel=self.kernel, n_jobs=self.n_jobs
                ).fit(X[rows], sample_weight=weights[rows])
            densities.append(density)
        self.classes_ = classes
        self.priors_ = priors
        self.densities_ = densities
        return self

    def _check_priors(self, class_weight):
        if self.priors is None:
            return class_weight / class_weight.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != class_weight.shape:
            raise ValueError(
                f"priors must have one entry per class ({class_weight.shape[0]}), "
                f"got shape {priors.shape}"
            )
        if not np.all(priors >= 0.0) or not np.isclose(priors.sum(), 1.0):
            raise ValueError(f"priors must be non-negative and sum up to 1, got {priors}")
        return priors / priors.sum()

    def predict_joint_log_proba(self, X):
        """log of prior times density, per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        joint = np.full((X.shape[0], self.classes_.shape[0]), -np.inf)
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        for c, density in enumerate(self.densities_):
            if density is not None and self.priors_[c] > 0.0:
                joint[:, c] = density.score_samples(X) + log_priors[c]
        return joint

    def predict_log_proba(self, X):
        """Log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        joint = self.predict_joint_log_proba(X)
        with np.errstate(divide="ignore"):
            joint[np.all(np.isneginf(joint), axis=1)] = np.log(self.priors_)
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

    def predict(self, X):
        """The most probable class of each row; the first in ``classes_`` on a tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        log_proba = self.predict_log_proba(X)
        return self.classes_[np.argmax(log_proba, axis=1)]
