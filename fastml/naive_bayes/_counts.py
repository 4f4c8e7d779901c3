"""Naive Bayes of counts of words and of words that are there or not."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from fastml._engines.passes import RowBlock, codes_of, refuse_nan
from fastml._sklearn import Interval
from fastml.naive_bayes._discrete import DiscreteBase, sums_by_class


class CountsBase(DiscreteBase):
    """Sums of features by class."""

    def _reset_counts(self, n_classes, n_features):
        self.class_count_ = np.zeros(n_classes)
        self.feature_count_ = np.zeros((n_classes, n_features))

    def _add_counts(self, X, codes, weights):
        self.feature_count_ += sums_by_class(X, codes, weights, len(self.classes_))

    def _fit_blocks(self, passes):
        alpha = self._check_alpha()
        self.classes_ = passes.classes()
        if self.class_prior is not None and len(self.class_prior) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        empty = clone(self)
        found = passes.reduced(block_counts, both_counts, empty, self.classes_, name="counts")
        self.class_count_, self.feature_count_ = found
        self._finish_all(alpha)


def block_counts(block: RowBlock, model, classes):
    """(rows, sums of features) of every class."""
    if not np.isfinite(block.X).all():
        refuse_nan(block)
    model = clone(model)
    X, _ = model._check_training(block.X, block.y, True)
    model.classes_ = classes
    model._reset_counts(len(classes), X.shape[1])
    codes = codes_of(block, classes)
    model._add_counts(X, codes, block.weights)
    counts = np.bincount(codes, weights=block.weights, minlength=len(classes))
    return counts.astype(np.float64), model.feature_count_


def both_counts(a, b):
    return a[0] + b[0], a[1] + b[1]


class NonNegativeCounts(CountsBase):
    """Counts below zero are an error."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _add_counts(self, X, codes, weights):
        from sklearn.utils.validation import check_non_negative

        check_non_negative(X, f"{type(self).__name__} (input X)")
        super()._add_counts(X, codes, weights)


class MultinomialNB(NonNegativeCounts):
    """Naive Bayes of counts.

    P(j ∣ y) = (N_yj + alpha) / Σ_j (N_yj + alpha), N_yj the sum of feature j in class y: Laplace's
    smoothing with alpha = 1, Lidstone's below. The score of a row is log P(y) + Σ x_j log P(j ∣ y).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to the counts.
    force_alpha : bool, default=True
        Keep an alpha below 1e-10 as it is.
    fit_prior : bool, default=True
        Classes have the probabilities of their shares; False: all the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, if given.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probabilities of the classes.
    classes_ : ndarray of shape (n_classes,)
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sums of the features of every class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(j ∣ y).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.naive_bayes import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [0, 0, 3]], ["ham", "spam"])
    >>> model.predict([[0, 1, 2]])
    array(['spam'], dtype='<U4')
    """

    def __init__(self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)

    def _finish(self, alpha):
        smoothed = self.feature_count_ + alpha
        with np.errstate(divide="ignore"):
            logs = np.log(smoothed)
        self.feature_log_prob_ = logs - np.log(smoothed.sum(axis=1, keepdims=True))

    def _joint_log_likelihood(self, X):
        return X @ self.feature_log_prob_.T + self.class_log_prior_


class ComplementNB(NonNegativeCounts):
    """Naive Bayes of counts, each class by what the others have (Rennie et al., 2003).

    w_yj = −log[(alpha + Σ_{c≠y} N_cj) / Σ_j (alpha + Σ_{c≠y} N_cj)]: steadier than `MultinomialNB`
    where classes differ in size. The score of a row is Σ x_j w_yj.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to the counts.
    force_alpha : bool, default=True
        Keep an alpha below 1e-10 as it is.
    fit_prior : bool, default=True
        Only of use where there is one class.
    class_prior : array-like of shape (n_classes,), default=None
        Not used in the scores of several classes.
    norm : bool, default=False
        Divide the weights of a class by their sum.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probabilities of the classes.
    classes_ : ndarray of shape (n_classes,)
    feature_all_ : ndarray of shape (n_features,)
        Sums of the features.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sums of the features of every class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        The weights w.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.naive_bayes import ComplementNB
    >>> model = ComplementNB().fit([[2, 1, 0], [0, 0, 3]], ["ham", "spam"])
    >>> model.predict([[0, 1, 2]])
    array(['spam'], dtype='<U4')
    """

    _parameter_constraints: dict = {
        **DiscreteBase._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, norm=False
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.norm = norm

    def _finish(self, alpha):
        self.feature_all_ = self.feature_count_.sum(axis=0)
        others = self.feature_all_ + alpha - self.feature_count_
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(others / others.sum(axis=1, keepdims=True))
        if self.norm:
            total = logs.sum(axis=1, keepdims=True)
            self.feature_log_prob_ = logs / np.where(total == 0.0, 1.0, total)
        else:
            self.feature_log_prob_ = -logs

    def _joint_log_likelihood(self, X):
        scores = X @ self.feature_log_prob_.T
        return scores + self.class_log_prior_ if len(self.classes_) == 1 else scores


class BernoulliNB(CountsBase):
    """Naive Bayes of features that are there or not.

    P(x ∣ y) = Π p_yj^x_j (1 − p_yj)^(1 − x_j) with p_yj = (N_yj + alpha) / (N_y + 2 alpha): also
    what is missing speaks.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to the counts of rows with and without a feature.
    force_alpha : bool, default=True
        Keep an alpha below 1e-10 as it is.
    binarize : float or None, default=0.0
        Values above count as one, others as zero; None: X is zeros and ones.
    fit_prior : bool, default=True
        Classes have the probabilities of their shares; False: all the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, if given.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probabilities of the classes.
    classes_ : ndarray of shape (n_classes,)
    feature_count_ : ndarray of shape (n_classes, n_features)
        Rows of every class that have the feature.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.naive_bayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 1, 0], [0, 0, 1]], ["ham", "spam"])
    >>> model.predict([[0, 0, 0]])  # two words of ham are missing, one of spam
    array(['spam'], dtype='<U4')
    """

    _parameter_constraints: dict = {
        **DiscreteBase._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, *, alpha=1.0, force_alpha=True, binarize=0.0, fit_prior=True, class_prior=None
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.binarize = binarize

    def _ones(self, X):
        threshold = self.binarize
        if threshold is None:
            return X
        if not sp.issparse(X):
            return np.greater(X, threshold).astype(np.float64)
        X = X.copy()
        X.data = np.greater(X.data, threshold).astype(np.float64)
        return X

    def _check_rows(self, X):
        return self._ones(super()._check_rows(X))

    def _check_training(self, X, y, reset):
        X, y = super()._check_training(X, y, reset)
        return self._ones(X), y

    def _finish(self, alpha):
        with np.errstate(divide="ignore"):
            logs = np.log(self.feature_count_ + alpha)
        twice = np.asarray(alpha) * 2
        self.feature_log_prob_ = logs - np.log(self.class_count_[:, None] + twice)

    def _joint_log_likelihood(self, X):
        with np.errstate(divide="ignore"):
            absent = np.log(1.0 - np.exp(self.feature_log_prob_))
        scores = X @ (self.feature_log_prob_ - absent).T
        return scores + self.class_log_prior_ + absent.sum(axis=1)
