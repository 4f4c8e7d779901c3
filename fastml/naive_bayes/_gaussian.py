"""Naive Bayes with a normal distribution for every feature and class."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.labels import classes_and_codes
from fastml._engines.passes import RowBlock, codes_of, refuse_nan
from fastml._sklearn import Interval, check_partial_fit_first_call, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, check_sample_weight, kernel_view, validate_data
from fastml.kernels.bayes.gaussian import class_moments, gaussian_scores
from fastml.naive_bayes._base import NaiveBayesBase, check_priors, class_codes

LEAST_VARIANCE = 1e-200
"""For scores, where no feature varies at all: the class whose means are met wins, without NaN."""


class ClassMoments(NamedTuple):
    """Weights, means and squares about them, of every class: those of other rows can be added."""

    counts: NDArray  # (n_classes,)
    means: NDArray  # (n_classes, n_features)
    squares: NDArray

    def merged(self, other: ClassMoments) -> ClassMoments:
        return _merge(*(np.stack(both) for both in zip(self, other)))

    def together(self) -> ClassMoments:
        """Of all classes as one."""
        return _merge(*(part[:, None] for part in self))


def _merge(counts, means, squares) -> ClassMoments:
    """Of parts along the first axis (Chan, Golub & LeVeque, 1979)."""
    total = counts.sum(axis=0)
    safe = np.where(total > 0.0, total, 1.0)
    mean = np.einsum("ck,ckj->kj", counts, means) / safe[:, None]
    square = squares.sum(axis=0) + np.einsum("ck,ckj->kj", counts, (means - mean) ** 2)
    return ClassMoments(total, mean, square)


def moments_of(X: NDArray, codes: NDArray, weights, n_classes: int, n_jobs) -> ClassMoments:
    """One pass over the rows."""
    n, d = X.shape
    rows = chunk_rows(n, 4.0 * d, at_least=max(1, 4 * n_classes))
    n_chunks = -(-n // rows)
    counts = np.zeros((n_chunks, n_classes))
    means, squares = np.zeros((2, n_chunks, n_classes, d))
    given = kernel_view(np.empty(0) if weights is None else weights, dtype=np.float64)
    n_threads = effective_n_threads(n_jobs, work=4.0 * n * d)
    class_moments(
        kernel_view(X), kernel_view(codes), given, rows, counts, means, squares,
        n_threads=n_threads,
    )  # fmt: skip
    return _merge(counts, means, squares)


def block_class_moments(block: RowBlock, classes: NDArray) -> tuple[ClassMoments, ClassMoments]:
    """Of the classes with weights, and of all rows without."""
    codes = codes_of(block, classes)
    with np.errstate(invalid="ignore", over="ignore"):
        moments = moments_of(block.X, codes, block.weights, len(classes), None)
        if block.weights is None:
            rows = moments.together()
        else:
            rows = moments_of(block.X, np.zeros_like(codes), None, 1, None)
    if not np.isfinite(rows.squares).all():
        refuse_nan(block)
    return moments, rows


def both_moments(a, b) -> tuple[ClassMoments, ClassMoments]:
    return a[0].merged(b[0]), a[1].merged(b[1])


class GaussianNB(NaiveBayesBase):
    """Naive Bayes with normal features.

    log P(x ∣ y = k) = −½ Σ_j [log 2π σ²_kj + (x_j − θ_kj)² / σ²_kj]

    Means and variances of all classes come from one pass over the rows.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; None: their shares.
    var_smoothing : float, default=1e-9
        This share of the largest variance of a feature is added to all variances.
    n_jobs : int, default=None
        Threads; None means all cores.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_prior_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    classes_ : ndarray of shape (n_classes,)
    epsilon_ : float
        What was added to the variances: of all rows seen, also by `partial_fit`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.
    theta_ : ndarray of shape (n_classes, n_features)
        Means.
    var_ : ndarray of shape (n_classes, n_features)
        Variances.

    Examples
    --------
    >>> from fastml.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[-2.0], [-1.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> model.predict([[1.5]])
    array(['high'], dtype='<U4')
    """

    _parameter_constraints: dict = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(self, *, priors=None, var_smoothing=1e-9, n_jobs=None):
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn means and variances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, dtype=FLOATS)
        return self._learn(X, *classes_and_codes(y), sample_weight, None)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from further rows: the same model as from all rows at once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
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
        before = None if first else (self._moments, self._all_rows)
        check_partial_fit_first_call(self, classes)
        X, y = validate_data(self, X, y, dtype=FLOATS, reset=first)
        codes = class_codes(y, self.classes_)
        return self._learn(X, self.classes_, codes, sample_weight, before)

    def _learn(self, X, classes, codes, sample_weight, before):
        n_classes = len(classes)
        priors = None if self.priors is None else check_priors(self.priors, n_classes)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        moments = moments_of(X, codes, weights, n_classes, self.n_jobs)
        if weights is None:
            rows = moments.together()
        else:  # smoothing goes by rows, not by their weights
            rows = moments_of(X, np.zeros_like(codes), None, 1, self.n_jobs)
        if before is not None:
            moments, rows = before[0].merged(moments), before[1].merged(rows)
        return self._finish(classes, moments, rows, priors)

    def _fit_blocks(self, passes):
        classes = passes.classes()
        priors = None if self.priors is None else check_priors(self.priors, len(classes))
        found = passes.reduced(block_class_moments, both_moments, classes, name="moments")
        self._finish(classes, *found, priors)

    def _finish(self, classes, moments, rows, priors):
        """Attributes from the moments of classes and of all rows."""
        self.classes_ = classes
        self._moments, self._all_rows = moments, rows
        spread = np.max(rows.squares[0] / rows.counts[0])
        self.epsilon_ = float(self.var_smoothing * spread)
        self.class_count_ = moments.counts
        self.theta_ = moments.means
        seen = np.where(moments.counts > 0.0, moments.counts, 1.0)
        self.var_ = moments.squares / seen[:, None] + self.epsilon_
        total = moments.counts.sum()
        if priors is not None:
            self.class_prior_ = priors
        else:
            self.class_prior_ = moments.counts / (total if total > 0.0 else 1.0)
        return self

    def _restore_moments(self):
        """For `fastml.convert`: what `partial_fit` goes on from, of the attributes."""
        squares = (self.var_ - self.epsilon_) * self.class_count_[:, None]
        self._moments = ClassMoments(self.class_count_, self.theta_, squares)
        self._all_rows = self._moments.together()

    def _check_rows(self, X):
        return validate_data(self, X, dtype=FLOATS, reset=False)

    def _joint_log_likelihood(self, X):
        n, d = X.shape
        n_classes = len(self.classes_)
        variances = np.maximum(self.var_, LEAST_VARIANCE)
        with np.errstate(divide="ignore"):
            constants = np.log(self.class_prior_)
        constants -= 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
        precisions = 1.0 / variances
        scores = np.empty((n, n_classes))
        work = 2.0 * d * n_classes
        given = (kernel_view(np.asarray(part, dtype=np.float64))
                 for part in (self.theta_, precisions, constants))  # fmt: skip
        gaussian_scores(
            kernel_view(X), *given, chunk_rows(n, work), scores,
            n_threads=effective_n_threads(self.n_jobs, work=work * n),
        )  # fmt: skip
        return scores
