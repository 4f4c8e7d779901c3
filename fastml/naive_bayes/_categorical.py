"""Naive Bayes of categories."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import sklearn

from fastml._sklearn import Interval
from fastml._validation import validate_data
from fastml.naive_bayes._discrete import DiscreteBase

BYTES_PER_CATEGORY = 24
"""Of a class: counts, new counts and logarithms."""


class CategoricalNB(DiscreteBase):
    """Naive Bayes of categories, numbered from zero in every column.

    P(x_j = t ∣ y) = (N_tjy + alpha) / (N_y + alpha n_j), n_j the number of categories of column j.

    Parameters
    ----------
    alpha : float, default=1.0
        Added to the counts.
    force_alpha : bool, default=True
        Keep an alpha below 1e-10 as it is.
    fit_prior : bool, default=True
        Classes have the probabilities of their shares; False: all the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, if given.
    min_categories : int or array-like of shape (n_features,), default=None
        At least so many categories, seen or not.

    Attributes
    ----------
    category_count_ : list of arrays of shape (n_classes, n_categories)
        Rows, or the sum of their weights, of every class and category, by column.
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probabilities of the classes.
    classes_ : ndarray of shape (n_classes,)
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories)
        log P(x_j = t ∣ y).
    n_categories_ : ndarray of shape (n_features,)
        Categories of the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.naive_bayes import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 2], [1, 0]], ["yes", "yes", "no"])
    >>> model.predict([[1, 0]])
    array(['no'], dtype='<U3')
    """

    _parameter_constraints: dict = {
        **DiscreteBase._parameter_constraints,
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, min_categories=None
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.min_categories = min_categories

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags

    def _check_rows(self, X):
        return self._not_negative(validate_data(self, X, dtype="int", reset=False))

    def _check_training(self, X, y, reset):
        X, y = validate_data(self, X, y, dtype="int", reset=reset)
        return self._not_negative(X), y

    def _not_negative(self, X):
        from sklearn.utils.validation import check_non_negative

        check_non_negative(X, "CategoricalNB (input X)")
        return X

    def _reset_counts(self, n_classes, n_features):
        self.class_count_ = np.zeros(n_classes)
        self.category_count_ = [np.zeros((n_classes, 0)) for _ in range(n_features)]

    def _number_of_categories(self, X):
        seen = X.max(axis=0) + 1
        if self.min_categories is None:
            return seen
        least = np.array(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(
                f"'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.ndim and least.shape != seen.shape:
            raise ValueError(
                f"'min_categories' should have shape ({X.shape[1]},) when an array-like is "
                f"provided. Got {least.shape} instead."
            )
        return np.maximum(seen, least, dtype=np.int64)

    def _add_counts(self, X, codes, weights):
        n_classes = len(self.classes_)
        needed = self._number_of_categories(X)
        _check_tables(n_classes, int(np.sum(needed, dtype=np.float64)))
        counts = []
        for j, before in enumerate(self.category_count_):
            n = max(int(needed[j]), before.shape[1])
            found = np.bincount(codes * n + X[:, j], weights=weights, minlength=n_classes * n)
            found = found.reshape(n_classes, n).astype(np.float64)
            found[:, : before.shape[1]] += before
            counts.append(found)
        self.category_count_ = counts
        self.n_categories_ = np.array([each.shape[1] for each in counts])

    def _finish(self, alpha):
        self.feature_log_prob_ = []
        for counts in self.category_count_:
            smoothed = counts + alpha
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))
            self.feature_log_prob_.append(logs)

    def _joint_log_likelihood(self, X):
        scores = np.zeros((len(self.classes_), X.shape[0]))
        for j, logs in enumerate(self.feature_log_prob_):
            scores += logs[:, X[:, j]]
        return scores.T + self.class_log_prior_


def _check_tables(n_classes: int, n_categories: int) -> None:
    """Raise a MemoryError if counts by class and category take more than the working memory.

    Categories are the numbers from 0 to the largest one: a code of a billion asks for as many.
    """
    needed = BYTES_PER_CATEGORY * n_classes * n_categories / 2**20
    allowed = sklearn.get_config()["working_memory"]
    if needed > allowed:
        raise MemoryError(
            f"CategoricalNB needs counts of {n_categories} categories in {n_classes} classes, "
            f"{needed:.0f} MiB; the working memory is {allowed} MiB. Number the categories without "
            "gaps (OrdinalEncoder), or allow more by sklearn.set_config(working_memory=...)."
        )
