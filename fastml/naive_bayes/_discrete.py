"""Naive Bayes from counts: smoothing, priors and learning in parts."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.labels import classes_and_codes
from fastml._engines.rows import csr_rows
from fastml._sklearn import Interval, check_partial_fit_first_call, fit_context
from fastml._validation import check_sample_weight, kernel_view, validate_data
from fastml.kernels.bayes.counts import add_sparse_rows
from fastml.naive_bayes._base import NaiveBayesBase, class_codes

LEAST_ALPHA = 1e-10


def sums_by_class(X, codes: NDArray, weights: NDArray | None, n_classes: int) -> NDArray:
    """Weighted sums of the rows of every class."""
    n, d = X.shape
    given = np.ones(n) if weights is None else weights
    if sp.issparse(X):
        sums = np.zeros((n_classes, d))
        rows = csr_rows(X.astype(np.float64, copy=False), canonical=False)
        add_sparse_rows(rows, kernel_view(codes), kernel_view(given), sums)
        return sums
    member = np.zeros((n, n_classes))
    member[np.arange(n), codes] = given
    return member.T @ np.ascontiguousarray(X, dtype=np.float64)


class DiscreteBase(NaiveBayesBase):
    """Counts of features by class; subclasses say what probabilities they make."""

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }

    def __init__(self, alpha=1.0, fit_prior=True, class_prior=None, force_alpha=True):
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.force_alpha = force_alpha

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    @abstractmethod
    def _reset_counts(self, n_classes: int, n_features: int) -> None:
        """Zeros."""

    @abstractmethod
    def _add_counts(self, X, codes: NDArray, weights: NDArray | None) -> None:
        """Of further rows."""

    @abstractmethod
    def _finish(self, alpha) -> None:
        """Log probabilities from the counts."""

    def _check_rows(self, X):
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def _check_training(self, X, y, reset: bool):
        return validate_data(self, X, y, accept_sparse="csr", reset=reset)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
        """
        X, y = self._check_training(X, y, True)
        self.classes_, codes = classes_and_codes(y)
        self._reset_counts(len(self.classes_), X.shape[1])
        return self._learn(X, codes, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Count further rows: the same model as from all rows at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
        """
        first = not hasattr(self, "classes_")
        X, y = self._check_training(X, y, first)
        if check_partial_fit_first_call(self, classes):
            self._reset_counts(len(self.classes_), X.shape[1])
        return self._learn(X, class_codes(y, self.classes_), sample_weight)

    def _learn(self, X, codes, sample_weight):
        n_classes = len(self.classes_)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        alpha = self._check_alpha()
        if self.class_prior is not None and len(self.class_prior) != n_classes:
            raise ValueError("Number of priors must match number of classes.")
        self._add_counts(X, codes, weights)
        self.class_count_ += np.bincount(codes, weights=weights, minlength=n_classes)
        return self._finish_all(alpha)

    def _finish_all(self, alpha):
        """Attributes from the counts."""
        n_classes = len(self.classes_)
        self._finish(alpha)
        if self.class_prior is not None:
            self.class_log_prior_ = np.log(self.class_prior)
        elif self.fit_prior:
            with np.errstate(divide="ignore"):
                self.class_log_prior_ = np.log(self.class_count_) - np.log(self.class_count_.sum())
        else:
            self.class_log_prior_ = np.full(n_classes, -np.log(n_classes))
        return self

    def _check_alpha(self):
        """``alpha``, at least 1e-10 unless it is forced."""
        alpha = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape[0] != self.n_features_in_:
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if np.min(alpha) < 0:
                raise ValueError("All values in alpha must be greater than 0.")
        if np.min(alpha) < LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha ="
                f" {LEAST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=4,
            )
            return np.maximum(alpha, LEAST_ALPHA)
        return alpha
